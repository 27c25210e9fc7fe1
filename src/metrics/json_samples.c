#include "metrics/json_samples.h"

#include <stdlib.h>
#include <string.h>

#include "metrics/json_value.h"
#include "util/memory.h"

int64_t json_step(const cJSON *object)
{
    const cJSON *step = cJSON_GetObjectItemCaseSensitive(object, "step");
    /* The largest double below 2^63 is far beyond any step, and the conversion of a larger one is undefined. */
    return cJSON_IsNumber(step) && step->valuedouble >= 0 && step->valuedouble < 9e18 ? (int64_t)step->valuedouble : -1;
}

/* Every number at the path: one, or each of an array's. */
static void add_at_path(struct collector *c, const struct metric_reader *r, const cJSON *root, const char *path,
                        int64_t step)
{
    const cJSON *found = json_at(root, path), *item;
    double value;
    if (json_number(found, &value)) {
        collector_add_read(c, r, step, value);
        return;
    }
    if (cJSON_IsArray(found))
        cJSON_ArrayForEach(item, found) if (json_number(item, &value)) collector_add_read(c, r, -1, value);
}

void json_samples_add(struct collector *c, const struct metric_reader *r, const cJSON *root, int64_t step)
{
    const char *path = r->source->path, *star = strstr(path, ".*.");
    if (!star) {
        add_at_path(c, r, root, path, step);
        return;
    }
    char *head = xstrndup(path, (size_t)(star - path));
    const cJSON *list = json_at(root, head), *item;
    free(head);
    if (cJSON_IsArray(list))
        cJSON_ArrayForEach(item, list) add_at_path(c, r, item, star + 3, json_step(item));
}

cJSON *json_object(const char *line, size_t *malformed)
{
    if (line[strspn(line, " \t")] == '\0')
        return NULL;
    cJSON *object = json_parse(line);
    if (cJSON_IsObject(object))
        return object;
    cJSON_Delete(object);
    (*malformed)++;
    return NULL;
}
