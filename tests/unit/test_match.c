/* space: the match, its counts, identity, and the sweep against a database. */
#include <inttypes.h>

#include "database_fixture.h"
#include "space/enumerate.h"
#include "space_fixture.h"

/* What the match comes to: combinations, those that match, jobs; and the rules that exclude or warn, with how many they
 * are the first to and how many each would alone. */
static void assert_matches(const char *text, const char *expected)
{
    HELD(built) b = build_text(text);
    HELD(plan) p = plan_of(&b);
    OWNED_BUFFER said = BUFFER_INIT;
    buffer_printf(&said, "%" PRId64 " %" PRId64 " %" PRId64, p.match.combinations, p.match.matched, p.jobs);
    for (size_t i = 0; i < b.space->rule_count; i++)
        if (p.match.rules[i].excluded > 0)
            buffer_printf(&said, " %s %" PRId64 "/%" PRId64, b.space->rules[i].name, p.match.rules[i].excluded,
                          p.match.rules[i].alone);
    if (strcmp(buffer_text(&said), expected) != 0)
        fail_msg("%s\n%s, not %s", text, buffer_text(&said), expected);
    assert_int_equal(p.duplicates, p.match.matched - p.jobs);
}

#define AUTO "[[parallel_spec]]\ntp = 1\n[[parallel_spec]]\nauto = true\n"

#define LONG_NAME "a-rule-with-a-name-that-is-longer-than-sixty-four-bytes-and-that-the-sweep-has"

TEST_ROWS(match__each_text__combinations_matches_jobs_and_exclusions,
          (const char *text,
           *expected), /* tp=1 on 1, tp=2 on 2, and the automatic plan, whose degree counts as one, on each of three. */
          {"[[cluster_spec]]\nnum_hosts = 1\nnum_devices_per_host = [1, 2, 4]\n"
           "[[parallel_spec]]\ntp = [1, 2]\n[[parallel_spec]]\nmicro_batch = 3\n",
           "9 5 5 world-size 4/4"},
          /* No cluster is one host with one device. */
          {"[[parallel_spec]]\ntp = [1, 2]\n", "2 1 1 world-size 1/1"},
          {"[sweep]\ndisable_rules = [\"world-size\"]\n[[parallel_spec]]\ntp = [1, 2]\n", "2 2 2 tp-within-node 1/1"},
          /* A rule is switched off by a name that is longer than what anything is held to be near to. */
          {"[sweep]\ndisable_rules = [\"" LONG_NAME "\"]\n[[model]]\na = [1, 2]\n[[rule]]\nname = \"" LONG_NAME
           "\"\nrequire = \"a = 1\"\n",
           "2 2 2"},
          /* Rules are total over NULL and zero: layers=2 zero=1 alone is excluded; without layers it is NULL. */
          {"[[model]]\nlayers = [2, 4]\n[[model]]\nheads = 3\n[[parallel_spec]]\nzero = [0, 1]\n"
           "[[rule]]\nname = \"divides\"\nrequire = \"layers % zero = 0\"\n"
           "[[rule]]\nname = \"when\"\nwhen = \"zero = 1\"\nrequire = \"layers = 4\"\n",
           "6 5 5 when 1/1"},
          /* The first that fires, and each alone. */
          {"[[model]]\na = [1, 2, 3, 4]\n[[parallel_spec]]\nb = [1, 2]\n"
           "[[rule]]\nname = \"first\"\nrequire = \"a > 2\"\n"
           "[[rule]]\nname = \"second\"\nrequire = \"a > 3 OR b = 2\"\n",
           "8 3 3 first 4/4 second 1/3"},
          /* Blocks without a key that differs: how many there are is no value of a key. */
          {"[[cluster_spec]]\nca = 2\n[[cluster_spec]]\nca = 2\n[[training_spec]]\nta = [2, 12, 7]\n"
           "[[parallel_spec]]\npa = 6\npc = [9, 8]\n[[rule]]\nname = \"r\"\nrequire = \"pa > ca\"\n",
           "12 12 6"},
          /* A warning excludes nothing. */
          {"[[model]]\na = [1, 2]\n[[rule]]\nname = \"w\"\nlevel = \"warn\"\nrequire = \"a = 1\"\n", "2 2 2 w 1/1"},
          {"[job]\ncommand = [\"x\", \"{tp}\"]\n" AUTO, "2 1 1 binds-tp 1/1"},
          {"[job]\ncommand = [\"x\", \"{tp?--tp={}}\"]\nenv = { TP = \"{tp?}\" }\n" AUTO, "2 2 2"},
          {"[job]\ncommand = [\"x\", \"{tp?--tp={}}\", \"{tp}\"]\n" AUTO,
           "2 1 1 binds-tp 1/1"}, /* one that another text needs */
          {"[[model]]\ndescription = \"a\"\nlayers = 2\n[[model]]\ndescription = \"b\"\nlayers = 2\n", "2 2 1"},
          /* A rule that reads a label may tell equal specs apart. */
          {"[[model]]\nname = \"x\"\na = [1, 2]\n[[model]]\nname = \"y\"\na = [2, 3]\n"
           "[[rule]]\nname = \"r\"\nrequire = \"model.name = 'y' or a = 1\"\nwhy = \"w\"\n",
           "4 3 3 r 1/1"})
{
    assert_matches(row->text, row->expected);
}

