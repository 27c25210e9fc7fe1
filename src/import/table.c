#include "import/table.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "config/failure.h"
#include "config/meaning.h"
#include "database/function.h"
#include "database/guard.h"
#include "metrics/proposals.h"
#include "toml/known.h"
#include "util/memory.h"
#include "util/parse.h"
#include "util/string_list.h"
#include "util/suggest.h"

#define BLANKS " \t\r\n"
#define NO_SUCH_COLUMN "no such column: "
#define COLUMNS_NAMED 12

/* A share of the peak: more than there is was not measured. */
static const char *const shares_of_peak[] = {"mfu", "hfu"};

/* Numbers below 0 of a metric of which nobody says that it is an amount: a log-likelihood, a reward. Where more than
 * one was measured, or its name says that it may be one, they are no marks. */
struct negatives {
    bool may_be, are_several;
    double first; /* 0: none yet */
};

enum select_column { SELECT_STATE, SELECT_DURATION, SELECT_FIRST };

struct import_table {
    const struct import_config *config; /* borrowed */
    const struct sweep *sweep;          /* borrowed */
    char *file;
    const char *const *names; /* of the columns; borrowed while it is made */
    size_t column_count;
    bool *has_decimal_comma, *is_read; /* per column of the table */
    char *unused;                      /* names of those that no expression reads; NULL: there are none */
    struct db *db;
    struct stmt *insert, *select;
    int64_t rows;
    size_t line;  /* of the row that is looked at */
    char **texts; /* per column of the select: what it was to compute with, and is no number; NULL: nothing */
    struct value *values;
    double *metrics;
    struct negatives *negatives; /* per column of [import] */
    struct refusal_count *refusals;
    size_t refusal_count;
    size_t dropped;
};

/* --- making --- */

/* Gives a number as it is, also where a text is one, or begins with one and that is asked for by a minus before the
 * column of the select. Another text is what that column has in place of a number. */
static bool measured(void *context, const struct sql_value *arguments, int count, double *out)
{
    struct import_table *t = context;
    const struct sql_value *v = &arguments[1];
    const char *text = v->type == COLUMN_TEXT ? v->text : "-0.0";
    const int64_t column = arguments[0].integer;
    if (count != 2 || v->type == COLUMN_NULL)
        return false;
    if (v->type == COLUMN_INT || v->type == COLUMN_FLOAT)
        *out = sql_number(v);
    else if (!(column < 0 ? parse_number_in_text(text, strlen(text), out) > 0 : parse_double(text, out)) ||
             !isfinite(*out) || (*out == 0 && signbit(*out))) {
        if (!t->texts[llabs(column)])
            t->texts[llabs(column)] = xstrdup(text);
        return false;
    }
    return true;
}

static int create_table(struct import_table *t, struct error *e)
{
    OWNED_BUFFER create = BUFFER_INIT, insert = BUFFER_INIT;
    buffer_add_text(&create, "CREATE TABLE \"#table\" (\"#row\" INTEGER PRIMARY KEY, \"#line\" INTEGER");
    buffer_add_text(&insert, "INSERT INTO \"#table\" VALUES (NULL, ?");
    for (size_t i = 0; i < t->column_count; i++) {
        buffer_add_text(&create, ", ");
        buffer_add_quoted(&create, t->names[i], '\"');
        buffer_add_text(&create, " NUMERIC");
        buffer_add_text(&insert, ", ?");
    }
    buffer_add_char(&create, ')');
    buffer_add_char(&insert, ')');
    int rc = db_open(NULL, DB_TEMPORARY, &t->db, e);
    if (rc == 0)
        rc = db_add_real_function(t->db, "measured", measured, t, e);
    if (rc == 0 && db_exec(t->db, buffer_text(&create), e) < 0)
        rc = error_context(e, "%s: the header", t->file);
    if (rc == 0)
        rc = db_prepare(t->db, buffer_text(&insert), &t->insert, e);
    if (rc == 0)
        rc = db_exec(t->db, "BEGIN", e);
    return rc;
}

