/* The only file that knows libfyaml. */
#include <ctype.h>
#include <libfyaml.h>
#include <stdlib.h>
#include <string.h>

#include "files/format.h"
#include "util/memory.h"

#define DEEPEST 100

struct builder {
    struct doc *d;
    struct fy_parser *parser;
    struct fy_diag *diag;
    struct error *e;
    int depth;
};

static int fail(const struct builder *b, const struct doc_node *n, const char *what)
{
    return error_set(b->e, ERROR_USAGE, "%s:%d:%d: %s", b->d->file, n->line, n->column, what);
}

static int fail_to_parse(const struct builder *b)
{
    void *previous = NULL;
    const struct fy_diag_error *said = fy_diag_errors_iterate(b->diag, &previous);
    if (!said)
        return error_set(b->e, ERROR_USAGE, "%s: cannot be read as YAML", b->d->file);
    return error_set(b->e, ERROR_USAGE, "%s:%d:%d: %s", b->d->file, said->line, said->column, said->msg);
}

/* --- what plain scalars are --- */

static bool is_word(const char *text, const char *const *words)
{
    while (*words && strcasecmp(*words, text) != 0)
        words++;
    return *words != NULL;
}

static enum doc_kind number_kind(const char *text)
{
    const char *p = text + strspn(text, "+-");
    char *end;
    if (!isdigit((unsigned char)*p) && !(*p == '.' && isdigit((unsigned char)p[1])))
        return DOC_TEXT;
    if (!p[strspn(p, "0123456789_")] || (p[0] == '0' && strchr("xob", p[1]) && isxdigit((unsigned char)p[2]) &&
                                         !p[2 + strspn(p + 2, "0123456789abcdefABCDEF_")]))
        return DOC_INT;
    if (strspn(p, "0123456789") == 4 && p[4] == '-' && isdigit((unsigned char)p[5]))
        return DOC_TIME;
    strtod(p, &end);
    return *end ? DOC_TEXT : DOC_REAL;
}

/* As YAML 1.2's core schema and 1.1's types together have it: what either does not take for a text. */
enum doc_kind yaml_kind(const char *text)
{
    static const char *const nulls[] = {"", "~", "null", NULL};
    static const char *const booleans[] = {"true", "false", "yes", "no", "on", "off", NULL};
    static const char *const reals[] = {".inf", "+.inf", "-.inf", ".nan", NULL};
    return is_word(text, nulls)      ? DOC_NULL
           : is_word(text, booleans) ? DOC_BOOL
           : is_word(text, reals)    ? DOC_REAL
                                     : number_kind(text);
}

/* --- places --- */

static void place_at(const struct fy_mark *mark, struct doc_node *n)
{
    n->start = n->end = mark->input_pos;
    if (n->key)
        return;
    n->line = mark->line + 1;
    n->column = mark->column + 1;
}

/* Tag and anchor belong to the value; the mark of an anchor is behind its "&". */
static void begin_with(struct fy_token *token, size_t before, struct doc_node *n)
{
    const struct fy_mark *mark = token ? fy_token_start_mark(token) : NULL;
    if (mark && mark->input_pos - before < n->start)
        n->start = mark->input_pos - before;
}

static char *token_text(const struct builder *b, struct fy_token *token)
{
    size_t length = 0;
    const char *text = token ? fy_token_get_text(token, &length) : NULL;
    return arena_keep(&b->d->arena, text ? xstrndup(text, length) : xstrdup(""));
}

static void take_marks(const struct builder *b, struct fy_token *anchor, struct fy_token *tag, struct doc_node *n)
{
    if (anchor)
        n->anchor = token_text(b, anchor);
    begin_with(anchor, 1, n);
    begin_with(tag, 0, n);
}

/* A text that stands below its "|" or ">" begins with that, and ends with its last line. */
static void place_below_header(const char *text, struct doc_node *n)
{
    size_t at = n->start, end = n->end;
    while (at > 0 && text[at] != '|' && text[at] != '>')
        at--;
    while (end > n->start && strchr(" \t", text[end - 1]))
        end--;
    n->end = end > 0 && text[end - 1] == '\n' ? end : n->end;
    n->start = at;
}