TEST_ROWS(build__what_cannot_be__told, (const char *text, *expected),
          {"[sweep]\ndisable_rules = [\"world-sise\"]\n[[parallel_spec]]\ntp = [1, 2]\n",
           "there is no rule `world-sise` (did you mean `world-size`?)"},
          {"[job]\ncommand = [\"x\", \"{hiden?}\"]\n[[model]]\nhidden = 1\n",
           "unknown placeholder {hiden} (did you mean `hidden`?)"},
          {"[job]\ncommand = [\"x\", \"{a?--a={} --b={b}}\"]\n[[model]]\na = 1\nb = 2\n",
           "{b} stands within another placeholder, where only {} is replaced"},
          {"[job]\ncommand = [\"{a?}\"]\n[[model]]\na = \"ls\"\n", "every word of the command may be left out"},
          {"[[model]]\nx = true\n[[model]]\nx = 1\n", "`x` is a boolean in one place and another type elsewhere"})
{
    const struct error e = build_error(row->text);
    assert_non_null(strstr(e.text, row->expected));
}

/* The keys of all jobs, sorted, as one text. */
struct keys {
    char hex[64][HASH_HEX_BYTES];
    size_t count;
};

static int add_key(void *context, const struct match *m, enum plan_mark mark, const struct hash128 *witness,
                   struct error *e)
{
    struct keys *k = context;
    (void)mark;
    (void)witness;
    (void)e;
    hash_hex(&m->key, k->hex[k->count++]);
    return 0;
}

static int by_text(const void *a, const void *b)
{
    return strcmp(a, b);
}

static struct plan listed_plan(struct space *space, int64_t each_most, struct keys *k)
{
    struct plan p;
    const struct retry_policy policy = {.backoff_ms = 0};
    const struct plan_request request = {.space = space,
                                         .policy = &policy,
                                         .each = add_key,
                                         .each_most = each_most,
                                         .context = k};
    FAIL_IF(plan_make(&request, &p, &e) < 0);
    return p;
}

static struct keys keys_of(const char *text)
{
    HELD(built) b = build_text(text);
    struct keys k = {.count = 0};
    struct plan p = listed_plan(b.space, INT64_MAX, &k);
    plan_free(&p);
    qsort(k.hex, k.count, sizeof *k.hex, by_text);
    return k;
}

#define LEARNS(job) "[job]\n" job "\n[[training_spec]]\nlr = [1, 2]\n"
#define COMMAND(rest) "[[model]]\nx = 1\n[job]\ncommand = " rest "\n"

