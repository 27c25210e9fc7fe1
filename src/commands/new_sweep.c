#include "commands/new_sweep.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "cli/table_file.h"
#include "commands/script_options.h"
#include "metrics/readers.h"
#include "sweep_file/reader.h"
#include "util/embedded.h"
#include "util/file.h"
#include "util/memory.h"
#include "util/parse.h"
#include "util/shell_words.h"

enum { LOG_BYTES_MOST = 64 << 20, PROFILE_METRICS_LEAST = 2 };

/* --- what reads the log --- */

/* How many of the profile's metrics the log has; their names in `names`. -1: the profile is for none. */
static int count_metrics(const char *profile, const char *path, struct buffer *names)
{
    char *text = xasprintf("profile = \"%s\"\n[job]\ncommand = [\"true\"]\n[training_spec]\nx = 1\n", profile);
    struct error e = ERROR_INIT;
    struct sweep *sweep = NULL;
    struct reader_set *readers = NULL;
    struct sample_list samples = SAMPLE_LIST_INIT;
    int count = -1;
    if (sweep_parse("sweep.toml", text, strlen(text), &sweep, &e) == 0 &&
        reader_set_create(&sweep->job, &readers, &e) == 0) {
        readers_read(readers, path, NULL, NULL, &samples);
        count = 0;
    }
    for (size_t i = 0; i < samples.name_count; i++)
        if (samples.series[i].tally.reported > 0)
            buffer_printf(names, "%s%s", count++ ? ", " : "", samples.names[i]);
    sample_list_free(&samples);
    reader_set_free(readers);
    sweep_free(sweep);
    free(text);
    return count;
}

static void find_profile(const char *path, int least, struct log_readers *out)
{
    int most = least - 1;
    for (const struct embedded_file *f = NULL; (f = embedded_next("profiles/", f));) {
        size_t length = strlen(f->name) - strlen("profiles/.toml");
        char *profile = xstrndup(f->name + strlen("profiles/"), length);
        struct buffer names = BUFFER_INIT;
        int count = count_metrics(profile, path, &names);
        if (count > most) {
            most = count;
            free(out->profile);
            free(out->metrics);
            out->profile = xstrdup(profile);
            out->metrics = xstrdup(buffer_text(&names));
        }
        buffer_free(&names);
        free(profile);
    }
}

static bool has_metric(const struct log_readers *l, const char *name)
{
    size_t n = strlen(name);
    for (const char *p = l->metrics ? l->metrics : ""; (p = strstr(p, name)); p++)
        if ((p == l->metrics || p[-1] == ' ') && (p[n] == ',' || p[n] == '\0'))
            return true;
    for (size_t i = 0; i < l->proposals.count; i++)
        if (strcmp(l->proposals.items[i].metric, name) == 0)
            return true;
    return false;
}

struct csv_columns {
    char **names;
    struct buffer *numbers;
    size_t count;
};

static int take_csv_row(void *context, size_t line, const char *const *cells, size_t count, struct error *e)
{
    struct csv_columns *c = context;
    double number;
    (void)line, (void)e;
    if (!c->names) {
        c->names = xcalloc(count + 1, sizeof *c->names);
        c->numbers = xcalloc(count + 1, sizeof *c->numbers);
        for (; c->count < count; c->count++)
            c->names[c->count] = xstrdup(cells[c->count] ? cells[c->count] : "");
        return 0;
    }
    for (size_t i = 0; i < count; i++)
        if (cells[i] && parse_double(cells[i], &number))
            buffer_printf(&c->numbers[i], "%s\n", cells[i]);
    return 0;
}

/* Of a logger's CSV file; nothing where it is none. */
static void find_columns(const char *path, struct proposal_list *out)
{
    struct csv_columns columns = {0};
    struct buffer bytes = BUFFER_INIT;
    struct error no_table = ERROR_INIT;
    size_t length = strlen(path);
    if (length > 4 && strcmp(path + length - 4, ".csv") == 0 &&
        table_read_rows(path, &bytes, take_csv_row, &columns, &no_table) == 0)
        proposals_from_columns(columns.names, columns.numbers, columns.count, out);
    for (size_t i = 0; i < columns.count; i++) {
        free(columns.names[i]);
        buffer_free(&columns.numbers[i]);
    }
    free(columns.names);
    free(columns.numbers);
    buffer_free(&bytes);
}

