/* Makes the changes that lines of JSON on standard input ask for, for tests/cli/random_files.py:
 *   {"format": "yaml", "text": "…", "changes": [{"kind": "set", "path": "a.b", "type": "int", "value": "5"}, …]}
 * and prints of each a line {"text": "…", "leaves": {path: kind}} or {"error": "…"}. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cjson/cJSON.h>

#include "files/document.h"
#include "util/memory.h"

static const char *text_of(const cJSON *object, const char *name)
{
    const char *text = cJSON_GetStringValue(cJSON_GetObjectItem(object, name));
    return text ? text : "";
}

static struct value value_of(const cJSON *change)
{
    const char *type = text_of(change, "type"), *text = text_of(change, "value");
    switch (type[0]) {
    case 'b':
        return (struct value){.kind = VALUE_BOOL, .integer = strcmp(text, "true") == 0};
    case 'i':
        return (struct value){.kind = VALUE_INT, .integer = strtoll(text, NULL, 10)};
    case 'f':
        return (struct value){.kind = VALUE_FLOAT, .real = strtod(text, NULL)};
    case 't':
        return (struct value){.kind = VALUE_STRING, .text = (char *)text};
    case 'j':
        return (struct value){.kind = VALUE_JSON, .text = (char *)text};
    default:
        return (struct value){.kind = VALUE_NULL};
    }
}

static void note_leaf(void *context, const char *path, const struct doc_node *leaf)
{
    cJSON_AddStringToObject(context, path, doc_kind_names[leaf->kind]);
}

static int change(const cJSON *asked, cJSON *answer, struct error *e)
{
    const cJSON *list = cJSON_GetObjectItem(asked, "changes"), *item;
    const char *text = text_of(asked, "text");
    char *name = xasprintf("base.%s", text_of(asked, "format"));
    struct doc_change *changes = xcalloc((size_t)cJSON_GetArraySize(list) + 1, sizeof *changes);
    struct doc d = {0};
    struct buffer out = BUFFER_INIT;
    size_t count = 0;
    cJSON_ArrayForEach(item, list)
    {
        const char kind = text_of(item, "kind")[0];
        changes[count++] = (struct doc_change){kind == 's'   ? DOC_SET
                                               : kind == 'a' ? DOC_ADD
                                                             : DOC_UNSET,
                                               text_of(item, "path"), value_of(item)};
    }
    int rc = document_parse(name, text, strlen(text), file_format_of(name), &d, e);
    if (rc == 0)
        rc = document_change(&d, changes, count, &out, e);
    if (rc == 0) {
        cJSON_AddStringToObject(answer, "text", buffer_text(&out));
        document_leaves(&d, note_leaf, cJSON_AddObjectToObject(answer, "leaves"));
    }
    document_free(&d);
    buffer_free(&out);
    free_all(changes, name);
    return rc;
}

int main(void)
{
    char *line = NULL;
    size_t room = 0;
    while (getline(&line, &room, stdin) > 0) {
        struct error e = ERROR_INIT;
        cJSON *asked = cJSON_Parse(line), *answer = cJSON_CreateObject();
        if (change(asked, answer, &e) < 0)
            cJSON_AddStringToObject(answer, "error", e.text);
        char *text = cJSON_PrintUnformatted(answer);
        puts(text);
        free(text);
        cJSON_Delete(asked);
        cJSON_Delete(answer);
    }
    free(line);
    return 0;
}
