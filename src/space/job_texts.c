#include "space/job_texts.h"

#include <stdlib.h>
#include <string.h>

#include "expression/expression.h"
#include "files/document.h"
#include "space/build.h"
#include "space/compile.h"
#include "store/jobs.h"
#include "util/file.h"
#include "util/memory.h"
#include "util/string_list.h"
#include "util/suggest.h"

static const char *const runtime_names[RUNTIME_COUNT] = {
    [RUNTIME_NONE] = "",
    [RUNTIME_JOB_DIR] = "job_dir",
    [RUNTIME_JOB_KEY] = "job_key",
    [RUNTIME_ATTEMPT] = "attempt",
    [RUNTIME_CONFIG_DIR] = "config_dir",
    [RUNTIME_MASTER_PORT] = "master_port",
    [RUNTIME_DEVICES] = "devices",
    [RUNTIME_HOSTS] = "hosts",
    [RUNTIME_DS_CONFIG] = "ds_config",
    [RUNTIME_DS_CONFIG_BASE64] = "ds_config_base64",
};

#define FIXTURE_PLACEHOLDER "fixture."

static enum runtime_name runtime_by_name(const char *name)
{
    const size_t found = FIRST(i, RUNTIME_COUNT, strcmp(runtime_names[i], name) == 0);
    return found < RUNTIME_COUNT ? (enum runtime_name)found : RUNTIME_NONE;
}

/* The place in space->placeholders of a key or derived key. `is_optional`: it may be NULL there. */
static int add_placeholder(struct space *space, const char *name, bool is_derived, size_t index, bool is_optional)
{
    const struct key *key = is_derived ? NULL : &space->names.keys[index];
    for (size_t i = 0; i < space->placeholder_count; i++)
        if (space->placeholders[i].is_derived == is_derived && space->placeholders[i].index == index) {
            space->placeholders[i].is_optional &= is_optional;
            return (int)i;
        }
    *arena_add(&space->arena, space->placeholders, space->placeholder_count) =
        (struct placeholder){arena_text(&space->arena, name),
                             index,
                             is_derived,
                             key && key->is_bool,
                             key && key->has_list,
                             is_optional};
    return (int)space->placeholder_count - 1;
}

/* The path of a file that the job is given. */
static int resolve_file(const struct space *space, const char *name, const struct position *at,
                        struct problems *problems)
{
    const struct job_config *job = &space->sweep->job;
    struct suggestion meant = SUGGEST(name, i, job->file_count, job->files[i].name);
    const size_t found = FIRST(i, job->file_count, strcmp(job->files[i].name, name) == 0);
    if (!meant.is_same && !problems_excused(problems, name))
        problems_add(problems, *at, "placeholder {file.%s}: no [[job.file]] has that name%s", name,
                     suggest_hint(&meant));
    return found < job->file_count ? -(int)RUNTIME_FILE(found) : 0;
}

/* {fixture.NAME.port} and {fixture.NAME.dir}. */
static int resolve_fixture(const struct space *space, const char *name, const struct position *at,
                           struct problems *problems)
{
    const struct sweep *sweep = space->sweep;
    const char *begin = name + strlen(FIXTURE_PLACEHOLDER), *dot = strchr(begin, '.');
    const size_t length = dot ? (size_t)(dot - begin) : strlen(begin);
    OWNED_BUFFER names = BUFFER_INIT;
    size_t i = FIRST(k, sweep->fixture_count,
                     strncmp(sweep->fixtures[k].name, begin, length) == 0 && !sweep->fixtures[k].name[length]);
    const bool is_port = dot && strcmp(dot, ".port") == 0, is_dir = dot && strcmp(dot, ".dir") == 0;
    for (size_t k = 0; k < sweep->fixture_count; k++)
        buffer_printf(&names, "%s%s", k ? ", " : "; the fixtures are ", sweep->fixtures[k].name);
    if (i == sweep->fixture_count)
        problems_add(problems, *at, "placeholder {%s}: there is no fixture \"%.*s\"%s", name, (int)length, begin,
                     names.length ? buffer_text(&names) : "; declare it with [[fixture]]");
    else if (!is_port && !is_dir)
        problems_add(problems, *at, "placeholder {%s}: of a fixture there are {fixture.%s.port} and {fixture.%s.dir}",
                     name, sweep->fixtures[i].name, sweep->fixtures[i].name);
    return -(int)(RUNTIME_FIXTURE(space, i) + is_dir);
}

