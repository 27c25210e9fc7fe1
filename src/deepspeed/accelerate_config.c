#include "deepspeed/accelerate_config.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "files/json_text.h"
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
    int line;
    struct accelerate_config *out;
};

static void set_text(char **text, const char *value)
{
    free(*text);
    *text = xstrdup(value);
}

static const struct toml_node *plugin_key(const char *key)
{
    return toml_child(plugin_keys(), key);
}

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

static int take_plugin(const struct config_source *s, const struct toml_node *k, const char *value, struct error *e)
{
    struct json *config = &s->out->plugin;
    const char *path = known_text(k, "path"), *dot = strrchr(k->key, '.');
    if (!s->out->instead)
        set_text(&s->out->instead, dot ? dot + 1 : k->key);
    if (known_says(k, "is", "text"))
        set_string(config, path, value);
    else if (known_says(k, "is", "flag"))
        json_text_set(config, path,
                      strcasecmp(value, "true") == 0 || strcasecmp(value, "yes") == 0 || strcasecmp(value, "on") == 0
                          ? "true"
                          : "false");
    else if (path && !set_plugin_number(config, k, value))
        return error_set(e, ERROR_USAGE, "%s:%d: %s must be a %snumber or auto", s->path, s->line, k->key,
                         known_says(k, "is", "whole") ? "whole " : "");
    else if (!path && !set_precision(config, value))
        return error_set(e, ERROR_USAGE,
                         "%s:%d: mixed_precision %s cannot be combined with tuning a ds_config; use no, fp16 or bf16",
                         s->path, s->line, value);
    return 0;
}

/* `key` with its section before a dot; `value` without quotes. */
static int take_setting(const struct config_source *s, const char *key, const char *value, struct error *e)
{
    if (!*value || strcmp(value, "null") == 0 || strcmp(value, "~") == 0 || strcmp(value, "Null") == 0)
        return 0;
    const struct toml_node *k = plugin_key(key);
    if (k)
        return take_plugin(s, k, value, e);
    for (size_t i = 0; i < LENGTH(places); i++) {
        void *member = (char *)s->out + places[i].offset;
        int64_t number;
        if (strcmp(places[i].key, key) != 0)
            continue;
        if (!places[i].is_number)
            set_text(member, value);
        else if (parse_int64(value, &number) && number >= -1 && number <= INT_MAX)
            *(long long *)member = number > 0 ? number : 0;
        else
            return error_set(e, ERROR_USAGE, "%s:%d: %s must be a whole number", s->path, s->line, key);
    }
    return 0;
}

/* --- YAML --- */

/* Cuts trailing blanks off a line, and a comment if it follows a blank or begins the line. */
static void cut_end(char *line)
{
    char quote = '\0';
    size_t end = strlen(line);
    for (size_t i = 0; line[i] && end == strlen(line); i++) {
        if (quote)
            quote = line[i] == quote ? '\0' : quote;
        else if ((line[i] == '"' || line[i] == '\'') && (i == 0 || line[i - 1] == ' '))
            quote = line[i];
        else if (line[i] == '#' && (i == 0 || line[i - 1] == ' '))
            end = i;
    }
    while (end > 0 && strchr(" \t\r", line[end - 1]))
        end--;
    line[end] = '\0';
}

/* The text after the colon, without its quotes. */
static char *plain_value(char *text)
{
    text += strspn(text, " ");
    size_t n = strlen(text);
    if (n >= 2 && (text[0] == '"' || text[0] == '\'') && text[n - 1] == text[0]) {
        text[n - 1] = '\0';
        return text + 1;
    }
    return strcmp(text, "{}") == 0 || strcmp(text, "[]") == 0 ? text + 2 : text;
}

static int read_line(struct config_source *s, char *line, char **section, struct error *e);

/* deepspeed_config as "{KEY: VALUE, …}" on the line of its key. */
static int read_flow(struct config_source *s, char *text, struct error *e)
{
    char *rest = NULL;
    const size_t n = strlen(text);
    int rc = 0;
    if (text[n - 1] != '}')
        return error_set(e, ERROR_USAGE, "%s:%d: write " SECTION " with a line for each key", s->path, s->line);
    text[n - 1] = '\0';
    buffer_add_text(&s->out->launch, SECTION ":\n");
    for (char *item = strtok_r(text + 1, ",", &rest); rc == 0 && item; item = strtok_r(NULL, ",", &rest)) {
        OWNED char *line = xasprintf("  %s", item + strspn(item, " ")), *section = xstrdup(SECTION);
        rc = read_line(s, line, &section, e);
    }
    return rc;
}

