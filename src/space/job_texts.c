#include "space/job_texts.h"

#include <stdlib.h>
#include <string.h>

#include "util/memory.h"
#include "util/suggest.h"

static const char *const runtime_names[RUNTIME_COUNT] = {
    [RUNTIME_NONE] = "",           [RUNTIME_JOB_DIR] = "job_dir",       [RUNTIME_JOB_KEY] = "job_key",
    [RUNTIME_ATTEMPT] = "attempt", [RUNTIME_CONFIG_DIR] = "config_dir", [RUNTIME_MASTER_PORT] = "master_port",
    [RUNTIME_DEVICES] = "devices", [RUNTIME_DS_CONFIG] = "ds_config",   [RUNTIME_DS_CONFIG_BASE64] = "ds_config_base64",
};

static enum runtime_name runtime_by_name(const char *name)
{
    for (int i = 1; i < RUNTIME_COUNT; i++)
        if (strcmp(runtime_names[i], name) == 0)
            return (enum runtime_name)i;
    return RUNTIME_NONE;
}

int job_texts_add_placeholder(struct space *space, const char *name, bool is_derived, size_t index, bool is_optional)
{
    const struct key *key = is_derived ? NULL : &space->names.keys[index];
    for (size_t i = 0; i < space->placeholder_count; i++)
        if (space->placeholders[i].is_derived == is_derived && space->placeholders[i].index == index) {
            space->placeholders[i].is_optional &= is_optional;
            return (int)i;
        }
    *array_add(space->placeholders, space->placeholder_count) =
        (struct placeholder){xstrdup(name), index, is_derived, key && key->is_bool, key && key->has_list, is_optional};
    return (int)space->placeholder_count - 1;
}

/* The path of a file that the job is given. */
static int resolve_file(const struct space *space, const char *name, const struct position *at,
                        struct problems *problems)
{
    const struct job_config *job = &space->sweep->job;
    const char **names = xcalloc(job->file_count + 1, sizeof *names);
    size_t found = 0;
    for (size_t i = 0; i < job->file_count; i++)
        names[i] = job->files[i].name;
    while (found < job->file_count && strcmp(names[found], name) != 0)
        found++;
    char *hint = suggest_hint(name, names, job->file_count);
    if (found == job->file_count && !problems_excused(problems, name))
        problems_add(problems, *at, "placeholder {file.%s}: no [[job.file]] has that name%s", name, hint);
    free(hint);
    free(names);
    return found < job->file_count ? -(int)RUNTIME_FILE(found) : 0;
}

static int resolve(struct space *space, const struct template_part *part, const struct position *at,
                   struct problems *problems)
{
    size_t index = 0;
    const char *name = part->text;
    enum resolution found = names_resolve(&space->names, name, &index);
    if (found == RESOLVED_KEY || found == RESOLVED_DERIVED)
        return job_texts_add_placeholder(space, name, found == RESOLVED_DERIVED, index, part->option != PART_ALWAYS);
    if (strncmp(name, "file.", 5) == 0)
        return resolve_file(space, name + 5, at, problems);
    enum runtime_name runtime = runtime_by_name(name);
    if (names_excused(&space->names, name) && found == RESOLVED_UNKNOWN)
        return 0;
    if (runtime >= RUNTIME_DS_CONFIG && !space->sweep->deepspeed.given) {
        problems_add(problems, *at, "placeholder {%s} needs a [deepspeed] table", name);
        return 0;
    }
    if (runtime) {
        space->needs_job_dir |= runtime == RUNTIME_JOB_DIR;
        return -(int)runtime;
    }
    char *hint = names_hint(&space->names, name, runtime_names + 1, RUNTIME_COUNT - 1);
    const bool is_known = found == RESOLVED_AMBIGUOUS || *hint, is_absent = part->option != PART_ALWAYS && !is_known;
    if (is_known)
        problems_add(problems, *at, "%s placeholder {%s}%s; write {{%s} for the text itself",
                     found == RESOLVED_AMBIGUOUS ? "ambiguous" : "unknown", name, hint, name);
    else if (!is_absent)
        problems_add(problems, *at,
                     "unknown placeholder {%s}; write {{%s} for the text itself, {%s?} for what may be absent", name,
                     name, name);
    free(hint);
    return is_absent ? SLOT_ABSENT : 0;
}

