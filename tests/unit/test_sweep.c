/* config: what a correct sweep file becomes. */
#include <stdlib.h>
#include <string.h>

#include "sweep_file/devices.h"
#include "sweep_file/reader.h"
#include "unit_test.h"
#include "util/buffer.h"

static struct sweep *read_sweep(const char *text)
{
    struct sweep *s = NULL;
    FAIL_IF(sweep_parse("dir/s.toml", text, strlen(text), &s, &e) < 0);
    return s;
}

/* "a=1|2 (b,c)=[1,2]|[3,4]": the axes of a block. */
static char *show_block(const struct block *block)
{
    struct buffer b = BUFFER_INIT;
    for (size_t a = 0; a < block->axis_count; a++) {
        const struct axis *axis = &block->axes[a];
        buffer_add_text(&b, a ? " " : "");
        for (size_t k = 0; k < axis->key_count; k++)
            buffer_printf(&b, "%s%s", k ? "," : "", axis->keys[k]);
        for (size_t i = 0; i < axis->value_count * axis->key_count; i++) {
            buffer_add_text(&b, i == 0 ? "=" : i % axis->key_count ? "," : "|");
            value_add_json(&axis->values[i], &b);
        }
    }
    return buffer_take(&b);
}

static void assert_block(const struct sweep *s, enum section_kind kind, size_t index, const char *expected)
{
    assert_true(index < s->sections[kind].block_count);
    OWNED char *shown = show_block(&s->sections[kind].blocks[index]);
    assert_string_equal(shown, expected);
}

static void assert_model(const char *keys, const char *expected)
{
    OWNED_BUFFER text = BUFFER_INIT;
    buffer_printf(&text, "[model]\n%s\n", keys);
    struct sweep *s = read_sweep(buffer_text(&text));
    assert_block(s, SECTION_MODEL, 0, expected);
    sweep_free(s);
}

TEST(sections__tables_and_lists_of_tables__blocks_in_order)
{
    struct sweep *s = read_sweep("[training_spec]\nglobal_batch = 64\n"
                                 "[[model]]\nlayers = [2, 4]\nhidden = 128\n"
                                 "[[parallel_spec]]\nzero_stage = [0, 1]\n"
                                 "[[model]]\nhidden = 64\nlayers = 8\n");
    assert_int_equal(s->sections[SECTION_TRAINING].block_count, 1);
    assert_int_equal(s->sections[SECTION_CLUSTER].block_count, 0);
    assert_int_equal(s->sections[SECTION_MODEL].block_count, 2);
    assert_block(s, SECTION_TRAINING, 0, "global_batch=64");
    assert_block(s, SECTION_MODEL, 0, "layers=2|4 hidden=128");
    assert_block(s, SECTION_MODEL, 1, "hidden=64 layers=8");
    assert_int_equal(s->sections[SECTION_MODEL].blocks[1].at.line, 8);
    assert_string_equal(s->sections[SECTION_MODEL].blocks[1].at.file, "dir/s.toml");
    assert_int_equal(s->sections[SECTION_MODEL].blocks[0].axes[1].at.line, 5);
    sweep_free(s);
}

TEST(axes__every_kind_of_value__kept_apart)
{
    assert_model("x = [1, 1.0, true, \"1\", 9223372036854775807]", "x=1|1.0|true|\"1\"|9223372036854775807");
    assert_model("x = [[2, 4], [4, 2]]", "x=[2,4]|[4,2]");
    assert_model("x = { b = 1, a = [2.5] }", "x={\"a\":[2.5],\"b\":1}");
    assert_model("x = [{a = 1}, {a = 2}]", "x={\"a\":1}|{\"a\":2}");
    assert_model("x = -0.0", "x=0.0");
    assert_model("x = 2024-01-31", "x=\"2024-01-31\"");
    assert_model("device_memory = \"80GiB\"", "device_memory=\"80GiB\"");
}