static void add_columns_there(const struct import_table *t, struct buffer *out)
{
    for (size_t i = 0; i < t->column_count && i < COLUMNS_NAMED; i++)
        buffer_printf(out, "%s%s", i ? ", " : "", t->names[i]);
    if (t->column_count > COLUMNS_NAMED)
        buffer_printf(out, " and %zu more", t->column_count - COLUMNS_NAMED);
}

/* An expression and where it stands. */
struct clause {
    const char *text, *table, *name; /* "[import.model]", "layers" */
    const struct position *at;
    int measured; /* the column of the select, if numbers are wanted */
};

static void add_problem(const struct import_table *t, const struct clause *c, const char *why, struct error *problems)
{
    OWNED_BUFFER there = BUFFER_INIT;
    const char *missing =
        strncmp(why, NO_SUCH_COLUMN, strlen(NO_SUCH_COLUMN)) == 0 ? why + strlen(NO_SUCH_COLUMN) : NULL;
    const char *near = missing ? SUGGEST(missing, i, t->column_count, t->names[i]).near : NULL;
    if (near)
        buffer_printf(&there, " (did you mean `%s`?)", near);
    else if (missing) {
        buffer_printf(&there, "; %s has ", t->file);
        add_columns_there(t, &there);
    }
    error_add_line(problems, ERROR_USAGE, "%s:%d:%d: %s %s: %s%s", c->at->file, c->at->line, c->at->column, c->table,
                   c->name, why, buffer_text(&there));
}

/* What stands at `p`: a comment, a quoted text or name, a word or number, or one character. */
static size_t token_length(const char *p)
{
    static const char *const quotes[][2] = {{"/*", "*/"}, {"--", "\n"}, {"'", "'"},
                                            {"\"", "\""}, {"`", "`"},   {"[", "]"}};
    for (size_t i = 0; i < LENGTH(quotes); i++) {
        const size_t begins = strncmp(p, quotes[i][0], strlen(quotes[i][0])) == 0 ? strlen(quotes[i][0]) : 0;
        const char *end = begins ? strstr(p + begins, quotes[i][1]) : NULL;
        if (end)
            return (size_t)(end - p) + strlen(quotes[i][1]);
    }
    size_t n = 0;
    while (isalnum((unsigned char)p[n]) || p[n] == '_' || p[n] == '.' || (p[n] & 0x80))
        n++;
    return n ? n : 1;
}

/* The length of what may be computed with at `p`: a column, or the call of a function, or what stands in parentheses;
 * 0: something else. */
static size_t operand_length(const char *p)
{
    size_t n = token_length(p), open = 0;
    OWNED char *word = xstrndup(p, n);
    const bool is_word = (isalpha((unsigned char)*p) || *p == '_' || (*p & 0x80)) &&
                         (!db_is_keyword(word) || words_have("cast replace", word));
    if (!is_word && *p != '(')
        return n > 1 && strchr("\"`[", *p) ? n : 0;
    const size_t blanks = is_word ? strspn(p + n, BLANKS) : 0;
    if (is_word && p[n + blanks] != '(')
        return n;
    n = is_word ? n + blanks : 0;
    do {
        open += p[n] == '(';
        open -= p[n] == ')';
        n += token_length(p + n);
    } while (open && p[n]);
    return open ? 0 : n;
}

static bool is_operator(const char *p)
{
    return *p && strchr("+-*/%", *p) && strncmp(p, "->", 2) != 0 && token_length(p) == 1;
}

/* Returns whether a call of what takes any text for a number opens there. */
static bool opens_abs_or_round(const char *text, const char *p)
{
    const char *name = p;
    while (*p == '(' && name > text && isalpha((unsigned char)name[-1]))
        name--;
    OWNED char *word = xstrndup(name, (size_t)(p - name));
    return words_have("abs round", word);
}

/* Returns whether "+ 0" or "+ 0.0" stands there: SQL for the number that a text begins with. */
static bool adds_nothing(const char *p)
{
    const char *addend = p + strspn(p, "+");
    addend += strspn(addend, BLANKS);
    return *p == '+' && *addend == '0' && strspn(addend, "0.") == token_length(addend);
}

/* Adds the expression from `p` on. Where numbers are wanted, what is computed with must be one, as SQL takes of a text
 * what it begins with, 1 of "1,234" and 0 of "nan"; and whole numbers are divided as others are: 250 ms would be 0 s
 * beside 250.5 ms. */
