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

/* What the command line gives, or what is wrong with it: values in the order of the table, then the words. */
static char *told(char *const *argv)
{
    const struct option_rules rules = {table, 2, false, false};
    struct target t = {0};
    struct option_words w;
    struct error e = ERROR_INIT;
    struct buffer b = BUFFER_INIT;
    if (options_parse(&rules, argv, &t, &w, &e) < 0) {
        assert_int_equal(e.kind, ERROR_USAGE);
        return xstrdup(e.text);
    }
    buffer_printf(&b, "%d %d '%s' %s %lld %lld %g %s%s%s:", t.dry, t.loud, t.file, t.retry ? t.retry : "no",
                  (long long)t.jobs, (long long)t.timeout_ms, t.share, how_words[t.how], w.help ? " help" : "",
                  w.version ? " version" : "");
    for (size_t i = 0; i < w.count; i++)
        buffer_printf(&b, " %s", w.items[i]);
    assert_true(!w.program && (!w.items || !w.items[w.count]));
    free(w.items);
    return buffer_take(&b);
}

TEST_ROWS(options_parse__command_lines__values_and_words_or_one_sentence, (char *const *argv; const char *told),
          {ARGV(), "0 0 'x.toml' no 0 0 0 plain:"},
          {ARGV("-Dlfa.toml", "--jobs=4", "--timeout", "1m30s", "--share", "0.5", "--how=none"),
           "1 1 'a.toml' no 4 90000 0.5 none:"},
          {ARGV("-j", "2", "--file=", "-j3"), "0 0 '' no 3 0 0 plain:"},
          {ARGV("--retry", "oom"), "0 0 'x.toml'  0 0 0 plain: oom"},
          {ARGV("--retry=oom,exit"), "0 0 'x.toml' oom,exit 0 0 0 plain:"},
          {ARGV("-", "-D", "--", "-l"), "1 0 'x.toml' no 0 0 0 plain: - -l"},
          {ARGV("-Dh", "--nonsense"), "1 0 'x.toml' no 0 0 0 plain help:"},
          {ARGV("--version", "--nonsense"), "0 0 'x.toml' no 0 0 0 plain version:"},
          {ARGV("--tiemout", "3"), "unknown option --tiemout (did you mean --timeout?)"},
          {ARGV("--hlep"), "unknown option --hlep (did you mean --help?)"},
          {ARGV("--qqqqqqqq=1"), "unknown option --qqqqqqqq"}, {ARGV("-Dq"), "unknown option -q"},
          {ARGV("--dry-run=yes"), "option --dry-run takes no value"},
          {ARGV("--file"), "option --file needs a value: --file FILE"},
          {ARGV("-j", "--file"), "option --jobs needs a value: --jobs N"},
          {ARGV("-j", "four"), "--jobs four: must be a whole number"}, {ARGV("-j0"), "--jobs 0: must be from 1 to 64"},
          {ARGV("-j65"), "--jobs 65: must be from 1 to 64"}, {ARGV("--jobs="), "--jobs : must be a whole number"},
          {ARGV("--share", "-1"), "--share -1: must be at least 0"},
          {ARGV("--share", "x"), "--share x: must be a number"},
          {ARGV("--timeout", "soon"), "--timeout soon: must be a duration such as 90, 90s, 10m or 1h30m"},
          {ARGV("--how", "loudly"), "--how loudly: must be auto, plain or none"},
          {ARGV("a", "b", "c"), "unexpected argument: c"})
{
    OWNED char *got = told(row->argv);
    assert_string_equal(got, row->told);
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

TEST_ROWS(command_find__options_first__word_after_their_values_or_run,
          (char *const *argv; const struct command *command; size_t at),
          {ARGV("-d", "x.db", "plan", "run"), &plan_command, 2}, {ARGV("--config=a", "-Dcb", "why"), &why_command, 2},
          {ARGV("-D", "-c", "plan"), &run_command, 3}, {ARGV("-D", "--", "plan"), &run_command, 3})
{
    size_t at;
    assert_ptr_equal(command_find(row->argv, &at, NULL), row->command);
    assert_int_equal(at, row->at);
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
