#include "space/build.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "database/function.h"
#include "database/guard.h"
#include "join/combinations.h"
#include "predict/input_table.h"
#include "space/compile.h"
#include "space/elasticity.h"
#include "space/job_texts.h"
#include "space/memory_order.h"
#include "space/space.h"
#include "sweep_file/model_info_sweep.h"
#include "util/embedded.h"
#include "util/memory.h"
#include "util/parse.h"
#include "util/suggest.h"

/* Derived keys that every sweep has. A key of the same name in a spec wins. */
static const struct {
    const char *name, *expression;
} builtin_derived[] = {
    {"nodes", "coalesce(num_hosts, cluster_spec.num_nodes, 1)"},
    {"gpus_per_node", "coalesce(num_devices_per_host, cluster_spec.devices_per_node, 1)"},
    {"gpus", "coalesce(num_hosts, cluster_spec.num_nodes, cluster_spec.nodes, 1) * "
             "coalesce(num_devices_per_host, cluster_spec.gpus_per_node, cluster_spec.devices_per_node, 1)"},
};

/* A sweep without clusters runs on one host with one device; spelling that out makes the same jobs. */
static char *default_cluster_keys[] = {(char *)"num_devices_per_host", (char *)"num_hosts"};
static struct value one[] = {{VALUE_INT, 1, 0, NULL}};
static struct axis default_cluster_axes[] = {
    {&default_cluster_keys[0], 1, one, 1, {"", 0, 0}, false, NULL},
    {&default_cluster_keys[1], 1, one, 1, {"", 0, 0}, false, NULL},
};
static struct block default_cluster = {default_cluster_axes, 2, {"", 0, 0}};

static struct sweep with_default_cluster(const struct sweep *s)
{
    struct sweep view = *s;
    if (view.sections[SECTION_CLUSTER].block_count == 0)
        view.sections[SECTION_CLUSTER] = (struct section){&default_cluster, 1};
    return view;
}

static bool is_key_somewhere(const struct names *n, const char *name)
{
    return ANY(i, n->key_count, strcmp(n->keys[i].name, name) == 0);
}

static void derive_one(struct names *n, const char *name, const char *expression)
{
    struct expression x;
    struct error ignored = ERROR_INIT;
    size_t index;
    if (!is_key_somewhere(n, name) && names_resolve(n, name, &index) == RESOLVED_UNKNOWN &&
        expression_resolve(n, expression, UNKNOWN_IS_NULL, &x, &ignored) == 0)
        names_add_derived(n, name, &x, true);
}

static void derive_builtin(struct names *n)
{
    for (size_t i = 0; i < LENGTH(builtin_derived); i++)
        derive_one(n, builtin_derived[i].name, builtin_derived[i].expression);
}

/* Derives what follows from `gpus` once the sweep file may have said what that is: degrees multiply to whole
 * devices. */
static void derive_shares(struct names *n, int64_t jobs_per_device)
{
    OWNED char *share = xasprintf("CASE WHEN gpus > 0 AND gpus < 1 THEN gpus WHEN gpus = 1 THEN 1.0 / %lld ELSE 1 END",
                                  (long long)(jobs_per_device > 1 ? jobs_per_device : 1));
    derive_one(n, "whole_gpus", "CASE WHEN gpus > 0 AND gpus < 1 THEN 1 ELSE gpus END");
    derive_one(n, "device_share", share);
}

/* Degrees, batches and sizes are known to rules by every name by which predictions know them: a tp_size that is
 * predicted with is one that heads must divide by. */
static void add_common(struct names *n)
{
    static const char *const read_by_rules[] = {"dp",         "tp",           "pp",
                                                "vpp",        "cp",           "ep",
                                                "etp",        "micro_batch",  "gradient_accumulation",
                                                "layers",     "hidden",       "heads",
                                                "seq",        "ffn",          "vocab",
                                                "zero_stage", "global_batch", "experts",
                                                "kv_heads",   "head_dim"};
    for (size_t i = 0; i < LENGTH(read_by_rules); i++)
        names_add_common(n, read_by_rules[i], inputs[input_find(read_by_rules[i])].names + 1);
}

