#include "measures/definitions.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "database/attempt_sums.h"
#include "database/samples.h"
#include "metrics/readers.h"
#include "process/job_file.h"
#include "results/views.h"
#include "store/definitions.h"
#include "store/imports.h"
#include "store/jobs.h"
#include "util/buffer.h"
#include "util/embedded.h"
#include "util/fault.h"
#include "util/memory.h"
#include "util/unit.h"

/* --- recording --- */

static int store_samples(struct attempt_store *store, int64_t attempt_id, const struct sample_list *l, struct error *e)
{
    for (size_t i = 0; i < l->count; i++) {
        const struct sample *s = &l->samples[i];
        const struct sample_row row = {l->names[s->metric], (int64_t)i, s->step, s->value};
        if (attempt_record_sample(store, attempt_id, &row, e) < 0)
            return -1;
    }
    return 0;
}

int samples_store(struct attempt_store *store, int64_t attempt_id, const struct sample_list *list,
                  const enum take *takes, struct error *e)
{
    int rc = store_samples(store, attempt_id, list, e);
    for (size_t i = 0; rc == 0 && takes && i < list->name_count; i++) {
        const struct summary s = sample_list_summarise(list, i, takes[i]);
        if (s.reported > 0)
            rc = attempt_record_summary(store, attempt_id, list->names[i], &s, e);
    }
    return rc;
}

/* --- two definitions --- */

/* A number, and what it takes to bring it from one definition under the other. */
struct old_number {
    int64_t attempt_id;
    const char *name;
    bool is_import, is_there; /* not there: the sweep did not have the metric when the attempt ended */
    bool is_of_sweep;
    bool other_reading; /* the text is needed, or the table */
    bool other_scale;   /* the text is better: what a job reports itself is not scaled */
    bool other_filter;  /* other samples count */
    bool other_take;
    bool other_unit;
    bool no_unit; /* the units measure different things */
    const char *imported, *from_unit, *to_unit;
    double from_scale, to_scale;
    struct sample_filter filter;
    enum take take;
};

static enum take take_named(const char *name)
{
    enum take take = TAKE_P90;
    while (take > TAKE_MEDIAN && strcmp(take_names[take], name) != 0)
        take--;
    return take;
}

static bool is_convertible(const char *from, const char *to)
{
    double ignored;
    return unit_is_known(from) && unit_convert(1, from, to, &ignored);
}

/* The columns of temp.passage (src/measures/renewal.sql): first those of a passage. */
enum { PASSAGE_ATTEMPT = 13, PASSAGE_NAME, PASSAGE_IMPORT, PASSAGE_THERE, PASSAGE_OF_SWEEP, PASSAGE_WAS };

/* Borrowed from the row. */
static struct old_number old_number_of(const struct stmt *s)
{
    struct old_number p = {.attempt_id = stmt_int(s, PASSAGE_ATTEMPT),
                           .name = stmt_text(s, PASSAGE_NAME),
                           .is_import = stmt_int(s, PASSAGE_IMPORT) != 0,
                           .is_there = stmt_int(s, PASSAGE_THERE) != 0,
                           .is_of_sweep = stmt_int(s, PASSAGE_OF_SWEEP) != 0,
                           .other_reading = stmt_int(s, 0) != 0,
                           .other_scale = stmt_int(s, 1) != 0,
                           .other_filter = stmt_int(s, 2) != 0,
                           .other_take = stmt_int(s, 3) != 0,
                           .imported = stmt_text(s, 4),
                           .from_unit = stmt_text(s, 5),
                           .to_unit = stmt_text(s, 6),
                           .from_scale = stmt_double(s, 7),
                           .to_scale = stmt_double(s, 8),
                           .filter = {stmt_int(s, 9), stmt_int(s, 10), stmt_int(s, 11)},
                           .take = take_named(stmt_text(s, 12))};
    /* Whoever changes what is read or its scale says what the unit of that is. */
    p.other_unit =
        !p.other_reading && !p.other_scale && *p.from_unit && *p.to_unit && strcmp(p.from_unit, p.to_unit) != 0;
    p.no_unit = p.other_unit && !is_convertible(p.from_unit, p.to_unit);
    return p;
}

static bool is_same_number(const struct old_number *p)
{
    return !p->other_reading && !p->other_scale && !p->other_unit && !p->other_filter && !p->other_take;
}

