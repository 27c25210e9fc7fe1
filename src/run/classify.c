#include "run/classify.h"

#include <ctype.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "run/line_pattern.h"
#include "run/line_reader.h"
#include "util/buffer.h"
#include "util/memory.h"
#include "util/parse.h"
#include "util/utf8.h"

const char *const failure_names[FAILURE_COUNT] = {
    [FAILURE_NONE] = "",           [FAILURE_EXIT] = "exit",         [FAILURE_SIGNAL] = "signal",
    [FAILURE_OOM] = "oom",         [FAILURE_OOM_HOST] = "oom-host", [FAILURE_TIMEOUT] = "timeout",
    [FAILURE_HANG] = "hang",       [FAILURE_NO_METRIC] = "no-metric", [FAILURE_SPAWN] = "spawn",
    [FAILURE_LOST] = "lost",       [FAILURE_CANCELLED] = "cancelled",
};

enum failure failure_by_name(const char *name)
{
    for (int i = 1; i < FAILURE_COUNT; i++)
        if (strcmp(failure_names[i], name) == 0)
            return (enum failure)i;
    return FAILURE_NONE;
}

struct compiled_pattern {
    enum failure failure;
    struct line_pattern pattern;
};

struct classifier {
    struct compiled_pattern *patterns;
    size_t count;
};

int classifier_create(const struct failure_pattern *patterns, size_t count, struct classifier **out, struct error *e)
{
    struct classifier *c = xcalloc(1, sizeof *c);
    c->patterns = xcalloc(count, sizeof *c->patterns);
    for (size_t i = 0; i < count; i++) {
        const struct failure_pattern *given = &patterns[i];
        struct compiled_pattern *p = &c->patterns[c->count];
        char why[256] = "no such failure class";
        p->failure = failure_by_name(given->class_name);
        if (p->failure == FAILURE_NONE || line_pattern_compile(&p->pattern, given->pattern, why) != 0) {
            classifier_free(c);
            return error_set(e, ERROR_USAGE, "failure pattern `%s` of class `%s` (%s): %s", given->pattern,
                             given->class_name, given->source, why);
        }
        c->count++;
    }
    *out = c;
    return 0;
}

int classifier_load(struct db *db, const struct sweep *sweep, struct classifier **out, struct error *e)
{
    struct failure_pattern *patterns = NULL;
    size_t count = 0;
    struct stmt *s = NULL;
    if (db_prepare(db, "SELECT class, pattern, source FROM failure_pattern", &s, e) < 0)
        return -1;
    /* The file's own patterns come first: they know the job better. */
    for (; count < sweep->failure_count; count++) {
        const struct failure_pattern *p = &sweep->failures[count];
        patterns = array_grow(patterns, count, sizeof *patterns);
        patterns[count] = (struct failure_pattern){xstrdup(p->class_name), xstrdup(p->pattern), xstrdup(p->source), p->at};
    }
    int rc;
    while ((rc = stmt_next(s, e)) > 0) {
        patterns = array_grow(patterns, count, sizeof *patterns);
        patterns[count++] = (struct failure_pattern){xstrdup(stmt_text(s, 0)), xstrdup(stmt_text(s, 1)),
                                                     xstrdup(stmt_text(s, 2)), {"", 0, 0}};
    }
    stmt_free(s);
    if (rc == 0)
        rc = classifier_create(patterns, count, out, e);
    for (size_t i = 0; i < count; i++) {
        free(patterns[i].class_name);
        free(patterns[i].pattern);
        free(patterns[i].source);
    }
    free(patterns);
    return rc;
}

void classifier_free(struct classifier *c)
{
    if (!c)
        return;
    for (size_t i = 0; i < c->count; i++)
        line_pattern_free(&c->patterns[i].pattern);
    free(c->patterns);
    free(c);
}

/* --- the output --- */

enum {
    SEARCHED_BYTES = 16 << 20, /* the first and the last half of that */
    QUOTED_BYTES = 300         /* of a line put into a message */
};

/* What the output says. */
struct evidence {
    enum failure failure; /* the first class found, but device memory above all others */
    char line[QUOTED_BYTES + 1];      /* that told so */
    char exception[QUOTED_BYTES + 1]; /* last line like "RuntimeError: text" */
    char last[QUOTED_BYTES + 1];      /* last line with a letter in it */
};

static void copy_line(char out[QUOTED_BYTES + 1], const char *line)
{
    size_t n = strnlen(line, QUOTED_BYTES);
    memcpy(out, line, n);
    out[n] = '\0';
}

static bool has_letter(const char *line)
{
    for (; *line; line++)
        if (isalpha((unsigned char)*line) || (*line & 0x80))
            return true;
    return false;
}

