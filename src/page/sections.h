/* Within the report's page: its sections. Each appends to `out`, and says what is missing where there is nothing to
 * show; -1 only where the database fails. */
#ifndef MESHSWEEP_PAGE_SECTIONS_H
#define MESHSWEEP_PAGE_SECTIONS_H

#include "page/data.h"
#include "util/buffer.h"

struct html_page {
    struct buffer out;
    const struct html_data *data;
    struct db *db;
    const char *job_files;    /* store_directory() */
    const char *files_beside; /* the same as the page links to it; NULL: the page lies elsewhere */
    const char *database;     /* its name alone: where the page goes nobody knows of directories */
    size_t level_most;        /* html_level_most() */
};

typedef int html_section(struct html_page *p, struct error *e);

html_section html_overview, html_winner, html_front, html_jobs, html_parallel, html_heat, html_effects, html_predicted,
    html_learning, html_timeline, html_failures, html_excluded, html_explore, html_curves;

/* What the page's script reads: the jobs column by column; their curves; the rest of what is known of them. */
html_section html_embed_jobs, html_embed_curves, html_embed_details;

/* Points that one plot draws; of more jobs every so-manieth is drawn, and the plot says so. */
#define HTML_POINTS_MOST 1500

/* "<p class=none>" with one sentence. */
void html_add_none(struct buffer *out, const char *sentence);

/* A mark for a job in a plot: a dot where it is ok, a cross in the colour of its failure where it failed. */
void html_add_mark(struct buffer *out, double x, double y, int64_t job, const char *failure);

/* A link to a job: "job 7" with "job " before its number, "7" with "". */
void html_link_job(struct buffer *out, const char *before, int64_t job);

/* Every so-manieth job is drawn so that at most HTML_POINTS_MOST are. */
size_t html_stride(size_t count);

/* html_winner() where configurations compete, not jobs. */
html_section html_winning_configurations;

/* Below the winner that is in `row`: how far it is ahead, what limits it and what more would cost; then its keys and
 * its command too. */
struct lead;
int html_add_lead(struct html_page *p, size_t row, const struct lead *l, struct error *e);
int html_add_winner_details(struct html_page *p, size_t row, const struct lead *l, struct error *e);

/* How far the search is, and why it ended: a sentence, nothing where there is none. */
struct sweep_status;
void html_add_search(struct buffer *out, const struct sweep_status *s, long long pending, const char *file,
                     const char *database);

/* A value of a key; of a number of bytes all is in the title. */
void html_add_key_value(struct buffer *out, const struct html_column *c, const char *text);

/* The same as figures_begin() makes, of a plot that the script draws: it fills it in when it is opened (plot.js). */
#define HTML_FIGURES_BY_SCRIPT(id)                                                                                     \
    "<details class=figures id=" id                                                                                    \
    " hidden><summary></summary><div class=scroll tabindex=0></div><p class=note></p></details>\n"

/* Adds the note that not all are drawn, where that is so. */
void html_add_stride_note(struct buffer *out, size_t count);

/* Columns after which texts are cut as the script has them; fewer where the values of all keys would take too much. */
#define HTML_LEVEL_MOST 120
size_t html_level_most(const struct html_data *d);

/* Whether the column tells what came of a job, and stands in the table where any job has a value. */
bool html_is_outcome(const char *title, enum html_role role);

/* The columns of the table of jobs: the job, what is sought, then as in `results`. Their number; the caller frees
 * `*out`. */
size_t html_shown_columns(const struct html_data *d, const struct html_column ***out);

/* All jobs, the best first, those without a finite objective last, in their order. The caller frees it. */
size_t *html_best_first(const struct html_data *d);

/* The keys that tell jobs apart, one of those that move together: at most `most`, those of the plan first, derived ones
 * last. */
size_t html_varying(const struct html_data *d, const struct html_column **keys, size_t most);

#endif
