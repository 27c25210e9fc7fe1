#include "device/versions.h"

#include <stdlib.h>
#include <string.h>

#include "process/environment.h"
#include "process/external_command.h"
#include "secrets/secrets.h"
#include "util/buffer.h"
#include "util/memory.h"

enum { VERSION_MS = 60000, ANSWER_BYTES = 4096 };

static void add_answer(const char *line, char **environment, struct buffer *out)
{
    const char *argv[] = {"/bin/sh", "-c", line, NULL};
    const struct external_command command = {(char *const *)argv, environment, NULL, VERSION_MS, ANSWER_BYTES, NULL};
    struct external_command_result answer = EXTERNAL_COMMAND_RESULT_INIT;
    bool ran = external_command_run(&command, &answer, NULL) == 0 && answer.exit_code == 0;
    size_t length = ran ? strcspn(answer.output, "\r\n") : 0;
    if (length > 0)
        buffer_add_json_string(out, answer.output, length);
    else
        buffer_add_text(out, "null");
    external_command_result_free(&answer);
}

/* A command that prints what it was given must not have that recorded. */
static char *without_secrets(const struct job_config *job, char *const *runner_environment, char *json)
{
    struct secrets secrets = {.names = job->secrets};
    secrets_add_settings(&secrets, runner_environment, job->secrets);
    for (size_t i = 0; i < job->version_count; i++)
        secrets_add_command(&secrets, (char *const[]){job->versions[i].value, NULL});
    char *public = secrets_redact(&secrets, json);
    secrets_free(&secrets);
    free(json);
    return public;
}

char *versions_json(const struct job_config *job, char *const *runner_environment)
{
    struct buffer out = BUFFER_INIT;
    if (job->version_count == 0)
        return NULL;
    char **environment = environment_base(runner_environment, job_passing(job));
    for (size_t i = 0; i < job->version_count; i++) {
        buffer_add_char(&out, i ? ',' : '{');
        buffer_add_json_string(&out, job->versions[i].name, strlen(job->versions[i].name));
        buffer_add_char(&out, ':');
        add_answer(job->versions[i].value, environment, &out);
    }
    strings_free(environment);
    buffer_add_char(&out, '}');
    return without_secrets(job, runner_environment, buffer_take(&out));
}
