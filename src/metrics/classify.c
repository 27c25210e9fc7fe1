#include "metrics/classify.h"

#include <ctype.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "metrics/log_files.h"
#include "pattern/line_pattern.h"
#include "process/job_file.h"
#include "util/buffer.h"
#include "util/line_reader.h"
#include "util/memory.h"
#include "util/parse.h"
#include "util/utf8.h"

static bool begins(const char *text, const char *with)
{
    return strncmp(text, with, strlen(with)) == 0;
}

enum line_meaning {
    MEANING_FAILURE = 1, /* the attempt failed of a class */
    MEANING_REASON,      /* says why a process ended, without a traceback */
    MEANING_HOST,        /* the same, of a device or a link that is broken */
    MEANING_CONSEQUENCE, /* says that another process had ended */
    MEANING_END,         /* of a launcher: how a process ended */
    MEANING_LAUNCHER,    /* what else launchers say */
    MEANING_COUNT
};

struct known_line {
    enum line_meaning meaning;
    enum failure failure; /* of MEANING_FAILURE */
    struct line_pattern pattern;
};

/* What lines of Python are made of. */
enum syntax { SYNTAX_RANK, SYNTAX_PLACE, SYNTAX_EXCEPTION, SYNTAX_NAMED, SYNTAX_BARE, SYNTAX_COUNT };

#define WORD "[A-Za-z_][A-Za-z0-9_.]*"
#define NAME WORD "(\\([^)]*\\))?" /* "package.SomeError", "RayTaskError(ValueError)" */
static const char *const syntax_texts[SYNTAX_COUNT] = {
    [SYNTAX_RANK] = "^\\[[a-z][a-z_]*[0-9]+\\]: ?", /* "[rank0]: " of PyTorch, "[default0]:" of torchrun */
    [SYNTAX_PLACE] = "^[ \t]*File \"([^\"]*/)?([^/\"]*)\", line ([0-9]+)",
    [SYNTAX_EXCEPTION] = "^" NAME "(:|$)", /* with which a traceback may end */
    /* Wherever it stands. One without a text only closes what another one began. */
    [SYNTAX_NAMED] = "^(" WORD ")?(Error|Exception|Interrupt|Exit): .",
    [SYNTAX_BARE] = "^(" NAME ")[: ]*$",
};

struct classifier {
    struct line_pattern syntax[SYNTAX_COUNT];
    struct known_line *lines;
    size_t count;
};

static bool has_syntax(const struct classifier *c, enum syntax syntax, const char *text)
{
    return line_pattern_match(&c->syntax[syntax], text, 0, NULL);
}

/* --- tracebacks ---
 *
 * The lines of an output that are exceptions, where several processes write into one file. The text before "Traceback
 * (most recent call last)" tells them apart: PyTorch, torchrun, srun, mpirun and pdsh put a mark of the rank or the
 * host before each line. */

enum line_kind {
    LINE_OTHER = 1,
    LINE_FRAME,     /* part of a traceback */
    LINE_EXCEPTION, /* what a traceback ends with, or a line that reads like one */
    LINE_USAGE,     /* "PROGRAM: error: TEXT" of a parser that has shown how the program is used */
    LINE_IGNORED,   /* an exception of which Python says that nobody minds it */
};

struct output_line {
    enum line_kind kind;
    const char *mark; /* of the line's writer; "": none */
    const char *text; /* the line without it; an exception that has no text of its own with the place where it was
                         raised. Both borrowed until the next line */
    size_t process;   /* which of those that can be told apart */
    bool ended_it;    /* nothing caught it: it ended a rank */
    bool continues;   /* came of handling the last one of its process */
};

enum {
    MARK_BYTES = 64,      /* of the mark before a line */
    PROCESSES_MOST = 256, /* told apart; further ones are taken for the first */
    PLACE_BYTES = 300
};

struct process_state {
    char mark[MARK_BYTES + 1];
    size_t mark_length;
    int open;       /* tracebacks whose exception has not come */
    bool framed;    /* a frame of one has come */
    bool continues; /* the next one came of handling the last one */
    bool ignored;   /* nobody minds the next one */
    bool usage;     /* how the program is used has been shown */
    char place[PLACE_BYTES + 1], code[PLACE_BYTES + 1];
};

