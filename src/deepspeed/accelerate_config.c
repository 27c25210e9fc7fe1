#include "deepspeed/accelerate_config.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "files/document.h"
#include "toml/known.h"
#include "util/file.h"
#include "util/memory.h"
#include "util/parse.h"
#include "util/utf8.h"

#define AT(member) offsetof(struct accelerate_config, member)

enum { LARGEST = 1 << 20 };

static const struct setting_place {
    const char *key;
    size_t offset;
    bool is_number;
} places[] = {
    {"distributed_type", AT(distributed_type), false},
    {"num_machines", AT(num_machines), true},
    {"num_processes", AT(num_processes), true},
    {"main_process_port", AT(main_process_port), true},
    {"main_process_ip", AT(main_process_ip), false},
    {"gpu_ids", AT(gpu_ids), false},
    {"deepspeed_config.deepspeed_config_file", AT(ds_config), false},
    {"deepspeed_config.deepspeed_hostfile", AT(hostfile), false},
    {"deepspeed_config.deepspeed_inclusion_filter", AT(include), false},
    {"deepspeed_config.deepspeed_exclusion_filter", AT(exclude), false},
};

#define SECTION "deepspeed_config"
#define ZERO "zero_optimization."

/* Keys used instead of a ds_config, their paths in one, what they are, and their defaults: the table of accelerate in
 * configs/knowledge/words.toml. */
static const struct toml_node *plugin_keys(void)
{
    return known("accelerate", "plugin");
}

struct config_source {
    const char *path;
    struct accelerate_config *out;
};

static void set_string(struct json *config, const char *path, const char *value)
{
    OWNED_BUFFER quoted = BUFFER_INIT;
    buffer_add_json_string(&quoted, value, strlen(value));
    json_text_set(config, path, buffer_text(&quoted));
}

/* utils/dataclasses.py, set_mixed_precision. False: a ds_config has no such precision. */
static bool set_precision(struct json *config, const char *value)
{
    if (strcmp(value, "fp16") == 0) {
        json_text_set(config, "fp16.enabled", "true");
        json_text_set(config, "fp16.auto_cast", "true");
    } else if (strcmp(value, "bf16") == 0) {
        json_text_set(config, "bf16.enabled", "true");
    }
    return strcmp(value, "fp16") == 0 || strcmp(value, "bf16") == 0 || strcmp(value, "no") == 0;
}

/* Accelerate takes a gradient_clipping of 0 as none. */
static bool set_plugin_number(struct json *config, const struct toml_node *k, const char *value)
{
    const bool is_whole = known_says(k, "is", "whole");
    int64_t whole;
    double number;
    if (strcmp(value, "auto") == 0)
        set_string(config, known_text(k, "path"), value);
    else if (is_whole ? !parse_int64(value, &whole) || whole < 0 : !parse_double(value, &number) || number < 0)
        return false;
    else
        json_text_set(config, known_text(k, "path"), is_whole || number > 0 ? value : "null");
    return true;
}

static int take_plugin(const struct config_source *s, const struct toml_node *k, const struct doc_node *n,
                       struct error *e)
{
    struct json *config = &s->out->plugin;
    const char *path = known_text(k, "path"), *dot = strrchr(k->key, '.'), *value = n->text;
    if (!s->out->instead)
        s->out->instead = xstrdup(dot ? dot + 1 : k->key);
    if (known_says(k, "is", "text"))
        set_string(config, path, value);
    else if (known_says(k, "is", "flag"))
        json_text_set(config, path,
                      strcasecmp(value, "true") == 0 || strcasecmp(value, "yes") == 0 || strcasecmp(value, "on") == 0
                          ? "true"
                          : "false");
    else if (path && !set_plugin_number(config, k, value))
        return error_set(e, ERROR_USAGE, "%s:%d: %s must be a %snumber or auto", s->path, n->line, k->key,
                         known_says(k, "is", "whole") ? "whole " : "");
    else if (!path && !set_precision(config, value))
        return error_set(e, ERROR_USAGE,
                         "%s:%d: mixed_precision %s cannot be combined with tuning a ds_config; use no, fp16 or bf16",
                         s->path, n->line, value);
    return 0;
}