TEST_ROWS(
    identity__two_sweeps__the_same_keys_or_none_in_common, (const char *a, *b; bool same),
    /* What is left out is as if it were not written. */
    {LEARNS("command = [\"x\", \"{lr}\", \"{momentum?--momentum={}}\"]"), LEARNS("command = [\"x\", \"{lr}\"]"), true},
    {LEARNS("command = [\"x\", \"{lr?--lr={}}\"]"), LEARNS("command = [\"x\", \"--lr={lr}\"]"), true},
    {LEARNS("command = [\"x\"]\nenv = { A = \"{momentum?}\", B = \"{lr?}\" }"),
     LEARNS("command = [\"x\"]\nenv = { B = \"{lr}\" }"), true},
    {LEARNS("command = [\"x\"]\ncwd = \"{momentum?}\""), LEARNS("command = [\"x\"]"), true},
    {LEARNS("command = \"x {momentum?--momentum={}} {lr}\""), LEARNS("command = \"x {lr}\""), true},
    {LEARNS("command = \"{momentum?y} x {momentum?--momentum={}}\""), LEARNS("command = \"x\""), true},
    {LEARNS("command = [\"x\", \"--tags={momentum?a}{lr}\"]"), LEARNS("command = [\"x\", \"--tags={lr}\"]"), true},
    {"[job]\ncommand = [\"x\", \"{momentum?}\"]\n[[model]]\na = 1\n",
     "[job]\ncommand = [\"x\", \"\"]\n[[model]]\na = 1\n", false},
    {"[job]\ncommand = [\"x\", \"{args?}\", \"{args?--k={}}\"]\n[[model]]\nargs = [[\"-a\", \"b c\"]]\n",
     "[job]\ncommand = [\"x\", \"-a\", \"b c\", \"--k=-a\", \"--k=b c\"]\n[[model]]\nargs = [[\"-a\", \"b c\"]]\n",
     true},
    /* Order, labels and blocks do not count. */
    {"[[model]]\nname = \"a\"\nlayers = [2, 4]\nhidden = 8\n",
     "[[model]]\nhidden = 8\nlayers = [4, 2]\nname = \"b\"\ndescription = \"x\"\n", true},
    {"[[model]]\nlayers = [2, 4]\n", "[[model]]\nlayers = 4\n[[model]]\nlayers = 2\n", true},
    {"[[model]]\nlayers = 2\n",
     "[[cluster_spec]]\nnum_hosts = 1\nnum_devices_per_host = 1\n"
     "[[model]]\nlayers = 2\n",
     true},
    {"[sweep]\nnote = [\"owner\"]\n[[model]]\nlayers = 2\nowner = \"me\"\n", "[[model]]\nlayers = 2\n", true},
    /* Values, types, command and environment count. */
    {"[[model]]\nx = 1\n", "[[model]]\nx = 1.0\n", false}, {"[[model]]\nx = 1\n", "[[model]]\nx = true\n", false},
    {"[[model]]\nx = \"1\"\n", "[[model]]\nx = 1\n", false},
    {"[[model]]\nx = 1\n", "[[training_spec]]\nx = 1\n", false}, {COMMAND("['a']"), COMMAND("['b']"), false},
    {COMMAND("['a']\nenv = { A = '1' }"), COMMAND("['a']\nenv = { A = '2' }"), false},
    /* Words and settings end where they end. */
    {COMMAND("['ab', 'c']"), COMMAND("['a', 'bc']"), false}, {COMMAND("['a b']"), COMMAND("['a', 'b']"), false},
    {COMMAND("['a', 'B=1']"), COMMAND("['a']\nenv = { B = '1' }"), false},
    {COMMAND("['a']\nenv = { A = '1B=2' }"), COMMAND("['a']\nenv = { A = '1', B = '2' }"), false},
    {COMMAND("['a']\nenv = { A = '1' }"), COMMAND("['a']\nenv = { A1 = '' }"), false},
    /* Labels count in a command or a derived key. */
    {"[job]\ncommand = [\"a\", \"{model.name}\"]\n[[model]]\nname = \"a\"\n",
     "[job]\ncommand = [\"a\", \"{model.name}\"]\n[[model]]\nname = \"b\"\n", false},
    {"[derive]\nbig = \"model.name = 'a'\"\n[[model]]\nname = \"a\"\n",
     "[derive]\nbig = \"model.name = 'a'\"\n[[model]]\nname = \"b\"\n", false},
    {"[derive]\nbig = \"model.name = 'a'\"\n[[model]]\nname = \"a\"\n",
     "[derive]\nlarge = \"model.name = 'a'\"\n[[model]]\nname = \"a\"\n", false},
    /* A derived value ends before the command. */
    {"[derive]\nn = \"iif(model.name = 'a', 1, 12)\"\n[[model]]\nname = 'a'\n[job]\ncommand = ['2c']\n",
     "[derive]\nn = \"iif(model.name = 'a', 1, 12)\"\n[[model]]\nname = 'b'\n[job]\ncommand = ['c']\n", false},
    {"[derive]\nbig = \"layers > 3\"\n[[model]]\nlayers = 2\n", "[[model]]\nlayers = 2\n", true},
    {"[job]\ncommand = [\"a\", \"{layers}\"]\n[[model]]\nlayers = 2\n",
     "[job]\ncommand = [\"a\", \"{model.layers}\"]\n[[model]]\nlayers = 2\n", true})
{
    struct keys x = keys_of(row->a), y = keys_of(row->b);
    assert_true(!row->same || x.count == y.count);
    for (size_t i = 0; i < x.count; i++)
        for (size_t j = 0; j < y.count; j++)
            if (!row->same || i == j)
                assert_true((strcmp(x.hex[i], y.hex[j]) == 0) == row->same);
}

