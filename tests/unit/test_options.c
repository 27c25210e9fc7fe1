/* cli: options read from a table. */
#include "cli/command.h"
#include "cli/options.h"
#include "commands/commands.h"
#include "unit_test.h"
#include "util/string_list.h"

struct target {
    bool dry, loud;
    const char *file, *retry;
    int64_t jobs, timeout_ms;
    double share;
    int how;
};

#define AT(member) offsetof(struct target, member)

static const char *const how_words[] = {"auto", "plain", "none", NULL};

static const struct option table[] = {
    OPTION(FLAG, "dry-run", AT(dry), NULL, "nothing", .letter = 'D'),
    OPTION(FLAG, "loud", AT(loud), NULL, "noise", .letter = 'l'),
    OPTION(STRING, "file", AT(file), "FILE", "a file", .letter = 'f', .fallback = "x.toml"),
    OPTION(STRING, "retry", AT(retry), "WHAT", "again", .value_optional = true),
    OPTION(INT, "jobs", AT(jobs), "N", "slots", .letter = 'j', .least = 1, .most = 64),
    OPTION(DURATION, "timeout", AT(timeout_ms), "TIME", "limit"),
    OPTION(DOUBLE, "share", AT(share), "X", "part", .least = 0, .most = INFINITY),
    OPTION(CHOICE, "how", AT(how), "HOW", "manner", .choices = how_words, .fallback = "plain"),
    {.name = NULL},
};

#define ARGV(...) ((char *[]){__VA_ARGS__ __VA_OPT__(, ) NULL})

static int parse(char *const *argv, struct target *t, struct option_words *w, struct error *e)
{
    const struct option_rules rules = {table, 2, false, false};
    memset(t, 0, sizeof *t);
    return options_parse(&rules, argv, t, w, e);
}

static void check_refused(char *const *argv, const char *text)
{
    struct target t;
    struct option_words w;
    struct error e = ERROR_INIT;
    assert_int_equal(parse(argv, &t, &w, &e), -1);
    assert_int_equal(e.kind, ERROR_USAGE);
    assert_string_equal(e.text, text);
}

TEST(options_parse__nothing__fallbacks)
{
    struct target t;
    struct option_words w;
    assert_int_equal(parse(ARGV(), &t, &w, NULL), 0);
    assert_string_equal(t.file, "x.toml");
    assert_int_equal(t.how, 1);
    assert_null(t.retry);
    assert_false(t.dry);
    assert_int_equal(w.count, 0);
    assert_null(w.program);
    free(w.items);
}

TEST(options_parse__every_spelling__values)
{
    struct target t;
    struct option_words w;
    assert_int_equal(parse(ARGV("-Dlfa.toml", "--jobs=4", "--timeout", "1m30s", "--share", "0.5", "--how=none"), &t, &w,
                           NULL),
                     0);
    assert_true(t.dry && t.loud);
    assert_string_equal(t.file, "a.toml");
    assert_int_equal(t.jobs, 4);
    assert_int_equal(t.timeout_ms, 90000);
    assert_true(t.share == 0.5);
    assert_int_equal(t.how, 2);
    free(w.items);
}

TEST(options_parse__short_value_apart_and_repeated__last_one_counts)
{
    struct target t;
    struct option_words w;
    assert_int_equal(parse(ARGV("-j", "2", "--file=", "-j3"), &t, &w, NULL), 0);
    assert_int_equal(t.jobs, 3);
    assert_string_equal(t.file, "");
    free(w.items);
}

TEST(options_parse__optional_value__only_with_equals)
{
    struct target t;
    struct option_words w;
    assert_int_equal(parse(ARGV("--retry", "oom"), &t, &w, NULL), 0);
    assert_string_equal(t.retry, "");
    assert_int_equal(w.count, 1);
    free(w.items);
    assert_int_equal(parse(ARGV("--retry=oom,exit"), &t, &w, NULL), 0);
    assert_string_equal(t.retry, "oom,exit");
    free(w.items);
}

TEST(options_parse__words_and_dashes__in_order)
{
    struct target t;
    struct option_words w;
    assert_int_equal(parse(ARGV("-", "-D", "--", "-l"), &t, &w, NULL), 0);
    assert_int_equal(w.count, 2);
    assert_string_equal(w.items[0], "-");
    assert_string_equal(w.items[1], "-l");
    assert_null(w.items[2]);
    assert_false(t.loud);
    free(w.items);
}