static int resolve(struct space *space, const struct template_part *part, const struct position *at,
                   struct problems *problems)
{
    size_t index = 0;
    const char *name = part->text;
    enum resolution found = names_resolve(&space->names, name, &index);
    if (found == RESOLVED_UNKNOWN && strncmp(name, FIXTURE_PLACEHOLDER, strlen(FIXTURE_PLACEHOLDER)) == 0)
        return resolve_fixture(space, name, at, problems);
    if (found == RESOLVED_KEY || found == RESOLVED_DERIVED)
        return add_placeholder(space, name, found == RESOLVED_DERIVED, index, part->option != PART_ALWAYS);
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
    OWNED char *hint = names_hint(&space->names, name, runtime_names + 1, RUNTIME_COUNT - 1);
    const bool is_known = found == RESOLVED_AMBIGUOUS || *hint, is_absent = part->option != PART_ALWAYS && !is_known;
    if (is_known)
        problems_add(problems, *at, "%s placeholder {%s}%s; write {{%s} for the text itself",
                     found == RESOLVED_AMBIGUOUS ? "ambiguous" : "unknown", name, hint, name);
    else if (!is_absent)
        problems_add(problems, *at,
                     "unknown placeholder {%s}; write {{%s} for the text itself, {%s?} for what may be absent", name,
                     name, name);
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
    for (size_t i = 0; i < space->command.count; i++)
        for (size_t k = 0; k < space->command.items[i].count; k++)
            if (space->command.items[i].parts[k].option == PART_ALWAYS)
                return;
    if (space->command.count > 0)
        problems_add(problems, *at, "every word of the command may be left out; write the program without \"?\"");
}

static void find_spots(struct template *t)
{
    struct shell_line line = SHELL_LINE_INIT;
    for (size_t i = 0; i < t->count; i++) {
        struct template_part *part = &t->parts[i];
        if (part->option == PART_OPENS || part->option == PART_CLOSES)
            continue;
        if (part->is_placeholder)
            part->spot = shell_line_put(&line, beside(t, i, -1), beside(t, i, 1));
        else
            shell_line_read(&line, part->text);
    }
}

/* A name within an optional part would be left out, or needed, by a key that is not its own. */
static void refuse_names_within(const char *text, const struct position *at, struct problems *problems)
{
    struct arena scratch = {0};
    const struct template within = template_parse(&scratch, text, false);
    for (size_t i = 0; i < within.count; i++)
        if (within.parts[i].is_placeholder)
            problems_add(problems, *at,
                         "{%s} stands within another placeholder, where only {} is replaced; write it beside that",
                         within.parts[i].text);
    arena_free(&scratch);
}

static void compile(struct space *space, struct template *t, const struct position *at, struct problems *problems)
{
    for (size_t i = 0, opened = 0; i < t->count; i++) {
        struct template_part *part = &t->parts[i];
        opened = part->option == PART_OPENS ? i : opened;
        if (!part->is_placeholder)
            space->needs_job_dir |= strstr(part->text, "MESHSWEEP_JOB_DIR") != NULL;
        if (part->is_placeholder)
            part->slot = part->option == PART_WITHIN ? t->parts[opened].slot : resolve(space, part, at, problems);
        else if (part->option == PART_WITHIN)
            refuse_names_within(part->text, at, problems);
    }
}

/* What texts are compiled for: the job, or a fixture (`of`), whose texts may use less. */
struct compiling {
    struct space *space;
    const struct space_fixture *of; /* NULL: the job */
    struct problems *problems;
};

static void check_text(const struct compiling *c, const struct template *t, const struct position *at);

/* `is_line`: it is a line for the shell. */
static struct template compile_text(const struct compiling *c, const char *text, bool is_line,
                                    const struct position *at)
{
    struct arena *arena = &c->space->arena;
    struct template t = template_parse(arena, text, is_line);
    compile(c->space, &t, at, c->problems);
    if (is_line)
        find_spots(&t);
    if (c->of)
        check_text(c, &t, at);
    return t;
}

