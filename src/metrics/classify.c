#include "metrics/classify.h"

#include <ctype.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "metrics/evidence.h"
#include "process/job_file.h"
#include "util/buffer.h"
#include "util/memory.h"
#include "util/parse.h"
#include "util/utf8.h"

struct classifier {
    struct known_lines known;
};

/* The meanings that failure patterns may have besides a class. */
static const struct {
    const char *name;
    enum line_meaning meaning;
} meanings[] = {{"reason", MEANING_REASON},
                {"host", MEANING_HOST},
                {"consequence", MEANING_CONSEQUENCE},
                {"end", MEANING_END},
                {"launcher", MEANING_LAUNCHER}};

static enum line_meaning meaning_by_name(const char *name)
{
    for (size_t i = 0; i < LENGTH(meanings); i++)
        if (strcmp(meanings[i].name, name) == 0)
            return meanings[i].meaning;
    return failure_by_name(name) == FAILURE_NONE ? 0 : MEANING_FAILURE;
}

int classifier_create(const struct failure_pattern *patterns, size_t count, struct classifier **out, struct error *e)
{
    struct classifier *c = xcalloc(1, sizeof *c);
    c->known.items = xcalloc(count, sizeof *c->known.items);
    for (size_t i = 0; i < count; i++) {
        const struct failure_pattern *given = &patterns[i];
        struct known_line *p = &c->known.items[c->known.count];
        char why[256] = "no such failure class";
        p->meaning = meaning_by_name(given->class_name);
        p->failure = failure_by_name(given->class_name);
        if (p->meaning == 0 || line_pattern_compile(&p->pattern, given->pattern, why) != 0) {
            classifier_free(c);
            return error_set(e, ERROR_USAGE, "failure pattern `%s` of class `%s` (%s): %s", given->pattern,
                             given->class_name, given->source, why);
        }
        c->known.count++;
    }
    *out = c;
    return 0;
}

int classifier_load(struct db *db, const struct sweep *sweep, struct classifier **out, struct error *e)
{
    struct failure_pattern *patterns = NULL;
    struct arena arena = {0};
    size_t count = 0;
    struct stmt *s = NULL;
    if (db_prepare(db, "SELECT class, pattern, source FROM failure_pattern", &s, e) < 0)
        return -1;
    /* The file's own patterns come first: they know the job better. */
    while (count < sweep->failure_count) {
        const struct failure_pattern *p = &sweep->failures[count];
        *arena_add(&arena, patterns, count) = *p;
    }
    int rc;
    while ((rc = stmt_next(s, e)) > 0)
        *arena_add(&arena, patterns, count) = (struct failure_pattern){arena_text(&arena, stmt_text(s, 0)),
                                                                       arena_text(&arena, stmt_text(s, 1)),
                                                                       arena_text(&arena, stmt_text(s, 2)),
                                                                       {"", 0, 0}};
    stmt_free(s);
    if (rc == 0)
        rc = classifier_create(patterns, count, out, e);
    arena_free(&arena);
    return rc;
}

void classifier_free(struct classifier *c)
{
    if (!c)
        return;
    for (size_t i = 0; i < c->known.count; i++)
        line_pattern_free(&c->known.items[i].pattern);
    free_all(c->known.items, c);
}

/* The line that most likely says why. */
static const char *deciding_line(const struct evidence *e)
{
    const char *const lines[] = {e->cause, e->consequence, e->last, e->end, e->launcher};
    for (size_t i = 0; i < LENGTH(lines); i++)
        if (lines[i][0])
            return lines[i];
    return "";
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
    return (struct verdict){failure, message, NULL, false};
}

static struct verdict not_started(const struct outcome *o)
{
    const char *subject = o->spawn_subject;
    if (o->note)
        return say(FAILURE_SPAWN, xasprintf("could not be started: %s", o->note));
    return say(FAILURE_SPAWN, xasprintf("could not be started (%s%s%s): %s", o->spawn_stage, subject ? " " : "",
                                        subject ? subject : "", strerror(o->error_number)));
}

/* The name of each ending, and its class unless the output or the kernel knows better. */
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

/* Launchers in Python end with the code of the rank that failed, which is -9 where a signal 9 ended it, and the kernel
 * makes 247 of that. 0: there was none. */
static int signal_of_rank(const struct outcome *o)
{
    static const int fatal[] = {SIGILL, SIGABRT, SIGBUS, SIGFPE, SIGKILL, SIGSEGV, SIGTERM};
    for (size_t i = 0; o->ending == ENDING_EXITED && i < LENGTH(fatal); i++)
        if (o->exit_code == 256 - fatal[i])
            return fatal[i];
    return 0;
}

static char *ending_text(const struct outcome *o)
{
    char duration[32];
    if (o->note)
        return xstrdup(o->note);
    if (o->ending == ENDING_EXITED && signal_of_rank(o)) {
        const char *name = sigabbrev_np(signal_of_rank(o));
        return xasprintf("exit status %d: a rank was killed by signal %d (SIG%s)", o->exit_code, signal_of_rank(o),
                         name ? name : "?");
    }
    if (o->ending == ENDING_EXITED)
        return xasprintf("exit status %d", o->exit_code);
    if (o->ending == ENDING_SIGNALED) {
        const char *name = sigabbrev_np(o->signal_number);
        return xasprintf("killed by signal %d (SIG%s)%s%s", o->signal_number, name ? name : "?",
                         o->core_dumped ? ", core dumped" : "",
                         o->signal_number == SIGXFSZ ? ": a file grew beyond the limit (ulimit -f)" : "");
    }
    return xasprintf("%s: %s %s", endings[o->ending].limit, endings[o->ending].what,
                     format_duration_ms(o->limit_ms, duration, sizeof duration));
}

