#include "config/declared_secrets.h"

#include "config/template.h"

static void add_parts(struct secrets *s, const char *value)
{
    struct template t = template_parse(value);
    for (size_t i = 0; i < t.count; i++)
        if (!t.parts[i].is_placeholder)
            secrets_add(s, t.parts[i].text);
    template_free(&t);
}

void declared_secrets_add_command(struct secrets *s, char *const *words)
{
    struct secrets found = {.names = s->names};
    secrets_add_command(&found, words);
    for (size_t i = 0; i < found.count; i++) {
        secrets_add(s, found.values[i]);
        add_parts(s, found.values[i]);
    }
    secrets_free(&found);
}

void declared_secrets_add(struct secrets *s, const struct sweep *sweep)
{
    s->names = sweep->job.secrets;
    if (sweep->job.command.words)
        declared_secrets_add_command(s, sweep->job.command.words);
    for (size_t i = 0; i < sweep->job.environment_count; i++) {
        const struct setting *setting = &sweep->job.environment[i];
        if (!secrets_match_name(setting->name, sweep->job.secrets)) {
            declared_secrets_add_command(s, (char *const[]){setting->value, NULL});
            continue;
        }
        secrets_add_escaped(s, setting->value);
        add_parts(s, setting->value);
    }
}