/* The literal text beside a part, in front of it (-1) or behind it (1); "" for another value. */
static const char *beside(const struct template *t, size_t part, int step)
{
    for (size_t i = part + (size_t)step; i < t->count; i += (size_t)step)
        if (t->parts[i].option != PART_OPENS && t->parts[i].option != PART_CLOSES)
            return t->parts[i].is_placeholder ? "" : t->parts[i].text;
    return "";
}

/* A command that leaves out all of its words is none. */
static void check_program(const struct space *space, const struct position *at, struct problems *problems)
{
    for (size_t i = 0; i < space->command_count; i++)
        for (size_t k = 0; k < space->command[i].template.count; k++)
            if (space->command[i].template.parts[k].option == PART_ALWAYS)
                return;
    if (space->command_count > 0)
        problems_add(problems, *at, "every word of the command may be left out; write the program without \"?\"");
}

static void find_spots(struct job_text *t)
{
    struct shell_line line = SHELL_LINE_INIT;
    t->spots = xcalloc(t->template.count, sizeof *t->spots);
    for (size_t i = 0; i < t->template.count; i++) {
        const struct template_part *part = &t->template.parts[i];
        if (part->option == PART_OPENS || part->option == PART_CLOSES)
            continue;
        if (part->is_placeholder)
            t->spots[i] = shell_line_put(&line, beside(&t->template, i, -1), beside(&t->template, i, 1));
        else
            shell_line_read(&line, part->text);
    }
}

/* A name within an optional part would be left out, or needed, by a key that is not its own. */
static void refuse_names_within(const char *text, const struct position *at, struct problems *problems)
{
    struct template within = template_parse(text);
    for (size_t i = 0; i < within.count; i++)
        if (within.parts[i].is_placeholder)
            problems_add(problems, *at,
                         "{%s} stands within another placeholder, where only {} is replaced; write it beside that",
                         within.parts[i].text);
    template_free(&within);
}

static struct job_text compile(struct space *space, struct template parsed, const struct position *at,
                               struct problems *problems)
{
    struct job_text t = {.template = parsed};
    t.slots = xcalloc(t.template.count, sizeof *t.slots);
    for (size_t i = 0, opened = 0; i < t.template.count; i++) {
        const struct template_part *part = &t.template.parts[i];
        t.has_options |= part->option != PART_ALWAYS;
        opened = part->option == PART_OPENS ? i : opened;
        if (!part->is_placeholder)
            space->needs_job_dir |= strstr(part->text, "MESHSWEEP_JOB_DIR") != NULL;
        if (part->is_placeholder)
            t.slots[i] = part->option == PART_WITHIN ? t.slots[opened] : resolve(space, part, at, problems);
        else if (part->option == PART_WITHIN)
            refuse_names_within(part->text, at, problems);
    }
    return t;
}

struct job_text job_texts_compile_text(struct space *space, const char *text, const struct position *at,
                                       struct problems *problems)
{
    return compile(space, template_parse(text), at, problems);
}

/* The third word of a line for the shell is the line. */
static struct job_text compile_word(struct space *space, const char *word, bool is_line, const struct position *at,
                                    struct problems *problems)
{
    struct job_text t = compile(space, is_line ? template_parse_line(word) : template_parse(word), at, problems);
    if (is_line)
        find_spots(&t);
    return t;
}

