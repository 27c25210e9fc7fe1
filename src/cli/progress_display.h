/* Progress on standard error while a sweep runs, for people or programs. */
#pragma once

#include "cli/run_options.h"
#include "results/best.h"
#include "run/runner.h"
#include "space/describe.h"
#include "space/enumerate.h"

struct progress_display; /* NULL, which all functions accept, shows nothing */

/* PROGRESS_AUTO becomes a live line on a terminal and plain lines elsewhere. `space` and `db_path`
 * must outlive it. NULL for PROGRESS_NONE. */
struct progress_display *progress_display_open(enum progress how, struct space *space, const char *db_path);
void progress_display_close(struct progress_display *d);

void progress_display_enumerating(struct progress_display *d, int64_t matched);
void progress_display_enumerated(struct progress_display *d, const struct enumeration *n);
void progress_display_event(struct progress_display *d, const struct run_event *event);
void progress_display_counts(struct progress_display *d, const struct run_counts *counts);
void progress_display_notice(struct progress_display *d, const char *text);

/* The last lines: the counts, the winner (`best` may be NULL) and where the results are. */
void progress_display_end(struct progress_display *d, const struct run_result *result, const struct best *best,
                          const char *db_path);
