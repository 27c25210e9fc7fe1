#include "batch/script.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "batch/frame.h"
#include "util/embedded.h"
#include "util/memory.h"
#include "util/shell.h"

/* --- the batch script --- */

/* Signals that Slurm sends at a time limit, a cancellation or a preemption go to every process of the step: the shell
 * survives them to write how the command took them. */
static const char unframed[] = "prepare() { :; }\nship() { :; }\nship_result() { :; }\n";

/* The shell of the heartbeat and that of the end print in turn, never both: files tell how far. */
static const char framed[] =
    "exec 3>&1\n"
    "ship() {\n"
    "    for file in output.log metrics.jsonl; do\n"
    "        sent=$(cat \"slurm.sent.$file\" 2>/dev/null) || sent=0\n"
    "        ! frame \"$mark $file $sent\" \"$file\" \"$sent\" slurm.part >&3 || echo \"$size\" >\"slurm.sent.$file\"\n"
    "    done\n"
    "}\n"
    "ship_result() {\n"
    "    frame \"$mark " BATCH_RESULT_FILE " 0\" " BATCH_RESULT_FILE " 0 slurm.part >&3\n"
    "}\n";

/* The part for a system that itself starts the command on each host: all but the first have no supervisor's files. */
static const char on_each_host[] =
    "export NODE_RANK=\"$rank\" MESHSWEEP_HOSTS=\"$hosts\" MASTER_ADDR=\"${hosts%%,*}\"\n"
    "if [ \"$rank\" != 0 ]; then\n"
    "    prepare && cd \"$root/$directory\" || exit 126\n"
    "    export MESHSWEEP_HOST=\"$(hostname)\"\n"
    "    [ -n \"${mark-}\" ] || exec >>\"output.$rank.log\" 2>&1\n"
    "    exec /bin/sh ./" BATCH_JOB_FILE " </dev/null\n"
    "fi\n";

