/* sql/rules.sql: what each rule refuses and what it lets pass, and that no values abort one. */
#include "space_fixture.h"

#include "database/db.h"
#include "util/embedded.h"

/* Combinations of which the rule refuses so many, whatever the other rules say. */
ROWS(cases, const char *rule; int hosts, devices_per_host; const char *keys; int64_t refused) = {
    {"world-size", 1, 8, "\"(tp, pp, dp, cp)\" = [[8, 1, 1, 1], [2, 2, 2, 1], [2, 1, 2, 2], [4, 1, 1, 1]]\n", 1},
    {"world-size", 2, 4, "tp = [4, 8]\n", 1},
    {"world-size", 1, 8, "\"(pp, dp, op)\" = [[1, 8, 1], [2, 2, 2], [2, 8, 1]]\n", 1},
    {"world-size", 1, 8, "mp = [8, 4]\n", 1},
    {"world-size", 1, 8, "micro_batch = [1, 2]\n", -1}, /* not in force: the framework makes the plan */
    {"batch-triad", 1, 8, "global_batch = 64\nmicro_batch = 2\ngradient_accumulation = [4, 5]\n", 1},
    {"batch-triad", 1, 8, "global_batch = 64\nmicro_batch = 4\ndp = 4\ntp = 2\ngradient_accumulation = [4, 8]\n", 1},
    {"batch-triad", 1, 8, "global_batch = 64\nmicro_batch = 4\npp = 4\ngradient_accumulation = [8, 2]\n", 1},
    {"batch-divides", 1, 8, "global_batch = 64\nmicro_batch = [1, 8, 16, 3]\n", 2},
    {"batch-divides", 1, 8, "global_batch = 64\nmicro_batch = [16, 64]\ncp = 2\n", 1},
    {"hidden-divides-by-heads", 1, 1, "hidden = 128\nheads = [4, 8, 12]\n", 1},
    {"hidden-divides-by-heads", 1, 1, "hidden = 128\nheads = [8, 12]\nhead_dim = 16\n", 0},
    {"heads-divide-by-tp", 1, 4, "heads = 6\ntp = [1, 2, 4]\n", 1},
    {"heads-divide-by-tp", 1, 4, "heads = 6\nop = [2, 4]\n", 1},
    {"kv-heads-divide-by-tp", 1, 8, "kv_heads = 4\ntp = [2, 3, 8]\n", 1},
    {"layers-divide-by-pp", 1, 8, "layers = 12\npp = [1, 4, 5]\n", 1},
    {"layers-divide-by-pp", 1, 8, "layers = 12\npp = 4\nvpp = [1, 2, 3]\n", 1},
    {"layers-divide-by-pp", 1, 8, "layers = 13\npp = 4\nfirst_stage_layers = 1\n", 0},
    {"layers-divide-by-pp", 1, 8, "layers = 13\npp = 4\naccount_loss = [true, false]\n", 1},
    {"stages-have-layers", 1, 8, "layers = 4\npp = [4, 6, 7, 8]\n", 2},
    {"expert-ranks-divide-devices", 1, 8, "ep = [2, 4, 8]\npp = 2\n", 1},
    {"expert-ranks-divide-devices", 1, 8, "ep = 4\netp = [1, 2, 4]\n", 1},
    {"shards-divide-ranks", 2, 8, "shard_ranks = [1, 3, 8, 16, 32, -1, 0]\n", 2},
    {"shards-divide-ranks", 2, 8, "cp = 2\ntp = 2\nshard_ranks = [4, 8, 16]\n", 1},
    {"sequence-divides-by-cp", 1, 4, "seq = 1024\ncp = [1, 2, 3]\n", 1},
    {"sequence-divides-by-cp", 1, 4, "seq = 1023\ncp = 1\n", 0},
    {"sequence-divides-by-tp", 1, 4, "seq = 1022\nsequence_parallel = [true, false]\ntp = 4\n", 1},
    {"experts-divide-by-ep", 1, 4, "experts = 8\nep = [1, 2, 3]\n", 1},
    {"micro-batches-fill-pipeline", 1, 4, "pp = 4\ngradient_accumulation = [2, 4, 8]\n", 1},
    {"micro-batches-fill-pipeline", 1, 4, "pp = 1\ngradient_accumulation = 1\n", 0},
    {"tp-within-node", 2, 4, "tp = [4, 8]\n", 1},
    {"tp-within-node", 1, 8, "tp = 8\n", 0},
};
#define CASES LENGTH(cases)

