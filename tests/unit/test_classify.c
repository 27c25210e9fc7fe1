/* run: which failure an attempt was, by its outcome and by real frameworks' words. */
#include <errno.h>
#include <signal.h>

#include "database/db.h"
#include "metrics/classify.h"
#include "unit_test.h"
#include "util/embedded.h"

static const struct attempt_output output = {"log", NULL};
static struct classifier *classifier;

/* The program's own patterns, as a database has them. */
static struct classifier *load_patterns(void)
{
    struct failure_pattern patterns[128];
    struct arena texts = {0};
    struct classifier *c = NULL;
    struct db *db;
    struct stmt *s;
    struct error e = ERROR_INIT;
    size_t count = 0;
    if (db_open(NULL, DB_TEMPORARY, &db, &e) < 0 || db_exec(db, embedded_text("migrations/0001_initial.sql"), &e) < 0 ||
        db_exec(db, embedded_text("sql/failures.sql"), &e) < 0 ||
        db_prepare(db, "SELECT class, pattern, source FROM failure_pattern", &s, &e) < 0)
        return NULL;
    for (; count < 128 && stmt_next(s, &e) > 0; count++)
        patterns[count] = (struct failure_pattern){arena_text(&texts, stmt_text(s, 0)),
                                                   arena_text(&texts, stmt_text(s, 1)),
                                                   arena_text(&texts, stmt_text(s, 2)),
                                                   {"", 0, 0}};
    stmt_free(s);
    db_close(db);
    if (count == 0 || classifier_create(patterns, count, &c, &e) < 0)
        return NULL;
    arena_free(&texts);
    return c;
}

static int set_up(void **state)
{
    classifier = load_patterns();
    return classifier ? unit_test_enter(state) : -1;
}

