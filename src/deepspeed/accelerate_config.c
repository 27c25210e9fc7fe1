#include "deepspeed/accelerate_config.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "deepspeed/json_text.h"
#include "util/file.h"
#include "util/memory.h"
#include "util/parse.h"

#define LENGTH(array) (sizeof(array) / sizeof *(array))
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

/* Of deepspeed_config: Accelerate makes a ds_config of them, and refuses them beside one. */
static const char *const instead_of_file[] =
    {"zero_stage",           "gradient_accumulation_steps", "gradient_clipping",       "offload_optimizer_device",
     "offload_param_device", "offload_optimizer_nvme_path", "offload_param_nvme_path", "zero3_save_16bit_model"};

/* Training that no ds_config is for. */
static const struct {
    const char *type, *hint;
} others[] = {
    {"FSDP", "; `meshsweep run` tunes it: profiles fsdp and fsdp2"},
    {"MEGATRON_LM", "; `meshsweep run` tunes it: profile megatron"},
    {"XLA", ""},
    {"TP", ""},
};

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

/* `key` with its section before a dot; `value` without quotes. */
static int take(const struct config_source *s, const char *key, const char *value, struct error *e)
{
    static const char section[] = "deepspeed_config.";
    if (!*value || strcmp(value, "null") == 0 || strcmp(value, "~") == 0 || strcmp(value, "Null") == 0)
        return 0;
    for (size_t i = 0; i < LENGTH(instead_of_file); i++)
        if (strncmp(key, section, strlen(section)) == 0 && strcmp(key + strlen(section), instead_of_file[i]) == 0 &&
            !s->out->instead)
            set_text(&s->out->instead, instead_of_file[i]);
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

/* Cuts blanks and, where it stands after a blank or at the beginning, a comment off the end of a line. */
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

/* What stands after the colon, without its quotes. */
static const char *plain_value(char *text)
{
    text += strspn(text, " ");
    size_t n = strlen(text);
    if (n >= 2 && (text[0] == '"' || text[0] == '\'') && text[n - 1] == text[0]) {
        text[n - 1] = '\0';
        return text + 1;
    }
    return strcmp(text, "{}") == 0 || strcmp(text, "[]") == 0 ? "" : text;
}

/* A line "key: value" of the top or of the section that `*section` names (the caller's); items of lists, and what is
 * deeper, say nothing that is asked here. */
static int read_line(struct config_source *s, char *line, char **section, struct error *e)
{
    size_t indent = strspn(line, " ");
    cut_end(line);
    char *key = line + indent, *colon = strchr(key, ':');
    if (!*key || strcmp(key, "---") == 0 || strcmp(key, "...") == 0 || key[0] == '-')
        return 0;
    if (!colon || (colon[1] && colon[1] != ' ') || strchr("{[&*|>\t\"'", key[0]))
        return error_set(e, ERROR_USAGE, "%s:%d: \"KEY: VALUE\" should stand here", s->path, s->line);
    *colon = '\0';
    const char *value = plain_value(colon + 1);
    if (value[0] == '{' && strcmp(key, "deepspeed_config") == 0)
        return error_set(e, ERROR_USAGE, "%s:%d: write deepspeed_config with a line for each key", s->path, s->line);
    if (indent == 0)
        set_text(section, key);
    char *name = indent ? xasprintf("%s.%s", *section ? *section : "", key) : xstrdup(key);
    int rc = take(s, name, value, e);
    free(name);
    return rc;
}

static int read_yaml(struct config_source *s, const char *text, struct error *e)
{
    char *section = NULL;
    int rc = 0;
    for (s->line = 1; rc == 0 && *text; s->line++) {
        size_t n = strcspn(text, "\n");
        char *line = xstrndup(text, n);
        rc = read_line(s, line, &section, e);
        free(line);
        text += n + (text[n] == '\n');
    }
    free(section);
    return rc;
}

/* --- JSON --- */

static int take_member(struct config_source *s, const char *section, const struct json *m, struct error *e)
{
    char *key = *section ? xasprintf("%s.%s", section, m->name) : xstrdup(m->name);
    int rc = 0;
    s->line = m->line;
    for (size_t i = 0; rc == 0 && m->kind == JSON_OBJECT && !*section && i < m->count; i++)
        rc = take_member(s, key, &m->children[i], e);
    if (m->kind == JSON_SCALAR) {
        size_t n = strlen(m->text);
        char *value = m->text[0] == '"' ? xstrndup(m->text + 1, n - 2) : xstrdup(m->text);
        rc = take(s, key, value, e);
        free(value);
    }
    free(key);
    return rc;
}

static int read_json(struct config_source *s, const char *text, struct error *e)
{
    struct json root = {0};
    int rc = json_text_parse(s->path, text, &root, e);
    for (size_t i = 0; rc == 0 && root.kind == JSON_OBJECT && i < root.count; i++)
        rc = take_member(s, "", &root.children[i], e);
    json_text_free(&root);
    return rc;
}

/* --- both --- */

static int check(const char *path, struct accelerate_config *a, struct error *e)
{
    if (a->gpu_ids && strcmp(a->gpu_ids, "all") == 0) {
        free(a->gpu_ids);
        a->gpu_ids = NULL;
    }
    for (size_t i = 0; a->distributed_type && i < LENGTH(others); i++)
        if (strcmp(a->distributed_type, others[i].type) == 0)
            return error_set(e, ERROR_USAGE, "%s: training of distributed_type %s has no ds_config to be tuned%s", path,
                             others[i].type, others[i].hint);
    if (a->num_machines > 0 && a->num_processes % a->num_machines != 0)
        return error_set(e, ERROR_USAGE, "%s: %lld processes cannot be shared out evenly among %lld machines", path,
                         a->num_processes, a->num_machines);
    return 0;
}

int accelerate_config_read(const char *path, struct accelerate_config *out, struct error *e)
{
    struct buffer text = BUFFER_INIT;
    struct config_source s = {path, 0, out};
    const size_t n = strlen(path);
    *out = (struct accelerate_config){0};
    int rc = file_read(path, LARGEST, &text, e);
    if (rc < 0)
        e->kind = ERROR_USAGE;
    else
        rc = n > 5 && strcmp(path + n - 5, ".json") == 0 ? read_json(&s, buffer_text(&text), e)
                                                         : read_yaml(&s, buffer_text(&text), e);
    buffer_free(&text);
    return rc < 0 ? rc : check(path, out, e);
}

void accelerate_config_free(struct accelerate_config *a)
{
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
