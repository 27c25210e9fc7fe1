/* join: formulas against SQLite, and what is joined against every combination looked at one by one. */
#include "space_fixture.h"

#include "join/combinations.h"
#include "join/formula_tree.h"
#include "random_sweep.h"

/* --- formulas --- */

static const char *const three_axes = "[[model]]\na = [0, 1, 2, 3, 7, -4]\nb = [1, 2.5, 6, 0, 12]\n"
                                      "[[model]]\na = [3, 9007199254740993]\nt = [\"x\", \"3\"]\n"
                                      "[[parallel_spec]]\nc = [1, 2, 4, 8]\n";
static const char *const three_axes_of_integers = "[[model]]\na = [0, 1, 2, 3, 7, -4]\nb = [1, 6, 0, -12, 35]\n"
                                                  "[[model]]\na = [3, 5]\nt = [-1, 2]\n"
                                                  "[[parallel_spec]]\nc = [1, 2, 4, 9]\n";

/* Bits of enum: what SQLite says of the next combination, in the order of rank. */
static unsigned ask_sqlite(struct stmt *s)
{
    FAIL_IF(stmt_next(s, &e) != 1);
    return stmt_is_null(s, 0) ? CAN_BE_NULL : stmt_int(s, 0) ? CAN_BE_TRUE : CAN_BE_FALSE;
}

/* The keys in `bound` are known, no others. */
static void loosen(const struct built *b, unsigned bound, const struct datum *exact, struct datum *keys)
{
    for (size_t k = 0; k < b->space->names.key_count; k++)
        keys[k] = bound & 1U << k ? exact[k] : (struct datum){DATUM_UNKNOWN, {0}};
}

static struct stmt *prepare_truth(struct built *b, const char *sql)
{
    OWNED_BUFFER text = BUFFER_INIT;
    struct error e = ERROR_INIT;
    struct stmt *s = NULL;
    buffer_printf(&text, "SELECT CASE WHEN %s THEN 1 WHEN NOT %s THEN 0 END", sql, sql);
    space_add_from(b->space, ~0U, &text);
    FAIL_WHERE(db_prepare(b->space->db, buffer_text(&text), &s, &e) < 0, "%s: %s", sql, e.text);
    return s;
}

static void check_formula(struct built *b, const char *text, uint64_t seed)
{
    struct expression x = {.sql = NULL};
    struct error e = ERROR_INIT;
    FAIL_WHERE(expression_resolve(&b->space->names, text, UNKNOWN_IS_ERROR, &x, &e) < 0, "%s: %s", text, e.text);
    HELD_AT(formula) *f = formula_compile(&b->space->names, x.sql);
    OWNED_STMT *truth = prepare_truth(b, x.sql);
    size_t key_count = b->space->names.key_count;
    OWNED struct datum *exact = xcalloc(key_count, sizeof *exact), *loose = xcalloc(key_count, sizeof *loose);
    for (int64_t rank = 0; rank < space_combinations(b->space); rank++) {
        struct scope s = {exact, b->space->evaluator};
        unsigned said = ask_sqlite(truth);
        space_read_keys(b->space, rank, exact);
        if (formula_truth(f, &s) != said)
            fail_msg("%s: rank %d: %u, not %u", text, (int)rank, formula_truth(f, &s), said);
        if (rank % 7 != (int64_t)(seed % 7))
            continue;
        loosen(b, (unsigned)(seed >> 3), exact, loose);
        s = (struct scope){loose, b->space->evaluator};
        if (!(formula_truth(f, &s) & said))
            fail_msg("%s: rank %d cannot be %u with keys %x bound", text, (int)rank, said, (unsigned)(seed >> 3) & 31);
    }
}

static void check_drawn(const char *axes)
{
    static const char *const keys[] = {"a", "b", "c", "t"};
    HELD(built) b = build_text(axes);
    for (uint64_t seed = 1; seed <= (uint64_t)rounds_of(1500); seed++) {
        struct rng d = rng_stream(seed, 0);
        OWNED_BUFFER text = BUFFER_INIT;
        draw_predicate(&d, keys, 4, 0, &text);
        check_formula(&b, buffer_text(&text), seed);
    }
    for (uint64_t seed = 0; seed < 64; seed++) /* b is NULL in one block */
        check_formula(&b, "coalesce(b, t * 100) > 100", seed);
}

TEST(formula__drawn__as_sqlite_has_it_and_known_only_where_that_is_certain)
{
    check_drawn(three_axes);
    check_drawn(three_axes_of_integers);
}

