#include "cli/end_command.h"

#include <string.h>

#include <cjson/cJSON.h>

#include "cli/output.h"
#include "process/external_command.h"
#include "results/json.h"
#include "util/memory.h"

extern char **environ;

#define ANSWER_MS 60000
#define ANSWER_BYTES (64u << 20)
#define OUTPUT_BYTES (1u << 16)

/* Returns what this program prints with these arguments. NULL: nothing. The caller's. */
static cJSON *answer_of(const char *command, const char *db_path)
{
    const char *const argv[] = {"/proc/self/exe", command, "--json", "-d", db_path, NULL};
    const struct external_command question = {.argv = (char *const *)argv,
                                              .environment = environ,
                                              .timeout_ms = ANSWER_MS,
                                              .bytes_most = ANSWER_BYTES};
    struct external_command_result answer = EXTERNAL_COMMAND_RESULT_INIT;
    struct error ignored = ERROR_INIT;
    cJSON *document = NULL;
    if (external_command_run(&question, &answer, &ignored) == 0 && answer.exit_code == 0)
        document = cJSON_Parse(answer.output);
    external_command_result_free(&answer);
    return document;
}

static void add_answer(cJSON *root, const char *command, const char *db_path)
{
    cJSON *document = answer_of(command, db_path);
    cJSON_AddItemToObject(root, command, document ? document : cJSON_CreateNull());
}

static char *document_of(const char *db_path, int exit_status)
{
    OWNED_JSON *root = cJSON_CreateObject();
    cJSON_AddNumberToObject(root, "exit_status", exit_status);
    add_answer(root, "status", db_path);
    add_answer(root, "best", db_path);
    return json_print(root, false);
}

/* The last line that says something; it is cut out of `text`. */
static const char *last_line(char *text)
{
    size_t length = strlen(text);
    while (length && strchr(" \t\r\n", text[length - 1]))
        text[--length] = '\0';
    const char *newline = strrchr(text, '\n');
    return newline ? newline + 1 : text;
}

static void tell_failure(const char *name, const struct external_command_result *r)
{
    const char *said = last_line(r->errors);
    said = *said ? said : last_line(r->output);
    if (r->exit_code < 0)
        output_message("on_end: %s was ended by a signal; no result depends on it", name);
    else if (r->exit_code > 0)
        output_message("on_end: %s ended with status %d%s%s; no result depends on it", name, r->exit_code,
                       *said ? ": " : "", said);
}

void end_command_run(const struct sweep *sweep, const char *db_path, int exit_status)
{
    struct external_command_result result = EXTERNAL_COMMAND_RESULT_INIT;
    struct error e = ERROR_INIT;
    if (!sweep->on_end)
        return;
    const bool is_line = strcmp(sweep->on_end[0], "/bin/sh") == 0 && sweep->on_end[1] && sweep->on_end[2];
    const char *name = sweep->on_end[is_line ? 2 : 0];
    char *document = document_of(db_path, exit_status);
    const struct external_command command = {.argv = sweep->on_end,
                                             .environment = environ,
                                             .timeout_ms = sweep->on_end_timeout_ms,
                                             .bytes_most = OUTPUT_BYTES,
                                             .input = document};
    if (external_command_run(&command, &result, &e) == 0)
        tell_failure(name, &result);
    else
        output_message("on_end: %s; no result depends on it", e.text);
    external_command_result_free(&result);
    cJSON_free(document);
}