#define BY_KERNEL "killed by the kernel: the host ran out of memory"

static bool begins(const char *text, const char *with)
{
    return strncmp(text, with, strlen(with)) == 0;
}

void outcome_recall(struct outcome *o, enum failure was, const char *message)
{
    o->host_oom = strstr(message, BY_KERNEL) != NULL;
    o->core_dumped = strstr(message, ", core dumped") != NULL;
    o->ending = was == FAILURE_HANG                         ? ENDING_IDLE_TIMEOUT
                : o->limit_ms > 0 || was == FAILURE_TIMEOUT ? ENDING_TIMEOUT
                : o->signal_number                          ? ENDING_SIGNALED
                                                            : ENDING_EXITED;
    for (size_t i = 0; o->limit_ms > 0 && i < LENGTH(endings); i++)
        if (endings[i].limit && begins(message, endings[i].limit))
            o->ending = (enum ending)i;
    OWNED char *text = ending_text(o);
    if (o->exit_code != 0 && !begins(message, text))
        o->note = xstrdup(message);
}

static struct verdict killed_by_kernel(const struct outcome *o)
{
    OWNED char *ending = ending_text(o);
    char *text = xasprintf("%s: " BY_KERNEL, ending);
    return say(FAILURE_OOM_HOST, text);
}

static struct verdict from_output(const struct evidence *e, const struct outcome *o)
{
    return say(e->failure, with_line(ending_text(o), e->line));
}

/* A pipe to tee hides the status of what failed. */
static struct verdict exit_zero(const struct evidence *e)
{
    return say(FAILURE_NO_METRIC, with_line(xstrdup("exit status 0, but the objective was not reported"), e->cause));
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
    /* A rank that failed leaves the others waiting until a limit. */
    enum failure failure = signal_of_rank(o) ? FAILURE_SIGNAL : endings[o->ending].failure;
    struct verdict v = say(failure, with_line(ending_text(o), of_itself ? deciding_line(e) : e->cause));
    v.of_host = e->of_host;
    return v;
}

/* Adds what others said of the end, unless the message does already. */
static struct verdict with_consequence(struct verdict v, const struct evidence *e)
{
    const char *said = e->consequence[0] ? e->consequence : e->end;
    OWNED_BUFFER b = BUFFER_INIT;
    add_printable(&b, said + strspn(said, " \t"));
    if (b.length > 0 && !strstr(v.message, b.data))
        v.consequence = buffer_take(&b);
    return v;
}

struct verdict classify(const struct classifier *c, const struct outcome *o, const struct attempt_output *output,
                        bool objective_wanted, bool objective_found)
{
    const bool exited_zero = o->ending == ENDING_EXITED && o->exit_code == 0;
    if (o->ending == ENDING_SPAWN_FAILED)
        return not_started(o);
    if (o->ending == ENDING_CANCELLED)
        return say(FAILURE_CANCELLED, xstrdup("stopped by whoever ran the sweep"));
    if (o->ending == ENDING_STOPPED)
        return objective_found ? say(FAILURE_NONE, xstrdup("stopped early"))
                               : say(FAILURE_CANCELLED, xstrdup("stopped early, before it measured anything"));
    /* Words like "out of memory" in the output of a job that went well are no failure. */
    if (exited_zero && (!objective_wanted || objective_found))
        return say(FAILURE_NONE, NULL);
    if (o->ending == ENDING_LOST || o->ending == ENDING_ABORTED)
        return say(endings[o->ending].failure, ending_text(o));
    struct evidence e = evidence_gather(&c->known, output);
    return with_consequence(exited_zero ? exit_zero(&e) : from_ending(o, &e), &e);
}

/* --- the tail --- */

static size_t read_end(const char *path, char *out, size_t limit)
{
    struct stat status;
    int fd = job_file_open(path);
    if (fd < 0)
        return 0;
    off_t from = fstat(fd, &status) == 0 && status.st_size > (off_t)limit ? status.st_size - (off_t)limit : 0;
    ssize_t n = pread(fd, out, limit, from);
    close(fd);
    if (n <= 0)
        return 0;
    /* A cut line says less than none, unless it is all there is; then no character of it is cut. */
    const char *end = out + n, *begin = from > 0 ? memchr(out, '\n', (size_t)n) : NULL;
    begin = begin && begin + 1 < end ? begin + 1 : out;
    for (int i = 0; i < 3 && from > 0 && begin == out + i && begin < end && (*begin & 0xC0) == 0x80; i++)
        begin++;
    memmove(out, begin, (size_t)(end - begin));
    return (size_t)(end - begin);
}

char *log_tail(const char *log_path, size_t limit)
{
    OWNED char *raw = xmalloc(limit);
    struct buffer b = BUFFER_INIT;
    size_t n = read_end(log_path, raw, limit);
    for (size_t i = 0; i < n;) {
        size_t width = utf8_sequence_length(raw + i, n - i);
        bool unfit = width == 0 || raw[i] == '\0';
        buffer_add(&b, unfit ? "\xEF\xBF\xBD" : raw + i, unfit ? 3 : width);
        i += width ? width : 1;
    }
    return buffer_take(&b);
}