static void add_expression(const struct clause *c, const char *p, const char *end, struct buffer *out)
{
    bool computes = false; /* with what comes next */
    for (size_t n; p < end; p += n) {
        const size_t operand = c->measured ? operand_length(p) : 0;
        const char *next = p + operand + strspn(p + operand, BLANKS);
        n = token_length(p);
        if (c->measured && *p == '/' && n == 1)
            buffer_add_text(out, "* 1.0 ");
        if (operand && (computes || (next < end && is_operator(next)))) {
            buffer_printf(out, "measured(%d, %.*s", adds_nothing(next) ? -c->measured : c->measured, (int)n, p);
            add_expression(c, p + n, p + operand, out);
            buffer_add_char(out, ')');
            n = operand;
        } else {
            buffer_add(out, p, n);
        }
        if (!strchr(BLANKS, *p) && (n == 1 || !strchr("-/", *p)))
            computes = is_operator(p) || opens_abs_or_round(c->text, p);
    }
}

/* Adds the expression as a column of the select. */
static void add_clause(struct import_table *t, const struct clause *c, struct buffer *select, struct error *problems)
{
    OWNED_STMT *probe = NULL;
    struct error why = ERROR_INIT;
    if (guard_prepare_expression(t->db, "SELECT ", c->text, " FROM \"#table\"", &probe, &why) < 0)
        add_problem(t, c, why.text, problems);
    else if (stmt_column_count(probe) != 1)
        add_problem(t, c, "more than one value", problems);
    buffer_add_text(select, select->length ? ", (" : "SELECT (");
    add_expression(c, c->text, c->text + strlen(c->text), select);
    buffer_add_text(select, "\n)");
}

static void mark_decimal_commas(struct import_table *t, struct error *problems)
{
    const struct word_list *named = &t->config->decimal_commas;
    for (size_t n = 0; n < named->count; n++) {
        size_t i = FIRST(k, t->column_count, strcasecmp(t->names[k], named->items[n].text) == 0);
        OWNED char *why = xasprintf(NO_SUCH_COLUMN "%s", named->items[n].text);
        if (i == t->column_count)
            add_problem(t, &(struct clause){NULL, "[import]", "decimal_comma", &named->items[n].at, 0}, why, problems);
        t->has_decimal_comma[i] = true;
    }
}

static void note_read(void *context, const char *name)
{
    struct import_table *t = context;
    for (size_t i = 0; i < t->column_count; i++)
        t->is_read[i] |= strcasecmp(t->names[i], name) == 0;
}

static void name_unused(struct import_table *t)
{
    OWNED_BUFFER names = BUFFER_INIT;
    for (size_t i = 0; i < t->column_count; i++)
        if (!t->is_read[i])
            buffer_printf(&names, "%s%s", names.length ? ", " : "", t->names[i]);
    t->unused = names.length ? buffer_take(&names) : NULL;
}

/* The columns of the select: state, duration, [import]'s columns, refusals. */
static int compile(struct import_table *t, struct error *e)
{
    const struct import_config *c = t->config;
    struct error problems = ERROR_INIT;
    OWNED_BUFFER select = BUFFER_INIT;
    mark_decimal_commas(t, &problems);
    add_clause(t, &(struct clause){c->state ? c->state : "NULL", "[import]", "state", &c->state_at, 0}, &select,
               &problems);
    add_clause(t,
               &(struct clause){c->duration ? c->duration : "NULL", "[import]", "duration", &c->duration_at,
                                SELECT_DURATION},
               &select, &problems);
    for (size_t i = 0; i < c->column_count; i++) {
        const struct import_column *k = &c->columns[i];
        OWNED char *table = xasprintf("[import.%s]", k->is_metric ? "metrics" : section_names[k->section]);
        add_clause(t, &(struct clause){k->expression, table, k->name, &k->at, k->is_metric ? SELECT_FIRST + (int)i : 0},
                   &select, &problems);
    }
    for (size_t i = 0; i < c->refusal_count; i++)
        add_clause(t, &(struct clause){c->refusals[i].when, "[[import.refuse]]", "when", &c->refusals[i].at, 0},
                   &select, &problems);
    buffer_add_text(&select, ", \"#line\" FROM \"#table\" ORDER BY \"#row\"");
    int rc = 0;
    if (problems.kind) {
        *e = problems;
        rc = -1;
    } else {
        rc = guard_prepare_reading(t->db, buffer_text(&select), note_read, t, &t->select, e);
        name_unused(t);
    }
    return rc;
}

