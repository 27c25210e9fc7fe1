/* The sections of the report's page. Each appends to `out`, a sentence if it has nothing to show, and fails only if the
 * database does. */
#ifndef MESHSWEEP_PAGE_SECTIONS_H
#define MESHSWEEP_PAGE_SECTIONS_H

#include "page/data.h"
#include "util/buffer.h"

struct html_page {
    struct buffer out;
    const struct html_data *data;
    struct db *db;
    const char *files_beside; /* html_request.files_beside */
    const char *database;     /* name of the database without directories */
    size_t level_most;        /* html_level_most() */
};

typedef int html_section(struct html_page *p, struct error *e);

html_section html_overview, html_winner, html_front, html_jobs, html_parallel, html_heat, html_effects, html_predicted,
    html_learning, html_timeline, html_failures, html_excluded, html_explore, html_curves;

/* JSON for the page's script: the jobs as columns, their curves, their details. */
html_section html_embed_jobs, html_embed_curves, html_embed_details;

/* Points in one plot; with more jobs only every n-th is drawn, which the plot says. */
#define HTML_POINTS_MOST 1500

/* "<p class=none>" with one sentence. */
void html_add_none(struct buffer *out, const char *sentence);

/* A link to a job: "job 7" with "job " before its number, "7" with "". */
void html_link_job(struct buffer *out, const char *before, int64_t job);

/* The n such that drawing every n-th of `count` jobs draws at most HTML_POINTS_MOST. */
size_t html_stride(size_t count);

/* html_winner() if configurations compete instead of jobs. */
html_section html_winning_configurations;

/* About the winner in `row`: its lead, what limits it, and the cost of more runs; the second function also adds its
 * keys and its command. */
struct lead;
int html_add_lead(struct html_page *p, size_t row, const struct lead *l, struct error *e);
int html_add_winner_details(struct html_page *p, size_t row, const struct lead *l, struct error *e);

/* A sentence about the progress and end of the search; nothing if there is none. */
struct cJSON;
void html_add_search(struct buffer *out, const struct cJSON *search, long long pending, const char *file,
                     const char *database);

/* A value of a key; for sizes, the tooltip has the number of bytes. */
void html_add_key_value(struct buffer *out, const struct html_column *c, const char *text);

/* Like figures_begin(), for a plot of the script, which fills the table when it is opened (plot.js). */
#define HTML_FIGURES_BY_SCRIPT(id)                                                                                     \
    "<details class=figures id=" id                                                                                    \
    " hidden><summary></summary><div class=scroll tabindex=0></div><p class=note></p></details>\n"

/* Around the data of a plot, a JSON object (charts.js). The note that follows describes the plot. */
#define HTML_CHART(id) "<script type=application/json class=chart id=" id ">"
#define HTML_CHART_END "</script>\n"

/* Says if not all jobs are drawn. */
void html_add_stride_note(struct buffer *out, size_t count);

/* Columns after which texts for the script are cut; html_level_most() gives fewer if the values of all keys would take
 * too much room. */
#define HTML_LEVEL_MOST 120
size_t html_level_most(const struct html_data *d);

/* Whether the column is an outcome of jobs; such columns are shown if any job has a value. */
bool html_is_outcome(const char *title, enum html_role role);

/* The columns of the table of jobs: the job, the objective, then the order of `results`. Returns their number; the
 * caller frees `*out`. */
size_t html_shown_columns(const struct html_data *d, const struct html_column ***out);

/* Indices of all jobs, best first; those without a finite objective come last, in their order. The caller frees it. */
size_t *html_best_first(const struct html_data *d);

/* Keys that vary, without those that another one represents: at most `most`, parallel specs first, derived keys last.
 * Returns their number. */
size_t html_varying(const struct html_data *d, const struct html_column **keys, size_t most);

#endif
