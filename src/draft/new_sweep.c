#include "draft/new_sweep.h"

#include <ctype.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "answers/idle_keys.h"
#include "config/template.h"
#include "deepspeed/ds_config.h"
#include "draft/job_command.h"
#include "files/json_text.h"
#include "predict/input_table.h"
#include "process/environment.h"
#include "report/saying.h"
#include "results/json.h"
#include "secrets/secrets.h"
#include "space/build.h"
#include "space/prediction.h"
#include "sweep_file/reader.h"
#include "toml/known.h"
#include "util/buffer.h"
#include "util/embedded.h"
#include "util/file.h"
#include "util/memory.h"
#include "util/parse.h"
#include "util/shell.h"
#include "util/string_list.h"

/* --- command inputs --- */

/* Finds the settings of a command that predictions need, such as --num-layers 32, as keys of a sweep. */

struct command_input {
    char *key, *value; /* the value as TOML */
    bool is_of_model, is_axis;
    bool is_flag; /* a switch, or true or false, which the script may spell in its own way */
};

struct command_inputs {
    struct arena *arena;
    const char *profile; /* the profile whose names the settings use; NULL: known without one */
    struct command_input *items;
    size_t count;
    size_t own_count; /* items and axes that the profile itself names in [synonym] */
    char *missing;    /* what a prediction still needs, separated by ", "; "": nothing */
};

#define FILE_NAME "sweep.toml"
#define OWN_LEAST 3 /* names that identify a framework */

/* Values for inputs that the command does not give, to find out which settings are read. */
static const struct stand_in {
    size_t input;
    const char *line;
} stand_ins[] = {
    {AT_HEADS, "heads = 8\n"},
    {AT_VOCAB, "vocab = 50304\n"},
    {AT_SEQ, "seq = 2048\n"},
    {AT_MICRO_BATCH, "micro_batch = 1\n"},
};

/* --- what is asked about --- */

/* TOML's true or false if the text means one of them, else NULL. */
static const char *truth_of(const char *text)
{
    return strcasecmp(text, "true") == 0 ? "true" : strcasecmp(text, "false") == 0 ? "false" : NULL;
}

