/* batch: the table of decisions, what Slurm prints, what it is given, by its file. No Slurm is needed. */
#include "batch/script.h"
#include "batch/state.h"
#include "batch/system.h"
#include "unit_test.h"
#include "util/embedded.h"
#include "util/file.h"

static struct batch_system *system_of(const char *name)
{
    struct batch_system *s = NULL;
    FAIL_IF(batch_system_load(name, NULL, &s, &e) < 0);
    return s;
}

/* --- the files --- */

TEST(built_in_systems__each__a_word_of_executor_and_without_a_fault)
{
    const char *const *name = executor_names + 1;
    for (const struct embedded_file *f = NULL; (f = embedded_next("executors/", f)); name++) {
        OWNED char *stem = embedded_stem(f);
        name += strcmp(*name, "ssh") == 0;
        assert_string_equal(*name, stem);
        batch_system_free(system_of(stem));
    }
    assert_null(*name);
}

/* --- the table --- */

static const char letters[BATCH_DECISION_COUNT] = {
    [BATCH_WAIT] = '.',
    [BATCH_BY_RESULT] = 'R',
    [BATCH_NEVER_RAN] = 'N',
    [BATCH_KILLED] = 'K',
    [BATCH_LIMIT_PASSED] = 'T',
    [BATCH_DEADLINE_PASSED] = 'D',
    [BATCH_MEMORY_EXCEEDED] = 'M',
    [BATCH_NODE_FAILED] = 'F',
    [BATCH_PREEMPTED_BY] = 'P',
    [BATCH_CANCELLED_BY_HAND] = 'C',
    [BATCH_INTERRUPTED] = 'I',
    [BATCH_LOST] = 'L',
};

/* For nothing written, silent, alive, succeeded, failed and terminated: at once, then with patience over. */
ROWS(known, const char *name; enum batch_state state; char now[RESULT_COUNT + 1], later[RESULT_COUNT + 1]) = {
    {"no answer", BATCH_SILENT, "...R..", "...RRR"},
    {"Invalid job id", BATCH_ABSENT, "...R..", "LL.RRR"},
    {"no longer in its array", BATCH_REMOVED, "...R..", "CL.RRR"},
    {"started a second time", BATCH_AGAIN, "...R..", "II.RRI"},
    {"SOME_NEW_STATE", BATCH_STRANGE, "...R..", "...RRR"},
    {"PENDING", BATCH_PENDING, "...R..", ".I.RRI"},
    {"CONFIGURING", BATCH_PENDING, "...R..", ".I.RRI"},
    {"REQUEUED", BATCH_REQUEUED, "...R..", ".I.RRI"},
    {"SPECIAL_EXIT", BATCH_REQUEUED, "...R..", ".I.RRI"},
    {"STARTING", BATCH_STARTING, "...R..", "LL.RRR"},
    {"RUNNING", BATCH_RUNNING, "...R..", ".L.RRR"},
    {"SUSPENDED", BATCH_SUSPENDED, "...R..", "...RRR"},
    {"COMPLETING", BATCH_COMPLETING, "...R..", "...RRR"},
    {"COMPLETED", BATCH_COMPLETED, "...RRR", "LLLRRR"},
    {"FAILED", BATCH_FAILED, "...RRR", "NKKRRR"},
    {"TIMEOUT", BATCH_TIMEOUT, "TTTRTT", "TTTRTT"},
    {"OUT_OF_MEMORY", BATCH_OUT_OF_MEMORY, "MMMRMM", "MMMRMM"},
    {"NODE_FAIL", BATCH_NODE_FAIL, "FFFRFF", "FFFRFF"},
    {"PREEMPTED", BATCH_PREEMPTED, "PPPRPP", "PPPRPP"},
    {"CANCELLED", BATCH_CANCELLED, "CCCRCC", "CCCRCC"},
    {"CANCELLED by 1000", BATCH_CANCELLED, "CCCRCC", "CCCRCC"},
    {"BOOT_FAIL", BATCH_BOOT_FAIL, "FFFRFF", "FFFRFF"},
    {"DEADLINE", BATCH_DEADLINE, "DDDRDD", "DDDRDD"},
};