/* `key` with its section before a dot. A list, or what is given as nothing, says nothing. */
static int take_setting(const struct config_source *s, const char *key, const struct doc_node *n, struct error *e)
{
    if (n->kind == DOC_NULL || !n->text || !*n->text)
        return 0;
    const struct toml_node *k = toml_child(plugin_keys(), key);
    if (k)
        return take_plugin(s, k, n, e);
    for (size_t i = 0; i < LENGTH(places); i++) {
        void *member = (char *)s->out + places[i].offset;
        int64_t number;
        if (strcmp(places[i].key, key) != 0)
            continue;
        if (!places[i].is_number)
            text_replace(member, xstrdup(n->text));
        else if (parse_int64(n->text, &number) && number >= -1 && number <= INT_MAX)
            *(long long *)member = number > 0 ? number : 0;
        else
            return error_set(e, ERROR_USAGE, "%s:%d: %s must be a whole number", s->path, n->line, key);
    }
    return 0;
}

/* Deeper levels hold nothing that is needed here. */
static int take_node(const struct config_source *s, const char *section, const struct doc_node *n, struct error *e)
{
    OWNED char *key = *section ? xasprintf("%s.%s", section, n->key) : xstrdup(n->key);
    int rc = take_setting(s, key, n, e);
    for (size_t i = 0; rc == 0 && n->kind == DOC_TABLE && !*section && i < n->count; i++)
        rc = take_node(s, key, &n->children[i], e);
    return rc;
}

/* --- what is left to Accelerate --- */

/* Returns whether the node is a key that the ds_config covers, of the section or, where that is NULL, of the file. */
static bool is_covered(const struct doc_node *section, const struct doc_node *n)
{
    OWNED char *key = section ? xasprintf("%s.%s", section->key, n->key) : xstrdup(n->key);
    return toml_child(plugin_keys(), key);
}

static bool has_covered(const struct doc_node *section, const struct doc_node *in, int line)
{
    return ANY(i, in->count, in->children[i].line == line && is_covered(section, &in->children[i]));
}

/* deepspeed_config as "{KEY: VALUE, …}" on the line of its key gets a line for each key. */
static void add_flow(const struct doc *d, const struct doc_node *section, struct buffer *out)
{
    buffer_add_text(out, SECTION ":\n");
    for (const struct doc_node *n = section->children; n < section->children + section->count; n++)
        if (!is_covered(section, n))
            buffer_printf(out, "  %.*s\n", (int)(n->end - n->key_start), d->text + n->key_start);
}

static int add_yaml(const struct config_source *s, const struct doc *d, struct error *e)
{
    static const struct doc_node none = {0};
    const struct doc_node *found = document_find(d, SECTION), *section = found ? found : &none;
    const bool is_flow = section->is_flow && section->count > 0;
    int line = 1;
    if (is_flow && memchr(d->text + section->start, '\n', section->end - section->start))
        return error_set(e, ERROR_USAGE, "%s:%d: write " SECTION " with a line for each key", s->path, section->line);
    for (const char *text = d->text, *end; *text; text = *end ? end + 1 : end, line++) {
        end = text + strcspn(text, "\n");
        if (is_flow && line == section->line)
            add_flow(d, section, &s->out->launch);
        else if (!has_covered(NULL, &d->root, line) && !has_covered(section, section, line))
            buffer_printf(&s->out->launch, "%.*s\n", (int)(end - text), text);
    }
    return 0;
}

/* JSON is valid YAML. */
static int add_json(const struct config_source *s, const struct doc *d, struct error *e)
{
    OWNED_BY(json_text_free) struct json root = {0};
    if (json_text_parse(s->path, d->text, &root, e) < 0)
        return -1;
    for (size_t i = 0; i < plugin_keys()->child_count; i++)
        json_text_remove(&root, plugin_keys()->children[i].key);
    json_text_add(&root, 2, &s->out->launch);
    buffer_add_char(&s->out->launch, '\n');
    return 0;
}

/* --- the whole --- */

static int check_whole(const char *path, struct accelerate_config *a, struct error *e)
{
    if (a->gpu_ids && strcmp(a->gpu_ids, "all") == 0) {
        free(a->gpu_ids);
        a->gpu_ids = NULL;
    }
    const char *other = a->distributed_type ? known_text(known("accelerate", "others"), a->distributed_type) : NULL;
    if (other)
        return error_set(e, ERROR_USAGE, "%s: distributed_type %s uses no ds_config%s", path, a->distributed_type,
                         other);
    if (a->num_machines > 0 && a->num_processes % a->num_machines != 0)
        return error_set(e, ERROR_USAGE, "%s: %lld processes cannot be divided evenly among %lld machines", path,
                         a->num_processes, a->num_machines);
    return 0;
}