static void choose_objective(struct log_readers *l)
{
    static const char *const objectives[] = {
        "max:throughput",
        "max:tokens_per_second",
        "max:tokens_per_second_per_gpu",
        "max:steps_per_second",
        "max:train_steps_per_second",
        "min:step_time",
        "max:flops_per_gpu",
        "min:loss",
    };
    for (size_t i = 0; i < sizeof objectives / sizeof *objectives && !l->objective; i++)
        if (has_metric(l, objectives[i] + strlen("max:")))
            l->objective = xstrdup(objectives[i]);
}

int log_readers_find(const char *path, struct log_readers *out, struct error *e)
{
    struct buffer log = BUFFER_INIT;
    *out = (struct log_readers){.path = path};
    int rc = file_read(path, LOG_BYTES_MOST, &log, e);
    if (rc == 0)
        find_columns(path, &out->proposals);
    if (rc == 0 && out->proposals.count == 0)
        find_profile(path, PROFILE_METRICS_LEAST, out);
    if (rc == 0 && !out->profile && out->proposals.count == 0)
        proposals_from_log(buffer_text(&log), log.length, &out->proposals);
    if (rc == 0 && !out->profile && out->proposals.count == 0)
        find_profile(path, 1, out);
    if (rc == 0)
        choose_objective(out);
    buffer_free(&log);
    return rc;
}

void log_readers_free(struct log_readers *l)
{
    free(l->profile);
    free(l->metrics);
    free(l->objective);
    proposal_list_free(&l->proposals);
    *l = (struct log_readers){0};
}

/* --- the text --- */

static void add_proposal(struct buffer *out, const struct log_readers *l, const struct proposal *p)
{
    const char *reader = p->column ? "csv" : "regex", *file = strrchr(l->path, '/');
    if (p->second) {
        buffer_printf(out, "# or, on %zu line%s: %s = ", p->lines, p->lines == 1 ? "" : "s", reader);
        buffer_add_toml_string(out, p->column ? p->column : p->regex);
        buffer_printf(out, "%s%s\n", p->unit[0] ? "  in " : "", p->unit);
        return;
    }
    const char *example = strcmp(p->metric, "step_time") == 0     ? "ms"
                          : strcmp(p->metric, "peak_memory") == 0 ? "MiB"
                                                                  : NULL;
    buffer_printf(out, "\n# %s: %zu line%s of %s, from %g to %g\n",
                  p->confidence == PROPOSAL_SURE ? "sure" : "likely, please look", p->lines, p->lines == 1 ? "" : "s",
                  l->path, p->least, p->most);
    buffer_printf(out, "[job.metrics.%s]\n%s = ", p->metric, reader);
    buffer_add_toml_string(out, p->column ? p->column : p->regex);
    if (p->column) {
        buffer_add_text(out, "\nfile = ");
        buffer_add_toml_string(out, file ? file + 1 : l->path);
        buffer_add_text(out, "   # its place in {job_dir}; the job must write it there");
    }
    if (p->unit[0]) {
        buffer_add_text(out, "\nunit = ");
        buffer_add_toml_string(out, p->unit);
    }
    if (p->has_prefix)
        buffer_add_text(out, "\nwritten_unit = true         # 52.3K is 52300");
    if (!p->unit[0] && example)
        buffer_printf(out,
                      "\nmeans = \"other\"             # the log names no unit; if it is \"%s\", write\n               "
                      "             # unit = \"%s\" instead, and it is compared with the prediction",
                      example, example);
    buffer_printf(out, "\nbetter = \"%s\"\ntake = \"%s\"\n", p->higher_is_better ? "max" : "min", p->take);
    if (strcmp(p->take, "median") == 0 && p->lines > 3)
        buffer_add_text(out, "warmup = 2                  # leave out the first samples\n");
}

void log_readers_add_toml(const struct log_readers *l, struct buffer *out)
{
    if (l->profile)
        buffer_printf(out, "# sure: it reads %s of %s\nprofile = \"%s\"\n", l->metrics, l->path, l->profile);
    for (size_t i = 0; i < l->proposals.count; i++)
        add_proposal(out, l, &l->proposals.items[i]);
    if (!l->profile && l->proposals.count == 0)
        buffer_printf(out,
                      "# Nothing in %s looks like a step time, throughput, memory or loss. To read a number, give a\n# "
                      "pattern whose first group matches it:\n# [job.metrics.throughput]\n# regex = 'samples/s: "
                      "([0-9.]+)'\n# better = \"max\"\n",
                      l->path);
}