struct traceback_reader {
    const struct classifier *classifier;
    struct process_state processes[PROCESSES_MOST]; /* the first one has no mark */
    size_t count;
    char text[3 * PLACE_BYTES];
};

/* --- whose line --- */

/* Every frame begins with blanks: they are a mark only within the traceback that stands behind them. */
static bool is_marked(const struct process_state *p, const char *line)
{
    return strncmp(line, p->mark, p->mark_length) == 0 && (p->open > 0 || strspn(p->mark, " \t") < p->mark_length);
}

static size_t process_of(const struct traceback_reader *r, const char *line)
{
    size_t best = 0;
    for (size_t i = 1; i < r->count; i++)
        if (r->processes[i].mark_length > r->processes[best].mark_length && is_marked(&r->processes[i], line))
            best = i;
    return best;
}

static size_t process_with_mark(struct traceback_reader *r, const char *mark, size_t length)
{
    if (length == 0 || length > MARK_BYTES)
        return 0;
    for (size_t i = 1; i < r->count; i++)
        if (r->processes[i].mark_length == length && strncmp(r->processes[i].mark, mark, length) == 0)
            return i;
    if (r->count == PROCESSES_MOST)
        return 0;
    struct process_state *p = &r->processes[r->count];
    memcpy(p->mark, mark, length);
    p->mark_length = length;
    return r->count++;
}

/* --- what it says --- */

static bool ends_with(const char *text, size_t length, const char *end)
{
    size_t n = strlen(end);
    return length >= n && strncmp(text + length - n, end, n) == 0;
}

/* Blanks, or the box that rich draws around a traceback. */
static bool is_frame(const char *text)
{
    return *text == ' ' || *text == '\t' || begins(text, "│") || begins(text, "╭") || begins(text, "╰");
}

/* Keeps "train.py:13" and the line that stands there. */
static void note_frame(const struct classifier *c, struct process_state *p, const char *text)
{
    const char *begin = text + strspn(text, " \t");
    struct text_range at[4];
    p->framed = true;
    if (line_pattern_match(&c->syntax[SYNTAX_PLACE], text, LENGTH(at), at)) {
        snprintf(p->place, sizeof p->place, "%.*s:%d", (int)(at[2].end - at[2].begin), text + at[2].begin,
                 atoi(text + at[3].begin));
        p->code[0] = '\0';
    } else if (!p->code[0] && *begin && *begin != '^' && *begin != '~') {
        snprintf(p->code, sizeof p->code, "%s", begin);
    }
}

/* An exception that says nothing is named by where it was raised. */
static const char *with_place(struct traceback_reader *r, const struct process_state *p, const char *text)
{
    struct text_range at[2];
    if (!p->framed || !p->place[0] || !line_pattern_match(&r->classifier->syntax[SYNTAX_BARE], text, LENGTH(at), at))
        return text;
    snprintf(r->text, sizeof r->text, "%.*s at %s%s%s", (int)at[1].end, text, p->place, p->code[0] ? ": " : "",
             p->code);
    return r->text;
}

static struct output_line take_exception(struct traceback_reader *r, size_t process, const char *text)
{
    struct process_state *p = &r->processes[process];
    const struct output_line said = {.kind = p->ignored ? LINE_IGNORED : LINE_EXCEPTION,
                                     .mark = p->mark,
                                     .text = with_place(r, p, text),
                                     .process = process,
                                     .ended_it = p->open > 0 && begins(p->mark, "[rank"),
                                     .continues = p->continues};
    if (p->open > 0)
        p->open--;
    p->framed = p->open > 0;
    p->continues = p->ignored = false;
    return said;
}

/* `at` is where in the line the traceback begins. What torchrun repeats of a rank's stands indented in its summary. */
static struct output_line begin_traceback(struct traceback_reader *r, const char *line, size_t at)
{
    bool original = ends_with(line, at, "Original ");
    if (original)
        at -= strlen("Original ");
    if (ends_with(line, at, "traceback : "))
        at = strspn(line, " ");
    size_t process = process_with_mark(r, line, at);
    struct process_state *p = &r->processes[process];
    p->open++;
    p->continues |= original;
    p->place[0] = p->code[0] = '\0';
    return (struct output_line){.kind = LINE_FRAME, .mark = "", .text = line, .process = process};
}

