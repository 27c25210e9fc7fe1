#include "draft/command_inputs.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "answers/idle_keys.h"
#include "predict/input_table.h"
#include "space/build.h"
#include "space/vocabulary.h"
#include "sweep_file/reader.h"
#include "util/buffer.h"
#include "util/embedded.h"
#include "util/memory.h"
#include "util/string_list.h"

#define FILE_NAME "sweep.toml"
#define OWN_LEAST 3 /* names that identify a framework */
#define LENGTH(array) (sizeof(array) / sizeof *(array))

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
    bool is = isalpha((unsigned char)key[0]) && key[strlen(key) - 1] != '.' && !strstr(key, "..") &&
              strspn(key, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.") == strlen(key);
    for (size_t i = 0; is && i < f->count; i++)
        is = strcmp(f->items[i].key, key) != 0;
    return is;
}

static void add_item(struct command_inputs *f, const char *key, const char *value, bool is_flag)
{
    struct buffer literal = BUFFER_INIT;
    buffer_add_toml_value(&literal, value, strlen(value));
    f->items = array_grow(f->items, f->count, sizeof *f->items);
    f->items[f->count++] =
        (struct command_input){.key = xstrdup(key), .value = buffer_take(&literal), .is_flag = is_flag};
}

/* Every setting of the script, the axes first. */
static void take_settings(const struct job_command *c, char *const *axes, struct command_inputs *out)
{
    for (; *axes; axes++) {
        char *name = xstrndup(*axes, strcspn(*axes, "=")), *key = job_command_key(name);
        const char *value = *axes + strcspn(*axes, "=");
        char *first = xstrndup(value + (*value == '='), strcspn(value + (*value == '='), ","));
        if (is_key(out, key)) {
            add_item(out, key, first, false);
            out->items[out->count - 1].is_axis = true;
        }
        free(first);
        free(key);
        free(name);
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
    free(f->items[i].key);
    free(f->items[i].value);
    memmove(&f->items[i], &f->items[i + 1], (--f->count - i) * sizeof *f->items);
}

/* Removes the items whose lines have problems; returns how many. */
static size_t remove_refused(struct command_inputs *f, const struct error *e)
{
    const char *line = e->text;
    bool *refused = xcalloc(f->count, sizeof *refused);
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
    free(refused);
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

/* What the space of the items says; false where there is none. */
static bool ask(struct command_inputs *f, const bool *stands, void (*look)(struct command_inputs *, struct space *))
{
    bool found = false, again = true;
    while (again && f->count) {
        struct buffer text = BUFFER_INIT;
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
        buffer_free(&text);
    }
    return found;
}

/* The input whose key this is; INPUT_COUNT if there is none. */
static size_t input_of(const struct space *space, const struct key *key)
{
    size_t i = 0;
    while (i < INPUT_COUNT && vocabulary_key(space, i) != key)
        i++;
    return i;
}

/* Reads the inputs of the only combination. */
static void read_inputs(struct space *space, bool *present)
{
    struct buffer sql = BUFFER_INIT;
    struct stmt *s = NULL;
    struct input_value values[INPUT_COUNT] = {0};
    buffer_add_text(&sql, "SELECT ");
    prediction_add_columns(space, &sql);
    buffer_add_text(&sql, " ");
    space_add_combination(space, 1, &sql);
    if (db_prepare(space->db, buffer_text(&sql), &s, NULL) == 0) {
        space_bind_rank(space, s, 1, 0);
        if (stmt_next(s, NULL) == 1)
            vocabulary_read_inputs(s, values);
    }
    for (size_t i = 0; i < INPUT_COUNT; i++)
        present[i] = values[i].kind != INPUT_ABSENT;
    stmt_free(s);
    buffer_free(&sql);
}

static void look_for_missing(struct command_inputs *f, struct space *space)
{
    struct buffer missing = BUFFER_INIT;
    bool present[INPUT_COUNT];
    read_inputs(space, present);
    for (size_t i = 0; i < LENGTH(stand_ins); i++)
        if (!present[stand_ins[i].input] && (stand_ins[i].input != AT_MICRO_BATCH || !present[AT_GLOBAL_BATCH]))
            buffer_printf(&missing, "%s%s", missing.length ? ", " : "", inputs[stand_ins[i].input].name);
    f->missing = present[AT_LAYERS] && present[AT_HIDDEN] ? xstrdup(buffer_text(&missing)) : NULL;
    buffer_free(&missing);
}

static bool is_own(const struct sweep *s, const char *key)
{
    bool found = false;
    for (size_t i = 0; i < s->synonym_count; i++)
        found |= strings_have(s->synonyms[i].keys, key);
    return found;
}

static void keep_read(struct command_inputs *f, struct space *space)
{
    for (size_t i = f->count; i-- > 0;) {
        size_t key;
        bool is_read = names_resolve(&space->names, f->items[i].key, &key) == RESOLVED_KEY && key_is_read(space, key);
        size_t input = is_read ? input_of(space, &space->names.keys[key]) : INPUT_COUNT;
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
    bool found = ask(f, stands, look_for_missing) && f->missing;
    for (size_t i = 0; found && i < LENGTH(stand_ins); i++)
        stands[i] = strstr(f->missing, inputs[stand_ins[i].input].name) != NULL;
    found = found && ask(f, stands, keep_read);
    bool has_model = false;
    for (size_t i = 0; found && i < f->count; i++)
        has_model |= f->items[i].is_of_model;
    while (!has_model && f->count)
        remove_item(f, f->count - 1);
}

void command_inputs_free(struct command_inputs *f)
{
    while (f->count)
        remove_item(f, f->count - 1);
    free(f->items);
    free(f->profile);
    free(f->missing);
    *f = (struct command_inputs){0};
}

/* What it reads is taken where the profile itself names at least so many. */
static void try_profile(const struct job_command *c, char *const *axes, const char *profile, size_t own_least,
                        struct command_inputs *best)
{
    struct command_inputs f = {.profile = profile ? xstrdup(profile) : NULL};
    take_settings(c, axes, &f);
    find_read(&f);
    bool is_better = f.count > best->count || (f.count == best->count && f.own_count > best->own_count);
    if (is_better && f.own_count >= own_least) {
        command_inputs_free(best);
        *best = f;
    } else {
        command_inputs_free(&f);
    }
}

void command_inputs_find(const struct job_command *c, char *const *axes, const char *profile,
                         struct command_inputs *out)
{
    *out = (struct command_inputs){0};
    try_profile(c, axes, profile, 0, out);
    for (const struct embedded_file *f = NULL; !profile && (f = embedded_next("profiles/", f));) {
        char *name = embedded_stem(f);
        try_profile(c, axes, name, OWN_LEAST, out);
        free(name);
    }
    for (size_t i = out->count; i-- > 0;)
        if (out->items[i].is_axis)
            remove_item(out, i);
}
