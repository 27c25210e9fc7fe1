/* deepspeed: hosts, the section "autotuning", and the sweep file that is made of them. */
#include "deepspeed/ds_config.h"
#include "deepspeed/ds_preparation.h"
#include "deepspeed/tuning_space.h"
#include "sweep_fixture.h"

/* --- steps --- */

TEST(profile_steps_last__by_the_time_of_a_step__as_far_as_five_seconds_go)
{
    ROWS(cases, int64_t steps[PROFILE_STEP_COUNT]; double seconds; int64_t last) = {
        {{3, 8, 53}, 0.01, 53}, {{3, 8, 53}, 0.2, 28}, {{3, 8, 53}, 0.24, 23},       {{3, 8, 53}, 1, 8},
        {{3, 8, 53}, 600, 8},   {{3, 8, 53}, 0, 8},    {{3, 8, 53}, (double)NAN, 8}, {{3, 5, 0}, 0.01, 5},
    };
    for (size_t i = 0; i < LENGTH(cases); i++)
        assert_int_equal(profile_steps_last(cases[i].steps, cases[i].seconds), cases[i].last);
    assert_true(isnan(profile_step_seconds("/nonexistent/results.db", "throughput", 8)));
}

/* --- the section --- */

static int read_knobs(const char *file, const struct json *section, struct autotuning *a, struct error *e)
{
    HELD(problems) problems = PROBLEMS_INIT;
    autotuning_read(file, section, a, &problems);
    int rc = problems_report(&problems, NULL, e);
    return rc;
}

static int read_section(const char *text, struct json *root, struct autotuning *a, struct error *e)
{
    assert_int_equal(json_text_parse("d", text, root, e), 0);
    return read_knobs("d", root, a, e);
}

TEST(autotuning__nothing_said__defaults)
{
    HELD(autotuning) a;
    FAIL_IF(read_knobs("d", NULL, &a, &e));
    assert_true(a.fast && a.maximise);
    assert_string_equal(a.metric, "throughput");
    assert_int_equal(a.start_step, 3);
    assert_int_equal(a.end_step, 8);
    assert_int_equal(a.most_step, 53);
    assert_int_equal(a.max_micro_batch, 1024);
    assert_string_equal(a.results_dir, "autotuning_results");
}

TEST(autotuning__every_knob__known)
{
    static const char text[] = "{\"enabled\": true, \"fast\": false, \"start_profile_step\": 4, \"end_profile_step\": "
                               "6, \"num_nodes\": [1, 2],"
                               " \"num_gpus\": 8, \"metric\": \"forward\", \"metric_path\": null, \"arg_mappings\": "
                               "{}, \"tuner_type\": \"model_based\","
                               " \"tuner_early_stopping\": 7, \"tuner_num_trials\": 20, \"max_train_batch_size\": 64, "
                               "\"min_train_batch_size\": 1,"
                               " \"max_train_micro_batch_size_per_gpu\": 32, \"min_train_micro_batch_size_per_gpu\": 2,"
                               " \"num_tuning_micro_batch_sizes\": 4, \"mp_size\": 2, \"model_info\": {\"num_params\": "
                               "10}, \"model_info_path\": \"x\","
                               " \"exps_dir\": \"e\", \"results_dir\": \"r\", \"overwrite\": true}";
    __attribute__((cleanup(json_text_free))) struct json root = {0};
    HELD(autotuning) a;
    FAIL_IF(read_section(text, &root, &a, &e));
    assert_true(!a.fast && !a.maximise);
    assert_string_equal(a.metric, "fwd");
    assert_int_equal(a.tuner, TUNER_MODEL);
    assert_int_equal(a.start_step + a.end_step, 10);
    assert_int_equal(a.most_step, 0);
    assert_int_equal(a.early_stopping + a.num_trials, 27);
    assert_int_equal(a.min_micro_batch + a.max_micro_batch + a.max_train_batch_size, 98);
    assert_int_equal(a.micro_batch_sizes + a.mp_size, 6);
    assert_int_equal(a.num_nodes->count, 2);
    assert_string_equal(a.exps_dir, "e");
}

