/* deepspeed: the ds_config.json of a job, arguments that mirror it, what rules and identity know of it. */
#include "space_fixture.h"
#include "sweep_fixture.h"

#include "deepspeed/ds_config.h"
#include "files/json_text.h"

#define FILE_OF(rest) "profile = \"deepspeed\"\n[deepspeed]\nconfig = \"ds.json\"\n" rest

struct opened {
    struct sweep *sweep;
    struct ds_config *config;
    struct space *space;
};

static int open_text(const char *text, struct opened *o, struct error *e)
{
    *o = (struct opened){NULL, NULL, NULL};
    struct space_options options = {0};
    struct problems problems = PROBLEMS_INIT;
    if (sweep_parse("test.toml", text, strlen(text), &o->sweep, e) < 0)
        return -1;
    o->config = ds_config_open(o->sweep, &problems);
    int rc = problems_report(&problems, o->sweep->files, e);
    problems_free(&problems);
    if (rc < 0)
        return -1;
    options.base = ds_config_base(o->config);
    return space_build(o->sweep, &options, &o->space, e);
}

static void close_all(struct opened *o)
{
    space_free(o->space);
    ds_config_free(o->config);
    sweep_free(o->sweep);
}

/* Returns what the job with these specs gets. */
static char *render(const char *sweep, const char *specs)
{
    struct opened o;
    struct error e = ERROR_INIT;
    struct buffer out = BUFFER_INIT;
    if (open_text(sweep, &o, &e) < 0)
        fail_msg("%s", e.text);
    if (ds_config_render(o.config, specs, &out, &e) < 0) {
        buffer_clear(&out);
        buffer_add_text(&out, e.text);
    }
    close_all(&o);
    return buffer_take(&out);
}

static void assert_renders(const char *sweep, const char *specs, const char *expected)
{
    OWNED char *text = render(sweep, specs);
    assert_string_equal(text, expected);
}

static char *error_of(const char *sweep)
{
    struct opened o;
    struct error e = ERROR_INIT;
    assert_int_equal(open_text(sweep, &o, &e), -1);
    assert_int_equal(e.kind, ERROR_USAGE);
    close_all(&o);
    return xstrdup(e.text);
}

TEST_APART(render__dotted_short_and_table_keys__laid_over_the_base)
{
    put("ds.json",
        "{\"zero_optimization\": {\"stage\": 2, \"reduce_bucket_size\": 2e8, \"overlap_comm\": true,\n"
        " \"offload_optimizer\": {\"device\": \"cpu\", \"pin_memory\": true}}, \"gradient_clipping\": \"auto\"}");
    assert_renders(FILE_OF(""),
                   "{\"training_spec\":{\"zero_optimization.allgather_bucket_size\":5e7,\"bf16\":true},"
                   "\"parallel_spec\":{\"zero_stage\":3,\"zero_optimization.offload_optimizer.device\":\"none\","
                   "\"scheduler\":{\"type\":\"WarmupLR\"},\"tp\":2,\"fp16.loss_scale\":null},\"derived\":null}",
                   "{\n  \"zero_optimization\": {\n    \"stage\": 3,\n    \"reduce_bucket_size\": 2e8,\n"
                   "    \"overlap_comm\": true,\n    \"offload_optimizer\": {\n      \"device\": \"none\",\n"
                   "      \"pin_memory\": true\n    },\n    \"allgather_bucket_size\": 50000000\n  },\n"
                   "  \"gradient_clipping\": \"auto\",\n  \"bf16\": {\n    \"enabled\": true\n  },\n"
                   "  \"scheduler\": {\n    \"type\": \"WarmupLR\"\n  }\n}\n");
}