static double converted(double value, const struct old_number *p)
{
    if (p->other_scale)
        value = value / p->from_scale * p->to_scale;
    if (p->other_unit)
        unit_convert(value, p->from_unit, p->to_unit, &value);
    return value;
}

/* Why numbers of one cannot stand beside those of the other; NULL: they can. The caller's. */
static char *conflict(const struct stmt *s, const char *source)
{
    const char *name = stmt_text(s, 0), *own_unit = stmt_text(s, 1), *unit = stmt_text(s, 2);
    if (*own_unit && *unit && strcmp(own_unit, unit) != 0 && !is_convertible(unit, own_unit))
        return xasprintf("%s has metric `%s` in %s, which cannot be converted to %s", source, name, unit, own_unit);
    if (stmt_int(s, 9))
        return xasprintf("%s has metric `%s` %s%s, and here it is %s%s", source, name, *unit ? "in " : "without a unit",
                         unit, *own_unit ? "in " : "without one", own_unit);
    if (stmt_int(s, 3))
        return xasprintf("%s has metric `%s` with better = \"%s\", and here it is \"%s\"", source, name,
                         stmt_text(s, 5), stmt_text(s, 4));
    if (stmt_int(s, 6))
        return xasprintf("%s read metric `%s` in another way (%s) than here (%s)", source, name, stmt_text(s, 8),
                         stmt_text(s, 7));
    return NULL;
}

int definitions_check_source(struct db *db, const char *source, struct error *e)
{
    OWNED_STMT *s = NULL;
    int rc;
    while ((rc = db_next(db, embedded_text("src/measures/definition_conflicts.sql"), NO_VALUES, &s, e)) > 0) {
        OWNED char *why = conflict(s, source);
        if (why)
            rc = error_set(e, ERROR_USAGE,
                           "%s; rename the metric in one of the two sweep files, or run, or import, by the newer file"
                           " in both databases first",
                           why);
        if (rc < 0)
            break;
    }
    return rc;
}

/* --- one number --- */

struct renewing {
    struct db *db;
    const struct renewal_request *request;
    struct attempt_store *store;
    struct reader_set *readers;
    struct renewal *out;
    struct string_list changed; /* metrics of which the definition is another than before */
    int64_t read_attempt;       /* of which `output` has what the present readers find; 0: of none */
    struct sample_list output;
    char *unread; /* why they could not read it; NULL: they could */
    bool any;     /* a number has changed */
};

static struct renewed_metric *find_renewed(struct renewal *out, const char *name)
{
    for (size_t i = 0; i < out->count; i++)
        if (strcmp(out->metrics[i].name, name) == 0)
            return &out->metrics[i];
    out->metrics = array_grow(out->metrics, out->count, sizeof *out->metrics);
    out->metrics[out->count] = (struct renewed_metric){.name = xstrdup(name)};
    return &out->metrics[out->count++];
}

static struct renewed_metric *tell_units(struct renewed_metric *told, const struct old_number *n)
{
    if (!told->units && !n->other_scale && *n->from_unit && *n->to_unit && strcmp(n->from_unit, n->to_unit) != 0)
        told->units = xasprintf(", in %s instead of %s", n->to_unit, n->from_unit);
    return told;
}

/* A row that has nothing but the reason; what may be there was computed, by an expression of the past. */
static int put_missing(struct renewing *r, const struct old_number *n, const char *why, struct error *e)
{
    if (db_run(r->db, "DELETE FROM summary WHERE attempt_id = ? AND name = ? AND reported IS NULL",
               VALUES(sql_int(n->attempt_id), sql_text(n->name)), e) < 0 ||
        db_run(r->db, "INSERT OR IGNORE INTO summary (attempt_id, name, count, reported, note) VALUES (?, ?, 0, 0, ?)",
               VALUES(sql_int(n->attempt_id), sql_text(n->name), sql_text(why)), e) < 0)
        return -1;
    r->any |= db_changes(r->db) > 0;
    return 0;
}

/* Its samples stay, under the definition that they were made with. Takes `why`. */
static int leave_out(struct renewing *r, const struct old_number *n, char *why, struct error *e)
{
    struct renewed_metric *told = n->is_of_sweep ? find_renewed(r->out, n->name) : NULL;
    int rc = db_run(r->db,
                    "UPDATE summary SET value = NULL, note = ?3 WHERE attempt_id = ?1 AND name = ?2"
                    " AND (value IS NOT NULL OR note IS NOT ?3)",
                    VALUES(sql_int(n->attempt_id), sql_text(n->name), sql_text(why)), e);
    r->any |= rc == 0 && db_changes(r->db) > 0;
    if (rc == 0 && !n->is_there)
        rc = put_missing(r, n, why, e);
    if (told && ++told->left_out == 1)
        told->why = xstrdup(why);
    free(why);
    return rc;
}