static struct built build_case(size_t i, const char *sweep)
{
    char *text =
        xasprintf("[sweep]\n%s\n[cluster_spec]\nnum_hosts = %d\nnum_devices_per_host = %d\n[parallel_spec]\n%s", sweep,
                  cases[i].hosts, cases[i].devices_per_host, cases[i].keys);
    struct built b = build_text(text);
    free(text);
    return b;
}

/* -1: the rule is not in force. */
static int64_t refused_alone(const struct built *b, const struct plan *p, const char *rule)
{
    for (size_t i = 0; i < b->space->rule_count; i++)
        if (strcmp(b->space->rules[i].name, rule) == 0)
            return p->match.rules[i].alone;
    return -1;
}

TEST(rules__combinations__so_many_refused)
{
    for (size_t i = 0; i < CASES; i++) {
        HELD(built) b = build_case(i, "");
        HELD(plan) p = plan_of(&b);
        int64_t got = refused_alone(&b, &p, cases[i].rule);
        if (got != cases[i].refused)
            fail_msg("%s refuses %d, not %d, of: %s", cases[i].rule, (int)got, (int)cases[i].refused, cases[i].keys);
    }
}

TEST(rules__turned_off_by_name__refuse_nothing)
{
    for (size_t i = 0; i < CASES; i++) {
        OWNED char *off = xasprintf("disable_rules = [\"%s\"]", cases[i].rule);
        HELD(built) b = build_case(i, off);
        HELD(plan) p = plan_of(&b);
        assert_int_equal(refused_alone(&b, &p, cases[i].rule), -1);
    }
}

/* Every built-in rule but those on memory has a case: "memory." needs predictions, and is tested with them. */
TEST(rules__all_of_them__have_a_case_a_reason_and_a_source)
{
    HELD_AT(db) *db = NULL;
    OWNED_STMT *s = NULL;
    struct error e = ERROR_INIT;
    int rules = 0;
    assert_int_equal(db_open(NULL, DB_TEMPORARY, &db, &e), 0);
    assert_int_equal(db_exec(db, embedded_text("sql/rules.sql"), &e), 0);
    assert_int_equal(db_prepare(db,
                                "SELECT name, reason, source, level FROM builtin_rule WHERE name NOT LIKE 'memory.%'",
                                &s, &e),
                     0);
    while (stmt_next(s, &e) > 0) {
        size_t i = 0;
        while (i < CASES && strcmp(cases[i].rule, stmt_text(s, 0)) != 0)
            i++;
        FAIL_WHERE(i == CASES, "no case of rule %s", stmt_text(s, 0));
        assert_true(strlen(stmt_text(s, 1)) > 10 && strlen(stmt_text(s, 2)) > 5);
        rules++;
    }
    assert_true(rules > 10);
}

/* No key of a rule in force makes it fail: zeros, absent ones, texts, fractions and what no product of integers
 * holds. */
TEST_ROWS(rules__values_of_every_kind__abort_nothing, (const char *text), {"0"}, {"-1"}, {"9223372036854775807"},
          {"1.5"}, {"\"text\""}, {"1e308"}, {"true"})
{
    OWNED char **keys =
        parts_of("dp tp pp op mp cp vpp ep etp shard_ranks mtp_layers first_stage_layers account_loss "
                 "pipeline_layout global_batch micro_batch gradient_accumulation hidden heads kv_heads layers "
                 "seq experts sequence_parallel",
                 " ");
    OWNED_BUFFER text = BUFFER_INIT;
    buffer_add_text(&text, "[[parallel_spec]]\n");
    for (char **key = keys; *key; key++)
        buffer_printf(&text, "%s = %s\n", *key, row->text);
    HELD(built) b = build_text(buffer_text(&text));
    HELD(plan) p = plan_of(&b);
    assert_int_equal(p.match.combinations, 1);
}