TEST(options_parse__program_after_dashes__kept_apart)
{
    struct target t = {0};
    struct option_words w;
    const struct option_rules rules = {table, 0, true, false};
    char **argv = ARGV("-D", "--", "train", "-l", "--");
    assert_int_equal(options_parse(&rules, argv, &t, &w, NULL), 0);
    assert_ptr_equal(w.program, argv + 2);
    assert_true(t.dry);
    assert_false(t.loud);
    free(w.items);
}

TEST(options_parse__help_first__rest_not_looked_at)
{
    struct target t;
    struct option_words w;
    assert_int_equal(parse(ARGV("-Dh", "--nonsense"), &t, &w, NULL), 0);
    assert_true(w.help);
    free(w.items);
    assert_int_equal(parse(ARGV("--version", "--nonsense"), &t, &w, NULL), 0);
    assert_true(w.version);
    free(w.items);
}

TEST(options_parse__wrong_use__one_sentence)
{
    check_refused(ARGV("--tiemout", "3"), "unknown option --tiemout (did you mean --timeout?)");
    check_refused(ARGV("--hlep"), "unknown option --hlep (did you mean --help?)");
    check_refused(ARGV("--qqqqqqqq=1"), "unknown option --qqqqqqqq");
    check_refused(ARGV("-Dq"), "unknown option -q");
    check_refused(ARGV("--dry-run=yes"), "option --dry-run takes no value");
    check_refused(ARGV("--file"), "option --file needs a value: --file FILE");
    check_refused(ARGV("-j", "--file"), "option --jobs needs a value: --jobs N");
    check_refused(ARGV("-j", "four"), "--jobs four: must be a whole number");
    check_refused(ARGV("-j0"), "--jobs 0: must be from 1 to 64");
    check_refused(ARGV("-j65"), "--jobs 65: must be from 1 to 64");
    check_refused(ARGV("--jobs="), "--jobs : must be a whole number");
    check_refused(ARGV("--share", "-1"), "--share -1: must be at least 0");
    check_refused(ARGV("--share", "x"), "--share x: must be a number");
    check_refused(ARGV("--timeout", "soon"), "--timeout soon: must be a duration such as 90, 90s, 10m or 1h30m");
    check_refused(ARGV("--how", "loudly"), "--how loudly: must be auto, plain or none");
    check_refused(ARGV("a", "b", "c"), "unexpected argument: c");
}

TEST(command_find__options_first__word_after_their_values)
{
    size_t at;
    assert_ptr_equal(command_find(ARGV("-d", "x.db", "plan", "run"), &at, NULL), &plan_command);
    assert_int_equal(at, 2);
    assert_ptr_equal(command_find(ARGV("--config=a", "-Dcb", "why"), &at, NULL), &why_command);
    assert_int_equal(at, 2);
}

TEST(command_find__no_command__run)
{
    size_t at;
    assert_ptr_equal(command_find(ARGV("-D", "-c", "plan"), &at, NULL), &run_command);
    assert_int_equal(at, 3);
    assert_ptr_equal(command_find(ARGV("-D", "--", "plan"), &at, NULL), &run_command);
    assert_int_equal(at, 3);
}

TEST(command_find__unknown__nearest)
{
    size_t at;
    struct error e = ERROR_INIT;
    assert_null(command_find(ARGV("plna"), &at, &e));
    assert_int_equal(e.kind, ERROR_USAGE);
    assert_string_equal(e.text, "unknown command plna (did you mean plan?); meshsweep --help lists the commands");
}

/* A fallback that its own option refuses, or an option that two tables take differently, would show only in use.
 * DeepSpeed's --include is of hosts; --undo of import names a table. */
TEST(commands__all__tables_agree)
{
    static char *const differ[] = {(char *)"include", (char *)"undo", NULL};
    for (size_t i = 0; commands[i]; i++) {
        void *target = calloc(1, commands[i]->options_bytes);
        struct option_words w;
        const struct option_rules rules = {commands[i]->options, 0, false, false};
        assert_int_equal(options_parse(&rules, ARGV(), target, &w, NULL), 0);
        free(w.items);
        free(target);
        for (const struct option *o = commands[i]->options; o->name; o++)
            for (size_t j = 0; commands[j] && !strings_have(differ, o->name); j++)
                for (const struct option *p = commands[j]->options; p->name; p++)
                    if (strcmp(o->name, p->name) == 0)
                        assert_int_equal(o->kind == OPTION_FLAG, p->kind == OPTION_FLAG);
    }
}