TEST(batch_decide__every_state_and_result__as_the_table_says)
{
    bool seen[BATCH_STATE_COUNT] = {[BATCH_NONE] = true};
    for (size_t i = 0; i < LENGTH(known); i++) {
        seen[known[i].state] = true;
        for (int r = 0; r < RESULT_COUNT; r++) {
            assert_int_equal(letters[batch_decide(known[i].state, BATCH_NONE, (enum batch_result)r, false)],
                             known[i].now[r]);
            assert_int_equal(letters[batch_decide(known[i].state, BATCH_NONE, (enum batch_result)r, true)],
                             known[i].later[r]);
        }
    }
    for (int s = 0; s < BATCH_STATE_COUNT; s++)
        assert_true(seen[s]);
}

TEST(batch_state_by_name__each_name__its_state)
{
    HELD_AT(batch_system) *slurm = system_of("slurm");
    for (size_t i = 5; i < LENGTH(known); i++)
        assert_int_equal(batch_system_state(slurm, known[i].name), known[i].state);
    assert_int_equal(batch_state_by_name("SOME_NEW_STATE"), BATCH_STRANGE);
    assert_int_equal(batch_state_by_name(""), BATCH_STRANGE);
    assert_int_equal(batch_state_by_name("+"), BATCH_STRANGE);
    assert_int_equal(batch_state_by_name("CANCELLED+"), BATCH_CANCELLED);
    assert_int_equal(batch_state_by_name("OUT_OF_ME+"), BATCH_OUT_OF_MEMORY);
    assert_int_equal(batch_state_by_name("no answer"), BATCH_STRANGE);
}

TEST(batch_decide__accounting__asked_where_the_queue_knows_nothing)
{
    assert_int_equal(batch_decide(BATCH_ABSENT, BATCH_TIMEOUT, RESULT_SILENT, false), BATCH_LIMIT_PASSED);
    assert_int_equal(batch_decide(BATCH_SILENT, BATCH_NODE_FAIL, RESULT_NONE, false), BATCH_NODE_FAILED);
    /* Late: it says RUNNING still, or PENDING, when the job has left the queue. */
    assert_int_equal(batch_decide(BATCH_ABSENT, BATCH_RUNNING, RESULT_SILENT, false), BATCH_WAIT);
    assert_int_equal(batch_decide(BATCH_ABSENT, BATCH_PENDING, RESULT_SILENT, true), BATCH_LOST);
    /* The accounting is of an earlier life: the queue has the job again. */
    assert_int_equal(batch_decide(BATCH_RUNNING, BATCH_NODE_FAIL, RESULT_ALIVE, false), BATCH_WAIT);
    assert_int_equal(batch_decide(BATCH_PENDING, BATCH_PREEMPTED, RESULT_TERMINATED, true), BATCH_INTERRUPTED);
    assert_int_equal(batch_decide(BATCH_REMOVED, BATCH_NODE_FAIL, RESULT_NONE, false), BATCH_NODE_FAILED);
}

/* --- what Slurm prints --- */

static void write_entry(void *context, const struct batch_entry *e)
{
    struct buffer *b = context;
    buffer_add_text(b, e->job);
    if (e->first >= 0)
        buffer_printf(b, "_%lld-%lld", (long long)e->first, (long long)e->last);
    buffer_printf(b, " %s", batch_state_names[e->state]);
    if (e->exit_code >= 0)
        buffer_printf(b, " %d:%d", e->exit_code, e->signal_number);
    buffer_printf(b, "%s%s%s%s%s%s;", *e->reason ? " " : "", e->reason, *e->nodes ? " " : "", e->nodes,
                  *e->comment ? " " : "", e->comment);
}

enum which { QUEUE, QUEUE_AS_JSON, ACCOUNTING, COMPLETIONS, END };

static void assert_answer(enum which which, const char *text, int refused, const char *expected)
{
    HELD_AT(batch_system) *s = system_of("slurm");
    const struct batch_question *const questions[] = {[QUEUE] = &s->queue,
                                                      [QUEUE_AS_JSON] = s->queue.fallback,
                                                      [ACCOUNTING] = &s->accounting,
                                                      [COMPLETIONS] = s->accounting.fallback,
                                                      [END] = &s->end};
    OWNED_BUFFER b = BUFFER_INIT;
    size_t entries;
    assert_int_equal(batch_answer_read(s, questions[which], text, write_entry, &b, &entries), refused);
    assert_string_equal(buffer_text(&b), expected);
}

