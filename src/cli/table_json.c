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
    return (*text == '[' && *next == '{') || (*text == '{' && *next == '"');
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

/* The list of rows in what was read: its only value, a member of that, or all of them. */
static const cJSON *rows_of(const cJSON *all)
{
    const cJSON *only = all->child && !all->child->next ? all->child : NULL, *member;
    if (only && is_of_objects(only))
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
    const cJSON *rows = rc == 0 ? rows_of(all) : NULL;
    if (rc == 0 && !rows)
        rc = error_set(e, ERROR_USAGE,
                       "%s: a table in JSON is a list of objects, or an object a line; pandas writes one with "
                       "df.to_json(FILE, orient=\"records\")",
                       file);
    if (rc == 0)
        add_rows(rows, out);
    cJSON_Delete(all);
    return rc;
}