/* A key that TOML takes as it is, once; "a.b" is one of a table. */
static bool is_key(const struct command_inputs *f, const char *key)
{
    return isalpha((unsigned char)key[0]) && key[strlen(key) - 1] != '.' && !strstr(key, "..") &&
           strspn(key, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.") == strlen(key) &&
           !ANY(i, f->count, strcmp(f->items[i].key, key) == 0);
}

static void add_item(struct command_inputs *f, const char *key, const char *value, bool is_flag)
{
    struct buffer literal = BUFFER_INIT;
    buffer_add_toml_value(&literal, value, strlen(value));
    *arena_add(f->arena, f->items, f->count) =
        (struct command_input){.key = arena_text(f->arena, key),
                               .value = arena_keep(f->arena, buffer_take(&literal)),
                               .is_flag = is_flag};
}

/* Every setting of the script, the axes first. */
static void take_settings(const struct job_command *c, char *const *axes, struct command_inputs *out)
{
    for (; *axes; axes++) {
        OWNED char *name = xstrndup(*axes, strcspn(*axes, "=")), *key = job_command_key(name);
        const char *value = *axes + strcspn(*axes, "=");
        OWNED char *first = xstrndup(value + (*value == '='), strcspn(value + (*value == '='), ","));
        if (is_key(out, key)) {
            add_item(out, key, first, false);
            out->items[out->count - 1].is_axis = true;
        }
    }
    for (size_t i = 0; i < c->setting_count; i++) {
        const struct command_setting *s = job_command_find(c, c->settings[i].key, false);
        const char *value = !s || s->is_switch ? "true" : c->words.items[s->word] + s->start, *truth = truth_of(value);
        if (s && is_key(out, s->key) && *value)
            add_item(out, s->key, truth ? truth : value, truth != NULL);
    }
}

/* --- what is read --- */

#define LINES_BEFORE_ITEMS 5

static void remove_item(struct command_inputs *f, size_t i)
{
    memmove(&f->items[i], &f->items[i + 1], (--f->count - i) * sizeof *f->items);
}

/* Removes the items whose lines have problems; returns how many. */
static size_t remove_refused(struct command_inputs *f, const struct error *e)
{
    const char *line = e->text;
    OWNED bool *refused = xcalloc(f->count, sizeof *refused);
    size_t count = 0;
    for (; line; line = strchr(line, '\n') ? strchr(line, '\n') + 1 : NULL) {
        long number = strncmp(line, FILE_NAME ":", sizeof FILE_NAME) == 0 ? atol(line + sizeof FILE_NAME) : 0;
        if (number > LINES_BEFORE_ITEMS && (size_t)(number - LINES_BEFORE_ITEMS) <= f->count)
            refused[number - LINES_BEFORE_ITEMS - 1] = true;
    }
    for (size_t i = f->count; i-- > 0;)
        if (refused[i]) {
            remove_item(f, i);
            count++;
        }
    return count;
}

static void write_file(const struct command_inputs *f, const bool *stands, struct buffer *out)
{
    buffer_printf(out, "profile = %s%s%s\n[job]\ncommand = [\"true\"]\n[predict]\n[training_spec]\n",
                  f->profile ? "\"" : "[]", f->profile ? f->profile : "", f->profile ? "\"" : "");
    for (size_t i = 0; i < f->count; i++)
        buffer_printf(out, "%s = %s\n", f->items[i].key, f->items[i].value);
    for (size_t i = 0; i < LENGTH(stand_ins); i++)
        buffer_add_text(out, stands[i] ? stand_ins[i].line : "");
}

/* The word of the space on the items; false where there is none. */
static bool ask_space(struct command_inputs *f, const bool *stands,
                      void (*look)(struct command_inputs *, struct space *))
{
    bool found = false, again = true;
    while (again && f->count) {
        OWNED_BUFFER text = BUFFER_INIT;
        OWNED_SWEEP *sweep = NULL;
        OWNED_SPACE *space = NULL;
        struct error e = ERROR_INIT;
        write_file(f, stands, &text);
        found = sweep_parse(FILE_NAME, text.data, text.length, &sweep, &e) == 0 &&
                space_build(sweep, &(struct space_options){0}, &space, &e) == 0;
        if (found)
            look(f, space);
        again = !found && remove_refused(f, &e) > 0;
    }
    return found;
}

/* Finds which inputs the only combination has. */
static void read_inputs(struct space *space, bool *present)
{
    struct input_value values[INPUT_COUNT];
    struct error ignored;
    const bool is_read = prediction_inputs_at(space, 0, values, &ignored) == 0;
    for (size_t i = 0; i < INPUT_COUNT; i++)
        present[i] = is_read && values[i].kind != INPUT_ABSENT;
}

static void look_for_missing(struct command_inputs *f, struct space *space)
{
    OWNED_BUFFER missing = BUFFER_INIT;
    bool present[INPUT_COUNT];
    read_inputs(space, present);
    for (size_t i = 0; i < LENGTH(stand_ins); i++)
        if (!present[stand_ins[i].input] && (stand_ins[i].input != AT_MICRO_BATCH || !present[AT_GLOBAL_BATCH]))
            buffer_printf(&missing, "%s%s", missing.length ? ", " : "", inputs[stand_ins[i].input].name);
    f->missing = present[AT_LAYERS] && present[AT_HIDDEN] ? arena_text(f->arena, buffer_text(&missing)) : NULL;
}

static bool is_own(const struct sweep *s, const char *key)
{
    return ANY(i, s->synonym_count, strings_have(s->synonyms[i].keys, key));
}

static void keep_read(struct command_inputs *f, struct space *space)
{
    for (size_t i = f->count; i-- > 0;) {
        size_t key;
        bool is_read = names_resolve(&space->names, f->items[i].key, &key) == RESOLVED_KEY && key_is_read(space, key);
        size_t input =
            is_read ? FIRST(k, INPUT_COUNT, prediction_key(space, k) == &space->names.keys[key]) : INPUT_COUNT;
        f->items[i].is_of_model = input < INPUT_COUNT && input_is_of_model(input);
        f->own_count += is_read && is_own(space->sweep, f->items[i].key);
        if (!is_read)
            remove_item(f, i);
    }
}

/* Keeps the items that predictions use under f->profile; none if nothing can be predicted, or if only the profile gives
 * the model. */
static void find_read(struct command_inputs *f)
{
    bool stands[LENGTH(stand_ins)] = {false};
    bool found = ask_space(f, stands, look_for_missing) && f->missing;
    for (size_t i = 0; found && i < LENGTH(stand_ins); i++)
        stands[i] = strstr(f->missing, inputs[stand_ins[i].input].name) != NULL;
    found = found && ask_space(f, stands, keep_read);
    if (!found || !ANY(i, f->count, f->items[i].is_of_model))
        f->count = 0;
}

/* A sweep that has nothing but the profile; NULL: there is none. The caller's. */
static struct sweep *profile_alone(const char *profile)
{
    OWNED char *text = xasprintf("profile = \"%s\"\n[job]\ncommand = [\"true\"]\n[training_spec]\nx = 1\n", profile);
    struct sweep *sweep = NULL;
    struct error e = ERROR_INIT;
    return sweep_parse(FILE_NAME, text, strlen(text), &sweep, &e) == 0 ? sweep : NULL;
}

/* Returns whether the profile itself names so many: to find out what it reads takes far longer. */
static bool names_own(const struct command_inputs *f, size_t least)
{
    OWNED_SWEEP *s = least ? profile_alone(f->profile) : NULL;
    size_t count = 0;
    for (size_t i = 0; s && i < f->count && count < least; i++)
        count += is_own(s, f->items[i].key);
    return count >= least;
}

/* Takes what the profile reads where it itself names at least so many. */
static void try_profile(const struct job_command *c, char *const *axes, const char *profile, size_t own_least,
                        struct command_inputs *best)
{
    struct command_inputs f = {.arena = c->arena, .profile = profile ? arena_text(c->arena, profile) : NULL};
    take_settings(c, axes, &f);
    /* A profile reads and names no more than there is. */
    const bool may_be_better = f.count >= own_least && f.count >= best->count && names_own(&f, own_least);
    if (may_be_better)
        find_read(&f);
    bool is_better = f.count > best->count || (f.count == best->count && f.own_count > best->own_count);
    if (may_be_better && is_better && f.own_count >= own_least)
        *best = f;
}

/* Tries the built-in profiles, or only `profile`, and takes the one that understands most of the settings and `axes`
 * ("KEY=VALUE,VALUE", NULL-terminated); of several, the one that names most itself. Axes do not become items. If the
 * model's layers and width are not found, nothing is. */
static struct command_inputs command_inputs_find(const struct job_command *c, char *const *axes, const char *profile)
{
    struct command_inputs best = {0};
    try_profile(c, axes, profile, 0, &best);
    for (const struct embedded_file *f = NULL; !profile && (f = embedded_next("profiles/", f));) {
        OWNED char *name = embedded_stem(f);
        try_profile(c, axes, name, OWN_LEAST, &best);
    }
    for (size_t i = best.count; i-- > 0;)
        if (best.items[i].is_axis)
            remove_item(&best, i);
    return best;
}

/* --- ds base --- */

/* The ds_config that a command names, `--deepspeed FILE` or `--deepspeed_config FILE`, and which keys belong to it. */

enum { CONFIG_BYTES_MOST = 1 << 20 };

struct ds_base {
    struct json root;
    struct sweep *profile; /* a sweep that has nothing but the profile's synonyms; NULL: there is no such file */
};

static const struct command_setting *find_setting(const struct job_command *c)
{
    static const char *const names[] = {"deepspeed_config", "deepspeed"};
    for (size_t i = 0; i < LENGTH(names); i++) {
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

static void ds_base_free(struct ds_base *b)
{
    json_text_free(&b->root);
    sweep_free(b->profile);
}

/* None where the command names none, or it cannot be read. */
static struct ds_base ds_base_open(const struct job_command *c)
{
    const struct command_setting *s = find_setting(c);
    OWNED char *json = s ? file_text(path_of(c, s), CONFIG_BYTES_MOST) : NULL;
    struct error e = ERROR_INIT;
    struct ds_base b = {0};
    if (json && json_text_parse(path_of(c, s), json, &b.root, &e) == 0 && b.root.kind == JSON_OBJECT &&
        (b.profile = profile_alone("deepspeed")))
        return b;
    ds_base_free(&b);
    return (struct ds_base){0};
}

/* Returns whether DeepSpeed takes the key, or what the profile `deepspeed` has it stand for, from the file. What the
 * file leaves "auto" it takes from the script's own options, except in zero_optimization. */
static bool ds_base_has(const struct ds_base *b, const char *key)
{
    const char *place = b->profile ? ds_config_place(b->profile, key) : NULL;
    const struct json *now = place ? json_text_find(&b->root, place) : NULL;
    bool is_scripts = now && now->kind == JSON_SCALAR && strcmp(now->text, "\"auto\"") == 0 &&
                      strncmp(place, "zero_optimization.", strlen("zero_optimization.")) != 0;
    return place && !is_scripts;
}

/* Puts {ds_config} in place of the file's name in the command that it was opened with; returns the name. */
static const char *ds_base_place(struct job_command *c)
{
    const struct command_setting *s = find_setting(c);
    const char *path = path_of(c, s);
    job_command_replace(c, s, "{ds_config}");
    return path;
}

/* --- new sweep --- */

/* An axis that was asked for, and how the command takes it. */
struct new_axis {
    char *key, *option;
    const char *values; /* "A,B" */
    enum script_way way;
    char *warning;           /* comment that the script does not take it this way; NULL: none */
    bool is_named;           /* the command has {KEY} */
    bool is_of_ds;           /* it is a key of the ds_config */
    bool is_devices;         /* its values are devices per host */
    struct file_place place; /* a file that the command names has it; its file is NULL: none has */
};

/* The file being written, and what is known for it. */
struct drafted {
    struct arena arena;
    const struct new_sweep *new_sweep;
    struct job_command command;
    struct new_axis *axes;
    size_t axis_count;
    struct command_inputs inputs;
    struct command_files files;
    const char *ds_config;     /* as the command named it; NULL: none of the axes is a key of it */
    long long hosts, devices;  /* that the launcher starts; 0: not given, or an axis */
    const char *fixed_devices; /* says what takes the same devices for every job; NULL: nothing */
    struct buffer left_out;    /* that name the same devices for every job, as in the command */
};

static bool is_truth(const char *values)
{
    static const char *const truths[] = {"true", "false", "true,false", "false,true"};
    return ANY(i, LENGTH(truths), strcmp(values, truths[i]) == 0);
}

static bool names_key(char *const *command, const char *key)
{
    OWNED char *placeholder = xasprintf("{%s}", key);
    bool found = false;
    for (; *command; command++)
        found |= strstr(*command, placeholder) != NULL;
    return found;
}

/* If the command gives the axis a value, {KEY} replaces it. */
static void place_axis(struct job_command *command, struct new_axis *a)
{
    const struct launched_devices launched = job_command_devices(command);
    const struct command_setting *s = job_command_find(command, a->key, false);
    s = s ? s : job_command_find_variable(command, a->key);
    s = s ? s : job_command_find(command, a->key, true);
    if ((!s || s == launched.devices) && launched.devices && strcmp(launched.devices->key, a->key) == 0 &&
        !(launched.counts_all && launched.hosts)) {
        a->is_devices = a->is_named = true;
        job_command_replace(command, launched.devices, "{gpus_per_node}");
    } else if (s && s->is_switch && is_truth(a->values)) {
        a->option = command->words.items[s->word] + strspn(command->words.items[s->word], "-");
        a->way = a->way == SCRIPT_NEGATION ? a->way : SCRIPT_SWITCH;
        job_command_replace(command, s, "");
    } else if (s && !s->is_switch) {
        OWNED char *placeholder = xasprintf("{%s}", a->key);
        a->is_named = true;
        job_command_replace(command, s, placeholder);
    }
}

/* "OMP_NUM_THREADS", "SEED": no program has such an option. */
static bool is_variable(const char *name)
{
    return strspn(name, "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_") == strlen(name) && strlen(name) > 1 &&
           isalpha((unsigned char)name[0]);
}

/* A comment on an axis that is added to the command; NULL: none. */
static char *warning_of(const struct new_axis *a, const struct job_command *command, const char *path,
                        const char *script)
{
    const bool is_first = strcmp(command->words.items[command->words.count - 1], path) == 0;
    char *warning = script_warning(path, script, a->key, a->way, is_first);
    OWNED_LIST given = STRING_LIST_INIT;
    for (size_t i = 0; i < command->setting_count; i++) {
        const struct command_setting *s = &command->settings[i];
        const char *option = command->words.items[s->option];
        if (!s->is_launchers && strncmp(option, "--", 2) == 0)
            string_list_add(&given, xstrndup(option + 2, strcspn(option + 2, "=")));
    }
    if (!warning && a->way == SCRIPT_OPTION && !script_names(script, a->key))
        warning = script_lacks(path, script, &given, a->option);
    return warning;
}

/* `script`: the script's text; `path`: its word in the command; NULL: not known. `base`: its ds_config. */
static struct new_axis axis_of(const char *text, struct job_command *command, const char *path, const char *script,
                               const struct ds_base *base)
{
    const size_t length = strcspn(text, "=");
    OWNED char *name = xstrndup(text, length);
    struct new_axis a = {.key = arena_keep(command->arena, job_command_key(name)),
                         .values = text + length + (text[length] == '=')};
    a.is_named = names_key(command->words.items, a.key);
    a.way = script_way(script, a.key, command->has_hyphens, command->is_assigned, &a.option);
    arena_keep(command->arena, a.option);
    if (!a.is_named)
        place_axis(command, &a);
    if (a.is_named || ((a.way == SCRIPT_SWITCH || a.way == SCRIPT_NEGATION) && !is_truth(a.values)))
        a.way = SCRIPT_OPTION;
    if (!a.is_named && a.way == SCRIPT_OPTION && is_variable(a.key) && !script_names(script, a.key))
        a.way = SCRIPT_VARIABLE;
    a.is_of_ds = !a.is_named && a.way == SCRIPT_OPTION && !script_names(script, a.key) && ds_base_has(base, a.key);
    a.warning = a.is_named || a.is_of_ds ? NULL : arena_keep(command->arena, warning_of(&a, command, path, script));
    return a;
}

static bool is_word(const struct new_axis *a)
{
    return a->way == SCRIPT_SWITCH || a->way == SCRIPT_NEGATION;
}

/* The longest end of the path that can be a key: lists are numbered. */
static const char *key_of_path(const char *path)
{
    while (template_name_length(path) != strlen(path) && strchr(path, '.'))
        path = strchr(path, '.') + 1;
    return path;
}

/* A comment for each value that is of another kind than the file's. */
static void check_values(struct arena *p, struct new_axis *a)
{
    for (const char *value = a->values; *value; value += *value == ',') {
        const size_t length = strcspn(value, ",");
        OWNED_BUFFER unused = BUFFER_INIT;
        if (!a->warning && !file_place_add_value(&a->place, value, length, &unused))
            a->warning =
                arena_keep(p, xasprintf("# TO DO: %s of %s is %s, and %.*s is not.\n", a->place.path,
                                        a->place.file->path, doc_kind_names[a->place.kind], (int)length, value));
        value += length;
    }
}

/* An axis that the command has no option for is a key of a file that it names; of devices if the launcher has it under
 * `launched_key`, which may be NULL. Else the command's option is swept. */
static int place_in_files(struct new_axis *a, const struct command_files *files, const char *launched_key,
                          const char *script, struct error *e)
{
    const bool is_commands =
        a->is_named || a->is_of_ds || is_word(a) || a->way == SCRIPT_VARIABLE || script_names(script, a->key);
    struct arena *p = files->arena;
    struct file_place found = {0};
    int rc = files->count ? command_files_find(files, a->key, &found, is_commands ? NULL : e) : 0;
    if (is_commands && rc > 0) {
        a->warning = arena_keep(p, xasprintf("%s# %s: the command's own is swept, not %s of %s.\n",
                                             a->warning ? a->warning : "", a->key, found.path, found.file->path));
    } else if (rc > 0) {
        a->warning = NULL;
        a->place = found;
        a->is_devices = launched_key && strcmp(launched_key, a->key) == 0;
        found.file->is_swept = true;
        a->key = arena_keep(p, job_command_key(key_of_path(a->key)));
        check_values(p, a);
    } else if (rc == 0 && !is_commands && !a->warning) {
        OWNED char *near = command_files_nearest(files, a->key);
        if (near)
            a->warning = arena_keep(p, xasprintf("# TO DO: no file has %s; the nearest is %s.\n", a->key, near));
    }
    return is_commands || rc >= 0 ? 0 : -1;
}

/* Returns whether it is added to the command as words of its own that end with its value. */
static bool is_added(const struct new_axis *a)
{
    return !a->is_named && !a->is_of_ds && !a->place.file && !is_word(a) && a->way != SCRIPT_VARIABLE;
}

/* The value as TOML; for a switch the word in the command. */
static void add_axis_value(struct buffer *out, const struct new_axis *a, const char *value, size_t length)
{
    OWNED char *word = !is_word(a)               ? xstrndup(value, length)
                       : *value == 't'           ? xasprintf("--%s", a->option)
                       : a->way == SCRIPT_SWITCH ? xstrdup("")
                                                 : xasprintf("--no-%s", a->option);
    if (is_word(a))
        buffer_add_json_string(out, word, strlen(word));
    else if (a->place.file)
        file_place_add_value(&a->place, value, length, out);
    else
        buffer_add_toml_value(out, word, length);
}

/* "0..4", as some tools write a range: numbers with dots between. */
static bool is_range(const char *value, size_t length)
{
    size_t from = strspn(value, "-0123456789"), dots = strspn(value + from, ".");
    size_t to = strspn(value + from + dots, "-0123456789");
    return from > 0 && dots >= 2 && to > 0 && from + dots + to == length;
}

/* "KEY=A,B" as "KEY = [A, "B"]". */
static int add_axis(struct buffer *out, const struct new_axis *a, const char *text, struct error *e)
{
    const size_t last = strlen(a->values);
    if (!a->key[0] || !last || (a->values[0] == '[' && a->values[last - 1] == ']' && strchr(a->values, ',')))
        return error_set(e, ERROR_USAGE, "init: %s: write an axis as KEY=VALUE,VALUE,…, for example micro_batch=1,2,4",
                         text);
    if (template_name_length(a->key) != strlen(a->key))
        return error_set(e, ERROR_USAGE, "init: %s: a key is letters, digits, _, - and inner dots", text);
    buffer_printf(out, "%s = [", a->is_devices ? "num_devices_per_host" : a->key);
    for (const char *value = a->values;; value++) {
        value += strspn(value, " ");
        size_t length = strcspn(value, ",");
        if (length == 0)
            return error_set(e, ERROR_USAGE, "init: %s: there is an empty value; write an axis as KEY=VALUE,VALUE,…",
                             text);
        if (is_range(value, length))
            return error_set(e, ERROR_USAGE,
                             "init: %s: ranges such as %.*s are not understood; name each value, for example %s=1,2,4",
                             text, (int)length, value, a->key);
        add_axis_value(out, a, value, length);
        value += length;
        if (*value == '\0')
            break;
        buffer_add_text(out, ", ");
    }
    buffer_add_char(out, ']');
    return 0;
}

/* --- what is known --- */

/* The setting's value if it is a whole number that can be a count; else 0. */
static long long count_of(const struct job_command *c, const struct command_setting *s)
{
    int64_t count;
    bool is_count = s && parse_int64(c->words.items[s->word] + s->start, &count) && count > 0 && count <= 1 << 20;
    return is_count ? count : 0;
}

static bool is_axis(const struct drafted *w, const struct file_place *p)
{
    return ANY(i, w->axis_count, w->axes[i].place.file == p->file && strcmp(w->axes[i].place.path, p->path) == 0);
}

/* The same of a launcher's file, as accelerate's --config_file; 0 where that is swept, or has none. */
static long long count_in_files(const struct drafted *w, const char *key)
{
    struct file_place p;
    int64_t count;
    const bool is_there = key && command_files_find(&w->files, key, &p, NULL) == 1 && !is_axis(w, &p);
    return is_there && parse_int64(p.text, &count) && count > 0 && count <= 1 << 20 ? count : 0;
}

/* Replaces "29501", and that of "localhost:29501", with the job's own port: two jobs cannot meet at one. */
static void take_ports(struct job_command *c)
{
    const struct toml_node *names = known("command", "ports");
    for (size_t i = 0; i < names->child_count; i++) {
        const struct command_setting *s = job_command_find(c, names->children[i].text, true);
        const char *value = s ? c->words.items[s->word] + s->start : "", *colon = strrchr(value, ':');
        const char *port = colon ? colon + 1 : value;
        OWNED char *own = xasprintf("%.*s{master_port}", (int)(port - value), value);
        if (atoi(port) > 0 && port[strspn(port, "0123456789")] == '\0')
            job_command_replace(c, s, own);
    }
}

/* Returns how many devices are in "0,1"; 0: it is no list of them. */
static long long count_listed(const char *list)
{
    long long count = *list && !list[strspn(list, "0123456789,")];
    for (const char *p = list; count && *p; p++)
        count += *p == ',';
    return count;
}

/* Returns how many devices the script itself is told to use, as by "--device 0,1": it may hide others then. */
static long long find_listed_devices(struct drafted *w)
{
    const struct toml_node *names = known("command", "lists_devices");
    for (size_t i = 0; i < names->child_count; i++) {
        const struct command_setting *s = job_command_find(&w->command, names->children[i].text, false);
        const char *list = s ? w->command.words.items[s->word] + s->start : "";
        if (count_listed(list) < 2)
            continue;
        w->fixed_devices = arena_keep(&w->arena, xasprintf("Every job names devices %s", list));
        return count_listed(list);
    }
    return 0;
}

/* Leaves out what names devices, "0,1" and "localhost:0,1", as each job gets its own. Returns how many; 0: none. */
static long long take_named_devices(struct drafted *w)
{
    const struct toml_node *names = known("command", "of_devices");
    long long count = 0;
    for (size_t i = 0; i < names->child_count; i++) {
        const struct command_setting *s = job_command_find(&w->command, names->children[i].text, true);
        const char *value = s ? w->command.words.items[s->word] + s->start : "";
        const char *list = value + (strncmp(value, "localhost:", 10) == 0 ? 10 : 0);
        if (!count_listed(list))
            continue;
        count = count_listed(list);
        for (size_t k = s->option; k <= s->word; k++)
            buffer_printf(&w->left_out, "%s%s", w->left_out.length ? " " : "", w->command.words.items[k]);
        job_command_replace(&w->command, s, NULL);
    }
    return count;
}

/* Takes hosts and devices from the launcher's settings, and replaces these with placeholders. */
static void take_devices(struct drafted *w)
{
    const long long listed = find_listed_devices(w), left_out = take_named_devices(w);
    struct launched_devices l = job_command_devices(&w->command);
    long long hosts = l.hosts ? count_of(&w->command, l.hosts) : count_in_files(w, l.host_key);
    const bool is_axis_of_devices = ANY(i, w->axis_count, w->axes[i].is_devices);
    long long devices =
        l.devices ? count_of(&w->command, l.devices) : count_in_files(w, is_axis_of_devices ? NULL : l.device_key);
    w->hosts = hosts ? hosts : 1;
    if (l.hosts && !hosts)
        return;
    if (l.counts_all && devices % w->hosts != 0)
        return;
    w->devices = l.counts_all ? devices / w->hosts : devices;
    w->devices = w->devices || is_axis_of_devices ? w->devices : left_out ? left_out : listed;
    if (l.from_first && (l.devices || is_axis_of_devices))
        w->fixed_devices =
            arena_keep(&w->arena, xasprintf("The launcher %s takes devices 0, 1, …, whichever a job is given",
                                            w->command.launcher));
    if (devices && l.devices)
        job_command_replace(&w->command, l.devices, l.counts_all ? "{gpus}" : "{gpus_per_node}");
    l = job_command_devices(&w->command);
    if (hosts && l.hosts && (devices || is_axis_of_devices))
        job_command_replace(&w->command, l.hosts, "{nodes}");
}

static void take_inputs(struct drafted *w)
{
    const struct log_readers *log = w->new_sweep->log;
    w->inputs = command_inputs_find(&w->command, w->new_sweep->axes, log ? log->profile : NULL);
    for (size_t i = 0; i < w->inputs.count; i++) {
        const struct command_input *input = &w->inputs.items[i];
        OWNED char *placeholder = xasprintf("{%s}", input->key);
        if (!input->is_flag)
            job_command_replace(&w->command, job_command_find(&w->command, input->key, false), placeholder);
    }
}

static int take_command(struct drafted *w, struct error *e)
{
    OWNED char *script = script_text(w->new_sweep->command);
    int rc = 0;
    w->command = job_command_read(&w->arena, w->new_sweep->command);
    struct ds_base base = ds_base_open(&w->command);
    w->files = command_files_open(&w->command, base.profile ? path_of(&w->command, find_setting(&w->command)) : NULL);
    for (char *const *axis = w->new_sweep->axes; *axis && rc == 0; axis++) {
        struct new_axis *a = arena_add(&w->arena, w->axes, w->axis_count);
        *a = axis_of(*axis, &w->command, job_command_script(w->new_sweep->command), script, &base);
        if (a->is_of_ds && !w->ds_config)
            w->ds_config = ds_base_place(&w->command);
        rc = place_in_files(a, &w->files, job_command_devices(&w->command).device_key, script, e);
        if (!script && !a->warning && is_added(a) && a->way == SCRIPT_OPTION)
            a->warning = arena_keep(&w->arena, program_lacks(&w->command, w->new_sweep->environment, &a->option));
    }
    take_devices(w);
    take_ports(&w->command);
    take_inputs(w);
    command_files_place(&w->files, &w->command);
    ds_base_free(&base);
    return rc;
}

char *new_sweep_derived(const bool *has)
{
    static const char *const degrees[] = {DEGREES_BESIDE_DP};
    OWNED_BUFFER product = BUFFER_INIT;
    size_t count = 0;
    for (size_t i = 0; i < LENGTH(degrees); i++)
        if (has[i])
            buffer_printf(&product, "%s%s", count++ ? " * " : "", degrees[i]);
    return count ? xasprintf("[derive]\ndp = \"gpus / %s%s%s\"   # data parallelism takes the other devices\n",
                             count > 1 ? "(" : "", buffer_text(&product), count > 1 ? ")" : "")
                 : NULL;
}

/* Where the text has such degrees, by any name, and no dp. NULL: not there. The caller's. */
static char *derived_of(const struct buffer *text)
{
    static const char *const degrees[] = {DEGREES_BESIDE_DP};
    OWNED_SWEEP *sweep = NULL;
    OWNED_SPACE *space = NULL;
    struct error e = ERROR_INIT;
    bool has[LENGTH(degrees)] = {false};
    size_t index;
    if (sweep_parse("sweep.toml", text->data, text->length, &sweep, &e) == 0 &&
        space_build(sweep, &(struct space_options){0}, &space, &e) == 0 &&
        names_resolve(&space->names, "dp", &index) == RESOLVED_UNKNOWN)
        for (size_t i = 0; i < LENGTH(degrees); i++)
            has[i] = names_resolve(&space->names, degrees[i], &index) == RESOLVED_KEY;
    return new_sweep_derived(has);
}

/* --- the document that sql/texts/new_sweep.sql makes the file of --- */

/* As a line for the shell, in which a switch that is off is no word, or as they are. */
static void describe_words(const struct drafted *w, bool is_line, cJSON *draft)
{
    const struct job_command *c = &w->command;
    cJSON *words = cJSON_AddArrayToObject(draft, "words");
    for (size_t i = c->variables; i < c->words.count; i++) {
        const char *word = c->words.items[i];
        OWNED_BUFFER text = BUFFER_INIT;
        if (is_line && strpbrk(word, " \t\"'$&|;<>()*?#~`\\!"))
            shell_add_word(&text, word);
        cJSON_AddItemToArray(words, cJSON_CreateString(text.length ? buffer_text(&text) : word));
    }
    JSON_ADD(draft, JSON_TRUTH("is_line", is_line), JSON_INT("end", c->end - c->variables));
}

/* Variables of the user's that the command or its script is known to read, unless the command sets them; secrets are a
 * person's choice. */
static void describe_environment(const struct drafted *w, cJSON *draft)
{
    OWNED_BUFFER text = BUFFER_INIT;
    OWNED char *script = script_text(w->new_sweep->command);
    cJSON *settings = cJSON_AddArrayToObject(draft, "environment"), *passed = cJSON_AddArrayToObject(draft, "passed");
    for (char *const *word = w->new_sweep->command; *word; word++)
        buffer_printf(&text, "%s ", *word);
    buffer_add_text(&text, script ? script : "");
    OWNED_STRINGS names =
        environment_not_passed(w->new_sweep->environment, (struct environment_passing){0}, buffer_text(&text));
    for (size_t i = 0; i < w->command.variables; i++)
        cJSON_AddItemToArray(settings, cJSON_CreateString(w->command.words.items[i]));
    for (char **name = names; *name; name++)
        if (!ANY(i, w->command.variables, setting_is_among(w->command.words.items[i], (char *[]){*name, NULL})))
            JSON_ITEM(passed, JSON_STRING("name", *name), JSON_TRUTH("secret", secrets_match_name(*name, NULL)));
}

/* The errors of those of the cluster come first. */
static int describe_axes(const struct drafted *w, cJSON *axes, struct error *e)
{
    for (const struct new_axis *a = w->axes; a < w->axes + w->axis_count; a++)
        JSON_ITEM(axes, JSON_STRING("key", a->key), JSON_STRING("option", a->option), JSON_TEXT("warning", a->warning),
                  JSON_TRUTH("is_word", is_word(a)), JSON_TRUTH("is_added", is_added(a)),
                  JSON_TRUTH("is_variable", a->way == SCRIPT_VARIABLE), JSON_TRUTH("has_words", a->way == SCRIPT_WORDS),
                  JSON_TRUTH("is_assigned", a->way == SCRIPT_ASSIGNMENT), JSON_TRUTH("is_devices", a->is_devices),
                  JSON_TEXT("file", a->place.file ? a->place.file->name : NULL), JSON_TEXT("path", a->place.path));
    for (size_t i = 0; i < 2 * w->axis_count; i++) {
        const size_t k = i % w->axis_count;
        OWNED_BUFFER line = BUFFER_INIT;
        if (w->axes[k].is_devices != (i < w->axis_count))
            continue;
        if (add_axis(&line, &w->axes[k], w->new_sweep->axes[k], e) < 0)
            return -1;
        cJSON_AddStringToObject(cJSON_GetArrayItem(axes, (int)k), "line", buffer_text(&line));
    }
    return 0;
}

/* Paths in a sweep file begin where the file stands. */
static void describe_base(const struct drafted *w, const char *name, const char *path, cJSON *object)
{
    OWNED char *beside = path_beside(w->new_sweep->path, path), *absolute = path_absolute(path);
    JSON_ADD(object, JSON_STRING(name, path_is_same(beside, path) ? path : absolute));
}

/* Finds what a file has for an input, under any of its names. */
static bool find_input(const struct drafted *w, const char *input, struct file_place *out)
{
    const char *const *name = inputs[input_find(input)].names;
    while (*name && command_files_find(&w->files, *name, out, NULL) != 1)
        name++;
    return *name;
}

/* The degrees of a file whose dp is no axis: it follows where one of them is. */
static void describe_degrees(const struct drafted *w, cJSON *draft)
{
    static const char *const names[] = {DEGREES_BESIDE_DP};
    struct file_place p;
    cJSON *degrees = cJSON_AddArrayToObject(draft, "degrees");
    if (!find_input(w, "dp", &p) || is_axis(w, &p))
        return;
    JSON_ADD(draft, JSON_STRING("dp", p.path), JSON_STRING("dp_file", p.file->name));
    for (size_t i = 0; i < LENGTH(names); i++)
        if (find_input(w, names[i], &p))
            JSON_ITEM(degrees, JSON_STRING("key", names[i]), JSON_STRING("value", p.text), JSON_STRING("path", p.path),
                      JSON_TRUTH("is_axis", is_axis(w, &p)));
}

static int describe(const struct drafted *w, cJSON *draft, struct error *e)
{
    cJSON *keys = cJSON_AddArrayToObject(draft, "inputs"), *files = cJSON_AddArrayToObject(draft, "files");
    JSON_ADD(draft, JSON_STRING("name", w->new_sweep->name), JSON_TEXT("by_name", w->inputs.profile),
             JSON_TEXT("missing", w->inputs.missing), JSON_TEXT("launcher", w->command.launcher),
             JSON_INT("hosts", w->hosts), JSON_INT("devices", w->devices), JSON_TEXT("fixed_devices", w->fixed_devices),
             JSON_TEXT("left_out", w->left_out.length ? buffer_text(&w->left_out) : NULL));
    for (const struct command_input *i = w->inputs.items; i < w->inputs.items + w->inputs.count; i++)
        JSON_ITEM(keys, JSON_STRING("key", i->key), JSON_STRING("value", i->value),
                  JSON_TRUTH("is_of_model", i->is_of_model), JSON_TRUTH("is_flag", i->is_flag));
    for (size_t i = 0; i < w->files.count; i++)
        if (w->files.items[i]->is_swept)
            describe_base(w, "base", w->files.items[i]->path,
                          JSON_ITEM(files, JSON_STRING("name", w->files.items[i]->name)));
    describe_degrees(w, draft);
    if (w->ds_config)
        describe_base(w, "ds_config", w->ds_config, draft);
    if (w->new_sweep->log)
        cJSON_AddItemToObject(draft, "log", log_readers_document(w->new_sweep->log));
    describe_words(w, ANY(i, w->axis_count, is_word(&w->axes[i])), draft);
    describe_environment(w, draft);
    return describe_axes(w, cJSON_AddArrayToObject(draft, "axes"), e);
}

int new_sweep_add_toml(const struct new_sweep *n, struct buffer *out, struct error *e)
{
    struct drafted w = {.new_sweep = n};
    OWNED_JSON *draft = cJSON_CreateObject();
    OWNED_BUFFER text = BUFFER_INIT;
    int rc = take_command(&w, e) < 0 || describe(&w, draft, e) < 0 ||
                     saying_add_text("sql/texts/new_sweep.sql", draft, NULL, &text, e) < 0
                 ? -1
                 : 0;
    OWNED char *derived = rc == 0 ? derived_of(&text) : NULL;
    json_add_text(draft, "derived", derived);
    if (rc == 0)
        rc = saying_add_text("sql/texts/new_sweep.sql", draft, NULL, out, e);
    arena_free(&w.arena);
    buffer_free(&w.left_out);
    return rc;
}
