/* trainer: the program as it is run, by its output, its metrics file and its exit status. */
#include "unit_test.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/wait.h>

/* The tests run where the program was built. */
#define PROGRAM "./meshsweep-trainer"

enum { ARGUMENTS_MAX = 40, OUTPUT_MAX = 65536, TEST_LIMIT_SECONDS = 120 };

/* A program that was started; stdout is a pipe or a file, stderr a file. */
struct child {
    pid_t pid;
    int out;
    int err;
};

struct result {
    int status;
    char out[OUTPUT_MAX];
    char err[OUTPUT_MAX];
};

static int temporary_file(void)
{
    char path[] = "/tmp/test_trainer_XXXXXX";
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    unlink(path);
    return fd;
}

static void become_program(int out, int err, const char *arguments)
{
    char text[1024], *argv[ARGUMENTS_MAX] = {PROGRAM};
    int argc = 1;
    snprintf(text, sizeof text, "%s", arguments);
    for (char *word = strtok(text, " "); word && argc < ARGUMENTS_MAX - 1; word = strtok(NULL, " "))
        argv[argc++] = word;
    dup2(out, STDOUT_FILENO);
    dup2(err, STDERR_FILENO);
    execv(PROGRAM, argv);
    _exit(127);
}

static struct child start(int out, const char *arguments)
{
    struct child child = {.out = out, .err = temporary_file()};
    child.pid = fork();
    if (child.pid == 0)
        become_program(out, child.err, arguments);
    assert_true(child.pid > 0);
    return child;
}

static void read_back(int fd, char *text)
{
    ssize_t length = pread(fd, text, OUTPUT_MAX - 1, 0);
    assert_true(length >= 0);
    text[length] = '\0';
    close(fd);
}

static int wait_for(pid_t pid)
{
    int wait_status;
    assert_int_equal(waitpid(pid, &wait_status, 0), pid);
    return WIFEXITED(wait_status) ? WEXITSTATUS(wait_status) : 1000 + WTERMSIG(wait_status);
}

static struct result *run(const char *arguments)
{
    static struct result result;
    struct child child = start(temporary_file(), arguments);
    result.status = wait_for(child.pid);
    read_back(child.out, result.out);
    read_back(child.err, result.err);
    return &result;
}

static struct result *run_well(const char *arguments)
{
    struct result *r = run(arguments);
    FAIL_WHERE(r->status != 0 || *r->err, "%s: status %d, stderr: %s", arguments, r->status, r->err);
    return r;
}

/* The number after the last `name ` that begins a line or follows a blank. */
static double number_after(const char *text, const char *name)
{
    const char *found = NULL;
    for (const char *at = text; (at = strstr(at, name)); at++)
        if ((at == text || isspace((unsigned char)at[-1])) && at[strlen(name)] == ' ')
            found = at + strlen(name);
    FAIL_WHERE(!found, "no %s in: %s", name, text);
    return strtod(found, NULL);
}

static double number_of(const char *name, const char *arguments)
{
    return number_after(run_well(arguments)->out, name);
}

/* ---- metrics file ---- */

static char metrics_path[] = "/tmp/test_trainer_metrics_XXXXXX";

static void read_metrics(char *text)
{
    int fd = open(metrics_path, O_RDWR | O_CLOEXEC);
    assert_true(fd >= 0);
    assert_int_equal(ftruncate(fd, lseek(fd, 0, SEEK_END)), 0);
    read_back(fd, text);
    assert_int_equal(truncate(metrics_path, 0), 0);
}

/* The nine-digit losses of all steps, as text: floats that print alike with nine digits are equal in every
 * bit. */
static void losses_of(const char *arguments, char *losses)
{
    static char metrics[OUTPUT_MAX];
    char with_metrics[1024];
    snprintf(with_metrics, sizeof with_metrics, "%s --metrics %s", arguments, metrics_path);
    run_well(with_metrics);
    read_metrics(metrics);
    *losses = '\0';
    for (const char *at = metrics; (at = strstr(at, "\"loss\": ")); at += 8)
        strncat(losses, at + 8, strcspn(at + 8, ",") + 1);
}