static int check_header(const struct import_table *t, struct error *e)
{
    for (size_t i = 0; i < t->column_count; i++) {
        if (!t->names[i] || !t->names[i][0])
            return error_set(e, ERROR_USAGE, "%s:1: column %zu has no name; the first line must name the columns",
                             t->file, i + 1);
        for (size_t k = 0; k < i; k++)
            if (strcasecmp(t->names[i], t->names[k]) == 0)
                return error_set(e, ERROR_USAGE,
                                 "%s:1: columns %zu and %zu are both called `%s`; if the header has several rows, join "
                                 "them into one",
                                 t->file, k + 1, i + 1, t->names[i]);
    }
    return 0;
}

static int check_config(const struct import_table *t, struct error *e)
{
    bool has_key = false, has_metric = false;
    for (size_t i = 0; i < t->config->column_count; i++) {
        has_key |= !t->config->columns[i].is_metric;
        has_metric |= t->config->columns[i].is_metric;
    }
    if (has_key && has_metric)
        return 0;
    return error_set(e, ERROR_USAGE, "%s: [import] does not map any column to %s; see [import] in meshsweep(5)",
                     t->sweep->path,
                     has_key ? "a metric ([import.metrics])" : "a key ([import.model], [import.parallel_spec], …)");
}

/* Returns whether it is a time, a rate, memory or a share: by what the sweep file says of it, or by its name. */
static bool is_amount(const struct sweep *s, const char *metric)
{
    struct proposal_list by_name;
    OWNED char *line = xasprintf("%s: 1.5", metric);
    proposals_from_log(line, strlen(line), &by_name);
    bool is_other = by_name.count == 0 || strcmp(by_name.items[0].metric, "loss") == 0;
    proposal_list_free(&by_name);
    return !is_other || metric_meaning(s, metric)->quantity != QUANTITY_NONE || sweep_metric_unit(s, metric)[0];
}

int import_table_create(const struct sweep *s, const char *file, const char *const *columns, size_t count,
                        struct import_table **out, struct error *e)
{
    struct import_table *t = xcalloc(1, sizeof *t);
    t->sweep = s;
    t->config = &s->import;
    t->file = xstrdup(file);
    t->names = columns;
    t->column_count = count;
    t->has_decimal_comma = xcalloc(count + 1, sizeof *t->has_decimal_comma);
    t->is_read = xcalloc(count + 1, sizeof *t->is_read);
    t->texts = xcalloc(s->import.column_count + SELECT_FIRST, sizeof *t->texts);
    t->values = xcalloc(s->import.column_count + 1, sizeof *t->values);
    t->metrics = xcalloc(s->import.column_count + 1, sizeof *t->metrics);
    t->negatives = xcalloc(s->import.column_count + 1, sizeof *t->negatives);
    for (size_t i = 0; i < s->import.column_count; i++)
        t->negatives[i].may_be = s->import.columns[i].is_metric && !is_amount(s, s->import.columns[i].name);
    if (check_config(t, e) < 0 || check_header(t, e) < 0 || create_table(t, e) < 0 || compile(t, e) < 0) {
        import_table_free(t);
        return -1;
    }
    t->names = NULL;
    *out = t;
    return 0;
}

void import_table_free(struct import_table *t)
{
    if (!t)
        return;
    stmt_free(t->insert);
    stmt_free(t->select);
    db_close(t->db);
    for (size_t i = 0; t->values && i < t->config->column_count; i++)
        value_free(&t->values[i]);
    for (size_t i = 0; i < t->config->column_count + SELECT_FIRST; i++)
        free(t->texts[i]);
    for (size_t i = 0; i < t->refusal_count; i++)
        free(t->refusals[i].why);
    free_all(t->refusals, t->texts, t->values, t->metrics, t->negatives, t->has_decimal_comma, t->is_read, t->unused,
             t->file, t);
}

