#include <string.h>

#include "batch/system.h"
#include "util/memory.h"

#define DIGITS "0123456789"

/* --- records, as JSON --- */

/* Lines that were none, and how many records there are. */
struct records {
    const struct batch_question *q;
    struct buffer *out;
    size_t count;
    int refused;
    struct text_range *pairs; /* of a record: keys and values in turn */
    size_t pair_count;
};

static void add_text(struct records *r, const char *text, size_t length, const char *before)
{
    buffer_add_text(r->out, before);
    buffer_add_json_string(r->out, text, length);
}

/* By a separator, or by blanks: the last column takes the rest, and a listing by blanks may lack some at its end. */
static bool cut(const struct batch_question *q, const char *line, struct text_range *cells, size_t count)
{
    const char *at = line;
    for (size_t i = 0; i < count; i++) {
        at += q->separator ? 0 : strspn(at, " \t");
        const char *end = at + strlen(at), *next = end;
        if (i + 1 < count && q->separator) {
            end = strstr(at, q->separator);
            if (!end)
                return false;
            next = end + strlen(q->separator);
        } else if (i + 1 < count) {
            end = next = at + strcspn(at, " \t");
        }
        const bool lacks = !q->separator && end == at;
        cells[i] = lacks ? (struct text_range){-1, -1} : (struct text_range){at - line, end - line};
        at = next;
    }
    return count > 0 && cells[0].begin >= 0;
}

static bool cut_by_pattern(const struct batch_question *q, const char *line, struct text_range *cells, size_t count)
{
    struct text_range groups[BATCH_COLUMNS_MOST + 1];
    if (!line_pattern_match(&q->pattern.compiled, line, count + 1, groups))
        return false;
    memcpy(cells, groups + 1, count * sizeof *cells);
    return true;
}

static void take_columns(struct records *r, const char *line)
{
    struct text_range cells[BATCH_COLUMNS_MOST];
    const size_t count = r->q->names.count;
    if (!(r->q->pattern.text ? cut_by_pattern : cut)(r->q, line, cells, count)) {
        r->refused++;
        return;
    }
    buffer_add_text(r->out, r->count++ ? ",[" : "[");
    for (size_t i = 0; i < count; i++) {
        if (cells[i].begin < 0)
            buffer_add_text(r->out, i ? ",null" : "null");
        else
            add_text(r, line + cells[i].begin, (size_t)(cells[i].end - cells[i].begin), i ? "," : "");
    }
    buffer_add_char(r->out, ']');
}

/* The first of two members counts in JSON: the last is to where a record has a key twice. */
static void end_record(struct records *r, const char *text)
{
    if (r->pair_count == 0)
        return;
    buffer_add_text(r->out, r->count++ ? ",{" : "{");
    for (size_t i = r->pair_count; i > 0; i -= 2) {
        const struct text_range *key = &r->pairs[i - 2], *value = &r->pairs[i - 1];
        add_text(r, text + key->begin, (size_t)(key->end - key->begin), i < r->pair_count ? "," : "");
        add_text(r, text + value->begin, (size_t)(value->end - value->begin), ":");
    }
    buffer_add_char(r->out, '}');
    r->pair_count = 0;
}

/* `from` is where the line begins in the text. */
static void take_pairs(struct records *r, const char *line, ptrdiff_t from)
{
    struct text_range within = {0, (ptrdiff_t)strlen(line)}, groups[3];
    while (within.begin < within.end && line_pattern_match_within(&r->q->pair.compiled, line, within, 3, groups) &&
           groups[0].end > groups[0].begin && groups[1].begin >= 0 && groups[2].begin >= 0) {
        for (int i = 1; i <= 2; i++)
            *array_add(r->pairs, r->pair_count) = (struct text_range){groups[i].begin + from, groups[i].end + from};
        within.begin = groups[0].end;
    }
}

