/* config: sweep files on disk, what they include, and profiles. */
#include <sys/stat.h>

#include "config/model_space.h"
#include "sweep_fixture.h"
#include "util/buffer.h"
#include "util/embedded.h"
#include "util/file.h"

static struct sweep *load(const char *path)
{
    struct sweep *s = NULL;
    FAIL_IF(sweep_load(path, &s, &e) < 0);
    return s;
}

static void assert_load_fails(const char *path, const char *message)
{
    struct error e = ERROR_INIT;
    struct sweep *s = NULL;
    assert_int_equal(sweep_load(path, &s, &e), -1);
    assert_null(s);
    assert_int_equal(e.kind, ERROR_USAGE);
    assert_string_equal(e.text, message);
}

static void assert_parse_fails(const char *text, const char *message)
{
    struct sweep *s = NULL;
    FAILS_WITH(sweep_parse("s.toml", text, strlen(text), &s, &e), message);
}

static const struct rule *find_rule(const struct sweep *s, const char *name)
{
    for (size_t i = 0; i < s->rule_count; i++)
        if (strcmp(s->rules[i].name, name) == 0)
            return &s->rules[i];
    return NULL;
}

static const struct derived *find_derived(const struct sweep *s, const char *name)
{
    for (size_t i = 0; i < s->derived_count; i++)
        if (strcmp(s->derived[i].name, name) == 0)
            return &s->derived[i];
    return NULL;
}

/* --- reading --- */

TEST_APART(sweep_load__not_a_readable_file__one_sentence)
{
    put("empty.toml", "");
    put("cut.toml", "[model]\na = [1,\n");
    put("latin.toml", "# caf\xe9\n");
    mkdir("dir.toml", 0700);
    assert_load_fails("none.toml",
                      "none.toml: no such file; name the sweep file with -c FILE, or write one with meshsweep init");
    assert_load_fails("dir.toml", "dir.toml: cannot read: Is a directory");
    assert_load_fails("empty.toml", "empty.toml: the file is empty; meshsweep init writes one");
    assert_load_fails("cut.toml", "cut.toml:2:9: Error while parsing array: encountered end-of-file");
    assert_load_fails("latin.toml", "latin.toml:1:6: not UTF-8: byte 0xE9");
    assert_load_fails("/dev/zero", "/dev/zero: larger than the 67108864 bytes allowed");
}

TEST_APART(sweep_load__path__name_and_positions)
{
    mkdir("d", 0700);
    put("d/my.sweep.toml", "[model]\na = 1\n");
    HELD_AT(sweep) *s = load("d/my.sweep.toml");
    SAYS("my.sweep d/my.sweep.toml d/my.sweep.toml", "%s %s %s", s->name, s->path,
         s->sections[SECTION_MODEL].blocks[0].at.file);
}

/* --- include --- */

TEST_APART(include__files_beside__merged_before)
{
    mkdir("d", 0700);
    put("d/s.toml", "include = \"more/m.toml\"\n[[model]]\na = 3\n[derive]\ny = \"2\"\n");
    mkdir("d/more", 0700);
    put("d/more/m.toml",
        "include = [\"n.toml\", \"../n2.toml\"]\n[[model]]\na = 2\n[[rule]]\nname = \"r\"\nrequire = \"1\"\n");
    put("d/more/n.toml", "[[model]]\na = 1\n[derive]\nx = \"1\"\n");
    put("d/n2.toml", "include = \"more/n.toml\"\n[model]\na = 5\n");
    HELD_AT(sweep) *s = load("d/s.toml");
    const struct section *models = &s->sections[SECTION_MODEL];
    static const int order[] = {1, 5, 2, 3};
    assert_int_equal(models->block_count, 4);
    for (size_t i = 0; i < 4; i++)
        assert_int_equal(models->blocks[i].axes[0].values[0].integer, order[i]);
    SAYS("d/more/n.toml d/s.toml d/more/m.toml sweep file", "%s %s %s %s", models->blocks[0].at.file, s->files[0],
         s->files[1], find_rule(s, "r")->source);
    assert_true(find_derived(s, "x") && find_derived(s, "y") && strstr(s->profile_text, "x = \"1\""));
}