/* --- rows in --- */

static void bind_cell(struct stmt *s, int index, const char *text)
{
    double number;
    if (!text || strcmp(text, "\\N") == 0)
        stmt_bind_at(s, index, sql_null());
    else if (parse_double(text, &number) && number == 0 && signbit(number))
        stmt_bind_at(s, index, sql_blob(text, strlen(text))); /* as text SQLite would make it 0 */
    else
        stmt_bind_at(s, index, sql_text(text));
}

/* "1.234,5 MB" as "1234.5 MB"; other text as it is. */
static void bind_with_decimal_comma(struct stmt *s, int index, const char *text)
{
    char digits[NUMBER_BYTES];
    const size_t length = text ? parse_written_number(text, ',', digits) : 0;
    OWNED char *with_point = length ? xasprintf("%s%s", digits, text + length) : NULL;
    bind_cell(s, index, with_point ? with_point : text);
}

int import_table_add(struct import_table *t, size_t line, const char *const *cells, struct error *e)
{
    stmt_bind_at(t->insert, 1, sql_int((int64_t)line));
    for (size_t i = 0; i < t->column_count; i++)
        (t->has_decimal_comma[i] ? bind_with_decimal_comma : bind_cell)(t->insert, (int)i + 2, cells[i]);
    if (stmt_run(t->insert, e) < 0)
        return error_context(e, "%s:%zu", t->file, line);
    t->rows++;
    return 0;
}

/* --- rows out --- */

/* Stands on the next row: 1, 0 behind the last, or -1. */
static int next_row(struct import_table *t, struct error *e)
{
    const size_t columns = t->config->column_count + t->config->refusal_count;
    for (size_t i = 0; i < t->config->column_count + SELECT_FIRST; i++) {
        free(t->texts[i]);
        t->texts[i] = NULL;
    }
    int rc = stmt_next(t->select, e);
    if (rc > 0)
        t->line = (size_t)stmt_int(t->select, SELECT_FIRST + (int)columns);
    return rc < 0 ? error_context(e, "%s, behind line %zu", t->file, t->line) : rc;
}

static const char *cell_text(const struct stmt *s, int column)
{
    return stmt_is_null(s, column) ? "" : stmt_text(s, column);
}

/* "ok" or a failure class; NULL for a state that is neither. */
static const char *outcome_of(const struct import_table *t, const char *state)
{
    if (!t->config->state)
        return "ok";
    for (size_t i = 0; i < t->config->state_count; i++)
        if (strcmp(t->config->states[i].value, state) == 0)
            return t->config->states[i].outcome;
    enum failure failure = failure_by_name(state);
    if (failure && failure <= FAILURE_DECLARABLE_COUNT)
        return failure_names[failure];
    return strcmp(state, "ok") == 0 ? "ok" : NULL;
}

/* Returns whether both are of the same metric and for the same reason, with what may be done, though of another text
 * between the quotes: a column of "1,234" is reported once. */
static bool is_alike(const char *a, const char *b)
{
    const char *a_end = strrchr(a, '`'), *b_end = strrchr(b, '`');
    if (!a_end || !b_end || !strchr(a_end, ';'))
        return strcmp(a, b) == 0;
    size_t name = strcspn(a, "`");
    return strncmp(a, b, name + 1) == 0 && strcmp(a_end, b_end) == 0;
}

static void count_refusal(struct import_table *t, size_t line, const char *why)
{
    size_t i = FIRST(k, t->refusal_count, is_alike(t->refusals[k].why, why));
    if (i == t->refusal_count) {
        t->refusals = array_grow(t->refusals, t->refusal_count++, sizeof *t->refusals);
        t->refusals[i] = (struct refusal_count){xstrdup(why), 0, line};
    }
    t->refusals[i].count++;
}

/* The first [[import.refuse]] that holds; NULL: none. */
static const char *refused_by_rule(const struct import_table *t)
{
    int first = SELECT_FIRST + (int)t->config->column_count;
    for (size_t i = 0; i < t->config->refusal_count; i++) {
        const double holds = stmt_double_or_nan(t->select, first + (int)i);
        if (!isnan(holds) && holds != 0)
            return t->config->refusals[i].why;
    }
    return NULL;
}

