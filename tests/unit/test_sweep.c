/* config: what a correct sweep file becomes. */
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

TEST(sections__tables_and_lists_of_tables__blocks_in_order)
{
    HELD_AT(sweep) *s = read_sweep("[training_spec]\nglobal_batch = 64\n"
                                   "[[model]]\nlayers = [2, 4]\nhidden = 128\n"
                                   "[[parallel_spec]]\nzero_stage = [0, 1]\n"
                                   "[[model]]\nhidden = 64\nlayers = 8\n");
    const struct section *models = &s->sections[SECTION_MODEL];
    SAYS("1 0 2", "%zu %zu %zu", s->sections[SECTION_TRAINING].block_count, s->sections[SECTION_CLUSTER].block_count,
         models->block_count);
    assert_block(s, SECTION_TRAINING, 0, "global_batch=64");
    assert_block(s, SECTION_MODEL, 0, "layers=2|4 hidden=128");
    assert_block(s, SECTION_MODEL, 1, "hidden=64 layers=8");
    SAYS("dir/s.toml:8 5", "%s:%d %d", models->blocks[1].at.file, models->blocks[1].at.line,
         models->blocks[0].axes[1].at.line);
}

TEST_ROWS(axes__keys_of_a_block__as_they_were_read, (const char *keys, *expected),
          {"x = [1, 1.0, true, \"1\", 9223372036854775807]", "x=1|1.0|true|\"1\"|9223372036854775807"},
          {"x = [[2, 4], [4, 2]]", "x=[2,4]|[4,2]"}, {"x = { b = 1, a = [2.5] }", "x={\"a\":[2.5],\"b\":1}"},
          {"x = [{a = 1}, {a = 2}]", "x={\"a\":1}|{\"a\":2}"}, {"x = -0.0", "x=0.0"},
          {"x = 2024-01-31", "x=\"2024-01-31\""}, {"device_memory = \"80GiB\"", "device_memory=\"80GiB\""},
          /* Ranges are written out. */
          {"x = { from = 1, to = 4 }", "x=1|2|3|4"}, {"x = { from = -4, to = 4, step = 3 }", "x=-4|-1|2"},
          {"x = { from = 1, to = 20, factor = 2 }", "x=1|2|4|8|16"}, {"x = { from = 7, to = 7 }", "x=7"},
          {"x = { from = -9000000000000000000, to = 9000000000000000000, step = 9000000000000000000 }",
           "x=-9000000000000000000|0|9000000000000000000"},
          {"x = { from = 0.1, to = 1, step = 0.1 }", "x=0.1|0.2|0.3|0.4|0.5|0.6|0.7|0.8|0.9|1.0"},
          {"lr = { from = 1e-05, to = 0.1, factor = 10 }", "lr=1e-05|0.0001|0.001|0.01|0.1"},
          {"x = { from = 8.0, to = 64, factor = 2 }", "x=8.0|16.0|32.0|64.0"},
          {"x.from = 1\nx.to = 2\n[model.y]\nfrom = 5\nto = 15\nstep = 5", "x=1|2 y=5|10|15"},
          /* Sub-tables and dotted keys are flattened. */
          {"z.stage = [0, 1]\n\"q.r\" = 2\n[model.opt]\nlr = 0.1\n[model.opt.deep]\n\"(a, b)\" = [[1, 2]]",
           "z.stage=0|1 q.r=2 opt.lr=0.1 opt.deep.a,opt.deep.b=1,2"},
          /* Lists of tuples, or one tuple, are tied. */
          {"\"(pp, tp)\" = [[1, 1], [2, 1], [1, 2]]", "pp,tp=1,1|2,1|1,2"},
          {"\"( a ,b,c )\" = [1, 16, 1]", "a,b,c=1,16,1"},
          {"\"(a, b)\" = [[[1], {x = 1}], [[2], {}]]", "a,b=[1],{\"x\":1}|[2],{}"},
          {"\"(a, b)\" = [[1, 2], 3]", "a,b=[1,2],3"})
{
    OWNED char *text = xasprintf("[model]\n%s\n", row->keys);
    HELD_AT(sweep) *s = read_sweep(text);
    assert_block(s, SECTION_MODEL, 0, row->expected);
}

