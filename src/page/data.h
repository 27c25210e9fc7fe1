/* What the report's page is made from: the jobs of the current sweep, column by column. */
#ifndef MESHSWEEP_PAGE_DATA_H
#define MESHSWEEP_PAGE_DATA_H

#include <stdbool.h>
#include <stdint.h>

#include "database/db.h"
#include "page/text.h"

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
    char *title, *unit; /* unit "" for none; of keys "B" or "" */
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
    char *sweep, *objective, *unit, *tool; /* objective NULL: none is declared */
    char *file; /* name of the sweep file without directories, since pages are sent to others */
    bool maximise;
    int64_t sweep_id, combinations, excluded, duplicates; /* -1: not recorded */
    int64_t first_ms, last_ms;
    int64_t jobs_in_all;
    struct html_column *columns;
    size_t column_count;
    struct html_job *jobs;
    size_t job_count;
    size_t group_count; /* 1 if all jobs compete */
    int64_t counts[HTML_STATE_COUNT];
    long best;                        /* index of the best job; -1: none, or configurations compete */
    const struct html_column *sought; /* the objective; NULL: not declared or never reported */
    const struct html_column *memory; /* NULL: no column has memory */
};

/* ERROR_NOTHING when no sweep has been recorded. `*out` is the caller's: html_data_free. */
int html_data_read(struct db *db, struct html_data *out, struct error *e);
void html_data_free(struct html_data *d);

/* A value of a key for sentences and axes: bytes as "16 MiB" in `out`, anything else `text` itself. */
const char *html_key_text(const struct html_column *c, const char *text, char out[HTML_SIZE_BYTES]);

/* The title without the section of a key. Borrowed. */
const char *html_column_name(const struct html_column *c);

/* The role of a column of `results`; to be called for each column in order, with `*section` HTML_FIXED at first. */
enum html_role html_role_of(const char *title, enum html_role *section);

/* Whether the key has more than one value. */
bool html_column_varies(const struct html_column *c);

/* The same, and no other key represents it (twin). */
bool html_column_stands(const struct html_column *c);

/* Whether `a` is a better objective than `b`. NaN is never better, and worse than anything. */
bool html_is_better(const struct html_data *d, double a, double b);

/* Memory that the job was measured to use, in bytes; NAN if no metric reports it. */
double html_memory_bytes(const struct html_data *d, size_t row);

/* The column of that title; NULL: there is none. */
const struct html_column *html_column_named(const struct html_data *d, const char *title);

/* Index of a job in `jobs`; -1: not on this page. */
long html_row_of(const struct html_data *d, int64_t job);

/* Whether any job is ok or has failed. */
bool html_any_ended(const struct html_data *d);

#endif