TEST(batch_answer_read__queue_in_lines__entries)
{
    assert_answer(QUEUE, "14|N/A|RUNNING|None|n[1-2]|db a|b\n9|3|PENDING|Resources||x\n", 0,
                  "14 RUNNING None n[1-2] db a|b;9_3-3 PENDING Resources x;");
    assert_answer(QUEUE, "9|0-4,7%3|PENDING|JobArrayTaskLimit||\n", 0,
                  "9_0-4 PENDING JobArrayTaskLimit;9_7-7 PENDING JobArrayTaskLimit;");
    assert_answer(QUEUE, "9|[2-6:2%1]|PENDING|x||\n", 0, "9_2-2 PENDING x;9_4-4 PENDING x;9_6-6 PENDING x;");
    assert_answer(QUEUE, "", 0, "");
    assert_answer(QUEUE, "slurm_load_jobs error: Unable\n7|N/A|RUNNING|None\n|N/A|RUNNING|a|b|c\n", 3, "");
    assert_answer(QUEUE, "9|5-2|RUNNING|x||\n9|x|RUNNING|x||\n9|1-2:0|PENDING|||\n9|0-99999999:2|PENDING|||\n", 3,
                  "9 RUNNING x;");
}

TEST(batch_answer_read__queue_in_json__as_22_05_and_later)
{
    assert_answer(QUEUE_AS_JSON,
                  "{\"jobs\":[{\"job_id\":14,\"array_job_id\":9,\"array_task_id\":4,\"array_task_string\":\"\","
                  "\"job_state\":\"FAILED\",\"state_reason\":\"NonZeroExitCode\",\"nodes\":\"n1\",\"comment\":\"c\"}]}",
                  0, "9_4-4 FAILED NonZeroExitCode n1 c;");
    assert_answer(QUEUE_AS_JSON,
                  "{\"jobs\":[{\"job_id\":15,\"array_job_id\":{\"set\":true,\"infinite\":false,\"number\":0},"
                  "\"array_task_id\":{\"set\":false,\"number\":0},\"job_state\":[\"RUNNING\",\"COMPLETING\"]},"
                  "{\"job_id\":16,\"array_job_id\":16,\"array_task_string\":\"0-1\",\"job_state\":\"PENDING\"},"
                  "{\"job_state\":\"RUNNING\"},{}]}",
                  1, "15 RUNNING;16_0-1 PENDING;");
    assert_answer(QUEUE_AS_JSON, "{\"jobs\":[{\"job_id\":15", -1, "");
    assert_answer(QUEUE_AS_JSON, "{\"errors\":[]}", -1, "");
}

TEST(batch_answer_read__accounting__entries)
{
    assert_answer(ACCOUNTING,
                  "9_4|FAILED|7:0|n1\n9_4.batch|FAILED|7:0|n1\n14|TIMEOUT|0:15|n2\n"
                  "9_[5-6]|CANCELLED by 0|0:0|None assigned\nnonsense\n",
                  1, "9_4-4 FAILED 7:0 n1;14 TIMEOUT 0:15 n2;9_5-6 CANCELLED 0:0 None assigned;");
}

TEST(batch_answer_read__completion_log_of_22_05__tasks_alone)
{
#define BEFORE "JobId=14 UserId=me(7) GroupId=g(1) Name=a b "
#define AFTER " DerivedExitCode=0:0 ExitCode=2:0 \n"
    assert_answer(COMPLETIONS,
                  BEFORE "JobState=TIMEOUT Partition=p NodeList=n[1-2] NodeCnt=2 ArrayJobId=9 ArrayTaskId=4" AFTER, 0,
                  "9_4-4 TIMEOUT n[1-2];");
    assert_answer(COMPLETIONS, BEFORE "JobState=FAILED Partition=p NodeList=(null)" AFTER "\nJobId=3 Use", 1, "");
}

TEST(batch_answer_read__line_of_scontrol__exit_code_and_signal)
{
    assert_answer(END, "JobId=4 Restarts=0 BatchFlag=1 Reboot=0 ExitCode=0:9 RunTime=0", 0, " an unknown state 0:9;");
    assert_answer(END, "DerivedExitCode=1:1", 1, "");
    assert_answer(END, "JobId=4 ExitCode=0", 1, "");
}

