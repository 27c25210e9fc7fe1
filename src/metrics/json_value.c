#include "metrics/json_value.h"

#include <limits.h>
#include <math.h>
#include <stdint.h>
#include <string.h>

#include "util/buffer.h"
#include "util/memory.h"
#include "util/parse.h"

/* Python's json writes NaN and infinities bare, which is no JSON: quoted where they stand as values. */
static char *quote_constants(const char *line)
{
    static const char *const constants[] = {"NaN", "Infinity", "-Infinity"};
    struct buffer b = BUFFER_INIT;
    bool in_string = false;
    for (const char *p = line; *p;) {
        size_t n = 0;
        for (size_t i = 0; !in_string && i < 3 && n == 0; i++)
            if (strncmp(p, constants[i], strlen(constants[i])) == 0)
                n = strlen(constants[i]);
        if (n > 0) {
            buffer_printf(&b, "\"%.*s\"", (int)n, p);
            p += n;
            continue;
        }
        if (in_string && p[0] == '\\' && p[1])
            buffer_add_char(&b, *p++);
        else if (*p == '"')
            in_string = !in_string;
        buffer_add_char(&b, *p++);
    }
    return buffer_take(&b);
}

cJSON *json_parse(const char *text)
{
    if (json_has_nul(text))
        return NULL;
    cJSON *parsed = cJSON_ParseWithOpts(text, NULL, true);
    if (parsed || !(strstr(text, "NaN") || strstr(text, "Infinity")))
        return parsed;
    OWNED char *quoted = quote_constants(text);
    parsed = cJSON_ParseWithOpts(quoted, NULL, true);
    return parsed;
}

bool json_number(const cJSON *item, double *out)
{
    static const struct {
        const char *text;
        double value;
    } words[] = {{"NaN", NAN}, {"Infinity", INFINITY}, {"-Infinity", -INFINITY}};
    if (cJSON_IsNumber(item)) {
        *out = item->valuedouble;
        return true;
    }
    for (size_t i = 0; cJSON_IsString(item) && i < 3; i++) {
        if (strcmp(item->valuestring, words[i].text) == 0) {
            *out = words[i].value;
            return true;
        }
    }
    return false;
}

static const cJSON *element_at(const cJSON *array, const char *index)
{
    int64_t i;
    return parse_int64(index, &i) && i >= 0 && i < INT_MAX ? cJSON_GetArrayItem(array, (int)i) : NULL;
}

const cJSON *json_at(const cJSON *item, const char *path)
{
    while (item && *path) {
        const cJSON *whole = cJSON_IsObject(item) ? cJSON_GetObjectItemCaseSensitive(item, path) : NULL;
        if (whole)
            return whole;
        size_t n = strcspn(path, ".");
        OWNED char *name = xstrndup(path, n);
        item = cJSON_IsArray(item) ? element_at(item, name) : cJSON_GetObjectItemCaseSensitive(item, name);
        path += n + (path[n] == '.');
    }
    return item;
}
