/* run: which failure an attempt was, by its outcome and by real frameworks' words. */
#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "run/classify.h"
#include "store/db.h"
#include "util/embedded.h"
#include "util/memory.h"

static char log_path[64];
static struct classifier *classifier;

/* The program's own patterns, as a database has them. */
static struct classifier *load_patterns(void)
{
    struct failure_pattern patterns[64];
    struct classifier *c = NULL;
    struct db *db;
    struct stmt *s;
    struct error e = ERROR_INIT;
    size_t count = 0;
    if (db_open(NULL, DB_TEMPORARY, &db, &e) < 0 ||
        db_exec(db, embedded_text("migrations/0001_initial.sql"), &e) < 0 ||
        db_exec(db, embedded_text("sql/failures.sql"), &e) < 0 ||
        db_prepare(db, "SELECT class, pattern, source FROM failure_pattern", &s, &e) < 0)
        return NULL;
    for (; count < 64 && stmt_next(s, &e) > 0; count++)
        patterns[count] = (struct failure_pattern){xstrdup(stmt_text(s, 0)), xstrdup(stmt_text(s, 1)),
                                                   xstrdup(stmt_text(s, 2)), {"", 0, 0}};
    stmt_free(s);
    db_close(db);
    if (count == 0 || classifier_create(patterns, count, &c, &e) < 0)
        return NULL;
    for (size_t i = 0; i < count; i++) {
        free(patterns[i].class_name);
        free(patterns[i].pattern);
        free(patterns[i].source);
    }
    return c;
}

static int set_up(void **state)
{
    (void)state;
    strcpy(log_path, "/tmp/meshsweep-classify-XXXXXX");
    int fd = mkstemp(log_path);
    classifier = load_patterns();
    return fd < 0 || !classifier ? -1 : close(fd);
}

static int tear_down(void **state)
{
    (void)state;
    classifier_free(classifier);
    return unlink(log_path);
}

static void put(const char *text)
{
    FILE *file = fopen(log_path, "w");
    assert_non_null(file);
    fputs(text, file);
    fclose(file);
}

static struct outcome exited(int code)
{
    return (struct outcome){.ending = ENDING_EXITED, .exit_code = code};
}

static struct outcome signaled(int signal_number)
{
    return (struct outcome){.ending = ENDING_SIGNALED, .exit_code = -1, .signal_number = signal_number};
}

static struct outcome limited(enum ending ending)
{
    return (struct outcome){.ending = ending, .exit_code = -1, .signal_number = SIGTERM, .limit_ms = 90000};
}

/* Classifies `o` with `text` as its output; the message must be `message`. */
static void assert_verdict(const struct outcome *o, const char *text, enum failure failure, const char *message)
{
    put(text);
    struct verdict v = classify(classifier, o, log_path, true, false);
    assert_string_equal(failure_names[v.failure], failure_names[failure]);
    assert_string_equal(v.message, message);
    free(v.message);
}

static enum failure class_of(const char *line)
{
    struct outcome o = exited(1);
    put(line);
    struct verdict v = classify(classifier, &o, log_path, false, false);
    free(v.message);
    return v.failure;
}

/* --- outcomes --- */

static void classify__not_started__spawn_with_the_reason(void **state)
{
    (void)state;
    struct outcome o = {.ending = ENDING_SPAWN_FAILED, .exit_code = -1, .error_number = ENOENT, .spawn_stage = "exec"};
    struct verdict v = classify(classifier, &o, NULL, true, false);
    assert_int_equal(v.failure, FAILURE_SPAWN);
    assert_string_equal(v.message, "could not be started (exec): No such file or directory");
    free(v.message);
}

static void classify__cancelled__whatever_the_output_says(void **state)
{
    (void)state;
    struct outcome o = {.ending = ENDING_CANCELLED, .exit_code = -1, .signal_number = SIGTERM};
    put("CUDA out of memory. Tried to allocate 2.00 GiB\n");
    struct verdict v = classify(classifier, &o, log_path, true, false);
    assert_int_equal(v.failure, FAILURE_CANCELLED);
    free(v.message);
}

