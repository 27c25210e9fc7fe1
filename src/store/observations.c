#include "store/observations.h"

#include "util/clock.h"

int observation_record(struct db *db, const struct observation_row *row, struct error *e)
{
    struct stmt *s = NULL;
    if (db_prepare(db, "INSERT OR REPLACE INTO observation VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", &s, e) < 0)
        return -1;
    stmt_bind_int(s, 1, row->attempt_id);
    stmt_bind_text(s, 2, row->quantity);
    stmt_bind_text(s, 3, row->framework);
    stmt_bind_text(s, 4, row->device);
    stmt_bind_text(s, 5, row->cluster);
    stmt_bind_text(s, 6, row->kind);
    stmt_bind_double(s, 7, row->measured);
    stmt_bind_double(s, 8, row->predicted);
    stmt_bind_double(s, 9, row->peak);
    stmt_bind_text(s, 10, row->terms_json);
    return stmt_run_once(s, e);
}

int observations_read(struct db *db, const struct observation_row *place, int64_t most, observation_each each,
                      void *context, struct error *e)
{
    struct stmt *s = NULL;
    if (db_prepare(db,
                   "SELECT * FROM (SELECT attempt_id, quantity, framework, device, cluster, kind, measured, predicted,"
                   " peak, terms FROM observation WHERE quantity = ?1 AND framework = ?2 AND device = ?3 AND cluster = "
                   "?4"
                   " ORDER BY attempt_id DESC LIMIT ?5) ORDER BY attempt_id",
                   &s, e) < 0)
        return -1;
    stmt_bind_text(s, 1, place->quantity);
    stmt_bind_text(s, 2, place->framework);
    stmt_bind_text(s, 3, place->device);
    stmt_bind_text(s, 4, place->cluster);
    stmt_bind_int(s, 5, most);
    int rc;
    while ((rc = stmt_next(s, e)) > 0) {
        const struct observation_row row = {stmt_int(s, 0),    stmt_text(s, 1),   stmt_text(s, 2),
                                            stmt_text(s, 3),   stmt_text(s, 4),   stmt_text(s, 5),
                                            stmt_double(s, 6), stmt_double(s, 7), stmt_double_or_nan(s, 8),
                                            stmt_text(s, 9)};
        if ((rc = each(context, &row, e)) < 0)
            break;
    }
    stmt_free(s);
    return rc;
}

int unfitted_places_read(struct db *db, observation_each each, void *context, struct error *e)
{
    struct stmt *s = NULL;
    if (db_prepare(db,
                   "SELECT DISTINCT quantity, framework, device, cluster FROM observation AS o WHERE NOT EXISTS"
                   " (SELECT 1 FROM calibration AS c WHERE c.framework = o.framework AND c.device = o.device"
                   "  AND c.cluster = o.cluster AND c.quantity = o.quantity) ORDER BY 2, 3, 4, 1",
                   &s, e) < 0)
        return -1;
    int rc;
    while ((rc = stmt_next(s, e)) > 0) {
        const struct observation_row row = {.quantity = stmt_text(s, 0),
                                            .framework = stmt_text(s, 1),
                                            .device = stmt_text(s, 2),
                                            .cluster = stmt_text(s, 3)};
        if ((rc = each(context, &row, e)) < 0)
            break;
    }
    stmt_free(s);
    return rc;
}

int measured_memory_read(struct db *db, int64_t most, measured_memory_each each, void *context, struct error *e)
{
    struct stmt *s = NULL;
    if (db_prepare(db,
                   "SELECT " JOB_SPECS_COLUMNS ", o.measured FROM (SELECT * FROM observation WHERE quantity = 'memory'"
                   " AND kind = 'measured' ORDER BY attempt_id DESC LIMIT ?1) AS o JOIN job AS j ON j.attempt_id ="
                   " o.attempt_id" JOB_SPECS_JOINS " ORDER BY o.attempt_id",
                   &s, e) < 0)
        return -1;
    stmt_bind_int(s, 1, most);
    int rc;
    while ((rc = stmt_next(s, e)) > 0) {
        struct job_specs job;
        job_specs_read(s, &job);
        if ((rc = each(context, &job, stmt_double(s, JOB_SPECS_END), e)) < 0)
            break;
    }
    stmt_free(s);
    return rc;
}