TEST(program__every_stage_rank_count_and_checkpointing__same_losses_in_every_bit)
{
    static char reference[OUTPUT_MAX], losses[OUTPUT_MAX];
    char arguments[256];
    /* A layer that is more than the window in which ranks exchange. */
    losses_of("--steps 2 --hidden 80 --seq 8 --micro-batch 1 --global-batch 3", reference);
    for (int stage = 0; stage <= 3; stage++) {
        snprintf(arguments, sizeof arguments,
                 "--steps 2 --hidden 80 --seq 8 --micro-batch 1 --global-batch 3 --ranks 3 --zero-stage %d", stage);
        losses_of(arguments, losses);
        assert_string_equal(losses, reference);
    }
    losses_of("--steps 5 --lr 1e-2 --hidden 16 --seq 12 --micro-batch 2 --global-batch 8", reference);
    assert_true(strlen(reference) > 5 * 9);
    for (int ranks = 1; ranks <= 4; ranks *= 2)
        for (int stage = 0; stage <= 3; stage++)
            for (int checkpointing = 0; checkpointing <= 1; checkpointing++) {
                snprintf(arguments, sizeof arguments,
                         "--steps 5 --lr 1e-2 --hidden 16 --seq 12 --micro-batch 2 --global-batch 8 --ranks %d "
                         "--zero-stage %d%s",
                         ranks, stage, checkpointing ? " --activation-checkpointing" : "");
                losses_of(arguments, losses);
                FAIL_WHERE(strcmp(losses, reference) != 0, "%s: losses %s instead of %s", arguments, losses, reference);
            }
}

TEST(program__other_micro_batch__same_loss_but_for_rounding)
{
    double whole = number_of("loss", "--steps 4 --hidden 16 --seq 12 --micro-batch 8 --global-batch 8");
    double parts = number_of("loss", "--steps 4 --hidden 16 --seq 12 --micro-batch 1 --global-batch 8");
    assert_true(whole - parts < 1.5e-4 && parts - whole < 1.5e-4);
}

TEST(program__twenty_steps__loss_falls_from_log_256)
{
    struct result *r = run_well("--steps 20 --hidden 32 --seq 16 --lr 5e-3");
    double first = strtod(strstr(r->out, "loss ") + 5, NULL), last = number_after(r->out, "loss");
    assert_true(first > 5.4 && first < 5.7);
    /* One sample, repeated, would be known by heart by then: 1.3. */
    assert_true(last > 2 && last < 4);
}

TEST(program__stages_in_turn__peak_memory_falls_with_two_ranks)
{
    double before = 1e18;
    char arguments[256];
    for (int stage = 0; stage <= 3; stage++) {
        snprintf(arguments, sizeof arguments,
                 "--steps 1 --layers 4 --micro-batch 1 --global-batch 2 --ranks 2 --zero-stage %d", stage);
        double peak = number_of("peak_memory_bytes", arguments);
        assert_true(peak < before);
        before = peak;
    }
}

/* ---- the peak, by the formulas of model.h and ranks.h ---- */

struct configuration {
    size_t layers, hidden, heads, seq, vocab, micro_batch, ranks;
    int stage;
    bool checkpointing;
};

static size_t counted(size_t bytes)
{
    return (bytes + 63) / 64 * 64;
}

static size_t part_of(size_t unit, const struct configuration *c)
{
    return (unit + c->ranks - 1) / c->ranks;
}

/* A unit's derivatives, and its gathered parameters where there are any. */
static size_t worked_on(size_t unit, const struct configuration *c)
{
    return counted(4 * c->ranks * part_of(unit, c)) * (c->stage == 3 ? 2 : 1);
}