TEST(formula__awkward__as_sqlite_has_it)
{
    OWNED char **texts =
        parts_of("a BETWEEN 1 AND 3 AND b = 1; NOT a = 1 OR b = 2.5; a = b = c; a < b < c; -a - -3 = 0; t; "
                 "t = 3; t > a; a IS b; a IS NOT NULL AND t IS NULL; a IN () OR b IN (2.5); "
                 "CAST(a AS TEXT) = '3'; t COLLATE NOCASE = 'X'; "
                 "CASE a WHEN 1 THEN b WHEN 3 THEN NULL ELSE c END; a / 0 IS NULL; a % 0.5 IS NULL; "
                 "9007199254740993 = a; 9007199254740992.0 < a; a * 4611686018427387904 > 0; abs(a) = 4; "
                 "min(b, 1) = 1; t || 'y' = 'xy'; a & 1; a & 6 = 2; a | c + 1 = 7; a | b & 4 = 6; "
                 "(b | 2.9) < 3; (a & t) = 1; (a | NULL) IS NULL; a << 2 > 8; 1 << a * 16 < 0; -9 >> a = -2; "
                 "a >> -62 = 0; a >> (-9223372036854775807 - 1) = -1; a << b >> c; iif(a > 1, b, c) < 3; "
                 "length(t) = 1 AND a = 3; round(b) = 3; a IS TRUE; (a > 1) IS FALSE; NOT t; a NOTNULL; "
                 "b ISNULL; a > 1 AND NOT (b > 2 OR c IN (1, 4)); 0.1 + 0.2 > 0.3; -9223372036854775808 < a; "
                 "a = 0x7; a == 7 OR a != 7; 1e3 > a; +a = a; +t = a OR + -b = c; +CAST(a AS TEXT) = '3'; "
                 "~a < 0; ~b = -3 OR ~t = -2; -~a = a + 1 AND ~-a = a - 1; (a & ~c) = 2; "
                 "~(-9223372036854775807 - 1) > a; ~NULL IS NULL; a || b = '32.5' OR c = 1; "
                 "a || '-' || c <> t || '-' || b; 2 * a || c = 2 * (a || c) OR 1 || a + c > 12; -a || c < 0; "
                 "(a + 1) || c = '41'; a || NULL IS NULL AND c > 1; a LIKE '%1' OR b = c; "
                 "t LIKE 'X' AND a = c OR NOT a LIKE 3; a NOT LIKE '1%' AND c > 1; "
                 "t LIKE 'x!%' ESCAPE '!' OR a > c; a = c LIKE 1; a < c LIKE 1 AND b > 1; "
                 "a GLOB '[13]' AND b > c; t NOT GLOB 'x*' OR a > c; '{\"k\": 3}' -> 'k' = a OR b > c; "
                 "'{\"k\": 3}' ->> 'k' = a AND b > c; CAST(b AS INTEGER) * a = c OR t = 'x'; "
                 "a = CAST(c AS TEXT) OR b > c; CAST(c AS TEXT) IN (a, 4) OR b > c; "
                 "a NOT IN (CAST(c AS TEXT), 2) AND b > 1; a BETWEEN CAST(c AS TEXT) AND '9' OR b > c; "
                 "CAST(c AS TEXT) NOT BETWEEN a AND b AND b > 1; CAST(a AS TEXT) IS NOT c OR b > c; "
                 "CASE CAST(a AS TEXT) WHEN 3 THEN b > c ELSE c = 1 END; CAST(t AS REAL) < b AND a > 1; "
                 "CAST(a AS BLOB) = '3' OR b > c; CAST(CAST(b AS INTEGER) AS TEXT) || c = '21'; "
                 "a ISNULL OR b NOTNULL = c OR a = b ISNULL OR c ISNULL NOTNULL; "
                 "a IS DISTINCT FROM b AND t IS NOT DISTINCT FROM 'x'; "
                 "a IS DISTINCT FROM TRUE OR b IS NOT DISTINCT FROM c = FALSE",
                 ";");
    HELD(built) b = build_text(three_axes);
    for (size_t i = 0; texts[i]; i++)
        check_formula(&b, texts[i], i);
}

