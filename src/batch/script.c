#include "batch/script.h"

#include <inttypes.h>
#include <string.h>

#include "util/shell_words.h"

/* --- options --- */

/* sbatch reads these lines with rules of its own, like the shell's but without joining a quote to what is beside it:
 * double quotes, where a backslash frees the next character. */
static void add_option(struct buffer *b, const char *name, const char *value)
{
    if (!value || !*value)
        return;
    buffer_printf(b, "#SBATCH --%s=\"", name);
    for (; *value; value++) {
        if (*value == '"' || *value == '\\')
            buffer_add_char(b, '\\');
        buffer_add_char(b, *value == '\n' ? ' ' : *value);
    }
    buffer_add_text(b, "\"\n");
}

static void add_count(struct buffer *b, const char *name, int64_t value)
{
    if (value > 0)
        buffer_printf(b, "#SBATCH --%s=%" PRId64 "\n", name, value);
}

void batch_request_add(const struct batch_request *r, struct buffer *b)
{
    add_option(b, "partition", r->partition);
    add_option(b, "account", r->account);
    add_option(b, "qos", r->qos);
    add_option(b, "constraint", r->constraint);
    add_option(b, "reservation", r->reservation);
    add_option(b, "exclude", r->exclude);
    add_count(b, "nodes", r->nodes);
    add_count(b, "ntasks-per-node", r->tasks_per_node);
    add_count(b, "cpus-per-task", r->cpus_per_task);
    add_count(b, "gpus-per-node", r->gpus_per_node);
    add_option(b, "mem", r->memory);
    add_count(b, "time", r->minutes);
    for (char *const *p = r->extra; p && *p; p++)
        buffer_printf(b, "#SBATCH %s\n", *p);
}

/* --- the batch script --- */

/* Signals that Slurm sends at a time limit, a cancellation or a preemption go to every process of the step: the shell
 * survives them to write how the command took them. */
static const char supervision[] =
    "cd \"$root/$directory\" || exit " BATCH_UNSEEN_EXIT "\n"
    /* A controller that lost its last state starts again what has begun or ended. */
    "if [ -e " BATCH_CLOSED_FILE " ] || [ -e " BATCH_RESULT_FILE " ] || ! (set -C && : >" BATCH_BEGUN_FILE
    ") 2>/dev/null; then\n"
    "    : >" BATCH_AGAIN_FILE "\n"
    "    exit 75\n"
    "fi\n"
    "exec >>output.log 2>&1 </dev/null\n"
    "say() {\n"
    "    [ ! -e " BATCH_CLOSED_FILE " ] || return 0\n"
    "    {\n"
    "        printf '%s\\n' \"attempt=$attempt\" \"job=${SLURM_JOB_ID-}\" \"array=${SLURM_ARRAY_JOB_ID-}\" \\\n"
    "            \"restart=${SLURM_RESTART_COUNT:-0}\" \\\n"
    "            \"nodes=${SLURM_JOB_NODELIST-}\" \"started=$started\" \"$@\"\n"
    "        times\n"
    "    } >" BATCH_RESULT_FILE ".tmp && mv -f " BATCH_RESULT_FILE ".tmp " BATCH_RESULT_FILE "\n"
    "}\n"
    "terminated=0 command= code=\n"
    "trap 'terminated=1 cut=1; [ -z \"$command\" ] || kill -TERM \"$command\" 2>/dev/null' TERM INT HUP\n"
    "started=$(date +%s%3N)\n"
    "say state=started\n"
    "export MESHSWEEP_HOST=\"$(hostname)\"\n"
    ": \"${MASTER_ADDR:=$MESHSWEEP_HOST}\"\n"
    "export MASTER_ADDR\n"
    "if [ \"$limit\" != 0 ]; then\n"
    "    timeout -k \"$grace\" \"$limit\" /bin/sh ./" BATCH_JOB_FILE " &\n"
    "else\n"
    "    /bin/sh ./" BATCH_JOB_FILE " &\n"
    "fi\n"
    "command=$!\n"
    "nap() {\n"
    "    sleep \"$1\" &\n"
    "    nap=$!\n"
    "    wait \"$nap\"\n"
    "}\n"
    "(\n"
    "    trap 'kill \"$nap\" 2>/dev/null; exit' TERM\n"
    /* Not for a shell that was killed. */
    "    while kill -0 $$ 2>/dev/null; do\n"
    /* Given up while its node was frozen, and awake again. */
    "        if [ -e " BATCH_CLOSED_FILE " ]; then\n"
    "            kill -TERM \"$command\" 2>/dev/null\n"
    "            nap \"$grace\"\n"
    "            kill -KILL \"$command\" 2>/dev/null\n"
    "            exit\n"
    "        fi\n"
    "        : >" BATCH_ALIVE_FILE "\n"
    "        nap \"$heartbeat\"\n"
    "    done\n"
    ") >/dev/null 2>&1 &\n"
    "beat=$!\n"
    /* Told to end before it was known whom to tell. */
    "[ \"$terminated\" = 0 ] || kill -TERM \"$command\" 2>/dev/null\n"
    /* The shell's own word about a command that was killed is no output of it. */
    "while :; do\n"
    "    cut=\n"
    "    wait \"$command\" 2>/dev/null\n"
    "    now=$?\n"
    /* A signal cuts a wait short, and says its own number then. 127 is also that there is nothing left to wait for. */
    "    [ \"$now\" = 127 ] && [ -n \"$code\" ] || code=$now\n"
    "    [ -n \"$cut\" ] || break\n"
    "done\n"
    "command=\n"
    "kill \"$beat\" 2>/dev/null\n"
    "say state=ended \"exit=$code\" \"terminated=$terminated\" \"ended=$(date +%s%3N)\"\n"
    "exit \"$code\"\n";

