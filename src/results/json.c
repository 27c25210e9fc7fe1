#include "results/json.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "util/decimal.h"
#include "util/embedded.h"
#include "util/memory.h"

cJSON *json_document(void)
{
    cJSON *root = cJSON_CreateObject();
    cJSON_AddNumberToObject(root, "schema_version", JSON_SCHEMA_VERSION);
    return root;
}

static bool is_null(const struct json_member *m)
{
    return m->kind == JSON_OF_TEXT    ? !m->text || !*m->text
           : m->kind == JSON_OF_COUNT ? m->number < 0
                                      : !isfinite(m->number);
}

static cJSON *value_of(const struct json_member *m)
{
    if (is_null(m))
        return cJSON_CreateNull();
    return m->kind == JSON_OF_TRUTH                               ? cJSON_CreateBool(m->number != 0)
           : m->kind == JSON_OF_TEXT || m->kind == JSON_OF_STRING ? cJSON_CreateString(m->text)
                                                                  : cJSON_CreateNumber(m->number);
}

void json_write_members(struct buffer *out, const struct json_member *members, size_t count)
{
    for (const struct json_member *m = members; m < members + count; m++) {
        buffer_printf(out, ",\"%s\":", m->name);
        if (is_null(m))
            buffer_add_text(out, "null");
        else if (m->kind == JSON_OF_TRUTH)
            buffer_add_text(out, m->number != 0 ? "true" : "false");
        else if (m->kind == JSON_OF_TEXT || m->kind == JSON_OF_STRING)
            buffer_add_json_string(out, m->text, strlen(m->text));
        else if (m->kind == JSON_OF_REAL)
            buffer_add_double(out, m->number);
        else
            buffer_printf(out, "%.0f", m->number);
    }
}

void json_add_members(cJSON *object, const struct json_member *members, size_t count)
{
    for (size_t i = 0; i < count; i++)
        cJSON_AddItemToObject(object, members[i].name, value_of(&members[i]));
}

cJSON *json_add_item(cJSON *list, const struct json_member *members, size_t count)
{
    cJSON *item = cJSON_CreateObject();
    json_add_members(item, members, count);
    cJSON_AddItemToArray(list, item);
    return item;
}

/* SQLite has no type for the values of these columns. */
static const char *const columns_of_json[] = {"given",    "keys",    "command", "environment", "scripts",
                                              "versions", "gpus",    "values",  "detail",      "replaced",
                                              "ratios",   "differs", "free",    NULL};
static const char *const columns_of_truth[] = {"in_current_sweep", "told_apart", "free_was_found", NULL};
/* Values of keys: "" is one of them. */
static const char *const columns_of_values[] = {"a", "b", NULL};

static bool is_listed(const char *const *names, const char *name)
{
    for (; *names; names++)
        if (strcmp(*names, name) == 0)
            return true;
    return false;
}

/* The next string or number of the text at `*p`, as written, which is then behind it. The caller's. */
static char *next_written(const char **p)
{
    const char *begin = *p + strcspn(*p, "\"-0123456789"), *end = begin + strspn(begin, "-+.0123456789eE");
    if (*begin == '"') {
        for (end++; *end && *end != '"'; end++)
            end += *end == '\\' && end[1];
        end += *end == '"';
    }
    *p = end;
    return xstrndup(begin, (size_t)(end - begin));
}

/* The text at `*p` has the tree's names and values in its order. Where they are others' JSON, values stay the text that
 * they are: as doubles they would lose digits. */
static void keep_written(cJSON *item, const char **p, bool as_written)
{
    for (; item; item = item->next) {
        OWNED char *name = item->string ? next_written(p) : NULL;
        const bool stays = as_written || (name && is_listed(columns_of_json, item->string));
        keep_written(item->child, p, stays);
        OWNED char *value = cJSON_IsNumber(item) || cJSON_IsString(item) ? next_written(p) : NULL;
        if (value && stays) {
            text_replace(&item->valuestring, xstrdup(value));
            item->type = cJSON_Raw;
        }
    }
}

static cJSON *tree_of_text(const char *json, bool as_written)
{
    const char *p = json;
    cJSON *tree = cJSON_Parse(json);
    keep_written(tree, &p, as_written);
    return tree || !as_written ? tree : cJSON_CreateRaw(json);
}

/* cJSON is content with 15 digits that are one bit off, and takes 17 where 16 do. */
static void spell_numbers(cJSON *item)
{
    char text[DECIMAL_BYTES];
    for (; item; item = item->next) {
        spell_numbers(item->child);
        snprintf(text, sizeof text, "%.15g", item->valuedouble);
        if (!cJSON_IsNumber(item) || !isfinite(item->valuedouble) || strtod(text, NULL) == item->valuedouble)
            continue;
        decimal_from_double(item->valuedouble, text);
        item->type += cJSON_Raw - cJSON_Number;
        item->valuestring = xstrdup(text);
    }
}

