#include "util/shell.h"

#include <ctype.h>
#include <stdbool.h>
#include <string.h>

/* --- reading --- */

static char innermost(const struct shell_line *l)
{
    return l->depth ? l->open[l->depth - 1] : '\0';
}

static void open_one(struct shell_line *l, char what)
{
    if (l->depth < SHELL_DEPTH_MOST)
        l->open[l->depth++] = what;
}

/* Opens it, or closes it where it is open. */
static void turn(struct shell_line *l, char what)
{
    if (innermost(l) == what)
        l->depth--;
    else
        open_one(l, what);
}

/* "<<END", "<<-'END'": bytes of it, 0 where `text` is none. A digit is a number's: "$((1<<2))". */
static size_t read_document_start(struct shell_line *l, const char *text)
{
    size_t at = strncmp(text, "<<", 2) == 0 && text[2] != '<' ? 2 : 0, length = 0;
    if (!at || l->document)
        return 0;
    l->indented_document = text[at] == '-';
    at += l->indented_document;
    at += strspn(text + at, " \t");
    if (isdigit((unsigned char)text[at]))
        return 0;
    l->raw_document = false;
    for (; text[at] && !strchr(" \t\n;&|<>()", text[at]) && length < SHELL_END_BYTES - 1; at++) {
        bool quote = strchr("'\"\\", text[at]) != NULL;
        l->raw_document |= quote;
        if (!quote)
            l->end[length++] = text[at];
    }
    l->end[length] = '\0';
    return at;
}

/* A line that is the document's end ends it. */
static void read_in_document(struct shell_line *l, char c)
{
    bool is_indent = l->indented_document && c == '\t' && l->document_line_length == 0;
    if (c != '\n') {
        if (!is_indent && l->document_line_length < SHELL_END_BYTES)
            l->document_line[l->document_line_length++] = c;
        return;
    }
    size_t length = strlen(l->end);
    if (l->document_line_length == length && memcmp(l->document_line, l->end, length) == 0) {
        l->document = false;
        l->end[0] = '\0';
    }
    l->document_line_length = 0;
}

static void end_line(struct shell_line *l)
{
    l->comment = false;
    l->document = l->end[0] != '\0';
    l->document_line_length = 0;
}

/* Outside quotes. */
static void read_plain(struct shell_line *l, char c, char before)
{
    if (c == '#' && l->between_words)
        l->comment = true;
    else if (c == '\n')
        end_line(l);
    else if (c == '\'')
        l->single_quoted = true;
    else if (c == '(' && (before == '$' || l->depth))
        open_one(l, before == '(' ? '+' : '(');
    else if (c == ')' && (innermost(l) == '(' || innermost(l) == '+'))
        l->depth--;
    l->between_words = strchr(" \t\n;&|(", c) != NULL;
}

static void read_one(struct shell_line *l, char c, char before)
{
    bool in_double = innermost(l) == '"';
    if (l->document) {
        read_in_document(l, c);
    } else if (l->comment) {
        if (c == '\n')
            read_plain(l, c, before);
    } else if (l->single_quoted) {
        l->single_quoted = c != '\'';
    } else if (l->escaped) {
        l->escaped = false;
        l->between_words = false;
    } else if (c == '\\') {
        l->escaped = true;
    } else if (c == '"' || c == '`') {
        turn(l, c);
        l->between_words = c == '`';
    } else if (in_double) {
        if (c == '(' && before == '$')
            open_one(l, '(');
        l->between_words = c == '(';
    } else {
        read_plain(l, c, before);
    }
}

void shell_line_read(struct shell_line *l, const char *text)
{
    for (const char *p = text; *p; p++) {
        bool plain = !l->document && !l->comment && !l->single_quoted && !l->escaped && innermost(l) != '"' &&
                     (p == text || p[-1] != '<');
        size_t start = plain ? read_document_start(l, p) : 0;
        if (start > 0) {
            p += start - 1;
            l->between_words = false;
            continue;
        }
        read_one(l, *p, p > text ? p[-1] : '\0');
    }
}

/* Returns whether an odd number of backslashes ends the bytes up to `end`. */
static bool is_escaped(const char *text, const char *end)
{
    size_t n = 0;
    while (end - n > text && end[-1 - (ptrdiff_t)n] == '\\')
        n++;
    return n % 2 == 1;
}