TEST_APART(include__what_is_wrong__said_where)
{
    put("bad.toml", "[model]\na = [\n");
    put("s.toml", "include = [\"none.toml\", \"bad.toml\"]\nfoo = 1\n");
    assert_load_fails("s.toml", "s.toml:1:12: none.toml: cannot open: No such file or directory\n"
                                "s.toml:2:1: unknown key \"foo\" in the file\n"
                                "bad.toml:2:7: Error while parsing array: encountered end-of-file");
    put("m.toml", "profile = \"torch\"\n[job]\nrepeat = 2\n[model]\na = []\n");
    put("s.toml", "include = \"m.toml\"\n");
    assert_load_fails("s.toml", "m.toml:1:1: profile is not allowed in an included file\n"
                                "m.toml:2:2: job is not allowed in an included file\n"
                                "m.toml:5:5: a: the list is empty, but an axis needs a value (for a list as a value, "
                                "use list_values)");
}

/* The output of `search-model` says itself that its lists are values. */
TEST_APART(include__list_values__hold_everywhere)
{
    put("m.toml", "[sweep]\nlist_values = [\"tokens\"]\n[[model]]\ntokens = [[\"A\"], [\"A\"]]\n");
    put("s.toml", "include = \"m.toml\"\n");
    HELD_AT(sweep) *s = load("s.toml");
    assert_int_equal(s->sections[SECTION_MODEL].blocks[0].axes[0].value_count, 1);
    put("m.toml", "[sweep]\nname = \"x\"\n");
    assert_load_fails("s.toml", "m.toml:2:1: name is not allowed in an included file");
}

TEST_APART(model_space__in_several_files__that_of_a_profile_gives_way)
{
    put("p.toml", "[model_space.keys]\na = 1\n");
    put("m.toml", "[model_space.keys]\nb = 1\n");
    put("s.toml", "profile = \"./p.toml\"\ninclude = \"m.toml\"\n");
    HELD_AT(sweep) *s = load("s.toml");
    assert_string_equal(s->model_space->keys[0].name, "b");
    put("s.toml", "include = \"m.toml\"\n[model_space.keys]\nc = 1\n");
    assert_load_fails("s.toml", "s.toml:2:1: \"model_space\" is given twice (first at m.toml:1)");
}

TEST_APART(include__cycle__refused)
{
    put("a.toml", "include = \"b.toml\"\n");
    put("b.toml", "\ninclude = \"./a.toml\"\n");
    assert_load_fails("a.toml",
                      "b.toml:2:11: include cycle: ./a.toml includes itself, directly or through other files");
    put("c.toml", "include = \"c.toml\"\n");
    assert_load_fails("c.toml", "c.toml:1:11: include cycle: c.toml includes itself, directly or through other files");
}

TEST_APART(include__same_rule_in_two_files__refused)
{
    put("m.toml", "[[rule]]\nname = \"r\"\nrequire = \"1\"\n[derive]\nd = \"1\"\n");
    put("s.toml", "include = \"m.toml\"\n[[rule]]\nname = \"r\"\nrequire = \"2\"\n[derive]\nd = \"2\"\n");
    assert_load_fails("s.toml", "s.toml:3:8: \"r\" is given twice (first at m.toml:1)\n"
                                "s.toml:6:5: \"d\" is given twice (first at m.toml:5)");
}

/* --- profiles --- */

