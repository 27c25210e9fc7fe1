#include <stdlib.h>
#include <string.h>

#include "config/template.h"
#include "sweep_file/schema.h"
#include "sweep_file/sections.h"
#include "util/memory.h"

#define DEFAULT_TIMEOUT_MS 600000 /* a large model takes minutes to load */
#define DEVICES_OF_ITS_OWN_MOST 1024

/* The one that is being read: the last. */
static struct fixture *current(const struct reading *r)
{
    return &r->sweep->fixtures[r->sweep->fixture_count - 1];
}

static void read_words(const struct reading *r, const struct toml_node *node, struct fixture_command *out)
{
    read_command(r, node, &out->words, &out->is_line, &out->at);
}

static void read_start(const struct reading *r, const struct toml_node *node)
{
    read_words(r, node, &current(r)->start);
}

static void read_between(const struct reading *r, const struct toml_node *node)
{
    read_words(r, node, &current(r)->between);
}

static void read_stop(const struct reading *r, const struct toml_node *node)
{
    read_words(r, node, &current(r)->stop);
}

static void read_probe(const struct reading *r, const struct toml_node *node)
{
    read_words(r, node, &current(r)->ready);
}

static void read_regex(const struct reading *r, const struct toml_node *node)
{
    if (check_regex(r, node, 0))
        text_replace(&current(r)->ready_regex, xstrdup(node->text));
}

static void read_port(const struct reading *r, const struct toml_node *node)
{
    current(r)->ready_port = node->integer;
}

static const struct schema_key ready_keys[] = {
    {.name = "port", TYPE_BOOL, DEFAULTS, .read = read_port},
    {.name = "regex", TYPE_STRING, DEFAULTS, .read = read_regex},
    {.name = "command", TYPE_STRING | TYPE_STRINGS, DEFAULTS, .read = read_probe},
};
const struct schema schema_ready = {"[fixture.ready]", SCHEMA_KEYS(ready_keys)};

static void read_ready(const struct reading *r, const struct toml_node *node)
{
    const struct toml_node *found[LENGTH(ready_keys)];
    struct fixture *f = current(r);
    f->is_server = true;
    if (node->kind != NODE_TABLE) {
        read_probe(r, node);
        return;
    }
    schema_match(&schema_ready, r, node, found);
    if (schema_take(&schema_ready, r, found, r->sweep) && !f->ready_port && !f->ready_regex && !f->ready.words)
        problem_at_value(r, node, "ready says nothing to wait for; give port = true, a regex or a command");
}

static void read_setting(const struct reading *r, const struct toml_node *node)
{
    struct fixture *f = current(r);
    if (!check_variable(r, node))
        return;
    *array_add(f->environment, f->environment_count) =
        (struct setting){xstrdup(node->key), constant_text(node), reading_at_key(r, node)};
}

#define AT(member) offsetof(struct fixture, member)

static const struct schema_key fixture_keys[] = {
    {.name = "name", TYPE_STRING, DEFAULTS, FORM_TEXT, AT(name), .required = true},
    {.name = "per", TYPE_STRINGS, DEFAULTS, FORM_KEYS, AT(per)},
    {.name = "start", TYPE_STRING | TYPE_STRINGS, DEFAULTS, .read = read_start, .required = true},
    {.name = "ready", TYPE_STRING | TYPE_STRINGS | TYPE_TABLE, DEFAULTS, .read = read_ready, .of = &schema_ready},
    {.name = "timeout", TYPE_TIME, DEFAULTS, FORM_DURATION, AT(timeout_ms)},
    {.name = "between", TYPE_STRING | TYPE_STRINGS, DEFAULTS, .read = read_between},
    {.name = "stop", TYPE_STRING | TYPE_STRINGS, DEFAULTS, .read = read_stop},
    {.name = "keep", TYPE_TIME, DEFAULTS, FORM_DURATION, AT(keep_ms)},
    {.name = "devices", TYPE_INT, DEFAULTS, FORM_COUNT, AT(devices), 0, DEVICES_OF_ITS_OWN_MOST},
    {.name = "env", TYPE_TABLE, DEFAULTS, .each = read_setting},
    {.name = "cwd", TYPE_STRING, DEFAULTS, FORM_TEMPLATE, AT(directory)},
};
const struct schema schema_fixture = {"[[fixture]]", SCHEMA_KEYS(fixture_keys)};

/* It is part of a placeholder, {fixture.NAME.port}. */
static void check_name(const struct reading *r, const struct toml_node *node)
{
    const struct sweep *s = r->sweep;
    if (template_name_length(node->text) != strlen(node->text) || strchr(node->text, '.'))
        problem_at_value(r, node,
                         "\"%s\" cannot be the name of a fixture; take letters, digits, \"_\" and \"-\", with a "
                         "letter first",
                         node->text);
    for (size_t i = 0; i + 1 < s->fixture_count; i++)
        if (strcmp(s->fixtures[i].name, node->text) == 0)
            problem_at_value(r, node, "there is a fixture \"%s\" already (%s:%d)", node->text, s->fixtures[i].at.file,
                             s->fixtures[i].at.line);
}

/* Refuses what only a server has. */
static void check_kind(const struct reading *r, const struct toml_node **found)
{
    static const char *const of_servers[] = {"between", "stop", "keep"};
    for (size_t i = 0; i < LENGTH(of_servers); i++) {
        const struct toml_node *node = found[schema_find(&schema_fixture, of_servers[i])];
        if (node && !current(r)->is_server)
            problem_at_key(r, node,
                           "%s is for a fixture that stays up; without ready this one is a set-up step, which ends "
                           "before its jobs",
                           node->key);
    }
}

static void release(struct fixture *f)
{
    struct fixture_command *const commands[] = {&f->start, &f->ready, &f->between, &f->stop};
    schema_release(&schema_fixture, f);
    for (size_t i = 0; i < LENGTH(commands); i++)
        strings_free(commands[i]->words);
    for (size_t i = 0; i < f->environment_count; i++)
        free_all(f->environment[i].name, f->environment[i].value);
    free_all(f->ready_regex, f->environment);
}

void fixtures_release(struct sweep *s)
{
    for (size_t i = 0; i < s->fixture_count; i++)
        release(&s->fixtures[i]);
    free(s->fixtures);
}

void read_fixture(const struct reading *r, const struct toml_node *table)
{
    struct sweep *s = r->sweep;
    const struct toml_node *found[LENGTH(fixture_keys)];
    *array_add(s->fixtures, s->fixture_count) =
        (struct fixture){.timeout_ms = DEFAULT_TIMEOUT_MS, .devices = -1, .at = reading_at_value(r, table)};
    schema_match(&schema_fixture, r, table, found);
    schema_take(&schema_fixture, r, found, current(r));
    if (found[0])
        check_name(r, found[0]);
    check_kind(r, found);
    if (!current(r)->name || !current(r)->start.words)
        release(&s->fixtures[--s->fixture_count]);
}