static const char supervision[] =
    "prepare || exit 126\n"
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
    "        printf '%s\\n' \"attempt=$attempt\" \"array=$array\" \"nodes=$nodes\" \"started=$started\" \"$@\"\n"
    "        times\n"
    "    } >" BATCH_RESULT_FILE ".tmp && mv -f " BATCH_RESULT_FILE ".tmp " BATCH_RESULT_FILE "\n"
    "    ship_result\n"
    "}\n"
    "terminated=0 command= code=\n"
    "trap 'terminated=1 cut=1; [ -z \"$command\" ] || kill -TERM \"$command\" 2>/dev/null' TERM INT HUP\n"
    "started=$(date +%s%3N)\n"
    "say state=started\n"
    "export MESHSWEEP_HOST=\"$(hostname)\"\n"
    ": \"${MASTER_ADDR:=$MESHSWEEP_HOST}\"\n"
    "export MASTER_ADDR\n"
    "if [ \"$limit\" != 0 ]; then\n"
    "    timeout -k \"$grace\" \"$limit\" /bin/sh ./" BATCH_JOB_FILE " 3>&- &\n"
    "else\n"
    "    /bin/sh ./" BATCH_JOB_FILE " 3>&- &\n"
    "fi\n"
    "command=$!\n"
    "nap() {\n"
    "    sleep \"$1\" &\n"
    "    nap=$!\n"
    "    wait \"$nap\"\n"
    "}\n"
    "over= busy=\n"
    "(\n"
    /* It prints to the end what it has begun to print. */
    "    trap 'over=1; [ -n \"$busy\" ] || { kill \"$nap\" 2>/dev/null; exit; }' TERM\n"
    /* Not for a shell that was killed, nor once it waited for the command: a signal that comes before the trap is set
     * is forgotten. */
    "    while kill -0 $$ && kill -0 \"$command\"; do\n"
    /* Given up while its node was frozen, and awake again. */
    "        if [ -e " BATCH_CLOSED_FILE " ]; then\n"
    "            kill -TERM \"$command\" 2>/dev/null\n"
    "            nap \"$grace\"\n"
    "            kill -KILL \"$command\" 2>/dev/null\n"
    "            exit\n"
    "        fi\n"
    "        : >" BATCH_ALIVE_FILE "\n"
    "        busy=1\n"
    "        ship\n"
    "        busy=\n"
    "        [ -z \"$over\" ] || exit\n"
    "        nap \"$heartbeat\"\n"
    "    done\n"
    ") >/dev/null 2>&1 &\n"
    "beat=$!\n"
    /* It was told to end before it was known whom to tell. */
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
    "ended=$(date +%s%3N)\n"
    "kill \"$beat\" 2>/dev/null\n"
    /* A signal cuts a wait short. */
    "while kill -0 \"$beat\" 2>/dev/null; do wait \"$beat\" 2>/dev/null; done\n"
    "ship\n"
    "say state=ended \"exit=$code\" \"terminated=$terminated\" \"ended=$ended\" \\\n"
    "    \"output=$(cat slurm.sent.output.log 2>/dev/null)\" \"metrics=$(cat slurm.sent.metrics.jsonl 2>/dev/null)\"\n"
    /* Some statuses have a meaning of their own to the system. */
    "case \" $reserved \" in *\" $code \"*) code=1 ;; esac\n"
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
    buffer_printf(b, "%" PRId64 ") directory=", batch->system->first_task + (int64_t)index);
    shell_add_word(b, t->directory);
    buffer_printf(b, " attempt=%" PRId64 " limit=", t->attempt);
    add_seconds(b, t->limit_ms);
    buffer_add_text(b, " grace=");
    add_seconds(b, t->grace_ms);
    if (batch->secret) {
        /* Behind a cut its line must be one of its own, whatever the frame before it ends with. */
        OWNED char *there = xasprintf("%s/%s", batch->root, t->directory);
        buffer_printf(b, " mark='\nmeshsweep:%s.%" PRId64 "'\nprepare() {\n", batch->secret, t->attempt);
        frame_add_files(there, there, b);
        buffer_add_text(b, "}\n");
    }
    buffer_add_text(b, " ;;\n");
}

/* "case ${INDEX-} in": a batch of one may be no array, and has no index then. */
static void add_case(const struct batch_script *batch, struct buffer *b)
{
    const struct batch_system *s = batch->system;
    if (s->arrays == ARRAYS_ALWAYS)
        buffer_printf(b, "case ${%s-} in\n", s->task_variable);
    else if (batch->task_count > 1)
        buffer_printf(b, "case ${%s:-none} in\n", s->task_variable);
    else
        buffer_printf(b, "case %" PRId64 " in\n", s->first_task);
}

void batch_script_add(const struct batch_script *batch, struct buffer *b)
{
    const struct batch_system *s = batch->system;
    buffer_printf(b, "#!/bin/sh\n%sroot=", batch->head);
    shell_add_word(b, batch->root);
    buffer_printf(b, " heartbeat=%" PRId64 " reserved='%s'\n", batch->heartbeat_s,
                  s->reserved_exits ? s->reserved_exits : "");
    buffer_printf(b, "array=%s%s%s nodes=\"%s\"\n", s->job_variable ? "${" : "", s->job_variable ? s->job_variable : "",
                  s->job_variable ? "-}" : "", s->nodes);
    add_case(batch, b);
    for (size_t i = 0; i < batch->task_count; i++)
        add_task(batch, i, b);
    buffer_add_text(b, "*) exit 64 ;;\nesac\n");
    buffer_add_text(b, batch->secret ? embedded_text("src/batch/frame.sh") : unframed);
    buffer_add_text(b, batch->secret ? framed : "");
    if (s->hosts)
        buffer_printf(b, "rank=\"%s\" hosts=\"%s\"\n%s", s->rank, s->hosts, on_each_host);
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