TEST(axes__ranges__of_lists_and_clusters)
{
    HELD_AT(sweep) *s =
        read_sweep("[sweep]\nlist_values = [\"window\"]\n[model]\nwindow = { from = 1, to = 4 }\n"
                   "[cluster_spec]\nnum_hosts = { from = 1, to = 3 }\nx_bytes = { from = 1, to = 2 }\n");
    assert_block(s, SECTION_MODEL, 0, "window={\"from\":1,\"to\":4}");
    assert_block(s, SECTION_CLUSTER, 0, "num_hosts=1|2|3 x_bytes=1|2");
}

TEST(axes__kinds_of_values__as_declared)
{
    HELD_AT(sweep) *s = read_sweep("[model]\na = 1\nb = 1.0\nc = true\nd = \"x\"\ne = {}\n");
    static const enum value_kind kinds[] = {VALUE_INT, VALUE_FLOAT, VALUE_BOOL, VALUE_STRING, VALUE_JSON};
    for (size_t i = 0; i < 5; i++)
        assert_int_equal(s->sections[SECTION_MODEL].blocks[0].axes[i].values[0].kind, kinds[i]);
}

TEST(list_values__bare_and_qualified__not_axes)
{
    HELD_AT(sweep) *s = read_sweep("[sweep]\nlist_values = [\"tokens\", \"model.mesh\", \"o.ids\"]\n"
                                   "[[model]]\ntokens = [\"A\", \"B\"]\nmesh = [1, 2]\no.ids = [[0], [1]]\n"
                                   "[[parallel_spec]]\nmesh = [1, 2]\ntokens = []\n");
    assert_block(s, SECTION_MODEL, 0, "tokens=[\"A\",\"B\"] mesh=[1,2] o.ids=[[0],[1]]");
    assert_block(s, SECTION_PARALLEL, 0, "mesh=1|2 tokens=[]");
}

TEST(sizes__cluster_memory_and_bytes__integers)
{
    HELD_AT(sweep) *s = read_sweep("[cluster_spec]\ndevice_memory = [\"80GiB\", \"24 MiB\", 100]\nhost_memory = 1.5\n"
                                   "l2_bytes = \"40MB\"\nlink = \"80GiB\"\nnet.rx_bytes = \"1kB\"\n");
    assert_block(s, SECTION_CLUSTER, 0,
                 "device_memory=85899345920|25165824|100 host_memory=1.5 l2_bytes=40000000 link=\"80GiB\" "
                 "net.rx_bytes=1000");
}

TEST(sweep_table__all_keys__kept)
{
    HELD_AT(sweep) *s = read_sweep("[sweep]\nname = \"n\"\ndescription = \"d\"\nseed = -7\n"
                                   "objective = [\"max:tput\", \"min:loss/train\", \"lat\"]\n"
                                   "note = [\"owner\", \"name\"]\ndisable_rules = [\"r1\", \"r2\", \"r1\"]\n"
                                   "[job.metrics]\nlat = { better = \"max\" }\n");
    const struct objective *o = s->objectives;
    SAYS("n d -7", "%s %s %d", s->name, s->description, (int)s->seed);
    SAYS("3: tput 1, loss/train 0, 1", "%zu: %s %d, %s %d, %d", s->objective_count, o->metric, o->maximise, o[1].metric,
         o[1].maximise, o[2].maximise);
    SAYS("owner (null) 2 r2", "%s %s %zu %s", s->labels[2], s->labels[3], s->disabled_rules.count,
         s->disabled_rules.items[1].text);
    assert_true(sweep_is_label(s, "owner") && sweep_is_label(s, "description") && !sweep_is_label(s, "layers"));
}