/* Sections of more specs than are looked at one by one. */
#define HUNDRED                                                                                                        \
    "[0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23,24,25,26,27,28,29,30,31,32,33,34,35,36,37,38,39,"  \
    "40,41,42,43,44,45,46,47,48,49,50,51,52,53,54,55,56,57,58,59,60,61,62,63,64,65,66,67,68,69,70,71,72,73,74,75,76,"  \
    "77,78,79,80,81,82,83,84,85,86,87,88,89,90,91,92,93,94,95,96,97,98,99]"
#define LARGE "[[model]]\na = " HUNDRED "\nb = " HUNDRED "\n"

TEST_ROWS(distinct__what_makes_two_combinations_one_job__known, (const char *text; bool distinct),
          {"[[model]]\na = [1, 2]\n", true}, {"[[model]]\na = [1, 1.0]\n", true},
          {"[[model]]\na = [1, 2]\n[[model]]\na = 2\n", false}, {"[[model]]\nname = [\"x\", \"y\"]\na = 1\n", true},
          {"[[model]]\ndescription = [\"x\", \"y\"]\na = 1\n", false}, {LARGE, true},
          {LARGE "[[training_spec]]\nt = [1, 2]\n[[training_spec]]\nt = 1\n", false},
          {LARGE "name = [\"x\", \"y\"]\n", true}, {LARGE "description = [\"x\", \"y\"]\n", false},
          {LARGE "\"(c, name)\" = [[1, \"x\"], [1, \"y\"]]\n", true},
          {LARGE "\"(c, name)\" = [[1, \"x\"], [2, \"x\"]]\n", true}, {LARGE "[[model]]\na = 99\nb = 99\n", false},
          {LARGE "[[model]]\na = 100\nb = 99\n", true},
          {LARGE "[[model]]\na = 100\nb = 1\n[[model]]\na = 100\nb = [1, 2]\n", false},
          {LARGE "[[parallel_spec]]\np = [1, 2]\n[inert]\np = \"a = 1\"\n", false})
{
    HELD(built) b = build_text(row->text);
    assert_int_equal(match_are_distinct(b.space), row->distinct);
}

TEST_ROWS(plan__jobs_that_are_alike__told_without_looking, (const char *text),
          {("[[model]]\na = [1, 2, 3, 4]\n[[training_spec]]\nt = [1, 2, 3]\n"
            "[[rule]]\nname = \"r\"\nrequire = \"a <> t\"\nwhy = \"w\"\n")},
          {"[[model]]\na = [1, 2]\n[[cluster_spec]]\nnum_hosts = [1, 2]\nnum_devices_per_host = 2\n"},
          {"[[model]]\na = [1, 2]\n[[model]]\na = 1\n"},
          {("[[model]]\na = [1, 2]\nb = [1, 2]\n[[model]]\nb = [1, 2]\na = [1, 2]\n[[training_spec]]\nt = [1, 2, 3]\n"
            "[[rule]]\nname = \"r\"\nrequire = \"a <> t\"\nwhy = \"w\"\n")},
          {("[[model]]\na = [1, 2]\nb = [1, 2]\n[[model]]\na = [1, 2]\nb = [1, 2]\n[[model]]\na = [2, 3]\nb = [2, 3]\n"
            "[[training_spec]]\nt = [1, 2, 3]\n")},
          {"[job]\ncommand = [\"x\"]\ntimeout = \"a * 60\"\n[[model]]\na = [1, 2, 3]\n"})
{
    HELD(built) b = build_text(row->text);
    struct keys few = {.count = 0}, all = {.count = 0};
    HELD(plan) x = listed_plan(b.space, 1, &few), y = listed_plan(b.space, INT64_MAX, &all);
    assert_int_equal(few.count, 1);
    assert_int_equal(all.count, y.jobs);
    assert_int_equal(x.jobs, y.jobs);
    assert_int_equal(x.duplicates, y.duplicates);
    assert_memory_equal(x.marks, y.marks, sizeof x.marks);
    assert_true(x.device_hours_max == y.device_hours_max || (isnan(x.device_hours_max) && isnan(y.device_hours_max)));
}