TEST_ROWS_APART(render__batch__third_completed_and_checked, (const char *spec, *expected),
                {"\"train_batch_size\":64,\"micro_batch\":4", "\"gradient_accumulation_steps\": 4"},
                {"\"train_batch_size\":64,\"gradient_accumulation_steps\":8", "\"train_micro_batch_size_per_gpu\": 2"},
                {"\"micro_batch\":4,\"gradient_accumulation_steps\":2", "\"train_batch_size\": 32"},
                {"\"micro_batch\":4", "\"train_batch_size\": 16"},
                {"\"global_batch\":64", "\"train_micro_batch_size_per_gpu\": 16"},
                {"\"micro_batch\":4,\"dp\":2", "\"train_batch_size\": 8"},
                {"\"micro_batch\":4,\"sequence_parallel_size\":2", "\"train_batch_size\": 8"},
                {"\"train_batch_size\":64,\"micro_batch\":3",
                 "the batch sizes contradict each other: train_batch_size 64, "
                 "train_micro_batch_size_per_gpu 3, data-parallel size 4"},
                {"\"train_batch_size\":2",
                 "the batch sizes contradict each other: train_batch_size 2, data-parallel size 4"},
                {"\"train_batch_size\":64,\"micro_batch\":4,\"gradient_accumulation\":2",
                 "the batch sizes contradict each other: train_batch_size 64, train_micro_batch_size_per_gpu 4, "
                 "gradient_accumulation_steps 2, data-parallel size 4"},
                {"\"zero_stage\":1", "\"gradient_accumulation_steps\": null"},
                {"\"train_batch_size\":64", "\"gradient_accumulation_steps\": 1"},
                {"\"micro_batch\":0", "train_micro_batch_size_per_gpu must be a whole number above 0"},
                {"\"micro_batch\":\"auto\",\"train_batch_size\":64", "\"train_micro_batch_size_per_gpu\": \"auto\""})
{
    put("ds.json", "{\"gradient_accumulation_steps\": null}"); /* not given */
    OWNED char *specs = xasprintf("{\"cluster_spec\":{\"num_hosts\":1,\"num_devices_per_host\":4},"
                                  "\"parallel_spec\":{%s}}",
                                  row->spec);
    OWNED char *text = render(FILE_OF(""), specs);
    if (!strstr(text, row->expected))
        fail_msg("no %s in %s", row->expected, text);
}

TEST_APART(render__auto__kept_or_resolved)
{
    put("ds.json", "{\"train_batch_size\": \"auto\", \"train_micro_batch_size_per_gpu\": 4,\n"
                   "\"gradient_accumulation_steps\": \"auto\", \"gradient_clipping\": \"auto\",\n"
                   "\"zero_optimization\": {\"stage\": 3, \"reduce_bucket_size\": \"auto\",\n"
                   "\"stage3_prefetch_bucket_size\": \"auto\", \"stage3_param_persistence_threshold\": \"auto\"}}");
    const char *specs = "{\"model\":{\"hidden\":100},\"cluster_spec\":{\"num_devices_per_host\":2}}";
    OWNED char *kept = render(FILE_OF(""), specs);
    assert_non_null(strstr(kept, "\"train_batch_size\": \"auto\""));
    assert_non_null(strstr(kept, "\"gradient_clipping\": \"auto\""));
    assert_renders(FILE_OF("auto = \"resolve\"\n"), specs,
                   "{\n  \"train_batch_size\": 8,\n  \"train_micro_batch_size_per_gpu\": 4,\n"
                   "  \"gradient_accumulation_steps\": 1,\n  \"zero_optimization\": {\n    \"stage\": 3,\n"
                   "    \"reduce_bucket_size\": 10000,\n    \"stage3_prefetch_bucket_size\": 9000,\n"
                   "    \"stage3_param_persistence_threshold\": 1000\n  }\n}\n");
}

/* As DeepSpeed's engine reads it; jobs get JSON that any reader takes. */
TEST_APART(render__comments_and_commas_before_ends__left_out)
{
    put("ds.json", "// of us\n{ # and\n \"steps_per_print\": 5, /* two\n * lines // */ \"my_section\": "
                   "[\"http://a #b\", /**/ 1 ,\n],} # end");
    assert_renders(FILE_OF("sections = [\"my_section\"]\n"), "{}",
                   "{\n  \"steps_per_print\": 5,\n  \"my_section\": [\n    \"http://a #b\",\n    1\n  ]\n}\n");
}