/* The samples as kept, each brought under `to`; there are fewer than were reported where some were dropped. */
static int load_samples(struct renewing *r, const struct old_number *n, struct sample_list *out, struct error *e)
{
    static const char sql[] =
        "SELECT coalesce(step, -1), value, sequence FROM sample WHERE attempt_id = ? AND name = ? ORDER BY sequence";
    struct stmt *s = NULL;
    int rc;
    sample_list_add_name(out, n->name, n->filter);
    while ((rc = db_next(r->db, sql, VALUES(sql_int(n->attempt_id), sql_text(n->name)), &s, e)) > 0)
        sample_list_add(out, 0, stmt_int(s, 0), converted(stmt_double_or_nan(s, 1), n));
    sample_list_complete(out);
    return rc;
}

/* `list` takes the place of the samples; `take` NULL: without what they come to. */
static int replace_samples(struct renewing *r, const struct old_number *n, const struct sample_list *list,
                           const enum take *take, struct error *e)
{
    r->any = true;
    return samples_forget(r->db, n->attempt_id, n->name, e) < 0 ? -1
                                                                : samples_store(r->store, n->attempt_id, list, take, e);
}

/* Renews from what was counted of all samples when they were read, where they were thinned. */
static int renew_from_statistics(struct renewing *r, const struct old_number *n, const struct sample_list *kept,
                                 struct error *e)
{
    static const char sql[] = "SELECT mean, median, minimum, maximum, stddev, p90, count, not_finite, reported"
                              " FROM summary WHERE attempt_id = ? AND name = ?";
    OWNED_STMT *s = NULL;
    double of[6];
    int rc = db_next(r->db, sql, VALUES(sql_int(n->attempt_id), sql_text(n->name)), &s, e);
    for (int i = 0; rc > 0 && i < 6; i++)
        of[i] = converted(stmt_double_or_nan(s, i), n);
    if (rc > 0) {
        const double takes[] = {[TAKE_MEAN] = of[0], [TAKE_MEDIAN] = of[1], [TAKE_MIN] = of[2],
                                [TAKE_MAX] = of[3],  [TAKE_P90] = of[5],    [TAKE_LAST] = kept->series[0].last.value};
        const struct summary row = {.value = takes[n->take],
                                    .mean = of[0],
                                    .median = of[1],
                                    .minimum = of[2],
                                    .maximum = of[3],
                                    .stddev = of[4],
                                    .p90 = of[5],
                                    .count = stmt_int(s, 6),
                                    .not_finite = stmt_int(s, 7),
                                    .reported = stmt_int(s, 8),
                                    .kept = (int64_t)kept->count};
        rc = attempt_record_summary(r->store, n->attempt_id, n->name, &row, e);
    }
    return rc < 0 ? -1 : replace_samples(r, n, kept, NULL, e);
}

/* `*done`: it was; else too few of the samples are kept. */
static int renew_from_samples(struct renewing *r, const struct old_number *n, bool *done, struct error *e)
{
    struct sample_list list = SAMPLE_LIST_INIT;
    int64_t reported = 0;
    int rc = db_query_int(r->db, "SELECT reported FROM summary WHERE attempt_id = ? AND name = ?",
                          VALUES(sql_int(n->attempt_id), sql_text(n->name)), 0, &reported, e);
    if (rc == 0)
        rc = load_samples(r, n, &list, e);
    const bool all = (int64_t)list.count == reported;
    const bool has_taken = n->take != TAKE_LAST || n->filter.last_step == 0; /* the last that counts is kept */
    *done = rc == 0 && (all || (list.count > 0 && !n->other_filter && has_taken));
    if (*done && all)
        rc = replace_samples(r, n, &list, &n->take, e);
    else if (*done)
        rc = renew_from_statistics(r, n, &list, e);
    if (*done && n->is_of_sweep)
        tell_units(find_renewed(r->out, n->name), n)->from_samples++;
    sample_list_free(&list);
    return rc;
}

/* --- the output again --- */

