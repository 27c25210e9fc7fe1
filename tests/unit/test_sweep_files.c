/* config: sweep files on disk, what they include, and profiles. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "config/model_space.h"
#include "sweep_file/reader.h"
#include "unit_test.h"
#include "util/buffer.h"
#include "util/embedded.h"
#include "util/file.h"

/* A directory of its own for each test; relative names in messages come from being inside. */
struct place {
    char directory[64];
    char before[4096];
};

static int enter(void **state)
{
    static struct place place;
    strcpy(place.directory, "/tmp/meshsweep-test-XXXXXX");
    assert_non_null(mkdtemp(place.directory));
    assert_non_null(getcwd(place.before, sizeof place.before));
    assert_int_equal(chdir(place.directory), 0);
    *state = &place;
    return 0;
}

static int leave(void **state)
{
    struct place *place = *state;
    OWNED char *command = xasprintf("rm -rf '%s'", place->directory);
    int rc = chdir(place->before);
    rc |= system(command);
    return rc;
}

static void put(const char *path, const char *text)
{
    FAIL_IF(file_write_atomic(path, text, strlen(text), &e) < 0);
}

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

static struct sweep *parse(const char *text)
{
    struct sweep *s = NULL;
    FAIL_IF(sweep_parse("s.toml", text, strlen(text), &s, &e) < 0);
    return s;
}

