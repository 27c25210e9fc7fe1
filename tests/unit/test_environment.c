/* run: what a job inherits, what is recorded, and asking other programs. */
#include <signal.h>
#include <sys/stat.h>

#include <cjson/cJSON.h>

#include "device/provenance.h"
#include "process/cgroup.h"
#include "process/environment.h"
#include "process/external_command.h"
#include "process/process.h"
#include "unit_test.h"
#include "util/clock.h"

#define LIST(...) ((char *const[]){__VA_ARGS__, NULL})

static void assert_list(char **list, char *const *expected)
{
    size_t i = 0;
    for (; expected[i]; i++) {
        assert_non_null(list[i]);
        assert_string_equal(list[i], expected[i]);
    }
    assert_null(list[i]);
    strings_free(list);
}

static void assert_json(char *json, const char *expected)
{
    assert_string_equal(json, expected);
    free(json);
}

/* --- environments --- */

TEST(environment_value__other_names__not_taken)
{
    char *const *environment = LIST("PATHS=a", "XATH=b", "PATH=c=d", "PATH=e");
    assert_string_equal(environment_value(environment, "PATH"), "c=d");
    assert_null(environment_value(environment, "PAT"));
}

TEST(oom_counter_read__events_of_a_group__kills_alone)
{
    FILE *file = tmpfile();
    fputs("low 1\nmax 2\noom 3\noom_group_kill 5\noom_kill 74\n", file);
    fflush(file);
    assert_int_equal(oom_counter_read(fileno(file)), 74);
    assert_int_equal(oom_counter_read(-1), 0);
    fclose(file);
}

TEST(environment_base__runner__only_the_usual_and_what_is_passed)
{
    char *const *runner = LIST("PATH=/bin", "SSH_AUTH_SOCK=/tmp/s", "LC_ALL=C", "CUDA_VISIBLE_DEVICES=0,1",
                               "WANDB_MODE=off", "broken", "=odd", "LC=x", "MESHSWEEP_ATTEMPT=old:1");
    assert_list(environment_base(runner, (struct environment_passing){0}),
                LIST("PATH=/bin", "LC_ALL=C", "CUDA_VISIBLE_DEVICES=0,1"));
    assert_list(environment_base(runner, (struct environment_passing){LIST("WANDB_MODE", "WANDB"), NULL}),
                LIST("PATH=/bin", "LC_ALL=C", "CUDA_VISIBLE_DEVICES=0,1", "WANDB_MODE=off"));
}

TEST(environment_base__everything__but_secrets_and_our_own)
{
    char *const *runner =
        LIST("PATH=/bin", "HF_HOME=/hf", "HF_TOKEN=x", "MINE=1", "MESHSWEEP_ATTEMPT=old:1", "EDITOR=vi",
             "http_proxy=http://me:s3cret@proxy:1", "https_proxy=http://proxy:1", "NCCL_AUTH_KEY=1");
    const struct environment_passing all = {LIST("*"), LIST("MINE")}, more = {LIST("*", "HF_T*", "MINE"), LIST("MINE")};
    assert_list(environment_base(runner, all),
                LIST("PATH=/bin", "HF_HOME=/hf", "EDITOR=vi", "https_proxy=http://proxy:1", "NCCL_AUTH_KEY=1"));
    assert_list(environment_kept_out(runner, all), LIST("HF_TOKEN", "MINE", "http_proxy"));
    assert_list(environment_kept_out(runner, more), LIST("http_proxy"));
    assert_list(environment_kept_out(runner, (struct environment_passing){LIST("HF_*"), NULL}), LIST(NULL));
}

TEST(environment_not_passed__what_programs_read__by_whom)
{
    char *const *runner = LIST("PATH=/bin", "HF_HOME=/hf", "HF_TOKEN=x", "http_proxy=p", "OMP_NUM_THREADS=4", "MINE=1",
                               "PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True", "NCCL_DEBUG=INFO");
    const struct environment_passing none = {NULL, NULL};
    assert_list(environment_not_passed(runner, none, NULL),
                LIST("HF_HOME", "HF_TOKEN", "http_proxy", "OMP_NUM_THREADS", "PYTORCH_CUDA_ALLOC_CONF"));
    assert_list(environment_not_passed(runner, none, "cc -fopenmp"), LIST("http_proxy", "OMP_NUM_THREADS"));
    assert_list(environment_not_passed(runner, none, "from transformers import Trainer"),
                LIST("HF_HOME", "HF_TOKEN", "http_proxy", "OMP_NUM_THREADS", "PYTORCH_CUDA_ALLOC_CONF"));
    assert_list(environment_not_passed(runner, (struct environment_passing){LIST("HF_*", "http_proxy"), NULL}, NULL),
                LIST("OMP_NUM_THREADS", "PYTORCH_CUDA_ALLOC_CONF"));
    assert_list(environment_not_passed(runner, (struct environment_passing){LIST("*"), NULL}, NULL), LIST("HF_TOKEN"));
}