TEST_APART(open__bad_base__one_sentence_with_a_place)
{
    ROWS(cases, const char *text, *expected) = {
        {"{\n /* no\n}", "ds.json:2:2: a comment is not closed"},
        {"{\n // no", "ds.json:2:7: expected a name in double quotes"},
        {"{ /*\n\n*/ \"fp16\": ,}", "ds.json:3:12: this is not a JSON value"},
        {"{,}", "ds.json:1:2: expected a name in double quotes"},
        {"{\"fp16\": 1,,}", "ds.json:1:12: expected a name in double quotes"},
        {"{\"fp16\": 1,\n \"fp16\": 2}", "ds.json:2:2: \"fp16\" is given twice (first on line 1)"},
        {"{\"zero_optimization\": {\"overlapp_comm\": true}}",
         "ds.json:1:24: DeepSpeed has no key zero_optimization \"overlapp_comm\"; did you mean \"overlap_comm\"?"},
        {"{\"zero_optimization\": {\"offload_param\": {\"devise\": \"cpu\"}}}",
         "ds.json:1:42: DeepSpeed has no key zero_optimization.offload_param \"devise\"; did you mean \"device\"?"},
        {"{\"train_batch_size\": 8,\n \"train_micro_batch_size_per_gpu\": 2.5}",
         "ds.json:2:2: train_micro_batch_size_per_gpu must be a whole number above 0"},
        {"{\"gradient_accumulation_steps\": 0}",
         "ds.json:1:2: gradient_accumulation_steps must be a whole number above 0"},
        {"[1]", "ds.json:1:1: a ds_config must be a JSON object"},
        {"{\"fp16\": 01}", "ds.json:1:10: this is not a JSON value"},
        {"{\"fp16\": \"a}", "ds.json:1:10: a string is not closed, or has an invalid escape"},
        {"{\"fp16\": 1", "ds.json:1:11: expected a comma or }"},
        {"{} x", "ds.json:1:4: expected the end of the file"},
        {"{fp16: 1}", "ds.json:1:2: expected a name in double quotes"},
        {"{\"fp16\" 1}", "ds.json:1:9: expected a colon"},
        {"{\"fp16\": [1 2]}", "ds.json:1:13: expected a comma or ]"},
        {"{\"fp16\": ", "ds.json:1:10: the file ends where a value is expected"},
        {"{\"fp16\": \"\\x\"}", "ds.json:1:10: a string is not closed, or has an invalid escape"},
        {"{\"fp16\": \"\\u12G4\"}", "ds.json:1:10: a string is not closed, or has an invalid escape"},
        {"{\"fp16\": 1.}", "ds.json:1:10: this is not a JSON value"},
        {"{\"fp16\": 1e+}", "ds.json:1:10: this is not a JSON value"},
        {"{\"fp16\": tru}", "ds.json:1:10: this is not a JSON value"},
        {"{\"zero_optimization\": 3}",
         "`zero_optimization.stage` cannot be set in ds.json, because a value above it is not an object"},
    };
    for (size_t i = 0; i < LENGTH(cases); i++) {
        put("ds.json", cases[i].text);
        OWNED char *text = error_of(FILE_OF("[parallel_spec]\n\"zero_optimization.stage\" = 1\n"));
        if (!strstr(text, cases[i].expected))
            fail_msg("case %zu: %s", i, text);
    }
    put("ds.json", "{}");
    OWNED char *text = error_of(FILE_OF("[parallel_spec]\n\"zero_optimization.offload_optimizer.ration\" = 0.5\n"));
    assert_non_null(
        strstr(text, "DeepSpeed has no key zero_optimization.offload_optimizer \"ration\"; did you mean \"ratio\"?"));
    free(text);
    unlink("ds.json");
    text = error_of(FILE_OF(""));
    assert_non_null(strstr(text, "test.toml:3:10: [deepspeed] config: "));
}