static bool is_among(const char *const *names, const char *name)
{
    while (*names && strcmp(*names, name) != 0)
        names++;
    return *names != NULL;
}

static void refuse_doubles_of_input(const struct block *b, const struct axis *file, const char *const *others,
                                    struct problems *problems)
{
    for (size_t a = 0; a < b->axis_count; a++)
        for (size_t k = 0; k < b->axes[a].key_count && !b->axes[a].is_from_file; k++)
            if (is_among(others, b->axes[a].keys[k]))
                problems_add(problems, b->axes[a].at, "`%s` is `%s`, which hf_config says; write `%s` to override it",
                             b->axes[a].keys[k], file->keys[0], file->keys[0]);
}

/* Predictions read the name that a file has, and would pass over what a person wrote by another. */
static void refuse_doubles_of_files(const struct sweep *s, struct problems *problems)
{
    const struct section *models = &s->sections[SECTION_MODEL];
    for (struct axis_place at = AXES_OF(SECTION_MODEL); sweep_next_axis(s, &at);) {
        size_t input = at.axis->is_from_file ? input_find(at.axis->keys[0]) : INPUT_COUNT;
        if (input < INPUT_COUNT)
            refuse_doubles_of_input(&models->blocks[at.block], at.axis, inputs[input].names + 1, problems);
    }
}

/* Returns whether the key is that name, or has it among what it is a synonym of. */
static bool means(const struct names *n, const struct key *key, const char *name)
{
    if (strcmp(key->name, name) == 0)
        return true;
    for (size_t i = 0; i < n->synonym_count; i++)
        for (char **other = n->synonyms[i].keys; strcmp(n->synonyms[i].name, key->name) == 0 && *other; other++)
            if (strcmp(*other, name) == 0)
                return true;
    return false;
}

static void add_constant(struct names *n, const struct space_constant *c)
{
    bool known = false;
    for (size_t k = 0; k < n->key_count; k++) {
        struct key *key = &n->keys[k];
        if (!means(n, key, c->name))
            continue;
        known = true;
        if (key->is_nullable && !key->otherwise)
            key->otherwise = arena_text(n->arena, c->sql);
    }
    if (!known)
        names_add_derived(n, c->name, &(struct expression){.sql = arena_text(n->arena, c->sql)}, true);
}

/* A fact that is not known is NULL to rules, and no prediction is made from it. */
static void add_facts(struct space *space, const double *facts)
{
    for (int i = 0; i < FACT_COUNT; i++) {
        OWNED_BUFFER sql = BUFFER_INIT;
        if (isnan(facts[i]))
            buffer_add_text(&sql, FACT_UNKNOWN);
        else
            buffer_add_double(&sql, facts[i]);
        add_constant(&space->names, &(struct space_constant){(char *)model_fact_names[i], sql.data});
    }
}

static void add_base(struct space *space, const struct space_base *base)
{
    space->has_base = base != NULL;
    if (!base)
        return;
    space->base_hash = base->hash;
    for (size_t i = 0; i < base->count; i++)
        add_constant(&space->names, &base->constants[i]);
}

static void derive_declared(struct space *space, struct problems *problems)
{
    const struct sweep *s = space->sweep;
    for (size_t i = 0; i < s->derived_count; i++) {
        const struct derived *d = &s->derived[i];
        struct expression x = {.sql = FACT_UNKNOWN};
        if (is_key_somewhere(&space->names, d->name)) {
            problems_add(problems, d->at, "derived key `%s` is also a key of a spec; rename one", d->name);
            continue;
        }
        const struct source_text source = {d->expression, unknown_at(space, &d->at), &d->at, "derived key", d->name,
                                           NULL};
        /* An error in it is reported once, here, and not again where it is used. */
        compile_expression(space, &source, &x, problems);
        names_add_derived(&space->names, d->name, &x, false);
    }
}

/* --- inert keys --- */

/* Returns whether the entry speaks of that key: by its name, in any section, or as what the name resolves to. */
static bool names_key(const struct names *n, const struct inert *entry, size_t key)
{
    size_t index;
    if (strcmp(n->keys[key].name, entry->key) == 0)
        return true;
    return names_resolve(n, entry->key, &index) == RESOLVED_KEY && index == key;
}

