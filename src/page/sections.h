/* The sections of the report's page. Each appends to `out`, a sentence if it has nothing to show, and fails only if the
 * database does. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "database/db.h"
#include "results/configurations.h"
#include "util/buffer.h"
#include "util/memory.h"

/* --- arbitrary text as HTML and JSON --- */

/* Columns after which names and texts are cut with "…". */
#define HTML_NAME_MOST 80
#define HTML_TEXT_MOST 400

/* Appends `text`, escaped for an element or a quoted attribute, and at most `limit` columns of it (0: no limit).
 * Control characters are shown as escapes (report/text.h). NULL adds nothing. */
void html_add(struct buffer *out, const char *text, size_t limit);

/* The same between two pieces of HTML, such as tags: a name of at most HTML_NAME_MOST columns, or a longer text of at
 * most HTML_TEXT_MOST. */
void html_name(struct buffer *out, const char *before, const char *name, const char *after);
void html_text(struct buffer *out, const char *before, const char *text, const char *after);

/* The same two as JSON strings for a script element, the first behind `before`; NULL is "". */
void html_add_json(struct buffer *out, const char *before, const char *text, size_t limit);
void html_add_json_lines(struct buffer *out, const char *text, size_t limit);

/* JSON within a script element, which no "<" may end. */
void html_add_script_json(struct buffer *out, const char *json);

/* A JSON number with at least 6 digits (text_add_rounded). NaN is null; infinities are strings that JavaScript's
 * Number() reads. */
void html_add_json_number(struct buffer *out, double value);

/* "NAME":VALUE of a row's column, a number or a text of at most `most` columns. */
void html_add_json_column(struct buffer *out, const struct stmt *s, int column, size_t most);

/* 6 significant digits; "NaN", "Infinity". */
void html_add_number(struct buffer *out, double value);

#define HTML_SIZE_BYTES 24

/* 3 significant digits with the largest binary prefix: "16 MiB", "9.22 MiB". Returns `out`. */
const char *html_size(double bytes, char out[HTML_SIZE_BYTES]);

/* --- what they are made from: the jobs of the current sweep, column by column --- */

/* Jobs on a page; with more, the page says how many it shows. */
#define HTML_JOBS_MOST 100000

/* Keys with more values are no axes of heat maps. */
#define HTML_LEVELS_MOST 24

enum html_role { HTML_FIXED = 1, HTML_KEY, HTML_METRIC };

struct html_value {
    double number; /* NaN: no number */
    char *text;    /* as it is written; NULL: absent */
};

struct html_column {
    const char *title, *unit; /* unit "" for none; of keys "B" or "" */
    enum html_role role;
    struct html_value *values; /* one per job */
    /* For keys, states, failures and messages only: */
    int *levels;           /* index into level_texts; -1: absent */
    char **level_texts;    /* the distinct values, sorted; borrowed from `values` */
    double *level_numbers; /* NaN where one is not a number */
    size_t level_count;
    bool numeric;                   /* all values are numbers */
    bool derived;                   /* keys: computed from other keys */
    bool replicated;                /* keys: only tells replicates apart ([sweep] replicate) */
    bool tells_apart;               /* keys: configurations differ in it */
    const struct html_column *twin; /* keys: the key that represents it, because they move together; NULL: none */
};

enum html_state { HTML_PENDING, HTML_RUNNING, HTML_OK, HTML_FAILED, HTML_STATE_COUNT };
extern const char *const html_state_names[HTML_STATE_COUNT];

struct html_job {
    int64_t id;
    enum html_state state;
    const char *failure; /* "" unless it failed; borrowed from the columns */
    double objective;    /* NaN: none, or the job is not ok */
    bool barred;         /* it cannot win: not MEASURED_AS_ASKED (results/measured.h) */
    double memory;       /* bytes, or the unit of its column; NaN: none */
    size_t group;        /* jobs of other groups are not compared with it */
};