TEST_ROWS_APART(
    open__two_names_of_one_key__refused_wherever_they_stand, (const char *base, *specs, *expected),
    {"{\"zero_optimization\": {\"stage3_prefetch_bucket_size\": 1,\n  \"prefetch_bucket_size\": [1, 2]}}", "",
     "ds.json:2:3: zero_optimization has both \"prefetch_bucket_size\" and \"stage3_prefetch_bucket_size\", names of "
     "one key; write \"stage3_prefetch_bucket_size\" alone; DeepSpeed refuses it (runtime/zero/config.py)"},
    {"{\"tensor_parallel\": {\"kernel_inject\": true, \"replace_with_kernel_inject\": true}}", "",
     "write \"kernel_inject\" alone"},
    {"{\"zero_optimization\": {\"cpu_offload\": true}}",
     "[parallel_spec]\n\"zero_optimization.offload_optimizer.device\" = [\"cpu\", \"none\"]\n",
     "test.toml:5:1: `zero_optimization.offload_optimizer.device`: zero_optimization has both "
     "\"offload_optimizer\" and "
     "\"cpu_offload\", names of one key; write \"offload_optimizer\" alone"})
{
    OWNED char *file = xasprintf(FILE_OF("%s"), row->specs);
    put("ds.json", row->base);
    OWNED char *text = error_of(file);
    if (!strstr(text, row->expected))
        fail_msg("%s", text);
}

TEST_ROWS_APART(open__two_names_of_one_key_one_auto_or_no_model__accepted, (const char *text, *expected),
                {"{\"zero_optimization\": {\"prefetch_bucket_size\": 1, \"stage3_prefetch_bucket_size\": \"auto\"}}",
                 FILE_OF("")},
                {"{\"tensor_parallel\": {\"kernel_inject\": true, \"replace_with_kernel_inject\": true}}",
                 FILE_OF("version = \"0.14\"\n")})
{
    struct opened o;
    struct error e = ERROR_INIT;
    put("ds.json", row->text);
    if (open_text(row->expected, &o, &e) < 0)
        fail_msg("%s", e.text);
    close_all(&o);
}

TEST_APART(open__section_of_the_users_own__accepted)
{
    put("ds.json", "{\"my_section\": {\"a\": 1}}");
    assert_renders(FILE_OF("sections = [\"my_section\"]\n"), "{}", "{\n  \"my_section\": {\n    \"a\": 1\n  }\n}\n");
}

static const char half[] = "{\"zero_optimization\": {\"stage\": 2}, \"fp16\": {\"enabled\": true},"
                           " \"train_batch_size\": 8}",
                  narrow[] = "{\"data_types\": {\"grad_accum_dtype\": \"fp16\"}}";

TEST_ROWS_APART(rules__base_says_it__judged_like_a_key, (const char *base, *rest, *rule; int64_t jobs, excluded),
                {half, "[parallel_spec]\npp = [1, 2]\n[cluster_spec]\nnum_devices_per_host = 2\n",
                 "pipeline-zero-stage", 1, 1},
                {half, "[parallel_spec]\n\"bf16.enabled\" = [true, false]\n", "fp16-or-bf16", 1, 1},
                {half, "[parallel_spec]\nmicro_batch = [1, 3, 8]\n", "batch-divides", 2, 1},
                {"{\"train_batch_size\": 6, \"gradient_accumulation_steps\": 2}",
                 "[cluster_spec]\nnum_devices_per_host = [1, 2, 3, 4]\n", "batch-divides", 2, 2},
                /* Off where the file is silent. */
                {half, "[[rule]]\nname = \"half\"\nrequire = \"fp16 > bf16\"\n", "half", 1, 0},
                {"{\"bfloat16\": {\"enabled\": true}}", "[[rule]]\nname = \"half\"\nrequire = \"fp16 < bf16\"\n",
                 "half", 1, 0},
                {narrow, "[parallel_spec]\nzero_stage = [0, 1]\n", "accumulation-dtype-stage-0", 1, 1},
                {"{\"data_types\": {\"grad_accum_dtype\": \"fp16\"}, \"bf16\": {\"enabled\": \"auto\"}}",
                 "[parallel_spec]\nzero_stage = [0, 1]\n", "accumulation-dtype-stage-0", 2, -1}, /* it is not asked */
                /* A spec that lacks the key has the base's value; one that has it, its own. */
                {"{\"zero_optimization\": {\"stage\": 2}}",
                 "[cluster_spec]\nnum_devices_per_host = 2\n"
                 "[[parallel_spec]]\npp = 2\n[[parallel_spec]]\npp = 2\nzero_stage = 1\n",
                 "pipeline-zero-stage", 1, 1},
                /* Lists are looked into. */
                {"{\"elasticity\": {\"enabled\": true, \"max_train_batch_size\": 30, \"micro_batch_sizes\": [3,\n2],"
                 " \"version\": 0.1}}",
                 "[cluster_spec]\nnum_devices_per_host = [4, 5, 6, 7, 8]\n", "elasticity-devices", 3, 2},
                {"{\"compile\": {\"deepcompile\": true, \"passes\": [\"autotp\", \"it's\", \"z3\"]}}",
                 "[parallel_spec]\nzero_stage = [0, 3]\n", "deepcompile-autotp", 0, 2})
{
    struct opened o;
    OWNED char *text = xasprintf(FILE_OF("%s"), row->rest);
    put("ds.json", row->base);
    FAIL_IF(open_text(text, &o, &e) < 0);
    struct built b = {o.sweep, o.space};
    HELD(plan) p = plan_of(&b);
    if (p.jobs != row->jobs || excluded_by(&b, &p, row->rule) != row->excluded)
        fail_msg("%lld jobs, %lld excluded", (long long)p.jobs, (long long)excluded_by(&b, &p, row->rule));
    close_all(&o);
}

