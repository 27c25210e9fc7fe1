#include "space/parts.h"

#include <stdlib.h>
#include <string.h>

#include "config/template.h"
#include "util/memory.h"
#include "util/shell_words.h"

static const char *const names[] = {"command", "env", "cwd", "file", "ds_config", "derive", "inert", "note"};

void parts_add_difference(cJSON *list, const char *what, const char *was, const char *now)
{
    cJSON *d = cJSON_CreateObject();
    cJSON_AddStringToObject(d, "what", what);
    cJSON_AddItemToObject(d, "was", was ? cJSON_CreateString(was) : cJSON_CreateNull());
    cJSON_AddItemToObject(d, "now", now ? cJSON_CreateString(now) : cJSON_CreateNull());
    cJSON_AddItemToArray(list, d);
}

void parts_add_words(const cJSON *difference, struct buffer *out)
{
    const char *was = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(difference, "was"));
    const char *now = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(difference, "now"));
    buffer_printf(out, "%s: %s -> %s", cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(difference, "what")),
                  was ? was : "none", now ? now : "none");
}

/* --- texts under [was] --- */

/* The key that a placeholder names, without its section. */
static const char *bare(const char *placeholder)
{
    for (int i = 0; i < SECTION_COUNT; i++) {
        const size_t length = strlen(section_names[i]);
        if (strncmp(placeholder, section_names[i], length) == 0 && placeholder[length] == '.')
            return placeholder + length + 1;
    }
    return placeholder;
}

static const struct was_key *find_was(const struct sweep *s, const char *placeholder)
{
    const char *key = bare(placeholder);
    for (size_t i = 0; i < s->was_count; i++)
        if (strcmp(s->was[i].kind == WAS_RENAMED ? s->was[i].text : s->was[i].name, key) == 0)
            return &s->was[i];
    return NULL;
}

/* Returns whether it gives keys that [was] says were added or dropped, and no other. */
static bool gives_was(const struct sweep *s, const struct template *t)
{
    size_t given = 0;
    for (size_t i = 0; i < t->count; i++) {
        if (!t->parts[i].is_placeholder)
            continue;
        const struct was_key *w = find_was(s, t->parts[i].text);
        if (!w || w->kind == WAS_RENAMED)
            return false;
        given++;
    }
    return given > 0;
}

static void add_renamed(const struct sweep *s, const struct template *t, struct buffer *out)
{
    for (size_t i = 0; i < t->count; i++) {
        const struct was_key *w = t->parts[i].is_placeholder ? find_was(s, t->parts[i].text) : NULL;
        if (w && w->kind == WAS_RENAMED)
            buffer_printf(out, "{%s%s}", w->name, t->parts[i].is_raw ? "!r" : "");
        else
            template_add_part(&t->parts[i], out);
    }
}

/* A text as it was under [was], piece by piece; `last` is where the piece before begins. */
struct normal {
    const struct sweep *sweep;
    struct buffer text;
    size_t last;
};

static void cut(struct normal *n, size_t length)
{
    n->text.length = length;
    if (n->text.data)
        n->text.data[length] = '\0';
}

/* An option whose value is the next piece goes with it. */
static void add_piece(struct normal *n, const char *piece, char before)
{
    struct template t = template_parse_line(piece);
    const char *option = n->text.data && n->last < n->text.length ? n->text.data + n->last + 1 : "";
    if (gives_was(n->sweep, &t)) {
        if (option[0] == '-' && !strpbrk(option, "={"))
            cut(n, n->last);
    } else {
        n->last = n->text.length;
        buffer_add_char(&n->text, before);
        add_renamed(n->sweep, &t, &n->text);
    }
    template_free(&t);
}

static void add_text(struct normal *n, const char *text)
{
    char *copy = xstrdup(text), *rest = copy, before = '\n';
    for (char *piece; (piece = strsep(&rest, " ")); before = ' ')
        add_piece(n, piece, before);
    free(copy);
}

static char *normal_text(const struct sweep *s, const cJSON *part)
{
    struct normal n = {.sweep = s};
    const cJSON *item;
    if (cJSON_IsString(part))
        add_text(&n, part->valuestring);
    cJSON_ArrayForEach(item, part)
    {
        /* A setting, or a word. */
        struct template t = template_parse(item->valuestring);
        if (!item->string || !gives_was(s, &t)) {
            if (item->string)
                buffer_printf(&n.text, "\n%s=", item->string);
            add_text(&n, item->valuestring);
        }
        template_free(&t);
    }
    return buffer_take(&n.text);
}

/* --- texts that are shown --- */

/* Returns the text of a part; for settings only those that differ from the other side's. */
static char *shown(const cJSON *part, const cJSON *other)
{
    struct buffer out = BUFFER_INIT;
    const cJSON *item;
    if (cJSON_IsString(part))
        buffer_add_text(&out, part->valuestring);
    cJSON_ArrayForEach(item, part)
    {
        const char *there =
            item->string ? cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(other, item->string)) : NULL;
        if (there && strcmp(there, item->valuestring) == 0)
            continue;
        if (out.length)
            buffer_add_char(&out, ' ');
        if (item->string)
            buffer_printf(&out, "%s=", item->string);
        shell_add_word(&out, item->valuestring);
    }
    return out.length ? buffer_take(&out) : NULL;
}

cJSON *parts_compare(const struct sweep *s, const cJSON *was, const cJSON *now)
{
    cJSON *list = cJSON_CreateArray();
    for (size_t i = 0; i < LENGTH(names); i++) {
        const cJSON *w = cJSON_GetObjectItemCaseSensitive(was, names[i]);
        const cJSON *n = cJSON_GetObjectItemCaseSensitive(now, names[i]);
        OWNED char *then = normal_text(s, w), *there = normal_text(s, n);
        if (was && strcmp(then, there) != 0) {
            OWNED char *old = shown(w, n), *new = shown(n, w);
            parts_add_difference(list, names[i], old, new);
        }
    }
    if (!was) {
        OWNED char *new = shown(cJSON_GetObjectItemCaseSensitive(now, names[0]), NULL);
        parts_add_difference(list, names[0], "not recorded by the version that ran it", new);
    }
    return list;
}
