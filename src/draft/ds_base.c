#include "draft/ds_base.h"

#include <stdlib.h>
#include <string.h>

#include "deepspeed/ds_config.h"
#include "deepspeed/json_text.h"
#include "sweep_file/reader.h"
#include "util/file.h"
#include "util/memory.h"

enum { CONFIG_BYTES_MOST = 1 << 20 };

struct ds_base {
    struct json root;
    struct sweep *profile; /* a sweep that has nothing but the profile's synonyms */
};

static const struct command_setting *find_setting(const struct job_command *c)
{
    static const char *const names[] = {"deepspeed_config", "deepspeed"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const struct command_setting *s = job_command_find(c, names[i], false);
        if (s && !s->is_switch)
            return s;
    }
    return NULL;
}

static const char *path_of(const struct job_command *c, const struct command_setting *s)
{
    return c->words.items[s->word] + s->start;
}

struct ds_base *ds_base_open(const struct job_command *c)
{
    static const char text[] = "profile = \"deepspeed\"\n[job]\ncommand = [\"true\"]\n[training_spec]\nx = 1\n";
    const struct command_setting *s = find_setting(c);
    char *json = s ? file_text(path_of(c, s), CONFIG_BYTES_MOST) : NULL;
    struct error e = ERROR_INIT;
    struct ds_base b = {0}, *made = NULL;
    if (json && json_text_parse(path_of(c, s), json, &b.root, &e) == 0 && b.root.kind == JSON_OBJECT &&
        sweep_parse("sweep.toml", text, strlen(text), &b.profile, &e) == 0) {
        made = xcalloc(1, sizeof *made);
        *made = b;
    } else {
        json_text_free(&b.root);
    }
    free(json);
    return made;
}

void ds_base_free(struct ds_base *b)
{
    if (!b)
        return;
    json_text_free(&b->root);
    sweep_free(b->profile);
    free(b);
}

bool ds_base_has(const struct ds_base *b, const char *key)
{
    const char *place = b ? ds_config_place(b->profile, key) : NULL;
    const struct json *now = place ? json_text_find(&b->root, place) : NULL;
    bool is_scripts = now && now->kind == JSON_SCALAR && strcmp(now->text, "\"auto\"") == 0 &&
                      strncmp(place, "zero_optimization.", strlen("zero_optimization.")) != 0;
    return place && !is_scripts;
}

char *ds_base_place(struct job_command *c)
{
    const struct command_setting *s = find_setting(c);
    char *path = xstrdup(path_of(c, s));
    job_command_replace(c, s, "{ds_config}");
    return path;
}