static size_t predicted_peak(const struct configuration *c)
{
    size_t n = c->micro_batch * c->seq, h = c->hidden, layers = c->layers;
    size_t embedding = (c->vocab + c->seq) * h, layer = 12 * h * h + 13 * h, last = 2 * h + h * c->vocab;
    size_t part = part_of(embedding, c) + layers * part_of(layer, c) + part_of(last, c), whole = part * c->ranks;
    size_t state = counted(4 * (c->stage < 3 ? whole : part)) + counted(4 * (c->stage < 2 ? whole : part)) +
                   2 * counted(4 * (c->stage < 1 ? whole : part));
    size_t x = counted(4 * n * h), k = counted(4 * (15 * n * h + 4 * n + n * c->heads * c->seq));
    size_t head = (layers + 3) * x + (c->checkpointing ? 0 : layers) * k + counted(8 * n) + counted(4 * n * c->vocab) +
                  worked_on(last, c);
    size_t layer_back = (layers + 1) * x + (c->checkpointing ? 1 : layers) * k +
                        counted(4 * (5 * n * h + c->seq * c->seq)) + worked_on(layer, c);
    return state + (c->ranks > 1 ? 256 * 1024 : 0) + counted(2 * n) + (head > layer_back ? head : layer_back);
}

TEST(program__peak_memory__formulas_of_the_headers)
{
    static const struct configuration cases[] = {
        {2, 64, 4, 64, 256, 4, 1, 0, false},  /* the defaults: a layer's way back */
        {1, 20, 5, 17, 8000, 2, 1, 3, false}, /* wide vocabulary: the head */
        {1, 20, 5, 300, 256, 1, 3, 3, true},  /* odd parts */
        {2, 32, 2, 8, 6000, 1, 2, 2, false},  {3, 20, 5, 16, 256, 2, 2, 1, true},
    };
    for (size_t i = 0; i < LENGTH(cases); i++) {
        const struct configuration *c = &cases[i];
        char arguments[512];
        snprintf(arguments, sizeof arguments,
                 "--steps 1 --layers %zu --hidden %zu --heads %zu --seq %zu --vocab %zu --micro-batch %zu "
                 "--global-batch %zu --ranks %zu --zero-stage %d%s",
                 c->layers, c->hidden, c->heads, c->seq, c->vocab, c->micro_batch, c->micro_batch * c->ranks, c->ranks,
                 c->stage, c->checkpointing ? " --activation-checkpointing" : "");
        double peak = number_of("peak_memory_bytes", arguments);
        if (peak != (double)predicted_peak(c))
            fail_msg("%s: peak %.0f, by the formulas %zu", arguments, peak, predicted_peak(c));
    }
}

TEST(program__two_ranks__shared_window_is_counted)
{
    double tokens = 2 * 16 * 4; /* a byte each, and a byte for its target */
    assert_true(number_of("peak_memory_buffer_bytes", "--steps 1 --seq 16 --micro-batch 4") == tokens);
    assert_true(number_of("peak_memory_buffer_bytes", "--steps 1 --seq 16 --micro-batch 4 --ranks 2") ==
                tokens + 256 * 1024);
}

TEST(program__checkpointing__peak_memory_falls)
{
    double plain = number_of("peak_memory_activation_bytes", "--steps 1 --layers 6");
    double less = number_of("peak_memory_activation_bytes", "--steps 1 --layers 6 --activation-checkpointing");
    assert_true(less < plain / 2);
}

TEST(program__metrics_file__one_object_per_line)
{
    static char metrics[OUTPUT_MAX];
    int step = 0;
    setenv("MESHSWEEP_METRICS", metrics_path, 1);
    run_well("--steps 3 --hidden 16 --seq 8");
    unsetenv("MESHSWEEP_METRICS");
    read_metrics(metrics);
    for (char *line = strtok(metrics, "\n"); line; line = strtok(NULL, "\n"), step++) {
        int number, parameters;
        double loss, seconds, throughput;
        if (step < 3) {
            assert_int_equal(sscanf(line, "{\"step\": %d, \"loss\": %lf, \"step_time\": %lf, \"throughput\": %lf}",
                                    &number, &loss, &seconds, &throughput),
                             4);
            assert_int_equal(number, step + 1);
            assert_true(throughput * seconds > 15.99 && throughput * seconds < 16.01);
        } else {
            assert_int_equal(sscanf(line, "{\"parameters\": %d, \"peak_memory_bytes\": %d", &parameters, &number), 2);
            assert_int_equal(parameters, (256 + 8) * 16 + 2 * (12 * 16 * 16 + 13 * 16) + 2 * 16 + 256 * 16);
        }
    }
    assert_int_equal(step, 4);
}

