#include "batch/text.h"

#include <stdlib.h>
#include <string.h>

#include <cjson/cJSON.h>

#include "util/buffer.h"
#include "util/memory.h"

#define FIELDS_MOST 8
#define DIGITS "0123456789"

/* Digits at `*text`, which moves on; -1 when there are none or too many. */
static int64_t take_number(const char **text)
{
    size_t length = strspn(*text, DIGITS);
    if (length == 0 || length > 18)
        return -1;
    int64_t n = 0;
    for (size_t i = 0; i < length; i++)
        n = n * 10 + (*text)[i] - '0';
    *text += length;
    return n;
}

/* Tasks as Slurm abbreviates them: "4", "0-3,7%2", "[0-9:2%4]". False when it is none; `each` may have been called
 * then for what stood before. */
static bool parse_tasks(const char *text, struct batch_entry *entry, batch_entry_function *each, void *context)
{
    text += *text == '[';
    for (;;) {
        entry->first = entry->last = take_number(&text);
        if (entry->first < 0)
            return false;
        int64_t step = 0;
        if (*text == '-' && (text++, (entry->last = take_number(&text)) < entry->first))
            return false;
        if (*text == ':' && (text++, (step = take_number(&text)) < 1))
            return false;
        if (step < 2) {
            each(context, entry);
        } else {
            /* MaxArraySize may be four million at most (slurm.conf(5)). */
            int64_t last = entry->last;
            if (last - entry->first > 4000001)
                return false;
            for (int64_t task = entry->first; task <= last; task += step) {
                entry->first = entry->last = task;
                each(context, entry);
            }
        }
        if (*text != ',')
            return *text == '\0' || *text == '%' || *text == ']';
        text++;
    }
}

/* Cuts a line at its bars, at most `most` fields: the last one takes the rest. */
static int cut(char *line, char **fields, int most)
{
    int n = 0;
    for (fields[n++] = line; n < most && (line = strchr(line, '|')); fields[n++] = line)
        *line++ = '\0';
    return n;
}

/* Calls `take` for each line that is not empty; how many it refused. */
static int each_line(const char *text, bool (*take)(char *line, batch_entry_function *each, void *context),
                     batch_entry_function *each, void *context)
{
    char *copy = xstrdup(text), *rest = NULL;
    int refused = 0;
    for (char *line = strtok_r(copy, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest))
        refused += !take(line, each, context);
    free(copy);
    return refused;
}

static bool take_queue_line(char *line, batch_entry_function *each, void *context)
{
    char *f[FIELDS_MOST];
    if (cut(line, f, 6) < 6)
        return false;
    const char *number = f[0];
    struct batch_entry entry = {take_number(&number), -1, -1, batch_state_by_name(f[2]), -1, -1, f[3], f[4], f[5]};
    if (entry.job < 0 || *number)
        return false;
    if (strspn(f[1], DIGITS "[") > 0)
        return parse_tasks(f[1], &entry, each, context);
    each(context, &entry);
    return true;
}

/* "7:0" */
static void parse_exit(const char *text, struct batch_entry *entry)
{
    int64_t code = take_number(&text), signal_number = *text == ':' ? (text++, take_number(&text)) : -1;
    entry->exit_code = code >= 0 && code <= 255 ? (int)code : -1;
    entry->signal_number = signal_number >= 0 && signal_number <= 255 ? (int)signal_number : -1;
}

static bool take_account_line(char *line, batch_entry_function *each, void *context)
{
    char *f[FIELDS_MOST];
    if (cut(line, f, 4) < 4)
        return false;
    const char *number = f[0];
    struct batch_entry entry = {take_number(&number), -1, -1, batch_state_by_name(f[1]), -1, -1, "", f[3], ""};
    parse_exit(f[2], &entry);
    if (entry.job < 0)
        return false;
    if (strchr(number, '.'))
        return true; /* a step: its job has a line of its own */
    if (*number == '_')
        return parse_tasks(number + 1, &entry, each, context);
    if (*number)
        return false;
    each(context, &entry);
    return true;
}

/* --- the completion log --- */

/* Of "KEY=", the last in the line: what users choose stands before what Slurm adds. Cut at the next blank. */
static const char *last_value(const char *line, const char *key)
{
    const char *found = NULL;
    for (const char *at = line; (at = strstr(at, key)); at += strlen(key))
        found = at + strlen(key);
    return found ? found : "";
}