static void compile_entry(struct space *space, const struct inert *entry, struct problems *problems)
{
    struct expression x;
    const struct source_text source = {entry->condition, unknown_at(space, &entry->at),
                                       &entry->at,       "inert key",
                                       entry->key,       NULL};
    bool known = false;
    if (compile_expression(space, &source, &x, problems) < 0)
        return;
    for (size_t k = 0; k < space->names.key_count; k++) {
        if (!names_key(&space->names, entry, k))
            continue;
        known = true;
        *arena_add(&space->arena, space->inert, space->inert_count) =
            (struct space_inert){k, arena_keep(&space->arena, xasprintf("(%s IS TRUE)", x.sql))};
    }
    if (!known && !sweep_in_profile(space->sweep, &entry->at) && !names_excused(&space->names, entry->key)) {
        OWNED char *hint = names_hint(&space->names, entry->key, NULL, 0);
        problems_add(problems, entry->at, "[inert]: no spec has the key `%s`%s", entry->key, hint);
    }
}

/* Fills space->inert. A condition that does not resolve, and an entry of a sweep file that names no key, are added to
 * `problems`. */
static void inert_compile(struct space *space, struct problems *problems)
{
    for (size_t i = 0; i < space->sweep->inert_count; i++)
        compile_entry(space, &space->sweep->inert[i], problems);
}

/* --- limits --- */

#define DEFAULT_TIMEOUT_MS 600000

/* A degree is given: the combination binds a parallel plan. */
static const char manual_plan[] = "coalesce(dp, tp, pp, op, mp, cp) IS NOT NULL";

/* duration_ms(X): what an expression says, in milliseconds. A text that only looks like a number of seconds to SQLite
 * ('10m' is 10 to it) must not become one. */
static int duration_ms(void *context, const struct sql_value *arguments, int count, int64_t *out, struct error *e)
{
    const struct sql_value *a = arguments;
    (void)context;
    if (count != 1)
        return error_set(e, ERROR_USAGE, "duration_ms takes one argument");
    double seconds = a->type == COLUMN_INT ? (double)a->integer : a->type == COLUMN_FLOAT ? a->real : 0;
    if (a->type == COLUMN_TEXT && !parse_duration_ms(a->text, out))
        return error_set(e, ERROR_USAGE,
                         "'%s' is not a duration; write seconds as a number, or for example '90s' or '1h30m'", a->text);
    if (a->type != COLUMN_TEXT)
        *out = seconds <= 0 ? 0 : seconds < 1e12 ? (int64_t)llround(seconds * 1000) : INT64_MAX;
    return a->type != COLUMN_NULL;
}

int limits_add_function(struct db *db, struct error *e)
{
    return db_add_function(db, "duration_ms", duration_ms, NULL, e);
}

static double seconds_of(const char *text)
{
    int64_t ms;
    return parse_duration_ms(text, &ms) ? (double)ms / 1000 : (double)NAN;
}

/* Slurm's own letters are powers of 1024. */
static double mebibytes_of(const char *text)
{
    static const char letters[] = "KMGT";
    const char *unit = text + strspn(text, "0123456789."), *letter = strchr(letters, *unit);
    int64_t bytes;
    if (*unit && letter && !unit[1])
        return ldexp(strtod(text, NULL), 10 * (int)(letter - letters - 1));
    return parse_size_bytes(text, &bytes) ? (double)bytes / 1048576 : (double)NAN;
}

/* The text with numbers that have a unit ("10m"), which SQL knows none of, as what `measure` makes of them. The
 * caller's. */