static int tear_down(void **state)
{
    classifier_free(classifier);
    return unit_test_leave(state);
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

static void verdict_free(struct verdict *v)
{
    free(v->message);
    free(v->consequence);
}

/* Classifies `o` with `text` as its output; the message must be `message`. */
static void assert_verdict(const struct outcome *o, const char *text, enum failure failure, const char *message)
{
    put("log", text);
    HELD(verdict) v = classify(classifier, o, &output, true, false);
    assert_string_equal(failure_names[v.failure], failure_names[failure]);
    assert_string_equal(v.message, message);
}

static enum failure class_of(const char *line)
{
    struct outcome o = exited(1);
    put("log", line);
    HELD(verdict) v = classify(classifier, &o, &output, false, false);
    return v.failure;
}

static bool is_of_host(const char *line)
{
    struct outcome o = exited(1);
    put("log", line);
    HELD(verdict) v = classify(classifier, &o, &output, false, false);
    return v.of_host;
}

/* --- outcomes --- */

TEST(classify__not_started__spawn_with_the_reason)
{
    struct outcome o = {.ending = ENDING_SPAWN_FAILED, .exit_code = -1, .error_number = ENOENT, .spawn_stage = "exec"};
    HELD(verdict) v = classify(classifier, &o, &(struct attempt_output){NULL, NULL}, true, false);
    assert_int_equal(v.failure, FAILURE_SPAWN);
    assert_string_equal(v.message, "could not be started (exec): No such file or directory");
}

TEST(classify__cancelled__whatever_the_output_says)
{
    struct outcome o = {.ending = ENDING_CANCELLED, .exit_code = -1, .signal_number = SIGTERM};
    put("log", "CUDA out of memory. Tried to allocate 2.00 GiB\n");
    HELD(verdict) v = classify(classifier, &o, &output, true, false);
    assert_int_equal(v.failure, FAILURE_CANCELLED);
}

TEST(classify__exit_zero__ok_unless_the_objective_is_missing)
{
    struct outcome o = exited(0);
    put("log", "recovered from: CUDA out of memory. Tried to allocate 2.00 GiB\n");
    HELD(verdict) v = classify(classifier, &o, &output, true, true);
    assert_int_equal(v.failure, FAILURE_NONE);
    assert_null(v.message);
    v = classify(classifier, &o, &output, false, false);
    assert_int_equal(v.failure, FAILURE_NONE);
    v = classify(classifier, &o, &output, true, false);
    assert_int_equal(v.failure, FAILURE_NO_METRIC);
    assert_non_null(v.message);
}

TEST(classify__exit_status__with_the_line_that_says_most)
{
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

TEST(classify__signals__named)
{
    struct outcome o = signaled(SIGSEGV);
    o.core_dumped = true;
    assert_verdict(&o, "last words\n", FAILURE_SIGNAL, "killed by signal 11 (SIGSEGV), core dumped: last words");
    o = signaled(SIGKILL);
    assert_verdict(&o, "", FAILURE_SIGNAL, "killed by signal 9 (SIGKILL)");
    o = exited(247);
    assert_verdict(&o, "", FAILURE_SIGNAL, "exit status 247: a rank was killed by signal 9 (SIGKILL)");
    o = exited(255);
    assert_verdict(&o, "", FAILURE_EXIT, "exit status 255");
}

TEST(classify__exception_with_a_list__kept_whole)
{
    struct outcome o = exited(1);
    assert_verdict(&o,
                   "Traceback (most recent call last):\n"
                   "  File \"train.py\", line 1, in <module>\n"
                   "ValueError: these mismatch:\n- ds a=4 vs hf a=2\n- ds b=1 vs hf b=2\nThe easiest is 'auto'.\n- "
                   "no\n",
                   FAILURE_EXIT, "exit status 1: ValueError: these mismatch: - ds a=4 vs hf a=2 - ds b=1 vs hf b=2");
}

TEST(classify__limits__which_and_how_long)
{
    struct outcome o = limited(ENDING_TIMEOUT);
    assert_verdict(&o, "working\n", FAILURE_TIMEOUT, "timeout: still running after 1m30s");
    o = limited(ENDING_IDLE_TIMEOUT);
    assert_verdict(&o, "", FAILURE_HANG, "idle_timeout: no output and no metric for 1m30s");
    o = limited(ENDING_STARTUP_TIMEOUT);
    assert_verdict(&o, "", FAILURE_TIMEOUT, "startup_timeout: no first metric within 1m30s");
}

/* One rank fails, the others wait for it until the limit. */
TEST(classify__exception_before_a_limit__told)
{
    struct outcome o = limited(ENDING_IDLE_TIMEOUT);
    assert_verdict(&o, "[rank1]: KeyError: 'labels'\nwaiting\n", FAILURE_HANG,
                   "idle_timeout: no output and no metric for 1m30s: [rank1]: KeyError: 'labels'");
}

/* `train.py | tee log` ends as tee does. */
TEST(classify__exit_zero_without_objective__the_exception_told)
{
    struct outcome o = exited(0);
    assert_verdict(&o, "Traceback (most recent call last):\n  File \"a.py\", line 1, in f\nOops: no\n",
                   FAILURE_NO_METRIC, "exit status 0, but the objective was not reported: Oops: no");
}

/* One rank runs out of memory, the others wait for it until the limit. */
TEST(classify__device_memory_before_a_limit__oom)
{
    struct outcome o = limited(ENDING_IDLE_TIMEOUT);
    assert_verdict(&o, "CUDA out of memory. Tried to allocate 2.00 GiB\nwaiting\n", FAILURE_OOM,
                   "idle_timeout: no output and no metric for 1m30s: CUDA out of memory. Tried to allocate 2.00 GiB");
    o = signaled(SIGABRT);
    assert_verdict(&o, "MemoryError\nhipErrorOutOfMemory\n", FAILURE_OOM,
                   "killed by signal 6 (SIGABRT): hipErrorOutOfMemory");
}

TEST(classify__kernel_says_host_memory__oom_host)
{
    struct outcome o = signaled(SIGKILL);
    o.host_oom = true;
    assert_verdict(&o, "working\n", FAILURE_OOM_HOST,
                   "killed by signal 9 (SIGKILL): killed by the kernel: the host ran out of memory");
    o = exited(137);
    o.host_oom = true;
    assert_verdict(&o, "Killed\n", FAILURE_OOM_HOST,
                   "exit status 137: killed by the kernel: the host ran out of memory");
    o = limited(ENDING_TIMEOUT);
    o.host_oom = true;
    assert_verdict(&o, "", FAILURE_TIMEOUT, "timeout: still running after 1m30s");
}

TEST(classify__own_pattern__its_class)
{
    struct failure_pattern own = {(char *)"hang", (char *)"watchdog .* expired", (char *)"file", {"", 0, 0}};
    struct classifier *c;
    FAIL_IF(classifier_create(&own, 1, &c, &e));
    struct outcome o = exited(1);
    put("log", "the watchdog of rank 3 expired\n");
    HELD(verdict) v = classify(c, &o, &output, true, false);
    assert_int_equal(v.failure, FAILURE_HANG);
    classifier_free(c);
}

TEST(classifier__wrong_pattern_or_class__said)
{
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

TEST(failure_by_name__each_name__and_nothing_else)
{
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

TEST(patterns__device_memory__oom)
{
    for (size_t i = 0; i < LENGTH(device_lines); i++)
        if (class_of(device_lines[i]) != FAILURE_OOM)
            fail_msg("not classified as oom: %s", device_lines[i]);
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
    ("ERROR: Unexpected bus error encountered in worker. It is possible that dataloader's workers are out of shared "
     "memory"),
    "[1234.5] Out of memory: Killed process 4711 (python) total-vm:123456kB",
    "slurmstepd: error: Detected 1 oom_kill event in StepId=440575.0. Some of the step tasks have been OOM Killed.",
    "slurmstepd: error: Detected 2 oom-kill event(s) in step 3756240.batch cgroup.",
    "srun: error: nid001277: tasks 1-3: Out Of Memory",
};

TEST(patterns__host_memory__oom_host)
{
    for (size_t i = 0; i < LENGTH(host_lines); i++)
        if (class_of(host_lines[i]) != FAILURE_OOM_HOST)
            fail_msg("not classified as oom-host: %s", host_lines[i]);
}

/* Those by which the line that says why is told from what others say of it. */
static const char *const told_lines[] = {
    "Fatal Python error: Segmentation fault",
    "python3: can't open file 'train.py': [Errno 2] No such file or directory",
    "/usr/bin/python3: No module named torch.distributed.run",
    "train.py: error: unrecognized arguments: --layers=2",
    "./train: error while loading shared libraries: libcudart.so.12: cannot open shared object file",
    "free(): invalid pointer",
    "  what():  shapes do not fit",
    "train.cu:31: kernel: block: [0,0,0], thread: [1,0,0] Assertion `index < size` failed.",
    "Segmentation fault (core dumped)",
    "job.sh: line 3:  4711 Killed                  python3 train.py",
    "job.sh: 3: torchrun: not found",
    "  traceback : Signal 9 (SIGKILL) received by PID 4711",
    "[ERROR] [launch.py:321:sigkill_handler] ['/usr/bin/python3', 'train.py'] exits with return code = -9",
    "ptxas fatal error: unresolved symbol",
    "RuntimeError: [pair.cc:598] Connection closed by peer [127.0.0.1]:2959",
    "ConnectionRefusedError: [Errno 111] Connection refused",
    "BrokenPipeError: [Errno 32] Broken pipe",
    "EOFError: Ran out of input",
    ("RuntimeError: [gloo/transport/tcp/unbound_buffer.cc:84] Timed out waiting 1800000ms for recv operation to "
     "complete"),
    "RuntimeError: Gloo connectFullMesh failed with [pair.cc:144] no error",
    "RuntimeError: Socket Timeout",
    "torch.distributed.DistStoreError: Timed out after 601 seconds waiting for clients. 1/2 clients joined.",
    "failed to recv, got 0 bytes",
    "Watchdog caught collective operation timeout: WorkNCCL(SeqNum=120, OpType=ALLREDUCE)",
    "ProcessGroupNCCL's watchdog got stuck for 480 seconds",
    "To avoid data inconsistency, we are taking the entire process down.",
    "RuntimeError: NCCL communicator was aborted on rank 1.",
    "Some NCCL operations have failed or timed out.",
    "ncclRemoteError: A call failed possibly due to a network error",
    "DistBackendError: NCCL error in: ProcessGroupNCCL.cpp:3384, unhandled system error",
    "RuntimeError: timed out in barrier",
    "RuntimeError: all_reduce timed out",
    "torch.distributed.elastic.multiprocessing.api.SignalException: Process 4711 got signal: 15",
    "KeyboardInterrupt",
    "torch.multiprocessing.spawn.ProcessExitedException: process 1 terminated with signal SIGSEGV",
    "subprocess.CalledProcessError: Command '['python3']' returned non-zero exit status 1.",
    "RuntimeError: DataLoader worker (pid(s) 4711) exited unexpectedly",
    "concurrent.futures.process.BrokenProcessPool: A process in the process pool was terminated abruptly",
    "torch.distributed.elastic.multiprocessing.errors.ChildFailedError: ",
    "ERROR:torch.distributed.elastic.multiprocessing.api:failed (exitcode: 1) local_rank: 0 (pid: 4711)",
    "Sending process 4711 closing signal SIGTERM",
    "Setting OMP_NUM_THREADS environment variable for each process to be 1 in default",
    "  rank      : 1 (local_rank: 1)",
    "Root Cause (first observed failure):",
    "[2025-03-20 20:31:29,210] [INFO] [launch.py:315:sigkill_handler] Killing subprocess 4711",
    "srun: error: node2: task 5: Exited with exit code 1",
    "srun: Terminating StepId=4711.0",
    "pdsh@node-1: node-2: ssh exited with exit code 1",
    "mpirun noticed that process rank 1 exited",
    "MPI_ABORT was invoked on rank 1 in communicator MPI_COMM_WORLD",
    "Killed",
    "error: invalid value 'x' for '--jobs'",
    "make: *** [Makefile:9: all] Error 2",
    "Try 'ls --help' for more information.",
    "wandb: Synced 5 files",
    "resource_tracker: There appear to be 6 leaked semaphore objects to clean up at shutdown",
    "Warning: destroy_process_group() was not called before the program exits",
};

static const char *const diverged_lines[] = {
    "AssertionError: Rank 3: found NaN in local grad norm in backward pass before data-parallel communication",
    "Exception: Current loss scale already at minimum - cannot decrease scale anymore. Exiting run.",
    "ValueError: Detected nan and/or inf values in `layer.weight`. Check your forward pass for numerical stability.",
    "RuntimeError: Function 'MulBackward0' returned nan values in its 0th output.",
    "FloatingPointError: invalid value (nan) encountered in jit(step)",
    "tensorflow.python.training.basic_session_run_hooks.NanLossDuringTrainingError: NaN loss during training.",
    "meshsweep-trainer: the loss of step 7 is not finite; a lower --lr may help",
};

TEST(diverged__texts_of_frameworks__are_diverged)
{
    for (size_t i = 0; i < LENGTH(diverged_lines); i++)
        if (class_of(diverged_lines[i]) != FAILURE_DIVERGED)
            fail_msg("%s", diverged_lines[i]);
}

static const char *const broken_lines[] = {
    "RuntimeError: CUDA error: uncorrectable ECC error encountered",
    "torch.AcceleratorError: CUDA error: Uncorrectable NVLink error detected during the execution",
    "cudaErrorECCUncorrectable (214)",
    "hipErrorECCNotCorrectable",
    "CUDA_ERROR_NVLINK_UNCORRECTABLE",
    "RuntimeError: CUDA error: system not yet initialized",
    "cudaErrorSystemNotReady",
    "n1:71:93 [0] NCCL WARN NVLS initialization failed",
    "NVRM: Xid (PCI:0000:41:00): 79, pid='<unknown>', name=<unknown>, GPU has fallen off the bus.",
    "NVRM: Xid (PCI:0000:3b:00): 94, pid=7194, Contained: CE User Channel (0x9). RST: No, D-RST: No",
    "Unable to determine the device handle for GPU 0000:41:00.0: GPU is lost.  Reboot the system to recover this GPU",
    ("n1:71:93 [0] transport/net_ib.cc:1295 NCCL WARN NET/IB : Got completion from peer 10.0.0.2<51>"
     " with error 12, opcode 0, len 0, vendor err 129"),
    "n1:71:93 [0] NCCL WARN Call to ibv_modify_qp failed with error Connection timed out",
    "n1:71:93 [0] NCCL WARN NET/IB : mlx5_0:1 Got async fatal event: local catastrophic error",
    "amdgpu 0000:83:00.0: amdgpu: 1 uncorrectable hardware errors detected in umc block",
    "HW Exception by GPU node-1 (Agent handle: 0x5607) reason :GPU Hang",
    "RuntimeError: level_zero backend failed with error: 20 (UR_RESULT_ERROR_DEVICE_LOST)",
};

TEST(classify__broken_device_or_link__of_the_host)
{
    for (size_t i = 0; i < LENGTH(broken_lines); i++)
        if (!is_of_host(broken_lines[i]))
            fail_msg("not of the host: %s", broken_lines[i]);
}

TEST(classify__job_may_cause_it_too__not_of_the_host)
{
    static const char *const lines[] = {
        "RuntimeError: CUDA error: an illegal memory access was encountered",
        "NVRM: Xid (PCI:0000:41:00): 31, pid=7194, Ch 00000008, MMU Fault",
        "NVRM: Xid (PCI:0000:41:00): 13, pid=7194, Graphics Exception",
        "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB",
        "NCCL WARN Cuda failure 2 'out of memory'",
        "torch.distributed.DistBackendError: NCCL error: remote process exited or there was a network error",
        /* An error that a rank raised is surer than what the others' transport said of it. */
        ("n1:71:93 [0] NCCL WARN NET/IB : Got completion from peer 10.0.0.2<51> with error 12\n"
         "Traceback (most recent call last):\n  File \"train.py\", line 3, in <module>\nValueError: bad plan\n"),
        "ECC is enabled",
    };
    for (size_t i = 0; i < LENGTH(lines); i++)
        if (is_of_host(lines[i]))
            fail_msg("of the host: %s", lines[i]);
}

static bool finds_any(const char *pattern, const char *const *lines, size_t count)
{
    struct failure_pattern only = {(char *)"oom", (char *)pattern, (char *)"here", {"", 0, 0}};
    struct classifier *all = classifier;
    bool found = false;
    FAIL_IF(classifier_create(&only, 1, &classifier, &e));
    for (size_t i = 0; i < count && !found; i++)
        found = class_of(lines[i]) == FAILURE_OOM;
    classifier_free(classifier);
    classifier = all;
    return found;
}

TEST(patterns__each_of_them__finds_a_line_above)
{
#define LINES(array) array, LENGTH(array)
    static const struct {
        const char *class;
        const char *const *lines;
        size_t count;
    } of_class[] = {{"oom", LINES(device_lines)},
                    {"oom-host", LINES(host_lines)},
                    {"diverged", LINES(diverged_lines)},
                    {"host", LINES(broken_lines)},
                    {"", LINES(told_lines)}};
    HELD_AT(db) *db = NULL;
    OWNED_STMT *s = NULL;
    struct error e = ERROR_INIT;
    int count = 0;
    assert_int_equal(db_open(NULL, DB_TEMPORARY, &db, &e), 0);
    assert_int_equal(db_exec(db, embedded_text("migrations/0001_initial.sql"), &e), 0);
    assert_int_equal(db_exec(db, embedded_text("sql/failures.sql"), &e), 0);
    assert_int_equal(db_prepare(db, "SELECT pattern, class FROM failure_pattern", &s, &e), 0);
    for (; stmt_next(s, &e) > 0; count++) {
        size_t i = 0;
        while (i + 1 < LENGTH(of_class) && strcmp(of_class[i].class, stmt_text(s, 1)) != 0)
            i++;
        if (!finds_any(stmt_text(s, 0), of_class[i].lines, of_class[i].count))
            fail_msg("no line for: %s", stmt_text(s, 0));
    }
    assert_true(count > 20);
}

TEST(patterns__false_friends__exit)
{
    static const char *const lines[] = {
        "RuntimeError: CUDA error: an illegal memory access was encountered",
        ("triton.runtime.errors.OutOfResources: out of resource: shared memory, Required: 131072, Hardware limit: "
         "101376"),
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
    for (size_t i = 0; i < LENGTH(lines); i++)
        if (class_of(lines[i]) != FAILURE_EXIT)
            fail_msg("classified as %s: %s", failure_names[class_of(lines[i])], lines[i]);
}

TEST(traceback__source_that_names_a_failure__is_none)
{
    struct outcome o = exited(1);
    assert_verdict(&o,
                   "Traceback (most recent call last):\n"
                   "  File \"train.py\", line 7, in <module>\n"
                   "    if \"CUDA out of memory\" in str(error) or config[\"CUDA out of memory\"]:\n"
                   "KeyError: 'retry'\n",
                   FAILURE_EXIT, "exit status 1: KeyError: 'retry'");
    assert_verdict(&o,
                   "Traceback (most recent call last):\n"
                   "  File \"train.py\", line 7, in <module>\n"
                   "    raise RuntimeError(\"CUDA out of memory\")\n"
                   "RuntimeError: CUDA out of memory\n",
                   FAILURE_OOM, "exit status 1: RuntimeError: CUDA out of memory");
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

TEST(classify__large_log__searched_at_both_ends)
{
    struct outcome o = exited(1);
    static const char word[] = "CUDA out of memory\n";
    static const struct {
        size_t before, after;
        enum failure failure;
    } cases[] = {{1, 30, FAILURE_OOM}, {30, 1, FAILURE_OOM}, {15, 15, FAILURE_EXIT}};
    for (size_t i = 0; i < LENGTH(cases); i++) {
        FILE *file = fopen("log", "w");
        fill(file, cases[i].before);
        fputs(word, file);
        fill(file, cases[i].after);
        fclose(file);
        HELD(verdict) v = classify(classifier, &o, &output, true, false);
        assert_int_equal(v.failure, cases[i].failure);
    }
}

static void assert_tail(const char *text, size_t limit, const char *expected)
{
    put("log", text);
    OWNED char *tail = log_tail("log", limit);
    assert_string_equal(tail, expected);
}

TEST(log_tail__cut__at_a_line_and_as_utf8)
{
    assert_tail("one\ntwo\nthree\n", 100, "one\ntwo\nthree\n");
    assert_tail("one\ntwo\nthree\n", 9, "three\n");
    assert_tail("one-long-line", 4, "line");
    assert_tail("one\xE2\x82\xAC-line", 6, "-line");
    assert_tail("caf\xC3\xA9 \xFF\n", 100, "caf\xC3\xA9 \xEF\xBF\xBD\n");
    assert_tail("", 100, "");
    OWNED char *tail = log_tail("/no/such/log", 100);
    assert_string_equal(tail, "");
}

TESTS_WITHIN(set_up, tear_down)