TEST_APART(profile__unknown__hint_or_list)
{
    assert_parse_fails("profile = \"torhc\"\n", "s.toml:1:11: there is no profile \"torhc\"; did you mean \"torch\"?");
    assert_parse_fails("profile = [\"./no.toml\"]\n", "s.toml:1:12: ./no.toml: cannot open: No such file or directory");
    struct sweep *s = NULL;
    FAILS_WITH_PART(sweep_parse("s.toml", "profile = \"qwerty\"", 18, &s, &e),
                    "s.toml:1:11: there is no profile \"qwerty\"; there are ");
    FAILS_WITH_PART(sweep_parse("s.toml", "profile = \"qwerty\"", 18, &s, &e), "zhen");
}

static const char profile_text[] = "[sweep]\n"
                                   "objective = \"min:t\"\n"
                                   "note = [\"owner\"]\n"
                                   "list_values = [\"ids\"]\n"
                                   "disable_rules = [\"x\"]\n"
                                   "[job]\n"
                                   "command = [\"from\", \"profile\"]\n"
                                   "env = { A = \"1\", B = \"1\" }\n"
                                   "timeout = \"1m\"\n"
                                   "repeat = 2\n"
                                   "[job.metrics.t]\n"
                                   "regex = 't=([0-9]+)'\n"
                                   "unit = \"s\"\n"
                                   "[job.metrics.u]\n"
                                   "[derive]\n"
                                   "a = \"1\"\n"
                                   "b = \"2\"\n"
                                   "layers = \"12\"\n"
                                   "[[rule]]\n"
                                   "name = \"r1\"\n"
                                   "require = \"1\"\n"
                                   "[[rule]]\n"
                                   "name = \"r2\"\n"
                                   "require = \"2\"\n"
                                   "[[failure]]\n"
                                   "class = \"oom\"\n"
                                   "pattern = \"x\"\n"
                                   "[retry]\n"
                                   "lost = 5\n"
                                   "spawn = 4\n"
                                   "[predict]\n"
                                   "audit = 0.5\n";

TEST_APART(profile__file_says_nothing__profile_in_force)
{
    mkdir("d", 0700);
    put("d/p.toml", profile_text);
    put("d/s.toml", "profile = \"p.toml\"\n[model]\nids = [1, 2]\n");
    HELD_AT(sweep) *s = load("d/s.toml");
    assert_memory_equal(s->profile_text, profile_text, strlen(profile_text));
    SAYS("p.toml d/p.toml t x", "%s %s %s %s", s->profile_names[0], s->files[1], s->objectives[0].metric,
         s->disabled_rules.items[0].text);
    SAYS("from d/p.toml 1m 2 2", "%s %s %s %d %zu", s->job.command.words[0], s->job.command.at.file, s->job.timeout,
         (int)s->job.repeat, s->job.metric_count);
    SAYS("1 12 profile p.toml, profile p.toml, 5", "%zu %s %s, %s, %d",
         s->sections[SECTION_MODEL].blocks[0].axes[0].value_count, find_derived(s, "layers")->expression,
         find_rule(s, "r1")->source, s->failures[0].source, (int)s->retry.attempts[FAILURE_LOST]);
    assert_true(sweep_is_label(s, "owner"));
}