static char *with_units(const char *text, double (*measure)(const char *text))
{
    struct buffer b = BUFFER_INIT;
    for (const char *at = text; *at;) {
        size_t length = strspn(at, "0123456789.");
        const bool begins = length > 0 && (at == text || (!isalnum((unsigned char)at[-1]) && at[-1] != '_'));
        size_t whole = length;
        while (begins && isalnum((unsigned char)at[whole]))
            whole++;
        OWNED char *word = xasprintf("%.*s", (int)whole, at);
        const double value = whole > length && isalpha((unsigned char)at[whole - 1]) ? measure(word) : (double)NAN;
        if (*at == '\'' || *at == '"')
            length = strcspn(at + 1, *at == '"' ? "\"" : "'") + 2;
        whole = !isnan(value) ? whole : length > 0 ? length : 1;
        if (!isnan(value))
            buffer_add_double(&b, value);
        else
            buffer_add(&b, at, strnlen(at, whole));
        at += strnlen(at, whole);
    }
    return buffer_take(&b);
}

static char *limit_sql(const char *text)
{
    int64_t ms;
    if (parse_duration_ms(text, &ms))
        return xasprintf("%lld", (long long)ms);
    OWNED char *in_seconds = with_units(text, seconds_of);
    return xasprintf("duration_ms(%s)", in_seconds);
}

/* Limits may read these values of the attempt to be made: those of the first one, and over results.db, whose row of the
 * job is `j`. Failures that a host or the batch system was to blame for do not count. */
#define CHARGED                                                                                                        \
    "FROM attempt WHERE job_id = j.id AND kind = 'trial' AND state = 'failed' AND blame IS NULL"                       \
    " AND failure NOT IN ('lost', 'cancelled')"
static const struct {
    const char *name, *of_first, *of_later;
} of_attempt[] = {
    {"attempt", "1", "(SELECT 1 + count(*) " CHARGED ")"},
    {"last_failure", "''", "coalesce((SELECT failure " CHARGED " ORDER BY number DESC LIMIT 1), '')"},
};

/* They are names while limits are compiled only. Keys of those names come first. */
static size_t add_attempt_names(struct names *n, bool of_first)
{
    size_t added = 0;
    for (size_t i = 0; i < LENGTH(of_attempt); i++) {
        const struct expression x = {.sql = of_first ? of_attempt[i].of_first : of_attempt[i].of_later};
        if (is_key_somewhere(n, of_attempt[i].name))
            continue;
        names_add_derived(n, of_attempt[i].name, &x, true);
        added++;
    }
    return added;
}

/* Fills `first` and, where that is another, `*later`. */
static void compile_limit(struct space *space, const struct source_text *source, struct expression *first,
                          const char **later, struct problems *problems)
{
    struct names *n = &space->names;
    struct expression x;
    struct error ignored = ERROR_INIT;
    size_t added = add_attempt_names(n, true);
    int rc = compile_expression(space, source, first, problems);
    n->derived_count -= added;
    added = add_attempt_names(n, false);
    if (rc == 0 && expression_resolve(n, source->text, UNKNOWN_IS_NULL, &x, &ignored) == 0 &&
        strcmp(x.sql, first->sql) != 0)
        *later = x.sql;
    n->derived_count -= added;
}

static void compile_memory(struct space *space, struct problems *problems)
{
    const struct batch_config *c = &space->sweep->batch;
    const struct position *at = &space->sweep->batch.memory_at;
    if (!batch_memory_varies(c))
        return;
    OWNED char *own = with_units(c->memory, mebibytes_of);
    struct expression first;
    const struct source_text source = {own,      unknown_at(space, at),
                                       at,       c->name ? "[executor]" : "[slurm]",
                                       "memory", "; write a size as \"512M\" or \"64G\""};
    compile_limit(space, &source, &first, &space->memory, problems);
}

static void compile_given(struct space *space, struct problems *problems)
{
    const struct job_config *job = &space->sweep->job;
    const struct {
        const char *text, *name;
        const struct position *at;
    } limits[LIMIT_COUNT] = {
        [LIMIT_TOTAL] = {job->timeout, "timeout", &job->timeout_at},
        [LIMIT_IDLE] = {job->idle_timeout, "idle_timeout", &job->idle_timeout_at},
        [LIMIT_STARTUP] = {job->startup_timeout, "startup_timeout", &job->startup_timeout_at},
    };
    for (int i = 0; i < LIMIT_COUNT; i++) {
        OWNED char *own = limits[i].text ? limit_sql(limits[i].text) : NULL;
        const struct source_text source = {own,
                                           unknown_at(space, limits[i].at),
                                           limits[i].at,
                                           "[job]",
                                           limits[i].name,
                                           "; write a duration as \"90s\", \"10m\" or \"1h30m\""};
        if (own)
            compile_limit(space, &source, &space->limits[i].expression, &space->limits[i].later, problems);
    }
}

