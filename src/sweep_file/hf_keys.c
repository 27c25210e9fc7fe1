#include "sweep_file/hf_keys.h"

#include <stdlib.h>
#include <string.h>

#include "huggingface/hf_config.h"
#include "util/buffer.h"
#include "util/file.h"
#include "util/memory.h"

#define FILE_MOST_BYTES ((size_t)16 << 20)

static bool has_key(const struct block *block, const char *name)
{
    for (size_t a = 0; a < block->axis_count; a++)
        for (size_t k = 0; k < block->axes[a].key_count; k++)
            if (strcmp(block->axes[a].keys[k], name) == 0)
                return true;
    return false;
}

/* By its own name or another that the profile has for it. */
static bool has_meaning(const struct sweep *s, const struct block *block, const char *name)
{
    bool found = has_key(block, name);
    for (size_t i = 0; i < s->synonym_count && !found; i++)
        for (char **other = s->synonyms[i].keys; strcmp(s->synonyms[i].name, name) == 0 && *other && !found; other++)
            found = has_key(block, *other);
    return found;
}

/* A sweep whose file has changed is another sweep. */
static void keep_text(struct sweep *s, const struct buffer *text)
{
    text_replace(&s->profile_text, xasprintf("%s%s", s->profile_text, buffer_text(text)));
}

void hf_keys_add(const struct reading *r, const struct toml_node *node, struct block *block)
{
    struct buffer text = BUFFER_INIT;
    struct hf_keys keys = HF_KEYS_INIT;
    struct error e = ERROR_INIT;
    char *path = path_beside(r->file, node->text);
    if (file_read(path, FILE_MOST_BYTES, &text, &e) < 0 ||
        hf_config_read(node->text, buffer_text(&text), &r->gathered->types, model_types_carried(), &keys, &e) < 0)
        problem_at_value(r, node, "%s", e.text);
    else
        keep_text(r->sweep, &text);
    for (size_t i = 0; i < keys.count; i++)
        if (!has_meaning(r->sweep, block, keys.items[i].name))
            block_add_key(block, keys.items[i].name, &keys.items[i].value, reading_at_value(r, node))->is_from_file =
                true;
    hf_keys_free(&keys);
    buffer_free(&text);
    free(path);
}