char *json_print(cJSON *document, bool indented)
{
    spell_numbers(document->child);
    return indented ? cJSON_Print(document) : cJSON_PrintUnformatted(document);
}

void json_add_raw(cJSON *object, const char *name, const char *json)
{
    cJSON_AddItemToObject(object, name, json ? tree_of_text(json, true) : cJSON_CreateNull());
}

void json_take_members(cJSON *object, cJSON *from)
{
    while (from && from->child) {
        cJSON *item = cJSON_DetachItemViaPointer(from, from->child);
        cJSON_AddItemToObject(object, item->string, item);
    }
}

static void add_statement(const char *name, const char *select, struct buffer *sql)
{
    const char *text = embedded_text(name);
    buffer_add(sql, text, select ? (size_t)(strstr(text, "\nSELECT ") - text) : strlen(text));
    buffer_printf(sql, "\n%s", select ? select : "");
}

int answer_open(struct db *db, const char *name, const char *select, struct sql_values values, struct stmt **out,
                struct error *e)
{
    OWNED_BUFFER sql = BUFFER_INIT;
    add_statement(name, select, &sql);
    return db_query(db, buffer_text(&sql), values, out, e);
}

int answer_next(struct db *db, const char *name, const char *select, struct sql_values values, struct stmt **s,
                struct error *e)
{
    OWNED_BUFFER sql = BUFFER_INIT;
    if (!*s)
        add_statement(name, select, &sql);
    return db_next(db, buffer_text(&sql), values, s, e);
}

int answer_take(const struct stmt *s, int column, cJSON **out, struct error *e)
{
    const char *text = stmt_text(s, column);
    cJSON *answer = text ? tree_of_text(text, false) : NULL;
    if (!answer)
        return error_set(e, ERROR_FAILED, "a text in the database has a NUL byte, which JSON cannot be read with");
    *out = answer;
    return 0;
}

int answer_documents(struct stmt *s, int first, cJSON **out, cJSON **beside, struct error *e)
{
    cJSON *documents[2] = {NULL, NULL};
    int rc = stmt_next(s, e);
    for (int i = 0; rc > 0 && i < (beside ? 2 : 1); i++)
        rc = answer_take(s, first + i, &documents[i], e) < 0 ? -1 : 1;
    if (rc < 0) {
        cJSON_Delete(documents[0]);
        return -1;
    }
    *out = documents[0];
    if (beside)
        *beside = documents[1];
    return 0;
}

const char *json_text_of(const cJSON *object, const char *name)
{
    return cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(object, name));
}

const char *json_text_or(const cJSON *object, const char *name, const char *absent)
{
    const char *text = json_text_of(object, name);
    return text ? text : absent;
}

double json_real_of(const cJSON *object, const char *name)
{
    return cJSON_GetNumberValue(cJSON_GetObjectItemCaseSensitive(object, name));
}

int64_t json_count_of(const cJSON *object, const char *name)
{
    const double value = json_real_of(object, name);
    return isnan(value) ? -1 : (int64_t)value;
}

static void json_add_column(cJSON *object, const struct stmt *s, int column)
{
    const char *name = stmt_column_name(s, column);
    const enum column_type type = stmt_type(s, column);
    if (type == COLUMN_NULL)
        cJSON_AddNullToObject(object, name);
    else if (is_listed(columns_of_json, name))
        json_add_raw(object, name, stmt_text(s, column));
    else if (is_listed(columns_of_truth, name))
        cJSON_AddBoolToObject(object, name, stmt_int(s, column) != 0);
    else if (type == COLUMN_INT || type == COLUMN_FLOAT)
        json_add_real(object, name, stmt_double(s, column));
    else if (is_listed(columns_of_values, name))
        cJSON_AddStringToObject(object, name, stmt_text(s, column));
    else
        json_add_text(object, name, stmt_text(s, column));
}

void json_add_columns(cJSON *object, const struct stmt *s, int first)
{
    for (int i = first; i < stmt_column_count(s); i++)
        json_add_column(object, s, i);
}

int json_add_keys(cJSON *object, struct db *db, int64_t job_id, struct error *e)
{
    OWNED_STMT *s = NULL;
    int rc =
        db_next(db, "SELECT " JSON_KEYS_SQL " AS keys FROM job AS j WHERE j.id = ?1", VALUES(sql_int(job_id)), &s, e);
    if (rc > 0)
        json_add_column(object, s, 0);
    return rc < 0 ? -1 : 0;
}
