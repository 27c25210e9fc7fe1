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
#include "draft/command_files.h"
#include "draft/job_command.h"
#include "files/json_text.h"
#include "predict/input_table.h"
#include "process/environment.h"
#include "secrets/secrets.h"
#include "space/build.h"
#include "space/prediction.h"
#include "sweep_file/reader.h"
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
        struct sweep *sweep = NULL;
        struct space *space = NULL;
        struct error e = ERROR_INIT;
        write_file(f, stands, &text);
        found = sweep_parse(FILE_NAME, text.data, text.length, &sweep, &e) == 0 &&
                space_build(sweep, &(struct space_options){0}, &space, &e) == 0;
        if (found)
            look(f, space);
        again = !found && remove_refused(f, &e) > 0;
        space_free(space);
        sweep_free(sweep);
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

/* Takes what the profile reads where it itself names at least so many. */
static void try_profile(const struct job_command *c, char *const *axes, const char *profile, size_t own_least,
                        struct command_inputs *best)
{
    struct command_inputs f = {.arena = c->arena, .profile = profile ? arena_text(c->arena, profile) : NULL};
    take_settings(c, axes, &f);
    /* A profile reads and names no more than there is. */
    const bool may_be_better = f.count >= own_least && f.count >= best->count;
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
    static const char text[] = "profile = \"deepspeed\"\n[job]\ncommand = [\"true\"]\n[training_spec]\nx = 1\n";
    const struct command_setting *s = find_setting(c);
    OWNED char *json = s ? file_text(path_of(c, s), CONFIG_BYTES_MOST) : NULL;
    struct error e = ERROR_INIT;
    struct ds_base b = {0};
    if (json && json_text_parse(path_of(c, s), json, &b.root, &e) == 0 && b.root.kind == JSON_OBJECT &&
        sweep_parse("sweep.toml", text, strlen(text), &b.profile, &e) == 0)
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
    const char *ds_config;    /* as the command named it; NULL: none of the axes is a key of it */
    long long hosts, devices; /* that the launcher starts; 0: not given, or an axis */
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
    char *warning = script_warning(path, script, a->key, a->way);
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

/* An axis that the command has no option for is a key of a file that it names. Else the command's option is swept. */
static int place_in_files(struct new_axis *a, const struct command_files *files, const char *script, struct error *e)
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

static const char *dashes(const struct new_axis *a)
{
    return a->way == SCRIPT_ASSIGNMENT ? "" : "--";
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
    if (!a->key[0] || !a->values[0])
        return error_set(e, ERROR_USAGE, "init: %s: write an axis as KEY=VALUE,VALUE,…, for example micro_batch=1,2,4",
                         text);
    buffer_printf(out, "%s = [", a->is_devices ? "num_devices_per_host" : a->key);
    for (const char *value = a->values;; value++) {
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
    buffer_add_text(out, "]\n");
    return 0;
}

/* --- the command --- */

/* Writes the command's words for the axes. */
static void add_words_of_axes(struct buffer *out, const struct drafted *w, bool is_line)
{
    const char *quote = is_line ? "" : "\"", *apart = is_line ? " " : "\", \"";
    for (const struct new_axis *a = w->axes; a < w->axes + w->axis_count; a++)
        if (is_word(a))
            buffer_printf(out, " {%s!r}", a->key);
        else if (is_added(a))
            buffer_printf(out, "%s %s%s%s%s{%s}%s", is_line ? "" : ",", quote, dashes(a), a->option,
                          a->way == SCRIPT_WORDS ? apart : "=", a->key, quote);
}

/* As a list, or as a line for the shell, in which a switch that is off is no word. */
static void add_words(struct buffer *out, const struct drafted *w, bool is_line)
{
    const struct job_command *c = &w->command;
    for (size_t i = c->variables; i < c->words.count; i++) {
        const char *word = c->words.items[i];
        if (i == c->end)
            add_words_of_axes(out, w, is_line);
        buffer_add_text(out, i == c->variables ? "" : is_line ? " " : ", ");
        if (!is_line)
            buffer_add_json_string(out, word, strlen(word));
        else if (strpbrk(word, " \t\"'$&|;<>()*?#~`\\!"))
            shell_add_word(out, word);
        else
            buffer_add_text(out, word);
    }
    if (c->end == c->words.count)
        add_words_of_axes(out, w, is_line);
}

/* Writes the variables before the command, and those that are axes. */
static void add_environment(struct buffer *out, const struct drafted *w)
{
    const char *before = "\nenv = { ";
    for (size_t i = 0; i < w->command.variables; i++) {
        const char *word = w->command.words.items[i];
        const int length = (int)strcspn(word, "=");
        buffer_printf(out, "%s%.*s = ", before, length, word);
        buffer_add_json_string(out, word + length + 1, strlen(word + length + 1));
        before = ", ";
    }
    for (const struct new_axis *a = w->axes; a < w->axes + w->axis_count; a++)
        if (a->way == SCRIPT_VARIABLE) {
            buffer_printf(out, "%s%s = \"{%s}\"", before, a->key, a->key);
            before = ", ";
        }
    buffer_add_text(out, *before == ',' ? " }" : "");
}

/* By the command itself. */
static bool is_set(const struct drafted *w, const char *name)
{
    char *const names[] = {(char *)name, NULL};
    return ANY(i, w->command.variables, setting_is_among(w->command.words.items[i], names));
}

static void add_names(struct buffer *out, const struct drafted *w, char *const *names, bool secret, const char *before,
                      const char *after)
{
    const size_t begin = out->length;
    for (; *names; names++)
        if (secrets_match_name(*names, NULL) == secret && !is_set(w, *names))
            buffer_printf(out, "%s%s%s%s", out->length > begin ? ", " : before, secret ? "" : "\"", *names,
                          secret ? "" : "\"");
    if (out->length > begin)
        buffer_add_text(out, after);
}

/* Variables of the user's that the command or its script is known to read; secrets are a person's choice. */
static void add_passed(struct buffer *out, const struct drafted *w)
{
    OWNED_BUFFER text = BUFFER_INIT;
    OWNED char *script = script_text(w->new_sweep->command);
    for (char *const *word = w->new_sweep->command; *word; word++)
        buffer_printf(&text, "%s ", *word);
    buffer_add_text(&text, script ? script : "");
    OWNED_STRINGS names =
        environment_not_passed(w->new_sweep->environment, (struct environment_passing){0}, buffer_text(&text));
    add_names(out, w, names, false, "pass_env = [", "]   # set here, and read by the command\n");
    add_names(out, w, names, true, "# Set here too, but secret; add to pass_env what jobs need: ", "\n");
}

static void add_command(struct buffer *out, const struct drafted *w)
{
    const bool has_switch = ANY(i, w->axis_count, is_word(&w->axes[i]));
    buffer_add_text(out, "[job]\n# {KEY} is replaced by the key's value; see \"Placeholders\" in meshsweep(5).\n");
    for (size_t i = 0; i < w->axis_count; i++)
        buffer_add_text(out, w->axes[i].warning ? w->axes[i].warning : "");
    OWNED_BUFFER words = BUFFER_INIT;
    add_words(&words, w, has_switch);
    buffer_add_text(out, "command = ");
    if (has_switch)
        buffer_add_json_string(out, buffer_text(&words), words.length);
    else
        buffer_printf(out, "[%s]", buffer_text(&words));
    add_environment(out, w);
    buffer_add_text(out, "\n");
    add_passed(out, w);
    buffer_add_text(out, "timeout = \"30m\"            # jobs that take longer are stopped\n");
}

/* --- the sections --- */

/* The axes of the cluster, or all others. */
static int add_axes(struct buffer *out, const struct drafted *w, bool of_devices, struct error *e)
{
    for (size_t i = 0; i < w->axis_count; i++)
        if (w->axes[i].is_devices == of_devices && add_axis(out, &w->axes[i], w->new_sweep->axes[i], e) < 0)
            return -1;
    return 0;
}

static size_t count_device_axes(const struct drafted *w)
{
    size_t count = 0;
    for (size_t i = 0; i < w->axis_count; i++)
        count += w->axes[i].is_devices;
    return count;
}

static int add_cluster(struct buffer *out, const struct drafted *w, struct error *e)
{
    if (!w->devices && count_device_axes(w) == 0)
        return 0;
    buffer_printf(out, "\n# The devices that %s uses; each job gets its own.\n[cluster_spec]\n",
                  w->command.launcher ? w->command.launcher : "the command");
    buffer_printf(out, "num_hosts = %lld\n", w->hosts);
    if (w->devices)
        buffer_printf(out, "num_devices_per_host = %lld\n", w->devices);
    if (w->inputs.count)
        buffer_add_text(out, "# device = \"H100\"            # needed to predict times and what does not fit\n");
    return add_axes(out, w, true, e);
}

static void add_inputs(struct buffer *out, const struct drafted *w, bool of_model)
{
    const char *head =
        of_model ? "\n# From the command; predictions are made from these keys.\n[model]\n" : "\n[training_spec]\n";
    for (const struct command_input *i = w->inputs.items; i < w->inputs.items + w->inputs.count; i++)
        if (i->is_of_model == of_model) {
            buffer_printf(out, "%s%s = %s%s\n", head, i->key, i->value, i->is_flag ? "   # as in the command" : "");
            head = "";
        }
    if (of_model && w->inputs.count && *w->inputs.missing)
        buffer_printf(out, "# Predictions also need: %s.\n", w->inputs.missing);
}

static int add_sections(struct buffer *out, const struct drafted *w, struct error *e)
{
    if (add_cluster(out, w, e) < 0)
        return -1;
    add_inputs(out, w, true);
    add_inputs(out, w, false);
    if (count_device_axes(w) < w->axis_count || w->axis_count == 0)
        buffer_add_text(out, "\n# Each list is an axis. Axes multiply: each combination of values is a "
                             "job.\n[parallel_spec]\n");
    if (add_axes(out, w, false, e) < 0)
        return -1;
    if (w->inputs.count)
        buffer_add_text(out, "\n# Excludes jobs that will run out of memory; `meshsweep predict` shows the "
                             "numbers.\n[predict]\n");
    return 0;
}

static const char about_devices[] = "\n# If jobs need several devices, say how many; each job gets its own:\n"
                                    "# [[cluster_spec]]\n# num_hosts = 1\n# num_devices_per_host = [1, 2]\n";
static const char about_rules[] =
    "\n# A rule excludes combinations that cannot work, before they cost a run:\n# [[rule]]\n# name = "
    "\"small-enough\"\n"
    "# require = \"micro_batch * layers <= 64\"\n# why = \"larger ones run out of memory\"\n";

/* --- what is known --- */

/* The setting's value if it is a whole number that can be a count; else 0. */
static long long count_of(const struct job_command *c, const struct command_setting *s)
{
    int64_t count;
    bool is_count = s && parse_int64(c->words.items[s->word] + s->start, &count) && count > 0 && count <= 1 << 20;
    return is_count ? count : 0;
}

/* Takes hosts and devices from the launcher's settings, and replaces these with placeholders. */
static void take_devices(struct drafted *w)
{
    struct launched_devices l = job_command_devices(&w->command);
    long long hosts = count_of(&w->command, l.hosts), devices = count_of(&w->command, l.devices);
    w->hosts = hosts ? hosts : 1;
    if (l.hosts && !hosts)
        return;
    if (l.counts_all && devices % w->hosts != 0)
        return;
    w->devices = l.counts_all ? devices / w->hosts : devices;
    if (devices)
        job_command_replace(&w->command, l.devices, l.counts_all ? "{gpus}" : "{gpus_per_node}");
    l = job_command_devices(&w->command);
    if (hosts && (devices || count_device_axes(w) > 0))
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
        rc = place_in_files(a, &w->files, script, e);
        if (!script && !a->warning && is_added(a) && a->way == SCRIPT_OPTION)
            a->warning = arena_keep(&w->arena, program_lacks(&w->command, w->new_sweep->environment, &a->option));
    }
    take_devices(w);
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

/* If the text so far has such degrees, by any name, and no dp. */
static void add_derived(struct buffer *out)
{
    static const char *const degrees[] = {DEGREES_BESIDE_DP};
    struct sweep *sweep = NULL;
    struct space *space = NULL;
    struct error e = ERROR_INIT;
    bool has[LENGTH(degrees)] = {false};
    size_t index;
    if (sweep_parse("sweep.toml", out->data, out->length, &sweep, &e) == 0 &&
        space_build(sweep, &(struct space_options){0}, &space, &e) == 0 &&
        names_resolve(&space->names, "dp", &index) == RESOLVED_UNKNOWN)
        for (size_t i = 0; i < LENGTH(degrees); i++)
            has[i] = names_resolve(&space->names, degrees[i], &index) == RESOLVED_KEY;
    OWNED char *derived = new_sweep_derived(has);
    if (derived)
        buffer_printf(out, "\n%s", derived);
    space_free(space);
    sweep_free(sweep);
}

static void add_profiles(struct buffer *out, const struct drafted *w, const struct log_readers *log)
{
    const char *by_name = w->inputs.profile, *deepspeed = w->ds_config ? "deepspeed" : NULL;
    if (log->profile)
        log_readers_add_toml(log, deepspeed, out);
    else if (by_name && deepspeed && strcmp(by_name, deepspeed) != 0)
        buffer_printf(out,
                      "# the second is recognized by the names of the command's options\n"
                      "profile = [\"%s\", \"%s\"]\n",
                      deepspeed, by_name);
    else if (by_name)
        buffer_printf(out, "# recognized by the names of the command's options\nprofile = \"%s\"\n", by_name);
    else if (deepspeed)
        buffer_printf(out, "profile = \"%s\"\n", deepspeed);
}

/* Paths in a sweep file begin where the file stands. */
static void add_base(struct buffer *out, const struct drafted *w, const char *before, const char *path)
{
    OWNED char *beside = path_beside(w->new_sweep->path, path), *absolute = path_absolute(path);
    buffer_add_toml_string(out, before, path_is_same(beside, path) ? path : absolute, "\n");
}

static void add_file(struct buffer *out, const struct drafted *w, const struct command_file *file)
{
    buffer_printf(out, "\n# Each job gets a copy of this file, {file.%s}, with its own values of the axes below.\n",
                  file->name);
    buffer_add_toml_string(out, "[[job.file]]\npath = ", file->name, "\n");
    add_base(out, w, "base = ", file->path);
    buffer_add_text(out, "[job.file.set]\n");
    for (const struct new_axis *a = w->axes; a < w->axes + w->axis_count; a++)
        if (a->place.file == file) {
            buffer_add_json_string(out, a->place.path, strlen(a->place.path));
            buffer_printf(out, " = \"%s\"\n", a->key);
        }
}

static void add_files(struct buffer *out, const struct drafted *w)
{
    for (size_t i = 0; i < w->files.count; i++)
        if (w->files.items[i]->is_swept)
            add_file(out, w, w->files.items[i]);
    if (w->ds_config)
        add_base(out, w,
                 "\n# Each job gets a copy of this file, {ds_config}, with its own values of the axes below.\n"
                 "[deepspeed]\nconfig = ",
                 w->ds_config);
}

int new_sweep_add_toml(const struct new_sweep *n, struct buffer *out, struct error *e)
{
    static const struct log_readers none = {.path = ""};
    const struct log_readers *log = n->log ? n->log : &none;
    struct drafted w = {.new_sweep = n};
    if (take_command(&w, e) < 0) {
        arena_free(&w.arena);
        return -1;
    }
    buffer_add_text(out, "# Written by meshsweep init. To see what it would run: meshsweep plan. All keys: man 5 "
                         "meshsweep.\n");
    add_profiles(out, &w, log);
    buffer_add_text(out, "\n[sweep]\nname = ");
    buffer_add_json_string(out, n->name, strlen(n->name));
    buffer_printf(out, "\nobjective = \"%s\"%s\n\n", log->objective ? log->objective : "min:duration",
                  log->objective ? ""
                  : w.inputs.profile || w.ds_config
                      ? "   # or a metric that the profile reads, such as \"min:step_time\""
                      : "   # until the script reports something better");
    add_command(out, &w);
    if (n->log && !log->profile)
        log_readers_add_toml(log, NULL, out);
    add_files(out, &w);
    int rc = add_sections(out, &w, e);
    if (rc == 0)
        add_derived(out);
    buffer_add_text(out, w.devices || count_device_axes(&w) ? "" : about_devices);
    buffer_add_text(out, about_rules);
    arena_free(&w.arena);
    return rc;
}