/* Places a value that is written as nothing behind the colon or dash after `from`. */
static void place_nothing(const char *text, size_t from, char sign, struct doc_node *n)
{
    const char *found = strchr(text + from, sign);
    n->start = n->end = found ? (size_t)(found - text) + 1 : from;
}

/* --- the tree --- */

static int read_node(struct builder *b, struct fy_event *event, struct doc_node *n);

static int next(struct builder *b, struct fy_event **event)
{
    *event = fy_parser_parse(b->parser);
    return *event ? 0 : fail_to_parse(b);
}

static bool is_quoted(const struct fy_event *event)
{
    if (event->type != FYET_SCALAR || !event->scalar.value)
        return false;
    const enum fy_scalar_style style = fy_token_scalar_style(event->scalar.value);
    return style == FYSS_SINGLE_QUOTED || style == FYSS_DOUBLE_QUOTED;
}

static void read_key(const struct builder *b, struct fy_event *event, struct doc_node *n)
{
    const struct fy_mark *start = fy_event_start_mark(event), *end = fy_event_end_mark(event);
    if (!start || !end)
        return;
    n->key_start = start->input_pos - is_quoted(event); /* whose marks are within the quotes */
    n->key_end = end->input_pos + is_quoted(event);
    n->line = start->line + 1;
    n->column = start->column + !is_quoted(event);
    n->key = event->type == FYET_SCALAR
                 ? token_text(b, event->scalar.value)
                 : arena_keep(&b->d->arena, xstrndup(b->d->text + n->key_start, n->key_end - n->key_start));
}

static int read_member(struct builder *b, struct fy_event *key, struct doc_node *table)
{
    struct doc_node *n = doc_add_child(b->d, table, NULL);
    struct fy_event *event;
    const bool plain = key->type == FYET_SCALAR || key->type == FYET_ALIAS;
    read_key(b, key, n);
    fy_parser_event_free(b->parser, key);
    if (!plain || !n->key)
        return fail(b, n->line ? n : table, "a key that is empty, a list or a table is not supported");
    if (doc_check_twice(b->d, table, b->e) < 0 || next(b, &event) < 0 || read_node(b, event, n) < 0)
        return -1;
    if (n->kind == DOC_NULL && n->start == n->end)
        place_nothing(b->d->text, n->key_end, ':', n);
    return 0;
}

static int read_element(struct builder *b, struct fy_event *event, struct doc_node *list)
{
    const size_t from = list->count ? list->children[list->count - 1].end : list->end;
    struct doc_node *n = doc_add_child(b->d, list, NULL);
    if (read_node(b, event, n) < 0)
        return -1;
    if (n->kind == DOC_NULL && n->start == n->end)
        place_nothing(b->d->text, from, '-', n);
    n->key_start = n->start;
    n->key_end = n->end;
    return 0;
}

static int read_children(struct builder *b, struct doc_node *n)
{
    const enum fy_event_type last = n->kind == DOC_TABLE ? FYET_MAPPING_END : FYET_SEQUENCE_END;
    struct fy_event *event;
    if (++b->depth > DEEPEST)
        return fail(b, n, "nested too deeply");
    for (;;) {
        if (next(b, &event) < 0)
            return -1;
        if (event->type == last)
            break;
        if ((n->kind == DOC_TABLE ? read_member(b, event, n) : read_element(b, event, n)) < 0)
            return -1;
    }
    const struct fy_mark *end = fy_event_end_mark(event);
    if (n->is_flow && end)
        n->end = end->input_pos;
    else if (n->count)
        n->end = n->children[n->count - 1].end;
    fy_parser_event_free(b->parser, event);
    b->depth--;
    return 0;
}