/* An operation of SQLite's is worked out for each value of its own keys, not for each combination of the rule's. */
TEST_ROWS(formula__operations__sqlite_asked_for_their_own_keys,
          (const char *text; int64_t most; /* times; there are 34 specs of a, b and t, and four values of c */),
          {"~a + b = c", 8}, {"(a & ~b) = c", 34}, {"+a + b = c", 0}, {"a ISNULL OR b NOTNULL", 0},
          {"a IS DISTINCT FROM b OR b IS NOT DISTINCT FROM c", 0}, {"a LIKE '%1' OR b = c", 8},
          {"a NOT GLOB '1*' AND b <> c", 8}, {"CAST(b AS INTEGER) * a = c", 6}, {"CAST(a AS TEXT) = '3' AND b <> c", 8},
          {"a || '-' || b <> c", 34})
{
    HELD(built) b = build_text(three_axes);
    OWNED struct datum *keys = xcalloc(b.space->names.key_count, sizeof *keys);
    const struct scope s = {keys, b.space->evaluator};
    struct expression x = {.sql = NULL};
    struct error e = ERROR_INIT;
    assert_return_code(expression_resolve(&b.space->names, row->text, UNKNOWN_IS_ERROR, &x, &e), 0);
    HELD_AT(formula) *f = formula_compile(&b.space->names, x.sql);
    evaluator_take_count(b.space->evaluator);
    for (int64_t rank = 0; rank < space_combinations(b.space); rank++) {
        space_read_keys(b.space, rank, keys);
        formula_truth(f, &s);
    }
    int64_t asked = evaluator_take_count(b.space->evaluator);
    FAIL_WHERE(asked > row->most, "%s: SQLite was asked %lld times", row->text, (long long)asked);
}

/* --- residues --- */

#define AXES 4
static const char *const four_axes = "[[cluster_spec]]\na = [0, 1, 5, 11, -7]\nb = [3, -4, 8, 13]\n"
                                     "[[parallel_spec]]\nc = [1, 2, 6, 10]\nd = [2, -5, 2.5, 0]\n";
static const char *const four_axes_of_naturals = "[[cluster_spec]]\na = [0, 1, 5, 13]\nb = [1, 3, 4, 16]\n"
                                                 "[[parallel_spec]]\nc = [1, 2, 6, 10]\nd = [2, 5, 14]\n";

/* The truths of all combinations under one residue, by what the keys come to that are not bound. */
struct residue_truths {
    struct hash128 residue;
    struct buffer truths;
};

static struct buffer *truths_of(struct residue_truths *all, size_t *count, const struct buffer *residue)
{
    struct hash128 hash = hash_bytes(residue->data, residue->length);
    for (size_t i = 0; i < *count; i++)
        if (memcmp(&all[i].residue, &hash, sizeof hash) == 0)
            return &all[i].truths;
    all[*count] = (struct residue_truths){hash, BUFFER_INIT};
    return &all[(*count)++].truths;
}

/* Ranks that agree in what is not bound have the same number. */
static int64_t number_of_open(struct built *b, unsigned bound, int64_t rank)
{
    int64_t number = 0;
    struct datum exact[AXES];
    space_read_keys(b->space, rank, exact);
    for (size_t k = 0; k < AXES; k++)
        if (!(bound & 1U << k))
            number = 64 * number + 32 +
                     (int64_t)(2 * (exact[k].kind == DATUM_INT ? (double)exact[k].integer : exact[k].real));
    return number;
}

/* How many residues there are with these keys bound; fails where one leaves two outcomes. */
static size_t check_residues(struct built *b, const char *text, unsigned bound)
{
    struct expression x = {.sql = NULL};
    struct datum exact[AXES], loose[AXES];
    struct residue_truths seen[1024];
    struct buffer residue = BUFFER_INIT;
    struct error e = ERROR_INIT;
    size_t count = 0;
    assert_int_equal(b->space->names.key_count, AXES);
    FAIL_WHERE(expression_resolve(&b->space->names, text, UNKNOWN_IS_ERROR, &x, &e) < 0, "%s: %s", text, e.text);
    HELD_AT(formula) *f = formula_compile(&b->space->names, x.sql);
    for (int64_t rank = 0; rank < space_combinations(b->space); rank++) {
        space_read_keys(b->space, rank, exact);
        loosen(b, bound, exact, loose);
        const struct scope open = {loose, b->space->evaluator};
        const struct scope whole = {exact, b->space->evaluator};
        buffer_clear(&residue);
        formula_add_residue(f, &open, DEMAND_NOT_FALSE, &residue);
        buffer_printf(&residue, " %lld", (long long)number_of_open(b, bound, rank));
        struct buffer *truths = truths_of(seen, &count, &residue);
        char truth = formula_truth(f, &whole) == CAN_BE_FALSE ? 'f' : 't';
        if (truths->length > 0 && truths->data[0] != truth)
            fail_msg("%s: rank %d with keys %x bound", text, (int)rank, bound);
        buffer_add_char(truths, truth);
    }
    assert_false(evaluator_failed(b->space->evaluator, &e));
    for (size_t i = 0; i < count; i++)
        buffer_free(&seen[i].truths);
    buffer_free(&residue);
    return count;
}