static bool take_completion_line(char *line, batch_entry_function *each, void *context)
{
    const char *array = last_value(line, " ArrayJobId="), *task = last_value(line, " ArrayTaskId=");
    const char *name = strstr(line, " Name="), *state = name ? strstr(name, " JobState=") : NULL;
    const char *nodes = state ? strstr(state, " NodeList=") : NULL;
    struct batch_entry entry = {take_number(&array), take_number(&task), -1, BATCH_NONE, -1, -1, "", "", ""};
    if (entry.job < 0 || entry.first < 0 || !nodes)
        return false;
    char *end = strchr(nodes + 1, ' ');
    if (end)
        *end = '\0';
    entry.last = entry.first;
    entry.state = batch_state_by_name(state + strlen(" JobState="));
    entry.nodes = strcmp(nodes + strlen(" NodeList="), "(null)") != 0 ? nodes + strlen(" NodeList=") : "";
    each(context, &entry);
    return true;
}

int batch_completion_parse(const char *text, int64_t user, batch_entry_function *each, void *context)
{
    int refused = 0;
    char *own = xasprintf("(%lld) ", (long long)user);
    for (const char *line = text, *next; *line; line = next) {
        next = line + strcspn(line, "\n");
        const char *id = strncmp(line, "JobId=", 6) == 0 ? memmem(line, (size_t)(next - line), " UserId=", 8) : NULL;
        const char *paren = id ? memchr(id, '(', (size_t)(next - id)) : NULL;
        if (paren && strncmp(paren, own, strlen(own)) == 0) {
            char *copy = xstrndup(line, (size_t)(next - line));
            refused += !take_completion_line(copy, each, context);
            free(copy);
        }
        next += *next == '\n';
    }
    free(own);
    return refused;
}

char *batch_completion_path(const char *text)
{
    const char *type = strstr(text, "JobCompType "), *path = strstr(text, "JobCompLoc ");
    type = type ? strchr(type, '=') : NULL;
    path = path ? strchr(path, '/') : NULL;
    if (!type || !path || strncmp(type, "= jobcomp/filetxt", 17) != 0)
        return NULL;
    return xstrndup(path, strcspn(path, " \n"));
}

/* --- JSON --- */

/* A number, bare or as {"set": true, "infinite": false, "number": 7}; -1 when there is none. */
static int64_t json_int(const cJSON *object, const char *name)
{
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(object, name);
    if (cJSON_IsObject(item)) {
        if (!cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(item, "set")))
            return -1;
        item = cJSON_GetObjectItemCaseSensitive(item, "number");
    }
    if (!cJSON_IsNumber(item) || !(item->valuedouble >= 0 && item->valuedouble < 1e15))
        return -1;
    return (int64_t)item->valuedouble;
}

static const char *json_text(const cJSON *object, const char *name)
{
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(object, name);
    if (cJSON_IsArray(item))
        item = cJSON_GetArrayItem(item, 0);
    return cJSON_IsString(item) ? item->valuestring : "";
}

static bool take_object(const cJSON *job, batch_entry_function *each, void *context)
{
    int64_t id = json_int(job, "job_id"), array = json_int(job, "array_job_id"), task = json_int(job, "array_task_id");
    const char *tasks = json_text(job, "array_task_string"), *state = json_text(job, "job_state");
    struct batch_entry entry = {array > 0 ? array : id,
                                -1,
                                -1,
                                batch_state_by_name(state),
                                -1,
                                -1,
                                json_text(job, "state_reason"),
                                json_text(job, "nodes"),
                                json_text(job, "comment")};
    if (id < 0 || !*state)
        return false;
    if (array > 0 && *tasks)
        return parse_tasks(tasks, &entry, each, context);
    if (array > 0)
        entry.first = entry.last = task;
    each(context, &entry);
    return true;
}

static int parse_json(const char *text, batch_entry_function *each, void *context)
{
    cJSON *whole = cJSON_Parse(text);
    const cJSON *jobs = cJSON_GetObjectItemCaseSensitive(whole, "jobs"), *job;
    int refused = cJSON_IsArray(jobs) ? 0 : -1;
    if (refused == 0)
        cJSON_ArrayForEach(job, jobs) refused += !take_object(job, each, context);
    cJSON_Delete(whole);
    return refused;
}

int batch_queue_parse(const char *text, batch_entry_function *each, void *context)
{
    return text[strspn(text, " \t\r\n")] == '{' ? parse_json(text, each, context)
                                                : each_line(text, take_queue_line, each, context);
}

int batch_account_parse(const char *text, batch_entry_function *each, void *context)
{
    return each_line(text, take_account_line, each, context);
}