static bool is_bare(const char *value, size_t length)
{
    char *text = xstrndup(value, length), *end;
    (void)strtod(text, &end);
    bool is_number = length && *end == '\0' && strspn(text, "+-0123456789.eE") == length &&
                     isdigit((unsigned char)text[length - 1]) && isdigit((unsigned char)text[strspn(text, "+-")]) &&
                     !(text[strspn(text, "+-")] == '0' && isdigit((unsigned char)text[strspn(text, "+-") + 1]));
    bool bare = is_number || strcmp(text, "true") == 0 || strcmp(text, "false") == 0;
    free(text);
    return bare;
}

/* An axis that was asked for, and how the command takes it. */
struct new_axis {
    char *key, *option;
    const char *values; /* "A,B" */
    enum script_way way;
    bool is_named; /* the command has {KEY} */
};

static bool is_truth(const char *values)
{
    static const char *const truths[] = {"true", "false", "true,false", "false,true"};
    for (size_t i = 0; i < sizeof truths / sizeof *truths; i++)
        if (strcmp(values, truths[i]) == 0)
            return true;
    return false;
}

static bool names_key(char *const *command, const char *key)
{
    char *placeholder = xasprintf("{%s}", key);
    bool found = false;
    for (; *command; command++)
        found |= strstr(*command, placeholder) != NULL;
    free(placeholder);
    return found;
}

static struct new_axis axis_of(const char *text, char *const *command, const char *script)
{
    const size_t key = strcspn(text, "=");
    struct new_axis a = {.key = xstrndup(text, key), .values = text + key + (text[key] == '=')};
    a.is_named = names_key(command, a.key);
    a.way = script_way(script, a.key, &a.option);
    if (a.is_named || ((a.way == SCRIPT_SWITCH || a.way == SCRIPT_NEGATION) && !is_truth(a.values)))
        a.way = SCRIPT_OPTION;
    return a;
}

static bool is_word(const struct new_axis *a)
{
    return a->way == SCRIPT_SWITCH || a->way == SCRIPT_NEGATION;
}

/* Whether the command gets it as a word of its own that ends in its value. */
static bool is_added(const struct new_axis *a)
{
    return !a->is_named && (a->way == SCRIPT_OPTION || a->way == SCRIPT_ASSIGNMENT);
}

static const char *dashes(const struct new_axis *a)
{
    return a->way == SCRIPT_ASSIGNMENT ? "" : "--";
}

/* The value as TOML; of a switch the word that the command gets. */
static void add_axis_value(struct buffer *out, const struct new_axis *a, const char *value, size_t length)
{
    char *word = !is_word(a)               ? xstrndup(value, length)
                 : *value == 't'           ? xasprintf("--%s", a->option)
                 : a->way == SCRIPT_SWITCH ? xstrdup("")
                                           : xasprintf("--no-%s", a->option);
    if (!is_word(a) && is_bare(value, length))
        buffer_add_text(out, word);
    else
        buffer_add_json_string(out, word, strlen(word));
    free(word);
}

/* "0..4", as some tools write a range: numbers with dots between. */
static bool is_range(const char *value, size_t length)
{
    size_t from = strspn(value, "-0123456789"), dots = strspn(value + from, ".");
    size_t to = strspn(value + from + dots, "-0123456789");
    return from > 0 && dots >= 2 && to > 0 && from + dots + to == length;
}

/* "KEY=A,B" as "KEY = [A, "B"]". */
static int add_axis(struct buffer *out, const struct new_axis *a, const char *text, struct error *e)
{
    if (!a->key[0] || !a->values[0])
        return error_set(e, ERROR_USAGE, "init: %s: write an axis as KEY=VALUE,VALUE,…, for example micro_batch=1,2,4",
                         text);
    buffer_printf(out, "%s = [", a->key);
    for (const char *value = a->values;; value++) {
        size_t length = strcspn(value, ",");
        if (length == 0)
            return error_set(e, ERROR_USAGE, "init: %s: there is an empty value; write an axis as KEY=VALUE,VALUE,…",
                             text);
        if (is_range(value, length))
            return error_set(e, ERROR_USAGE,
                             "init: %s: ranges such as %.*s are not understood; name each value, for example %s=1,2,4",
                             text, (int)length, value, a->key);
        add_axis_value(out, a, value, length);
        value += length;
        if (*value == '\0')
            break;
        buffer_add_text(out, ", ");
    }
    buffer_add_text(out, "]\n");
    return 0;
}

