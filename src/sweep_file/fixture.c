#include <string.h>

#include "config/template.h"
#include "sweep_file/schema.h"
#include "util/memory.h"

#define DEFAULT_TIMEOUT_MS 600000 /* a large model takes minutes to load */
#define DEVICES_OF_ITS_OWN_MOST 1024

#define AT(member) offsetof(struct fixture, member)
#define COMMAND (TYPE_STRING | TYPE_STRINGS)

static const struct schema_key ready_keys[] = {
    {.name = "port", TYPE_BOOL, DEFAULTS, FORM_BOOL, AT(ready_port)},
    {.name = "regex", TYPE_STRING, DEFAULTS, FORM_REGEX, AT(ready_regex)},
    {.name = "command", COMMAND, DEFAULTS, FORM_COMMAND, AT(ready)},
};
static const struct schema schema_ready = {"[fixture.ready]", SCHEMA_KEYS(ready_keys)};

static void read_ready(const struct reading *r, const struct toml_node *node)
{
    struct fixture *f = r->into;
    f->is_server = true;
    if (node->kind != NODE_TABLE) {
        read_command(r, node, &f->ready);
        return;
    }
    struct found found = schema_match(&schema_ready, r, node);
    if (schema_take(r, &found, f) && !f->ready_port && !f->ready_regex && !f->ready.words)
        problem_at_value(r, node, "ready says nothing to wait for; give port = true, a regex or a command");
}

static const struct entries variable_entries = {ENTRIES(fixture, environment, environment_count, struct setting),
                                                .good_name = check_variable_name, .value = read_variable};

static const struct schema_key fixture_keys[] = {
    {.name = "name", TYPE_STRING, DEFAULTS, FORM_TEXT, AT(name), .required = true},
    {.name = "per", TYPE_STRINGS, DEFAULTS, FORM_KEYS, AT(per)},
    {.name = "start", COMMAND, DEFAULTS, FORM_COMMAND, AT(start), .required = true},
    {.name = "ready", COMMAND | TYPE_TABLE, DEFAULTS, .read = read_ready, .of = &schema_ready},
    {.name = "timeout", TYPE_TIME, DEFAULTS, FORM_DURATION, AT(timeout_ms)},
    {.name = "between", COMMAND, DEFAULTS, FORM_COMMAND, AT(between)},
    {.name = "stop", COMMAND, DEFAULTS, FORM_COMMAND, AT(stop)},
    {.name = "keep", TYPE_TIME, DEFAULTS, FORM_DURATION, AT(keep_ms)},
    {.name = "devices", TYPE_INT, DEFAULTS, FORM_COUNT, AT(devices), 0, DEVICES_OF_ITS_OWN_MOST},
    {.name = "env", TYPE_TABLE, DEFAULTS, .entries = &variable_entries},
    {.name = "cwd", TYPE_STRING, DEFAULTS, FORM_TEMPLATE, AT(directory)},
};
/* It is part of a placeholder, {fixture.NAME.port}. */
static void check_name(const struct reading *r, const struct toml_node *node)
{
    const struct sweep *s = r->sweep;
    if ((*node->text && !template_is_name(node->text)) || strchr(node->text, '.'))
        problem_at_value(r, node,
                         "\"%s\" cannot be the name of a fixture; take letters, digits, \"_\" and \"-\", with a "
                         "letter first",
                         node->text);
    for (size_t i = 0; i < s->fixture_count; i++)
        if (strcmp(s->fixtures[i].name, node->text) == 0)
            problem_at_value(r, node, "there is a fixture \"%s\" already (%s:%d)", node->text, s->fixtures[i].at.file,
                             s->fixtures[i].at.line);
}

/* Refuses what only a server has. */
static void check_kind(const struct reading *r, const struct found *found, const struct fixture *f)
{
    static const char *const of_servers[] = {"between", "stop", "keep"};
    for (size_t i = 0; i < LENGTH(of_servers); i++) {
        const struct toml_node *node = found_key(found, of_servers[i]);
        if (node && !f->is_server)
            problem_at_key(r, node,
                           "%s is for a fixture that stays up; without ready this one is a set-up step, which ends "
                           "before its jobs",
                           node->key);
    }
}

static void read_fixture(const struct reading *r, struct found *found)
{
    struct sweep *s = r->sweep;
    struct fixture f = {.timeout_ms = DEFAULT_TIMEOUT_MS, .devices = -1, .at = reading_at_value(r, found->table)};
    schema_take(r, found, &f);
    if (found_key(found, "name"))
        check_name(r, found_key(found, "name"));
    check_kind(r, found, &f);
    if (f.name && f.start.words)
        *arena_add(r->arena, s->fixtures, s->fixture_count) = f;
}

const struct schema schema_fixture = {"[[fixture]]", SCHEMA_KEYS(fixture_keys), read_fixture};
