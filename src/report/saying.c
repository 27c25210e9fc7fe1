#include "report/saying.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "database/function.h"
#include "database/open.h"
#include "report/render.h"
#include "report/text.h"
#include "results/json.h"
#include "util/embedded.h"
#include "util/memory.h"
#include "util/parse.h"

static bool call_of_one(void *context, const struct sql_value *arguments, int count, double *out)
{
    double (**function)(double) = context;
    *out = count == 1 ? (*function)(sql_number(arguments)) : NAN;
    return !isnan(*out);
}

static bool call_columns(void *context, const struct sql_value *arguments, int count, double *out)
{
    const char *text = count == 1 && arguments->type == COLUMN_TEXT ? arguments->text : "";
    (void)context;
    *out = (double)text_columns(text, strlen(text));
    return true;
}

/* `start` is the "%" of the value's kind, `flags` how much stands between them. */
static void say_value(const char *start, size_t flags, const struct sql_value *v, struct buffer *out)
{
    const char kind = start[flags + 1], *text = v->type == COLUMN_TEXT ? v->text : "";
    const double number = sql_number(v);
    OWNED char *format = xasprintf("%.*s%s%c", (int)flags + 1, start, kind == 'd' ? "ll" : "", kind);
    char size[32];
    if (kind == 'B')
        buffer_add_text(out, format_size_bytes((int64_t)number, size, sizeof size));
    else if (kind == 't')
        buffer_add_text(out, format_duration_ms((int64_t)number, size, sizeof size));
    else if (kind == 'l')
        text_add_line(out, text);
    else if (kind == 'p')
        text_add_printable(out, text, strlen(text), strtoul(start + 1, NULL, 10), false);
    else if (kind == 'r')
        text_add_rounded(out, number);
    else if (kind == 'g' && start[1] == '.')
        text_add_figure(out, (int)strtol(start + 2, NULL, 10), number);
    else if (kind == 'n')
        buffer_add_double(out, number);
    else if (kind == 'a')
        text_add_amount(out, number);
    else if (kind == 's')
        buffer_printf(out, format, text);
    else if (kind == 'd')
        buffer_printf(out, format,
                      v->type == COLUMN_INT ? (long long)v->integer
                      : isnan(number)       ? 0
                                            : (long long)number);
    else
        buffer_printf(out, format, number);
}

static void say(const struct sql_value *arguments, struct buffer *out)
{
    int next = 1;
    for (const char *p = arguments[0].text, *end; *p; p = end) {
        const size_t flags = *p == '%' ? strspn(p + 1, "+-.0123456789") : 0;
        end = *p == '%' ? p + flags + 2 : p + strcspn(p, "%");
        if (*p != '%' || p[1] == '%')
            buffer_add(out, p, *p == '%' ? 1 : (size_t)(end - p));
        else
            say_value(p, flags, &arguments[next++], out);
    }
}

static void told(const struct sql_value *arguments, struct buffer *out)
{
    const struct sql_value *v = &arguments[1];
    if (v->type == COLUMN_NULL)
        return;
    buffer_add_text(out, arguments[0].text);
    if (v->type == COLUMN_FLOAT)
        text_add_rounded(out, v->real);
    else if (v->type == COLUMN_INT)
        buffer_add_int(out, v->integer);
    else if (v->type == COLUMN_TEXT)
        text_add_printable(out, v->text, strlen(v->text), 0, false);
}

static void fit(const struct sql_value *arguments, struct buffer *out)
{
    const size_t columns = (size_t)sql_number(&arguments[2]) / 2, taken = (size_t)sql_number(&arguments[1]);
    const char *text = arguments[0].type == COLUMN_TEXT ? arguments[0].text : "";
    text_add_printable(out, text, strlen(text),
                       columns > taken + 20 ? columns - taken
                       : columns            ? 20
                                            : TEXT_LINE_COLUMNS,
                       (size_t)sql_number(&arguments[2]) % 2);
}

static void rounded(const struct sql_value *arguments, struct buffer *out)
{
    text_add_rounded(out, sql_number(arguments));
}

static void markdown(const struct sql_value *arguments, struct buffer *out)
{
    if (arguments[0].type == COLUMN_TEXT)
        markdown_add_text(out, arguments[0].text, strlen(arguments[0].text));
}

static void toml(const struct sql_value *arguments, struct buffer *out)
{
    buffer_add_toml_string(out, "", arguments[0].text, "");
}