/* Reads a line "key: value" at the top level or in `*section`, which the caller frees. List items and deeper levels
 * hold nothing that is needed here. */
static int read_line(struct config_source *s, char *line, char **section, struct error *e)
{
    OWNED char *whole = xstrdup(line), *name = NULL;
    int rc = 0;
    size_t indent = strspn(line, " ");
    cut_end(line);
    char *key = line + indent, *colon = strchr(key, ':'), *value = NULL;
    const bool says_nothing = !*key || strcmp(key, "---") == 0 || strcmp(key, "...") == 0 || key[0] == '-';
    if (!says_nothing && (!colon || (colon[1] && colon[1] != ' ') || strchr("{[&*|>\t\"'", key[0]))) {
        rc = error_set(e, ERROR_USAGE, "%s:%d: expected \"KEY: VALUE\"", s->path, s->line);
    } else if (!says_nothing) {
        *colon = '\0';
        value = plain_value(colon + 1);
        if (indent == 0)
            set_text(section, key);
        name = indent ? xasprintf("%s.%s", *section ? *section : "", key) : xstrdup(key);
    }
    if (name && value[0] == '{' && strcmp(name, SECTION) == 0) {
        rc = read_flow(s, value, e);
    } else if (rc == 0) {
        rc = name ? take_setting(s, name, value, e) : 0;
        if (!name || !plugin_key(name))
            buffer_printf(&s->out->launch, "%s\n", whole);
    }
    return rc;
}

static int read_yaml(struct config_source *s, const char *text, struct error *e)
{
    OWNED char *section = NULL;
    int rc = 0;
    for (s->line = 1; rc == 0 && *text; s->line++) {
        size_t n = strcspn(text, "\n");
        OWNED char *line = xstrndup(text, n);
        rc = read_line(s, line, &section, e);
        text += n + (text[n] == '\n');
    }
    return rc;
}

/* --- JSON --- */

static int take_member(struct config_source *s, const char *section, const struct json *m, struct error *e)
{
    OWNED char *key = *section ? xasprintf("%s.%s", section, m->name) : xstrdup(m->name);
    int rc = 0;
    s->line = m->line;
    for (size_t i = 0; rc == 0 && m->kind == JSON_OBJECT && !*section && i < m->count; i++)
        rc = take_member(s, key, &m->children[i], e);
    if (m->kind == JSON_SCALAR) {
        OWNED char *value = json_text_plain(m);
        rc = take_setting(s, key, value, e);
    }
    return rc;
}

static int read_json(struct config_source *s, const char *text, struct error *e)
{
    struct json root = {0};
    int rc = json_text_parse(s->path, text, &root, e);
    for (size_t i = 0; rc == 0 && root.kind == JSON_OBJECT && i < root.count; i++)
        rc = take_member(s, "", &root.children[i], e);
    for (size_t i = 0; i < plugin_keys()->child_count; i++)
        json_text_remove(&root, plugin_keys()->children[i].key);
    /* JSON is valid YAML. */
    json_text_add(&root, 2, &s->out->launch);
    buffer_add_char(&s->out->launch, '\n');
    json_text_free(&root);
    return rc;
}

/* --- both --- */

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
    struct config_source s = {path, 0, out};
    const size_t n = strlen(path);
    *out = (struct accelerate_config){.plugin = {.kind = JSON_OBJECT}, .launch = BUFFER_INIT};
    int rc = file_read(path, LARGEST, &text, e);
    const char *start = buffer_text(&text) + utf8_mark_length(buffer_text(&text), text.length);
    if (rc < 0)
        e->kind = ERROR_USAGE;
    else
        rc = n > 5 && strcmp(path + n - 5, ".json") == 0 ? read_json(&s, start, e) : read_yaml(&s, start, e);
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
    struct json config = {.kind = JSON_OBJECT};
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
    json_text_free(&config);
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
    free(a->distributed_type);
    free(a->main_process_ip);
    free(a->gpu_ids);
    free(a->ds_config);
    free(a->hostfile);
    free(a->include);
    free(a->exclude);
    free(a->instead);
    *a = (struct accelerate_config){0};
}
