#include "metrics/traceback.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "util/memory.h"

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
    struct process_state *processes; /* the first one has no mark */
    size_t count;
    char text[3 * PLACE_BYTES];
};

struct traceback_reader *traceback_reader_create(void)
{
    struct traceback_reader *r = xcalloc(1, sizeof *r);
    r->processes = xcalloc(PROCESSES_MOST, sizeof *r->processes);
    r->count = 1;
    return r;
}

void traceback_reader_free(struct traceback_reader *r)
{
    if (!r)
        return;
    free_all(r->processes, r);
}

/* --- whose line --- */

static bool is_blank(const char *text, size_t length)
{
    return strspn(text, " \t") >= length;
}

/* Every frame begins with blanks: they are a mark only within the traceback that stands behind them. */
static bool is_marked(const struct process_state *p, const char *line)
{
    return strncmp(line, p->mark, p->mark_length) == 0 && (p->open > 0 || !is_blank(p->mark, p->mark_length));
}

/* Bytes of "[rank0]: " of PyTorch or "[default0]:" of torchrun that begin the line. */
static size_t rank_mark_length(const char *line)
{
    size_t n = 1;
    if (*line != '[' || !islower((unsigned char)line[1]))
        return 0;
    while (islower((unsigned char)line[n]) || line[n] == '_')
        n++;
    size_t digits = strspn(line + n, "0123456789");
    n += digits;
    if (digits == 0 || line[n] != ']' || line[n + 1] != ':')
        return 0;
    return line[n + 2] == ' ' ? n + 3 : n + 2;
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

static bool begins_with(const char *text, const char *begin)
{
    return strncmp(text, begin, strlen(begin)) == 0;
}

static bool ends_with(const char *text, size_t length, const char *end)
{
    size_t n = strlen(end);
    return length >= n && strncmp(text + length - n, end, n) == 0;
}

/* Bytes of a name like "package.SomeError" or "RayTaskError(ValueError)" that begins `text`. */
static size_t name_length(const char *text)
{
    size_t n = 0;
    if (!isalpha((unsigned char)*text) && *text != '_')
        return 0;
    while (isalnum((unsigned char)text[n]) || text[n] == '_' || text[n] == '.')
        n++;
    if (text[n] == '(')
        n += strcspn(text + n, ")") + 1;
    return n <= strlen(text) ? n : 0;
}

/* Returns whether a traceback may end with the text: "Name: text", or the name alone. */
static bool may_be_exception(const char *text)
{
    size_t n = name_length(text);
    return n > 0 && (text[n] == '\0' || text[n] == ':');
}

/* "package.SomeError: text" wherever it stands. One without a text only closes what another one began. */
static bool is_named_exception(const char *text)
{
    static const char *const endings[] = {"Error", "Exception", "Interrupt", "Exit"};
    size_t n = name_length(text);
    if (n == 0 || text[n] != ':' || text[n + 1] != ' ' || text[n + 2] == '\0')
        return false;
    for (size_t i = 0; i < LENGTH(endings); i++)
        if (ends_with(text, n, endings[i]))
            return true;
    return false;
}

/* Blanks, or the box that rich draws around a traceback. */
static bool is_frame(const char *text)
{
    return *text == ' ' || *text == '\t' || begins_with(text, "│") || begins_with(text, "╭") || begins_with(text, "╰");
}

/* Keeps "train.py:13" and the line that stands there. */
static void note_frame(struct process_state *p, const char *text)
{
    const char *begin = text + strspn(text, " \t");
    const char *end = begins_with(begin, "File \"") ? strstr(begin, "\", line ") : NULL;
    p->framed = true;
    if (!end) {
        if (!p->code[0] && *begin && *begin != '^' && *begin != '~')
            snprintf(p->code, sizeof p->code, "%s", begin);
        return;
    }
    const char *name = end;
    while (name > begin + 6 && name[-1] != '/')
        name--;
    snprintf(p->place, sizeof p->place, "%.*s:%d", (int)(end - name), name, atoi(end + 8));
    p->code[0] = '\0';
}

/* An exception that says nothing is named by where it was raised. */
static const char *with_place(struct traceback_reader *r, const struct process_state *p, const char *text)
{
    size_t n = name_length(text);
    if (!p->framed || !p->place[0] || text[n + strspn(text + n, ": ")] != '\0')
        return text;
    snprintf(r->text, sizeof r->text, "%.*s at %s%s%s", (int)n, text, p->place, p->code[0] ? ": " : "", p->code);
    return r->text;
}

static struct output_line take_exception(struct traceback_reader *r, size_t process, const char *text)
{
    struct process_state *p = &r->processes[process];
    const struct output_line said = {.kind = p->ignored ? LINE_IGNORED : LINE_EXCEPTION,
                                     .mark = p->mark,
                                     .text = with_place(r, p, text),
                                     .process = process,
                                     .ended_it = p->open > 0 && begins_with(p->mark, "[rank"),
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
    if (begins_with(text, "During handling of the above exception") ||
        begins_with(text, "The above exception was the direct cause"))
        p->continues = true;
    if (begins_with(text, "Exception ignored in"))
        p->ignored = true;
}

static bool is_usage_error(struct process_state *p, const char *text)
{
    bool is = p->usage && *text != ' ' && (strstr(text, ": error: ") || begins_with(text, "Error: "));
    if (is)
        p->usage = false;
    return is;
}

struct output_line traceback_reader_take(struct traceback_reader *r, const char *line)
{
    size_t mark_length;
    const char *header = strstr(line, "Traceback (most recent call last)");
    if (header)
        return begin_traceback(r, line, (size_t)(header - line));
    if (shows_usage(line, &mark_length))
        r->processes[process_with_mark(r, line, mark_length)].usage = true;
    process_with_mark(r, line, rank_mark_length(line));
    size_t process = process_of(r, line);
    struct process_state *p = &r->processes[process];
    const char *text = line + p->mark_length;
    struct output_line said = {.kind = LINE_OTHER, .mark = p->mark, .text = text, .process = process};
    if (p->open > 0 && is_frame(text)) {
        note_frame(p, text);
        said.kind = LINE_FRAME;
        return said;
    }
    if ((p->open > 0 && p->framed && may_be_exception(text)) || is_named_exception(text))
        return take_exception(r, process, text);
    note_remark(p, text);
    if (is_usage_error(p, text))
        said.kind = LINE_USAGE;
    return said;
}