TEST(sweep__empty_of_everything__defaults)
{
    HELD_AT(sweep) *s = read_sweep("# nothing\n");
    const struct job_config *job = &s->job;
    SAYS("s dir/s.toml dir/s.toml (null) (null)", "%s %s %s %s %s", s->name, s->path, s->files[0], s->files[1],
         s->profile_names[0]);
    SAYS("# nothing\n||", "%s|%s|%s", s->text, s->profile_text, s->description);
    assert_int_equal(s->objective_count + s->disabled_rules.count, 0);
    assert_true(!job->command.words && !job->timeout && !job->secrets[0] && !job->make_job_dir);
    SAYS("5000 1, 60000, 1000 300000 1800000", "%d %d, %d, %d %d %d", (int)job->grace_ms, (int)job->repeat,
         (int)s->on_end_timeout_ms, (int)s->retry.backoff_ms, (int)s->retry.backoff_max_ms, (int)s->retry.place_ms);
    for (const struct batch_config *b = &s->batch; b <= &s->batch_other; b++)
        SAYS("1 1 200 500, 10000 300000 120000 30000 1", "%d %d %d %d, %d %d %d %d %g", b->gpus, b->shared,
             (int)b->array_size, (int)b->max_jobs, (int)b->poll_ms, (int)b->absence_ms, (int)b->margin_ms,
             (int)b->heartbeat_ms, b->timeout_factor);
    const struct local_config *l = &s->local;
    SAYS("60000, -1 1 60000 3600000 1073741824 1000", "%d, %d %d %d %d %lld %d", (int)s->ssh.lease_ms, (int)l->devices,
         (int)l->jobs_per_device, (int)l->clean_ms, (int)l->give_up_ms, (long long)l->dirty_bytes, (int)l->sample_ms);
}

TEST(job__all_keys__kept)
{
    HELD_AT(sweep) *s =
        read_sweep("[job]\ncommand = [\"run\", \"--tp={tp}\"]\n"
                   "env = { A = \"{tp}\", B = 2, C = true, D = 1.5 }\npass_env = [\"HOME\"]\n"
                   "secrets = [\"TOKEN\", \"KEY\"]\ncwd = \"{config_dir}/x\"\njob_dir = true\n"
                   "timeout = \"1h30m\"\nidle_timeout = 90\nstartup_timeout = \"CASE WHEN gpus > 8 THEN 9 END\"\n"
                   "grace = \"500ms\"\nrepeat = 3\n");
    const struct job_config *job = &s->job;
    const struct setting *v = job->environment;
    SAYS("run --tp={tp} (null) 2:11", "%s %s %s %d:%d", job->command.words[0], job->command.words[1],
         job->command.words[2], job->command.at.line, job->command.at.column);
    SAYS("4: {tp} 2 true 1.5, C 21", "%zu: %s %s %s %s, %s %d", job->environment_count, v[0].value, v[1].value,
         v[2].value, v[3].value, v[2].name, v[1].at.column);
    SAYS("HOME KEY (null) {config_dir}/x 1", "%s %s %s %s %d", job->pass_environment[0], job->secrets[1],
         job->secrets[2], job->directory, job->make_job_dir);
    SAYS("1h30m, 90, CASE WHEN gpus > 8 THEN 9 END, 10", "%s, %s, %s, %d", job->timeout, job->idle_timeout,
         job->startup_timeout, job->startup_timeout_at.line);
    SAYS("500 3", "%d %d", (int)job->grace_ms, (int)job->repeat);
}

TEST(job_command__string__shell)
{
    HELD_AT(sweep) *s = read_sweep("[job]\ncommand = \"a | b {tp}\"\n");
    char *const *words = s->job.command.words;
    SAYS("/bin/sh -c a | b {tp}, (null)", "%s %s %s, %s", words[0], words[1], words[2], words[3]);
}

TEST_ROWS(job_dir__named_anywhere__made, (const char *text; int wanted),
          {"[job]\ncommand = [\"a\", \"{job_dir}/x\"]\n", 1}, {"[job]\ncommand = \"a $MESHSWEEP_JOB_DIR/x\"\n", 1},
          {"[job]\nenv = { OUT = \"{job_dir}\" }\n", 1}, {"[job]\ncwd = \"{job_dir}\"\n", 1},
          {"[job.metrics.m]\njson = \"a.b\"\nfile = \"out/r.json\"\n", 1}, {"[job.metrics.m]\njson = \"a.b\"\n", 0},
          {"[job]\ncommand = [\"a\", \"{job_key}\"]\n", 0}, {"[job]\njob_dir = false\n", 0})
{
    HELD_AT(sweep) *s = read_sweep(row->text);
    assert_int_equal(s->job.make_job_dir, row->wanted);
}