static struct hash128 key_of(const char *text)
{
    struct opened o;
    struct error e = ERROR_INIT;
    struct match_cursor *cursor = NULL;
    const struct match *m;
    if (open_text(text, &o, &e) < 0)
        fail_msg("%s", e.text);
    cursor = match_open(o.space, NULL);
    assert_int_equal(match_next(cursor, &m, &e), 1);
    struct hash128 key = m->key;
    match_close(cursor);
    close_all(&o);
    return key;
}

TEST_APART(identity__base__content_counts_and_neither_path_nor_layout)
{
    const char *sweep = FILE_OF("[job]\ncommand = [\"t\", \"{ds_config}\"]\n[parallel_spec]\nzero_stage = 1\n");
    put("ds.json", "{\"fp16\": {\"enabled\": true}}");
    struct hash128 first = key_of(sweep);
    put("ds.json", "{ \"fp16\" :\n{\"enabled\":true} }\n");
    struct hash128 laid_out = key_of(sweep);
    put("ds.json", "{\"fp16\": {\"enabled\": false}}");
    struct hash128 other = key_of(sweep);
    assert_memory_equal(&first, &laid_out, sizeof first);
    assert_memory_not_equal(&first, &other, sizeof first);
}

TEST_ROWS(arguments_and_placeholders__what_cannot_be__refused_with_a_hint, (const char *text, *expected),
          {"[deepspeed.arg_mappings]\ntrain_batch_size = \"b\"\n[job]\ncommand = \"t x\"\n",
           "test.toml:4:11: arg_mappings needs [job] command as a list of words"},
          {"[deepspeed.arg_mappings]\ngradient_cliping = \"--clip\"\n[parallel_spec]\na = 1\n",
           "test.toml:2:1: arg_mappings: a ds_config has no key \"gradient_cliping\"; did you mean "
           "\"gradient_clipping\"?"},
          {"[deepspeed.arg_mappings]\n\"optimiser.params.lr\" = \"lr\"\n[parallel_spec]\na = 1\n",
           "has no key \"optimiser.params.lr\"; did you mean \"optimizer\"?"},
          {"[job]\ncommand = [\"t\", \"{ds_config}\"]\n[parallel_spec]\na = 1\n",
           "placeholder {ds_config} needs a [deepspeed] table"})
{
    OWNED char *text = error_of(row->text);
    if (!strstr(text, row->expected))
        fail_msg("%s", text);
}

static char *mapped(const char *flag, const char *config, const char *const *command)
{
    struct setting setting = {.name = (char *)"train_micro_batch_size_per_gpu", .value = (char *)flag};
    const struct deepspeed_settings d = {.arguments = &setting, .argument_count = 1};
    char **words = ds_arguments_map(&d, config, (char *const *)command);
    struct buffer b = BUFFER_INIT;
    for (char **w = words; *w; w++) {
        buffer_printf(&b, "%s%s", b.length ? " " : "", *w);
        free(*w);
    }
    free(words);
    return buffer_take(&b);
}

static const char four[] = "{\"train_micro_batch_size_per_gpu\": 4}";