TEST_ROWS(autotuning__wrong__all_at_once, (const char *text, *message),
          {"{\"train_micro_batch_size_per_gpu\": [4]}",
           "d:1:2: autotuning has no key \"train_micro_batch_size_per_gpu\"; it belongs at the top of the ds_config, "
           "beside \"autotuning\""},
          {"{\"start_steps\": 1}", "d:1:2: autotuning has no key \"start_steps\"; did you mean \"start_step\"?"},
          {"{\"num_gpus\": [2, 0]}",
           "d:1:2: autotuning.num_gpus must be a positive integer, or a list of different positive integers"},
          {"{\"num_gpus\": []}",
           "d:1:2: autotuning.num_gpus must be a positive integer, or a list of different positive integers"},
          {"{\"mp_size\": 0.5,\n\"fast\": \"no\"}", "d:1:2: autotuning.mp_size must be a whole number above 0\n"
                                                    "d:2:1: autotuning.fast must be true or false"},
          {"{\"num_nodes\": [2, 1, 2.0]}",
           "d:1:2: autotuning.num_nodes must be a positive integer, or a list of different positive integers"},
          {"{\"model_info\": {\"num_parms\": 3, \"hidden_size\": \"x\"}}",
           "d:1:17: autotuning.model_info has no key \"num_parms\"; did you mean \"num_params\"?\n"
           "d:1:33: autotuning.model_info.hidden_size must be a positive integer"},
          {"{\"tuner_type\": \"grid\"}",
           "d:1:2: autotuning.tuner_type must be \"gridsearch\", \"random\" or \"model_based\""},
          {"{\"exps_dir\": 3}", "d:1:2: autotuning.exps_dir must be the name of a directory"},
          {"{\"arg_mappings\": \"x\"}", "d:1:2: autotuning.arg_mappings must be a table"},
          {"{\"start_step\": 9, \"end_step\": 5}", "d: autotuning: end_profile_step 5 is before start_profile_step 9"},
          {"[]", "d: autotuning must be a table, not a list"})
{
    __attribute__((cleanup(json_text_free))) struct json root = {0};
    HELD(autotuning) a = {0};
    FAILS_WITH(read_section(row->text, &root, &a, &e), row->message);
}

/* --- the script's arguments --- */

TEST(find_config__each_spelling__its_word)
{
    ROWS(cases, const char *words[8]; size_t at; const char *path) = {
        {{"t.py", "--deepspeed", "d.json", NULL}, 2, "d.json"},
        {{"t.py", "--deepspeed=d.json", "--lr", "1", NULL}, 1, "d.json"},
        {{"t.py", "--deepspeed", "--deepspeed_config", "d.json", NULL}, 3, "d.json"},
        {{"t.py", "--deepspeed_config=a=b.json", NULL}, 1, "a=b.json"},
        {{"t.py", "--deepspeed-config", "d.json", NULL}, 2, "d.json"},
    };
    for (size_t i = 0; i < LENGTH(cases); i++) {
        size_t at = 0;
        FAIL_IF(ds_arguments_find_config((char *const *)cases[i].words, &at, &e));
        assert_int_equal(at, cases[i].at);
        OWNED char *path = ds_arguments_config_path(cases[i].words[at]);
        assert_string_equal(path, cases[i].path);
    }
    const char *none[] = {"t.py", "--deepspeed", "--lr", NULL};
    size_t at;
    FAILS(ds_arguments_find_config((char *const *)none, &at, &e));
}

/* --- the sweep file --- */

static char *space_on(const struct tuning_cluster *cluster, const char *config, bool *equal_batch, struct error *e)
{
    char *launcher[] = {(char *)"deepspeed", NULL};
    char *program[] = {(char *)"a\"b{c}.py", (char *)"--deepspeed=d.json", NULL};
    struct json root = {0};
    struct autotuning knobs;
    struct buffer toml = BUFFER_INIT;
    assert_int_equal(json_text_parse("d.json", config, &root, e), 0);
    assert_int_equal(read_knobs("d.json", json_text_find(&root, "autotuning"), &knobs, e), 0);
    const struct tuning_request r = {.ds_file = "/x/d.json",
                                     .root = &root,
                                     .knobs = &knobs,
                                     .launcher = launcher,
                                     .program = program,
                                     .config_at = 1,
                                     .cluster = cluster,
                                     .timeout = "30m",
                                     .clean = true};
    struct tuning_notes notes = {0};
    int rc = tuning_space_write(&r, &toml, &notes, e);
    *equal_batch = !notes.batches_differ;
    string_list_free(&notes.sentences);
    autotuning_free(&knobs);
    json_text_free(&root);
    char *text = buffer_take(&toml);
    if (rc == 0)
        return text;
    free(text);
    return NULL;
}

static char *space_of(const char *config, bool *equal_batch, struct error *e)
{
    return space_on(&(struct tuning_cluster){.nodes = 1, .devices = 4}, config, equal_batch, e);
}

