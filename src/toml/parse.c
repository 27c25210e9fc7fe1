#include "toml/parse.h"

#include <ctype.h>
#include <inttypes.h>
#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "toml/known.h"
#include "toml/tree.h"
#include "util/embedded.h"
#include "util/memory.h"
#include "util/utf8.h"

/* The place of a scan in the text. Text that toml++ will refuse may be misread from there on: it stops there too. */
struct scan {
    const char *p, *end;
    size_t values, nesting, key_parts;
};

/* Line and column of a byte, in a text that is valid up to there. Columns count characters, as toml++ does. */
static void locate(const char *text, const char *byte, struct toml_fault *fault)
{
    fault->line = fault->column = 1;
    for (; text < byte; text++) {
        fault->column += ((unsigned char)*text & 0xC0) != 0x80;
        if (*text == '\n') {
            fault->line++;
            fault->column = 1;
        }
    }
}

static void skip_line(struct scan *s)
{
    const char *newline = memchr(s->p, '\n', (size_t)(s->end - s->p));
    s->p = newline ? newline : s->end;
}

static size_t run_of_quotes(const struct scan *s, char quote)
{
    size_t n = FIRST(k, 6, s->p + k >= s->end || s->p[k] != quote);
    return n;
}

/* Leaves `p` on the string's last byte. A string of one line that lacks its end stops before the newline. */
static void skip_string(struct scan *s)
{
    char quote = *s->p;
    size_t opening = run_of_quotes(s, quote);
    if (opening == 2 || opening == 6) {
        s->p += opening - 1;
        return;
    }
    size_t width = opening >= 3 ? 3 : 1;
    for (s->p += width; s->p < s->end; s->p++) {
        if (*s->p == '\n' && width == 1) {
            s->p--;
            return;
        }
        if (*s->p == '\n')
            s->key_parts = 0;
        if (*s->p == '\\' && quote == '"' && s->p + 1 < s->end && s->p[1] != '\n') {
            s->p++;
        } else if (*s->p == quote && run_of_quotes(s, quote) >= width) {
            /* Up to two quotes may stand right before the closing three. */
            s->p += (width == 1 ? 1 : run_of_quotes(s, quote)) - 1;
            return;
        }
    }
}

/* TOML has these in strings and comments only; toml++ 3.3 takes a path it declares unreachable for some of them. */
static bool is_beyond_ascii(const struct scan *s)
{
    return (unsigned char)*s->p >= 0x80;
}

/* A bare word, which may be part of a dotted key. */
static bool is_word(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-' ||
           c == ' ' || c == '\t';
}

static void step(struct scan *s)
{
    char c = *s->p;
    if (c == '#') {
        skip_line(s);
        return;
    }
    if (c == '"' || c == '\'')
        skip_string(s);
    else if (c == '.')
        s->key_parts++;
    else if (!is_word(c))
        s->key_parts = 0;
    if (c == '[' || c == '{')
        s->nesting++;
    else if ((c == ']' || c == '}') && s->nesting > 0)
        s->nesting--;
    s->values += c == '[' || c == ',' || c == '=';
    s->p += s->p < s->end;
}

/* Checks the limits without parsing, because toml++ recurses once per key part and once per nesting. */
static int check_limits(const char *text, size_t length, struct toml_fault *fault)
{
    const char *begin = text + utf8_mark_length(text, length);
    struct scan s = {.p = begin, .end = text + length};
    while (s.p < s.end && !fault->message) {
        if (s.key_parts >= TOML_MOST_KEY_PARTS)
            fault->message = xasprintf("a key of more than %d parts", TOML_MOST_KEY_PARTS);
        else if (s.nesting > TOML_MOST_NESTING)
            fault->message = xasprintf("nested deeper than %d lists or tables", TOML_MOST_NESTING);
        else if (s.values > TOML_MOST_VALUES)
            fault->message = xasprintf("more than %d values in one file", TOML_MOST_VALUES);
        else if (is_beyond_ascii(&s))
            fault->message = xstrdup("characters beyond ASCII are allowed only in strings and comments");
        else
            step(&s);
    }
    if (fault->message)
        locate(begin, s.p, fault);
    return fault->message ? -1 : 0;
}

/* A file written by another encoding is told apart from one with a stray byte by the NUL bytes of UTF-16. */
static int check_bytes(const char *text, size_t length, struct toml_fault *fault)
{
    size_t bad = utf8_first_invalid(text, length);
    const char *nul = memchr(text, '\0', length);
    if (bad == length && !nul)
        return 0;
    size_t at = nul && (size_t)(nul - text) < bad ? (size_t)(nul - text) : bad;
    locate(text, text + at, fault);
    fault->message = nul ? xstrdup("not a text file: it contains NUL bytes (UTF-8 is expected)")
                         : xasprintf("not UTF-8: byte 0x%02X", (unsigned char)text[at]);
    return -1;
}

int toml_parse(const char *text, size_t length, struct toml_node **out, struct toml_fault *fault)
{
    *fault = (struct toml_fault){0};
    if (length == 0)
        fault->message = xstrdup("the file is empty; meshsweep init writes one");
    else if (length > TOML_MOST_BYTES)
        fault->message = xasprintf("larger than %zu MiB", TOML_MOST_BYTES >> 20);
    if (fault->message || check_bytes(text, length, fault) < 0 || check_limits(text, length, fault) < 0)
        return -1;
    return toml_read(text, length, out, fault);
}