static char *with_manual(struct space *space, const char *sql, const char *manual, int64_t manual_ms)
{
    return arena_keep(&space->arena,
                      xasprintf("CASE WHEN %s THEN %lld ELSE %s END", manual, (long long)manual_ms, sql));
}

/* Without a word from the file every job has a limit: a sweep must not wait for ever on one of them. */
static void add_manual_limit(struct space *space, int64_t manual_timeout_ms)
{
    struct space_limit *total = &space->limits[LIMIT_TOTAL];
    if (total->expression.sql && !manual_timeout_ms)
        return;
    OWNED char *automatic = xasprintf("%d", DEFAULT_TIMEOUT_MS);
    const char *own = total->expression.sql ? total->expression.sql : automatic;
    struct expression manual;
    if (expression_resolve(&space->names, manual_plan, UNKNOWN_IS_NULL, &manual, NULL) == 0) {
        const int64_t ms = manual_timeout_ms ? manual_timeout_ms : DEFAULT_TIMEOUT_MS;
        total->expression.sql = with_manual(space, own, manual.sql, ms);
        total->later = total->later ? with_manual(space, total->later, manual.sql, ms) : NULL;
    }
}

/* Fills space->limits. An expression's number is seconds, its text a duration ("10m"), its NULL no limit. What does not
 * resolve is added to `problems`; -1 only when SQLite itself fails. */
static int limits_compile(struct space *space, int64_t manual_timeout_ms, struct problems *problems, struct error *e)
{
    if (limits_add_function(space->db, e) < 0)
        return -1;
    compile_given(space, problems);
    compile_memory(space, problems);
    add_manual_limit(space, manual_timeout_ms);
    return 0;
}

/* --- rules --- */

static struct space_rule *find_rule(struct space *space, const char *name)
{
    return FIND(i, space->rule_count, strcmp(space->rules[i].name, name) == 0, &space->rules[i]);
}

/* One of the same name is replaced where it stands. */
static void put_rule(struct space *space, struct space_rule r)
{
    struct space_rule *old = find_rule(space, r.name);
    *(old ? old : arena_add(&space->arena, space->rules, space->rule_count)) = r;
}

static bool has_one_of(const struct names *n, char *alternatives)
{
    size_t index;
    char *rest = NULL;
    for (char *name = strtok_r(alternatives, "|", &rest); name; name = strtok_r(NULL, "|", &rest))
        if (names_resolve(n, name, &index) != RESOLVED_UNKNOWN)
            return true;
    return false;
}

/* Returns whether the sweep has the keys without which a built-in rule says nothing. */
static bool has_needed(const struct names *n, const char *needs)
{
    bool all = true;
    char *copy = xstrdup(needs), *rest = NULL;
    for (char *word = strtok_r(copy, " ", &rest); word; word = strtok_r(NULL, " ", &rest))
        all = all && has_one_of(n, word);
    free(copy);
    return all;
}

/* Rules over predictions are costly: they come after all others, and look at what those leave. */
static const char by_prediction[] = "[predict]";

static bool is_by_prediction(const struct stmt *row)
{
    return strcmp(stmt_text(row, 5), by_prediction) == 0;
}

/* A prediction excludes a job only where the sweep asks for it; a job that may not fit runs last unless pruning is
 * off. */
static bool may_prune(const struct space_prediction *p, bool excludes)
{
    bool by_estimate = p->prune == PRUNE_CERTAIN || p->prune == PRUNE_RISKY;
    return p->asked && p->knows_capacity && (excludes ? by_estimate : p->prune != PRUNE_OFF);
}