TEST_ROWS(arguments__every_spelling__replaced_or_appended, (const char *flag, *config, *command[4], *expected),
          {"per_device_bs", four, {"t", "--per_device_bs", "8"}, "t --per_device_bs 4"},
          {"--per_device_bs", four, {"t", "--per-device-bs", "8"}, "t --per-device-bs 4"},
          {"per-device-bs", four, {"t", "--per_device_bs=8"}, "t --per_device_bs=4"},
          {"per_device_bs", four, {"t", "--per_device_bs_eval=8"}, "t --per_device_bs_eval=8 --per_device_bs 4"},
          {"-b", four, {"t"}, "t -b 4"}, {"b", four, {"t", "b"}, "t b --b 4"},
          {"b", "{\"train_micro_batch_size_per_gpu\": \"auto\"}", {"t", "--b", "8"}, "t --b 8"},
          {"b", "{}", {"t", "--b", "8"}, "t --b 8"},
          {"b", "{\"train_micro_batch_size_per_gpu\": true}", {"t", "--b", "--c"}, "t --b --c"},
          {"b", "{\"train_micro_batch_size_per_gpu\": false}", {"t", "--b", "--c"}, "t --b=false --c"},
          {"b", "{\"train_micro_batch_size_per_gpu\": \"x y\"}", {"t", "--b"}, "t --b=x y"},
          {"b", "{\"train_micro_batch_size_per_gpu\": 8.0}", {"t", "--b", "-1"}, "t --b 8"},
          {"b", four, {"t", "--b", "-v"}, "t --b=4 -v"},
          {"b", "{\"inner\": {\"train_micro_batch_size_per_gpu\": 2}}", {"t", "--b", "8"}, "t --b 2"})
{
    OWNED char *text = mapped(row->flag, row->config, row->command);
    if (strcmp(text, row->expected) != 0)
        fail_msg("%s", text);
}

TEST(huggingface__profile__maps_the_trainers_arguments)
{
    static const char *const command[] = {"run_glue.py", "--per_device_train_batch_size", "8", "--learning_rate=1e-5",
                                          NULL};
    HELD_AT(sweep) *s = sweep_of("profile = [\"deepspeed\", \"huggingface\"]\n");
    char **words = ds_arguments_map(&s->deepspeed,
                                    "{\"train_micro_batch_size_per_gpu\": 4, \"gradient_accumulation_steps\": 2,"
                                    " \"optimizer\": {\"params\": {\"lr\": 3e-5, \"betas\": [0.9, 0.95]}}}",
                                    (char *const *)command);
    OWNED_BUFFER b = BUFFER_INIT;
    for (char **w = words; *w; w++) {
        buffer_printf(&b, "%s ", *w);
        free(*w);
    }
    free(words);
    assert_string_equal(b.data, "run_glue.py --per_device_train_batch_size 4 --learning_rate=3e-5 "
                                "--gradient_accumulation_steps 2 --adam_beta1 0.9 --adam_beta2 0.95 ");
}

TEST_ROWS(base64__padding_and_both_odd_digits__as_deepspeed_takes_it, (const char *text, *expected), {"", ""},
          {"a", "YQ=="}, {"ab", "YWI="}, {"{}\n", "e30K"}, {"\xfb\xff\xbf?", "-_-_Pw=="})
{
    OWNED_BUFFER b = BUFFER_INIT;
    ds_config_add_base64(row->text, &b);
    assert_string_equal(buffer_text(&b), row->expected);
}

TEST(specs__key_that_zero_optimization_lacks__said_with_a_hint)
{
    put("ds.json", "{}");
    char *text = error_of(FILE_OF("[parallel_spec]\n\"zero_optimization.reduce_bucket_sise\" = [1, 2]\n"
                                  "\"zero_optimization.offload_param.device\" = \"cpu\"\n"));
    const char *expected = "`zero_optimization.reduce_bucket_sise`: DeepSpeed has no key zero_optimization "
                           "\"reduce_bucket_sise\"; did you mean \"reduce_bucket_size\"?";
    assert_non_null(strstr(text, expected));
    assert_null(strstr(text, "offload_param"));
    free(text);
    unlink("ds.json");
}