TEST(environment_with__same_name__the_later_one_replaces)
{
    assert_list(environment_with(LIST("A=1", "AB=2"), LIST("A=3", "C=", "nothing"), LIST("C=4", "A=5")),
                LIST("A=5", "AB=2", "C=4"));
    assert_list(environment_with(LIST("A=1"), NULL, NULL), LIST("A=1"));
}

TEST(environment_json__secrets__redacted)
{
    assert_json(environment_declared_json(LIST("A=x\"y", "HF_TOKEN=hf_123", "EMPTY=", "MINE=1"), LIST("MINE")),
                "{\"A\":\"x\\\"y\",\"HF_TOKEN\":\"[redacted]\",\"EMPTY\":\"\",\"MINE\":\"[redacted]\"}");
    assert_null(environment_declared_json(LIST(NULL), NULL));
    assert_json(environment_context_json(LIST("PATH=/bin", "HOME=/root", "NCCL_DEBUG=INFO", "NCCL_AUTH_KEY=1"), NULL,
                                         NULL),
                "{\"PATH\":\"/bin\",\"NCCL_DEBUG\":\"INFO\",\"NCCL_AUTH_KEY\":\"[redacted]\"}");
    assert_json(environment_context_json(LIST("HOME=/root"), NULL, NULL), "{}");
    assert_json(environment_context_json(LIST("HF_HOME=/hf", "SHLVL=3", "HF_TOKEN=x", "WANDB_MODE=off", "X=1"),
                                         LIST("HF_*", "WANDB_MODE", "SHLVL"), NULL),
                "{\"HF_HOME\":\"/hf\",\"HF_TOKEN\":\"[redacted]\",\"WANDB_MODE\":\"off\"}");
    OWNED char *json = environment_context_json(LIST("HTTPS_PROXY=http://me:s3cret@proxy:1"), LIST("*"), NULL);
    assert_null(strstr(json, "s3cret"));
}

/* --- commands --- */

static char *const usual[] = {"PATH=/usr/bin:/bin", "LANG=C", NULL};

static int run_shell(const char *script, int64_t timeout_ms, size_t bytes_most, struct external_command_result *out,
                     struct error *e)
{
    char *const argv[] = {"sh", "-c", (char *)script, NULL};
    const struct external_command command = {argv, usual, "/tmp", timeout_ms, bytes_most, NULL};
    return external_command_run(&command, out, e);
}

TEST(command__output_errors_status__told_apart)
{
    struct external_command_result r = EXTERNAL_COMMAND_RESULT_INIT;
    FAIL_IF(run_shell("pwd; echo bad >&2; exit 3", 60000, 100, &r, &e));
    assert_string_equal(r.output, "/tmp\n");
    assert_string_equal(r.errors, "bad\n");
    assert_int_equal(r.exit_code, 3);
    external_command_result_free(&r);
    FAIL_IF(run_shell("kill -9 $$", 60000, 100, &r, &e));
    assert_int_equal(r.exit_code, -1);
    assert_string_equal(r.output, "");
    external_command_result_free(&r);
}

TEST(command__much_output__read_to_the_end_and_cut)
{
    HELD(external_command_result) r = EXTERNAL_COMMAND_RESULT_INIT;
    FAIL_IF(run_shell("head -c 1000000 /dev/zero | tr '\\0' x; exit 4", 60000, 1000, &r, &e));
    assert_int_equal(strlen(r.output), 1000);
    assert_int_equal(r.exit_code, 4);
}

TEST(command__no_answer__killed_with_its_children)
{
    struct external_command_result r = EXTERNAL_COMMAND_RESULT_INIT;
    int64_t before_ms = clock_monotonic_ms();
    FAILS_WITH(run_shell("trap '' TERM; sleep 1000", 100, 1000, &r, &e), "sh: no answer within 100 ms");
    assert_true(clock_monotonic_ms() - before_ms < 60000);
    assert_null(r.output);
}

static bool goes_on_until(void *context)
{
    int64_t *looks = context;
    return --*looks > 0;
}

static int run_watched(const char *script, int64_t looks, struct external_command_result *out, struct error *e)
{
    char *const argv[] = {"sh", "-c", (char *)script, NULL};
    const struct external_command command = {argv, usual, "/tmp", 600000, 100, NULL};
    const struct external_command_watch watch = {goes_on_until, &looks, looks > 1 ? 100 : 60000};
    return external_command_run_watched(&command, &watch, out, e);
}