static void classify__exit_zero__ok_unless_the_objective_is_missing(void **state)
{
    (void)state;
    struct outcome o = exited(0);
    put("recovered from: CUDA out of memory. Tried to allocate 2.00 GiB\n");
    struct verdict v = classify(classifier, &o, log_path, true, true);
    assert_int_equal(v.failure, FAILURE_NONE);
    assert_null(v.message);
    v = classify(classifier, &o, log_path, false, false);
    assert_int_equal(v.failure, FAILURE_NONE);
    v = classify(classifier, &o, log_path, true, false);
    assert_int_equal(v.failure, FAILURE_NO_METRIC);
    assert_non_null(v.message);
    free(v.message);
}

static void classify__exit_status__with_the_line_that_says_most(void **state)
{
    (void)state;
    struct outcome o = exited(3);
    assert_verdict(&o, "", FAILURE_EXIT, "exit status 3");
    assert_verdict(&o, "starting\n\n  giving up \n\n======\n", FAILURE_EXIT, "exit status 3: giving up ");
    assert_verdict(&o,
                   "Traceback (most recent call last):\n"
                   "[rank0]: ValueError: heads must divide the width\n"
                   "torch.distributed.elastic.multiprocessing.errors.ChildFailedError: \n"
                   "train.py FAILED\n",
                   FAILURE_EXIT, "exit status 3: [rank0]: ValueError: heads must divide the width");
    assert_verdict(&o, "\033[31mred\033[0m\tand\x01 \xFFplain\n", FAILURE_EXIT,
                   "exit status 3: red and  \xEF\xBF\xBDplain");
}

static void classify__signals__named(void **state)
{
    (void)state;
    struct outcome o = signaled(SIGSEGV);
    o.core_dumped = true;
    assert_verdict(&o, "last words\n", FAILURE_SIGNAL, "killed by signal 11 (SIGSEGV), core dumped: last words");
    o = signaled(SIGKILL);
    assert_verdict(&o, "", FAILURE_SIGNAL, "killed by signal 9 (SIGKILL)");
}

static void classify__limits__which_and_how_long(void **state)
{
    (void)state;
    struct outcome o = limited(ENDING_TIMEOUT);
    assert_verdict(&o, "working\n", FAILURE_TIMEOUT, "timeout: still running after 1m30s");
    o = limited(ENDING_IDLE_TIMEOUT);
    assert_verdict(&o, "", FAILURE_HANG, "idle_timeout: no output and no metric for 1m30s");
    o = limited(ENDING_STARTUP_TIMEOUT);
    assert_verdict(&o, "", FAILURE_TIMEOUT, "startup_timeout: no first metric within 1m30s");
}

/* One rank runs out of memory, the others wait for it until the limit. */
static void classify__device_memory_before_a_limit__oom(void **state)
{
    (void)state;
    struct outcome o = limited(ENDING_IDLE_TIMEOUT);
    assert_verdict(&o, "CUDA out of memory. Tried to allocate 2.00 GiB\nwaiting\n", FAILURE_OOM,
                   "idle_timeout: no output and no metric for 1m30s: CUDA out of memory. Tried to allocate 2.00 GiB");
    o = signaled(SIGABRT);
    assert_verdict(&o, "MemoryError\nhipErrorOutOfMemory\n", FAILURE_OOM,
                   "killed by signal 6 (SIGABRT): hipErrorOutOfMemory");
}

static void classify__kernel_says_host_memory__oom_host(void **state)
{
    (void)state;
    struct outcome o = signaled(SIGKILL);
    o.host_oom = true;
    assert_verdict(&o, "working\n", FAILURE_OOM_HOST,
                   "killed by signal 9 (SIGKILL): the kernel ended it, the host's memory was exhausted");
    o = exited(137);
    o.host_oom = true;
    assert_verdict(&o, "Killed\n", FAILURE_OOM_HOST,
                   "exit status 137: the kernel ended it, the host's memory was exhausted");
    o = limited(ENDING_TIMEOUT);
    o.host_oom = true;
    assert_verdict(&o, "", FAILURE_TIMEOUT, "timeout: still running after 1m30s");
}

