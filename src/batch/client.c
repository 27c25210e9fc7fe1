#include "batch/client.h"

#include <pwd.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "device/devices.h"
#include "process/process.h"
#include "util/file.h"
#include "util/memory.h"

enum {
    QUESTION_MS = 60000, /* squeue itself waits some ten seconds for a controller that does not answer */
    ANSWER_BYTES = 64 << 20
};

static bool begins(const char *setting, char *const *beginnings)
{
    for (; beginnings && *beginnings; beginnings++)
        if (strncmp(setting, *beginnings, strlen(*beginnings)) == 0)
            return true;
    return false;
}

char **batch_environment(const struct batch_system *s, char *const *runner, struct environment_passing pass)
{
    OWNED_STRINGS base = environment_base(runner, pass);
    OWNED_LIST usual = STRING_LIST_INIT, kept = STRING_LIST_INIT;
    for (char **p = base; *p; p++)
        if (!setting_is_among(*p, device_variables) && !begins(*p, s->drop))
            string_list_add(&usual, xstrdup(*p));
    for (char *const *p = runner; s->keep && *p; p++)
        if (setting_is_among(*p, s->keep))
            string_list_add(&kept, xstrdup(*p));
    return environment_with(usual.items, kept.items, NULL);
}

int batch_command(char *const *environment, char *const *argv, const char *input,
                  struct external_command_result *answer, struct error *e)
{
    const struct external_command command = {argv, environment, NULL, QUESTION_MS, ANSWER_BYTES, input};
    return external_command_run(&command, answer, e);
}

static int run_request(char *const *words, char *const *environment, const struct batch_values *values,
                       const char *input, struct external_command_result *answer, struct error *e)
{
    const struct passwd *user = getpwuid(geteuid());
    struct batch_values all = {0};
    for (size_t i = 0; values && i < values->count; i++)
        *array_add(all.items, all.count) = values->items[i];
    *array_add(all.items, all.count) = (struct batch_value){"user", user ? user->pw_name : NULL, false};
    OWNED_STRINGS argv = batch_fill_words(words, &all);
    free(all.items);
    return batch_command(environment, argv, input, answer, e);
}

/* A command that was never started has submitted nothing, and has nothing to report. */
static bool is_missing(const struct error *e)
{
    return strstr(e->text, "cannot be started") != NULL;
}

static char *all_said(const struct external_command_result *answer)
{
    return xasprintf("%s%s%s", answer->errors, *answer->errors ? "\n" : "", answer->output);
}

char *batch_submit(const struct batch_system *s, char *const *environment, const struct batch_values *values,
                   const char *path, enum batch_refusal *refusal, char **why)
{
    enum { SCRIPT_BYTES = 64 << 20 };
    OWNED_RESULT answer = EXTERNAL_COMMAND_RESULT_INIT;
    struct error e = ERROR_INIT;
    char *id = NULL, *input = s->on_input ? file_text(path, SCRIPT_BYTES) : NULL;
    *why = NULL;
    *refusal = REFUSAL_FINAL;
    if (run_request(s->submit, environment, values, input, &answer, &e) < 0) {
        *refusal = is_missing(&e) ? REFUSAL_FINAL : REFUSAL_UNKNOWN;
        *why = xstrdup(e.text);
    } else if (!(id = batch_system_id(s, answer.output, answer.errors, answer.exit_code == 0))) {
        OWNED char *said = all_said(&answer);
        *refusal = answer.exit_code <= 0 ? REFUSAL_UNKNOWN : batch_system_refusal(s, said);
        *why = answer.exit_code != 0
                   ? batch_system_refusal_text(s, said)
                   : xasprintf("%s: expected a job id, but it answered: %.100s", s->submit[0], answer.output);
    }
    free(input);
    return id;
}

/* -1: no answer; 1: it is not there; 2: nothing in the answer can be read. */
static int ask_system(const struct batch_system *s, struct batch_question *q, char *const *environment,
                      const struct batch_values *values, batch_entry_function *each, void *context)
{
    OWNED_RESULT answer = EXTERNAL_COMMAND_RESULT_INIT;
    struct error e = ERROR_INIT;
    size_t entries = 0;
    int rc = run_request(q->command, environment, values, NULL, &answer, &e);
    if (rc < 0) {
        q->is_gone = q != &s->queue && is_missing(&e);
    } else {
        rc = answer.exit_code == 0 ? batch_answer_read(s, q, answer.output, each, context, &entries) : -1;
        OWNED char *said = rc < 0 ? all_said(&answer) : xstrdup("");
        q->is_gone = batch_pattern_finds(&q->none, said, 0, NULL);
        if (rc < 0 && batch_pattern_finds(&q->empty, said, 0, NULL))
            rc = 0;
        rc = rc > 0 ? (entries == 0 ? 2 : 0) : rc;
    }
    return q->is_gone ? 1 : rc;
}

int batch_ask(const struct batch_system *s, struct batch_question *q, char *const *environment,
              const struct batch_values *values, batch_entry_function *each, void *context)
{
    int rc = 1;
    for (; q && q->command && rc > 0; q = q->fallback)
        rc = q->is_gone ? 1 : ask_system(s, q, environment, values, each, context);
    return rc == 2 ? 0 : rc;
}

char *batch_fetch(const struct batch_system *s, char *const *environment, const struct batch_values *values,
                  size_t *length, struct error *e)
{
    OWNED_RESULT answer = EXTERNAL_COMMAND_RESULT_INIT;
    char *text = NULL;
    if (run_request(s->fetch, environment, values, NULL, &answer, e) == 0) {
        if (answer.exit_code == 0) {
            *length = answer.output_length;
            text = answer.output;
            answer.output = NULL;
        } else {
            OWNED char *said = batch_system_refusal_text(s, answer.errors);
            error_set(e, ERROR_FAILED, "%s", *said ? said : "it said nothing");
        }
    }
    return text;
}

int batch_cancel(const struct batch_system *s, char *const *environment, const char *job)
{
    OWNED_RESULT answer = EXTERNAL_COMMAND_RESULT_INIT;
    OWNED_VALUES values = {0};
    struct error e = ERROR_INIT;
    batch_values_add(&values, "job", xstrdup(job), false);
    int rc = run_request(s->cancel, environment, &values, NULL, &answer, &e);
    return rc;
}