TEST(axes__ranges__written_out)
{
    assert_model("x = { from = 1, to = 4 }", "x=1|2|3|4");
    assert_model("x = { from = -4, to = 4, step = 3 }", "x=-4|-1|2");
    assert_model("x = { from = 1, to = 20, factor = 2 }", "x=1|2|4|8|16");
    assert_model("x = { from = 7, to = 7 }", "x=7");
    assert_model("x = { from = -9000000000000000000, to = 9000000000000000000, step = 9000000000000000000 }",
                 "x=-9000000000000000000|0|9000000000000000000");
    assert_model("x = { from = 0.1, to = 1, step = 0.1 }", "x=0.1|0.2|0.3|0.4|0.5|0.6|0.7|0.8|0.9|1.0");
    assert_model("lr = { from = 1e-05, to = 0.1, factor = 10 }", "lr=1e-05|0.0001|0.001|0.01|0.1");
    assert_model("x = { from = 8.0, to = 64, factor = 2 }", "x=8.0|16.0|32.0|64.0");
    assert_model("x.from = 1\nx.to = 2\n[model.y]\nfrom = 5\nto = 15\nstep = 5", "x=1|2 y=5|10|15");
    struct sweep *s = read_sweep("[sweep]\nlist_values = [\"window\"]\n[model]\nwindow = { from = 1, to = 4 }\n"
                                 "[cluster_spec]\nnum_hosts = { from = 1, to = 3 }\nx_bytes = { from = 1, to = 2 }\n");
    assert_block(s, SECTION_MODEL, 0, "window={\"from\":1,\"to\":4}");
    assert_block(s, SECTION_CLUSTER, 0, "num_hosts=1|2|3 x_bytes=1|2");
    sweep_free(s);
}

TEST(axes__kinds_of_values__as_declared)
{
    struct sweep *s = read_sweep("[model]\na = 1\nb = 1.0\nc = true\nd = \"x\"\ne = {}\n");
    static const enum value_kind kinds[] = {VALUE_INT, VALUE_FLOAT, VALUE_BOOL, VALUE_STRING, VALUE_JSON};
    for (size_t i = 0; i < 5; i++)
        assert_int_equal(s->sections[SECTION_MODEL].blocks[0].axes[i].values[0].kind, kinds[i]);
    sweep_free(s);
}

TEST(axes__sub_tables_and_dotted_keys__flattened)
{
    assert_model("z.stage = [0, 1]\n\"q.r\" = 2\n[model.opt]\nlr = 0.1\n[model.opt.deep]\n\"(a, b)\" = [[1, 2]]",
                 "z.stage=0|1 q.r=2 opt.lr=0.1 opt.deep.a,opt.deep.b=1,2");
}

TEST(groups__lists_of_tuples_or_one_tuple__tied)
{
    assert_model("\"(pp, tp)\" = [[1, 1], [2, 1], [1, 2]]", "pp,tp=1,1|2,1|1,2");
    assert_model("\"( a ,b,c )\" = [1, 16, 1]", "a,b,c=1,16,1");
    assert_model("\"(a, b)\" = [[[1], {x = 1}], [[2], {}]]", "a,b=[1],{\"x\":1}|[2],{}");
    assert_model("\"(a, b)\" = [[1, 2], 3]", "a,b=[1,2],3");
}

TEST(list_values__bare_and_qualified__not_axes)
{
    struct sweep *s = read_sweep("[sweep]\nlist_values = [\"tokens\", \"model.mesh\", \"o.ids\"]\n"
                                 "[[model]]\ntokens = [\"A\", \"B\"]\nmesh = [1, 2]\no.ids = [[0], [1]]\n"
                                 "[[parallel_spec]]\nmesh = [1, 2]\ntokens = []\n");
    assert_block(s, SECTION_MODEL, 0, "tokens=[\"A\",\"B\"] mesh=[1,2] o.ids=[[0],[1]]");
    assert_block(s, SECTION_PARALLEL, 0, "mesh=1|2 tokens=[]");
    sweep_free(s);
}