static void add_seconds(struct buffer *b, int64_t ms)
{
    buffer_printf(b, "%" PRId64, ms / 1000);
    if (ms % 1000)
        buffer_printf(b, ".%03d", (int)(ms % 1000));
}

static void add_task(const struct batch_script *batch, size_t index, struct buffer *b)
{
    const struct batch_task *t = &batch->tasks[index];
    buffer_printf(b, "%zu) directory=", index);
    shell_add_word(b, t->directory);
    buffer_printf(b, " attempt=%" PRId64 " limit=", t->attempt);
    add_seconds(b, t->limit_ms);
    buffer_add_text(b, " grace=");
    add_seconds(b, t->grace_ms);
    buffer_add_text(b, " ;;\n");
}

void batch_script_add(const struct batch_script *batch, struct buffer *b)
{
    buffer_add_text(b, "#!/bin/sh\n");
    add_option(b, "job-name", batch->name);
    add_option(b, "comment", batch->comment);
    buffer_printf(b, "#SBATCH --array=0-%zu\n", batch->task_count - 1);
    /* The attempt's own output goes into its directory; a job that starts again is another attempt. */
    buffer_add_text(b, "#SBATCH --output=/dev/null\n#SBATCH --no-requeue\n");
    buffer_add_text(b, batch->options);
    buffer_add_text(b, "root=");
    shell_add_word(b, batch->root);
    buffer_printf(b, " heartbeat=%" PRId64 "\ncase ${SLURM_ARRAY_TASK_ID-} in\n", batch->heartbeat_s);
    for (size_t i = 0; i < batch->task_count; i++)
        add_task(batch, i, b);
    buffer_add_text(b, "*) exit 64 ;;\nesac\n");
    buffer_add_text(b, supervision);
}

/* --- the job --- */

static void add_setting(const char *setting, struct buffer *b)
{
    size_t length = strcspn(setting, "=");
    buffer_add_text(b, "export ");
    buffer_add(b, setting, length);
    buffer_add_char(b, '=');
    shell_add_word(b, setting[length] ? setting + length + 1 : "");
    buffer_add_char(b, '\n');
}

void batch_job_add(char *const *settings, const char *directory, char *const *launcher, char *const *command,
                   struct buffer *b)
{
    for (; *settings; settings++)
        add_setting(*settings, b);
    if (directory) {
        buffer_add_text(b, "cd -- ");
        shell_add_word(b, directory);
        buffer_add_text(b, " || exit 126\n");
    }
    buffer_add_text(b, "exec");
    for (; launcher && *launcher; launcher++) {
        buffer_add_char(b, ' ');
        shell_add_word(b, *launcher);
    }
    for (; *command; command++) {
        buffer_add_char(b, ' ');
        shell_add_word(b, *command);
    }
    buffer_add_char(b, '\n');
}