/* Returns whether the text ends with a variable's or a user's name. */
static bool ends_with_name(const char *text, const struct shell_spot *spot)
{
    const char *name = text + strlen(text);
    while (name > text && (isalnum((unsigned char)name[-1]) || name[-1] == '_'))
        name--;
    if (name == text || (!spot->in_backquotes && is_escaped(text, name - 1)))
        return false;
    return (name[-1] == '~' && spot->place == SHELL_WORD && !spot->in_arithmetic) ||
           (name[-1] == '$' && *name && !isdigit((unsigned char)*name));
}

struct shell_spot shell_line_put(struct shell_line *l, const char *before, const char *after)
{
    struct shell_spot spot = {.place = SHELL_WORD, .begins_word = l->between_words};
    for (size_t i = 0; i < l->depth; i++) {
        spot.in_backquotes |= l->open[i] == '`';
        spot.in_arithmetic |= l->open[i] == '+';
    }
    if (l->document)
        spot.place = l->raw_document ? SHELL_RAW_DOCUMENT : SHELL_DOCUMENT;
    else if (l->comment)
        spot.place = SHELL_COMMENT;
    else if (l->single_quoted)
        spot.place = SHELL_SINGLE_QUOTES;
    else if (innermost(l) == '"')
        spot.place = SHELL_DOUBLE_QUOTES;
    spot.after_name = ends_with_name(before, &spot);
    spot.after_backslash = is_escaped(before, before + strlen(before));
    spot.before_redirection = *after == '>' || *after == '<';
    l->escaped = l->between_words = false;
    /* A line with a value in it is not the end of the document, save by intent. */
    if (l->document && l->document_line_length < SHELL_END_BYTES)
        l->document_line[l->document_line_length++] = '\0';
    return spot;
}

/* --- writing --- */

/* Bytes beyond ASCII mean nothing to a shell. */
static bool is_plain(const char *value)
{
    for (const char *p = value; *p; p++)
        if (!isalnum((unsigned char)*p) && !strchr("_@%+=:,./-", *p) && !((unsigned char)*p & 0x80))
            return false;
    return *value != '\0';
}

/* Returns whether a plain value would be something else than a word, or a part of one. */
static bool is_taken_otherwise(const char *value, const struct shell_spot *spot)
{
    if (spot->in_arithmetic)
        return false;
    return (spot->after_name && (isalnum((unsigned char)*value) || *value == '_')) ||
           (spot->before_redirection && value[strspn(value, "0123456789")] == '\0') ||
           (spot->begins_word && strchr(value, '='));
}

static void add_between_single_quotes(struct buffer *out, const char *value)
{
    for (; *value; value++)
        if (*value == '\'')
            buffer_add_text(out, "'\\''");
        else
            buffer_add_char(out, *value);
}

static void add_quoted(struct buffer *out, const char *word)
{
    buffer_add_char(out, '\'');
    add_between_single_quotes(out, word);
    buffer_add_char(out, '\'');
}

/* With a backslash before each of `special`, and before such as would be one to what follows it. */
static void add_escaped(struct buffer *out, const char *value, const char *special)
{
    for (; *value; value++) {
        bool escapes =
            *value == '\\' && (!value[1] || value[1] == '\\' || value[1] == '\n' || strchr(special, value[1]));
        if (escapes || strchr(special, *value))
            buffer_add_char(out, '\\');
        buffer_add_char(out, *value);
    }
}

static void add_in_comment(struct buffer *out, const char *value)
{
    for (; *value; value++)
        buffer_add_char(out, *value == '\n' || *value == '\r' ? ' ' : *value);
}

static void add_word(struct buffer *out, const char *value, const struct shell_spot *spot)
{
    const bool is_as_it_is = is_plain(value) && !is_taken_otherwise(value, spot);
    if (spot->after_backslash && !is_as_it_is)
        buffer_add_char(out, '\n'); /* which goes, with the backslash */
    if (is_as_it_is)
        buffer_add_text(out, value);
    else
        add_quoted(out, value);
}

/* Adds what must follow a backslash or a name, where no quote can part them: another backslash, and an expansion to
 * nothing. */
static void add_parted(struct buffer *out, const char *value, const struct shell_spot *spot)
{
    const bool is_one_name = spot->after_name && (isalnum((unsigned char)*value) || *value == '_');
    buffer_add_text(out, spot->after_backslash ? "\\" : is_one_name ? "${-+}" : "");
}