TEST_APART(profile__file_says_otherwise__replaced_by_name)
{
    put("p.toml", profile_text);
    put("s.toml", "profile = \"./p.toml\"\n"
                  "[sweep]\nobjective = \"max:u\"\nnote = [\"team\"]\n"
                  "[job]\ncommand = \"x\"\nenv = { B = \"2\", C = \"3\" }\ntimeout = 5\n"
                  "[job.metrics.t]\njson = \"a\"\n"
                  "[derive]\nc = \"3\"\na = \"9\"\n"
                  "[[rule]]\nname = \"r2\"\nrequire = \"two\"\n"
                  "[[rule]]\nname = \"r3\"\nrequire = \"3\"\n"
                  "[[failure]]\nclass = \"exit\"\npattern = \"y\"\n"
                  "[retry]\nlost = 1\n"
                  "[model]\nlayers = 4\n");
    HELD_AT(sweep) *s = load("s.toml");
    const struct setting *v = s->job.environment;
    const struct metric *m = s->job.metrics;
    const struct derived *d = s->derived;
    assert_true(sweep_is_label(s, "owner") && sweep_is_label(s, "team"));
    SAYS("1 u /bin/sh 5 2", "%zu %s %s %s %d", s->objective_count, s->objectives[0].metric, s->job.command.words[0],
         s->job.timeout, (int)s->job.repeat);
    SAYS("3: A 1 B 2 C 3", "%zu: %s %s %s %s %s %s", s->job.environment_count, v->name, v->value, v[1].name, v[1].value,
         v[2].name, v[2].value);
    SAYS("2: 2 (null) ''", "%zu: %d %s '%s'", s->job.metric_count, m->reader, m->pattern, m->unit);
    SAYS("3: a 9 b 2 c 3", "%zu: %s %s %s %s %s %s", s->derived_count, d->name, d->expression, d[1].name,
         d[1].expression, d[2].name, d[2].expression);
    SAYS("3: two sweep file r3", "%zu: %s %s %s", s->rule_count, s->rules[1].require, s->rules[1].source,
         s->rules[2].name);
    SAYS("2 4 1", "%zu %d %d", s->failure_count, (int)s->retry.attempts[FAILURE_SPAWN],
         (int)s->retry.attempts[FAILURE_LOST]);
}

TEST_APART(profile__two__later_replaces_earlier)
{
    put("p.toml", "[derive]\na = \"1\"\n[job]\nrepeat = 2\n");
    put("q.toml", "[derive]\na = \"2\"\n");
    put("s.toml", "profile = [\"p.toml\", \"q.toml\"]\n");
    HELD_AT(sweep) *s = load("s.toml");
    SAYS("1 2 2 q.toml (null)", "%zu %s %d %s %s", s->derived_count, s->derived[0].expression, (int)s->job.repeat,
         s->profile_names[1], s->profile_names[2]);
}

TEST_APART(profile__what_it_may_not_hold__refused)
{
    put("p.toml", "include = \"x.toml\"\nprofile = \"q\"\n[model]\na = 1\n[sweep]\nname = \"x\"\nseed = 1\n"
                  "[[rule]]\nname = \"r\"\nrequire = \"1\"\n[[rule]]\nname = \"r\"\nrequire = \"1\"\n");
    put("s.toml", "profile = \"p.toml\"\nx = 1\n");
    assert_load_fails("s.toml", "s.toml:2:1: unknown key \"x\" in the file\n"
                                "p.toml:1:1: include is not allowed in a profile\n"
                                "p.toml:2:1: profile is not allowed in a profile\n"
                                "p.toml:3:2: model is not allowed in a profile\n"
                                "p.toml:6:1: name is not allowed in a profile\n"
                                "p.toml:7:1: seed is not allowed in a profile\n"
                                "p.toml:12:8: \"r\" is given twice (first on line 8)");
}

TEST(profiles__carried_in_the_program__all_load)
{
    size_t count = 0;
    for (const struct embedded_file *f = NULL; (f = embedded_next("profiles/", f)); count++) {
        OWNED char *text = xasprintf("profile = \"%.*s\"\n", (int)(strlen(f->name) - strlen("profiles/.toml")),
                                     f->name + strlen("profiles/"));
        HELD_AT(sweep) *s = sweep_of(text);
        assert_memory_equal(s->profile_text, f->text, strlen(f->text));
    }
    assert_true(count >= 2);
}

/* --- the manual --- */

static void read_readme(struct buffer *out)
{
    const char *source = getenv("srcdir");
    OWNED char *path = xasprintf("%s/docs/reference.md", source ? source : "..");
    FAIL_IF(file_read(path, 1 << 20, out, &e) < 0);
}

