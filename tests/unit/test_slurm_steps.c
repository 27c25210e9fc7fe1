/* slurm/allocation, slurm/steps: what Slurm says of an allocation, and what is asked of it for a step. */
#include "batch/steps.h"
#include "unit_test.h"
#include "util/buffer.h"

/* As scontrol of 22.05 prints it. */
static const char detail[] = "JobId=4 JobName=interactive NumNodes=3 JOB_GRES=gpu:8   Nodes=n[1-2] CPU_IDs=0-6,8 "
                             "Mem=400 GRES=gpu:a100:3(IDX:0-2),gpu:1(IDX:3)"
                             "   Nodes=n7 CPU_IDs=0 Mem=0 GRES= MinCPUsNode=1 Nodes_=x\n";

static void assert_node(const struct allocation_node *n, const char *name, int64_t cpus, int64_t gpus,
                        int64_t memory_mb)
{
    assert_string_equal(n->name, name);
    assert_int_equal(n->cpus, cpus);
    assert_int_equal(n->gpus, gpus);
    assert_int_equal(n->memory_mb, memory_mb);
}

TEST(allocation_parse__groups_of_nodes__what_they_hold)
{
    HELD(allocation) a;
    assert_int_equal(allocation_parse(detail, &a), 0);
    assert_int_equal(a.count, 2);
    assert_node(&a.nodes[0], "n[1-2]", 8, 4, 400);
    assert_node(&a.nodes[1], "n7", 1, 0, 0);
}

TEST(allocation_parse__nothing_or_nonsense__none)
{
    static const char *const texts[] = {"", "slurm_load_jobs error: Invalid job id specified\n",
                                        " Nodes=", " Nodes=n1 GRES=gpu:2", " Nodes= CPU_IDs=0-3"};
    for (size_t i = 0; i < LENGTH(texts); i++) {
        struct allocation a;
        assert_int_equal(allocation_parse(texts[i], &a), -1);
    }
    HELD(allocation) a;
    assert_int_equal(allocation_parse(" Nodes=n1 CPU_IDs=9-3,x Mem=-5 GRES=gpu:,gpu:(, Nodes=n2 CPU_IDs=0-99999999999 "
                                      "GRES=gpu:9999999999999",
                                      &a),
                     0);
    assert_node(&a.nodes[0], "n1", 0, 0, 0);
    assert_node(&a.nodes[1], "n2", 0, 0, 0);
}

static struct allocation_node nodes[] = {{(char *)"n1", 16, 4, 800}, {(char *)"n2", 8, 2, 0}};
static const struct allocation held = {4, nodes, 2};

static char *names(const struct device_list *l)
{
    struct buffer b = BUFFER_INIT;
    for (size_t i = 0; i < l->count; i++)
        buffer_printf(&b, "%s%s", i ? "," : "", l->names[i]);
    return buffer_take(&b);
}

TEST(allocation_devices__gpus_or_processors__by_node)
{
    struct device_list l;
    allocation_devices(&held, false, 0, &l);
    OWNED char *text = names(&l);
    assert_string_equal(text, "n1:0,n1:1,n1:2,n1:3,n2:0,n2:1");
    assert_int_equal(l.nodes[3], 0);
    assert_int_equal(l.nodes[4], 1);
    free(text);
    device_list_free(&l);
    allocation_devices(&held, true, 6, &l);
    text = names(&l);
    assert_string_equal(text, "n1:0,n1:1,n2:0");
    device_list_free(&l);
}

/* The share as one line. */
static void assert_share(const struct batch_config *config, const char *devices, const char *spec, const char *expected)
{
    struct step_request r = {0};
    OWNED_BUFFER b = BUFFER_INIT;
    step_share(&held, config, devices, spec, &r);
    buffer_printf(&b, "%s %lld nodes, %lld tasks, %lld cpus, %lld gpus%s, %s", r.nodes, (long long)r.node_count,
                  (long long)r.tasks_per_node, (long long)r.cpus_per_task, (long long)r.gpus_per_node,
                  r.no_gpus ? " of none" : "", r.memory ? r.memory : "-");
    assert_string_equal(buffer_text(&b), expected);
    free((char *)r.nodes);
    free((char *)r.memory);
}

TEST(step_share__by_devices__of_processors_and_memory)
{
    const struct batch_config gpus = {.gpus = true}, cpus = {.cpus_per_task = 2},
                              memory = {.memory = (char *)"9G", .gpus = true};
    assert_share(&gpus, "n1:0,n1:3", "{}", "n1 1 nodes, 1 tasks, 8 cpus, 2 gpus, 400M");
    assert_share(&gpus, "n1:0,n1:1,n2:0,n2:1", "{\"cluster_spec\":{\"tasks_per_node\":2}}",
                 "n1,n2 2 nodes, 2 tasks, 4 cpus, 2 gpus, -");
    assert_share(&gpus, "n2:1", "{\"cluster_spec\":{\"cpus_per_task\":3}}", "n2 1 nodes, 1 tasks, 3 cpus, 1 gpus, -");
    assert_share(&cpus, "n1:0,n1:1", "{}", "n1 1 nodes, 1 tasks, 4 cpus, 0 gpus of none, 200M");
    assert_share(&memory, "n1:0", "{}", "n1 1 nodes, 1 tasks, 4 cpus, 1 gpus, 9G");
}