static int compare_doubles(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

TEST(program__summary__median_of_the_steps_after_the_warm_up)
{
    double seconds[8];
    int count = 0;
    struct result *r = run_well("--steps 8 --warmup-steps 3 --hidden 16 --seq 8 --global-batch 8 --micro-batch 2");
    for (const char *at = r->out; (at = strstr(at, "step_time ")) && count < 8; at++)
        seconds[count++] = strtod(at + strlen("step_time "), NULL);
    assert_int_equal(count, 8);
    qsort(seconds + 3, 5, sizeof *seconds, compare_doubles);
    double median = number_after(r->out, "step_time"), throughput = number_after(r->out, "throughput");
    assert_true(median == seconds[3 + 2]);
    assert_true(throughput * median > 7.9 && throughput * median < 8.1);
    assert_true(number_after(r->out, "tokens/s") > 7.99 * throughput);
}

TEST(program__device_too_small__out_of_memory_message_and_status_1)
{
    struct result *r = run("--ranks 2 --device-memory 2.5MiB");
    assert_int_equal(r->status, 1);
    assert_string_equal(r->out, "");
    assert_non_null(strstr(r->err, "meshsweep-trainer: out of memory: rank "));
    assert_non_null(strstr(r->err, " MiB (device capacity 2.50 MiB; "));
    assert_non_null(strstr(r->err, " ended with status 1\n"));
}

TEST(program__device_of_the_measured_peak__fits_and_one_unit_less_does_not)
{
    char arguments[256];
    double peak = number_of("peak_memory_bytes", "--steps 2 --ranks 2 --zero-stage 3");
    snprintf(arguments, sizeof arguments, "--steps 2 --ranks 2 --zero-stage 3 --device-memory %.0fB", peak);
    run_well(arguments);
    snprintf(arguments, sizeof arguments, "--steps 2 --ranks 2 --zero-stage 3 --device-memory %.0fB", peak - 64);
    assert_int_equal(run(arguments)->status, 1);
}

TEST(program__sigchld_ignored_by_the_parent__trains_all_the_same)
{
    struct sigaction before;
    sigaction(SIGCHLD, NULL, &before);
    signal(SIGCHLD, SIG_IGN);
    struct child child = start(temporary_file(), "--steps 1 --hidden 16 --seq 8 --ranks 2");
    sigaction(SIGCHLD, &before, NULL);
    assert_int_equal(wait_for(child.pid), 0);
    close(child.out);
    close(child.err);
}

TEST(program__diverging__says_so_and_writes_no_number)
{
    char arguments[256];
    static char metrics[OUTPUT_MAX];
    snprintf(arguments, sizeof arguments, "--ranks 2 --hidden 16 --seq 8 --lr 1e30 --metrics %s", metrics_path);
    struct result *r = run(arguments);
    assert_int_equal(r->status, 1);
    assert_non_null(strstr(r->err, "is not finite"));
    assert_null(strstr(r->out, "nan"));
    assert_null(strstr(r->out, "inf"));
    read_metrics(metrics);
    assert_null(strstr(metrics, "nan"));
    assert_null(strstr(metrics, "inf"));
}

TEST_ROWS(program__wrong_use__one_sentence_and_status_2, (const char *arguments; const char *text),
          {"--hiden 64", "unknown option '--hiden'; see --help"}, {"64", "unexpected argument '64'; see --help"},
          {"--hidden", "--hidden needs a value"}, {"--help=x", "--help takes no value"},
          {"--zero-stage 4", "--zero-stage 4: must be a whole number from 0 to 3"},
          {"--layers 2x", "--layers 2x: must be a whole number from 1 to 4096"},
          {"--layers=", "--layers : must be a whole number from 1 to 4096"},
          {"--vocab 255", "--vocab 255: must be a whole number from 256 to 65536"},
          {"--lr nan", "--lr nan: must be a number above 0"}, {"--lr -1", "--lr -1: must be a number above 0"},
          {"--seed -1", "--seed -1: must be a whole number from 0"},
          {"--device-memory 24Mi", "--device-memory 24Mi: must be a size such as 24MiB, 1.5GiB or 500MB"},
          {"--device-memory 0", "--device-memory 0: must be a size such as 24MiB, 1.5GiB or 500MB"},
          {"--hidden 64 --heads 5", "--hidden 64 is not a multiple of --heads 5"},
          {"--global-batch 10 --micro-batch 4",
           "--global-batch 10 is not a multiple of --micro-batch 4 times --ranks 1"},
          {"--global-batch 16 --micro-batch 4 --ranks 3",
           "--global-batch 16 is not a multiple of --micro-batch 4 times --ranks 3"},
          {"--steps 5 --warmup-steps 5", "--warmup-steps 5 leaves none of --steps 5 to measure"})
{
    struct result *r = run(row->arguments);
    char line[256];
    snprintf(line, sizeof line, "meshsweep-trainer: %s\n", row->text);
    assert_int_equal(r->status, 2);
    assert_string_equal(r->out, "");
    assert_string_equal(r->err, line);
}

TEST(program__values_in_both_spellings__taken)
{
    struct result *r = run_well("--layers 3 --hidden=96 --heads 6 --seq 8 --steps 2 --ranks 2 --device-memory 7.5MiB "
                                "--activation-checkpointing --lr=2e-4 --seed 18446744073709551615");
    assert_true(number_after(r->out, "parameters") ==
                (256 + 8) * 96 + 3 * (12 * 96 * 96 + 13 * 96) + 2 * 96 + 256 * 96);
    assert_true(number_after(r->out, "step") == 2);
}

TEST(program__one_step__no_warm_up)
{
    struct result *r = run_well("--steps 1 --hidden 16 --seq 8");
    assert_true(number_after(r->out, "step_time") > 0);
}

TEST(program__seed__same_losses_else_others)
{
    static char first[OUTPUT_MAX], second[OUTPUT_MAX], other[OUTPUT_MAX];
    losses_of("--steps 2 --hidden 16 --seq 8 --seed 3", first);
    losses_of("--steps 2 --hidden 16 --seq 8 --seed 3", second);
    losses_of("--steps 2 --hidden 16 --seq 8 --seed 4", other);
    assert_string_equal(first, second);
    assert_string_not_equal(first, other);
}

TEST(program__help__usage_on_stdout_and_status_0)
{
    struct result *r = run_well("--hidden 32 --help");
    assert_int_equal(strncmp(r->out, "Usage: meshsweep-trainer [OPTIONS]\n", 35), 0);
    assert_non_null(strstr(r->out, "\n  --zero-stage N "));
    assert_non_null(strstr(r->out, "\n  --metrics FILE "));
}

TEST(program__metrics_file_not_writable__says_so_and_status_1)
{
    struct result *r = run("--steps 1 --hidden 16 --seq 8 --metrics /nowhere/m.jsonl");
    assert_int_equal(r->status, 1);
    assert_non_null(strstr(r->err, "meshsweep-trainer: --metrics /nowhere/m.jsonl: No such file or directory\n"));
    r = run("--steps 1 --hidden 16 --seq 8 --metrics /dev/full");
    assert_int_equal(r->status, 1);
    assert_non_null(strstr(r->err, "meshsweep-trainer: the metrics file: No space left on device\n"));
}

TEST(program__stdout_full__says_so_and_status_1)
{
    char err[OUTPUT_MAX];
    struct child child = start(open("/dev/full", O_WRONLY | O_CLOEXEC), "--steps 1 --hidden 16 --seq 8");
    assert_int_equal(wait_for(child.pid), 1);
    close(child.out);
    read_back(child.err, err);
    assert_non_null(strstr(err, "meshsweep-trainer: standard output: No space left on device\n"));
}

TEST(program__data_file__short_one_refused_long_one_trained_on)
{
    char path[] = "/tmp/test_trainer_data_XXXXXX", arguments[256];
    int fd = mkstemp(path);
    assert_int_equal(write(fd, "abcabcabcabcabcabcab", 20), 20);
    snprintf(arguments, sizeof arguments, "--steps 1 --hidden 16 --data %s --seq 20", path);
    assert_int_equal(run(arguments)->status, 2);
    snprintf(arguments, sizeof arguments, "--steps 40 --hidden 16 --lr 1e-2 --data %s --seq 19", path);
    assert_true(number_of("loss", arguments) < 1);
    close(fd);
    unlink(path);
}

/* ---- a rank that is killed ---- */

/* The parent of a process, or 0: the second field after the name in parentheses. */
static pid_t parent_of(const char *pid)
{
    char path[300], text[1024];
    int parent = 0;
    snprintf(path, sizeof path, "/proc/%s/stat", pid);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t length = fd < 0 ? -1 : read(fd, text, sizeof text - 1);
    if (fd >= 0)
        close(fd);
    if (length <= 0)
        return 0;
    text[length] = '\0';
    char *after_name = strrchr(text, ')');
    return after_name && sscanf(after_name, ") %*c %d", &parent) == 1 ? parent : 0;
}

static int children_of(pid_t parent, pid_t *children, int room)
{
    int count = 0;
    DIR *proc = opendir("/proc");
    assert_non_null(proc);
    for (struct dirent *entry; (entry = readdir(proc)) && count < room;)
        if (isdigit((unsigned char)entry->d_name[0]) && parent_of(entry->d_name) == parent)
            children[count++] = atoi(entry->d_name);
    closedir(proc);
    return count;
}

struct training {
    struct child child;
    pid_t ranks[4];
    int out;
};

static struct training start_training(void)
{
    int pipe_end[2];
    char first[64];
    struct training t;
    assert_int_equal(pipe(pipe_end), 0);
    t.child = start(pipe_end[1], "--ranks 2 --hidden 16 --seq 8 --steps 1000000");
    t.out = pipe_end[0];
    close(pipe_end[1]);
    assert_true(read(t.out, first, sizeof first) > 0);
    assert_int_equal(children_of(t.child.pid, t.ranks, 4), 2);
    return t;
}

/* The ranks hold the pipe's writing end: it reads as ended once they are all gone. */
static int wait_for_training(struct training *t, char *err)
{
    char rest[64];
    while (read(t->out, rest, sizeof rest) > 0)
        ;
    int status = wait_for(t->child.pid);
    read_back(t->child.err, err);
    close(t->out);
    return status;
}

TEST(program__rank_killed_while_training__job_ends_with_the_signal)
{
    char err[OUTPUT_MAX];
    struct training t = start_training();
    kill(t.ranks[1], SIGKILL);
    assert_int_equal(wait_for_training(&t, err), 128 + SIGKILL);
    assert_non_null(strstr(err, "was killed by signal 9 (Killed)"));
    for (int i = 0; i < 2; i++)
        assert_true(kill(t.ranks[i], 0) < 0 && errno == ESRCH);
}

TEST(program__killed_while_training__its_ranks_end)
{
    char err[OUTPUT_MAX];
    struct training t = start_training();
    kill(t.child.pid, SIGKILL);
    assert_int_equal(wait_for_training(&t, err), 1000 + SIGKILL);
}

static int make_metrics_file(void **state)
{
    (void)state;
    int fd = mkstemp(metrics_path);
    unsetenv("MESHSWEEP_METRICS");
    alarm(TEST_LIMIT_SECONDS); /* a job that hangs is a failure */
    return fd < 0 ? -1 : close(fd);
}

static int remove_metrics_file(void **state)
{
    (void)state;
    return unlink(metrics_path);
}

TESTS_WITHIN(make_metrics_file, remove_metrics_file)
