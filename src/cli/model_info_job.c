#include "cli/model_info_job.h"

#include "cli/output.h"
#include "config/failure.h"
#include "space/enumerate.h"

int model_info_open(const struct session *s, struct session *job, struct error *e)
{
    *job = (struct session){0};
    if (model_info_sweep(s->sweep, &job->sweep, e) < 0)
        return -1;
    return session_build(job, NULL, e);
}

int model_info_gather(const struct session *s, struct db *db, struct model_facts *out, struct error *e)
{
    struct session job;
    struct model_facts f = model_facts_given(s->sweep);
    int rc = 0;
    if (db && model_info_wants_job(s->sweep)) {
        rc = model_info_open(s, &job, e);
        if (rc == 0) {
            const struct hash128 hash = space_hash(job.space);
            rc = model_facts_read(db, &hash, &f, e);
        }
        session_close(&job);
    }
    if (rc < 0)
        model_facts_free(&f);
    else
        *out = f;
    return rc;
}

int model_info_apply(struct session *s, const struct model_facts *f, struct error *e)
{
    return s->sweep->model_info.given ? session_build(s, f->values, e) : 0;
}

int model_info_use_known(struct session *s, struct db *db, struct error *e)
{
    struct model_facts facts;
    if (!s->sweep->model_info.given)
        return 0;
    if (model_info_gather(s, db, &facts, e) < 0)
        return -1;
    int rc = model_info_apply(s, &facts, e);
    model_facts_free(&facts);
    return rc;
}

void model_info_explain(const struct model_facts *f)
{
    static const char without[] =
        "the sweep continues without it; params and activation_memory can be given under [model_info] instead";
    if (f->rule)
        output_message("model information: the job that measures it is excluded by %s; %s", f->rule, without);
    else if (f->failure && failure_is_of_command(f->message))
        output_message("model information: job %lld failed (%s): %s; the command is the same for all jobs, so correct "
                       "it first",
                       (long long)f->job_id, f->failure, f->message);
    else if (f->failure)
        output_message("model information: job %lld failed (%s)%s%s; %s", (long long)f->job_id, f->failure,
                       f->message ? ": " : "", f->message ? f->message : "", without);
}