/* Each ```toml block of docs/reference.md is a sweep file. */
TEST(readme__its_examples__load)
{
    OWNED_BUFFER text = BUFFER_INIT;
    size_t count = 0;
    read_readme(&text);
    for (char *p = strstr(text.data, "```toml\n"); p; p = strstr(p, "```toml\n")) {
        p += strlen("```toml\n");
        char *end = strstr(p, "```");
        assert_non_null(end);
        OWNED char *example = xstrndup(p, (size_t)(end - p));
        sweep_free(sweep_of(example));
        p = end + 3;
        count++;
    }
    assert_true(count >= 10);
}

/* --- the zhen profile --- */

static const char zhen_text[] = "[training_spec]\n"
                                "avg_batch_size_per_device = 512\n"
                                "[[model]]\n"
                                "tokens = [\"DOT\", \"LINEAR\"]\n"
                                "[[cluster_spec]]\n"
                                "num_hosts = 2\n"
                                "num_devices_per_host = 4\n"
                                "transport = \"EFAx4\"\n"
                                "[[parallel_spec]]\n"
                                "description = \"Auto search\"\n"
                                "num_micro_batches = [1, 2]\n"
                                "[[parallel_spec]]\n"
                                "description = \"by hand\"\n"
                                "num_micro_batches = [1]\n"
                                "\"(pp, dp, op)\" = [2, 4, 1]\n"
                                "physical_mesh_shape = [1, 4]\n"
                                "host_ids = [[0], [1]]\n"
                                "device_ids = [[[0, 1]], [[2, 3]]]\n"
                                "auto_sharding_option = { 'a' = 0 }\n"
                                "remat_layer = false\n";

TEST(zhen__its_tied_key__profile_taken)
{
    HELD_AT(sweep) *s = sweep_of(zhen_text);
    SAYS("zhen avg_batch_size_per_device * gpus", "%s %s", s->profile_names[0],
         find_derived(s, "global_batch_size")->expression);
    assert_non_null(strstr(s->job.timeout, "6000"));
    const struct block *plan = &s->sections[SECTION_PARALLEL].blocks[1];
    const struct axis *a = plan->axes;
    for (size_t i = 0; i < plan->axis_count; i++)
        assert_int_equal(a[i].value_count, 1);
    SAYS("8 3 4 [[[0,1]],[[2,3]]] [\"DOT\",\"LINEAR\"]", "%zu %zu %d %s %s", plan->axis_count, a[2].key_count,
         (int)a[2].values[1].integer, a[5].values[0].text, s->sections[SECTION_MODEL].blocks[0].axes[0].values[0].text);
}

TEST(zhen__another_profile_or_none_named__not_taken)
{
    static const char *const texts[] = {"profile = \"torch\"\n[parallel_spec]\n\"(pp, dp, op)\" = [1, 1, 1]\n",
                                        "profile = []\n[parallel_spec]\n\"(pp,dp,op)\" = [1, 1, 1]\n",
                                        "[parallel_spec]\n\"(pp, dp, tp)\" = [1, 1, 1]\n"};
    for (size_t i = 0; i < LENGTH(texts); i++) {
        HELD_AT(sweep) *s = sweep_of(texts[i]);
        char *const *name = s->profile_names;
        SAYS(i ? "(null)" : "torch (null)", i ? "%s" : "%s %s", name[0], name[0] ? name[1] : NULL);
    }
}

TEST_APART(zhen__key_in_an_included_file__profile_taken)
{
    put("plans.toml", "[[parallel_spec]]\n\"( pp,dp,op )\" = [1, 1, 1]\n");
    put("s.toml", "include = \"plans.toml\"\n");
    HELD_AT(sweep) *s = load("s.toml");
    assert_string_equal(s->profile_names[0], "zhen");
}

TEST(torch__dp_of_the_file__derived_one_gives_way)
{
    HELD_AT(sweep) *without = sweep_of("profile = \"torch\"\n[parallel_spec]\ntp = 2\n");
    HELD_AT(sweep) *with = sweep_of("profile = \"torch\"\n[parallel_spec]\ndp = [1, 2]\n");
    assert_true(find_derived(without, "dp") && !find_derived(with, "dp"));
}