/* Returns whether a line shows how a program is used, behind a mark or not. */
static bool shows_usage(const char *line, size_t *mark_length)
{
    const char *at = strstr(line, "sage: ");
    if (!at || at == line || (at[-1] != 'u' && at[-1] != 'U'))
        return false;
    *mark_length = (size_t)(at - 1 - line);
    return *mark_length == 0 || (*mark_length <= MARK_BYTES && strchr(":] ", at[-2]) &&
                                 (ends_with(line, *mark_length, ":") || ends_with(line, *mark_length, ": ") ||
                                  ends_with(line, *mark_length, "] ")));
}

static void note_remark(struct process_state *p, const char *text)
{
    if (begins(text, "During handling of the above exception") ||
        begins(text, "The above exception was the direct cause"))
        p->continues = true;
    if (begins(text, "Exception ignored in"))
        p->ignored = true;
}

static bool is_usage_error(struct process_state *p, const char *text)
{
    bool is = p->usage && *text != ' ' && (strstr(text, ": error: ") || begins(text, "Error: "));
    if (is)
        p->usage = false;
    return is;
}

/* Takes the lines of one output in their order. */
static struct output_line traceback_reader_take(struct traceback_reader *r, const char *line)
{
    size_t mark_length;
    struct text_range mark;
    const char *header = strstr(line, "Traceback (most recent call last)");
    if (header)
        return begin_traceback(r, line, (size_t)(header - line));
    if (shows_usage(line, &mark_length))
        r->processes[process_with_mark(r, line, mark_length)].usage = true;
    if (line_pattern_match(&r->classifier->syntax[SYNTAX_RANK], line, 1, &mark))
        process_with_mark(r, line, (size_t)mark.end);
    size_t process = process_of(r, line);
    struct process_state *p = &r->processes[process];
    const char *text = line + p->mark_length;
    struct output_line said = {.kind = LINE_OTHER, .mark = p->mark, .text = text, .process = process};
    if (p->open > 0 && is_frame(text)) {
        note_frame(r->classifier, p, text);
        said.kind = LINE_FRAME;
        return said;
    }
    if ((p->open > 0 && p->framed && has_syntax(r->classifier, SYNTAX_EXCEPTION, text)) ||
        has_syntax(r->classifier, SYNTAX_NAMED, text))
        return take_exception(r, process, text);
    note_remark(p, text);
    if (is_usage_error(p, text))
        said.kind = LINE_USAGE;
    return said;
}

/* --- evidence ---
 *
 * The evidence in an attempt's output about why it failed: what came first of everything that every rank wrote and is
 * not only a rank's or a launcher's word about the end of another. */

#define EVIDENCE_BYTES 600 /* of a line put into a message, with the list that follows it */

struct evidence {
    enum failure failure;          /* the first class found, but device memory above all others */
    char line[EVIDENCE_BYTES + 1]; /* that says so */
    /* The first line of each meaning, "": none; of reasons the surest (weight), which is the cause; of those that mean
     * nothing the last with a letter in it. */
    char said[MEANING_COUNT][EVIDENCE_BYTES + 1];
    bool of_host; /* the cause is of MEANING_HOST */
};

enum {
    SEARCHED_BYTES = 16 << 20, /* of the output: the first and the last half of that */
    SEARCHED_BESIDE = 1 << 20, /* of each log beside it */
    /* A job that wrote so many other lines after an exception had caught it. Those of the ranks that are left say
     * little before they notice. */
    LINES_SURVIVED = 25
};

/* How surely a line says why: the surer one counts, and of equal ones the first. */
enum weight {
    WEIGHT_NONE,
    WEIGHT_WORD,      /* a line known to say why a process ended */
    WEIGHT_EXCEPTION, /* may have been caught */
    WEIGHT_FATAL,     /* was not */
};

struct cause_search {
    const struct classifier *known;
    struct evidence *found;
    enum weight weight; /* of the cause found so far */
    size_t process;     /* whose it is */
    int lines_since;    /* the last exception */
    bool lists;         /* the cause ends with a colon: what follows it may be a list */
    bool beside;        /* the output itself has been read, */
    bool output_spoke;  /* and has a last line */
};

static void copy_line(char out[EVIDENCE_BYTES + 1], const struct output_line *said)
{
    if (snprintf(out, EVIDENCE_BYTES + 1, "%s%s", said->mark, said->text) < 0)
        out[0] = '\0';
}