static void assert_parse_fails(const char *text, const char *message)
{
    struct error e = ERROR_INIT;
    struct sweep *s = NULL;
    assert_int_equal(sweep_parse("s.toml", text, strlen(text), &s, &e), -1);
    assert_string_equal(e.text, message);
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

TEST_WITHIN(sweep_load__not_a_readable_file__one_sentence, enter, leave)
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

TEST_WITHIN(sweep_load__path__name_and_positions, enter, leave)
{
    mkdir("d", 0700);
    put("d/my.sweep.toml", "[model]\na = 1\n");
    struct sweep *s = load("d/my.sweep.toml");
    assert_string_equal(s->name, "my.sweep");
    assert_string_equal(s->path, "d/my.sweep.toml");
    assert_string_equal(s->sections[SECTION_MODEL].blocks[0].at.file, "d/my.sweep.toml");
    sweep_free(s);
}

/* --- include --- */

TEST_WITHIN(include__files_beside__merged_before, enter, leave)
{
    mkdir("d", 0700);
    put("d/s.toml", "include = \"more/m.toml\"\n[[model]]\na = 3\n[derive]\ny = \"2\"\n");
    mkdir("d/more", 0700);
    put("d/more/m.toml",
        "include = [\"n.toml\", \"../n2.toml\"]\n[[model]]\na = 2\n[[rule]]\nname = \"r\"\nrequire = \"1\"\n");
    put("d/more/n.toml", "[[model]]\na = 1\n[derive]\nx = \"1\"\n");
    put("d/n2.toml", "include = \"more/n.toml\"\n[model]\na = 5\n");
    struct sweep *s = load("d/s.toml");
    const struct section *models = &s->sections[SECTION_MODEL];
    static const int order[] = {1, 5, 2, 3};
    assert_int_equal(models->block_count, 4);
    for (size_t i = 0; i < 4; i++)
        assert_int_equal(models->blocks[i].axes[0].values[0].integer, order[i]);
    assert_string_equal(models->blocks[0].at.file, "d/more/n.toml");
    assert_string_equal(s->files[0], "d/s.toml");
    assert_string_equal(s->files[1], "d/more/m.toml");
    assert_non_null(find_derived(s, "x"));
    assert_non_null(find_derived(s, "y"));
    assert_string_equal(find_rule(s, "r")->source, "sweep file");
    assert_non_null(strstr(s->profile_text, "x = \"1\""));
    sweep_free(s);
}

TEST_WITHIN(include__what_is_wrong__said_where, enter, leave)
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
TEST_WITHIN(include__list_values__hold_everywhere, enter, leave)
{
    put("m.toml", "[sweep]\nlist_values = [\"tokens\"]\n[[model]]\ntokens = [[\"A\"], [\"A\"]]\n");
    put("s.toml", "include = \"m.toml\"\n");
    struct sweep *s = load("s.toml");
    assert_int_equal(s->sections[SECTION_MODEL].blocks[0].axes[0].value_count, 1);
    sweep_free(s);
    put("m.toml", "[sweep]\nname = \"x\"\n");
    assert_load_fails("s.toml", "m.toml:2:1: name is not allowed in an included file");
}

TEST_WITHIN(model_space__in_several_files__that_of_a_profile_gives_way, enter, leave)
{
    put("p.toml", "[model_space.keys]\na = 1\n");
    put("m.toml", "[model_space.keys]\nb = 1\n");
    put("s.toml", "profile = \"./p.toml\"\ninclude = \"m.toml\"\n");
    struct sweep *s = load("s.toml");
    assert_string_equal(s->model_space->keys[0].name, "b");
    sweep_free(s);
    put("s.toml", "include = \"m.toml\"\n[model_space.keys]\nc = 1\n");
    assert_load_fails("s.toml", "s.toml:2:1: \"model_space\" is given twice (first at m.toml:1)");
}

TEST_WITHIN(include__cycle__refused, enter, leave)
{
    put("a.toml", "include = \"b.toml\"\n");
    put("b.toml", "\ninclude = \"./a.toml\"\n");
    assert_load_fails("a.toml",
                      "b.toml:2:11: include cycle: ./a.toml includes itself, directly or through other files");
    put("c.toml", "include = \"c.toml\"\n");
    assert_load_fails("c.toml", "c.toml:1:11: include cycle: c.toml includes itself, directly or through other files");
}

TEST_WITHIN(include__same_rule_in_two_files__refused, enter, leave)
{
    put("m.toml", "[[rule]]\nname = \"r\"\nrequire = \"1\"\n[derive]\nd = \"1\"\n");
    put("s.toml", "include = \"m.toml\"\n[[rule]]\nname = \"r\"\nrequire = \"2\"\n[derive]\nd = \"2\"\n");
    assert_load_fails("s.toml", "s.toml:3:8: \"r\" is given twice (first at m.toml:1)\n"
                                "s.toml:6:5: \"d\" is given twice (first at m.toml:5)");
}

/* --- profiles --- */

TEST_WITHIN(profile__unknown__hint_or_list, enter, leave)
{
    assert_parse_fails("profile = \"torhc\"\n", "s.toml:1:11: there is no profile \"torhc\"; did you mean \"torch\"?");
    assert_parse_fails("profile = [\"./no.toml\"]\n", "s.toml:1:12: ./no.toml: cannot open: No such file or directory");
    struct error e = ERROR_INIT;
    struct sweep *s = NULL;
    assert_int_equal(sweep_parse("s.toml", "profile = \"qwerty\"", 18, &s, &e), -1);
    assert_non_null(strstr(e.text, "s.toml:1:11: there is no profile \"qwerty\"; there are "));
    assert_non_null(strstr(e.text, "zhen"));
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

TEST_WITHIN(profile__file_says_nothing__profile_in_force, enter, leave)
{
    mkdir("d", 0700);
    put("d/p.toml", profile_text);
    put("d/s.toml", "profile = \"p.toml\"\n[model]\nids = [1, 2]\n");
    struct sweep *s = load("d/s.toml");
    assert_string_equal(s->profile_names[0], "p.toml");
    assert_memory_equal(s->profile_text, profile_text, strlen(profile_text));
    assert_string_equal(s->files[1], "d/p.toml");
    assert_string_equal(s->objectives[0].metric, "t");
    assert_true(sweep_is_label(s, "owner"));
    assert_string_equal(s->disabled_rules.items[0].text, "x");
    assert_string_equal(s->job.command.words[0], "from");
    assert_string_equal(s->job.command.at.file, "d/p.toml");
    assert_string_equal(s->job.timeout, "1m");
    assert_int_equal(s->job.repeat, 2);
    assert_int_equal(s->job.metric_count, 2);
    assert_int_equal(s->sections[SECTION_MODEL].blocks[0].axes[0].value_count, 1);
    assert_string_equal(find_derived(s, "layers")->expression, "12");
    assert_string_equal(find_rule(s, "r1")->source, "profile p.toml");
    assert_string_equal(s->failures[0].source, "profile p.toml");
    assert_int_equal(s->retries[1].attempts, 5);
    sweep_free(s);
}

TEST_WITHIN(profile__file_says_otherwise__replaced_by_name, enter, leave)
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
    struct sweep *s = load("s.toml");
    assert_int_equal(s->objective_count, 1);
    assert_string_equal(s->objectives[0].metric, "u");
    assert_true(sweep_is_label(s, "owner") && sweep_is_label(s, "team"));
    assert_string_equal(s->job.command.words[0], "/bin/sh");
    assert_string_equal(s->job.timeout, "5");
    assert_int_equal(s->job.repeat, 2);
    static const char *const variables[] = {"A", "1", "B", "2", "C", "3"};
    assert_int_equal(s->job.environment_count, 3);
    for (size_t i = 0; i < 3; i++) {
        assert_string_equal(s->job.environment[i].name, variables[2 * i]);
        assert_string_equal(s->job.environment[i].value, variables[2 * i + 1]);
    }
    assert_int_equal(s->job.metric_count, 2);
    assert_int_equal(s->job.metrics[0].reader, READER_JSON);
    assert_null(s->job.metrics[0].pattern);
    assert_string_equal(s->job.metrics[0].unit, "");
    static const char *const derived[] = {"a", "9", "b", "2", "c", "3"};
    assert_int_equal(s->derived_count, 3);
    for (size_t i = 0; i < 3; i++) {
        assert_string_equal(s->derived[i].name, derived[2 * i]);
        assert_string_equal(s->derived[i].expression, derived[2 * i + 1]);
    }
    assert_int_equal(s->rule_count, 3);
    assert_string_equal(s->rules[1].require, "two");
    assert_string_equal(s->rules[1].source, "sweep file");
    assert_string_equal(s->rules[2].name, "r3");
    assert_int_equal(s->failure_count, 2);
    assert_int_equal(s->retry_count, 2);
    assert_int_equal(s->retries[1].attempts, 1);
    sweep_free(s);
}

TEST_WITHIN(profile__two__later_replaces_earlier, enter, leave)
{
    put("p.toml", "[derive]\na = \"1\"\n[job]\nrepeat = 2\n");
    put("q.toml", "[derive]\na = \"2\"\n");
    put("s.toml", "profile = [\"p.toml\", \"q.toml\"]\n");
    struct sweep *s = load("s.toml");
    assert_int_equal(s->derived_count, 1);
    assert_string_equal(s->derived[0].expression, "2");
    assert_int_equal(s->job.repeat, 2);
    assert_string_equal(s->profile_names[1], "q.toml");
    assert_null(s->profile_names[2]);
    sweep_free(s);
}

TEST_WITHIN(profile__what_it_may_not_hold__refused, enter, leave)
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
        struct sweep *s = parse(text);
        assert_memory_equal(s->profile_text, f->text, strlen(f->text));
        sweep_free(s);
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
        char *example = xstrndup(p, (size_t)(end - p));
        sweep_free(parse(example));
        free(example);
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
    struct sweep *s = parse(zhen_text);
    assert_string_equal(s->profile_names[0], "zhen");
    assert_string_equal(find_derived(s, "global_batch_size")->expression, "avg_batch_size_per_device * gpus");
    assert_non_null(strstr(s->job.timeout, "6000"));
    const struct block *plan = &s->sections[SECTION_PARALLEL].blocks[1];
    assert_int_equal(plan->axis_count, 8);
    for (size_t a = 0; a < plan->axis_count; a++)
        assert_int_equal(plan->axes[a].value_count, 1);
    assert_int_equal(plan->axes[2].key_count, 3);
    assert_int_equal(plan->axes[2].values[1].integer, 4);
    assert_string_equal(plan->axes[5].values[0].text, "[[[0,1]],[[2,3]]]");
    assert_string_equal(s->sections[SECTION_MODEL].blocks[0].axes[0].values[0].text, "[\"DOT\",\"LINEAR\"]");
    sweep_free(s);
}