static void count_looks(void *context, int64_t matches, int64_t of)
{
    (void)matches;
    (void)of;
    ++*(int *)context;
}

#define RULE "[[training_spec]]\nt = [1, 2, 3]\n[[rule]]\nname = \"r\"\nrequire = \"a <> t\"\nwhy = \"w\"\n"

TEST_ROWS(plan__specs_stand_in_several_blocks__jobs_counted_without_looking, (const char *text; int64_t matched, jobs),
          {"[[model]]\na = [1, 2, 3]\nb = [1, 2]\n[[model]]\nb = [1, 2]\na = [1, 2, 3]\n" RULE, 24, 12},
          {"[[model]]\na = [1, 2, 3]\nb = [1, 2]\n[[model]]\na = [2, 3, 4]\nb = [2, 3]\n" RULE, 26, 22},
          {"[[model]]\na = [1, 2, 3]\nb = [1, 2]\n[[model]]\n\"(b, a)\" = [[1, 3], [5, 4], [2, 2]]\n" RULE, 19, 15},
          {"[[model]]\na = [1, 2]\n[[model]]\na = [2, 3]\n[[model]]\na = [1, 2, 3, 4]\n" RULE, 17, 9},
          {"[[model]]\na = [1, 2]\n[[model]]\na = [1, 2]\nb = 1\n[[model]]\na = [1, 2, 3]\n" RULE, 14, 10},
          {"[[model]]\na = [1, 2]\n[[training_spec]]\n[[training_spec]]\n", 4, 2})
{
    HELD(built) b = build_text(row->text);
    HELD(plan) p;
    int looks = 0;
    const struct retry_policy policy = {.backoff_ms = 0};
    const struct plan_request request = {.space = b.space,
                                         .policy = &policy,
                                         .looked_at = count_looks,
                                         .context = &looks};
    FAIL_IF(plan_make(&request, &p, &e));
    assert_int_equal(p.match.matched, row->matched);
    assert_int_equal(p.jobs, row->jobs);
    assert_int_equal(p.duplicates, row->matched - row->jobs);
    assert_int_equal(looks, 1);
}

/* Every job is given its names, so that its script may tell the two apart; the keys of others are as they were. */
TEST(identity__names_alone_differ__several_jobs)
{
    static const char *const texts[] = {
        "[[model]]\nname = [\"a\", \"b\"]\nlayers = 2\n[[model]]\nname = \"c\"\nlayers = 4\n",
        "[[model]]\nname = \"a\"\nlayers = [2, 4]\n[[model]]\nname = \"b\"\nlayers = 2\n",
        "[[model]]\nname = \"a\"\nlayers = [2, 4]\n[[model]]\nlayers = 2\n",
    };
    const struct keys alone = keys_of("[[model]]\nlayers = 4\n");
    for (size_t i = 0; i < LENGTH(texts); i++) {
        const struct keys k = keys_of(texts[i]);
        size_t same = 0;
        assert_int_equal(k.count, 3);
        for (size_t a = 0; a < k.count; a++) {
            same += strcmp(k.hex[a], alone.hex[0]) == 0;
            for (size_t b = 0; b < a; b++)
                assert_string_not_equal(k.hex[a], k.hex[b]);
        }
        assert_int_equal(same, 1);
    }
    /* The same is found in a section that is not looked at one by one, or else it is as before. */
    HELD(built) b = build_text(LARGE "name = \"x\"\n[[model]]\na = 1\nb = 1\nname = \"y\"\n");
    HELD(plan) p = plan_of(&b);
    assert_int_equal(p.jobs, 10001);
}