int accelerate_config_read(const char *path, struct accelerate_config *out, struct error *e)
{
    OWNED_BUFFER text = BUFFER_INIT;
    struct doc d = {0};
    const struct config_source s = {path, out};
    const bool is_json = file_format_of(path) == FORMAT_JSON;
    *out = (struct accelerate_config){.plugin = {.kind = JSON_OBJECT}, .launch = BUFFER_INIT};
    int rc = file_read(path, LARGEST, &text, e);
    const size_t mark = utf8_mark_length(buffer_text(&text), text.length);
    if (rc < 0)
        e->kind = ERROR_USAGE;
    else
        rc = document_parse(path, buffer_text(&text) + mark, text.length - mark, is_json ? FORMAT_JSON : FORMAT_YAML,
                            &d, e);
    if (rc == 0 && d.root.kind != DOC_TABLE && d.root.kind != DOC_NULL)
        rc = error_set(e, ERROR_USAGE, "%s:%d: expected \"KEY: VALUE\"", path, d.root.line);
    for (size_t i = 0; rc == 0 && i < d.root.count; i++)
        rc = take_node(&s, "", &d.root.children[i], e);
    if (rc == 0)
        rc = is_json ? add_json(&s, &d, e) : add_yaml(&s, &d, e);
    document_free(&d);
    return rc < 0 ? rc : check_whole(path, out, e);
}

bool accelerate_config_is_plugin(const struct accelerate_config *a)
{
    return !a->ds_config && a->distributed_type && strcmp(a->distributed_type, "DEEPSPEED") == 0;
}

/* Accelerate keeps a path only if it is used: utils/dataclasses.py, __post_init__. */
static void drop_unused_path(struct json *config, const char *device_path, const char *nvme_path)
{
    const struct json *device = json_text_find(config, device_path);
    if (!device || !json_text_is(device, "nvme"))
        json_text_remove(config, nvme_path);
}

static void add_plugin(const struct accelerate_config *a, struct buffer *out)
{
    OWNED_BY(json_text_free) struct json config = {.kind = JSON_OBJECT};
    json_text_set(&config, "train_batch_size", "\"auto\"");
    json_text_set(&config, "train_micro_batch_size_per_gpu", "\"auto\"");
    for (const struct toml_node *k = plugin_keys()->children; k < plugin_keys()->children + plugin_keys()->child_count;
         k++)
        if (toml_child(k, "default"))
            json_text_set(&config, known_text(k, "path"), known_text(k, "default"));
    for (size_t i = 0; i < a->plugin.count; i++)
        json_text_merge(&config, a->plugin.children[i].name, &a->plugin.children[i]);
    const struct json *clipping = json_text_find(&config, "gradient_clipping");
    if (clipping && json_text_is_null(clipping))
        json_text_remove(&config, "gradient_clipping");
    drop_unused_path(&config, ZERO "offload_optimizer.device", ZERO "offload_optimizer.nvme_path");
    drop_unused_path(&config, ZERO "offload_param.device", ZERO "offload_param.nvme_path");
    json_text_add(&config, 2, out);
    buffer_add_char(out, '\n');
}

int accelerate_config_write_plugin(const struct accelerate_config *a, const char *directory, char **ds_config,
                                   char **launch, struct error *e)
{
    OWNED_BUFFER text = BUFFER_INIT;
    OWNED char *absolute = path_absolute(directory);
    *ds_config = xasprintf("%s/ds_config.json", directory);
    *launch = xasprintf("%s/accelerate.yaml", absolute);
    add_plugin(a, &text);
    int rc = file_make_directories(directory, e);
    rc = rc < 0 ? rc : file_write_atomic(*ds_config, text.data, text.length, e);
    return rc < 0 ? rc : file_write_atomic(*launch, a->launch.data, a->launch.length, e);
}

void accelerate_config_free(struct accelerate_config *a)
{
    json_text_free(&a->plugin);
    buffer_free(&a->launch);
    free_all(a->distributed_type, a->main_process_ip, a->gpu_ids, a->ds_config, a->hostfile, a->include, a->exclude,
             a->instead);
    *a = (struct accelerate_config){0};
}