/* The third word of a line for the shell is the line. */
static struct job_texts compile_words(const struct compiling *c, char *const *words, bool is_line,
                                      const struct position *at)
{
    struct job_texts texts = {NULL, 0, NULL};
    for (char *const *word = words; word && *word; word++) {
        const struct template t = compile_text(c, *word, is_line && texts.count == 2, at);
        *arena_add(&c->space->arena, texts.items, texts.count) = t;
    }
    return texts;
}

static struct job_texts compile_settings(const struct compiling *c, const struct setting *settings, size_t count)
{
    struct job_texts texts = {arena_keep(&c->space->arena, xcalloc(count, sizeof *texts.items)), count, settings};
    for (size_t i = 0; i < count; i++)
        texts.items[i] = compile_text(c, settings[i].value, false, &settings[i].at);
    return texts;
}

char **job_texts_command(const struct space *space)
{
    char **words = xcalloc(space->command.count + 1, sizeof *words);
    for (size_t i = 0; i < space->command.count; i++) {
        const struct template *t = &space->command.items[i];
        struct buffer word = BUFFER_INIT;
        for (size_t k = 0; k < t->count; k++)
            template_add_part(&t->parts[k], &word);
        words[i] = buffer_take(&word);
    }
    return words;
}

/* --- rendering --- */

/* The values that are put into a text. */
struct rendering {
    const struct value *values;
    const char *const *runtime;
    const struct value *element; /* stands for every value of an optional part; NULL: none does */
};

static void add_part(const struct template *t, size_t part, const struct rendering *r, struct buffer *out)
{
    const struct template_part *p = &t->parts[part];
    const bool is_quoted = t->is_line && !p->is_raw;
    OWNED_BUFFER text = BUFFER_INIT;
    if (!p->is_placeholder)
        buffer_add_text(out, p->text);
    else if (p->slot >= 0)
        value_add_text(r->element ? r->element : &r->values[p->slot], is_quoted ? &text : out);
    else if (r->runtime && r->runtime[-p->slot])
        buffer_add_text(is_quoted ? &text : out, r->runtime[-p->slot]);
    else {
        template_add_part(&(struct template_part){.text = p->text, .is_placeholder = 1, .is_raw = p->is_raw}, out);
        return;
    }
    if (p->is_placeholder && is_quoted)
        shell_add_value(out, buffer_text(&text), p->spot);
}

/* Returns the index of the last part of the optional part that begins there. */
static size_t end_of_option(const struct template *t, size_t first)
{
    size_t last = first;
    while (t->parts[first].option == PART_OPENS && t->parts[last].option != PART_CLOSES)
        last++;
    return last;
}

static bool is_absent(const struct template *t, size_t part, const struct rendering *r)
{
    const int slot = t->parts[part].slot;
    if (slot == SLOT_ABSENT)
        return true;
    return slot >= 0 ? r->values[slot].kind == VALUE_NULL : r->runtime && !r->runtime[-slot];
}

static void add_parts(const struct template *t, size_t first, size_t last, const struct rendering *r,
                      struct buffer *out)
{
    for (size_t i = first; i <= last; i++)
        if (t->parts[i].option != PART_OPENS && t->parts[i].option != PART_CLOSES)
            add_part(t, i, r, out);
}

/* Adds an optional part, with `ending` behind it; for a list once per element, unless `ending` is -1. false: it is left
 * out. */