/* "package.SomeError: text" at the line's start, or behind a launcher's prefix in brackets ("[rank0]: "). An exception
 * without a text only closes what another one began. */
static bool is_exception(const char *line)
{
    if (*line == '[' && strstr(line, "]: "))
        line = strstr(line, "]: ") + 3;
    size_t n = strspn(line, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.");
    static const char *const endings[] = {"Error", "Exception", "Interrupt", "Exit"};
    if (line[n] != ':' || line[n + 1] != ' ' || line[n + 2] == '\0')
        return false;
    for (size_t i = 0; i < sizeof endings / sizeof *endings; i++) {
        size_t length = strlen(endings[i]);
        if (n >= length && strncmp(line + n - length, endings[i], length) == 0)
            return true;
    }
    return false;
}

/* Device memory is what a sweep asks about: it outranks what a runtime says besides while it goes down. */
static bool outranks(enum failure a, enum failure b)
{
    return b == FAILURE_NONE || (a == FAILURE_OOM && b != FAILURE_OOM);
}

/* Slurm's launcher repeats at the end how the tasks ended. */
static bool is_of_srun(const char *line)
{
    return strncmp(line, "srun: ", 6) == 0;
}

static void look_at(const struct classifier *c, const char *line, struct evidence *e)
{
    if (has_letter(line) && (e->last[0] == '\0' || !is_of_srun(line)))
        copy_line(e->last, line);
    if (is_exception(line))
        copy_line(e->exception, line);
    for (size_t i = 0; i < c->count; i++) {
        enum failure failure = c->patterns[i].failure;
        if (!outranks(failure, e->failure) || !line_pattern_match(&c->patterns[i].pattern, line, 0, NULL))
            continue;
        e->failure = failure;
        copy_line(e->line, line);
    }
}

static struct evidence gather(const struct classifier *c, const char *log_path)
{
    struct evidence e = {.failure = FAILURE_NONE};
    struct line_reader *r = line_reader_open(log_path, SEARCHED_BYTES);
    const char *line;
    while (r && (line = line_reader_next(r)))
        look_at(c, line, &e);
    line_reader_close(r);
    return e;
}

/* The line that most likely says why. */
static const char *telling_line(const struct evidence *e)
{
    return e->exception[0] ? e->exception : e->last;
}

/* --- the verdict --- */

/* The end of a terminal's escape sequence that begins at `p` with ESC. */
static const char *skip_escape(const char *p)
{
    p++;
    if (*p != '[')
        return *p ? p + 1 : p;
    for (p++; *p && !isalpha((unsigned char)*p);)
        p++;
    return *p ? p + 1 : p;
}

/* Adds a line of output as people may see it: valid UTF-8, without what steers a terminal. */
static void add_printable(struct buffer *b, const char *line)
{
    size_t left = strlen(line);
    for (const char *end = line + left; line < end; left = (size_t)(end - line)) {
        size_t width = utf8_sequence_length(line, left);
        if (*line == '\033') {
            line = skip_escape(line);
            continue;
        }
        /* A line cut within a character ends before it. */
        if (width == 0 && left < 4 && (*line & 0xC0) == 0xC0)
            break;
        if ((unsigned char)*line < ' ' || *line == 0x7F)
            buffer_add_char(b, ' ');
        else
            buffer_add(b, width ? line : "\xEF\xBF\xBD", width ? width : 3);
        line += width ? width : 1;
    }
}

/* `text` and, where there is one, ": LINE". Takes `text`. */
static char *with_line(char *text, const char *line)
{
    struct buffer b = BUFFER_INIT;
    line += strspn(line, " \t");
    if (!*line)
        return text;
    buffer_printf(&b, "%s: ", text);
    add_printable(&b, line);
    free(text);
    return buffer_take(&b);
}

static struct verdict say(enum failure failure, char *message)
{
    return (struct verdict){failure, message};
}

static struct verdict not_started(const struct outcome *o)
{
    const char *subject = o->spawn_subject;
    if (o->note)
        return say(FAILURE_SPAWN, xasprintf("could not be started: %s", o->note));
    return say(FAILURE_SPAWN, xasprintf("could not be started (%s%s%s): %s", o->spawn_stage, subject ? " " : "",
                                        subject ? subject : "", strerror(o->error_number)));
}

/* What each ending is called, and what it is unless the output or the kernel knows better. */
static const struct {
    enum failure failure;
    const char *limit, *what; /* of limits */
} endings[] = {
    [ENDING_EXITED] = {FAILURE_EXIT, NULL, NULL},
    [ENDING_SIGNALED] = {FAILURE_SIGNAL, NULL, NULL},
    [ENDING_TIMEOUT] = {FAILURE_TIMEOUT, "timeout", "still running after"},
    [ENDING_IDLE_TIMEOUT] = {FAILURE_HANG, "idle_timeout", "no output and no metric for"},
    [ENDING_STARTUP_TIMEOUT] = {FAILURE_TIMEOUT, "startup_timeout", "no first metric within"},
    [ENDING_LOST] = {FAILURE_LOST, NULL, NULL},
    [ENDING_ABORTED] = {FAILURE_CANCELLED, NULL, NULL},
};

static char *ending_text(const struct outcome *o)
{
    char duration[32];
    if (o->note)
        return xstrdup(o->note);
    if (o->ending == ENDING_EXITED)
        return xasprintf("exit status %d", o->exit_code);
    if (o->ending == ENDING_SIGNALED) {
        const char *name = sigabbrev_np(o->signal_number);
        return xasprintf("killed by signal %d (SIG%s)%s", o->signal_number, name ? name : "?",
                         o->core_dumped ? ", core dumped" : "");
    }
    return xasprintf("%s: %s %s", endings[o->ending].limit, endings[o->ending].what,
                     format_duration_ms(o->limit_ms, duration, sizeof duration));
}

static struct verdict killed_by_kernel(const struct outcome *o)
{
    char *ending = ending_text(o);
    char *text = xasprintf("%s: the kernel ended it, the host's memory was exhausted", ending);
    free(ending);
    return say(FAILURE_OOM_HOST, text);
}

static struct verdict from_output(const struct evidence *e, const struct outcome *o)
{
    return say(e->failure, with_line(ending_text(o), e->line));
}

static struct verdict exit_zero(bool wanted, bool found)
{
    if (wanted && !found)
        return say(FAILURE_NO_METRIC, xstrdup("exit status 0, but the objective was not reported"));
    return say(FAILURE_NONE, NULL);
}

static struct verdict from_ending(const struct outcome *o, const struct evidence *e)
{
    bool of_itself = o->ending == ENDING_EXITED || o->ending == ENDING_SIGNALED;
    if (e->failure == FAILURE_OOM)
        return from_output(e, o);
    if (of_itself && o->host_oom)
        return killed_by_kernel(o);
    if (of_itself && e->failure != FAILURE_NONE)
        return from_output(e, o);
    return say(endings[o->ending].failure, with_line(ending_text(o), of_itself ? telling_line(e) : ""));
}

struct verdict classify(const struct classifier *c, const struct outcome *o, const char *log_path,
                        bool objective_wanted, bool objective_found)
{
    if (o->ending == ENDING_SPAWN_FAILED)
        return not_started(o);
    if (o->ending == ENDING_CANCELLED)
        return say(FAILURE_CANCELLED, xstrdup("stopped by the person or program that ran the sweep"));
    if (o->ending == ENDING_STOPPED)
        return objective_found ? say(FAILURE_NONE, xstrdup("stopped early: nothing more was to be learned from it"))
                               : say(FAILURE_CANCELLED, xstrdup("stopped early, before it measured anything"));
    /* Words like "out of memory" in the output of a job that went well are no failure. */
    if (o->ending == ENDING_EXITED && o->exit_code == 0)
        return exit_zero(objective_wanted, objective_found);
    if (o->ending == ENDING_LOST || o->ending == ENDING_ABORTED)
        return say(endings[o->ending].failure, ending_text(o));
    struct evidence e = gather(c, log_path);
    return from_ending(o, &e);
}

/* --- the tail --- */

static size_t read_end(const char *path, char *out, size_t limit)
{
    struct stat status;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return 0;
    off_t from = fstat(fd, &status) == 0 && status.st_size > (off_t)limit ? status.st_size - (off_t)limit : 0;
    ssize_t n = pread(fd, out, limit, from);
    close(fd);
    if (n <= 0)
        return 0;
    /* A cut line says less than none, unless it is all there is. */
    char *line = from > 0 ? memchr(out, '\n', (size_t)n) : NULL;
    if (!line || line + 1 == out + n)
        return (size_t)n;
    size_t left = (size_t)(out + n - (line + 1));
    memmove(out, line + 1, left);
    return left;
}

char *log_tail(const char *log_path, size_t limit)
{
    char *raw = xmalloc(limit);
    struct buffer b = BUFFER_INIT;
    size_t n = read_end(log_path, raw, limit);
    for (size_t i = 0; i < n;) {
        size_t width = utf8_sequence_length(raw + i, n - i);
        bool unfit = width == 0 || raw[i] == '\0';
        buffer_add(&b, unfit ? "\xEF\xBF\xBD" : raw + i, unfit ? 3 : width);
        i += width ? width : 1;
    }
    free(raw);
    return buffer_take(&b);
}