void job_texts_compile(struct space *space, char *const *command, bool is_line, struct problems *problems)
{
    const struct job_config *job = &space->sweep->job;
    struct position command_line = {"--command", 1, 1};
    char *const *words = command ? command : job->command;
    const struct position *at = command ? &command_line : &job->command_at;
    is_line = command ? is_line : job->command_is_line;
    space->needs_job_dir = job->make_job_dir || space->sweep->deepspeed.given;
    for (; words && words[space->command_count]; space->command_count++) {
        space->command = array_grow(space->command, space->command_count, sizeof *space->command);
        space->command[space->command_count] =
            compile_word(space, words[space->command_count], is_line && space->command_count == 2, at, problems);
    }
    check_program(space, at, problems);
    space->environment = xcalloc(job->environment_count, sizeof *space->environment);
    for (size_t i = 0; i < job->environment_count; i++)
        space->environment[i] =
            compile(space, template_parse(job->environment[i].value), &job->environment[i].at, problems);
    if (job->directory)
        space->directory = compile(space, template_parse(job->directory), &job->command_at, problems);
}

char **job_texts_command(const struct space *space)
{
    char **words = xcalloc(space->command_count + 1, sizeof *words);
    for (size_t i = 0; i < space->command_count; i++) {
        const struct template *t = &space->command[i].template;
        struct buffer word = BUFFER_INIT;
        for (size_t k = 0; k < t->count; k++)
            template_add_part(&t->parts[k], &word);
        words[i] = buffer_take(&word);
    }
    return words;
}

void job_text_free(struct job_text *t)
{
    template_free(&t->template);
    free_all(t->slots, t->spots);
}

void job_texts_free(struct space *space)
{
    for (size_t i = 0; i < space->command_count; i++)
        job_text_free(&space->command[i]);
    for (size_t i = 0; space->environment && i < space->sweep->job.environment_count; i++)
        job_text_free(&space->environment[i]);
    job_text_free(&space->directory);
    for (size_t i = 0; i < space->placeholder_count; i++)
        free(space->placeholders[i].name);
    free_all(space->command, space->environment, space->placeholders);
}

/* --- rendering --- */

/* What is put into a text. */
struct rendering {
    const struct value *values;
    const char *const *runtime;
    const struct value *element; /* stands for every value of an optional part; NULL: none does */
};

static void add_quoted(const struct job_text *t, size_t part, const char *text, struct buffer *out)
{
    if (t->spots && !t->template.parts[part].is_raw)
        shell_add_value(out, text, t->spots[part]);
    else
        buffer_add_text(out, text);
}

static void add_value(const struct job_text *t, size_t part, const struct value *value, struct buffer *out)
{
    struct buffer text = BUFFER_INIT;
    if (!t->spots || t->template.parts[part].is_raw) {
        value_add_text(value, out);
        return;
    }
    value_add_text(value, &text);
    shell_add_value(out, buffer_text(&text), t->spots[part]);
    buffer_free(&text);
}

static void add_part(const struct job_text *t, size_t part, const struct rendering *r, struct buffer *out)
{
    const struct template_part *p = &t->template.parts[part];
    if (!p->is_placeholder)
        buffer_add_text(out, p->text);
    else if (t->slots[part] >= 0)
        add_value(t, part, r->element ? r->element : &r->values[t->slots[part]], out);
    else if (r->runtime && r->runtime[-t->slots[part]])
        add_quoted(t, part, r->runtime[-t->slots[part]], out);
    else
        template_add_part(&(struct template_part){p->text, 1, p->is_raw, PART_ALWAYS}, out);
}

/* Of the optional part that begins there: the index of its last. */
static size_t end_of_option(const struct job_text *t, size_t first)
{
    size_t last = first;
    while (t->template.parts[first].option == PART_OPENS && t->template.parts[last].option != PART_CLOSES)
        last++;
    return last;
}

static bool is_absent(const struct job_text *t, size_t part, const struct rendering *r)
{
    const int slot = t->slots[part];
    if (slot == SLOT_ABSENT)
        return true;
    return slot >= 0 ? r->values[slot].kind == VALUE_NULL : r->runtime && !r->runtime[-slot];
}

