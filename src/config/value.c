#include "config/value.h"

#include <cjson/cJSON.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "util/memory.h"

void value_free(struct value *v)
{
    free(v->text);
    *v = (struct value){0};
}

struct value value_copy(const struct value *v)
{
    struct value copy = *v;
    if (v->text)
        copy.text = xstrdup(v->text);
    return copy;
}

/* As numbers, but NaN equals itself: equality here means "the same spec". */
static bool same_real(double a, double b)
{
    return a == b || (isnan(a) && isnan(b));
}

bool value_equal(const struct value *a, const struct value *b)
{
    if (a->kind != b->kind)
        return false;
    switch (a->kind) {
    case VALUE_NULL:
        return true;
    case VALUE_BOOL:
    case VALUE_INT:
        return a->integer == b->integer;
    case VALUE_FLOAT:
        return same_real(a->real, b->real);
    case VALUE_STRING:
    case VALUE_JSON:
        return strcmp(a->text, b->text) == 0;
    }
    return false;
}

static void add_json_real(double real, struct buffer *out)
{
    const char *quote = isfinite(real) ? "" : "\"";
    buffer_add_text(out, quote);
    buffer_add_double(out, real);
    buffer_add_text(out, quote);
}

void value_add_json(const struct value *v, struct buffer *out)
{
    switch (v->kind) {
    case VALUE_NULL:
        buffer_add_text(out, "null");
        break;
    case VALUE_FLOAT:
        add_json_real(v->real, out);
        break;
    case VALUE_STRING:
        buffer_add_json_string(out, v->text, strlen(v->text));
        break;
    case VALUE_BOOL:
    case VALUE_INT:
    case VALUE_JSON:
        value_add_text(v, out);
        break;
    }
}

void value_add_text(const struct value *v, struct buffer *out)
{
    switch (v->kind) {
    case VALUE_NULL:
        break;
    case VALUE_BOOL:
        buffer_add_text(out, v->integer ? "true" : "false");
        break;
    case VALUE_INT:
        buffer_add_int(out, v->integer);
        break;
    case VALUE_FLOAT:
        buffer_add_double(out, v->real);
        break;
    case VALUE_STRING:
    case VALUE_JSON:
        buffer_add_text(out, v->text);
        break;
    }
}

/* Behind the JSON value that begins at `text`. */
static const char *end_of_json(const char *text)
{
    bool quoted = false;
    for (size_t depth = 0; *text; text++) {
        if (*text == '"')
            quoted = !quoted;
        else if (quoted)
            text += *text == '\\' && text[1];
        else if (depth == 0 && strchr(",]", *text))
            break;
        else if (strchr("[{", *text))
            depth++;
        else if (strchr("]}", *text))
            depth--;
    }
    return text;
}

bool value_next_element(const char **json, struct value *out)
{
    const char *begin = *json, *end = end_of_json(begin);
    if (end == begin)
        return false;
    cJSON *string = *begin == '"' ? cJSON_ParseWithLength(begin, (size_t)(end - begin)) : NULL;
    *out = string && cJSON_IsString(string)
               ? (struct value){.kind = VALUE_STRING, .text = xstrdup(string->valuestring)}
               : (struct value){.kind = VALUE_JSON, .text = xstrndup(begin, (size_t)(end - begin))};
    cJSON_Delete(string);
    *json = end + (*end == ',');
    return true;
}
