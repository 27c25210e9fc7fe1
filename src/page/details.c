/* Details of jobs beyond the table: attempts, metrics, command, environment and the end of the output, for as many jobs
 * as fit on the page. */
#include <fcntl.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "page/sections.h"
#include "process/archived_file.h"
#include "process/job_file.h"
#include "report/job_command.h"
#include "results/job_record.h"
#include "util/memory.h"
#include "util/quantile.h"
#include "util/utf8.h"

#define DETAILS_BYTES 420000
#define FAILED_BYTES 150000 /* reserved for jobs without an objective */
#define TAIL_BYTES 2500
#define VALUE_MOST 600
#define ATTEMPTS_MOST 100 /* the newest attempts of a job */
#define FILES_MOST 30     /* files that it left, and points of its curves, likewise */

/* The number in a column of that name; NaN: none. */
static double number_in(const struct stmt *s, const char *name)
{
    for (int i = 0; i < stmt_column_count(s); i++)
        if (strcmp(stmt_column_name(s, i), name) == 0)
            return stmt_double_or_nan(s, i);
    return NAN;
}

/* Half the width of the 95 % interval of the mean of a metric's samples, if they are independent. */
static void add_half_width(struct buffer *out, const struct stmt *s)
{
    const double samples = number_in(s, "samples"), stddev = number_in(s, "stddev");
    if (!(samples > 1 && stddev > 0))
        return;
    buffer_add_text(out, ",\"half_width\":");
    html_add_json_number(out, student_quantile(0.975, samples - 1) * stddev / sqrt(samples));
}

/* Adds, for a page in a file, whose links lead to files as they are, whether `meshsweep archive` has compressed that
 * log. */
static void add_packed(struct html_page *p, const char *directory)
{
    struct stat status;
    OWNED char *log = xasprintf("%s/%s/output.log", p->job_files, directory),
               *packed = xasprintf("%s" ARCHIVED_SUFFIX, log);
    if (!job_file_stat(AT_FDCWD, log, &status) && job_file_stat(AT_FDCWD, packed, &status))
        buffer_add_text(&p->out, ",\"packed\":true");
}

/* A row as a JSON object without its NULLs. */
static void add_row(struct html_page *p, const struct stmt *s)
{
    struct buffer *out = &p->out;
    bool first = true;
    buffer_add_char(out, '{');
    for (int i = 0; i < stmt_column_count(s); i++) {
        if (stmt_is_null(s, i))
            continue;
        buffer_add_text(out, first ? "" : ",");
        first = false;
        html_add_json_column(out, s, i, VALUE_MOST);
        if (p->files_beside && p->job_files && strcmp(stmt_column_name(s, i), "files") == 0)
            add_packed(p, stmt_text(s, i));
    }
    add_half_width(out, s);
    buffer_add_char(out, '}');
}

/* Adds "attempts_left_out":N, the number of older attempts that are not on the page. */
static int add_left_out(struct html_page *p, int64_t job, int64_t *out, struct error *e)
{
    if (db_query_int(p->db, "SELECT max(count(*) - ?2, 0) FROM attempt WHERE job_id = ?1 AND kind <> 'full'",
                     VALUES(sql_int(job), sql_int(ATTEMPTS_MOST)), 0, out, e) < 0)
        return -1;
    if (*out)
        buffer_printf(&p->out, "\"attempts_left_out\":%lld,", (long long)*out);
    return 0;
}

static int add_part(struct html_page *p, enum job_part part, int64_t job, struct error *e)
{
    struct stmt *s = NULL;
    int64_t left_out = 0;
    int rc, rows = 0;
    if (part == JOB_PART_ATTEMPTS && add_left_out(p, job, &left_out, e) < 0)
        return -1;
    buffer_printf(&p->out, "\"%s\":%s", job_part_names[part], part == JOB_PART_JOB ? "" : "[");
    while ((rc = job_part_next(p->db, part, job, &s, e)) > 0) {
        if (left_out-- > 0 ||
            (rows == FILES_MOST && ((part >= JOB_PART_GIVEN && part <= JOB_PART_FILES) || part == JOB_PART_POINTS)))
            continue;
        buffer_add_text(&p->out, rows++ ? "," : "");
        add_row(p, s);
    }
    if (part == JOB_PART_JOB && rows == 0)
        buffer_add_text(&p->out, "{}");
    buffer_add_text(&p->out, part == JOB_PART_JOB ? "," : "],");
    return rc;
}

static int add_launch(struct html_page *p, int64_t job, struct error *e)
{
    struct job_launch launch;
    if (job_launch_read(p->db, job, &launch, e) < 0)
        return -1;
    if (launch.command[0]) {
        OWNED char *line = job_command_line(&launch, false);
        buffer_add_text(&p->out, "\"shell\":");
        html_add_json_lines(&p->out, line, 4000);
        buffer_add_char(&p->out, ',');
    }
    if (launch.measured_elsewhere) {
        html_add_json(&p->out, "\"measured_elsewhere\":", launch.measured_elsewhere, HTML_TEXT_MOST);
        buffer_add_char(&p->out, ',');
    }
    buffer_add_text(&p->out, "\"environment\":[");
    for (char **item = launch.environment; *item; item++)
        html_add_json(&p->out, item == launch.environment ? "" : ",", *item, VALUE_MOST);
    buffer_add_char(&p->out, ']');
    job_launch_free(&launch);
    return 0;
}

static int add_tail(struct html_page *p, int64_t job, struct error *e)
{
    OWNED char *text = NULL;
    if (db_query_text(p->db,
                      "SELECT a.log_tail FROM attempt AS a JOIN job AS j ON j.id = a.job_id WHERE j.id = ?1"
                      " AND a.id = coalesce(j.attempt_id, (SELECT max(id) FROM attempt WHERE job_id = ?1 AND kind = "
                      "'trial')) AND a.log_tail <> ''",
                      VALUES(sql_int(job)), &text, e) < 0)
        return -1;
    if (text) {
        size_t length = strlen(text);
        buffer_add_text(&p->out, ",\"tail\":");
        html_add_json_lines(&p->out, text + (length > TAIL_BYTES ? utf8_cut(text, length, length - TAIL_BYTES) : 0),
                            HTML_TEXT_MOST);
    }
    return 0;
}

static int add_job(struct html_page *p, int64_t job, struct error *e)
{
    buffer_printf(&p->out, "\"%lld\":{", (long long)job);
    for (enum job_part part = 0; part < JOB_PART_COUNT; part++)
        if (add_part(p, part, job, e) < 0)
            return -1;
    if (add_launch(p, job, e) < 0 || add_tail(p, job, e) < 0)
        return -1;
    buffer_add_char(&p->out, '}');
    return 0;
}

int html_embed_details(struct html_page *p, struct error *e)
{
    const struct html_data *d = p->data;
    size_t start = p->out.length, count = 0;
    int rc = 0;
    buffer_add_text(&p->out, "<script type=application/json id=details>{");
    for (int failed = 0; rc == 0 && failed < 2; failed++)
        for (size_t i = 0; rc == 0 && i < d->job_count; i++) {
            if (p->out.length - start > (failed ? DETAILS_BYTES : DETAILS_BYTES - FAILED_BYTES))
                break;
            const struct html_job *j = &d->jobs[d->best_first[i]];
            if (isfinite(j->objective) == failed)
                continue;
            buffer_add_text(&p->out, count++ ? ",\n" : "");
            rc = add_job(p, j->id, e);
        }
    buffer_add_text(&p->out, "}</script>\n");
    return rc;
}