/* A line for the shell, in which a switch that is off is no word. */
static void add_line(struct buffer *out, const struct new_sweep *n, const struct new_axis *axes, size_t count)
{
    struct buffer line = BUFFER_INIT;
    for (char *const *word = n->command; *word; word++) {
        buffer_add_text(&line, word == n->command ? "" : " ");
        if (strpbrk(*word, " \t\"'$&|;<>()*?#~`\\!"))
            shell_add_word(&line, *word);
        else
            buffer_add_text(&line, *word);
    }
    for (size_t i = 0; i < count; i++)
        if (is_word(&axes[i]))
            buffer_printf(&line, " {%s!r}", axes[i].key);
        else if (is_added(&axes[i]))
            buffer_printf(&line, " %s%s={%s}", dashes(&axes[i]), axes[i].option, axes[i].key);
    buffer_add_json_string(out, line.data, line.length);
    buffer_free(&line);
}

static void add_words(struct buffer *out, const struct new_sweep *n, const struct new_axis *axes, size_t count)
{
    buffer_add_char(out, '[');
    for (char *const *word = n->command; *word; word++) {
        buffer_add_text(out, word == n->command ? "" : ", ");
        buffer_add_json_string(out, *word, strlen(*word));
    }
    for (size_t i = 0; i < count; i++)
        if (is_added(&axes[i]))
            buffer_printf(out, ", \"%s%s={%s}\"", dashes(&axes[i]), axes[i].option, axes[i].key);
    buffer_add_char(out, ']');
}

static void add_command(struct buffer *out, const struct new_sweep *n, const struct new_axis *axes, size_t count)
{
    bool has_switch = false, has_variable = false;
    for (size_t i = 0; i < count; i++)
        has_switch |= is_word(&axes[i]);
    buffer_add_text(out,
                    "[job]\n# {KEY} is replaced by the key's value; see \"Placeholders\" in meshsweep(5).\ncommand = ");
    (has_switch ? add_line : add_words)(out, n, axes, count);
    for (size_t i = 0; i < count; i++)
        if (axes[i].way == SCRIPT_VARIABLE) {
            buffer_printf(out, "%s%s = \"{%s}\"", has_variable ? ", " : "\nenv = { ", axes[i].key, axes[i].key);
            has_variable = true;
        }
    buffer_printf(out, "%s\ntimeout = \"30m\"            # jobs that take longer are stopped\n",
                  has_variable ? " }" : "");
}

static int add_axes(struct buffer *out, const struct new_sweep *n, const struct new_axis *axes, struct error *e)
{
    buffer_add_text(out,
                    "\n# Each list is an axis. Axes multiply: each combination of values is a job.\n[parallel_spec]\n");
    for (size_t i = 0; n->axes[i]; i++)
        if (add_axis(out, &axes[i], n->axes[i], e) < 0)
            return -1;
    return 0;
}

static const char afterword[] =
    "\n# If jobs need several devices, say how many; each job gets its own:\n"
    "# [[cluster_spec]]\n# num_hosts = 1\n# num_devices_per_host = [1, 2]\n"
    "\n# A rule excludes combinations that cannot work, before they cost a run:\n# [[rule]]\n# name = "
    "\"small-enough\"\n"
    "# require = \"micro_batch * layers <= 64\"\n# why = \"larger ones run out of memory\"\n";

int new_sweep_add_toml(const struct new_sweep *n, struct buffer *out, struct error *e)
{
    static const struct log_readers none = {.path = ""};
    const struct log_readers *log = n->log ? n->log : &none;
    buffer_add_text(out, "# Written by meshsweep init. To see what it would run: meshsweep plan. All keys: man 5 "
                         "meshsweep.\n");
    if (log->profile)
        log_readers_add_toml(log, out);
    buffer_add_text(out, "\n[sweep]\nname = ");
    buffer_add_json_string(out, n->name, strlen(n->name));
    buffer_printf(out, "\nobjective = \"%s\"%s\n\n", log->objective ? log->objective : "min:duration",
                  log->objective ? "" : "   # until the script reports something better");
    struct new_axis *axes = NULL;
    size_t count = 0;
    char *script = script_text(n->command);
    for (; n->axes[count]; count++) {
        axes = array_grow(axes, count, sizeof *axes);
        axes[count] = axis_of(n->axes[count], n->command, script);
    }
    add_command(out, n, axes, count);
    if (n->log && !log->profile)
        log_readers_add_toml(log, out);
    int rc = add_axes(out, n, axes, e);
    buffer_add_text(out, afterword);
    for (size_t i = 0; i < count; i++) {
        free(axes[i].key);
        free(axes[i].option);
    }
    free(axes);
    free(script);
    return rc;
}