static bool add_option(const struct template *t, size_t first, size_t last, const struct rendering *r, int ending,
                       struct buffer *out)
{
    if (is_absent(t, first, r))
        return false;
    const int slot = t->parts[first].slot;
    const struct value *value = slot >= 0 ? &r->values[slot] : NULL;
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
static size_t add_option_within(const struct template *t, size_t first, const struct rendering *r, size_t start,
                                size_t *skip, struct buffer *out)
{
    const size_t last = end_of_option(t, first);
    const struct template_part *next = last + 1 < t->count ? &t->parts[last + 1] : NULL;
    const bool is_first = out->length == start;
    const bool is_alone = (is_first || out->data[out->length - 1] == ' ') &&
                          (!next || (next->option == PART_ALWAYS && !next->is_placeholder && next->text[0] == ' '));
    const bool is_there = add_option(t, first, last, r, t->is_line && is_alone ? ' ' : -1, out);
    if (is_alone && (is_there ? t->is_line : !is_first))
        cut(out, 1);
    *skip = is_alone && !is_there && is_first && next;
    return last;
}

void job_text_render(const struct template *t, const struct value *values, const char *const *runtime,
                     struct buffer *out)
{
    const struct rendering r = {values, runtime, NULL};
    const size_t start = out->length;
    for (size_t i = 0, skip = 0; i < t->count; i++) {
        const struct template_part *part = &t->parts[i];
        if (part->option != PART_ALWAYS)
            i = add_option_within(t, i, &r, start, &skip, out);
        else if (!part->is_placeholder)
            buffer_add_text(out, part->text + skip);
        else
            add_part(t, i, &r, out);
        skip = part->option != PART_ALWAYS ? skip : 0;
    }
}

bool job_text_is_left_out(const struct template *t, const struct value *values, const char *const *runtime)
{
    const struct rendering r = {values, runtime, NULL};
    if (!t->has_options)
        return false;
    for (size_t i = 0; i < t->count; i = end_of_option(t, i) + 1)
        if (t->parts[i].option == PART_ALWAYS || !is_absent(t, i, &r))
            return false;
    return true;
}

char *job_text_text(const struct template *t, const struct value *values, const char *const *runtime)
{
    struct buffer b = BUFFER_INIT;
    job_text_render(t, values, runtime, &b);
    return t->count ? buffer_take(&b) : NULL;
}

static void add_words(const struct template *t, const struct value *values, const char *const *runtime,
                      struct buffer *out)
{
    const struct rendering r = {values, runtime, NULL};
    const size_t last = t->has_options ? end_of_option(t, 0) : 0;
    if (t->has_options && !t->is_line && t->parts[0].option && last + 1 == t->count) {
        add_option(t, 0, last, &r, '\0', out);
        return;
    }
    if (job_text_is_left_out(t, values, runtime))
        return;
    job_text_render(t, values, runtime, out);
    buffer_add_char(out, '\0');
}

void job_texts_add(const struct job_texts *texts, const struct value *values, const char *const *runtime,
                   struct buffer *out, struct string_list *unset)
{
    for (size_t i = 0; i < texts->count; i++) {
        const struct template *t = &texts->items[i];
        if (!texts->settings)
            add_words(t, values, runtime, out);
        else if (!job_text_is_left_out(t, values, runtime)) {
            buffer_printf(out, "%s=", texts->settings[i].name);
            job_text_render(t, values, runtime, out);
            buffer_add_char(out, '\0');
        } else if (unset)
            string_list_add(unset, xstrdup(texts->settings[i].name));
    }
}

char **job_texts_list(const struct job_texts *texts, const struct value *values, const char *const *runtime,
                      struct string_list *unset)
{
    OWNED_BUFFER b = BUFFER_INIT;
    struct string_list list = STRING_LIST_INIT;
    job_texts_add(texts, values, runtime, &b, unset);
    for (size_t at = 0; at < b.length; at += strlen(b.data + at) + 1)
        string_list_add(&list, xstrdup(b.data + at));
    return string_list_take(&list);
}

/* --- fixtures: compiling --- */

static bool is_per(const struct space_fixture *f, int placeholder)
{
    return ANY(i, f->config->per.count, f->per[i] == placeholder);
}

/* Checks what stands in a text of the fixture, besides keys of `per`. */
static void check_text(const struct compiling *c, const struct template *t, const struct position *at)
{
    const struct space *space = c->space;
    const struct space_fixture *f = c->of;
    struct problems *problems = c->problems;
    const int own = (int)(f->config - space->sweep->fixtures), dir = (int)RUNTIME_FIXTURE(space, own) + 1;
    for (size_t i = 0; i < t->count; i++) {
        const int slot = t->parts[i].slot;
        const char *name = t->parts[i].text;
        if (!t->parts[i].is_placeholder)
            continue;
        if (slot >= 0 && (size_t)slot < space->placeholder_count) {
            const struct placeholder *p = &space->placeholders[slot];
            if (!is_per(f, slot) &&
                (p->is_derived || specs_differ(space->specs[space->names.keys[p->index].section], p->index)))
                problems_add(problems, *at,
                             "fixture \"%s\" uses {%s}, which differs from job to job; add \"%s\" to its per",
                             f->config->name, name, name);
        } else if (-slot > dir && -slot < (int)RUNTIME_FIXTURE(space, space->sweep->fixture_count)) {
            problems_add(problems, *at, "fixture \"%s\" uses {%s}, which is started after it; declare that one first",
                         f->config->name, name);
        } else if (-slot < (int)RUNTIME_FIXTURE(space, 0) && -slot != RUNTIME_CONFIG_DIR && -slot != RUNTIME_DEVICES &&
                   slot != SLOT_ABSENT) {
            problems_add(problems, *at,
                         "fixture \"%s\" uses {%s}, which only a job has; its own directory is {fixture.%s.dir}",
                         f->config->name, name, f->config->name);
        }
    }
}

/* A key becomes a placeholder by being one. */
static void compile_per(struct space *space, struct space_fixture *f, struct problems *problems)
{
    const struct compiling c = {space, NULL, problems};
    const struct word_list *per = &f->config->per;
    f->per = arena_keep(&space->arena, xcalloc(per->count, sizeof *f->per));
    for (size_t i = 0; i < per->count; i++) {
        OWNED char *placeholder = xasprintf("{%s?}", per->items[i].text);
        struct template t = {0};
        const size_t before = problems->found;
        size_t index;
        const enum resolution found = names_resolve(&space->names, per->items[i].text, &index);
        if (found == RESOLVED_KEY || found == RESOLVED_DERIVED) {
            t = compile_text(&c, placeholder, false, &per->items[i].at);
            f->per[i] = t.parts[0].slot;
        } else if (!names_excused(&space->names, per->items[i].text)) {
            OWNED char *hint = names_hint(&space->names, per->items[i].text, NULL, 0);
            problems_add(problems, per->items[i].at, "per: there is no key \"%s\"%s", per->items[i].text, hint);
        }
        if (problems->found > before || !t.parts)
            f->per[i] = -1;
    }
}

static bool text_uses(const struct template *t, int placeholder)
{
    return ANY(i, t->count, t->parts[i].is_placeholder && t->parts[i].slot == placeholder);
}

static bool start_uses(const struct space_fixture *f, int placeholder)
{
    bool uses = text_uses(&f->directory, placeholder);
    for (size_t i = 0; i < f->words[FIXTURE_START].count; i++)
        uses |= text_uses(&f->words[FIXTURE_START].items[i], placeholder);
    for (size_t i = 0; i < f->environment.count; i++)
        uses |= text_uses(&f->environment.items[i], placeholder);
    return uses;
}

/* It would be started again for nothing. A command may read what it is given in its environment: nothing of keys. */
static void check_uses(const struct space_fixture *f, struct problems *problems)
{
    const struct word_list *per = &f->config->per;
    for (size_t i = 0; i < per->count; i++)
        if (f->per[i] >= 0 && !start_uses(f, f->per[i]))
            problems_add(problems, per->items[i].at,
                         "fixture \"%s\" is started once per value of \"%s\", but its start, env and cwd do not use "
                         "{%s}; use it there, or take it out of per",
                         f->config->name, per->items[i].text, per->items[i].text);
}

static void check_port(const struct space *space, const struct space_fixture *f, struct problems *problems)
{
    const int port = -(int)RUNTIME_FIXTURE(space, (size_t)(f->config - space->sweep->fixtures));
    if (f->config->ready_port && !start_uses(f, port))
        problems_add(problems, f->config->start.at,
                     "fixture \"%s\" is ready once its port answers, but its start does not use {fixture.%s.port}",
                     f->config->name, f->config->name);
}

static void compile_fixture(struct space *space, struct space_fixture *f, struct problems *problems)
{
    const struct fixture *c = f->config;
    const struct command_words *const commands[FIXTURE_ACTS] = {[FIXTURE_START] = &c->start,
                                                                [FIXTURE_READY] = &c->ready,
                                                                [FIXTURE_BETWEEN] = &c->between,
                                                                [FIXTURE_STOP] = &c->stop};
    const struct compiling texts = {space, f, problems};
    compile_per(space, f, problems);
    for (int act = 0; act < FIXTURE_ACTS; act++)
        f->words[act] = compile_words(&texts, commands[act]->words, commands[act]->is_line, &commands[act]->at);
    f->environment = compile_settings(&texts, c->environment, c->environment_count);
    if (c->directory)
        f->directory = compile_text(&texts, c->directory, false, &c->start.at);
    check_uses(f, problems);
    check_port(space, f, problems);
}

static void compile_fixtures(struct space *space, struct problems *problems)
{
    space->fixture_count = space->sweep->fixture_count;
    space->fixtures = arena_keep(&space->arena, xcalloc(space->fixture_count, sizeof *space->fixtures));
    for (size_t i = 0; i < space->fixture_count; i++) {
        space->fixtures[i].config = &space->sweep->fixtures[i];
        compile_fixture(space, &space->fixtures[i], problems);
    }
}

/* --- fixtures: rendering --- */

void fixture_texts_add(const struct space_fixture *f, const struct value *values, struct buffer *out)
{
    const struct job_texts *const texts[] = {&f->words[FIXTURE_START], &f->words[FIXTURE_BETWEEN], &f->environment};
    OWNED char *given = fixture_texts_given(f, values), *directory = job_text_text(&f->directory, values, NULL);
    buffer_add(out, f->config->name, strlen(f->config->name) + 1);
    buffer_add(out, given, strlen(given) + 1);
    for (size_t i = 0; i < LENGTH(texts); i++) {
        job_texts_add(texts[i], values, NULL, out, NULL);
        buffer_add_char(out, '\0');
    }
    if (directory)
        buffer_add(out, directory, strlen(directory) + 1);
}

char *fixture_texts_given(const struct space_fixture *f, const struct value *values)
{
    struct buffer b = BUFFER_INIT;
    buffer_add_char(&b, '{');
    for (size_t i = 0; i < f->config->per.count; i++) {
        const char *name = f->config->per.items[i].text;
        buffer_add_text(&b, i ? "," : "");
        buffer_add_json_string(&b, name, strlen(name));
        buffer_add_char(&b, ':');
        value_add_json(&values[f->per[i]], &b);
    }
    buffer_add_char(&b, '}');
    return buffer_take(&b);
}

char *fixture_texts_label(const struct space_fixture *f, const struct value *values)
{
    struct buffer b = BUFFER_INIT;
    buffer_add_text(&b, f->config->name);
    for (size_t i = 0; i < f->config->per.count; i++) {
        const struct value *v = &values[f->per[i]];
        buffer_printf(&b, "%s%s=", i ? ", " : " (", f->config->per.items[i].text);
        if (v->kind == VALUE_NULL)
            buffer_add_text(&b, "none");
        value_add_text(v, &b);
    }
    buffer_add_text(&b, f->config->per.count ? ")" : "");
    return buffer_take(&b);
}

/* --- fixtures: order --- */

void placeholder_add_column(const struct space *space, const struct placeholder *p, struct buffer *sql)
{
    const struct key *key = &space->names.keys[p->index];
    if (p->is_derived)
        expression_add_member(sql, "j.derived", space->names.derived[p->index].name);
    else
        expression_add_member(sql, job_spec_columns[key->section], key->name);
}

char *fixture_texts_order(const struct space *space)
{
    struct buffer sql = BUFFER_INIT, keys = BUFFER_INIT;
    if (space->fixture_count == 0)
        return NULL;
    buffer_add_text(&sql, "SELECT j.id, j.state, j.witness_id, j.held, j.due, j.aside, j.priority, j.rank, ''");
    for (size_t i = 0; i < space->fixture_count; i++) {
        const struct space_fixture *f = &space->fixtures[i];
        for (size_t k = 0; k < f->config->per.count; k++) {
            buffer_add_text(&keys, keys.length ? ", " : "");
            placeholder_add_column(space, &space->placeholders[f->per[k]], &keys);
        }
        if (f->config->per.count)
            buffer_printf(&sql, " || printf('%%020d', min(j.rank) OVER (PARTITION BY %s))", buffer_text(&keys));
    }
    buffer_add_text(&sql, " AS place" JOB_SPECS_FROM_SQL " WHERE j.sweep_id = ?1");
    buffer_free(&keys);
    return buffer_take(&sql);
}

/* --- files of jobs --- */

struct space_file {
    const struct job_file *file;
    struct template text; /* of the format "text" */
    struct doc base;      /* of others */
    int *slots;           /* per change: into space->placeholders; -1: its value is given */
    enum doc_kind *were;  /* per change: what the base has there; 0: nothing */
    struct hash128 rest;  /* of all but the values */
};

static bool has_text(const struct space_file *f)
{
    return f->file->format == FORMAT_TEXT;
}

/* --- reading --- */

static bool read_base(struct space *space, struct space_file *f, struct problems *problems)
{
    const struct job_file *file = f->file;
    const enum file_format format = (enum file_format)file->format;
    struct error why = ERROR_INIT;
    OWNED char *path = file->base ? path_beside(space->sweep->path, file->base) : xstrdup(file->path);
    const char *empty = format == FORMAT_JSON ? "{}\n" : "";
    int rc = file->base ? document_read(path, format, &f->base, &why)
                        : document_parse(path, empty, strlen(empty), format, &f->base, &why);
    if (rc < 0 && why.kind == ERROR_USAGE)
        problems_add(problems, (struct position){NULL, 0, 0}, "%s", why.text);
    else if (rc < 0)
        problems_add(problems, file->base_at, "[[job.file]] base: %s", why.text);
    else
        arena_take(&space->arena, &f->base.arena);
    return rc == 0;
}

static struct doc_change change_of(const struct file_change *c, struct value value)
{
    return (struct doc_change){c->kind, c->path, value};
}

static int derive(struct space *space, const struct job_file *file, const struct file_change *c,
                  struct problems *problems)
{
    struct expression x;
    const struct source_text source = {c->expression, UNKNOWN_IS_ERROR,
                                       &c->at,        c->kind == DOC_SET ? "[job.file.set]" : "[job.file.add]",
                                       c->path,       "; a text of its own stands in single quotes: \"'text'\""};
    if (compile_expression(space, &source, &x, problems) < 0)
        return -1;
    OWNED char *name = xasprintf("%s: %s", file->name, c->path);
    for (char *p = name; *p; p++)
        *p = strchr("\"\\'", *p) ? '_' : *p;
    names_add_derived(&space->names, name, &x, false);
    return add_placeholder(space, name, true, space->names.derived_count - 1, true);
}

static int slot_of(struct space *space, const struct job_file *file, const struct file_change *c,
                   struct problems *problems)
{
    size_t index;
    if (!c->expression)
        return -1;
    const enum resolution found = names_resolve(&space->names, c->expression, &index);
    if (found == RESOLVED_KEY || found == RESOLVED_DERIVED)
        return add_placeholder(space, c->expression, found == RESOLVED_DERIVED, index, true);
    return derive(space, file, c, problems);
}

static void compile_changes(struct space *space, struct space_file *f, struct problems *problems)
{
    const struct job_file *file = f->file;
    OWNED struct doc_change *changes = xcalloc(file->change_count + 1, sizeof *changes);
    f->slots = arena_keep(&space->arena, xcalloc(file->change_count + 1, sizeof *f->slots));
    f->were = arena_keep(&space->arena, xcalloc(file->change_count + 1, sizeof *f->were));
    OWNED_BUFFER rest = BUFFER_INIT;
    for (size_t i = 0; i < file->change_count; i++) {
        const struct file_change *c = &file->changes[i];
        changes[i] = change_of(c, c->value);
        OWNED char *why = document_refuses(&f->base, &changes[i]);
        const struct doc_node *node = document_find(&f->base, c->path);
        f->were[i] = node ? node->kind : (enum doc_kind)0;
        f->slots[i] = slot_of(space, file, c, problems);
        if (why)
            problems_add(problems, c->at, "%s", why);
    }
    document_add_rest(&f->base, changes, file->change_count, &rest);
    f->rest = hash_bytes(rest.data, rest.length);
}

static void compile_files(struct space *space, struct problems *problems)
{
    const struct job_config *job = &space->sweep->job;
    space->files = arena_keep(&space->arena, xcalloc(job->file_count + 1, sizeof *space->files));
    space->file_count = job->file_count;
    for (size_t i = 0; i < job->file_count; i++) {
        struct space_file *f = &space->files[i];
        f->file = &job->files[i];
        if (f->file->format == FORMAT_NONE) /* which is told already */
            continue;
        if (has_text(f) && f->file->text)
            f->text = compile_text(&(struct compiling){space, NULL, problems}, f->file->text, false, &f->file->text_at);
        else if (has_text(f))
            problems_add(problems, f->file->at, "a file of the format \"text\" needs text");
        else if (read_base(space, f, problems))
            compile_changes(space, f, problems);
    }
}

/* --- values --- */

static struct value value_of(const struct space_file *f, size_t change, const struct value *values)
{
    const int slot = f->slots[change];
    return document_fit(f->were[change], slot < 0 ? &f->file->changes[change].value : &values[slot]);
}

void job_files_add_identity(const struct space *space, const struct value *values, struct buffer *out)
{
    for (size_t i = 0; i < space->file_count; i++) {
        const struct space_file *f = &space->files[i];
        buffer_add(out, f->file->path, strlen(f->file->path) + 1);
        if (has_text(f))
            job_text_render(&f->text, values, NULL, out);
        else
            buffer_add(out, f->rest.bytes, sizeof f->rest.bytes);
        for (size_t c = 0; c < f->file->change_count; c++) {
            if (f->file->changes[c].kind == DOC_UNSET)
                continue;
            struct value v = value_of(f, c, values);
            value_add_json(&v, out);
            buffer_add_char(out, '\0');
            value_free(&v);
        }
    }
}

void job_files_add_common(const struct space *space, struct buffer *out)
{
    for (size_t i = 0; i < space->file_count; i++)
        buffer_add(out, space->files[i].rest.bytes, sizeof space->files[i].rest.bytes);
}

static void add_file_part(cJSON *files, const struct job_file *file, const struct file_change *c)
{
    OWNED_BUFFER said = BUFFER_INIT;
    OWNED char *what = xasprintf("%s: %s", file->path, c->path);
    if (c->expression)
        buffer_printf(&said, "{%s}", c->expression);
    else if (c->kind != DOC_UNSET)
        value_add_json(&c->value, &said);
    else
        buffer_add_text(&said, "left out");
    cJSON_AddStringToObject(files, what, buffer_text(&said));
}

void job_files_add_parts(const struct space *space, cJSON *parts)
{
    if (space->file_count == 0)
        return;
    cJSON *files = cJSON_AddObjectToObject(parts, "file");
    for (size_t i = 0; i < space->file_count; i++) {
        const struct space_file *f = &space->files[i];
        const struct job_file *file = f->file;
        char hex[HASH_HEX_BYTES];
        OWNED char *said = has_text(f) ? xstrdup(file->text)
                                       : xasprintf("%s %s", file->base ? file->base : "made", hash_hex(&f->rest, hex));
        cJSON_AddStringToObject(files, file->path, said);
        for (size_t c = 0; c < file->change_count; c++)
            add_file_part(files, file, &file->changes[c]);
    }
}

static int change_base(const struct space_file *f, const struct value *values, struct buffer *out, struct error *e)
{
    const struct job_file *file = f->file;
    OWNED struct doc_change *changes = xcalloc(file->change_count + 1, sizeof *changes);
    for (size_t i = 0; i < file->change_count; i++)
        changes[i] = change_of(&file->changes[i], value_of(f, i, values));
    int rc = document_change(&f->base, changes, file->change_count, out, e);
    for (size_t i = 0; i < file->change_count; i++)
        value_free(&changes[i].value);
    return rc;
}

int job_files_render(const struct space *space, const struct value *values, const char *const *runtime,
                     struct given_files *out, struct error *e)
{
    for (size_t i = 0; i < space->file_count; i++) {
        const struct space_file *f = &space->files[i];
        struct buffer text = BUFFER_INIT;
        if (has_text(f))
            job_text_render(&f->text, values, runtime, &text);
        else if (change_base(f, values, &text, e) < 0) {
            buffer_free(&text);
            return -1;
        }
        given_files_add(out, f->file->path, buffer_take(&text));
    }
    return 0;
}

/* --- all of them --- */

void job_texts_compile(struct space *space, char *const *command, bool is_line, struct problems *problems)
{
    const struct compiling c = {space, NULL, problems};
    const struct job_config *job = &space->sweep->job;
    struct position command_line = {"--command", 1, 1};
    const struct position *at = command ? &command_line : &job->command.at;
    space->needs_job_dir = job->make_job_dir || space->sweep->deepspeed.given;
    space->command =
        compile_words(&c, command ? command : job->command.words, command ? is_line : job->command.is_line, at);
    check_program(space, at, problems);
    space->environment = compile_settings(&c, job->environment, job->environment_count);
    space->profile = compile_words(&c, job->profile_prefix, false, &job->profile_at);
    if (job->directory)
        space->directory = compile_text(&c, job->directory, false, &job->command.at);
    compile_files(space, problems);
    compile_fixtures(space, problems);
}
