#include "report/exports.h"

#include "database/backup.h"
#include "results/measured.h"
#include "util/buffer.h"
#include "util/embedded.h"

/* In the order of references between them. */
static const char *const tables[] = {
    "studies",      "study_directions",      "study_user_attributes",
    "trials",       "trial_user_attributes", "trial_system_attributes",
    "trial_params", "trial_values",          "trial_intermediate_values",
};

/* Puts the requested jobs into temp.exported. */
static int choose_jobs(struct db *db, const struct result_query *q, struct error *e)
{
    OWNED_STMT *jobs = NULL, *add = NULL;
    struct result_query only_job = *q;
    only_job.columns = "job";
    int rc;
    if (db_exec(db, "CREATE TEMP TABLE exported (job INTEGER PRIMARY KEY)", e) < 0 ||
        db_prepare(db, "INSERT INTO temp.exported VALUES (?)", &add, e) < 0 ||
        result_query_open(db, &only_job, &jobs, e) < 0)
        return -1;
    while ((rc = stmt_next(jobs, e)) > 0) {
        stmt_bind_at(add, 1, sql_int(stmt_int(jobs, 0)));
        if (stmt_run(add, e) < 0)
            return -1;
    }
    return rc;
}

static int check_any(struct db *db, struct error *e)
{
    int64_t studies, trials;
    if (db_query_int(db, "SELECT count(*) FROM temp.study", NO_VALUES, 0, &studies, e) < 0 ||
        db_query_int(db, "SELECT count(*) FROM temp.optuna_trial", NO_VALUES, 0, &trials, e) < 0)
        return -1;
    if (trials)
        return 0;
    int64_t jobs;
    if (db_query_int(db, "SELECT count(*) FROM temp.exported", NO_VALUES, 0, &jobs, e) < 0)
        return -1;
    if (jobs && !studies)
        return error_set(e, ERROR_USAGE,
                         "export: an Optuna study needs an objective, and the sweep declares none; add objective = "
                         "\"max:METRIC\" under [sweep] and run it again (jobs that are done do not run again)");
    return error_set(e, ERROR_NOTHING, "export: none of these jobs has been tried yet, so there are no trials");
}

static int prepare(struct db *db, const struct result_query *q, struct error *e)
{
    if (choose_jobs(db, q, e) < 0 ||
        db_exec(db,
                "CREATE TEMP TABLE to_its_end AS SELECT a.id AS attempt FROM attempt AS a WHERE " MEASURED_TO_ITS_END(
                    "a"),
                e) < 0 ||
        db_exec(db, "CREATE UNIQUE INDEX temp.to_its_end_attempt ON to_its_end (attempt)", e) < 0 ||
        db_exec(db, embedded_text("sql/optuna_rows.sql"), e) < 0)
        return -1;
    return check_any(db, e);
}

static struct sql_value value_of(const struct stmt *row, int column)
{
    const enum column_type type = stmt_type(row, column);
    return type == COLUMN_INT     ? sql_int(stmt_int(row, column))
           : type == COLUMN_FLOAT ? sql_real(stmt_double(row, column))
           : type == COLUMN_TEXT  ? sql_text(stmt_text(row, column))
                                  : sql_null();
}

static int copy_rows(struct stmt *rows, struct stmt *insert, struct error *e)
{
    int rc;
    while ((rc = stmt_next(rows, e)) > 0) {
        for (int i = 0; i < stmt_column_count(rows); i++)
            stmt_bind_at(insert, i + 1, value_of(rows, i));
        if (stmt_run(insert, e) < 0)
            return -1;
    }
    return rc;
}

static int copy_table(struct db *source, struct db *target, const char *table, struct error *e)
{
    OWNED_STMT *rows = NULL, *insert = NULL;
    OWNED_BUFFER select = BUFFER_INIT, into = BUFFER_INIT;
    buffer_printf(&select, "SELECT * FROM temp.%s", table);
    int rc = db_prepare(source, buffer_text(&select), &rows, e);
    if (rc == 0) {
        buffer_printf(&into, "INSERT INTO %s VALUES (?", table);
        for (int i = 1; i < stmt_column_count(rows); i++)
            buffer_add_text(&into, ", ?");
        buffer_add_char(&into, ')');
        rc = db_prepare(target, buffer_text(&into), &insert, e);
    }
    if (rc == 0)
        rc = copy_rows(rows, insert, e);
    return rc;
}

static int fill_study(struct db *target, void *context, struct error *e)
{
    struct db *source = context;
    if (db_begin(target, e) < 0 || db_exec(target, embedded_text("sql/optuna.sql"), e) < 0)
        return -1;
    for (size_t i = 0; i < sizeof tables / sizeof *tables; i++)
        if (copy_table(source, target, tables[i], e) < 0)
            return error_context(e, "%s", tables[i]);
    return db_commit(target, e);
}

int optuna_write(struct db *db, const struct result_query *q, const char *path, struct error *e)
{
    if (db_allow_temporary(db, e) < 0 || db_exec(db, "BEGIN", e) < 0)
        return -1;
    int rc = prepare(db, q, e) < 0 ? -1 : database_write_whole(path, fill_study, db, e);
    db_rollback(db);
    return rc;
}
