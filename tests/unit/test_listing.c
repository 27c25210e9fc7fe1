/* space: that matches are listed at the ranks and under the keys that they have always had. Jobs are recognised by
 * them, so a listing that changes makes people's jobs run again. */
#include "space_fixture.h"

#include "random_sweep.h"
#include "util/hash.h"

#define SWEEPS_PER_HASH 20
#define COMBINATIONS_MOST 40000

/* Ranks and keys of all matches of drawn sweeps (random_sweep.h), 20 a line, as the program listed them that expanded
 * every section into a table and joined those. Whoever changes what is drawn lets this test print the lines anew from
 * a commit before that change. */
static const char *const recorded[] = {
    "672f6ea369e69a9e6d58bef3377392bc", "f83393cda07fd8aa7c837775bcec63ae", "e5f60d8bf2534692479e83a891eae611",
    "489f2552da4cd7a66debef9ac4fd9487", "79229a6bcc99921797767503f5b7ccfc", "fa52d89ce76cf2b025cbc85b8fa021e1",
    "99cdfb679ad9bfac2bfb1aede4516a2b", "ad658a6e7d80f8ca10e2c04642e83d55", "8b23a660806db95a421d5c804e21d91c",
    "1af275d73e8efb0ed3f39d6062833610",
};

#define RECORDED LENGTH(recorded)

static void add_listing(struct built *b, struct buffer *out)
{
    HELD_AT(match_cursor) *c = NULL;
    const struct match *m;
    struct error e = ERROR_INIT;
    int rc = 0;
    c = match_open(b->space, NULL);
    while (rc >= 0 && (rc = match_next(c, &m, &e)) > 0) {
        buffer_add(out, &m->rank, sizeof m->rank);
        buffer_add(out, m->key.bytes, sizeof m->key.bytes);
    }
    FAIL_WHERE(rc < 0, "%s", e.text);
}

TEST(listing__drawn_sweeps__ranks_and_keys_as_recorded)
{
    for (uint64_t line = 0; line < RECORDED; line++) {
        OWNED_BUFFER listing = BUFFER_INIT;
        char hex[HASH_HEX_BYTES];
        for (uint64_t seed = 1 + line * SWEEPS_PER_HASH; seed <= (line + 1) * SWEEPS_PER_HASH; seed++) {
            OWNED char *text = draw_sweep(seed, seed % 10 == 0 ? 30 : 5);
            HELD(built) b = build_text(text);
            buffer_add(&listing, &seed, sizeof seed);
            if (space_combinations(b.space) <= COMBINATIONS_MOST)
                add_listing(&b, &listing);
        }
        const struct hash128 hash = hash_bytes(listing.data, listing.length);
        hash_hex(&hash, hex);
        if (strcmp(hex, recorded[line]) != 0)
            fail_msg("sweeps %d to %d are listed as %s, not %s", (int)(line * SWEEPS_PER_HASH + 1),
                     (int)((line + 1) * SWEEPS_PER_HASH), hex, recorded[line]);
    }
}

/* --- the configurations that come with the program --- */

static struct built build_file(const char *path)
{
    struct built b = {NULL, NULL};
    struct error e = ERROR_INIT;
    HELD(problems) problems = PROBLEMS_INIT;
    const struct space_options options = {0};
    if (sweep_read(path, &b.sweep, &problems, &e) < 0 || space_build(b.sweep, &options, &b.space, &e) < 0)
        fail_msg("%s: %s", path, e.text);
    return b;
}

/* Asks SQLite whether each combination meets all rules, one by one in the order of rank. */
static struct stmt *prepare_rules(struct built *b)
{
    OWNED_BUFFER sql = BUFFER_INIT;
    struct stmt *s = NULL;
    buffer_add_text(&sql, "SELECT true");
    for (size_t i = 0; i < b->space->rule_count; i++)
        if (!b->space->rules[i].warning)
            buffer_printf(&sql, " AND %s IS NOT FALSE", b->space->rules[i].accepts.sql);
    space_add_from(b->space, ~0U, &sql);
    FAIL_IF(db_prepare(b->space->db, buffer_text(&sql), &s, &e) < 0);
    return s;
}

static void check_file(const char *path)
{
    HELD(built) b = build_file(path);
    OWNED_STMT *rules = prepare_rules(&b);
    HELD_AT(match_cursor) *c = NULL;
    const struct match *m;
    struct error e = ERROR_INIT;
    c = match_open(b.space, NULL);
    int found = match_next(c, &m, &e);
    for (int64_t rank = 0; rank < space_combinations(b.space); rank++) {
        assert_int_equal(stmt_next(rules, &e), 1);
        bool listed = found > 0 && m->rank == rank;
        if (listed != (stmt_int(rules, 0) != 0))
            fail_msg("%s: rank %d is %slisted", path, (int)rank, listed ? "" : "not ");
        if (listed)
            found = match_next(c, &m, &e);
    }
    assert_int_equal(found, 0);
}

TEST_ROWS(listing__configs__as_one_by_one, (const char *text), {"alpa"}, {"deepspeed"}, {"huggingface"}, {"megatron"},
          {"quickstart"}, {"torch-cpu"}, {"torch-gpu"}, {"zhen"})
{
    const char *source = getenv("srcdir");
    OWNED char *path = xasprintf("%s/configs/%s.toml", source ? source : "..", row->text);
    check_file(path);
}
