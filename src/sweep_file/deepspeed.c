#include <string.h>

#include "config/template.h"
#include "sweep_file/schema.h"
#include "util/memory.h"
#include "util/parse.h"

#define STEPS_MOST 1000000000

static const char *const auto_modes[] = {"keep", "resolve", NULL};

static void read_sections_of_user(const struct reading *r, const struct toml_node *list)
{
    struct deepspeed_settings *d = &r->sweep->deepspeed;
    for (size_t i = 0; i < list->child_count; i++)
        check_not_blank(r, &list->children[i], "sections");
    d->sections = toml_strings(r->arena, list);
}

/* A flag with or without its dashes, as it stands in files that DeepSpeed reads; without a value of its own. */
static bool is_flag(const char *text)
{
    text += strspn(text, "-");
    return *text && !strpbrk(text, " \t\r\n=");
}

static void *read_argument(const struct reading *r, const struct toml_node *node, const char *name)
{
    if (!schema_expect(r, node, name, TYPE_STRING))
        return NULL;
    if (is_flag(node->text))
        return arena_text(r->arena, node->text);
    problem_at_value(r, node, "\"%s\" is not a flag, such as \"per_device_train_batch_size\" or \"--lr\"", node->text);
    return NULL;
}

static const struct entries argument_entries = {ENTRIES(sweep, deepspeed.arguments, deepspeed.argument_count,
                                                        struct setting),
                                                .value = read_argument, .is_dotted = true};

static void read_profile_steps(const struct reading *r, const struct toml_node *list)
{
    int64_t *out = r->sweep->deepspeed.profile_steps;
    const size_t count = list->child_count;
    bool good = count == 2 || count == 3;
    for (size_t i = 0; good && i < count; i++)
        good = list->children[i].kind == NODE_INT && list->children[i].integer >= (i == 0 ? 0 : 1) &&
               list->children[i].integer <= STEPS_MOST &&
               (i == 0 || list->children[i].integer >= list->children[i - 1].integer);
    if (!good) {
        problem_at_value(r, list,
                         "profile_steps must be the first and the last step to measure, such as [3, 5]; an optional "
                         "third number is the limit of the last step if steps are short, such as [3, 8, 53]");
        return;
    }
    out[2] = 0;
    for (size_t i = 0; i < count; i++)
        out[i] = list->children[i].integer;
}

static void read_version(const struct reading *r, const struct toml_node *node)
{
    if (!parse_release(node->text, true, &r->sweep->deepspeed.version))
        problem_at_value(r, node, "version must be a release of DeepSpeed, such as \"0.14\" or \"0.14.5\"");
}

#define AT(member) offsetof(struct sweep, deepspeed.member)

/* Each of the first ones asks for it in a profile, too; its arg_mappings wait for a sweep file that has its jobs run by
 * DeepSpeed. */
enum { KEYS_THAT_ASK = 3 };

static const struct schema_key deepspeed_keys[] = {
    {.name = "config", TYPE_STRING, FILE_SWEEP, FORM_TEXT, AT(config), .where = AT(config_at)},
    {.name = "auto", TYPE_STRING, DEFAULTS, FORM_EITHER, AT(resolve_auto), 1, .choices = auto_modes},
    {.name = "sections", TYPE_STRINGS, DEFAULTS, .read = read_sections_of_user},
    {.name = "arg_mappings", TYPE_TABLE, DEFAULTS, NAMES(AT(argument_count), argument_entries, "arguments")},
    {.name = "profile_steps", TYPE_LIST, DEFAULTS, .read = read_profile_steps},
    {.name = "version", TYPE_STRING, DEFAULTS, .read = read_version},
};

static void read_deepspeed(const struct reading *r, struct found *found)
{
    struct deepspeed_settings *d = &r->sweep->deepspeed;
    bool asks = r->role != FILE_PROFILE;
    for (int k = 0; k < KEYS_THAT_ASK; k++)
        asks |= found->nodes[k] != NULL;
    if (asks) {
        d->given = true;
        d->at = reading_at_key(r, found->table);
    }
    schema_take(r, found, r->sweep);
}

const struct schema schema_deepspeed = {"[deepspeed]", SCHEMA_KEYS(deepspeed_keys), read_deepspeed};

/* The engine's timers print from the first step on, and the flops profiler slows down the step after the first one that
 * is profiled (runtime/engine.py counts from 0). A warm-up that the user chose stays. */
void finish_profile_steps(struct sweep *s)
{
    static const char *const timers[] = {"fwd", "bwd", "step"};
    const int64_t profiled = s->deepspeed.profile_steps[1] ? s->deepspeed.profile_steps[0] + 1 : 0;
    for (size_t i = 0; i < LENGTH(timers); i++) {
        struct metric *m = (struct metric *)job_find_metric(&s->job, timers[i]);
        const bool is_own = m && m->at.file && strcmp(m->at.file, s->path) == 0;
        if (m && !is_own && m->warmup < profiled)
            m->warmup = profiled;
    }
}
