#include "space/rules.h"

#include <stdlib.h>
#include <string.h>

#include "space/compile.h"
#include "util/embedded.h"
#include "util/memory.h"
#include "util/parse.h"
#include "util/suggest.h"

static struct space_rule *find_rule(struct space *space, const char *name)
{
    for (size_t i = 0; i < space->rule_count; i++)
        if (strcmp(space->rules[i].name, name) == 0)
            return &space->rules[i];
    return NULL;
}

static void release(struct space_rule *r)
{
    free(r->name);
    free(r->require);
    free(r->reason);
    free(r->source);
    expression_free(&r->accepts);
}

/* Takes `r` over; one of the same name is replaced where it stands. */
static void put(struct space *space, struct space_rule r)
{
    struct space_rule *old = find_rule(space, r.name);
    if (old) {
        release(old);
        *old = r;
        return;
    }
    space->rules = array_grow(space->rules, space->rule_count, sizeof *space->rules);
    space->rules[space->rule_count++] = r;
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

/* Whether the sweep has the keys without which a built-in rule says nothing. */
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

/* What is predicted excludes only where the sweep asks for it; what may not fit runs last unless pruning is off. */
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
    r.name = xstrdup(name);
    r.require = xstrdup(require);
    r.reason = xstrdup(stmt_text(row, 2));
    r.source = xstrdup(stmt_text(row, 3));
    r.warning = !excludes;
    r.is_costly = is_by_prediction(row);
    put(space, r);
}

/* Whether it holds for that release; 0: the newest. */
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
    if (db_prepare(space->db,
                   "SELECT name, require, reason, source, level, needs, rule_set, since, until FROM builtin_rule"
                   " ORDER BY position",
                   &s, e) < 0)
        return -1;
    int rc;
    while ((rc = stmt_next(s, e)) > 0)
        if (is_by_prediction(s) == predicting && holds_for(s, space->sweep->deepspeed.version) &&
            (stmt_type(s, 6) == COLUMN_NULL || word_list_has(&space->sweep->rule_sets, stmt_text(s, 6))))
            add_builtin(space, s, problems);
    stmt_free(s);
    return rc;
}

static void add_declared(struct space *space, const struct rule *rule, struct problems *problems)
{
    struct space_rule r = {0};
    if (word_list_has(&space->sweep->disabled_rules, rule->name))
        return;
    char *require =
        rule->when ? xasprintf("CASE WHEN (%s) THEN (%s) END", rule->when, rule->require) : xstrdup(rule->require);
    const struct source_text source = {require, unknown_at(space, &rule->at), &rule->at, "rule", rule->name, NULL};
    if (compile_expression(space, &source, &r.accepts, problems) < 0) {
        free(require);
        return;
    }
    r.name = xstrdup(rule->name);
    r.require = require;
    r.reason = xstrdup(rule->why);
    r.source = xstrdup(rule->source);
    r.warning = rule->warning;
    put(space, r);
}

/* A command that says {tp} cannot be written for a plan that binds none. */
static void add_binding(struct space *space, const struct placeholder *p)
{
    struct space_rule r = {0};
    const struct key *key = p->is_derived ? NULL : &space->names.keys[p->index];
    if (key && !key->is_nullable)
        return;
    struct error ignored = ERROR_INIT;
    char *require = xasprintf("\"%s\" IS NOT NULL", p->name);
    const struct source_text source = {require, UNKNOWN_IS_ERROR, NULL, "placeholder", p->name, NULL};
    if (compile_alone(space, &source, &r.accepts, &ignored) < 0) {
        free(require);
        return;
    }
    r.name = xasprintf("binds-%s", p->name);
    r.require = require;
    r.reason = xasprintf("the job's command, environment or directory uses {%s}, which this combination does not set",
                         p->name);
    r.source = xstrdup("[job]");
    put(space, r);
}

/* The texts that a query over builtin_rule gives, with `spare` unused places behind them. */
static const char **builtin_texts(const struct space *space, const char *sql, size_t spare, size_t *count)
{
    struct stmt *s = NULL;
    struct error ignored = ERROR_INIT;
    const char **texts = xcalloc(spare + 1, sizeof *texts);
    *count = 0;
    if (db_prepare(space->db, sql, &s, &ignored) < 0)
        return texts;
    while (stmt_next(s, &ignored) > 0) {
        texts = xreallocarray(texts, *count + 1 + spare, sizeof *texts);
        texts[(*count)++] = xstrdup(stmt_text(s, 0));
    }
    stmt_free(s);
    return texts;
}

/* Every word of `list` must be one of `known`. */
static void check_known(const struct word_list *list, const char *const *known, size_t count, const char *where,
                        struct problems *problems)
{
    for (size_t i = 0; i < list->count; i++) {
        const struct listed_word *word = &list->items[i];
        const char *near = suggest_nearest(word->text, known, count);
        if ((!near || strcmp(near, word->text) != 0) && !problems_excused(problems, word->text))
            problems_add(problems, word->at, "[sweep] %s `%s`%s%s%s", where, word->text, near ? " (did you mean `" : "",
                         near ? near : "", near ? "`?)" : "");
    }
}

static void check_lists(const struct space *space, struct problems *problems)
{
    const struct sweep *s = space->sweep;
    size_t rules, sets;
    const char **names = builtin_texts(space, "SELECT name FROM builtin_rule", s->rule_count, &rules);
    const char **known =
        builtin_texts(space, "SELECT DISTINCT rule_set FROM builtin_rule WHERE rule_set IS NOT NULL", 0, &sets);
    for (size_t i = 0; i < s->rule_count; i++)
        names[rules + i] = s->rules[i].name;
    check_known(&s->disabled_rules, names, rules + s->rule_count, "disable_rules: there is no rule", problems);
    check_known(&s->rule_sets, known, sets, "rule_sets: there is no rule set", problems);
    for (size_t i = 0; i < rules; i++)
        free((char *)names[i]);
    for (size_t i = 0; i < sets; i++)
        free((char *)known[i]);
    free(names);
    free(known);
}

/* Rules of rule sets are most of all, and reading them would take most of the time that a small sweep takes. */
static int read_builtins(struct space *space, bool with_sets, struct error *e)
{
    if (db_exec(space->db, embedded_text("sql/rules.sql"), e) < 0)
        return -1;
    return with_sets ? db_exec(space->db, embedded_text("sql/deepspeed_rules.sql"), e) : 0;
}

int rules_compile(struct space *space, struct problems *problems, struct error *e)
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
    if (names_any)
        check_lists(space, problems);
    return 0;
}

void rules_free(struct space *space)
{
    for (size_t i = 0; i < space->rule_count; i++)
        release(&space->rules[i]);
    free(space->rules);
}