static void add_builtin(struct space *space, const struct stmt *row, struct problems *problems)
{
    struct space_rule r = {0};
    const char *name = stmt_text(row, 0), *require = stmt_text(row, 1);
    const struct source_text source = {require, UNKNOWN_IS_NULL, NULL, "built-in rule", name, NULL};
    bool excludes = strcmp(stmt_text(row, 4), "warn") != 0;
    bool applies =
        is_by_prediction(row) ? may_prune(&space->prediction, excludes) : has_needed(&space->names, stmt_text(row, 5));
    if (word_list_has(&space->sweep->disabled_rules, name) || !applies ||
        (is_by_prediction(row) && find_rule(space, name)) ||
        compile_expression(space, &source, &r.accepts, problems) < 0)
        return;
    r.name = arena_text(&space->arena, name);
    r.require = arena_text(&space->arena, require);
    r.reason = arena_text(&space->arena, stmt_text(row, 2));
    r.source = arena_text(&space->arena, stmt_text(row, 3));
    r.warning = !excludes;
    r.is_costly = is_by_prediction(row);
    put_rule(space, r);
}

/* Returns whether it holds for that release; 0: the newest. */
static bool holds_for(const struct stmt *row, int64_t version)
{
    int64_t since = 0, until = 0;
    if (stmt_type(row, 7) != COLUMN_NULL)
        parse_release(stmt_text(row, 7), false, &since);
    if (stmt_type(row, 8) != COLUMN_NULL)
        parse_release(stmt_text(row, 8), true, &until);
    return version ? version >= since && (!until || version <= until) : !until;
}

static int add_builtins(struct space *space, bool predicting, struct problems *problems, struct error *e)
{
    struct stmt *s = NULL;
    int rc;
    while ((rc = db_next(space->db,
                         "SELECT name, require, reason, source, level, needs, rule_set, since, until FROM builtin_rule"
                         " ORDER BY position",
                         NO_VALUES, &s, e)) > 0)
        if (is_by_prediction(s) == predicting && holds_for(s, space->sweep->deepspeed.version) &&
            (stmt_type(s, 6) == COLUMN_NULL || word_list_has(&space->sweep->rule_sets, stmt_text(s, 6))))
            add_builtin(space, s, problems);
    return rc;
}

static void add_declared(struct space *space, const struct rule *rule, struct problems *problems)
{
    struct space_rule r = {0};
    if (word_list_has(&space->sweep->disabled_rules, rule->name))
        return;
    r.require =
        arena_keep(&space->arena, rule->when ? xasprintf("CASE WHEN (%s) THEN (%s) END", rule->when, rule->require)
                                             : xstrdup(rule->require));
    const struct source_text source = {r.require, unknown_at(space, &rule->at), &rule->at, "rule", rule->name, NULL};
    if (compile_expression(space, &source, &r.accepts, problems) < 0)
        return;
    r.name = arena_text(&space->arena, rule->name);
    r.reason = arena_text(&space->arena, rule->why);
    r.source = arena_text(&space->arena, rule->source);
    r.warning = rule->warning;
    put_rule(space, r);
}

/* A command that says {tp} cannot be written for a plan that binds none. */
static void add_binding(struct space *space, const struct placeholder *p)
{
    struct space_rule r = {0};
    const struct key *key = p->is_derived ? NULL : &space->names.keys[p->index];
    if (p->is_optional || (key && !key->is_nullable))
        return;
    struct error ignored = ERROR_INIT;
    r.require = arena_keep(&space->arena, xasprintf("\"%s\" IS NOT NULL", p->name));
    const struct source_text source = {r.require, UNKNOWN_IS_ERROR, NULL, "placeholder", p->name, NULL};
    if (compile_alone(space, &source, &r.accepts, &ignored) < 0)
        return;
    r.name = arena_keep(&space->arena, xasprintf("binds-%s", p->name));
    r.reason = arena_keep(&space->arena, xasprintf("the job's command, environment or directory uses {%s}, which this "
                                                   "combination does not set; "
                                                   "{%s?} leaves it out there",
                                                   p->name, p->name));
    r.source = arena_text(&space->arena, "[job]");
    put_rule(space, r);
}