static void classify__own_pattern__its_class(void **state)
{
    (void)state;
    struct failure_pattern own = {(char *)"hang", (char *)"watchdog .* expired", (char *)"file", {"", 0, 0}};
    struct classifier *c;
    struct error e = ERROR_INIT;
    assert_int_equal(classifier_create(&own, 1, &c, &e), 0);
    struct outcome o = exited(1);
    put("the watchdog of rank 3 expired\n");
    struct verdict v = classify(c, &o, log_path, true, false);
    assert_int_equal(v.failure, FAILURE_HANG);
    free(v.message);
    classifier_free(c);
}

static void classifier__wrong_pattern_or_class__said(void **state)
{
    (void)state;
    struct failure_pattern bad[] = {{(char *)"oom", (char *)"a(b", (char *)"here", {"", 0, 0}},
                                    {(char *)"oops", (char *)"ab", (char *)"here", {"", 0, 0}}};
    struct classifier *c = NULL;
    for (size_t i = 0; i < 2; i++) {
        struct error e = ERROR_INIT;
        assert_int_equal(classifier_create(&bad[i], 1, &c, &e), -1);
        assert_int_equal(e.kind, ERROR_USAGE);
        assert_non_null(strstr(e.text, bad[i].pattern));
        assert_null(c);
    }
}

static void failure_by_name__each_name__and_nothing_else(void **state)
{
    (void)state;
    for (int i = 1; i < FAILURE_COUNT; i++)
        assert_int_equal(failure_by_name(failure_names[i]), i);
    assert_int_equal(failure_by_name("ok"), FAILURE_NONE);
    assert_int_equal(failure_by_name(""), FAILURE_NONE);
}

/* --- words of frameworks --- */

static const char *const device_lines[] = {
    "torch.cuda.OutOfMemoryError: CUDA out of memory. Tried to allocate 20.00 MiB (GPU 0; 79.15 GiB total capacity)",
    "[rank3]: torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 3 has a total capacity of",
    "RuntimeError: CUDA out of memory. Tried to allocate 1.95 GiB",
    "torch.AcceleratorError: CUDA error: out of memory",
    "RuntimeError: cuda runtime error (2) : out of memory at THCStorage.cu:58",
    "torch.OutOfMemoryError: HIP out of memory. Tried to allocate 256.00 MiB",
    "torch.OutOfMemoryError: XPU out of memory. Tried to allocate 4.66 GiB",
    "RuntimeError: MPS backend out of memory (MPS allocated: 17.00 GB)",
    "RuntimeError: NPU out of memory. Tried to allocate 512.00 MiB (NPU 0; 60.97 GiB total capacity)",
    "RuntimeError: CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling `cublasCreate(handle)`",
    "cudaErrorMemoryAllocation",
    "HIP runtime error: hipErrorOutOfMemory",
    "failed to allocate 2.00G (2147483648 bytes) from device: CUDA_ERROR_OUT_OF_MEMORY: out of memory",
    "cudaMalloc failed: out of memory",
    "level_zero backend failed with error: 39 (UR_RESULT_ERROR_OUT_OF_DEVICE_MEMORY)",
    "XlaRuntimeError: RESOURCE_EXHAUSTED: Out of memory while trying to allocate 7406166528 bytes.",
    "Execution of replica 0 failed: RESOURCE_EXHAUSTED: Failed to allocate request for 256.00MiB on device ordinal 0",
    "RuntimeError: Resource exhausted: Failed to allocate request for 32.00MiB (33554432B) on device ordinal 0",
    "RESOURCE_EXHAUSTED: Attempting to reserve 12.62G at the bottom of memory. There are 10.91G free",
    "XLA:TPU compile permanent error. Ran out of memory in memory space hbm. Used 20.1G of 15.48G hbm.",
    "ResourceExhaustedError: OOM when allocating tensor with shape[16,12,512,512] and type float",
    "Out of memory error on GPU 0. Cannot allocate 98.000244MB memory on GPU 0",
    "node1:18453:18453 [0] include/alloc.h:178 NCCL WARN Cuda failure 'out of memory'",
    "Cuda failure 2 'out of memory'",
    "ncclUnhandledCudaError: Call to CUDA function failed. Last error: out of memory",
    "Failed to allocate memory for requested buffer of size 4194304",
    "meshsweep-trainer: out of memory: rank 1 tried to allocate 3.50 MiB (device capacity 4.00 MiB; 2.00 MiB already",
};