struct html_data {
    char *sweep, *objective, *unit; /* objective NULL: none is declared */
    char *file;                     /* name of the sweep file without directories, since pages are sent to others */
    bool maximise;
    int64_t sweep_id, jobs_in_all;
    struct html_column *columns;
    size_t column_count;
    const struct html_column **shown; /* in the table of jobs: the job, the objective, then the order of `results` */
    size_t shown_count;
    struct html_job *jobs;
    size_t job_count;
    size_t *best_first; /* all jobs; those without a finite objective come last, in their order */
    size_t group_count; /* 1 if all jobs compete */
    int64_t counts[HTML_STATE_COUNT];
    struct competition competition;
    long best;                        /* index of the best job; -1: none, or configurations compete */
    const struct html_column *sought; /* the objective; NULL: not declared or never reported */
    const struct html_column *memory; /* NULL: no column has memory */
    double memory_scale;              /* bytes of its unit; NAN: no metric reports it */
    struct arena blocks;              /* all that is kept here, and room for more texts */
    char *room;
    size_t room_bytes;
};

/* ERROR_NOTHING when no sweep has been recorded. `*out` is the caller's: html_data_free. */
int html_data_read(struct db *db, struct html_data *out, struct error *e);
void html_data_free(struct html_data *d);

/* The role of a column of `results`; to be called for each column in order, with `*section` HTML_FIXED at first. */
enum html_role html_role_of(const char *title, enum html_role *section);

/* Returns whether `a` is a better objective than `b`. NaN is never better, and worse than anything. */
bool html_is_better(const struct html_data *d, double a, double b);

/* Index of a job in `jobs`; -1: not on this page. */
long html_row_of(const struct html_data *d, int64_t job);

/* --- the sections --- */

struct html_page {
    struct buffer out;
    const struct html_data *data;
    struct db *db;
    const char *files_beside; /* html_request.files_beside */
    const char *job_files;    /* html_request.job_files, of a page in a file; NULL: it is served, files as they were */
    const char *database;     /* name of the database without directories */
    size_t level_most;        /* html_level_most() */
};

typedef int html_section(struct html_page *p, struct error *e);

html_section html_jobs, html_heat, html_curves;

/* A section that sql/page/NAME.sql makes (document.c), with report/saying.h's functions. */
int html_add_document(struct buffer *out, struct db *db, const char *name, struct sql_values values, struct error *e);

/* Lets statements call html(text, columns) and size(bytes), as above; html_lines(text, columns), the same for several
 * lines; key_value(unit, text), of which sizes ("B") have the number of bytes as a tooltip; amount(unit, value), a
 * short number with its unit ("6.09 M tokens/s", "16 MiB"); amount_cell(unit, value), the same without the unit, which
 * is in the heading, and with all digits in its tooltip; bytes_of(text), NULL if it is no size; and
 * last_lines(text, lines), of at most 6,000 bytes. */
int html_add_functions(struct db *db, struct error *e);

/* The page's data as tables for statements: `page`, of one row, `page_column`, `page_level` of the column `of`,
 * `page_job`, `page_value`, whose `n` is column * jobs + job, and `page_apart`, whose `n` is job * jobs + job. To be
 * taken away before the data go. */
int html_add_tables(struct html_page *p, struct error *e);
void html_drop_tables(struct db *db);

/* JSON for the page's script: the jobs as columns, their curves, their details. */
html_section html_embed_jobs, html_embed_details;

/* "<p class=none>" with one sentence. */
void html_add_none(struct buffer *out, const char *sentence);

/* A sentence about the progress and end of the search; nothing if there is none. */
struct cJSON;
void html_add_search(struct buffer *out, const struct cJSON *search, long long pending, const char *file,
                     const char *database);

/* Around the data of a plot, a JSON object (charts.js). The note that follows describes the plot. */
#define HTML_CHART(id) "<script type=application/json class=chart id=" id ">"
#define HTML_CHART_END "</script>\n"

/* Columns after which texts for the script are cut; html_level_most() gives fewer if the values of all keys would take
 * too much room. */
#define HTML_LEVEL_MOST 120
size_t html_level_most(const struct html_data *d);

/* Returns whether the column is an outcome of jobs; such columns are shown if any job has a value. */
bool html_is_outcome(const char *title, enum html_role role);

/* Keys that vary, without those that another one represents: at most `most`, parallel specs first, derived keys last.
 * Returns their number. */
size_t html_varying(const struct html_data *d, const struct html_column **keys, size_t most);

/* The same for comparisons, by title. The section of a bare name is not known here; usually it is the model that has a
 * name. */
size_t html_effect_keys(const struct html_data *d, const char **keys, size_t most);