/* Every word of `list` must be one of `known`. */
static void check_known(const struct word_list *list, const struct string_list *known, const char *where,
                        struct problems *problems)
{
    for (size_t i = 0; i < list->count; i++) {
        const struct listed_word *word = &list->items[i];
        struct suggestion meant = SUGGEST(word->text, k, known->count, known->items[k]);
        if (!meant.is_same && !problems_excused(problems, word->text))
            problems_add(problems, word->at, "[sweep] %s `%s`%s", where, word->text,
                         suggest_between(&meant, " (did you mean `", "`?)"));
    }
}

static int check_lists(const struct space *space, struct problems *problems, struct error *e)
{
    const struct sweep *s = space->sweep;
    OWNED_LIST names = STRING_LIST_INIT, sets = STRING_LIST_INIT;
    if (db_query_texts(space->db, "SELECT name FROM builtin_rule", NO_VALUES, &names, e) < 0 ||
        db_query_texts(space->db, "SELECT DISTINCT rule_set FROM builtin_rule WHERE rule_set IS NOT NULL", NO_VALUES,
                       &sets, e) < 0)
        return -1;
    for (size_t i = 0; i < s->rule_count; i++)
        string_list_add(&names, xstrdup(s->rules[i].name));
    check_known(&s->disabled_rules, &names, "disable_rules: there is no rule", problems);
    check_known(&s->rule_sets, &sets, "rule_sets: there is no rule set", problems);
    return 0;
}

/* Rules of rule sets are most of all, and reading them would take most of the time that a small sweep takes. */
static int read_builtins(struct space *space, bool with_sets, struct error *e)
{
    if (db_exec(space->db, embedded_text("sql/rules.sql"), e) < 0)
        return -1;
    return with_sets ? db_exec(space->db, embedded_text("sql/deepspeed_rules.sql"), e) : 0;
}

/* Fills space->rules: the built-in ones, then those of profiles and file, then one per placeholder that some spec
 * does not bind. A rule of the same name replaces; a disabled one is left out; a name in disable_rules that no rule
 * has, and one in rule_sets that is not a set, are problems. What does not resolve is added to `problems`; -1 only when
 * SQLite itself fails. */
static int rules_compile(struct space *space, struct problems *problems, struct error *e)
{
    const struct sweep *s = space->sweep;
    const bool names_any = s->rule_sets.count > 0 || s->disabled_rules.count > 0;
    if (read_builtins(space, names_any, e) < 0 || add_builtins(space, false, problems, e) < 0)
        return -1;
    for (size_t i = 0; i < s->rule_count; i++)
        add_declared(space, &s->rules[i], problems);
    for (size_t i = 0; i < space->placeholder_count; i++)
        add_binding(space, &space->placeholders[i]);
    if (add_builtins(space, true, problems, e) < 0)
        return -1;
    return names_any ? check_lists(space, problems, e) : 0;
}

/* --- sections and all that is compiled --- */

/* Ranks are 63 bits. */
static int declare_sections(struct space *space, const struct sweep *view, struct problems *problems, struct error *e)
{
    int64_t product = 1;
    bool fits = true;
    for (int i = 0; i < SECTION_COUNT; i++) {
        space->specs[i] = specs_create(view, &space->names, (enum section_kind)i, problems);
        space->counts[i] = specs_count(space->specs[i]);
        if (space->counts[i] && specs_add_table(space->specs[i], space->db, e) < 0)
            return -1;
        fits = fits && space->counts[i] < INT64_MAX &&
               (!space->counts[i] || !__builtin_mul_overflow(product, space->counts[i], &product));
    }
    if (!fits)
        problems_add(problems, (struct position){.file = view->path},
                     "the product of the sections exceeds 2^63 combinations; split the sweep");
    return 0;
}

static void relate_sections(struct space *space)
{
    for (int i = 0; i < SECTION_COUNT; i++) {
        size_t count;
        const struct spec_block *blocks = specs_blocks(space->specs[i], &count);
        relation_make(&space->arena, blocks, count, &space->names, (enum section_kind)i, &space->relations[i]);
    }
}

