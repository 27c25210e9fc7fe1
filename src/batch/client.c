#include "batch/client.h"

#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "process/environment.h"
#include "process/external_command.h"
#include "process/process.h"
#include "util/memory.h"

enum {
    QUESTION_MS = 60000, /* squeue itself waits some ten seconds for a controller that does not answer */
    ANSWER_BYTES = 64 << 20,
    COMPLETION_BYTES = 16 << 20 /* some 30,000 jobs */
};

char **batch_environment(char *const *runner, struct environment_passing pass)
{
    static const char *const own[] = {"SLURM_",
                                      "SBATCH_",
                                      "SRUN_",
                                      "SALLOC_",
                                      "SQUEUE_",
                                      "SACCT_",
                                      "SCANCEL_",
                                      "CUDA_VISIBLE_DEVICES=",
                                      "ROCR_VISIBLE_DEVICES=",
                                      "HIP_VISIBLE_DEVICES="};
    const char *conf = environment_value(runner, "SLURM_CONF");
    char **base = environment_base(runner, pass);
    size_t kept = 0;
    for (size_t i = 0; base[i]; i++) {
        bool drop = false;
        for (size_t k = 0; k < sizeof own / sizeof *own; k++)
            drop |= strncmp(base[i], own[k], strlen(own[k])) == 0;
        if (drop)
            free(base[i]);
        else
            base[kept++] = base[i];
    }
    base[kept] = NULL;
    char *setting = conf ? xasprintf("SLURM_CONF=%s", conf) : NULL, *settings[] = {setting, NULL};
    char **environment = environment_with(base, settings, NULL);
    strings_free(base);
    free(setting);
    return environment;
}

static int ask(char *const *environment, char *const *argv, struct external_command_result *answer, struct error *e)
{
    const struct external_command question = {argv, environment, NULL, QUESTION_MS, ANSWER_BYTES, NULL};
    return external_command_run(&question, answer, e);
}

int64_t batch_submit(char *const *environment, const char *script, enum batch_refusal *refusal, char **why)
{
    char *argv[] = {(char *)"sbatch", (char *)"--parsable", (char *)script, NULL};
    struct external_command_result answer = EXTERNAL_COMMAND_RESULT_INIT;
    struct error e = ERROR_INIT;
    int64_t id = -1;
    *why = NULL;
    if (ask(environment, argv, &answer, &e) < 0) {
        /* What was never started has submitted nothing. */
        *refusal = strstr(e.text, "cannot be started") ? REFUSAL_FINAL : REFUSAL_UNKNOWN;
        *why = xstrdup(e.text);
    } else if (answer.exit_code != 0) {
        *refusal = answer.exit_code < 0 ? REFUSAL_UNKNOWN : batch_refusal_of(answer.errors);
        *why = batch_refusal_text(answer.errors);
    } else if ((id = batch_submitted_id(answer.output)) < 0) {
        *refusal = REFUSAL_UNKNOWN;
        *why = xasprintf("sbatch: expected a job id, but it answered: %.100s", answer.output);
    }
    external_command_result_free(&answer);
    return id;
}

/* How an answer was read. */
struct queue_reading {
    batch_entry_function *each;
    void *context;
    size_t entries;
};

static void count_entry(void *context, const struct batch_entry *entry)
{
    struct queue_reading *r = context;
    r->entries++;
    r->each(r->context, entry);
}

/* Returns how many lines were none, -1: no answer. */
static int read_queue(char *const *environment, char *const *how, struct queue_reading *r)
{
    char *argv[10] = {(char *)"squeue", (char *)"--me", (char *)"-t", (char *)"all"};
    for (size_t n = 4; n < 9 && *how; n++)
        argv[n] = *how++;
    struct external_command_result answer = EXTERNAL_COMMAND_RESULT_INIT;
    struct error e = ERROR_INIT;
    int rc = ask(environment, argv, &answer, &e);
    if (rc == 0)
        rc = answer.exit_code != 0 ? -1 : batch_queue_parse(answer.output, count_entry, r);
    external_command_result_free(&answer);
    return rc;
}

