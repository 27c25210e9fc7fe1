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

static struct outcome host_oom(struct outcome o)
{
    o.host_oom = true;
    return o;
}

/* Of a job that printed this line and exited with 1. */
static enum failure class_of(const char *line, bool *of_host)
{
    struct outcome o = exited(1);
    put("log", line);
    HELD(verdict) v = classify(classifier, &o, &output, false, false);
    *of_host = v.of_host;
    return v.failure;
}

/* --- outcomes --- */

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

TEST(classify__outcome_and_output__class_and_message)
{
#define TRACEBACK "Traceback (most recent call last):\n"
#define ALLOCATING "CUDA out of memory. Tried to allocate 2.00 GiB"
    const struct {
        struct outcome outcome;
        enum failure failure;
        const char *text, *message;
    } cases[] = {
        {exited(3), FAILURE_EXIT, "", "exit status 3"},
        {exited(3), FAILURE_EXIT, "starting\n\n  giving up \n\n======\n", "exit status 3: giving up "},
        {exited(3), FAILURE_EXIT,
         TRACEBACK "[rank0]: ValueError: heads must divide the width\n"
                   "torch.distributed.elastic.multiprocessing.errors.ChildFailedError: \ntrain.py FAILED\n",
         "exit status 3: [rank0]: ValueError: heads must divide the width"},
        {exited(3), FAILURE_EXIT, "\033[31mred\033[0m\tand\x01 \xFFplain\n",
         "exit status 3: red and  \xEF\xBF\xBDplain"},
        {{.ending = ENDING_SIGNALED, .exit_code = -1, .signal_number = SIGSEGV, .core_dumped = true},
         FAILURE_SIGNAL,
         "last words\n",
         "killed by signal 11 (SIGSEGV), core dumped: last words"},
        {signaled(SIGKILL), FAILURE_SIGNAL, "", "killed by signal 9 (SIGKILL)"},
        {exited(247), FAILURE_SIGNAL, "", "exit status 247: a rank was killed by signal 9 (SIGKILL)"},
        {exited(255), FAILURE_EXIT, "", "exit status 255"},
        /* An exception with a list is kept whole. */
        {exited(1), FAILURE_EXIT,
         TRACEBACK
         "  File \"train.py\", line 1, in <module>\n"
         "ValueError: these mismatch:\n- ds a=4 vs hf a=2\n- ds b=1 vs hf b=2\nThe easiest is 'auto'.\n- no\n",
         "exit status 1: ValueError: these mismatch: - ds a=4 vs hf a=2 - ds b=1 vs hf b=2"},
        {limited(ENDING_TIMEOUT), FAILURE_TIMEOUT, "working\n", "timeout: still running after 1m30s"},
        {limited(ENDING_IDLE_TIMEOUT), FAILURE_HANG, "", "idle_timeout: no output and no metric for 1m30s"},
        {limited(ENDING_STARTUP_TIMEOUT), FAILURE_TIMEOUT, "", "startup_timeout: no first metric within 1m30s"},
        /* One rank fails, or runs out of memory, and the others wait for it until the limit. */
        {limited(ENDING_IDLE_TIMEOUT), FAILURE_HANG, "[rank1]: KeyError: 'labels'\nwaiting\n",
         "idle_timeout: no output and no metric for 1m30s: [rank1]: KeyError: 'labels'"},
        {limited(ENDING_IDLE_TIMEOUT), FAILURE_OOM, ALLOCATING "\nwaiting\n",
         "idle_timeout: no output and no metric for 1m30s: " ALLOCATING},
        {signaled(SIGABRT), FAILURE_OOM, "MemoryError\nhipErrorOutOfMemory\n",
         "killed by signal 6 (SIGABRT): hipErrorOutOfMemory"},
        /* `train.py | tee log` ends as tee does. */
        {exited(0), FAILURE_NO_METRIC, TRACEBACK "  File \"a.py\", line 1, in f\nOops: no\n",
         "exit status 0, but the objective was not reported: Oops: no"},
        {host_oom(signaled(SIGKILL)), FAILURE_OOM_HOST, "working\n",
         "killed by signal 9 (SIGKILL): killed by the kernel: the host ran out of memory"},
        {host_oom(exited(137)), FAILURE_OOM_HOST, "Killed\n",
         "exit status 137: killed by the kernel: the host ran out of memory"},
        {host_oom(limited(ENDING_TIMEOUT)), FAILURE_TIMEOUT, "", "timeout: still running after 1m30s"},
        /* Source that names a failure is none. */
        {exited(1), FAILURE_EXIT,
         TRACEBACK "  File \"train.py\", line 7, in <module>\n"
                   "    if \"CUDA out of memory\" in str(error) or config[\"CUDA out of memory\"]:\n"
                   "KeyError: 'retry'\n",
         "exit status 1: KeyError: 'retry'"},
        {exited(1), FAILURE_OOM,
         TRACEBACK "  File \"train.py\", line 7, in <module>\n"
                   "    raise RuntimeError(\"CUDA out of memory\")\nRuntimeError: CUDA out of memory\n",
         "exit status 1: RuntimeError: CUDA out of memory"},
        {{.ending = ENDING_SPAWN_FAILED, .exit_code = -1, .error_number = ENOENT, .spawn_stage = "exec"},
         FAILURE_SPAWN,
         "",
         "could not be started (exec): No such file or directory"},
    };
#undef TRACEBACK
    static const struct attempt_output none;
    for (size_t i = 0; i < LENGTH(cases); i++) {
        put("log", cases[i].text);
        const bool is_started = cases[i].outcome.ending != ENDING_SPAWN_FAILED;
        HELD(verdict) v = classify(classifier, &cases[i].outcome, is_started ? &output : &none, true, false);
        assert_string_equal(failure_names[v.failure], failure_names[cases[i].failure]);
        assert_string_equal(v.message, cases[i].message);
    }
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
    "RuntimeError: CUDA driver error: out of memory",
    "[TensorRT-LLM][ERROR] CUDA runtime error in cudaMallocAsync(ptr, n, pool, stream): out of memory",
    "[TRT] [E] [resizingAllocator.cpp::allocate::78] Error Code 1: Cuda Runtime (out of memory)",
    "CUBLAS failure 3: the resource allocation failed ; GPU=0",
    "CUDA error: the resource allocation failed",
    "ggml_vulkan: vk::Device::allocateMemory: ErrorOutOfDeviceMemory",
    "cupy.cuda.memory.OutOfMemoryError: Out of memory allocating 1,610,612,736 bytes (allocated so far: 512 bytes).",
    "ValueError: No available memory for the cache blocks. Try increasing `gpu_memory_utilization` when initializing",
    "(6.11 GiB KV cache is needed, which is larger than the available KV cache memory (5.17 GiB).",
    ("ValueError: The model's max seq len (131072) is larger than the maximum number of tokens that can be stored in "
     "KV cache (56736)."),
    "RuntimeError: Not enough memory. Please try to increase --mem-fraction-static.",
    "meshsweep-trainer: out of memory: rank 1 tried to allocate 3.50 MiB (device capacity 4.00 MiB; 2.00 MiB already",
};

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
    "ray.exceptions.OutOfMemoryError: Task was killed due to the node running low on memory.",
    "java.lang.OutOfMemoryError: Java heap space",
    "[1234.5] Out of memory: Killed process 4711 (python) total-vm:123456kB",
    "slurmstepd: error: Detected 1 oom_kill event in StepId=440575.0. Some of the step tasks have been OOM Killed.",
    "slurmstepd: error: Detected 2 oom-kill event(s) in step 3756240.batch cgroup.",
    "srun: error: nid001277: tasks 1-3: Out Of Memory",
};

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