/* Shares are of the peak in bf16: in 8 bits a device does twice as much, in 4 four times. */
static const struct {
    const char *precision;
    double peaks;
} precisions[] = {{"fp8", 2}, {"mxfp8", 2}, {"int8", 2}, {"fp4", 4}, {"mxfp4", 4}, {"nvfp4", 4}};

/* How often the row's devices have that peak: by a key whose value is a precision, or begins with one ("fp8_cs"). */
static double peaks_of(const struct import_table *t)
{
    for (size_t i = 0; i < t->config->column_count; i++) {
        int column = SELECT_FIRST + (int)i;
        if (t->config->columns[i].is_metric || stmt_type(t->select, column) != COLUMN_TEXT)
            continue;
        const char *text = stmt_text(t->select, column);
        for (size_t k = 0; k < LENGTH(precisions); k++) {
            size_t length = strlen(precisions[k].precision);
            if (strncasecmp(text, precisions[k].precision, length) == 0 && !isalnum((unsigned char)text[length]))
                return precisions[k].peaks;
        }
    }
    return 1;
}

static double most_of(const struct import_table *t, const char *metric)
{
    bool is_share = false;
    for (size_t i = 0; i < LENGTH(shares_of_peak); i++)
        is_share |= strcasecmp(shares_of_peak[i], metric) == 0;
    if (!is_share)
        return INFINITY;
    return (strcmp(sweep_metric_unit(t->sweep, metric), "%") == 0 ? 100 : 1) * peaks_of(t);
}

/* Returns what is wrong with a metric, the caller's; NULL: nothing, and `*out` is it. */
static char *read_metric(const struct import_table *t, int column, const char *name, const struct negatives *n,
                         double *out)
{
    enum column_type type = stmt_type(t->select, column);
    *out = NAN;
    if (type == COLUMN_NULL && !t->texts[column])
        return NULL;
    double value = stmt_double(t->select, column);
    const char *text = type == COLUMN_INT || type == COLUMN_FLOAT ? NULL
                       : type == COLUMN_NULL                      ? t->texts[column]
                                                                  : stmt_text(t->select, column);
    /* replace() and the like make texts of numbers. */
    if (text && !parse_double(text, &value))
        return xasprintf("%s is `%.60s`, which is not a number%s", name, text,
                         strchr(text, ',')   ? "; to remove commas: replace(COLUMN, ',', ''); decimal "
                                               "commas: decimal_comma = [\"COLUMN\"]"
                         : strchr(text, '%') ? "; to remove percent signs: replace(COLUMN, '%', '') / 100"
                                             : "");
    if (signbit(value) && !(n->are_several && value < 0))
        return xasprintf("%s is %s, which marks a missing value", name, value == 0 ? "-0.0" : "negative");
    if (!isfinite(value))
        return xasprintf("%s is infinite", name);
    if (value > most_of(t, name))
        return xasprintf("%s is above %g %%", name, 100 * peaks_of(t));
    *out = value;
    return NULL;
}

/* Returns whether the metrics can stand; else the row is refused, where it is ok. */
static bool read_metrics(struct import_table *t, size_t line, bool is_ok)
{
    for (size_t i = 0; i < t->config->column_count; i++) {
        const struct import_column *c = &t->config->columns[i];
        t->metrics[i] = NAN;
        char *why =
            c->is_metric ? read_metric(t, SELECT_FIRST + (int)i, c->name, &t->negatives[i], &t->metrics[i]) : NULL;
        if (!why)
            continue;
        t->dropped += !is_ok;
        if (is_ok)
            count_refusal(t, line, why);
        free(why);
        if (is_ok)
            return false;
    }
    return true;
}

static struct value value_at(const struct stmt *s, int column)
{
    const char *text;
    switch (stmt_type(s, column)) {
    case COLUMN_INT:
        return (struct value){VALUE_INT, stmt_int(s, column), 0, NULL};
    case COLUMN_FLOAT:
        return (struct value){VALUE_FLOAT, 0, stmt_double(s, column), NULL};
    case COLUMN_NULL:
        return (struct value){VALUE_NULL, 0, 0, NULL};
    default:
        text = stmt_text(s, column);
        if (strcasecmp(text, "true") == 0 || strcasecmp(text, "false") == 0)
            return (struct value){VALUE_BOOL, strcasecmp(text, "true") == 0, 0, NULL};
        return (struct value){VALUE_STRING, 0, 0, xstrdup(text)};
    }
}