static void draw_sum(struct rng *d, int depth, struct buffer *out)
{
    static const char *const leaves[] = {"a", "b", "c", "d", "a", "b", "c", "3", "-2", "12"};
    static const char *const signs[] = {" + ", " - ", " * ", " + ", " % "};
    if (depth > 2 || rng_below(d, 4) == 0) {
        buffer_add_text(out, leaves[rng_below(d, 10)]);
        return;
    }
    buffer_add_text(out, rng_below(d, 6) ? "(" : "-(");
    draw_sum(d, depth + 1, out);
    buffer_add_text(out, signs[rng_below(d, 5)]);
    draw_sum(d, depth + 1, out);
    buffer_add_char(out, ')');
}

TEST_ROWS(formula__equality__solved_for_its_last_key, (const char *text; bool is_solved, any; int64_t value),
          {"a * 3 + b = d * 2 - b", true, true, 6}, {"7 - d = b", true, true, 4}, {"d * b = a", true, false, 0},
          {"d * 0 = a", false, false, 0}, {"d * d = a", false, false, 0}, {"d + 1.5 = a", false, false, 0},
          {"d % 3 = a", false, false, 0}, {"(d - 4611686018427387904) * 4 = a", false, false, 0},
          {"d <= a", false, false, 0}, {"d + c = a", false, false, 0},
          /* c is open, too */)
{
    HELD(built) b =
        build_text("[[cluster_spec]]\na = [2, 5]\nb = [3, 4]\n[[parallel_spec]]\nc = [1, 2]\nd = [1, 4, 6]\n");
    struct datum exact[4], keys[4];
    space_read_keys(b.space, 0, exact);
    loosen(&b, 3, exact, keys);
    const struct scope s = {keys, b.space->evaluator};
    struct expression x = {.sql = NULL};
    FAIL_IF(expression_resolve(&b.space->names, row->text, UNKNOWN_IS_ERROR, &x, &e));
    HELD_AT(formula) *f = formula_compile(&b.space->names, x.sql);
    bool any = false;
    int64_t value = 0;
    bool is_solved = formula_may_be_solved(f, 3) && formula_solve(f, &s, 3, 6, &any, &value);
    if (is_solved != row->is_solved || any != row->any || (any && value != row->value))
        fail_msg("%s: %d %d %d", row->text, is_solved, any, (int)value);
}

static void check_drawn_sums(const char *axes)
{
    static const char *const signs[] = {" < ", " <= ", " = ", " <> ", " >= ", " IS "};
    HELD(built) b = build_text(axes);
    for (uint64_t seed = 1; seed <= (uint64_t)rounds_of(400); seed++) {
        struct rng d = rng_stream(seed, 1);
        OWNED_BUFFER text = BUFFER_INIT;
        draw_sum(&d, 0, &text);
        if (rng_below(&d, 4) > 0) {
            buffer_add_text(&text, signs[rng_below(&d, 6)]);
            draw_sum(&d, 0, &text);
        }
        check_residues(&b, buffer_text(&text), (unsigned)rng_below(&d, 16));
    }
}

TEST(residue__drawn_sums__equal_residue_equal_outcome)
{
    check_drawn_sums(four_axes);
    check_drawn_sums(four_axes_of_naturals);
}

TEST(residue__operation_that_is_bound__only_what_it_comes_to_counts)
{
    HELD(built) b =
        build_text("[[cluster_spec]]\na = [1, 2, 3, 4]\nb = [1, 2, 3, 4]\n[[parallel_spec]]\nc = [1, 2]\nd = 9\n");
    /* a and b are bound: their sum is from 2 to 8, for each c. */
    assert_int_equal(check_residues(&b, "a + b + c = 7", 3), 2 * 7);
    assert_int_equal(check_residues(&b, "c % 2 = (a + b) % 3", 3), 2 * 3);
    assert_int_equal(check_residues(&b, "a < 3 OR c = 1", 3), 2 * 2);
    assert_int_equal(check_residues(&b, "a < 0 AND c = 1", 3), 2 * 1);
}

/* --- the join --- */

struct reference {
    int64_t *ranks; /* that match */
    int64_t count, *excluded, *alone;
};