int unobserved_read(struct db *db, int64_t most, unobserved_each each, void *context, struct error *e)
{
    struct stmt *s = NULL;
    if (db_prepare(db,
                   "SELECT " JOB_SPECS_COLUMNS ", t.id, j.failure FROM (SELECT id, job_id FROM attempt ORDER BY id DESC"
                   " LIMIT ?1) AS t JOIN job AS j ON j.id = t.job_id AND j.attempt_id = t.id" JOB_SPECS_JOINS
                   " WHERE (j.state = 'ok' OR j.failure = 'oom')"
                   " AND NOT EXISTS (SELECT 1 FROM observation WHERE attempt_id = t.id) ORDER BY t.id",
                   &s, e) < 0)
        return -1;
    stmt_bind_int(s, 1, most);
    int rc;
    while ((rc = stmt_next(s, e)) > 0) {
        struct job_specs job;
        job_specs_read(s, &job);
        if ((rc = each(context, &job, stmt_int(s, JOB_SPECS_END), stmt_text(s, JOB_SPECS_END + 1), e)) < 0)
            break;
    }
    stmt_free(s);
    return rc;
}

int calibration_record(struct db *db, const struct calibration_row *row, struct error *e)
{
    struct stmt *s = NULL;
    if (db_prepare(db,
                   "INSERT OR REPLACE INTO calibration (framework, device, cluster, quantity, weights, sigma, interval,"
                   " measured, censored, broken, prior, baseline, model_error, baseline_error, updated)"
                   " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                   &s, e) < 0)
        return -1;
    stmt_bind_text(s, 1, row->framework);
    stmt_bind_text(s, 2, row->device);
    stmt_bind_text(s, 3, row->cluster);
    stmt_bind_text(s, 4, row->quantity);
    stmt_bind_text(s, 5, row->weights_json);
    stmt_bind_double(s, 6, row->sigma);
    stmt_bind_double(s, 7, row->interval);
    stmt_bind_int(s, 8, row->measured);
    stmt_bind_int(s, 9, row->censored);
    stmt_bind_int(s, 10, row->broken);
    stmt_bind_int(s, 11, row->prior);
    stmt_bind_double(s, 12, row->baseline);
    stmt_bind_double(s, 13, row->model_error);
    stmt_bind_double(s, 14, row->baseline_error);
    stmt_bind_int(s, 15, clock_wall_ms());
    return stmt_run_once(s, e);
}

int calibration_forget(struct db *db, const struct observation_row *row, struct error *e)
{
    struct stmt *s = NULL;
    if (db_prepare(db, "DELETE FROM calibration WHERE framework = ? AND device = ? AND cluster = ? AND quantity = ?",
                   &s, e) < 0)
        return -1;
    stmt_bind_text(s, 1, row->framework);
    stmt_bind_text(s, 2, row->device);
    stmt_bind_text(s, 3, row->cluster);
    stmt_bind_text(s, 4, row->quantity);
    return stmt_run_once(s, e);
}

int calibrations_read(struct db *db, calibration_each each, void *context, struct error *e)
{
    struct stmt *s = NULL;
    if (db_prepare(db,
                   "SELECT quantity, framework, device, cluster, weights, sigma, interval, measured, censored, broken,"
                   " prior, baseline, model_error, baseline_error FROM calibration ORDER BY framework, device, cluster,"
                   " quantity",
                   &s, e) < 0)
        return -1;
    int rc;
    while ((rc = stmt_next(s, e)) > 0) {
        const struct calibration_row row = {stmt_text(s, 0),
                                            stmt_text(s, 1),
                                            stmt_text(s, 2),
                                            stmt_text(s, 3),
                                            stmt_text(s, 4),
                                            stmt_double(s, 5),
                                            stmt_double(s, 6),
                                            stmt_int(s, 7),
                                            stmt_int(s, 8),
                                            stmt_int(s, 9),
                                            stmt_int(s, 10) != 0,
                                            stmt_double_or_nan(s, 11),
                                            stmt_double_or_nan(s, 12),
                                            stmt_double_or_nan(s, 13)};
        if ((rc = each(context, &row, e)) < 0)
            break;
    }
    stmt_free(s);
    return rc;
}

#define STATE_OF_CALIBRATIONS                                                                                          \
    "(SELECT coalesce(group_concat(updated || ':' || measured || ':' || censored), '')"                                \
    " FROM (SELECT * FROM calibration ORDER BY framework, device, cluster, quantity))"

int calibrations_are_new(struct db *db, int64_t sweep_id, bool *yes, struct error *e)
{
    struct stmt *s = NULL;
    if (db_prepare(db,
                   "SELECT coalesce((SELECT value FROM meta WHERE name = 'calibrations of sweep ' || ?1), '') "
                   "<> " STATE_OF_CALIBRATIONS,
                   &s, e) < 0)
        return -1;
    stmt_bind_int(s, 1, sweep_id);
    int rc = stmt_next(s, e);
    *yes = rc > 0 && stmt_int(s, 0);
    stmt_free(s);
    return rc < 0 ? -1 : 0;
}

int calibrations_note(struct db *db, int64_t sweep_id, struct error *e)
{
    return db_exec_int(db,
                       "INSERT OR REPLACE INTO meta VALUES ('calibrations of sweep ' || ?1, " STATE_OF_CALIBRATIONS ")",
                       sweep_id, e);
}