/* Lines as a list in JSON. */
static int add_records(const struct batch_question *q, const char *text, struct buffer *out)
{
    struct records r = {.q = q, .out = out};
    char *copy = xstrdup(text), *rest = copy;
    int64_t number = 0;
    buffer_add_char(out, '[');
    for (char *line; (line = strsep(&rest, "\n"));) {
        size_t length = strcspn(line, "\r");
        line[length] = '\0';
        if (number++ < q->skip || length == 0)
            continue;
        if (q->columns) {
            take_columns(&r, line);
            continue;
        }
        if (!q->record.text || line_pattern_match(&q->record.compiled, line, 0, NULL))
            end_record(&r, copy);
        take_pairs(&r, line, line - copy);
    }
    end_record(&r, copy);
    buffer_add_char(out, ']');
    free_all(copy, r.pairs);
    return r.refused;
}

/* --- entries --- */

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

/* Tasks as they are abbreviated: "4", "0-3,7%2", "[0-9:2%4]". False when it is none; `each` may have been called
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

/* An exit status or a signal's number. */
static int number_of(const struct stmt *row, enum batch_field field)
{
    int64_t n = stmt_is_null(row, field) ? -1 : stmt_int(row, field);
    return n >= 0 && n <= 255 ? (int)n : -1;
}

static const char *text_of(const struct stmt *row, enum batch_field field)
{
    const char *text = stmt_text(row, field);
    return text ? text : "";
}

static bool take_row(const struct batch_system *s, const struct batch_question *q, const struct stmt *row,
                     batch_entry_function *each, void *context)
{
    const char *task = text_of(row, ENTRY_TASK), *word = text_of(row, ENTRY_STATE);
    struct batch_entry entry = {.job = text_of(row, ENTRY_ID),
                                .first = -1,
                                .last = -1,
                                .state = batch_system_state(s, word),
                                .word = word,
                                .is_stuck = strings_have(s->stuck, word),
                                .exit_code = number_of(row, ENTRY_EXIT),
                                .signal_number = number_of(row, ENTRY_SIGNAL),
                                .reason = text_of(row, ENTRY_REASON),
                                .nodes = text_of(row, ENTRY_NODES),
                                .comment = text_of(row, ENTRY_COMMENT)};
    if (q == &s->end ? entry.exit_code < 0 && entry.signal_number < 0 : !*entry.job)
        return false;
    if (strspn(task, DIGITS "[") > 0)
        return parse_tasks(task, &entry, each, context);
    each(context, &entry);
    return true;
}

/* Returns whether the list is there: one that is not has no rows either. */
static bool has_list(const struct batch_system *s, const struct batch_question *q, const char *text)
{
    struct error e = ERROR_INIT;
    bool has = false;
    return db_query_bool(s->db, "SELECT json_type(?1, ?2) IN ('array', 'object')",
                         VALUES(sql_text(text), sql_text(q->json)), &has, &e) == 0 &&
           has;
}

int batch_answer_read(const struct batch_system *s, const struct batch_question *q, const char *text,
                      batch_entry_function *each, void *context, size_t *entries)
{
    OWNED_BUFFER records = BUFFER_INIT;
    struct error e = ERROR_INIT;
    int rc, refused = q->json ? 0 : add_records(q, text, &records);
    *entries = 0;
    /* Some print no list where it would be empty. */
    if (q->json && text[strspn(text, " \t\r\n")] == '\0')
        return 0;
    if (q->json && !has_list(s, q, text))
        return -1;
    stmt_reset(q->rows);
    stmt_bind_at(q->rows, 1, sql_text(q->json ? text : buffer_text(&records)));
    while ((rc = stmt_next(q->rows, &e)) > 0) {
        const bool is_of_none = q != &s->end && q != &s->doubt && stmt_is_null(q->rows, ENTRY_STATE);
        const bool taken = is_of_none || take_row(s, q, q->rows, each, context);
        *entries += taken && !is_of_none;
        refused += !taken;
    }
    stmt_reset(q->rows);
    return rc < 0 ? -1 : refused;
}