static void patterns__device_memory__oom(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof device_lines / sizeof *device_lines; i++)
        if (class_of(device_lines[i]) != FAILURE_OOM)
            fail_msg("not told as oom: %s", device_lines[i]);
}

static const char *const host_lines[] = {
    "RuntimeError: [enforce fail at alloc_cpu.cpp:117] err == 0. DefaultCPUAllocator: can't allocate memory: you tried",
    "RuntimeError: [enforce fail at alloc_cpu.cpp:83] . DefaultCPUAllocator: not enough memory: you tried to allocate",
    "MemoryError",
    "[rank0]: MemoryError: ",
    "numpy.core._exceptions._ArrayMemoryError: Unable to allocate 7.45 GiB for an array with shape (1000000000,)",
    "terminate called after throwing an instance of 'std::bad_alloc'",
    "OSError: [Errno 12] Cannot allocate memory",
    "RuntimeError: DataLoader worker (pid 4711) is killed by signal: Killed.",
    "ERROR: Unexpected bus error encountered in worker. It is possible that dataloader's workers are out of shared memory",
    "[1234.5] Out of memory: Killed process 4711 (python) total-vm:123456kB",
    "slurmstepd: error: Detected 1 oom_kill event in StepId=440575.0. Some of the step tasks have been OOM Killed.",
    "slurmstepd: error: Detected 2 oom-kill event(s) in step 3756240.batch cgroup.",
    "srun: error: nid001277: tasks 1-3: Out Of Memory",
};

static void patterns__host_memory__oom_host(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof host_lines / sizeof *host_lines; i++)
        if (class_of(host_lines[i]) != FAILURE_OOM_HOST)
            fail_msg("not told as oom-host: %s", host_lines[i]);
}

static bool finds_any(const char *pattern, const char *const *lines, size_t count)
{
    struct failure_pattern only = {(char *)"oom", (char *)pattern, (char *)"here", {"", 0, 0}};
    struct classifier *all = classifier;
    struct error e = ERROR_INIT;
    bool found = false;
    assert_int_equal(classifier_create(&only, 1, &classifier, &e), 0);
    for (size_t i = 0; i < count && !found; i++)
        found = class_of(lines[i]) == FAILURE_OOM;
    classifier_free(classifier);
    classifier = all;
    return found;
}

static void patterns__each_of_them__finds_a_line_above(void **state)
{
    (void)state;
    struct db *db = NULL;
    struct stmt *s = NULL;
    struct error e = ERROR_INIT;
    int count = 0;
    assert_int_equal(db_open(NULL, DB_TEMPORARY, &db, &e), 0);
    assert_int_equal(db_exec(db, embedded_text("migrations/0001_initial.sql"), &e), 0);
    assert_int_equal(db_exec(db, embedded_text("sql/failures.sql"), &e), 0);
    assert_int_equal(db_prepare(db, "SELECT pattern, class FROM failure_pattern", &s, &e), 0);
    for (; stmt_next(s, &e) > 0; count++) {
        bool device = strcmp(stmt_text(s, 1), "oom") == 0;
        if (!finds_any(stmt_text(s, 0), device ? device_lines : host_lines,
                       device ? sizeof device_lines / sizeof *device_lines : sizeof host_lines / sizeof *host_lines))
            fail_msg("no line for: %s", stmt_text(s, 0));
    }
    assert_true(count > 20);
    stmt_free(s);
    db_close(db);
}