static bool has_letter(const char *line)
{
    for (; *line; line++)
        if (isalpha((unsigned char)*line) || (*line & 0x80))
            return true;
    return false;
}

static bool means(const struct classifier *known, enum line_meaning meaning, const char *text)
{
    return ANY(i, known->count,
               known->lines[i].meaning == meaning && line_pattern_match(&known->lines[i].pattern, text, 0, NULL));
}

/* 0: nothing that is known. An exception is a reason in itself; launchers know of some processes what ended them. */
static enum line_meaning meaning_of(const struct classifier *known, const struct output_line *said)
{
    static const enum line_meaning asked[] = {MEANING_HOST, MEANING_CONSEQUENCE, MEANING_REASON, MEANING_END,
                                              MEANING_LAUNCHER};
    if (said->kind == LINE_USAGE)
        return MEANING_REASON;
    for (size_t i = 0; i < LENGTH(asked); i++)
        if ((asked[i] != MEANING_REASON || said->kind == LINE_OTHER) && means(known, asked[i], said->text))
            return asked[i] == MEANING_HOST ? MEANING_REASON : asked[i];
    return said->kind == LINE_EXCEPTION ? MEANING_REASON : 0;
}

/* Device memory is what a sweep asks about: it outranks what a runtime says besides while it goes down. */
static bool outranks(enum failure a, enum failure b)
{
    return b == FAILURE_NONE || (a == FAILURE_OOM && b != FAILURE_OOM);
}

static void look_for_failures(struct cause_search *s, const char *line)
{
    for (size_t i = 0; i < s->known->count; i++) {
        const struct known_line *known = &s->known->lines[i];
        if (known->meaning != MEANING_FAILURE || !outranks(known->failure, s->found->failure) ||
            !line_pattern_match(&known->pattern, line, 0, NULL))
            continue;
        s->found->failure = known->failure;
        snprintf(s->found->line, sizeof s->found->line, "%s", line);
    }
}

static void take_cause(struct cause_search *s, const struct output_line *said, enum weight weight)
{
    bool first = weight > s->weight;
    bool instead = weight == s->weight && ((said->continues && said->process == s->process) ||
                                           (weight < WEIGHT_FATAL && s->lines_since > LINES_SURVIVED));
    if (!first && !instead)
        return;
    copy_line(s->found->said[MEANING_REASON], said);
    s->weight = weight;
    s->process = said->process;
    s->lists = said->text[0] && said->text[strlen(said->text) - 1] == ':';
}

/* "… mismatch:", then "- this" and "- that": without them the cause says nothing. */
static bool take_item(struct cause_search *s, const struct output_line *said)
{
    char *cause = s->found->said[MEANING_REASON];
    size_t length = strlen(cause);
    const char *item = said->text + strspn(said->text, " ");
    if (!s->lists || said->process != s->process || strncmp(item, "- ", 2) != 0) {
        s->lists = s->lists && said->process != s->process;
        return false;
    }
    snprintf(cause + length, EVIDENCE_BYTES + 1 - length, " %s", item);
    return true;
}

static enum weight weight_of(const struct output_line *said)
{
    if (said->kind == LINE_OTHER)
        return WEIGHT_WORD;
    return said->ended_it ? WEIGHT_FATAL : WEIGHT_EXCEPTION;
}

static void take_line(struct cause_search *s, const struct output_line *said)
{
    if (take_item(s, said))
        return;
    const enum line_meaning meaning = meaning_of(s->known, said);
    char *kept = s->found->said[meaning];
    if (meaning == MEANING_REASON)
        take_cause(s, said, weight_of(said));
    else if (meaning ? !*kept : has_letter(said->text) && !(s->beside && s->output_spoke))
        copy_line(kept, said);
    s->lines_since = meaning ? 0 : s->lines_since + 1;
}

static void search_file(const char *path, void *context)
{
    struct cause_search *s = context;
    struct line_reader *lines = line_reader_of(job_file_open(path), s->beside ? SEARCHED_BESIDE : SEARCHED_BYTES);
    OWNED struct traceback_reader *reader = xcalloc(1, sizeof *reader);
    const char *line;
    /* Other files are of other processes. */
    reader->count = 1;
    reader->classifier = s->known;
    s->process = (size_t)-1;
    s->lines_since = 0;
    while (lines && (line = line_reader_next(lines))) {
        const struct output_line said = traceback_reader_take(reader, line);
        /* The source that a traceback shows may name what it looks for. */
        if (said.kind != LINE_FRAME)
            look_for_failures(s, line);
        if (said.kind != LINE_FRAME && said.kind != LINE_IGNORED)
            take_line(s, &said);
    }
    line_reader_close(lines);
}

