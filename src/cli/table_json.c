#include "cli/table_json.h"

#include <stdlib.h>
#include <string.h>

#include <cjson/cJSON.h>

#include "util/memory.h"
#include "util/string_list.h"

bool table_json_is(const char *text)
{
    text += strspn(text, " \t\r\n");
    const char *next = *text ? text + 1 + strspn(text + 1, " \t\r\n") : text;
    return (*text == '[' && (*next == '{' || *next == '[')) || (*text == '{' && *next == '"');
}

/* Adds the names of an object's members, and of those of nested ones. */
static void add_names(const cJSON *object, const char *before, struct string_list *out)
{
    const cJSON *member;
    cJSON_ArrayForEach(member, object)
    {
        char *name = xasprintf("%s%s", before, member->string), *prefix = xasprintf("%s.", name);
        if (cJSON_IsObject(member))
            add_names(member, prefix, out);
        else if (string_list_find(out, name) == out->count)
            string_list_add(out, xstrdup(name));
        free_all(name, prefix);
    }
}

static const cJSON *member_at(const cJSON *object, const char *name)
{
    const cJSON *member = cJSON_GetObjectItemCaseSensitive(object, name), *nested;
    if (member && !cJSON_IsObject(member))
        return member;
    cJSON_ArrayForEach(nested, object)
    {
        const size_t n = strlen(nested->string);
        if (cJSON_IsObject(nested) && strncmp(name, nested->string, n) == 0 && name[n] == '.' &&
            (member = member_at(nested, name + n + 1)))
            return member;
    }
    return NULL;
}

void table_add_cell(struct buffer *out, const char *text, size_t length)
{
    buffer_add_char(out, '"');
    for (size_t i = 0; i < length; i++) {
        if (text[i] == '"')
            buffer_add_char(out, '"');
        buffer_add_char(out, text[i]);
    }
    buffer_add_char(out, '"');
}

static void add_value(struct buffer *out, const cJSON *value)
{
    if (!value || cJSON_IsNull(value))
        return;
    if (cJSON_IsString(value) && value->valuestring) {
        table_add_cell(out, value->valuestring, strlen(value->valuestring));
        return;
    }
    char *text = cJSON_PrintUnformatted(value);
    table_add_cell(out, text ? text : "", text ? strlen(text) : 0);
    free(text);
}

static void add_rows(const cJSON *rows, struct buffer *out)
{
    struct string_list names = STRING_LIST_INIT;
    const cJSON *row;
    cJSON_ArrayForEach(row, rows) add_names(row, "", &names);
    for (size_t i = 0; i < names.count; i++) {
        buffer_add_text(out, i ? "," : "");
        table_add_cell(out, names.items[i], strlen(names.items[i]));
    }
    buffer_add_char(out, '\r'); /* ends it, and is no line of the file */
    cJSON_ArrayForEach(row, rows)
    {
        for (size_t i = 0; i < names.count; i++) {
            buffer_add_text(out, i ? "," : "");
            add_value(out, member_at(row, names.items[i]));
        }
        buffer_add_char(out, '\n');
    }
    string_list_free(&names);
}

static bool is_of_objects(const cJSON *list)
{
    const cJSON *row;
    cJSON_ArrayForEach(row, list) if (!cJSON_IsObject(row)) return false;
    return cJSON_IsArray(list) && list->child;
}

static bool are_all(const cJSON *of, cJSON_bool (*is)(const cJSON *))
{
    const cJSON *member;
    cJSON_ArrayForEach(member, of) if (!is(member)) return false;
    return of && of->child;
}

/* Whether its members are named by numbers, as rows are. */
static bool is_numbered(const cJSON *of)
{
    const cJSON *member;
    cJSON_ArrayForEach(member,
                       of) if (!*member->string || member->string[strspn(member->string, "0123456789")]) return false;
    return of && of->child;
}

static void add_to_row(cJSON *rows, cJSON **row, const char *name, cJSON *value)
{
    *row = *row ? (*row)->next : rows->child;
    if (!*row)
        cJSON_AddItemToArray(rows, *row = cJSON_CreateObject());
    cJSON_AddItemReferenceToObject(*row, name, value);
}

