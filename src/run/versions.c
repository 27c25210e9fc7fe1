#include "run/versions.h"

#include <string.h>

#include "run/command.h"
#include "run/environment.h"
#include "util/buffer.h"

enum { VERSION_MS = 60000, ANSWER_BYTES = 4096 };

static void add_answer(const char *line, char **environment, struct buffer *out)
{
    const char *argv[] = {"/bin/sh", "-c", line, NULL};
    const struct command command = {(char *const *)argv, environment, NULL, VERSION_MS, ANSWER_BYTES};
    struct command_result answer = COMMAND_RESULT_INIT;
    bool ran = command_run(&command, &answer, NULL) == 0 && answer.exit_code == 0;
    size_t length = ran ? strcspn(answer.output, "\r\n") : 0;
    if (length > 0)
        buffer_add_json_string(out, answer.output, length);
    else
        buffer_add_text(out, "null");
    command_result_free(&answer);
}

char *versions_json(const struct job_config *job, char *const *runner_environment)
{
    struct buffer out = BUFFER_INIT;
    if (job->version_count == 0)
        return NULL;
    char **environment = environment_base(runner_environment, job->pass_environment);
    for (size_t i = 0; i < job->version_count; i++) {
        buffer_add_char(&out, i ? ',' : '{');
        buffer_add_json_string(&out, job->versions[i].name, strlen(job->versions[i].name));
        buffer_add_char(&out, ':');
        add_answer(job->versions[i].value, environment, &out);
    }
    environment_free(environment);
    buffer_add_char(&out, '}');
    return buffer_take(&out);
}