/* Reads the attempt's output and the logs in its directory, in which launchers keep those of each rank, in the order in
 * which they were last written: memory and time are bounded. */
static struct evidence evidence_gather(const struct classifier *known, const struct attempt_output *output)
{
    struct evidence found = {.failure = FAILURE_NONE};
    struct cause_search s = {.known = known, .found = &found};
    search_file(output->log, &s);
    s.beside = true;
    s.output_spoke = found.said[0][0] != '\0';
    log_files_each(output->directory, output->log, search_file, &s);
    found.of_host = means(known, MEANING_HOST, found.said[MEANING_REASON]);
    return found;
}

/* --- patterns --- */

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
    char why[256];
    for (size_t i = 0; i < SYNTAX_COUNT; i++)
        if (line_pattern_compile(&c->syntax[i], syntax_texts[i], why) != 0)
            abort();
    c->lines = xcalloc(count, sizeof *c->lines);
    for (size_t i = 0; i < count; i++) {
        const struct failure_pattern *given = &patterns[i];
        struct known_line *p = &c->lines[c->count];
        p->meaning = meaning_by_name(given->class_name);
        p->failure = failure_by_name(given->class_name);
        snprintf(why, sizeof why, "no such failure class");
        if (p->meaning == 0 || line_pattern_compile(&p->pattern, given->pattern, why) != 0) {
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
    struct arena arena = {0};
    size_t count = 0;
    OWNED_STMT *s = NULL;
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
    if (rc == 0)
        rc = classifier_create(patterns, count, out, e);
    arena_free(&arena);
    return rc;
}

void classifier_free(struct classifier *c)
{
    if (!c)
        return;
    for (size_t i = 0; i < SYNTAX_COUNT; i++)
        line_pattern_free(&c->syntax[i]);
    for (size_t i = 0; i < c->count; i++)
        line_pattern_free(&c->lines[i].pattern);
    free_all(c->lines, c);
}

/* The line that most likely says why. */
static const char *deciding_line(const struct evidence *e)
{
    static const int surest[] = {MEANING_REASON, MEANING_CONSEQUENCE, 0, MEANING_END, MEANING_LAUNCHER};
    const size_t i = FIRST(k, LENGTH(surest), e->said[surest[k]][0]);
    return i < LENGTH(surest) ? e->said[surest[i]] : "";
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

static struct verdict from_ending(const struct outcome *o, const struct evidence *e)
{
    bool of_itself = o->ending == ENDING_EXITED || o->ending == ENDING_SIGNALED;
    if (of_itself && o->host_oom && e->failure != FAILURE_OOM)
        return say(FAILURE_OOM_HOST, with_line(ending_text(o), BY_KERNEL));
    if (e->failure == FAILURE_OOM || (of_itself && e->failure != FAILURE_NONE))
        return say(e->failure, with_line(ending_text(o), e->line));
    /* A rank that failed leaves the others waiting until a limit. */
    enum failure failure = signal_of_rank(o) ? FAILURE_SIGNAL : endings[o->ending].failure;
    struct verdict v = say(failure, with_line(ending_text(o), of_itself ? deciding_line(e) : e->said[MEANING_REASON]));
    v.of_host = e->of_host;
    return v;
}

/* Adds what others said of the end, unless the message does already. */
static struct verdict with_consequence(struct verdict v, const struct evidence *e)
{
    const char *said = e->said[e->said[MEANING_CONSEQUENCE][0] ? MEANING_CONSEQUENCE : MEANING_END];
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
    struct evidence e = evidence_gather(c, output);
    if (!exited_zero)
        return with_consequence(from_ending(o, &e), &e);
    /* A pipe to tee hides the status of what failed. */
    char *text = with_line(xstrdup("exit status 0, but the objective was not reported"), e.said[MEANING_REASON]);
    return with_consequence(say(FAILURE_NO_METRIC, text), &e);
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