static void add_parts(const struct job_text *t, size_t first, size_t last, const struct rendering *r,
                      struct buffer *out)
{
    for (size_t i = first; i <= last; i++)
        if (t->template.parts[i].option != PART_OPENS && t->template.parts[i].option != PART_CLOSES)
            add_part(t, i, r, out);
}

/* An optional part, with `ending` behind it; of a list once per element, unless `ending` is -1. false: it is left
 * out. */
static bool add_option(const struct job_text *t, size_t first, size_t last, const struct rendering *r, int ending,
                       struct buffer *out)
{
    if (is_absent(t, first, r))
        return false;
    const struct value *value = t->slots[first] >= 0 ? &r->values[t->slots[first]] : NULL;
    if (ending < 0 || !value || value->kind != VALUE_JSON || value->text[0] != '[') {
        add_parts(t, first, last, r, out);
        if (ending >= 0)
            buffer_add_char(out, (char)ending);
        return true;
    }
    bool any = false;
    const char *json = value->text + 1;
    for (struct value element; value_next_element(&json, &element); any = true) {
        const struct rendering of_element = {r->values, r->runtime, &element};
        add_parts(t, first, last, &of_element, out);
        buffer_add_char(out, (char)ending);
        value_free(&element);
    }
    return any;
}

static void cut(struct buffer *out, size_t bytes)
{
    out->length -= bytes;
    out->data[out->length] = '\0';
}

/* An optional part within a text: the index of its last. Where it stands between blanks, a line has one word per
 * element of a list, and what is left out takes a blank along: `*skip` bytes of what follows. */
static size_t add_option_within(const struct job_text *t, size_t first, const struct rendering *r, size_t start,
                                size_t *skip, struct buffer *out)
{
    const size_t last = end_of_option(t, first);
    const struct template_part *next = last + 1 < t->template.count ? &t->template.parts[last + 1] : NULL;
    const bool is_first = out->length == start;
    const bool is_alone = (is_first || out->data[out->length - 1] == ' ') &&
                          (!next || (next->option == PART_ALWAYS && !next->is_placeholder && next->text[0] == ' '));
    const bool is_there = add_option(t, first, last, r, t->spots && is_alone ? ' ' : -1, out);
    if (is_alone && (is_there ? t->spots != NULL : !is_first))
        cut(out, 1);
    *skip = is_alone && !is_there && is_first && next;
    return last;
}

void job_text_render(const struct job_text *t, const struct value *values, const char *const *runtime,
                     struct buffer *out)
{
    const struct rendering r = {values, runtime, NULL};
    const size_t start = out->length;
    for (size_t i = 0, skip = 0; i < t->template.count; i++) {
        const struct template_part *part = &t->template.parts[i];
        if (part->option != PART_ALWAYS)
            i = add_option_within(t, i, &r, start, &skip, out);
        else if (!part->is_placeholder)
            buffer_add_text(out, part->text + skip);
        else
            add_part(t, i, &r, out);
        skip = part->option != PART_ALWAYS ? skip : 0;
    }
}

bool job_text_is_left_out(const struct job_text *t, const struct value *values, const char *const *runtime)
{
    const struct rendering r = {values, runtime, NULL};
    if (!t->has_options)
        return false;
    for (size_t i = 0; i < t->template.count; i = end_of_option(t, i) + 1)
        if (t->template.parts[i].option == PART_ALWAYS || !is_absent(t, i, &r))
            return false;
    return true;
}

void job_text_add_words(const struct job_text *t, const struct value *values, const char *const *runtime,
                        struct buffer *out)
{
    const struct rendering r = {values, runtime, NULL};
    const size_t last = t->has_options ? end_of_option(t, 0) : 0;
    if (t->has_options && !t->spots && t->template.parts[0].option && last + 1 == t->template.count) {
        add_option(t, 0, last, &r, '\0', out);
        return;
    }
    if (job_text_is_left_out(t, values, runtime))
        return;
    job_text_render(t, values, runtime, out);
    buffer_add_char(out, '\0');
}