int kept_output_find(struct db *db, const char *root, int64_t attempt_id, char **directory, char **why, struct error *e)
{
    OWNED_STMT *s = NULL;
    *directory = *why = NULL;
    int rc = db_next(db, "SELECT directory, coalesce(log_bytes, 0) FROM attempt WHERE id = ?",
                     VALUES(sql_int(attempt_id)), &s, e);
    const char *own = rc > 0 && !stmt_is_null(s, 0) ? stmt_text(s, 0) : NULL;
    OWNED char *path = own ? (*own == '/' ? xstrdup(own) : xasprintf("%s/%s", root, own)) : NULL;
    OWNED char *file = path ? xasprintf("%s/output.log", path) : NULL;
    const int64_t bytes = rc > 0 ? stmt_int(s, 1) : 0;
    const int64_t kept = file ? job_file_size(file) : -1;
    if (!path)
        *why = xstrdup("its output was not kept");
    else if (kept < 0 && (bytes > 0 || access(path, F_OK) < 0))
        *why = xasprintf("its output %s is gone", file);
    else if (kept >= 0 && kept != bytes)
        *why = xasprintf("its output %s was cut", file);
    else
        *directory = xstrdup(path);
    return rc < 0 ? -1 : 0;
}

static int read_output(struct renewing *r, int64_t attempt_id, struct error *e)
{
    OWNED char *directory = NULL;
    if (r->read_attempt == attempt_id)
        return 0;
    sample_list_free(&r->output);
    free(r->unread);
    r->unread = NULL;
    r->read_attempt = attempt_id;
    if (!r->readers && reader_set_create(&r->request->sweep->job, &r->readers, e) < 0)
        return -1;
    if (kept_output_find(r->db, r->request->directory, attempt_id, &directory, &r->unread, e) < 0)
        return -1;
    if (directory) {
        OWNED char *log = xasprintf("%s/output.log", directory), *metrics = xasprintf("%s/metrics.jsonl", directory);
        readers_read(r->readers, job_file_size(log) < 0 ? NULL : log, metrics, directory, &r->output);
        if (r->output.read_error)
            r->unread = xasprintf("its output %s cannot be read: %s", log, strerror(r->output.read_error));
    }
    return 0;
}

/* The part of the list that is of that name: its series are borrowed, its samples the caller's. */
static bool part_of(const struct sample_list *l, const char *name, struct sample_list *out)
{
    const size_t metric = sample_list_find(l, name);
    if (metric == l->name_count || l->series[metric].tally.reported == 0)
        return false;
    *out = (struct sample_list){.names = &l->names[metric], .series = &l->series[metric], .name_count = 1};
    for (size_t i = 0; i < l->count; i++) {
        if (l->samples[i].metric != metric)
            continue;
        *array_add(out->samples, out->count) = (struct sample){0, l->samples[i].step, l->samples[i].value};
    }
    return true;
}

/* `*done`: it was; else `r->unread` or that nothing is found there is the reason. */
static int renew_from_output(struct renewing *r, const struct old_number *n, bool *done, struct error *e)
{
    struct sample_list part;
    *done = false;
    if (read_output(r, n->attempt_id, e) < 0)
        return -1;
    if (r->unread || !part_of(&r->output, n->name, &part))
        return 0;
    *done = true;
    int rc = replace_samples(r, n, &part, &n->take, e);
    free(part.samples);
    tell_units(find_renewed(r->out, n->name), n)->from_output++;
    return rc;
}

/* Gives what is to be said of a number that could be made from nothing that is kept; the caller's. */
static int say_why(struct renewing *r, const struct old_number *n, bool reads, char **why, struct error *e)
{
    int64_t kept = 0, reported = 0;
    if (!n->other_reading && (db_query_int(r->db, "SELECT count(*) FROM sample WHERE attempt_id = ? AND name = ?",
                                           VALUES(sql_int(n->attempt_id), sql_text(n->name)), 0, &kept, e) < 0 ||
                              db_query_int(r->db, "SELECT reported FROM summary WHERE attempt_id = ? AND name = ?",
                                           VALUES(sql_int(n->attempt_id), sql_text(n->name)), 0, &reported, e) < 0))
        return -1;
    if (!n->other_reading)
        *why = xasprintf("other samples count, only %lld of its %lld are kept%s%s", (long long)kept,
                         (long long)reported, r->unread && reads ? ", and " : "", r->unread && reads ? r->unread : "");
    else if (n->is_import)
        *why = xasprintf("its table was imported as %s; import the table again", n->imported);
    else if (!n->is_of_sweep)
        *why = xstrdup("another sweep file of this database reads it in another way");
    else if (!reads)
        *why = xstrdup("it was read in another way; the next run reads its output again");
    else
        *why = xasprintf("it was read in another way, and %s",
                         r->unread ? r->unread : "the present reader finds nothing in its output");
    return 0;
}