TEST(sizes__cluster_memory_and_bytes__integers)
{
    struct sweep *s = read_sweep("[cluster_spec]\ndevice_memory = [\"80GiB\", \"24 MiB\", 100]\nhost_memory = 1.5\n"
                                 "l2_bytes = \"40MB\"\nlink = \"80GiB\"\nnet.rx_bytes = \"1kB\"\n");
    assert_block(s, SECTION_CLUSTER, 0,
                 "device_memory=85899345920|25165824|100 host_memory=1.5 l2_bytes=40000000 link=\"80GiB\" "
                 "net.rx_bytes=1000");
    sweep_free(s);
}

TEST(sweep_table__all_keys__kept)
{
    struct sweep *s = read_sweep("[sweep]\nname = \"n\"\ndescription = \"d\"\nseed = -7\n"
                                 "objective = [\"max:tput\", \"min:loss/train\", \"lat\"]\n"
                                 "note = [\"owner\", \"name\"]\ndisable_rules = [\"r1\", \"r2\", \"r1\"]\n"
                                 "[job.metrics]\nlat = { better = \"max\" }\n");
    assert_string_equal(s->name, "n");
    assert_string_equal(s->description, "d");
    assert_int_equal(s->seed, -7);
    assert_int_equal(s->objective_count, 3);
    assert_string_equal(s->objectives[0].metric, "tput");
    assert_true(s->objectives[0].maximise);
    assert_string_equal(s->objectives[1].metric, "loss/train");
    assert_false(s->objectives[1].maximise);
    assert_true(s->objectives[2].maximise);
    assert_string_equal(s->labels[2], "owner");
    assert_null(s->labels[3]);
    assert_int_equal(s->disabled_rules.count, 2);
    assert_string_equal(s->disabled_rules.items[1].text, "r2");
    assert_true(sweep_is_label(s, "owner"));
    assert_true(sweep_is_label(s, "description"));
    assert_false(sweep_is_label(s, "layers"));
    sweep_free(s);
}

TEST(sweep__empty_of_everything__defaults)
{
    struct sweep *s = read_sweep("# nothing\n");
    assert_string_equal(s->name, "s");
    assert_string_equal(s->path, "dir/s.toml");
    assert_string_equal(s->text, "# nothing\n");
    assert_string_equal(s->files[0], "dir/s.toml");
    assert_null(s->files[1]);
    assert_null(s->profile_names[0]);
    assert_string_equal(s->profile_text, "");
    assert_string_equal(s->description, "");
    assert_int_equal(s->objective_count, 0);
    assert_int_equal(s->disabled_rules.count, 0);
    assert_null(s->job.command.words);
    assert_null(s->job.timeout);
    assert_null(s->job.secrets[0]);
    assert_int_equal(s->job.grace_ms, 5000);
    assert_int_equal(s->job.repeat, 1);
    assert_false(s->job.make_job_dir);
    sweep_free(s);
}

TEST(job__all_keys__kept)
{
    struct sweep *s =
        read_sweep("[job]\ncommand = [\"run\", \"--tp={tp}\"]\n"
                   "env = { A = \"{tp}\", B = 2, C = true, D = 1.5 }\npass_env = [\"HOME\"]\n"
                   "secrets = [\"TOKEN\", \"KEY\"]\ncwd = \"{config_dir}/x\"\njob_dir = true\n"
                   "timeout = \"1h30m\"\nidle_timeout = 90\nstartup_timeout = \"CASE WHEN gpus > 8 THEN 9 END\"\n"
                   "grace = \"500ms\"\nrepeat = 3\n");
    const struct job_config *job = &s->job;
    assert_string_equal(job->command.words[0], "run");
    assert_string_equal(job->command.words[1], "--tp={tp}");
    assert_null(job->command.words[2]);
    assert_int_equal(job->command.at.line, 2);
    assert_int_equal(job->command.at.column, 11);
    static const char *const values[] = {"{tp}", "2", "true", "1.5"};
    assert_int_equal(job->environment_count, 4);
    for (size_t i = 0; i < 4; i++)
        assert_string_equal(job->environment[i].value, values[i]);
    assert_string_equal(job->environment[2].name, "C");
    assert_int_equal(job->environment[1].at.column, 21);
    assert_string_equal(job->pass_environment[0], "HOME");
    assert_string_equal(job->secrets[1], "KEY");
    assert_null(job->secrets[2]);
    assert_string_equal(job->directory, "{config_dir}/x");
    assert_true(job->make_job_dir);
    assert_string_equal(job->timeout, "1h30m");
    assert_string_equal(job->idle_timeout, "90");
    assert_string_equal(job->startup_timeout, "CASE WHEN gpus > 8 THEN 9 END");
    assert_int_equal(job->startup_timeout_at.line, 10);
    assert_int_equal(job->grace_ms, 500);
    assert_int_equal(job->repeat, 3);
    sweep_free(s);
}