TEST(space__uneven_hosts__as_many_devices_of_each)
{
    HELD(host_list) hosts = HOST_LIST_INIT;
    const struct tuning_cluster cluster = {.hosts = &hosts, .names_hosts = true};
    bool ignored;
    FAIL_IF(hosts_parse("f", "w0 slots=2\nw1 slots=8\n", &hosts, &e));
    FAIL_IF(hosts_filter(&hosts, "w0@w1:4,5,6", NULL, &e));
    OWNED char *toml =
        space_on(&cluster, "{\"autotuning\": {\"num_nodes\": [1, 2, 3], \"num_gpus\": [2, 3]}}", &ignored, NULL);
    assert_non_null(strstr(toml, " = [[1, 2, \"w0:0,1\"], [1, 3, \"w1:4,5,6\"], [2, 2, \"w0:0,1@w1:4,5\"], "
                                 "[2, 3, \"\"], [3, 2, \"\"], [3, 3, \"\"]]\n"));
}

TEST_ROWS(
    space__any_config__a_sweep_file_that_loads, (const char *config, *wanted; bool equal_batch),
    {"{}", "\"zero_optimization.stage\" = [0, 1, 2, 3]\n\"train_micro_batch_size_per_gpu\" = { from = 1, to = 1024 }\n",
     false},
    {"{}", "strategy = \"staged\"\n", false},
    {"{\"autotuning\": {\"metric\": \"latency\"}}",
     "\"train_micro_batch_size_per_gpu\" = { from = 1, to = 1024, factor = 2 }\n", false},
    {"{\"train_batch_size\": 12, \"train_micro_batch_size_per_gpu\": 3}", "\"train_micro_batch_size_per_gpu\" = [3]\n",
     true},
    {"{\"autotuning\": {\"max_train_micro_batch_size_per_gpu\": 5}}",
     "\"train_micro_batch_size_per_gpu\" = [1, 2, 3, 4, 5]\n", false},
    {"{\"autotuning\": {\"max_train_batch_size\": 12}}",
     "\"(train_micro_batch_size_per_gpu, gradient_accumulation_steps)\" = [[1, 3], [1, 2], [1, 1], [2, 1], [3, 1]]\n",
     false},
    {"{\"train_batch_size\": 8, \"sequence_parallel_size\": [1, 4]}",
     "\"train_micro_batch_size_per_gpu\" = { from = 1, to = 8 }\n", true},
    {"{\"gradient_accumulation_steps\": 2, \"autotuning\": {\"min_train_batch_size\": 12}}",
     "require = \"train_micro_batch_size_per_gpu * 2 * dp >= 12\"\n", false},
    {"{\"zero_optimization\": {\"stage\": 1, \"offload_optimizer\": {\"device\": [\"none\", \"cpu\"]}}}",
     "\"zero_optimization.offload_optimizer.device\" = [\"none\", \"cpu\"]\n", false},
    {"{\"optimizer\": {\"params\": {\"lr\": [1e-4, 2E-4], \"betas\": [0.9, 0.99]}}}",
     "\"optimizer.params.lr\" = [1e-4, 2E-4]\n", false},
    {"{\"zero_optimization\": {\"stage\": [1, 3]}, \"autotuning\": {\"fast\": false}}",
     "\"zero_optimization.stage\" = 3\n", false},
    {"{}", "command = [\"deepspeed\", \"a\\\"b{{c}.py\", \"--deepspeed={ds_config}\"]\n", false})
{
    struct error e = ERROR_INIT;
    bool equal_batch;
    OWNED char *toml = space_of(row->config, &equal_batch, &e);
    assert_non_null(toml);
    assert_non_null(strstr(toml, row->wanted));
    assert_null(strstr(toml, "betas"));
    assert_int_equal(equal_batch, row->equal_batch);
    HELD_AT(sweep) *sweep = sweep_of(toml);
    assert_non_null(sweep);
}

TEST_ROWS(
    space__what_cannot_be_an_axis__said_with_its_place, (const char *text, *expected),
    {"{\"zero_optimization\": {\"stage\": 4}}",
     "/x/d.json:1:24: zero_optimization.stage must be 0, 1, 2 or 3, a list of different stages, or \"all\""},
    {"{\"fp16\": {\"enabled\": [true, null]}}",
     "/x/d.json:1:11: \"fp16.enabled\": a list of values to try may contain only numbers, strings, true and false"},
    {"{\"gradient_accumulation_steps\": []}", "/x/d.json:1:2: \"gradient_accumulation_steps\": the list is empty"},
    {"{\"train_micro_batch_size_per_gpu\": 0}",
     "/x/d.json:1:2: train_micro_batch_size_per_gpu must be a positive integer, a list of them, or \"auto\""})
{
    struct error e = ERROR_INIT;
    bool equal_batch;
    assert_null(space_of(row->text, &equal_batch, &e));
    assert_string_equal(e.text, row->expected);
}