/* Without it, a job cannot be compared with those that have it: what the sweep is judged by, or declares otherwise. */
static bool is_wanted(const struct renewing *r, const char *name)
{
    const struct sweep *s = r->request->sweep;
    return ANY(i, s->objective_count, strcmp(s->objectives[i].metric, name) == 0) ||
           string_list_find(&r->changed, name) < r->changed.count;
}

/* There was no number, and none was found. */
static int miss(struct renewing *r, const struct old_number *n, struct error *e)
{
    if (!r->unread)
        return db_run(r->db, "DELETE FROM summary WHERE attempt_id = ? AND name = ? AND reported = 0",
                      VALUES(sql_int(n->attempt_id), sql_text(n->name)), e);
    if (!is_wanted(r, n->name))
        return 0;
    return leave_out(r, n, xasprintf("it was not read when its job ran, and %s", r->unread), e);
}

static int renew_number(struct renewing *r, const struct old_number *n, struct error *e)
{
    const bool reads = r->request->directory && !n->is_import && n->is_of_sweep;
    const bool wants_text = n->other_reading || n->other_scale || n->other_unit || !n->is_there;
    bool done = false;
    char *why;
    if (reads && wants_text && renew_from_output(r, n, &done, e) < 0)
        return -1;
    if (!done && n->is_there && n->no_unit)
        return leave_out(r, n,
                         xasprintf("it was measured in %s, which cannot be converted to %s", n->from_unit, n->to_unit),
                         e);
    if (!done && n->is_there && !n->other_reading && renew_from_samples(r, n, &done, e) < 0)
        return -1;
    if (!done && reads && !wants_text && renew_from_output(r, n, &done, e) < 0)
        return -1;
    if (done)
        return 0;
    if (!n->is_there && reads)
        return miss(r, n, e);
    if (!n->is_there)
        return 0;
    return say_why(r, n, reads, &why, e) < 0 ? -1 : leave_out(r, n, why, e);
}

/* --- all of them --- */

/* Numbers that are under another definition by name only: with the definition their row is right. */
static int adopt_same(struct renewing *r, struct error *e)
{
    static const char pairs[] =
        "SELECT * FROM temp.passage WHERE is_there AND note IS NULL GROUP BY name, was, now, is_import";
    OWNED_STMT *s = NULL;
    int rc = 0;
    while (rc >= 0 && (rc = db_next(r->db, pairs, NO_VALUES, &s, e)) > 0) {
        const struct old_number p = old_number_of(s);
        if (is_same_number(&p))
            rc = db_run(r->db,
                        "UPDATE temp.renewal SET same = 1 WHERE name = ?1 AND was IS ?2 AND is_import = ?3"
                        " AND note IS NULL AND is_there",
                        VALUES(sql_text(p.name), sql_positive(stmt_int(s, PASSAGE_WAS)), sql_int(p.is_import)), e);
    }
    if (rc < 0)
        return -1;
    return db_exec(r->db,
                   "UPDATE summary SET definition_id = w.now FROM temp.renewal AS w"
                   " WHERE w.same AND w.attempt_id = summary.attempt_id AND w.name = summary.name;"
                   "DELETE FROM temp.renewal WHERE same",
                   e);
}

static int need_store(struct renewing *r, struct error *e)
{
    const struct attempt_store_options none = {.executor = ""};
    return r->store ? 0 : attempt_store_create(r->db, &none, &r->store, e);
}

static int renew_listed(struct renewing *r, struct error *e)
{
    OWNED_STMT *s = NULL;
    int rc;
    while ((rc = db_next(r->db, "SELECT * FROM temp.passage WHERE name IS NOT NULL ORDER BY attempt_id, name",
                         NO_VALUES, &s, e)) > 0) {
        const struct old_number n = old_number_of(s);
        if (renew_number(r, &n, e) < 0)
            return -1;
    }
    return rc;
}

/* Lists the numbers that are not under the definition in force. Where none has changed since, only those that could not
 * be read then. */