TEST(job_command__string__shell)
{
    struct sweep *s = read_sweep("[job]\ncommand = \"a | b {tp}\"\n");
    static const char *const words[] = {"/bin/sh", "-c", "a | b {tp}"};
    for (size_t i = 0; i < 3; i++)
        assert_string_equal(s->job.command.words[i], words[i]);
    assert_null(s->job.command.words[3]);
    sweep_free(s);
}

TEST(job_dir__named_anywhere__made)
{
    static const struct {
        const char *text;
        int wanted;
    } cases[] = {
        {"[job]\ncommand = [\"a\", \"{job_dir}/x\"]\n", 1},
        {"[job]\ncommand = \"a $MESHSWEEP_JOB_DIR/x\"\n", 1},
        {"[job]\nenv = { OUT = \"{job_dir}\" }\n", 1},
        {"[job]\ncwd = \"{job_dir}\"\n", 1},
        {"[job.metrics.m]\njson = \"a.b\"\nfile = \"out/r.json\"\n", 1},
        {"[job.metrics.m]\njson = \"a.b\"\n", 0},
        {"[job]\ncommand = [\"a\", \"{job_key}\"]\n", 0},
        {"[job]\njob_dir = false\n", 0},
    };
    for (size_t i = 0; i < LENGTH(cases); i++) {
        struct sweep *s = read_sweep(cases[i].text);
        assert_int_equal(s->job.make_job_dir, cases[i].wanted);
        sweep_free(s);
    }
}

TEST(metrics__every_reader__kept)
{
    struct sweep *s = read_sweep("[job.metrics.a]\nregex = 'x: ([0-9.]+)'\nunit = \"s\"\nbetter = \"max\"\nwarmup = 2\n"
                                 "take = \"p90\"\n"
                                 "[job.metrics]\nb = { json = \"r.0.v\", file = \"o.json\", better = \"min\" }\n"
                                 "\"c/d\" = { jsonl = \"v\" }\ne = {}\n");
    const struct metric *m = s->job.metrics;
    assert_int_equal(s->job.metric_count, 4);
    assert_string_equal(m[0].name, "a");
    assert_int_equal(m[0].reader, READER_REGEX);
    assert_string_equal(m[0].pattern, "x: ([0-9.]+)");
    assert_null(m[0].path);
    assert_string_equal(m[0].unit, "s");
    assert_true(m[0].maximise && m[0].better_given);
    assert_int_equal(m[0].warmup, 2);
    assert_int_equal(m[0].take, TAKE_P90);
    assert_int_equal(m[0].at.line, 1);
    assert_int_equal(m[0].at.column, 14);
    assert_int_equal(m[1].reader, READER_JSON);
    assert_string_equal(m[1].path, "r.0.v");
    assert_string_equal(m[1].file, "o.json");
    assert_false(m[1].maximise);
    assert_true(m[1].better_given);
    assert_int_equal(m[2].reader, READER_JSONL);
    assert_string_equal(m[2].name, "c/d");
    assert_null(m[2].file);
    assert_int_equal(m[3].reader, READER_FILE);
    assert_false(m[3].better_given);
    assert_string_equal(m[3].unit, "");
    assert_int_equal(m[3].take, TAKE_MEDIAN);
    sweep_free(s);
}