TEST(metrics__every_reader__kept)
{
    static const char *const expected[] = {"a 1 x: ([0-9.]+) (null) (null) s 11 2 6 1:14",
                                           "b 2 (null) r.0.v o.json  01 0 1 8:1", "c/d 3 (null) v (null)  00 0 1 9:1",
                                           "e 5 (null) (null) (null)  00 0 1 10:1"};
    HELD_AT(sweep) *s = read_sweep("[job.metrics.a]\nregex = 'x: ([0-9.]+)'\nunit = \"s\"\nbetter = \"max\"\n"
                                   "warmup = 2\ntake = \"p90\"\n"
                                   "[job.metrics]\nb = { json = \"r.0.v\", file = \"o.json\", better = \"min\" }\n"
                                   "\"c/d\" = { jsonl = \"v\" }\ne = {}\n");
    assert_int_equal(s->job.metric_count, LENGTH(expected));
    for (size_t i = 0; i < LENGTH(expected); i++) {
        const struct metric *m = &s->job.metrics[i];
        SAYS(expected[i], "%s %d %s %s %s %s %d%d %d %d %d:%d", m->name, m->reader, m->pattern, m->path, m->file,
             m->unit, m->maximise, m->better_given, (int)m->warmup, m->take, m->at.line, m->at.column);
    }
}

TEST(rules_and_derived__all_keys__kept)
{
    HELD_AT(sweep) *s =
        read_sweep("[derive]\ndp = \"gpus / tp\"\nk = 4\nf = 1.5\nt = true\n"
                   "[[rule]]\nname = \"a\"\nrequire = \"x = 1\"\n"
                   "[[rule]]\nname = \"b/c\"\nrequire = \"y\"\nwhen = \"z\"\nwhy = \"w\"\nsource = \"s\"\n"
                   "level = \"warn\"\n");
    const struct derived *d = s->derived;
    const struct rule *r = s->rules;
    SAYS("4: dp gpus / tp 2, 4, 1.5, true", "%zu: %s %s %d, %s, %s, %s", s->derived_count, d->name, d->expression,
         d->at.line, d[1].expression, d[2].expression, d[3].expression);
    SAYS("2: x = 1 (null) , sweep file, 0 6", "%zu: %s %s %s, %s, %d %d", s->rule_count, r->require, r->when, r->why,
         r->source, r->warning, r->at.line);
    SAYS("z w s 1", "%s %s %s %d", r[1].when, r[1].why, r[1].source, r[1].warning);
}

TEST(failures_and_retries__all_keys__kept)
{
    HELD_AT(sweep) *s = read_sweep("[[failure]]\nclass = \"oom\"\npattern = \"out of (memory|space)\"\n"
                                   "[[failure]]\nclass = \"no-metric\"\npattern = \"x\"\nsource = \"s\"\n"
                                   "[retry]\nlost = 3\noom-host = 2\n\"no-metric\" = 1\n");
    const struct failure_pattern *f = s->failures;
    assert_int_equal(s->failure_count, 2);
    SAYS("oom out of (memory|space) sweep file, s", "%s %s %s, %s", f->class_name, f->pattern, f->source, f[1].source);
    const int64_t *n = s->retry.attempts;
    SAYS("oom-host 2, lost 3, spawn 2, oom 1", "oom-host %d, lost %d, spawn %d, oom %d", (int)n[FAILURE_OOM_HOST],
         (int)n[FAILURE_LOST], (int)n[FAILURE_SPAWN], (int)n[FAILURE_OOM]);
}

TEST(executors__all_keys__kept)
{
    HELD_AT(sweep) *s = read_sweep("[slurm]\npartition = \"gpu\"\noptions = [\"--exclusive\", \"-L a\"]\n"
                                   "poll = \"5s\"\ngpus = false\ntimeout_factor = 1.5\narray_size = 7\n"
                                   "launcher = [\"srun\"]\n"
                                   "[local]\ndevices = [0, \"GPU-1\"]\nexclusive = true\ndirty_memory = \"2GiB\"\n");
    const struct batch_config *b = &s->batch;
    SAYS("gpu, -L a, srun, 5000 7 0 1.5 500", "%s, %s, %s, %d %d %d %g %d", b->partition, b->options[1], b->launcher[0],
         (int)b->poll_ms, (int)b->array_size, b->gpus, b->timeout_factor, (int)b->max_jobs);
    SAYS("2 0,GPU-1 1 2147483648", "%d %s %d %lld", (int)s->local.devices, s->local.device_names, s->local.exclusive,
         (long long)s->local.dirty_bytes);
}