static void add_at_place(struct buffer *out, const char *value, const struct shell_spot *spot)
{
    switch (spot->place) {
    case SHELL_WORD:
        if (spot->in_arithmetic)
            add_parted(out, value, spot);
        add_word(out, value, spot);
        break;
    case SHELL_SINGLE_QUOTES:
        add_between_single_quotes(out, value);
        break;
    case SHELL_DOUBLE_QUOTES:
        add_parted(out, value, spot);
        add_escaped(out, value, "\"$`");
        break;
    case SHELL_DOCUMENT:
        add_parted(out, value, spot);
        add_escaped(out, value, "$`");
        break;
    case SHELL_RAW_DOCUMENT:
        buffer_add_text(out, value);
        break;
    case SHELL_COMMENT:
        add_in_comment(out, value);
        break;
    }
}

void shell_add_value(struct buffer *out, const char *value, struct shell_spot spot)
{
    OWNED_BUFFER once = BUFFER_INIT;
    if (!spot.in_backquotes) {
        add_at_place(out, value, &spot);
        return;
    }
    add_at_place(&once, value, &spot);
    for (const char *p = buffer_text(&once); *p; p++) {
        if (strchr("\\$`", *p))
            buffer_add_char(out, '\\');
        buffer_add_char(out, *p);
    }
}

/* --- words of a line --- */

static bool is_plain_ascii(const char *word)
{
    return *word && word[strspn(word, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_@%+=:,./-")] == 0;
}

void shell_add_word(struct buffer *out, const char *word)
{
    if (is_plain_ascii(word))
        buffer_add_text(out, word);
    else
        add_quoted(out, word);
}

char *shell_word(const char *word)
{
    struct buffer b = BUFFER_INIT;
    shell_add_word(&b, word);
    return buffer_take(&b);
}

char *shell_fill_file(const char *text, const char *path)
{
    static const char word[] = "FILE";
    struct buffer b = BUFFER_INIT;
    for (const char *at; (at = strstr(text, word)); text = at + strlen(word)) {
        buffer_add(&b, text, (size_t)(at - text));
        shell_add_word(&b, path);
    }
    buffer_add_text(&b, text);
    return buffer_take(&b);
}

/* Bytes of the name that a shell can assign to, 0 when "NAME=" is none. */
static size_t name_length(const char *setting)
{
    size_t n = 0;
    while (isalpha((unsigned char)setting[n]) || setting[n] == '_' || (n && isdigit((unsigned char)setting[n])))
        n++;
    return setting[n] == '=' ? n : 0;
}

void shell_add_command(struct buffer *out, char *const *environment, char *const *command)
{
    bool through_env = false;
    for (char *const *s = environment; *s; s++)
        through_env = through_env || !name_length(*s);
    if (through_env)
        buffer_add_text(out, "env ");
    for (char *const *s = environment; *s; s++) {
        size_t name = through_env ? 0 : name_length(*s) + 1;
        buffer_add(out, *s, name);
        shell_add_word(out, *s + name);
        buffer_add_char(out, ' ');
    }
    for (char *const *word = command; *word; word++) {
        if (word != command)
            buffer_add_char(out, ' ');
        /* A first word NAME=value would be a setting. */
        if (word == command && name_length(*word))
            add_quoted(out, *word);
        else
            shell_add_word(out, *word);
    }
}

/* Appends what stands between quotes, or from `c` to the end of the word; the place behind it, NULL where the line ends
 * within quotes. Within double quotes a backslash is one unless a shell would take it. */
static const char *add_part(const char *c, struct buffer *word)
{
    char quote = *c == '\'' || *c == '"' ? *c++ : '\0';
    for (; quote ? *c != quote : *c && !strchr(" \t\n'\"", *c); c++) {
        if (*c == '\0')
            return NULL;
        if (*c == '\\' && quote != '\'' && c[1] && (!quote || strchr("$`\"\\", c[1])))
            c++;
        buffer_add_char(word, *c);
    }
    return quote ? c + 1 : c;
}

int shell_split(const char *line, struct string_list *out, struct error *e)
{
    for (const char *c = line + strspn(line, " \t\n"); *c; c += strspn(c, " \t\n")) {
        struct buffer word = BUFFER_INIT;
        while (c && *c && !strchr(" \t\n", *c))
            c = add_part(c, &word);
        if (!c) {
            buffer_free(&word);
            return error_set(e, ERROR_USAGE, "%s: a quote is not closed", line);
        }
        string_list_add(out, buffer_take(&word));
    }
    return 0;
}