/* A system of which only how its queue is read is of interest. */
static void assert_read_by(const char *queue, const char *text, int refused, const char *expected)
{
    OWNED char *file = xasprintf("title = \"x\"\n[submit]\ncommand = [\"s\"]\nid = \"i\"\narrays = \"never\"\n"
                                 "[cancel]\ncommand = [\"c\"]\n[queue]\ncommand = [\"q\"]\n%s",
                                 queue);
    put("system.toml", file);
    HELD_AT(batch_system) *s = system_of("system.toml");
    OWNED_BUFFER b = BUFFER_INIT;
    size_t entries;
    assert_int_equal(batch_answer_read(s, &s->queue, text, write_entry, &b, &entries), refused);
    assert_string_equal(buffer_text(&b), expected);
}

TEST(batch_answer_read__keys_and_values__a_record_each_the_last_value_counts)
{
    static const char queue[] =
        "record = '^=+$'\npair = '^([a-z]+) +(.*[^ ]) *$'\nstates.q = \"PENDING\"\n[queue.fields]\nid = \"jobnumber\"\n"
        "task = \"taskid\"\nnodes = \"hostname\"\nstate = \"iif(CAST(failed AS INTEGER) = 0, 'COMPLETED', 'q')\"\n";
    assert_read_by(queue,
                   "==\njobnumber  7\ntaskid     2   \nfailed   0\nhostname a b\n"
                   "==\njobnumber  8\ntaskid undefined\nfailed 1 : x\nfailed 0\nfailed 28 : y\n",
                   0, "7_2-2 COMPLETED a b;8 PENDING;");
    assert_read_by(queue, "Job 7 is not there\n", 0, "");
}

TEST(batch_answer_read__columns_between_blanks__the_last_takes_the_rest)
{
    static const char queue[] =
        "skip = 2\ncolumns = [\"id\", \"\", \"word\", \"comment\"]\n"
        "fields.state = \"word\"\nstates = { r = \"RUNNING\", hqw = \"PENDING\" }\nstuck = [\"E\"]\n";
    assert_read_by(queue, "id n word c\n-----\n  7.x me   r  some  words \r\n8 me hqw\n9 me E x\n10\n\n", 0,
                   "7.x RUNNING some  words ;8 PENDING;9 an unknown state x;");
}

TEST(batch_answer_read__members_of_an_object__their_names_are_ids)
{
    static const char queue[] =
        "json = \"$.Jobs\"\nstates.Q = \"PENDING\"\n[queue.fields]\nid = \"key\"\nstate = \"job_state\"\n"
        "comment = \"value ->> '$.Variable_List.TOKEN'\"\n";
    assert_read_by(queue, "{\"Jobs\":{\"12[1].srv\":{\"job_state\":\"Q\",\"Variable_List\":{\"TOKEN\":\"t\"}}}}", 0,
                   "12[1].srv PENDING t;");
    assert_read_by(queue, "{\"timestamp\":1}", -1, "");
    /* Some print no list where there is no job. */
    assert_read_by(queue, "\n", 0, "");
}

TEST(batch_pattern_finds__empty_line__only_of_an_empty_text_or_between_others)
{
    struct batch_pattern p = {.text = xstrdup("^$")};
    char why[256];
    assert_int_equal(line_pattern_compile(&p.compiled, p.text, why), 0);
    assert_true(batch_pattern_finds(&p, "", 0, NULL));
    assert_true(batch_pattern_finds(&p, "a\n\nb\n", 0, NULL));
    assert_false(batch_pattern_finds(&p, "qstat: no answer\n", 0, NULL));
    line_pattern_free(&p.compiled);
    free(p.text);
}

static void assert_id(const char *output, const char *expected)
{
    HELD_AT(batch_system) *s = system_of("slurm");
    OWNED char *id = batch_system_id(s, output, "", true);
    assert_string_equal(id ? id : "none", expected);
}

TEST(batch_system_id__parsable__number)
{
    assert_id("123\n", "123");
    assert_id("123;cluster\n", "123");
    assert_id("Submitted batch job 123\n", "none");
    assert_id("", "none");
}

static enum batch_refusal refusal_of(const char *errors)
{
    HELD_AT(batch_system) *s = system_of("slurm");
    enum batch_refusal refusal = batch_system_refusal(s, errors);
    return refusal;
}