TEST(search__all_keys__kept)
{
    HELD_AT(sweep) *s = read_sweep("[search]\nstrategy = \"grid\"\norder = \"shuffled\"\nzero_stages = [0, 3]\n"
                                   "racing = true\nequal_batch = false\nmetric = \"min:latency\"\n"
                                   "run_full_experiment = true\ndeadline = \"2h\"\nmax_trials = 7\n"
                                   "[sweep]\nobjective = \"max:speed\"\n");
    const struct search_options *o = &s->search.options;
    SAYS("grid 2 101 1 0 7200 7 1", "%s %d %d%d%d %d %d %g %g %d", o->strategy, o->order, o->zero_stages[0],
         o->zero_stages[1], o->zero_stages[3], o->racing, o->equal_batch, o->numbers[SEARCH_DEADLINE],
         o->numbers[SEARCH_MAX_TRIALS], s->search.run_full_experiment);
    /* The metric of the search is the objective. */
    SAYS("1 latency 0", "%zu %s %d", s->objective_count, s->objectives[0].metric, s->objectives[0].maximise);
}

TEST(search_options__command_line_over_file__what_is_given)
{
    HELD_AT(sweep) *s =
        read_sweep("[search]\nstrategy = \"grid\"\norder = \"shuffled\"\nracing = true\nmax_trials = 7\n");
    struct search_options over = search_options_none();
    over.order = SEARCH_ORDER_DECLARED;
    over.equal_batch = 1;
    over.zero_stages[2] = true;
    over.numbers[SEARCH_MAX_TRIALS] = 3;
    const struct search_options both = search_options_overlay(&s->search.options, &over);
    SAYS("grid 0 1 1 01 3", "%s %d %d %d %d%d %g", both.strategy, both.order, both.racing, both.equal_batch,
         both.zero_stages[0], both.zero_stages[2], both.numbers[SEARCH_MAX_TRIALS]);
}

TEST(device__known_peak_changed__attention_keeps_its_share)
{
    HELD_AT(sweep) *s = read_sweep("[[device]]\nname = \"nvidia h100 80gb\"\npeak_flops = 98.95e12\nfp8_factor = 3\n"
                                   "[[device]]\nname = \"B200\"\nattention_flops = 1e12\nothers = [\"our board\"]\n");
    const struct device *d = s->devices.items, *h100 = device_find(NULL, "H100");
    assert_ptr_equal(device_find(&s->devices, "H100"), d);
    assert_float_equal(d->attention_flops, h100->attention_flops / 10, 1);
    assert_float_equal(d->latest_attention_flops, h100->latest_attention_flops / 10, 1);
    assert_true(d->fp4_factor == 3 && d->measured && d->memory_bytes_per_s == h100->memory_bytes_per_s);
    assert_true(d[1].attention_flops == 1e12 && d[1].peak_flops == device_find(NULL, "B200")->peak_flops);
    assert_ptr_equal(device_find(&s->devices, "B200-180GB"), &d[1]);
    assert_ptr_equal(device_find(&s->devices, "Our-Board"), &d[1]);
}

TEST(device__new__what_is_not_said)
{
    HELD_AT(sweep) *s = read_sweep("[[device]]\nname = \"X9\"\npeak_flops = 1e14\nmemory_bandwidth = 1e12\n");
    const struct device *d = s->devices.items;
    assert_true(d->attention_flops == UNMEASURED_ATTENTION * 1e14 && d->link_bytes_per_s == UNKNOWN_LINK);
    assert_true(d->fp8_factor == 1 && d->fp4_factor == 1 && d->fp32_factor == 0.5 && !d->measured);
    assert_true(d->usable_bytes == 0 && d->link_domain == 0 && !d->source && !d->others);
}

TEST(hash__text_or_profile_changes__other_hash)
{
    HELD_AT(sweep) *a = read_sweep("profile = \"torch\"\n");
    HELD_AT(sweep) *b = read_sweep("profile = \"torch\"\n");
    HELD_AT(sweep) *c = read_sweep("profile = \"torch\" \n");
    assert_memory_equal(&a->hash, &b->hash, sizeof a->hash);
    assert_memory_not_equal(&a->hash, &c->hash, sizeof a->hash);
}