static void read_keys(struct import_table *t)
{
    for (size_t i = 0; i < t->config->column_count; i++) {
        value_free(&t->values[i]);
        t->values[i] = t->config->columns[i].is_metric ? (struct value){VALUE_NULL, 0, 0, NULL}
                                                       : value_at(t->select, SELECT_FIRST + (int)i);
    }
}

static bool has_objective(const struct import_table *t)
{
    if (t->sweep->objective_count == 0)
        return true;
    for (size_t i = 0; i < t->config->column_count; i++)
        if (t->config->columns[i].is_metric && strcmp(t->config->columns[i].name, t->sweep->objectives[0].metric) == 0)
            return !isnan(t->metrics[i]);
    return true;
}

/* false: it is refused. */
static bool read_row(struct import_table *t, struct import_row *out)
{
    const size_t line = t->line;
    const char *why = refused_by_rule(t);
    if (why) {
        count_refusal(t, line, why);
        return false;
    }
    const char *state = cell_text(t->select, SELECT_STATE);
    const char *outcome = outcome_of(t, state);
    bool is_ok = strcmp(outcome, "ok") == 0;
    if (!read_metrics(t, line, is_ok))
        return false;
    read_keys(t);
    double duration;
    free(read_metric(t, SELECT_DURATION, "duration", &(struct negatives){0}, &duration));
    *out = (struct import_row){line,
                               t->values,
                               t->metrics,
                               is_ok ? NULL : outcome,
                               t->config->state ? state : NULL,
                               duration > 0 ? duration : NAN};
    if (is_ok && !has_objective(t))
        out->failure = failure_names[FAILURE_NO_METRIC];
    return true;
}

static void note_negatives(struct import_table *t)
{
    for (size_t i = 0; i < t->config->column_count; i++) {
        struct negatives *n = &t->negatives[i];
        const double value = n->may_be ? stmt_double(t->select, SELECT_FIRST + (int)i) : 0;
        n->are_several |= value < 0 && ((n->first < 0 && value != n->first) ||
                                        known_within(known("table", "signed"), t->config->columns[i].name));
        n->first = value < 0 ? value : n->first;
    }
}

/* Every state that means nothing, once, of rows that are not refused; and what is below 0. */
static int look_over(struct import_table *t, struct error *e)
{
    struct error problems = ERROR_INIT;
    int rc;
    while ((rc = next_row(t, e)) > 0) {
        if (refused_by_rule(t))
            continue;
        note_negatives(t);
        const char *state = cell_text(t->select, SELECT_STATE);
        if (outcome_of(t, state))
            continue;
        OWNED char *line =
            xasprintf("state `%.60s` is neither ok nor a failure class, and [import.states] does not map it", state);
        if (!strstr(problems.text, line))
            error_add_line(&problems, ERROR_USAGE, "%s:%zu: %s", t->file, t->line, line);
    }
    stmt_reset(t->select);
    if (rc < 0 || !problems.kind)
        return rc;
    *e = problems;
    return -1;
}

int import_table_read(struct import_table *t, int (*each)(void *context, const struct import_row *row, struct error *e),
                      void *context, struct error *e)
{
    struct import_row row;
    if (db_exec(t->db, "COMMIT", e) < 0 || look_over(t, e) < 0)
        return -1;
    int rc;
    t->line = 0;
    while ((rc = next_row(t, e)) > 0)
        if (read_row(t, &row) && each(context, &row, e) < 0) {
            rc = -1;
            break;
        }
    stmt_reset(t->select);
    return rc;
}

const struct refusal_count *import_table_refusals(const struct import_table *t, size_t *count)
{
    *count = t->refusal_count;
    return t->refusals;
}

size_t import_table_dropped(const struct import_table *t)
{
    return t->dropped;
}

const char *import_table_unused(const struct import_table *t)
{
    return t->unused;
}