TEST(rules_and_derived__all_keys__kept)
{
    struct sweep *s =
        read_sweep("[derive]\ndp = \"gpus / tp\"\nk = 4\nf = 1.5\nt = true\n"
                   "[[rule]]\nname = \"a\"\nrequire = \"x = 1\"\n"
                   "[[rule]]\nname = \"b/c\"\nrequire = \"y\"\nwhen = \"z\"\nwhy = \"w\"\nsource = \"s\"\n"
                   "level = \"warn\"\n");
    assert_int_equal(s->derived_count, 4);
    assert_string_equal(s->derived[0].name, "dp");
    assert_string_equal(s->derived[0].expression, "gpus / tp");
    assert_int_equal(s->derived[0].at.line, 2);
    assert_string_equal(s->derived[1].expression, "4");
    assert_string_equal(s->derived[2].expression, "1.5");
    assert_string_equal(s->derived[3].expression, "true");
    assert_int_equal(s->rule_count, 2);
    assert_string_equal(s->rules[0].require, "x = 1");
    assert_null(s->rules[0].when);
    assert_string_equal(s->rules[0].why, "");
    assert_string_equal(s->rules[0].source, "sweep file");
    assert_false(s->rules[0].warning);
    assert_int_equal(s->rules[0].at.line, 6);
    assert_string_equal(s->rules[1].when, "z");
    assert_string_equal(s->rules[1].why, "w");
    assert_string_equal(s->rules[1].source, "s");
    assert_true(s->rules[1].warning);
    sweep_free(s);
}

TEST(failures_and_retries__all_keys__kept)
{
    HELD_AT(sweep) *s = read_sweep("[[failure]]\nclass = \"oom\"\npattern = \"out of (memory|space)\"\n"
                                   "[[failure]]\nclass = \"no-metric\"\npattern = \"x\"\nsource = \"s\"\n"
                                   "[retry]\nlost = 3\noom-host = 2\n\"no-metric\" = 1\n");
    const struct failure_pattern *f = s->failures;
    const struct retry_limit *l = s->retries;
    assert_int_equal(s->failure_count, 2);
    SAYS("oom out of (memory|space) sweep file, s", "%s %s %s, %s", f->class_name, f->pattern, f->source, f[1].source);
    assert_int_equal(s->retry_count, 3);
    SAYS("oom-host 2 10, no-metric 11, lost 3", "%s %d %d, %s %d, %s %d", l->class_name, (int)l->attempts, l->at.line,
         l[1].class_name, l[1].at.line, l[2].class_name, (int)l[2].attempts);
}

TEST(executors__all_keys__kept)
{
    struct sweep *s = read_sweep("[slurm]\npartition = \"gpu\"\noptions = [\"--exclusive\", \"-L a\"]\npoll = \"5s\"\n"
                                 "gpus = false\ntimeout_factor = 1.5\narray_size = 7\nlauncher = [\"srun\"]\n"
                                 "[local]\ndevices = [0, \"GPU-1\"]\nexclusive = true\ndirty_memory = \"2GiB\"\n");
    assert_string_equal(s->batch.partition, "gpu");
    assert_string_equal(s->batch.options[1], "-L a");
    assert_string_equal(s->batch.launcher[0], "srun");
    assert_int_equal(s->batch.poll_ms, 5000);
    assert_int_equal(s->batch.array_size, 7);
    assert_true(!s->batch.gpus && s->batch.timeout_factor == 1.5);
    assert_int_equal(s->batch.max_jobs, 500);
    assert_int_equal(s->local.devices, 2);
    assert_string_equal(s->local.device_names, "0,GPU-1");
    assert_true(s->local.exclusive && s->local.dirty_bytes == INT64_C(2) << 30);
    sweep_free(s);
}