/* --- against a database --- */

static struct enumeration enumerate_text(const char *path, const char *text)
{
    HELD(built) b = build_text(text);
    struct enumeration n = {0};
    struct db *db = NULL;
    OWNED char *notice = NULL;
    FAIL_IF(store_open(path, NULL, &db, &notice, &e) < 0 || enumerate_into(b.space, db, NULL, &n, &e) < 0);
    store_close(db);
    return n;
}

TEST_APART(enumerate__again_and_edited__only_what_is_new)
{
    struct enumeration n = enumerate_text("results.db", "[[model]]\nlayers = [2, 4]\n");
    assert_int_equal(n.new_jobs, 2);
    assert_int_equal(n.counts.jobs, 2);
    n = enumerate_text("results.db", "[[model]]\nlayers = [2, 4]\n");
    assert_true(n.was_there);
    n = enumerate_text("results.db", "[[model]]\nname = \"renamed\"\nlayers = [8, 4]\n");
    assert_false(n.was_there);
    assert_int_equal(n.new_jobs, 1);
    assert_int_equal(n.counts.jobs, 2);
    /* Back again: the first file's jobs were taken over in part, so it is enumerated anew. */
    n = enumerate_text("results.db", "[[model]]\nlayers = [2, 4]\n");
    assert_false(n.was_there);
    assert_int_equal(n.new_jobs, 0);
    assert_int_equal(n.counts.jobs, 2);
}

TEST_APART(enumerate__row_deleted_by_hand__new_again)
{
    struct db *db = NULL;
    enumerate_text("results.db", "[[model]]\nlayers = [2, 4]\n");
    FAIL_IF(db_open("results.db", DB_CREATE, &db, &e));
    FAIL_IF(db_exec(db, "DELETE FROM job WHERE rank = 0", &e));
    db_close(db);
    struct enumeration n = enumerate_text("results.db", "[[model]]\nlayers = [2, 4]\n");
    assert_false(n.was_there);
    assert_int_equal(n.new_jobs, 1);
}

TEST_APART(enumerate__duplicates_and_exclusions__counted_and_kept)
{
    HELD_AT(db) *db = NULL;
    struct enumeration n =
        enumerate_text("results.db", "[[model]]\nnote = \"a\"\nx = 1\n[[model]]\nnote = \"b\"\nx = 1\n"
                                     "[sweep]\nnote = [\"note\"]\n"
                                     "[[parallel_spec]]\ntp = [1, 2, 3]\n");
    assert_int_equal(n.counts.combinations, 6);
    assert_int_equal(n.counts.matched, 2);
    assert_int_equal(n.counts.jobs, 1);
    assert_int_equal(n.counts.duplicates, 1);
    FAIL_IF(store_open_read_only("results.db", &db, &e));
    assert_int_equal(number(db, "SELECT count(*) FROM exclusion"), 4);
    /* The one that is planned is the one that runs. */
    assert_int_equal(number(db, "SELECT json_extract(json, '$.note') = 'a' FROM spec WHERE kind = 'model'"), 1);
    assert_int_equal(number(db, "SELECT count(*) FROM exclusion WHERE json_extract(\"values\", '$.tp') > 1"), 4);
}

static struct enumeration draw_text(struct built *b, const char *path, const struct enumerate_draw *draw,
                                    struct db **db)
{
    struct enumeration n = {0};
    OWNED char *notice = NULL;
    FAIL_IF(store_open(path, NULL, db, &notice, &e) < 0 ||
            enumerate_into(b->space, *db, &(struct enumerate_order){.draw = *draw}, &n, &e) < 0);
    return n;
}

#define DRAWN_SPACE                                                                                                    \
    "[[model]]\na = [1, 2, 3, 4, 5, 6, 7, 8]\nb = [1, 2, 3, 4, 5]\n[[model]]\na = [20, 22]\nb = 7\n"                   \
    "[[parallel_spec]]\nc = [1, 2, 3, 4, 5, 6]\n[[rule]]\nname = \"r\"\nrequire = \"(a + b + c) % 3 = 0\"\n"

