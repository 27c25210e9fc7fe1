#include "run/recovery.h"

#include <stdlib.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "process/capture.h"
#include "process/process_table.h"
#include "provenance/provenance.h"
#include "provenance/versions.h"
#include "run/previous_runner.h"
#include "run/recover_output.h"
#include "store/runners.h"
#include "util/fault.h"

/* In a transaction of its own: the files are moved whether or not what follows succeeds. */
static int save_outputs(const struct runner_options *o, const char *scratch, const struct secrets *secrets,
                        struct error *e)
{
    if (db_begin(o->db, e) < 0)
        return -1;
    if (recover_outputs(o->db, scratch, o->directory, secrets, e) < 0) {
        db_rollback(o->db);
        return -1;
    }
    return db_commit(o->db, e);
}

static int end_left_processes(const struct runner_options *o, const struct runner_process *dead, struct error *e)
{
    char *token = runner_token(o->identity, dead->id, dead->pid);
    int rc = supervisor_end_escaped(token, o->space->sweep->job.grace_ms, e);
    free(token);
    return rc;
}

int recovery_clean(const struct runner_options *o, const char *scratch, const struct secrets *secrets,
                   bool *after_death, struct error *e)
{
    /* A runner that died between a record and the end of what escaped from that job left no open attempt. */
    struct runner_process last;
    if (previous_runner_check(o->db, &last, after_death, e) < 0)
        return -1;
    if (*after_death && end_left_processes(o, &last, e) < 0)
        return -1;
    if (*after_death && save_outputs(o, scratch, secrets, e) < 0)
        return -1;
    capture_tidy(scratch);
    FAULT(OUTPUT_RECOVERED);
    return 0;
}

static int64_t own_start_ticks(void)
{
    struct process_entry self;
    return process_read(getpid(), &self) ? self.start_ticks : 0;
}

int recovery_record_runner(const struct runner_options *o, int64_t *runner_id, struct error *e)
{
    struct utsname machine;
    char boot[64];
    uname(&machine);
    const struct job_config *job = &o->space->sweep->job;
    char *versions = versions_json(job, o->environment);
    char *provenance = provenance_json(NULL, o->environment, job->pass_environment, job->secrets, versions);
    const struct runner_row row = {machine.nodename, boot_id_read(boot), provenance, getpid(), own_start_ticks()};
    int rc = runner_record(o->db, &row, runner_id, e);
    FAULT(RUNNER_RECORDED);
    free(provenance);
    free(versions);
    return rc;
}

static int adopt(struct db *db, int64_t runner_id, const struct recovered_attempts *left, struct error *e)
{
    for (size_t i = 0; i < left->count; i++)
        if (left->items[i].taken && recovered_attempt_adopt(db, left->items[i].claim.attempt_id, runner_id, e) < 0)
            return -1;
    return 0;
}

/* Whether their host can run them now is found out by starting one. */
static int let_all_go(const struct runner_options *o, struct error *e)
{
    int64_t count;
    if (jobs_let_go(o->db, o->sweep_id, INT64_MAX, &count, e) < 0)
        return -1;
    return o->release ? jobs_forget_losses(o->db, o->sweep_id, &count, e) : 0;
}

static int write_rows(const struct runner_options *o, int64_t runner_id, const struct recovered_attempts *left,
                      struct run_result *result, struct error *e)
{
    const struct sweep *sweep = o->space->sweep;
    const struct retry_policy policy = retry_policy_of(sweep);
    const struct requeue_request request = {
        .sweep_id = o->sweep_id,
        .policy = &policy,
        .forced = o->forced_classes,
        .repeat = sweep->job.repeat,
        .only_selected = o->only_selected,
        .most = o->job_limit,
        .in_order = !o->source,
    };
    struct recovered_counts recovered = {0, 0};
    const bool starts_jobs = !o->source || !o->source->full;
    if (adopt(o->db, runner_id, left, e) < 0 || attempts_recover(o->db, runner_id, &policy, &recovered, e) < 0)
        return -1;
    if (starts_jobs && (let_all_go(o, e) < 0 || jobs_requeue(o->db, &request, &result->requeued, e) < 0))
        return -1;
    result->recovered = recovered.lost;
    result->aside = o->release ? 0 : recovered.aside;
    FAULT(REQUEUED);
    return 0;
}

int recovery_rows(const struct runner_options *o, int64_t runner_id, const struct recovered_attempts *left,
                  struct run_result *result, struct error *e)
{
    if (db_begin(o->db, e) < 0)
        return -1;
    if (write_rows(o, runner_id, left, result, e) < 0) {
        db_rollback(o->db);
        return -1;
    }
    int rc = db_commit(o->db, e);
    FAULT(RECOVERED);
    return rc;
}