static void read_scalar(const struct builder *b, struct fy_event *event, struct doc_node *n)
{
    struct fy_token *value = event->scalar.value;
    const enum fy_scalar_style style = value ? fy_token_scalar_style(value) : FYSS_PLAIN;
    n->text = token_text(b, value);
    n->kind = style == FYSS_PLAIN ? yaml_kind(n->text) : DOC_TEXT;
    if (is_quoted(event)) {
        n->start--;
        n->end++;
    } else if (style == FYSS_LITERAL || style == FYSS_FOLDED) {
        place_below_header(b->d->text, n);
    }
    if (event->scalar.tag && n->kind != DOC_TEXT)
        n->kind = DOC_TEXT; /* its type is what the tag says */
    take_marks(b, event->scalar.anchor, event->scalar.tag, n);
}

/* Takes `event`. */
static int read_node(struct builder *b, struct fy_event *event, struct doc_node *n)
{
    const struct fy_mark *start = fy_event_start_mark(event), *end = fy_event_end_mark(event);
    const bool holds_more = event->type == FYET_MAPPING_START || event->type == FYET_SEQUENCE_START;
    if (start)
        place_at(start, n);
    if (end)
        n->end = end->input_pos;
    if (event->type == FYET_SCALAR) {
        read_scalar(b, event, n);
    } else if (event->type == FYET_ALIAS) {
        n->kind = DOC_ALIAS;
        n->text = token_text(b, event->alias.anchor);
        n->start--;
    } else if (event->type == FYET_MAPPING_START) {
        n->kind = DOC_TABLE;
        n->is_flow = b->d->text[n->start] == '{' && event->mapping_start.mapping_start &&
                     fy_event_start_mark(event)->input_pos < (end ? end->input_pos : 0);
        take_marks(b, event->mapping_start.anchor, event->mapping_start.tag, n);
    } else if (event->type == FYET_SEQUENCE_START) {
        n->kind = DOC_LIST;
        n->is_flow = b->d->text[n->start] == '[' && fy_event_start_mark(event)->input_pos < (end ? end->input_pos : 0);
        take_marks(b, event->sequence_start.anchor, event->sequence_start.tag, n);
    }
    fy_parser_event_free(b->parser, event);
    return holds_more ? read_children(b, n) : 0;
}

static int read_documents(struct builder *b)
{
    struct fy_event *event;
    struct doc_node rest = {0};
    int rc = 0;
    b->d->documents = 0;
    b->d->root = (struct doc_node){.kind = DOC_NULL, .line = 1, .column = 1};
    while (rc == 0 && (event = fy_parser_parse(b->parser))) {
        const bool is_node = event->type == FYET_MAPPING_START || event->type == FYET_SEQUENCE_START ||
                             event->type == FYET_SCALAR || event->type == FYET_ALIAS;
        b->d->documents += event->type == FYET_DOCUMENT_START;
        if (is_node)
            rc = read_node(b, event, b->d->documents > 1 ? &rest : &b->d->root);
        else
            fy_parser_event_free(b->parser, event);
        rest = (struct doc_node){0};
    }
    b->d->documents += b->d->documents == 0;
    return rc == 0 && fy_parser_get_stream_error(b->parser) ? fail_to_parse(b) : rc;
}

int yaml_fill(struct doc *d, struct error *e)
{
    struct fy_diag_cfg said;
    fy_diag_cfg_default(&said);
    said.fp = NULL;
    struct fy_diag *diag = fy_diag_create(&said);
    const struct fy_parse_cfg config = {.flags = FYPCF_QUIET | FYPCF_COLLECT_DIAG | FYPCF_SLOPPY_FLOW_INDENTATION,
                                        .diag = diag};
    struct fy_parser *parser = diag ? fy_parser_create(&config) : NULL;
    struct builder b = {.d = d, .parser = parser, .diag = diag, .e = e};
    int rc;
    if (!parser || fy_parser_set_string(parser, d->text, strlen(d->text)) != 0) {
        rc = error_set(e, ERROR_FAILED, "%s: libfyaml cannot be started", d->file);
    } else {
        fy_diag_set_collect_errors(diag, true);
        rc = read_documents(&b);
    }
    if (diag)
        fy_diag_set_collect_errors(diag, false); /* which releases them */
    fy_parser_destroy(parser);
    fy_diag_unref(diag);
    return rc;
}

const char *yaml_library_version(void)
{
    return fy_library_version();
}