static void styled(const struct sql_value *arguments, struct buffer *out)
{
    text_add_styled(out, text_state_style(arguments[0].text), arguments[1].text);
}

static void text(const struct sql_value *arguments, struct buffer *out)
{
    OWNED char *name = xasprintf("sql/texts/%s.sql", arguments[0].text);
    struct sql_values values = VALUES(arguments[1], arguments[2]);
    struct error none = ERROR_INIT;
    values.count = arguments[2].type == COLUMN_NULL ? 1 : 2;
    saying_add_answer(name, values, out, &none);
    out->length -= out->length > 0;
}

int saying_add_functions(struct db *db, struct error *e)
{
    static double (*const of_one[])(double) = {erfc, expm1, log2};
    static const char *const names[] = {"erfc", "expm1", "log2"};
    static const struct {
        const char *name;
        int arguments;
        void (*function)(const struct sql_value *, struct buffer *);
    } texts[] = {{"say", -1, say},          {"told", 2, told}, {"rounded", 1, rounded}, {"styled", 2, styled},
                 {"markdown", 1, markdown}, {"fit", 3, fit},   {"text", -1, text},      {"toml", 1, toml}};
    int rc = 0;
    for (size_t i = 0; rc == 0 && i < LENGTH(texts); i++)
        rc = db_add_text_function(db, texts[i].name, texts[i].arguments, texts[i].function, e);
    if (rc == 0)
        rc = db_add_real_function(db, "columns", call_columns, NULL, e);
    for (size_t i = 0; rc == 0 && i < LENGTH(names); i++)
        rc = db_add_real_function(db, names[i], call_of_one, (void *)&of_one[i], e);
    return rc;
}

static int open_private(struct db **out, struct error *e)
{
    if (db_open(NULL, DB_TEMPORARY, out, e) < 0)
        return -1;
    if (saying_add_functions(*out, e) == 0)
        return 0;
    db_close(*out);
    return -1;
}

int saying_open(const char *script, struct db **out, struct error *e)
{
    struct db *db;
    if (open_private(&db, e) < 0)
        return -1;
    if (db_exec(db, "BEGIN", e) < 0 || db_exec(db, embedded_text(script), e) < 0) {
        db_close(db);
        return -1;
    }
    *out = db;
    return 0;
}

int saying_add_lines(struct db *db, const char *sql, const char *title, struct buffer *out, struct error *e)
{
    OWNED_STMT *s = NULL;
    int rc, lines = 0;
    while ((rc = db_next(db, sql, NO_VALUES, &s, e)) > 0)
        buffer_printf(out, "%s%s\n", lines++ ? "" : title, stmt_text(s, 0));
    return rc;
}

int saying_add_rows(struct db *db, const char *sql, const char *name, cJSON *document, struct error *e)
{
    OWNED_STMT *s = NULL;
    cJSON *list = name ? cJSON_AddArrayToObject(document, name) : NULL;
    int rc;
    while ((rc = db_next(db, sql, NO_VALUES, &s, e)) > 0) {
        cJSON *row = name ? cJSON_CreateObject() : document;
        json_add_columns(row, s, 0);
        if (name)
            cJSON_AddItemToArray(list, row);
    }
    return rc;
}

int saying_add_answer(const char *name, struct sql_values values, struct buffer *out, struct error *e)
{
    OWNED_DB *db = NULL;
    OWNED_STMT *s = NULL;
    int rc = open_private(&db, e);
    if (rc == 0)
        rc = answer_open(db, name, NULL, values, &s, e);
    while (rc == 0 && (rc = stmt_next(s, e)) > 0) {
        buffer_printf(out, "%s\n", stmt_text(s, 0));
        rc = 0;
    }
    return rc;
}

int saying_add_text(const char *name, const cJSON *document, const cJSON *beside, struct buffer *out, struct error *e)
{
    OWNED char *said = cJSON_PrintUnformatted(document), *besides = beside ? cJSON_PrintUnformatted(beside) : NULL;
    struct sql_values values = VALUES(sql_text(said), sql_text(besides));
    values.count = beside ? 2 : 1;
    return saying_add_answer(name, values, out, e);
}

void saying_add_sentence(const char *name, const cJSON *document, const cJSON *beside, struct buffer *out)
{
    const size_t before = out->length;
    struct error none = ERROR_INIT;
    saying_add_text(name, document, beside, out, &none);
    if (out->length > before)
        out->data[--out->length] = '\0';
}
