#include "store/observations.h"

#include "util/clock.h"

int observation_record(struct db *db, const struct observation_row *row, struct error *e)
{
    return db_run(db, "INSERT OR REPLACE INTO observation VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                  VALUES(sql_int(row->attempt_id), sql_text(row->quantity), sql_text(row->framework),
                         sql_text(row->device), sql_text(row->cluster), sql_text(row->kind), sql_real(row->measured),
                         sql_real(row->predicted), sql_real(row->peak), sql_text(row->terms_json)),
                  e);
}

int observations_read(struct db *db, const struct observation_row *place, int64_t most, observation_each each,
                      void *context, struct error *e)
{
    OWNED_STMT *s = NULL;
    int rc;
    while ((rc = db_next(db,
                         "SELECT * FROM (SELECT attempt_id, quantity, framework, device, cluster, kind, measured, "
                         "predicted,"
                         " peak, terms FROM observation WHERE quantity = ?1 AND framework = ?2 AND device = ?3"
                         " AND cluster = ?4 AND attempt_id NOT IN (SELECT attempt_id FROM excluded_attempt)"
                         " ORDER BY attempt_id DESC LIMIT ?5) ORDER BY attempt_id",
                         VALUES(sql_text(place->quantity), sql_text(place->framework), sql_text(place->device),
                                sql_text(place->cluster), sql_int(most)),
                         &s, e)) > 0) {
        const struct observation_row row = {stmt_int(s, 0),    stmt_text(s, 1),   stmt_text(s, 2),
                                            stmt_text(s, 3),   stmt_text(s, 4),   stmt_text(s, 5),
                                            stmt_double(s, 6), stmt_double(s, 7), stmt_double_or_nan(s, 8),
                                            stmt_text(s, 9)};
        if ((rc = each(context, &row, e)) < 0)
            break;
    }
    return rc;
}

int unfitted_places_read(struct db *db, observation_each each, void *context, struct error *e)
{
    OWNED_STMT *s = NULL;
    int rc;
    while ((rc = db_next(db,
                         "SELECT DISTINCT quantity, framework, device, cluster FROM observation AS o WHERE NOT EXISTS"
                         " (SELECT 1 FROM calibration AS c WHERE c.framework = o.framework AND c.device = o.device"
                         "  AND c.cluster = o.cluster AND c.quantity = o.quantity) ORDER BY 2, 3, 4, 1",
                         NO_VALUES, &s, e)) > 0) {
        const struct observation_row row = {.quantity = stmt_text(s, 0),
                                            .framework = stmt_text(s, 1),
                                            .device = stmt_text(s, 2),
                                            .cluster = stmt_text(s, 3)};
        if ((rc = each(context, &row, e)) < 0)
            break;
    }
    return rc;
}

int measured_memory_read(struct db *db, int64_t most, measured_memory_each each, void *context, struct error *e)
{
    static const char sql[] =
        "SELECT " JOB_SPECS_COLUMNS ", o.measured FROM (SELECT * FROM observation WHERE quantity = 'memory'"
        " AND kind = 'measured' AND attempt_id NOT IN (SELECT attempt_id FROM excluded_attempt)"
        " ORDER BY attempt_id DESC LIMIT ?1) AS o JOIN job AS j ON j.attempt_id ="
        " o.attempt_id" JOB_SPECS_JOINS " ORDER BY o.attempt_id";
    OWNED_STMT *s = NULL;
    int rc;
    while ((rc = db_next(db, sql, VALUES(sql_int(most)), &s, e)) > 0) {
        struct job_specs job;
        job_specs_read(s, &job);
        if ((rc = each(context, &job, stmt_double(s, JOB_SPECS_END), e)) < 0)
            break;
    }
    return rc;
}

int unobserved_read(struct db *db, int64_t most, unobserved_each each, void *context, struct error *e)
{
    OWNED_STMT *s = NULL;
    int rc;
    while ((rc = db_next(db,
                         "SELECT " JOB_SPECS_COLUMNS
                         ", x.id, j.failure FROM (SELECT id, job_id FROM attempt ORDER BY id DESC"
                         " LIMIT ?1) AS x JOIN job AS j ON j.id = x.job_id AND j.attempt_id = x.id" JOB_SPECS_JOINS
                         " WHERE (j.state = 'ok' OR j.failure = 'oom')"
                         " AND (SELECT device_condition ->> '$.shared_with' FROM attempt WHERE id = x.id) IS NULL"
                         " AND NOT EXISTS (SELECT 1 FROM observation WHERE attempt_id = x.id) ORDER BY x.id",
                         VALUES(sql_int(most)), &s, e)) > 0) {
        struct job_specs job;
        job_specs_read(s, &job);
        if ((rc = each(context, &job, stmt_int(s, JOB_SPECS_END), stmt_text(s, JOB_SPECS_END + 1), e)) < 0)
            break;
    }
    return rc;
}

int calibration_record(struct db *db, const struct calibration_row *row, struct error *e)
{
    return db_run(db,
                  "INSERT OR REPLACE INTO calibration (framework, device, cluster, quantity, weights, sigma, interval,"
                  " measured, censored, broken, prior, baseline, model_error, baseline_error, updated)"
                  " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                  VALUES(sql_text(row->framework), sql_text(row->device), sql_text(row->cluster),
                         sql_text(row->quantity), sql_text(row->weights_json), sql_real(row->sigma),
                         sql_real(row->interval), sql_int(row->measured), sql_int(row->censored), sql_int(row->broken),
                         sql_int(row->prior), sql_real(row->baseline), sql_real(row->model_error),
                         sql_real(row->baseline_error), sql_int(clock_wall_ms())),
                  e);
}

int calibration_forget(struct db *db, const struct observation_row *row, struct error *e)
{
    return db_run(db, "DELETE FROM calibration WHERE framework = ? AND device = ? AND cluster = ? AND quantity = ?",
                  VALUES(sql_text(row->framework), sql_text(row->device), sql_text(row->cluster),
                         sql_text(row->quantity)),
                  e);
}

int calibrations_read(struct db *db, calibration_each each, void *context, struct error *e)
{
    OWNED_STMT *s = NULL;
    int rc;
    while ((rc = db_next(
                db,
                "SELECT quantity, framework, device, cluster, weights, sigma, interval, measured, censored, broken,"
                " prior, baseline, model_error, baseline_error FROM calibration ORDER BY framework, device, cluster,"
                " quantity",
                NO_VALUES, &s, e)) > 0) {
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
    return rc;
}

#define STATE_OF_CALIBRATIONS                                                                                          \
    "(SELECT coalesce(group_concat(updated || ':' || measured || ':' || censored), '')"                                \
    " FROM (SELECT * FROM calibration ORDER BY framework, device, cluster, quantity))"

int calibrations_are_new(struct db *db, int64_t sweep_id, bool *yes, struct error *e)
{
    return db_query_bool(db,
                         "SELECT coalesce((SELECT value FROM meta WHERE name = 'calibrations of sweep ' || ?1), '')"
                         " <> " STATE_OF_CALIBRATIONS,
                         VALUES(sql_int(sweep_id)), yes, e);
}

int calibrations_note(struct db *db, int64_t sweep_id, struct error *e)
{
    return db_run(db, "INSERT OR REPLACE INTO meta VALUES ('calibrations of sweep ' || ?1, " STATE_OF_CALIBRATIONS ")",
                  VALUES(sql_int(sweep_id)), e);
}