/* Rows of {"NAME": [1, 2], ...} and of {"NAME": {"0": 1, "1": 2}, ...}, as pandas writes columns. */
static cJSON *rows_of_columns(const cJSON *columns)
{
    cJSON *rows = cJSON_CreateArray(), *column, *value;
    cJSON_ArrayForEach(column, columns)
    {
        cJSON *row = NULL;
        cJSON_ArrayForEach(value, column) add_to_row(rows, &row, column->string, value);
    }
    return rows;
}

/* Rows of [[1, 2], ...] under names; those are the first list where `names` is NULL. */
static cJSON *rows_of_lists(const cJSON *names, const cJSON *lists)
{
    cJSON *rows = cJSON_CreateArray(), *value;
    const cJSON *list = names ? lists->child : lists->child->next;
    for (names = names ? names : lists->child; list; list = list->next) {
        cJSON *row = cJSON_CreateObject();
        const cJSON *name = names->child;
        cJSON_ArrayForEach(value, list) if (name)
        {
            cJSON_AddItemReferenceToObject(row, cJSON_IsString(name) ? name->valuestring : "", value);
            name = name->next;
        }
        cJSON_AddItemToArray(rows, row);
    }
    return rows;
}

/* Rows made of a table by columns, by numbers of rows, or of lists; NULL: it is none. */
static cJSON *made_rows(const cJSON *only)
{
    const cJSON *names = cJSON_GetObjectItemCaseSensitive(only, "columns"),
                *data = cJSON_GetObjectItemCaseSensitive(only, "data");
    if (are_all(names, cJSON_IsString) && are_all(data, cJSON_IsArray))
        return rows_of_lists(names, data);
    if (cJSON_IsArray(only) && are_all(only, cJSON_IsArray) && are_all(only->child, cJSON_IsString))
        return rows_of_lists(NULL, only);
    const bool has_objects = cJSON_IsObject(only) && are_all(only, cJSON_IsObject);
    if ((has_objects && !is_numbered(only) && is_numbered(only->child)) ||
        (cJSON_IsObject(only) && only->child && only->child->next && are_all(only, cJSON_IsArray)))
        return rows_of_columns(only);
    return NULL;
}

/* The list of rows in what was read: its only value, a member of that, or all of them. */
static const cJSON *rows_of(const cJSON *all)
{
    const cJSON *only = all->child && !all->child->next ? all->child : NULL, *member;
    if (only && (is_of_objects(only) || (cJSON_IsObject(only) && is_numbered(only) && are_all(only, cJSON_IsObject))))
        return only;
    cJSON_ArrayForEach(member, only) if (is_of_objects(member)) return member;
    if (!is_of_objects(all))
        return NULL;
    /* A table by columns or by an index has nothing but objects in its only one. */
    bool is_turned = only && only->child;
    cJSON_ArrayForEach(member, only) is_turned &= cJSON_IsObject(member) || cJSON_IsArray(member);
    return is_turned ? NULL : all;
}

int table_json_add_csv(const char *file, const char *text, struct buffer *out, struct error *e)
{
    cJSON *all = cJSON_CreateArray();
    int rc = 0, line = 1;
    for (const char *p = text, *end; *(p += strspn(p, " \t\r\n,")) && rc == 0; p = end) {
        cJSON *one = cJSON_ParseWithOpts(p, &end, false);
        for (const char *c = text; !one && c < p; c++)
            line += *c == '\n';
        if (!one)
            rc = error_set(e, ERROR_USAGE, "%s:%d: what begins here is no JSON", file, line);
        else
            cJSON_AddItemToArray(all, one);
    }
    cJSON *made = rc == 0 && all->child && !all->child->next ? made_rows(all->child) : NULL;
    const cJSON *rows = made ? made : rc == 0 ? rows_of(all) : NULL;
    if (rc == 0 && !rows)
        rc = error_set(e, ERROR_USAGE,
                       "%s: a table in JSON is a list of objects, or an object a line; pandas writes one with "
                       "df.to_json(FILE, orient=\"records\")",
                       file);
    if (rc == 0)
        add_rows(rows, out);
    cJSON_Delete(made);
    cJSON_Delete(all);
    return rc;
}