/* All that can be wrong with expressions is found without looking at a combination. */
static int compile_all(struct space *space, const struct space_options *options, struct problems *problems,
                       struct error *e)
{
    const struct source_text devices = {"whole_gpus", UNKNOWN_IS_NULL, NULL, "key", "gpus", NULL};
    derive_declared(space, problems);
    derive_shares(&space->names, space->sweep->local.jobs_per_device);
    inert_compile(space, problems);
    if (prediction_compile(space, problems, e) < 0)
        return -1;
    job_texts_compile(space, options->command, options->command_is_line, problems);
    order_compile(space, problems);
    if (rules_compile(space, problems, e) < 0 || limits_compile(space, options->manual_timeout_ms, problems, e) < 0)
        return -1;
    compile_expression(space, &devices, &space->devices, problems);
    return 0;
}

static int build(struct space *space, const struct space_options *options, struct problems *problems, struct error *e)
{
    const struct sweep *s = space->sweep;
    const struct sweep view = with_default_cluster(s);
    if (db_open(NULL, DB_TEMPORARY, &space->db, e) < 0 || elasticity_add_function(space->db, e) < 0 ||
        layouts_add_functions(space->db, e) < 0)
        return -1;
    refuse_doubles_of_files(s, problems);
    names_collect(&view, &space->arena, &space->names, problems);
    add_common(&space->names);
    derive_builtin(&space->names);
    add_base(space, options->base);
    if (s->model_info.given)
        add_facts(space, options->facts ? options->facts : s->model_info.facts);
    if (evaluator_create(&space->names, space->db, &space->evaluator, e) < 0 ||
        declare_sections(space, &view, problems, e) < 0 || compile_all(space, options, problems, e) < 0)
        return -1;
    space->names.problems = NULL;
    if (problems->found > 0)
        return 0;
    if (!options->is_single)
        relate_sections(space);
    formulas_make(space);
    guard_limit_values(space->db);
    return 0;
}

int space_build_noting(const struct sweep *s, const struct space_options *options, struct problems *problems,
                       struct space **out, struct error *e)
{
    struct space *space = xcalloc(1, sizeof *space);
    space->sweep = s;
    int rc = build(space, options, problems, e);
    if (rc < 0 || problems->found > 0) {
        space_free(space);
        space = NULL;
    }
    if (rc == 0)
        *out = space;
    return rc;
}

int space_build(const struct sweep *s, const struct space_options *options, struct space **out, struct error *e)
{
    OWNED_BY(problems_free) struct problems problems = PROBLEMS_INIT;
    struct space *space = NULL;
    int rc = space_build_noting(s, options, &problems, &space, e) < 0 ? -1 : problems_report(&problems, s->files, e);
    if (rc == 0)
        *out = space;
    return rc;
}

void space_release(struct space **at)
{
    space_free(*at);
}

void space_free(struct space *space)
{
    if (!space)
        return;
    formulas_free(space);
    order_free(space);
    free(space->job_ranks);
    db_close(space->db);
    for (int i = 0; i < SECTION_COUNT; i++)
        specs_free(space->specs[i]);
    evaluator_free(space->evaluator);
    predictor_free(space->prediction.predictor);
    arena_free(&space->arena);
    free(space);
}

int64_t space_combinations(const struct space *space)
{
    int64_t product = 1;
    if (space->of_jobs)
        return space->job_count;
    for (int i = 0; i < SECTION_COUNT; i++)
        product *= space->counts[i] ? space->counts[i] : 1;
    return product;
}

void space_add_from(const struct space *space, unsigned sections, struct buffer *sql)
{
    const char *word = " FROM ";
    for (int i = 0; i < SECTION_COUNT; i++)
        if (space->counts[i] && (sections & 1U << i)) {
            buffer_printf(sql, "%s\"%s\"", word, section_names[i]);
            word = " CROSS JOIN ";
        }
    buffer_add_text(sql, " WHERE true");
}

void space_read_keys(const struct space *space, int64_t rank, struct datum *keys)
{
    int64_t specs[SECTION_COUNT];
    combination_split(space->counts, rank, specs);
    for (size_t k = 0; k < space->names.key_count; k++) {
        const enum section_kind section = space->names.keys[k].section;
        keys[k] = specs_datum_of(specs_value(space->specs[section], specs[section], k));
    }
}