TEST(command__watched__asked_to_end_then_killed)
{
    struct external_command_result r = EXTERNAL_COMMAND_RESULT_INIT;
    for (int ends = 0; ends < 2; ends++) {
        FAIL_IF(run_watched(ends ? "sleep 1000 & wait" : "exit 3", ends ? 1 : INT64_MAX, &r, &e));
        assert_int_equal(r.exit_code, ends ? -1 : 3);
        external_command_result_free(&r);
    }
    FAILS(run_watched("trap '' TERM; sleep 1000; sleep 1000", 3, &r, &e));
    assert_null(r.output);
}

TEST(command__output_held_open_by_a_child__not_waited_for)
{
    HELD(external_command_result) r = EXTERNAL_COMMAND_RESULT_INIT;
    FAIL_IF(run_shell("sleep 5 & echo $!", 60000, 1000, &r, &e));
    pid_t left = (pid_t)atoi(r.output);
    assert_int_equal(kill(left, SIGKILL), 0); /* it is there: nobody waited for its end */
}

TEST(command__not_there__said)
{
    struct external_command_result r = EXTERNAL_COMMAND_RESULT_INIT;
    char *const argv[] = {"no-such-program-here", NULL};
    const struct external_command command = {argv, usual, NULL, 1000, 100, NULL};
    FAILS_WITH(external_command_run(&command, &r, &e),
               "no-such-program-here: cannot be started (exec): No such file or directory");
}

/* --- where it ran --- */

TEST(gpu_models__as_the_driver_shows_them__in_bus_order)
{
    put("nvidia/version",
        "NVRM version: NVIDIA UNIX x86_64 Kernel Module  550.54.15  Tue Mar  5 22:23:56 UTC 2024\nGCC\n");
    put("nvidia/gpus/0000:3b:00.0/information", "Model: \t\t NVIDIA A100 80GB\nIRQ:   \t\t 5\n");
    put("nvidia/gpus/0000:0a:00.0/information", "Model: \t\t NVIDIA H200\n");
    assert_json(gpu_models_json("nvidia"),
                "{\"driver\":\"550.54.15\",\"models\":[\"NVIDIA H200\",\"NVIDIA A100 80GB\"]}");
    assert_json(gpu_models_json("/no/such/directory"), "null");
}

/* Provenance's git is this, as printed JSON. */
static void assert_git(const char *where, char *const *environment, const char *expected)
{
    OWNED char *text = provenance_json(where, environment, NULL, NULL, "{\"torch\":\"2.1\"}");
    cJSON *all = cJSON_Parse(text);
    assert_non_null(all);
    assert_json(cJSON_PrintUnformatted(cJSON_GetObjectItemCaseSensitive(all, "git")), expected);
    cJSON_Delete(all);
}

TEST(provenance__everything__one_json_object)
{
    char *text =
        provenance_json(NULL, LIST("PATH=/usr/bin:/bin", "OMP_NUM_THREADS=3", "CUDA_API_KEY=k"), NULL, NULL, NULL);
    cJSON *all = cJSON_Parse(text);
    assert_non_null(all);
    static const char *const numbers[] = {"cpus", "cpus_usable", "memory_bytes"};
    for (size_t i = 0; i < LENGTH(numbers); i++)
        assert_true(cJSON_GetNumberValue(cJSON_GetObjectItemCaseSensitive(all, numbers[i])) >= 1);
    static const char *const strings[] = {"host", "kernel", "machine", "tool"};
    for (size_t i = 0; i < LENGTH(strings); i++)
        assert_true(cJSON_IsString(cJSON_GetObjectItemCaseSensitive(all, strings[i])));
    assert_true(cJSON_HasObjectItem(all, "gpus"));
    const cJSON *environment = cJSON_GetObjectItemCaseSensitive(all, "environment");
    assert_string_equal(cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(environment, "OMP_NUM_THREADS")), "3");
    assert_string_equal(cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(environment, "CUDA_API_KEY")),
                        "[redacted]");
    cJSON_Delete(all);
    free(text);
}

TEST(provenance__no_git_or_no_repository__null)
{
    assert_git(".", LIST("PATH=/usr/bin:/bin"), "null");
    assert_git(".", LIST("PATH=none"), "null");
    assert_git("/no/such/directory", LIST("PATH=/usr/bin:/bin"), "null");
}

/* A git of our own: what it is asked and how its answers are read. */
TEST_ROWS(provenance__repository__commit_and_dirty, (const char *other_answers, *dirty),
          {"*untracked-files=no*) echo ' M file';; *) exit 1;;", "true"}, {"", "false"}, {"*) exit 1;;", "null"})
{
    OWNED char *git = xasprintf("#!/bin/sh\ncase \"$*\" in *rev-parse*) echo 0123abc;; %s esac\n", row->other_answers);
    OWNED char *expected = xasprintf("{\"commit\":\"0123abc\",\"dirty\":%s}", row->dirty);
    put("bin/git", git);
    assert_int_equal(chmod("bin/git", 0755), 0);
    assert_git(".", LIST("PATH=bin:/usr/bin:/bin"), expected);
}

TESTS_APART()