static int list_numbers(struct renewing *r, struct error *e)
{
#define NUMBERS(which)                                                                                                 \
    "INSERT INTO temp.renewal SELECT s.attempt_id, s.name, a.executor = '" IMPORT_EXECUTOR                             \
    "', s.reported > 0, j.sweep_id = nullif(?1, 0),"                                                                   \
    " s.definition_id, d.definition_id, s.note, 0 FROM summary AS s JOIN metric_definition AS d ON d.name = s.name"    \
    " JOIN attempt AS a ON a.id = s.attempt_id JOIN job AS j ON j.id = a.job_id WHERE s.reported IS NOT NULL"          \
    " AND d.definition_id IS NOT NULL AND (d.expression IS NULL OR j.sweep_id <> ?1) AND " which
    static const char *const numbers[] = {NUMBERS("s.note IS NOT NULL AND j.sweep_id = ?1"),
                                          NUMBERS("(s.note IS NOT NULL OR s.definition_id IS NOT d.definition_id)")};
    const bool all = !r->request->sweep || r->changed.count > 0;
    const struct sql_value sweep = sql_int(r->request->sweep_id);
    if (db_run(r->db, numbers[all], VALUES(sweep), e) < 0)
        return -1;
    if (!r->request->sweep)
        return 0;
    return db_run(r->db, embedded_text("src/measures/list_unread.sql"), VALUES(sweep), e) < 0
               ? -1
               : db_run(r->db, embedded_text("src/measures/mark_read.sql"), VALUES(sweep), e);
}

static int keep_sums(struct db *db, struct error *e)
{
    static const char sql[] =
        "SELECT attempt_id FROM attempt_sum WHERE attempt_id IN (SELECT attempt_id FROM temp.renewal)";
    OWNED_STMT *s = NULL;
    bool any = false;
    int rc = db_query_bool(db, "SELECT 1 FROM sqlite_schema WHERE name = 'attempt_sum'", NO_VALUES, &any, e);
    while (rc >= 0 && any && (rc = db_next(db, sql, NO_VALUES, &s, e)) > 0)
        rc = attempt_sums_keep(db, stmt_int(s, 0), e);
    return rc;
}

/* Settles what else was made from the numbers. */
static int settle(struct renewing *r, struct error *e)
{
    if (keep_sums(r->db, e) < 0 || db_exec(r->db, embedded_text("src/measures/settle_renewal.sql"), e) < 0)
        return -1;
    /* Without a sweep file nothing can be computed. */
    if (!r->request->sweep && db_exec(r->db, embedded_text("src/measures/forget_computed.sql"), e) < 0)
        return -1;
    return jobs_choose_representatives(r->db, "temp.renewed_job", e);
}

/* --- what the objective makes of jobs --- */

#define DIVERGED "its last sample is not a finite number, and a job with such an objective fails as diverged"

/* Those that were left out for it are not made anew each time, as long as nothing else has changed. */
static int pass_over_diverged(struct renewing *r, const char *objective, struct error *e)
{
    return db_run(r->db, "DELETE FROM temp.renewal WHERE note = '" DIVERGED "' AND name = ? AND was IS now",
                  VALUES(sql_text(objective)), e);
}

/* Jobs that were ok under another objective, or another reader of it, and would fail as diverged now cannot win. */
static int leave_out_diverged(struct renewing *r, const char *objective, struct error *e)
{
    bool is_judged;
    if (db_query_bool(r->db, "SELECT value = ? FROM meta WHERE name = 'judged by'", VALUES(sql_text(objective)),
                      &is_judged, e) < 0)
        return -1;
    if (is_judged && !r->any)
        return 0;
    if (db_run(r->db, embedded_text("src/measures/leave_out_diverged.sql"),
               VALUES(sql_text(objective), sql_int(r->request->sweep_id), sql_text(DIVERGED)), e) < 0)
        return -1;
    const int64_t count = db_changes(r->db);
    if (count > 0) {
        struct renewed_metric *told = find_renewed(r->out, objective);
        told->left_out += count;
        told->why = told->why ? told->why : xstrdup(DIVERGED);
        r->any = true;
    }
    return db_run(r->db, "INSERT OR REPLACE INTO meta VALUES ('judged by', ?)", VALUES(sql_text(objective)), e);
}