TEST(zhen__another_profile_or_none_named__not_taken)
{
    struct sweep *s = parse("profile = \"torch\"\n[parallel_spec]\n\"(pp, dp, op)\" = [1, 1, 1]\n");
    assert_string_equal(s->profile_names[0], "torch");
    assert_null(s->profile_names[1]);
    sweep_free(s);
    s = parse("profile = []\n[parallel_spec]\n\"(pp,dp,op)\" = [1, 1, 1]\n");
    assert_null(s->profile_names[0]);
    sweep_free(s);
    s = parse("[parallel_spec]\n\"(pp, dp, tp)\" = [1, 1, 1]\n");
    assert_null(s->profile_names[0]);
    sweep_free(s);
}

TEST_WITHIN(zhen__key_in_an_included_file__profile_taken, enter, leave)
{
    put("plans.toml", "[[parallel_spec]]\n\"( pp,dp,op )\" = [1, 1, 1]\n");
    put("s.toml", "include = \"plans.toml\"\n");
    struct sweep *s = load("s.toml");
    assert_string_equal(s->profile_names[0], "zhen");
    sweep_free(s);
}

TEST(torch__dp_of_the_file__derived_one_gives_way)
{
    struct sweep *s = parse("profile = \"torch\"\n[parallel_spec]\ntp = 2\n");
    assert_non_null(find_derived(s, "dp"));
    sweep_free(s);
    s = parse("profile = \"torch\"\n[parallel_spec]\ndp = [1, 2]\n");
    assert_null(find_derived(s, "dp"));
    sweep_free(s);
}