/* What a job may cause, too. */
static const char *const own_lines[] = {
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

static const char *const false_friends[] = {
    "RuntimeError: CUDA error: an illegal memory access was encountered",
    ("triton.runtime.errors.OutOfResources: out of resource: shared memory, Required: 131072, Hardware limit: 101376"),
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

#define LINES(array) array, LENGTH(array)

TEST_ROWS(patterns__lines_of_frameworks__of_their_class,
          (enum failure failure /* FAILURE_NONE: any */; int of_host /* -1: either */; const char *const *lines;
           size_t count),
          {FAILURE_OOM, -1, LINES(device_lines)}, {FAILURE_OOM_HOST, -1, LINES(host_lines)},
          {FAILURE_DIVERGED, -1, LINES(diverged_lines)}, {FAILURE_EXIT, -1, LINES(false_friends)},
          {FAILURE_NONE, 1, LINES(broken_lines)}, {FAILURE_NONE, 0, LINES(own_lines)})
{
    for (size_t i = 0; i < row->count; i++) {
        bool of_host;
        enum failure f = class_of(row->lines[i], &of_host);
        if ((row->failure && f != row->failure) || (row->of_host >= 0 && of_host != row->of_host))
            fail_msg("%s, of the host %d: %s", failure_names[f], of_host, row->lines[i]);
    }
}

static bool finds_any(const char *pattern, const char *const *lines, size_t count)
{
    struct failure_pattern only = {(char *)"oom", (char *)pattern, (char *)"here", {"", 0, 0}};
    struct classifier *all = classifier;
    bool found = false, of_host;
    FAIL_IF(classifier_create(&only, 1, &classifier, &e));
    for (size_t i = 0; i < count && !found; i++)
        found = class_of(lines[i], &of_host) == FAILURE_OOM;
    classifier_free(classifier);
    classifier = all;
    return found;
}

TEST(patterns__each_of_them__finds_a_line_above)
{
    ROWS(of_class, const char *class; const char *const *lines; size_t count) = {
        {"oom", LINES(device_lines)},  {"oom-host", LINES(host_lines)}, {"diverged", LINES(diverged_lines)},
        {"host", LINES(broken_lines)}, {"", LINES(told_lines)},
    };
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

/* --- large logs --- */

static void fill(FILE *file, size_t megabytes)
{
    char line[1024];
    memset(line, 'x', sizeof line);
    line[sizeof line - 1] = '\n';
    for (size_t i = 0; i < megabytes * 1024; i++)
        fwrite(line, 1, sizeof line, file);
}

TEST_ROWS(classify__large_log__searched_at_both_ends, (size_t before, after; enum failure failure),
          {1, 30, FAILURE_OOM}, {30, 1, FAILURE_OOM}, {15, 15, FAILURE_EXIT})
{
    struct outcome o = exited(1);
    static const char word[] = "CUDA out of memory\n";
    FILE *file = fopen("log", "w");
    fill(file, row->before);
    fputs(word, file);
    fill(file, row->after);
    fclose(file);
    HELD(verdict) v = classify(classifier, &o, &output, true, false);
    assert_int_equal(v.failure, row->failure);
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