int batch_ask_queue(char *const *environment, batch_entry_function *each, void *context)
{
    char *lines[] = {(char *)"-h", (char *)"-r", (char *)"-o", (char *)BATCH_QUEUE_FORMAT, NULL};
    char *json[] = {(char *)"--json", NULL};
    struct queue_reading r = {each, context, 0};
    int rc = read_queue(environment, lines, &r);
    /* JSON takes ten times as long, and 3.7 kB a job (22.05): only where nothing in the lines can be read. */
    if (rc > 0 && r.entries == 0)
        rc = read_queue(environment, json, &r);
    return rc < 0 ? -1 : 0;
}

int batch_ask_accounting(char *const *environment, const char *jobs, batch_entry_function *each, void *context)
{
    char *argv[] = {(char *)"sacct", (char *)"-n", (char *)"-P",
                    (char *)"-X",    (char *)"-o", (char *)BATCH_ACCOUNT_FORMAT,
                    (char *)"-j",    (char *)jobs, NULL};
    struct external_command_result answer = EXTERNAL_COMMAND_RESULT_INIT;
    struct error e = ERROR_INIT;
    int rc = ask(environment, argv, &answer, &e);
    bool none = rc < 0 ? strstr(e.text, "cannot be started") != NULL
                       : answer.exit_code != 0 && strstr(answer.errors, "is disabled") != NULL;
    if (none)
        rc = 1;
    else if (rc == 0 && answer.exit_code != 0)
        rc = -1;
    else if (rc == 0)
        batch_account_parse(answer.output, each, context);
    external_command_result_free(&answer);
    return rc;
}

/* The last bytes of a file that grows for ever; NULL when it cannot be read. */
static char *read_end(const char *path)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    off_t size = fd >= 0 ? lseek(fd, 0, SEEK_END) : -1;
    off_t from = size > COMPLETION_BYTES ? size - COMPLETION_BYTES : 0;
    char *text = size >= 0 ? xcalloc((size_t)(size - from) + 1, 1) : NULL;
    size_t length = 0;
    for (ssize_t n = 1; text && n > 0 && length<(size_t)(size - from); length += n> 0 ? (size_t)n : 0)
        n = pread(fd, text + length, (size_t)(size - from) - length, from + (off_t)length);
    if (fd >= 0)
        close(fd);
    return text;
}

int batch_ask_completions(char *const *environment, batch_entry_function *each, void *context)
{
    char *argv[] = {(char *)"scontrol", (char *)"show", (char *)"config", NULL};
    struct external_command_result answer = EXTERNAL_COMMAND_RESULT_INIT;
    struct error e = ERROR_INIT;
    int rc = ask(environment, argv, &answer, &e);
    if (rc == 0 && answer.exit_code != 0)
        rc = -1;
    char *path = rc == 0 ? batch_completion_path(answer.output) : NULL;
    char *text = path ? read_end(path) : NULL;
    if (text)
        batch_completion_parse(text, getuid(), each, context);
    else if (rc == 0)
        rc = 1;
    free_all(text, path);
    external_command_result_free(&answer);
    return rc;
}

void batch_ask_exit(char *const *environment, const char *job, int *exit_code, int *signal_number)
{
    char *argv[] = {(char *)"scontrol", (char *)"show", (char *)"job", (char *)"-o", (char *)job, NULL};
    struct external_command_result answer = EXTERNAL_COMMAND_RESULT_INIT;
    struct error e = ERROR_INIT;
    if (ask(environment, argv, &answer, &e) == 0 && answer.exit_code == 0)
        batch_exit_parse(answer.output, exit_code, signal_number);
    external_command_result_free(&answer);
}

/* `option` NULL: none. */
static int run_scancel(char *const *environment, char *option, const char *jobs)
{
    char *copy = xstrdup(jobs), *rest = NULL, **argv = xcalloc(strlen(jobs) + 5, sizeof *argv);
    size_t n = 0;
    argv[n++] = (char *)"scancel";
    if (option)
        argv[n++] = option;
    for (char *word = strtok_r(copy, ",", &rest); word; word = strtok_r(NULL, ",", &rest))
        argv[n++] = word;
    struct external_command_result answer = EXTERNAL_COMMAND_RESULT_INIT;
    struct error e = ERROR_INIT;
    int rc = ask(environment, argv, &answer, &e);
    external_command_result_free(&answer);
    free_all(argv, copy);
    return rc;
}

int batch_cancel(char *const *environment, const char *jobs)
{
    return run_scancel(environment, NULL, jobs);
}