static void patterns__false_friends__exit(void **state)
{
    (void)state;
    static const char *const lines[] = {
        "RuntimeError: CUDA error: an illegal memory access was encountered",
        "triton.runtime.errors.OutOfResources: out of resource: shared memory, Required: 131072, Hardware limit: 101376",
        "RuntimeError: cuDNN error: CUDNN_STATUS_INTERNAL_ERROR",
        "Cuda failure 1 'invalid argument'",
        "RuntimeError: CUDA error: invalid device ordinal",
        "zoom: 3 rooms bloom",
        "out of memory: 0 times so far",
        "oom_kill_disable 0",
        "configuring cuda_memory_fraction=0.9 so as not to run into memory limits",
        "torch.distributed.DistBackendError: NCCL error in: ProcessGroupNCCL.cpp:1275, remote process exited",
        "NoMemoryErrors reported",
        "RESOURCE_EXHAUSTED: Quota exceeded for quota metric 'Requests'",
        "KeyError: 'cuda_oom'",
    };
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++)
        if (class_of(lines[i]) != FAILURE_EXIT)
            fail_msg("told as %s: %s", failure_names[class_of(lines[i])], lines[i]);
}

/* --- large logs --- */

static void fill(FILE *file, size_t megabytes)
{
    char line[1024];
    memset(line, 'x', sizeof line);
    line[sizeof line - 1] = '\n';
    for (size_t i = 0; i < megabytes * 1024; i++)
        fwrite(line, 1, sizeof line, file);
}

static void classify__large_log__searched_at_both_ends(void **state)
{
    (void)state;
    struct outcome o = exited(1);
    static const char word[] = "CUDA out of memory\n";
    static const struct {
        size_t before, after;
        enum failure failure;
    } cases[] = {{1, 30, FAILURE_OOM}, {30, 1, FAILURE_OOM}, {15, 15, FAILURE_EXIT}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        FILE *file = fopen(log_path, "w");
        fill(file, cases[i].before);
        fputs(word, file);
        fill(file, cases[i].after);
        fclose(file);
        struct verdict v = classify(classifier, &o, log_path, true, false);
        assert_int_equal(v.failure, cases[i].failure);
        free(v.message);
    }
}

static void assert_tail(const char *text, size_t limit, const char *expected)
{
    put(text);
    char *tail = log_tail(log_path, limit);
    assert_string_equal(tail, expected);
    free(tail);
}

static void log_tail__cut__at_a_line_and_as_utf8(void **state)
{
    (void)state;
    assert_tail("one\ntwo\nthree\n", 100, "one\ntwo\nthree\n");
    assert_tail("one\ntwo\nthree\n", 9, "three\n");
    assert_tail("one-long-line", 4, "line");
    assert_tail("caf\xC3\xA9 \xFF\n", 100, "caf\xC3\xA9 \xEF\xBF\xBD\n");
    assert_tail("", 100, "");
    char *tail = log_tail("/no/such/log", 100);
    assert_string_equal(tail, "");
    free(tail);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(classify__not_started__spawn_with_the_reason),
        cmocka_unit_test(classify__cancelled__whatever_the_output_says),
        cmocka_unit_test(classify__exit_zero__ok_unless_the_objective_is_missing),
        cmocka_unit_test(classify__exit_status__with_the_line_that_says_most),
        cmocka_unit_test(classify__signals__named),
        cmocka_unit_test(classify__limits__which_and_how_long),
        cmocka_unit_test(classify__device_memory_before_a_limit__oom),
        cmocka_unit_test(classify__kernel_says_host_memory__oom_host),
        cmocka_unit_test(classify__own_pattern__its_class),
        cmocka_unit_test(classifier__wrong_pattern_or_class__said),
        cmocka_unit_test(failure_by_name__each_name__and_nothing_else),
        cmocka_unit_test(patterns__device_memory__oom),
        cmocka_unit_test(patterns__host_memory__oom_host),
        cmocka_unit_test(patterns__each_of_them__finds_a_line_above),
        cmocka_unit_test(patterns__false_friends__exit),
        cmocka_unit_test(classify__large_log__searched_at_both_ends),
        cmocka_unit_test(log_tail__cut__at_a_line_and_as_utf8),
    };
    return cmocka_run_group_tests_name("classify", tests, set_up, tear_down);
}