TEST(batch_system_refusal__messages_of_sbatch__what_they_mean)
{
    assert_int_equal(refusal_of("sbatch: error: Batch job submission failed: Invalid partition name specified"),
                     REFUSAL_FINAL);
    assert_int_equal(refusal_of("sbatch: error: QOSMaxSubmitJobPerUserLimit\nsbatch: error: Batch job submission "
                                "failed: Job violates accounting/QOS policy (job submit limit, user's size "
                                "and/or time limits)"),
                     REFUSAL_LIMIT);
    assert_int_equal(refusal_of("sbatch: error: QOSMaxWallDurationPerJobLimit\nsbatch: error: Batch job submission "
                                "failed: Job violates accounting/QOS policy (job submit limit, user's size and/or "
                                "time limits)\n"),
                     REFUSAL_POLICY);
    assert_int_equal(refusal_of("sbatch: error: Slurm temporarily unable to accept job, sleeping and retrying"),
                     REFUSAL_LIMIT);
    assert_int_equal(refusal_of("Unable to contact slurm controller (connect failure)"), REFUSAL_UNKNOWN);
    assert_int_equal(refusal_of("Socket timed out on send/recv operation"), REFUSAL_UNKNOWN);
    assert_int_equal(refusal_of(""), REFUSAL_FINAL);
}

TEST_ROWS(batch_system_refusal_text__all_that_sbatch_says__what_names_the_cause, (const char *text, *expected),
          {"sbatch: error: invalid partition specified: gpux\nsbatch: error: Batch job submission failed: Invalid "
           "partition name specified\n",
           "sbatch: invalid partition specified: gpux; Batch job submission failed: Invalid partition name specified"},
          {"sbatch: unrecognized option '--gpu'\nTry \"sbatch --help\" for more information\n",
           "sbatch: unrecognized option '--gpu'"},
          {"", ""})
{
    HELD_AT(batch_system) *s = system_of("slurm");
    OWNED char *text = batch_system_refusal_text(s, row->text);
    assert_string_equal(text, row->expected);
}

/* --- templates --- */

static void assert_filled(const char *pattern, const char *expected)
{
    HELD(batch_values) v = {0};
    struct buffer b = BUFFER_INIT;
    batch_values_add(&v, "queue", xstrdup("a b\"\\\nc"), false);
    batch_values_add(&v, "options", xstrdup("--x\n--y"), true);
    batch_values_add_count(&v, "gpus", 2);
    batch_values_add_count(&v, "none", 0);
    batch_fill(pattern, &v, &b);
    assert_string_equal(buffer_text(&b), expected);
    buffer_free(&b);
    char *words[] = {(char *)"qsub", (char *)"-l{gpus}", (char *)"{none}", (char *)"{options}", NULL};
    char **argv = batch_fill_words(words, &v);
    assert_string_equal(argv[1], "-l2");
    assert_string_equal(argv[3], "--y");
    assert_null(argv[4]);
    strings_free(argv);
}

TEST(batch_fill__values_absent_lists_filters__lines)
{
    assert_filled("-q {queue}\n", "-q a b\"\\ c\n");
    assert_filled("-q={queue|quoted}\n-q {queue|sh}", "-q=\"a b\\\"\\\\ c\"\n-q 'a b\"\\\nc'\n");
    assert_filled("-l {none}\n-l {unknown}\n-pe {pe:smp} {gpus}\n", "-pe smp 2\n");
    assert_filled("#$ {options}\n{{{gpus}}}\n", "#$ --x\n#$ --y\n{2}\n");
    assert_filled("select={nodes:1}{gpus?:ngpus=@}{none?:mem=@mb}\n", "select=1:ngpus=2\n");
}

/* --- what Slurm is given --- */

/* One task of a batch is run as Slurm would, in a directory whose name is no shell's friend. */
#define ROOT "slurm it's"
#define JOB ROOT "/key $1/1/"

static void bench_make(char *const *command)
{
    char *settings[] = {(char *)"GREETING=it's \"$HOME\" `x`\n=y", NULL};
    OWNED_BUFFER text = BUFFER_INIT;
    assert_int_equal(system("rm -rf \"" ROOT "\""), 0);
    put(JOB BATCH_JOB_FILE, "");
    OWNED char *job_dir = path_absolute(JOB);
    batch_job_add(settings, job_dir, NULL, command, &text);
    put(JOB BATCH_JOB_FILE, buffer_text(&text));
}