static void assert_command(char *const *launcher, char *const *command, const char *expected)
{
    const struct step_request r =
        {.job = 4, .nodes = "n1,n2", .name = "x:1", .node_count = 2, .tasks_per_node = 3, .cpus_per_task = 5};
    char **words = step_command(&r, launcher, command);
    OWNED_BUFFER b = BUFFER_INIT;
    for (char **w = words; *w; w++)
        buffer_printf(&b, "%s%s", w == words ? "" : " ", *w);
    assert_string_equal(buffer_text(&b), expected);
    strings_free(words);
}

TEST(step_command__with_srun_of_its_own__once)
{
#define ASKED                                                                                                          \
    "srun --jobid=4 --exact --nodes=2 --nodelist=n1,n2 --ntasks=6 --ntasks-per-node=3 --cpus-per-task=5 "              \
    "--job-name=x:1 --kill-on-bad-exit=1 --quiet"
    char *plain[] = {(char *)"train", (char *)"-x", NULL},
         *own[] = {(char *)"srun", (char *)"-l", (char *)"train", NULL};
    char *launcher[] = {(char *)"srun", (char *)"--mpi=pmi2", NULL}, *other[] = {(char *)"nice", NULL};
    assert_command(NULL, plain, ASKED " train -x");
    assert_command(NULL, own, ASKED " -l train");
    assert_command(launcher, plain, ASKED " --mpi=pmi2 train -x");
    assert_command(other, plain, ASKED " nice train -x");
}

TEST_ROWS(step_word_of__lines_of_slurm__what_they_mean,
          (const char *text; enum step_word word; const char *node; int exit_code), {"", STEP_SAID_NOTHING, NULL, 0},
          {"loss 3\nsrun: error: n1: task 0: Exited with exit code 7\n", STEP_SAID_NOTHING, NULL, 0},
          {"a log with DUE TO TIME LIMIT\n", STEP_SAID_NOTHING, NULL, 0},
          {"srun: error: Unable to create step for job 1: Requested node configuration is not available\n",
           STEP_NOT_CREATED, NULL, 0},
          {"slurmstepd-n1: error: execve(): /nonexistent: No such file or directory", STEP_NOT_CREATED, NULL, 0},
          {"x\nsrun: error: Node failure on n2\nsrun: Force Terminated StepId=1.12\n", STEP_NODE_FAILED, "n2", 0},
          {"slurmstepd-n1: error: *** STEP 1.0 ON n1 CANCELLED AT 2026-11-22T03:18:05 ***\n", STEP_CANCELLED, NULL, 0},
          {"slurmstepd: error: *** STEP 1.0 ON n1 CANCELLED AT 2026-11-22T03:18:05 DUE TO TIME LIMIT ***\n",
           STEP_ALLOCATION_ENDED, NULL, 0},
          {"slurmstepd: error: *** STEP 1.0 ON n1 CANCELLED AT 2026-11-22T03:18:05 DUE TO NODE FAILURE, SEE x ***\n",
           STEP_NODE_FAILED, NULL, 0},
          /* One task fails, and srun ends the others; a person cancels the step, and they end. */
          {"srun: error: n2: tasks 2-3: Exited with exit code 7\n"
           "slurmstepd-n1: error: *** STEP 1.3 ON n1 CANCELLED AT 2026-11-23T02:26:54 ***\n"
           "srun: error: n1: tasks 0-1: Killed\n",
           STEP_SAID_NOTHING, NULL, 7},
          {"srun: error: n2: task 1: Segmentation fault\n"
           "slurmstepd-n1: error: *** STEP 1.3 ON n1 CANCELLED AT 2026-11-23T02:26:54 ***\n",
           STEP_SAID_NOTHING, NULL, 0},
          {"slurmstepd-n1: error: *** STEP 1.3 ON n1 CANCELLED AT 2026-11-23T02:26:54 ***\n"
           "srun: error: n1: task 0: Exited with exit code 7\n",
           STEP_CANCELLED, NULL, 0})
{
    OWNED char *node = NULL;
    int exit_code;
    assert_int_equal(step_word_of(row->text, &node, &exit_code), row->word);
    assert_int_equal(exit_code, row->exit_code ? row->exit_code : -1);
    assert_true((node == NULL) == (row->node == NULL) && (!node || strcmp(node, row->node) == 0));
}