TEST_APART(enumerate_into__more_than_listed__distinct_matches_and_the_same_again)
{
    HELD(built) b = build_text(DRAWN_SPACE);
    const struct enumerate_draw drawn = {.most = 50, .count = 20, .seed = 7},
                                other = {.most = 50, .count = 20, .seed = 8};
    struct db *db = NULL;
    struct enumeration n = draw_text(&b, "results.db", &drawn, &db);
    assert_true(n.is_drawn);
    assert_int_equal(n.counts.matched, 84);
    assert_int_equal(n.counts.jobs, 20);
    assert_int_equal(number(db, "SELECT count(DISTINCT rank) FROM job"), 20);
    int64_t sum = number(db, "SELECT sum(rank * rank) FROM job");
    store_close(db);
    n = draw_text(&b, "results.db", &drawn, &db);
    assert_int_equal(n.new_jobs, 0);
    assert_int_equal(number(db, "SELECT sum(rank * rank) FROM job"), sum);
    store_close(db);
    n = draw_text(&b, "results.db", &other, &db);
    assert_int_equal(n.counts.jobs, 20);
    assert_int_not_equal(number(db, "SELECT sum(rank * rank) FROM job"), sum);
    store_close(db);
    /* All of them after all: those of no draw are among them. */
    const struct enumerate_draw all = {.most = 84, .count = 20, .seed = 7};
    n = draw_text(&b, "results.db", &all, &db);
    assert_false(n.is_drawn);
    assert_int_equal(n.counts.jobs, 84);
    store_close(db);
}

TEST_APART(enumerate_into__declared_order__the_first)
{
    HELD(built) b = build_text(DRAWN_SPACE);
    const struct enumerate_draw first = {.most = 50, .count = 20, .in_order = true};
    struct db *db = NULL;
    draw_text(&b, "results.db", &first, &db);
    int64_t last = number(db, "SELECT max(rank) FROM job");
    assert_int_equal(number(db, "SELECT count(*) FROM job"), 20);
    store_close(db);
    enumerate_text("whole.db", DRAWN_SPACE);
    FAIL_IF(store_open_read_only("whole.db", &db, &e));
    assert_int_equal(number(db, "SELECT max(rank) FROM (SELECT rank FROM job ORDER BY rank LIMIT 20)"), last);
    db_close(db);
}

TEST_APART(enumerate_into__all_of_a_draw_have_run__more_are_drawn)
{
    HELD(built) b = build_text(DRAWN_SPACE);
    const struct enumerate_draw drawn = {.most = 50, .count = 20, .seed = 7};
    struct db *db = NULL;
    draw_text(&b, "results.db", &drawn, &db);
    FAIL_IF(db_exec(db, "UPDATE job SET state = 'running'", &e) < 0 ||
            db_exec(db, "UPDATE job SET state = 'ok'", &e) < 0);
    store_close(db);
    struct enumeration n = draw_text(&b, "results.db", &drawn, &db);
    assert_int_equal(n.new_jobs, 20);
    assert_int_equal(number(db, "SELECT count(*) FROM job WHERE state = 'ok'"), 20);
    store_close(db);
}

/* Blocks whose axes stand in another order are shapes of their own. */
TEST(match__equal_axes_beside_different_shapes__counted_by_what_their_rules_read)
{
    HELD(built) b = build_text("[[model]]\na = [1, 2, 3]\nd = [1, 2]\nb = 2\n"
                               "[[model]]\nd = [1, 2]\na = [4, 5]\nb = 3\n[[parallel_spec]]\nc = [1, 2, 3, 4]\n"
                               "[[rule]]\nname = \"fixed\"\nrequire = \"c <= b\"\n"
                               "[[rule]]\nname = \"same\"\nrequire = \"c <> 1\"\n");
    struct match_counts counts;
    FAIL_IF(match_count(b.space, NULL, &counts, &e));
    assert_int_equal(counts.rules[0].excluded, 6 * 2 + 4);
    assert_int_equal(counts.rules[1].excluded, 6 + 4);
    assert_int_equal(counts.matched, 6 + 4 * 2);
    free(counts.rules);
}