/* Every rule of every combination, by SQLite. */
static struct reference look_at_all(struct built *b)
{
    const struct space *space = b->space;
    OWNED_BUFFER sql = BUFFER_INIT;
    OWNED_STMT *s = NULL;
    struct error e = ERROR_INIT;
    struct reference r = {NULL, 0, xcalloc(space->rule_count + 1, sizeof *r.excluded),
                          xcalloc(space->rule_count + 1, sizeof *r.alone)};
    buffer_add_text(&sql, "SELECT 0");
    for (size_t i = 0; i < space->rule_count; i++)
        buffer_printf(&sql, ", %s IS FALSE", space->rules[i].accepts.sql);
    space_add_from(space, ~0U, &sql);
    FAIL_WHERE(db_prepare(space->db, buffer_text(&sql), &s, &e) < 0, "%s", e.text);
    for (int64_t rank = 0; rank < space_combinations(space); rank++) {
        size_t first = space->rule_count;
        assert_int_equal(stmt_next(s, &e), 1);
        for (size_t i = 0; i < space->rule_count; i++) {
            bool is_false = stmt_int(s, (int)i + 1);
            r.alone[i] += is_false;
            first = is_false && !space->rules[i].warning && first == space->rule_count ? i : first;
        }
        for (size_t i = 0; i < space->rule_count && first == space->rule_count; i++)
            r.excluded[i] += stmt_int(s, (int)i + 1); /* warnings, of what matches */
        if (first < space->rule_count) {
            r.excluded[first]++;
            continue;
        }
        r.ranks = array_grow(r.ranks, (size_t)r.count, sizeof *r.ranks);
        r.ranks[r.count++] = rank;
    }
    return r;
}

static void check_counts(struct built *b, const struct reference *r, uint64_t seed)
{
    struct match_counts counts;
    struct error e = ERROR_INIT;
    FAIL_WHERE(match_count(b->space, NULL, &counts, &e) < 0, "seed %d: %s", (int)seed, e.text);
    assert_int_equal(counts.matched, r->count);
    for (size_t i = 0; i < b->space->rule_count; i++) {
        if (counts.rules[i].excluded != r->excluded[i])
            fail_msg("seed %d: rule %s excludes %d, not %d", (int)seed, b->space->rules[i].name,
                     (int)counts.rules[i].excluded, (int)r->excluded[i]);
        assert_int_equal(counts.rules[i].alone, r->alone[i]);
    }
    free(counts.rules);
}

static void check_walk(struct built *b, const struct reference *r, uint64_t seed)
{
    HELD_AT(match_cursor) *c = NULL;
    const struct match *m;
    struct error e = ERROR_INIT;
    int64_t at = 0;
    c = match_open(b->space, NULL);
    while (match_next(c, &m, &e) > 0)
        if (at == r->count || m->rank != r->ranks[at++])
            fail_msg("seed %d: rank %d is the match %d", (int)seed, (int)m->rank, (int)at);
    assert_int_equal(at, r->count);
    for (int64_t from = 0; from < space_combinations(b->space); from += 1 + space_combinations(b->space) / 50) {
        for (at = 0; at < r->count && r->ranks[at] < from;)
            at++;
        match_seek_rank(c, from);
        int rc = match_next(c, &m, &e);
        if (rc != (at < r->count) || (rc > 0 && m->rank != r->ranks[at]))
            fail_msg("seed %d: from %d on: %d", (int)seed, (int)from, (int)m->rank);
    }
}

static void check_as_one_by_one(struct built *b, uint64_t seed)
{
    struct reference r = look_at_all(b);
    check_counts(b, &r, seed);
    check_walk(b, &r, seed);
    free(r.ranks);
    free(r.excluded);
    free(r.alone);
}

/* The first block of every third is there twice. */
TEST(match__drawn_spaces__as_one_by_one)
{
    for (uint64_t seed = 1; seed <= (uint64_t)rounds_of(250); seed++) {
        OWNED char *drawn = draw_sweep(seed, seed % 10 == 0 ? 30 : 4);
        const int again = seed % 3 == 0 ? (int)(strstr(drawn, "\n[[") + 1 - drawn) : 0;
        OWNED char *text = xasprintf("%.*s%s", again, drawn, drawn);
        HELD(built) b = build_text(text);
        if (space_combinations(b.space) <= 40000)
            check_as_one_by_one(&b, seed);
    }
}