TEST(search__all_keys__kept)
{
    struct sweep *s = read_sweep("[search]\nstrategy = \"grid\"\norder = \"shuffled\"\nzero_stages = [0, 3]\n"
                                 "racing = true\nequal_batch = false\nmetric = \"min:latency\"\n"
                                 "run_full_experiment = true\ndeadline = \"2h\"\nmax_trials = 7\n"
                                 "[sweep]\nobjective = \"max:speed\"\n");
    const struct search_options *o = &s->search.options;
    assert_string_equal(o->strategy, "grid");
    assert_int_equal(o->order, SEARCH_ORDER_SHUFFLED);
    assert_true(o->zero_stages[0] && o->zero_stages[3] && !o->zero_stages[1]);
    assert_int_equal(o->racing, 1);
    assert_int_equal(o->equal_batch, 0);
    assert_true(o->numbers[SEARCH_DEADLINE] == 7200 && o->numbers[SEARCH_MAX_TRIALS] == 7);
    assert_true(s->search.run_full_experiment);
    /* The metric of the search is the objective. */
    assert_int_equal(s->objective_count, 1);
    assert_string_equal(s->objectives[0].metric, "latency");
    assert_false(s->objectives[0].maximise);
    sweep_free(s);
}

TEST(search_options__command_line_over_file__what_is_given)
{
    struct sweep *s =
        read_sweep("[search]\nstrategy = \"grid\"\norder = \"shuffled\"\nracing = true\nmax_trials = 7\n");
    struct search_options over = search_options_none();
    over.order = SEARCH_ORDER_DECLARED;
    over.equal_batch = 1;
    over.zero_stages[2] = true;
    over.numbers[SEARCH_MAX_TRIALS] = 3;
    struct search_options both = search_options_overlay(&s->search.options, &over);
    assert_string_equal(both.strategy, "grid");
    assert_int_equal(both.order, SEARCH_ORDER_DECLARED);
    assert_int_equal(both.racing, 1);
    assert_int_equal(both.equal_batch, 1);
    assert_true(both.zero_stages[2] && !both.zero_stages[0]);
    assert_true(both.numbers[SEARCH_MAX_TRIALS] == 3);
    sweep_free(s);
}

TEST(device__known_peak_changed__attention_keeps_its_share)
{
    struct sweep *s = read_sweep("[[device]]\nname = \"nvidia h100 80gb\"\npeak_flops = 98.95e12\nfp8_factor = 3\n"
                                 "[[device]]\nname = \"B200\"\nattention_flops = 1e12\nothers = [\"our board\"]\n");
    const struct device *d = s->devices.items, *h100 = device_find(NULL, "H100");
    assert_ptr_equal(device_find(&s->devices, "H100"), d);
    assert_float_equal(d->attention_flops, h100->attention_flops / 10, 1);
    assert_float_equal(d->latest_attention_flops, h100->latest_attention_flops / 10, 1);
    assert_true(d->fp4_factor == 3 && d->measured && d->memory_bytes_per_s == h100->memory_bytes_per_s);
    assert_true(d[1].attention_flops == 1e12 && d[1].peak_flops == device_find(NULL, "B200")->peak_flops);
    assert_ptr_equal(device_find(&s->devices, "B200-180GB"), &d[1]);
    assert_ptr_equal(device_find(&s->devices, "Our-Board"), &d[1]);
    sweep_free(s);
}

TEST(device__new__what_is_not_said)
{
    struct sweep *s = read_sweep("[[device]]\nname = \"X9\"\npeak_flops = 1e14\nmemory_bandwidth = 1e12\n");
    const struct device *d = s->devices.items;
    assert_true(d->attention_flops == UNMEASURED_ATTENTION * 1e14 && d->link_bytes_per_s == UNKNOWN_LINK);
    assert_true(d->fp8_factor == 1 && d->fp4_factor == 1 && d->fp32_factor == 0.5 && !d->measured);
    assert_true(d->usable_bytes == 0 && d->link_domain == 0 && !d->source && !d->others);
    sweep_free(s);
}

TEST(hash__text_or_profile_changes__other_hash)
{
    struct sweep *a = read_sweep("profile = \"torch\"\n"), *b = read_sweep("profile = \"torch\"\n");
    struct sweep *c = read_sweep("profile = \"torch\" \n");
    assert_memory_equal(&a->hash, &b->hash, sizeof a->hash);
    assert_memory_not_equal(&a->hash, &c->hash, sizeof a->hash);
    sweep_free(a);
    sweep_free(b);
    sweep_free(c);
}
