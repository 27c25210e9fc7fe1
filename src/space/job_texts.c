#include "space/job_texts.h"

#include <stdlib.h>
#include <string.h>

#include "util/memory.h"

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

static int add_placeholder(struct space *space, const char *name, bool is_derived, size_t index)
{
    for (size_t i = 0; i < space->placeholder_count; i++)
        if (space->placeholders[i].is_derived == is_derived && space->placeholders[i].index == index)
            return (int)i;
    bool is_bool = !is_derived && space->names.keys[index].is_bool;
    space->placeholders = array_grow(space->placeholders, space->placeholder_count, sizeof *space->placeholders);
    space->placeholders[space->placeholder_count] = (struct placeholder){xstrdup(name), index, is_derived, is_bool};
    return (int)space->placeholder_count++;
}

static int resolve(struct space *space, const char *name, const struct position *at, struct problems *problems)
{
    size_t index = 0;
    enum resolution found = names_resolve(&space->names, name, &index);
    if (found == RESOLVED_KEY || found == RESOLVED_DERIVED)
        return add_placeholder(space, name, found == RESOLVED_DERIVED, index);
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
    problems_add(problems, *at, "%s placeholder {%s}%s; write {{%s} for the text itself",
                 found == RESOLVED_AMBIGUOUS ? "ambiguous" : "unknown", name, hint, name);
    free(hint);
    return 0;
}

static void find_spots(struct job_text *t)
{
    struct shell_line line = SHELL_LINE_INIT;
    const struct template_part *parts = t->template.parts;
    t->spots = xcalloc(t->template.count, sizeof *t->spots);
    for (size_t i = 0; i < t->template.count; i++) {
        const bool has_before = i > 0 && !parts[i - 1].is_placeholder;
        const bool has_after = i + 1 < t->template.count && !parts[i + 1].is_placeholder;
        if (parts[i].is_placeholder)
            t->spots[i] =
                shell_line_put(&line, has_before ? parts[i - 1].text : "", has_after ? parts[i + 1].text : "");
        else
            shell_line_read(&line, parts[i].text);
    }
}

static struct job_text compile(struct space *space, struct template parsed, const struct position *at,
                               struct problems *problems)
{
    struct job_text t = {.template = parsed};
    t.slots = xcalloc(t.template.count, sizeof *t.slots);
    for (size_t i = 0; i < t.template.count; i++)
        if (t.template.parts[i].is_placeholder)
            t.slots[i] = resolve(space, t.template.parts[i].text, at, problems);
        else
            space->needs_job_dir |= strstr(t.template.parts[i].text, "MESHSWEEP_JOB_DIR") != NULL;
    return t;
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

static void free_text(struct job_text *t)
{
    template_free(&t->template);
    free_all(t->slots, t->spots);
}

void job_texts_free(struct space *space)
{
    for (size_t i = 0; i < space->command_count; i++)
        free_text(&space->command[i]);
    for (size_t i = 0; space->environment && i < space->sweep->job.environment_count; i++)
        free_text(&space->environment[i]);
    free_text(&space->directory);
    for (size_t i = 0; i < space->placeholder_count; i++)
        free(space->placeholders[i].name);
    free_all(space->command, space->environment, space->placeholders);
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

static void add_runtime(const struct job_text *t, size_t part, const char *text, struct buffer *out)
{
    if (t->spots && !t->template.parts[part].is_raw)
        shell_add_value(out, text, t->spots[part]);
    else
        buffer_add_text(out, text);
}

void job_text_render(const struct job_text *t, const struct value *values, const char *const *runtime,
                     struct buffer *out)
{
    for (size_t i = 0; i < t->template.count; i++) {
        if (!t->template.parts[i].is_placeholder)
            buffer_add_text(out, t->template.parts[i].text);
        else if (t->slots[i] >= 0)
            add_value(t, i, &values[t->slots[i]], out);
        else if (runtime && runtime[-t->slots[i]])
            add_runtime(t, i, runtime[-t->slots[i]], out);
        else
            template_add_part(&t->template.parts[i], out);
    }
}