bool batch_exit_parse(const char *text, int *exit_code, int *signal_number)
{
    static const char name[] = " ExitCode=";
    const char *at = strstr(text, name);
    if (!at)
        return false;
    at += strlen(name);
    int64_t code = take_number(&at), killer = code >= 0 && *at == ':' ? (at++, take_number(&at)) : -1;
    if (killer < 0 || code > 255 || killer > 64)
        return false;
    *exit_code = (int)code;
    *signal_number = (int)killer;
    return true;
}

int64_t batch_submitted_id(const char *text)
{
    text += strspn(text, " \t\r\n");
    int64_t id = take_number(&text);
    return id > 0 && strchr(";\n\r \t", *text) ? id : -1;
}

/* Of slurm_errno.c and job_reason_string() (Slurm 22.05): limits on the number of jobs pass by themselves; others are
 * named on a line of their own, before a sentence that is the same for all; words of a conversation that broke off. */
static const struct {
    const char *text;
    enum batch_refusal refusal;
} refusals[] = {
    {"SubmitJob", REFUSAL_LIMIT},
    {"MaxJobCount", REFUSAL_LIMIT},
    {"temporarily unable to accept job", REFUSAL_LIMIT},
    {"Resource temporarily unavailable", REFUSAL_LIMIT},
    {"Rate limit exceeded", REFUSAL_LIMIT},
    {"Unable to contact slurm controller", REFUSAL_UNKNOWN},
    {"Socket timed out", REFUSAL_UNKNOWN},
    {"Connection refused", REFUSAL_UNKNOWN},
    {"Connection reset", REFUSAL_UNKNOWN},
    {"Unexpected message received", REFUSAL_UNKNOWN},
    {"Zero Bytes were transmitted", REFUSAL_UNKNOWN},
    {"communication connection failure", REFUSAL_UNKNOWN},
    {"Message receive failure", REFUSAL_UNKNOWN},
    {"Transport endpoint", REFUSAL_UNKNOWN},
    {"Limit\n", REFUSAL_POLICY},
    {"submit limit", REFUSAL_LIMIT},
};

enum batch_refusal batch_refusal_of(const char *errors)
{
    for (size_t i = 0; i < sizeof refusals / sizeof *refusals; i++)
        if (strcasestr(errors, refusals[i].text))
            return refusals[i].refusal;
    return REFUSAL_FINAL;
}

/* Of squeue(1), JOB REASON CODES: the first that the reason has in it. */
static const struct {
    const char *reason, *change;
} changes[] = {
    {"JobHeldUser", "`scontrol release` lets it go"},
    {"JobHeldAdmin", "whoever runs the cluster holds it"},
    {"PartitionTimeLimit", "ask for less time ([job] timeout) or for another partition"},
    {"MaxWallDurationPerJobLimit", "ask for less time ([job] timeout) or for another qos"},
    {"PerJobLimit", "ask for less or for another qos"},
    {"PartitionNodeLimit", "ask for fewer nodes or for another partition"},
    {"BadConstraints", "no node has what [slurm] and cluster_spec ask for"},
    {"AccountNotAllowed", "ask for another account or partition"},
    {"InvalidAccount", "ask for another account"},
    {"QOSNotAllowed", "ask for another qos or partition"},
    {"InvalidQOS", "ask for another qos"},
    {"DependencyNeverSatisfied", "an option of [slurm] options names a job that failed"},
};

const char *batch_reason_change(const char *reason)
{
    for (size_t i = 0; i < sizeof changes / sizeof *changes; i++)
        if (strstr(reason, changes[i].reason))
            return changes[i].change;
    return NULL;
}

char *batch_refusal_text(const char *errors)
{
    static const char prefix[] = "sbatch: ", error[] = "error: ", hint[] = "Try \"sbatch";
    struct buffer b = BUFFER_INIT;
    char *copy = xstrdup(errors), *rest = copy;
    for (char *line; (line = strsep(&rest, "\r\n"));) {
        line += strncmp(line, prefix, sizeof prefix - 1) == 0 ? sizeof prefix - 1 : 0;
        line += strncmp(line, error, sizeof error - 1) == 0 ? sizeof error - 1 : 0;
        if (*line && strncmp(line, hint, sizeof hint - 1) != 0)
            buffer_printf(&b, "%s%.300s", b.length ? "; " : prefix, line);
    }
    free(copy);
    return buffer_take(&b);
}

int64_t batch_time_minutes(int64_t limit_ms, int64_t grace_ms, int64_t margin_ms)
{
    return limit_ms <= 0 ? 0 : (limit_ms + grace_ms + margin_ms + 59999) / 60000;
}