static int bench_run(int64_t limit_ms)
{
    const struct batch_task tasks[] = {{"none/1", 6, 0, 0}, {"key $1/1", 7, limit_ms, 100}};
    HELD_AT(batch_system) *slurm = system_of("slurm");
    OWNED char *root = path_absolute(ROOT);
    const struct batch_script batch = {slurm, "#SBATCH --time=1\n", root, 1, tasks, 2, NULL};
    OWNED_BUFFER text = BUFFER_INIT;
    batch_script_add(&batch, &text);
    put(ROOT "/batch", buffer_text(&text));
    int status =
        system("cd \"" ROOT "\" && SLURM_ARRAY_TASK_ID=1 SLURM_ARRAY_JOB_ID=14 SLURM_JOB_NODELIST='n[1-2]' sh ./batch");
    return WEXITSTATUS(status);
}

static struct batch_report bench_report(void)
{
    struct batch_report r;
    OWNED char *text = text_of(JOB BATCH_RESULT_FILE);
    assert_true(batch_report_parse(text, &r));
    return r;
}

TEST(batch_script__task_run_by_a_shell__result_and_output)
{
    char *command[] = {(char *)"/bin/sh", (char *)"-c",       (char *)"printf '%s|%s' \"$GREETING\" \"$1\"; exit 7",
                       (char *)"sh",      (char *)"a 'b' $c", NULL};
    bench_make(command);
    assert_int_equal(bench_run(0), 7);
    assert_file(JOB "output.log", "it's \"$HOME\" `x`\n=y|a 'b' $c");
    struct batch_report r = bench_report();
    assert_int_equal(r.attempt, 7);
    assert_string_equal(r.array, "14");
    assert_string_equal(r.nodes, "n[1-2]");
    assert_true(r.ended);
    assert_false(r.terminated);
    assert_int_equal(r.exit_code, 7);
    assert_true(r.started_ms > 0 && r.ended_ms >= r.started_ms);
    assert_true(r.user_ms >= 0 && r.system_ms >= 0);
}

TEST(batch_script__limit_of_its_own__ended_by_timeout)
{
    char *command[] = {(char *)"sleep", (char *)"60", NULL};
    bench_make(command);
    assert_int_equal(bench_run(200), 124);
    struct batch_report r = bench_report();
    assert_true(r.ended);
    assert_int_equal(r.exit_code, 124);
    assert_true(r.ended_ms - r.started_ms >= 200);
}

TEST(batch_script__asked_to_end__says_so)
{
    char *command[] = {(char *)"/bin/sh", (char *)"-c",
                       (char *)"trap 'kill $!; exit 4' TERM; sleep 60 & kill -TERM $PPID; wait", NULL};
    bench_make(command);
    assert_int_equal(bench_run(0), 4);
    struct batch_report r = bench_report();
    assert_true(r.ended && r.terminated);
    assert_int_equal(r.exit_code, 4);
}

TEST_ROWS(batch_script__task_started_again__leaves_everything, (const char *text), {BATCH_BEGUN_FILE},
          {BATCH_RESULT_FILE}, {BATCH_CLOSED_FILE})
{
    /* Begun or ended by whoever it was, or given up. */
    char *command[] = {(char *)"echo", (char *)"again", NULL};
    bench_make(command);
    OWNED char *sign = xasprintf(JOB "%s", row->text);
    put(JOB "output.log", "first");
    put(sign, "theirs");
    assert_int_equal(bench_run(0), 75);
    assert_file(JOB "output.log", "first");
    assert_file(sign, "theirs");
    assert_int_equal(access(JOB BATCH_AGAIN_FILE, F_OK), 0);
}

TEST(batch_script__closed_while_it_runs__ended_without_a_result)
{
    char *command[] = {(char *)"/bin/sh", (char *)"-c", (char *)": >" BATCH_CLOSED_FILE "; exec sleep 60", NULL};
    bench_make(command);
    assert_int_equal(bench_run(0), 143);
    assert_false(bench_report().ended);
}

TEST(batch_report__torn_or_foreign__none)
{
    struct batch_report r;
    assert_false(batch_report_parse("", &r));
    assert_false(batch_report_parse("state=ended\nexit=0\n", &r));
    assert_false(batch_report_parse("attempt=1\nstate=ended\n", &r));
    assert_false(batch_report_parse("attempt=1\nstate=ended\nexit=999\n", &r));
    assert_true(batch_report_parse("attempt=1\nstate=started\nstarted=5\n", &r));
    assert_false(r.ended);
    assert_int_equal(r.user_ms, -1);
    assert_true(batch_report_parse("attempt=1\n0m0.00s 0m0.00s\n1m1.500s 0m0.25s\n", &r));
    assert_int_equal(r.user_ms, 61500);
    assert_int_equal(r.system_ms, 250);
}

TESTS_APART()