static int renew_all(struct renewing *r, struct error *e)
{
    const struct renewal_request *q = r->request;
    const char *objective = q->sweep && q->sweep->objective_count ? q->sweep->objectives[0].metric : NULL;
    bool is_listed;
    for (size_t i = 0; q->in_force && i < q->in_force->count; i++)
        string_list_add(&r->changed, xstrdup(q->in_force->items[i]));
    if (q->sweep && !q->in_force && definitions_record(r->db, q->sweep, &r->changed, e) < 0)
        return -1;
    if (db_exec(r->db, embedded_text("src/measures/renewal.sql"), e) < 0)
        return -1;
    /* An attempt that is read as a whole is under the definitions in force then. */
    if (q->reread && q->reread(q->context, r->out, e) < 0)
        return -1;
    r->any |= r->out->reread > 0;
    if (list_numbers(r, e) < 0 || (objective && pass_over_diverged(r, objective, e) < 0) || adopt_same(r, e) < 0 ||
        db_query_bool(r->db, "SELECT EXISTS (SELECT 1 FROM temp.renewal WHERE name IS NOT NULL)", NO_VALUES, &is_listed,
                      e) < 0)
        return -1;
    if (is_listed && (need_store(r, e) < 0 || renew_listed(r, e) < 0))
        return -1;
    return !objective || !q->directory ? 0 : leave_out_diverged(r, objective, e);
}

static int renew(struct renewing *r, struct error *e)
{
    const struct renewal_request *q = r->request;
    int rc = renew_all(r, e);
    if (rc == 0 && (r->any || r->changed.count > 0) && q->sweep)
        rc = measures_refresh(q->measures, r->db, q->sweep_id, true, e);
    if (rc == 0 && r->changed.count > 0 && !q->in_transaction)
        rc = result_views_refresh(r->db, e);
    if (rc == 0 && r->any)
        rc = settle(r, e);
    if (rc == 0)
        rc = db_exec(r->db, "DROP VIEW temp.passage; DROP TABLE temp.renewal", e);
    return rc;
}

int measures_renew(struct db *db, const struct renewal_request *request, struct renewal *out, struct error *e)
{
    struct renewing r = {.db = db, .request = request, .out = out, .changed = STRING_LIST_INIT};
    *out = (struct renewal){0};
    int rc = request->in_transaction || db_begin(db, e) == 0 ? renew(&r, e) : -1;
    FAULT(NUMBERS_RENEWED);
    if (!request->in_transaction)
        rc = db_end(db, rc, e);
    if (rc == 0 && request->sweep && !request->in_transaction)
        rc = measures_refresh(request->measures, db, request->sweep_id, false, e);
    attempt_store_free(r.store);
    reader_set_free(r.readers);
    sample_list_free(&r.output);
    free(r.unread);
    string_list_free(&r.changed);
    if (rc < 0)
        renewal_free(out);
    return rc;
}

void renewal_free(struct renewal *r)
{
    for (size_t i = 0; i < r->count; i++)
        free_all(r->metrics[i].name, r->metrics[i].units, r->metrics[i].why);
    free(r->metrics);
    *r = (struct renewal){0};
}

static void add_sentence(const struct renewed_metric *m, struct buffer *b)
{
    buffer_printf(b, "%s: its definition has changed", m->name);
    if (m->from_samples > 0) {
        buffer_add_text(b, "; made anew from the samples of ");
        buffer_add_count(b, m->from_samples, "run");
        buffer_add_text(b, m->units ? m->units : "");
    }
    if (m->from_output > 0) {
        buffer_add_text(b, "; read again from the output of ");
        buffer_add_count(b, m->from_output, "run");
        buffer_add_text(b, m->units ? m->units : "");
    }
    if (m->left_out > 0) {
        buffer_add_text(b, "; left out, of ");
        buffer_add_count(b, m->left_out, "run");
        buffer_printf(b, ": %s", m->why);
    }
}

char **renewal_sentences(const struct renewal *r)
{
    struct string_list all = STRING_LIST_INIT;
    for (size_t i = 0; i < r->count; i++) {
        struct buffer b = BUFFER_INIT;
        add_sentence(&r->metrics[i], &b);
        string_list_add(&all, buffer_take(&b));
    }
    if (r->mended > 0) {
        struct buffer b = BUFFER_INIT;
        buffer_add_count(&b, r->mended, "job");
        buffer_printf(&b, " had failed as no-metric and %s ok: the output has what is read now",
                      r->mended == 1 ? "is" : "are");
        string_list_add(&all, buffer_take(&b));
    }
    return string_list_take(&all);
}