/* --- words that the program knows --- */

struct toml_node *toml_carried(const char *name)
{
    const char *text = embedded_text(name);
    struct toml_node *tree;
    struct toml_fault fault;
    if (toml_parse(text, strlen(text), &tree, &fault) < 0)
        abort();
    return tree;
}

static struct toml_node *words;

static void read_words(void)
{
    words = toml_carried("knowledge/words.toml");
}

const struct toml_node *known(const char *table, const char *key)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, read_words);
    const struct toml_node *t = toml_child(words, table);
    return t && key ? toml_child(t, key) : t;
}

bool known_has(const struct toml_node *list, const char *text)
{
    return ANY(i, list->child_count, strcmp(list->children[i].text, text) == 0);
}

bool known_within(const struct toml_node *list, const char *text)
{
    return ANY(i, list->child_count, strstr(text, list->children[i].text));
}

const char *known_text(const struct toml_node *row, const char *key)
{
    const struct toml_node *found = row ? toml_child(row, key) : NULL;
    return found ? found->text : NULL;
}

bool known_says(const struct toml_node *row, const char *key, const char *text)
{
    const char *said = known_text(row, key);
    return said && strcmp(said, text) == 0;
}

/* --- trees --- */

static const char *const kind_names[] = {
    [NODE_TABLE] = "a table",  [NODE_LIST] = "a list",   [NODE_STRING] = "a string",
    [NODE_INT] = "an integer", [NODE_FLOAT] = "a float", [NODE_BOOL] = "a boolean",
};

char **toml_strings(struct arena *p, const struct toml_node *node)
{
    size_t count;
    const struct toml_node *first = toml_texts(node, &count);
    char **strings = arena_keep(p, xcalloc(count + 1, sizeof *strings));
    for (size_t i = 0; i < count; i++)
        strings[i] = arena_text(p, first[i].text);
    return strings;
}

const char *toml_kind_name(enum node_kind kind)
{
    return kind_names[kind];
}

static void free_node(struct toml_node *node)
{
    for (size_t i = 0; i < node->child_count; i++)
        free_node(&node->children[i]);
    free_all(node->children, node->key, node->text);
}

void toml_free(struct toml_node *root)
{
    if (!root)
        return;
    free_node(root);
    free(root);
}

const struct toml_node *toml_child(const struct toml_node *table, const char *key)
{
    if (table->kind != NODE_TABLE)
        return NULL;
    return FIND(i, table->child_count, strcmp(table->children[i].key, key) == 0, &table->children[i]);
}

BY_TEXT(by_key, struct toml_node *const, [0] -> key)

void toml_add_key(const char *key, struct buffer *out)
{
    size_t i = 0;
    while (isalnum((unsigned char)key[i]) || key[i] == '_' || key[i] == '-')
        i++;
    if (i > 0 && key[i] == '\0')
        buffer_add_text(out, key);
    else
        buffer_add_json_string(out, key, strlen(key));
}

static void add_node(const struct toml_node *node, bool is_json, struct buffer *out);

/* In JSON a table's by their keys. */
static void add_children(const struct toml_node *node, bool is_json, struct buffer *out)
{
    const bool is_table = node->kind == NODE_TABLE, is_wide = is_table && !is_json && node->child_count > 0;
    const struct toml_node **children = xreallocarray(NULL, node->child_count, sizeof *children);
    for (size_t i = 0; i < node->child_count; i++)
        children[i] = &node->children[i];
    if (is_table && is_json)
        array_sort(children, node->child_count, by_key);
    buffer_add_text(out, is_wide ? "{ " : is_table ? "{" : "[");
    for (size_t i = 0; i < node->child_count; i++) {
        buffer_add_text(out, i == 0 ? "" : is_json ? "," : ", ");
        if (is_table && is_json)
            buffer_add_json_string(out, children[i]->key, strlen(children[i]->key));
        else if (is_table)
            toml_add_key(children[i]->key, out);
        buffer_add_text(out, !is_table ? "" : is_json ? ":" : " = ");
        add_node(children[i], is_json, out);
    }
    buffer_add_text(out, is_wide ? " }" : is_table ? "}" : "]");
    free(children);
}

static void add_real(double real, bool is_json, struct buffer *out)
{
    if (isfinite(real))
        buffer_add_double(out, is_json && real == 0 ? 0.0 : real);
    else if (is_json) {
        buffer_add_char(out, '"');
        buffer_add_double(out, real);
        buffer_add_char(out, '"');
    } else
        buffer_add_text(out, isnan(real) ? "nan" : real > 0 ? "inf" : "-inf");
}

static void add_node(const struct toml_node *node, bool is_json, struct buffer *out)
{
    if (node->kind == NODE_TABLE || node->kind == NODE_LIST)
        add_children(node, is_json, out);
    else if (node->kind == NODE_STRING)
        buffer_add_json_string(out, node->text, strlen(node->text));
    else if (node->kind == NODE_INT)
        buffer_printf(out, "%" PRId64, node->integer);
    else if (node->kind == NODE_FLOAT)
        add_real(node->real, is_json, out);
    else
        buffer_add_text(out, node->integer ? "true" : "false");
}

void toml_add_json(const struct toml_node *node, struct buffer *out)
{
    add_node(node, true, out);
}

void toml_add_literal(const struct toml_node *node, struct buffer *out)
{
    add_node(node, false, out);
}