/* Axes that are not in order, with values that overflow, and blocks that lack a key: drawn sums of them are equal. */
TEST(match__drawn_equalities__as_one_by_one)
{
    static const char axes[] =
        "[[model]]\na = [9, 4, 1, 7, 3, 12, 2, 8, 0, -5, 6]\n\"(b, t)\" = [[4, 1], [1, 2], [4, 3], [2, 4], [3, 5], [9, "
        "1], [8, 1], [7, 1], [5, 5], [6, 2]]\n[[model]]\na = [3, 1]\nt = [1, 9007199254740993, 3037000500]\n"
        "[[parallel_spec]]\nc = [12, 1, 4611686018427387904, 5, 2, 3, 40, 8, 16, 9, -9, -4]\n"
        "[[parallel_spec]]\nc = [10, 9, 8, 7, 6, 5, 4, 3, 2, 1]\nd = [2, 1]\n";
    static const char *const keys[] = {"a", "b", "c", "t", "a", "c", "3", "-2", "12"};
    static const char *const signs[] = {" + ", " - ", " * "};
    for (uint64_t seed = 1; seed <= (uint64_t)rounds_of(60); seed++) {
        struct rng d = rng_stream(seed, 2);
        OWNED_BUFFER text = BUFFER_INIT;
        buffer_add_text(&text, axes);
        for (int rule = 0; rule < 2; rule++) {
            buffer_printf(&text, "[[rule]]\nname = \"r%d\"\nrequire = \"%s", rule, keys[rng_below(&d, 4)]);
            for (int i = 0; i < 3; i++)
                buffer_printf(&text, "%s%s", i == 1 ? " = " : signs[rng_below(&d, 3)], keys[rng_below(&d, 9)]);
            buffer_add_text(&text, rng_below(&d, 3) ? "\"\n" : " OR a > 7\"\n");
        }
        HELD(built) b = build_text(buffer_text(&text));
        check_as_one_by_one(&b, seed);
    }
}

/* The pairs that a rule alone makes false are told where that is cheap: SQLite is asked for each of 40,000 here. */
TEST(match__rule_for_sqlite__not_counted_by_itself_where_dear)
{
    OWNED_BUFFER text = BUFFER_INIT;
    buffer_add_text(&text, "[[model]]\na = { from = 1, to = 200, step = 1 }\n"
                           "[[parallel_spec]]\nb = { from = 1, to = 200, step = 1 }\n"
                           "[[rule]]\nname = \"none\"\nrequire = \"a > 200\"\n"
                           "[[rule]]\nname = \"dear\"\nrequire = \"length(printf('%d%d', a, b)) > 2\"\n");
    HELD(built) b = build_text(buffer_text(&text));
    struct match_counts counts;
    FAIL_IF(match_count(b.space, NULL, &counts, &e));
    assert_int_equal(counts.matched, 0);
    assert_int_equal(counts.rules[0].excluded, 40000);
    assert_int_equal(counts.rules[1].excluded, 0);
    assert_int_equal(counts.rules[1].alone, -1);
    free(counts.rules);
}

/* --- beyond what can be listed --- */

TEST(match__a_million_millions__counted_by_each_rule)
{
    OWNED_BUFFER text = BUFFER_INIT;
    static const char *const keys[] = {"[[cluster_spec]]\na", "b", "[[model]]\nc", "d", "[[parallel_spec]]\ne", "f"};
    for (int i = 0; i < 6; i++) {
        buffer_printf(&text, "%s = [", keys[i]);
        for (int v = 1; v <= 100; v++)
            buffer_printf(&text, "%s%d", v > 1 ? ", " : "", v);
        buffer_add_text(&text, "]\n");
    }
    buffer_add_text(&text,
                    "[[rule]]\nname = \"r1\"\nrequire = \"e = a\"\n[[rule]]\nname = \"r2\"\nrequire = \"f = b\"\n"
                    "[[rule]]\nname = \"r3\"\nrequire = \"c + d = a\"\n");
    HELD(built) b = build_text(buffer_text(&text));
    struct match_counts counts;
    FAIL_IF(match_count(b.space, NULL, &counts, &e));
    assert_int_equal(counts.combinations, 1000000000000);
    assert_int_equal(counts.rules[0].excluded, 990000000000);
    assert_int_equal(counts.rules[1].excluded, 9900000000);
    /* c + d comes to each of 2 … 100 in one way less than it is. */
    assert_int_equal(counts.matched, 4950 * 100);
    assert_int_equal(counts.rules[2].excluded, 100000000 - 495000);
    free(counts.rules);
}
