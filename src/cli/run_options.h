/* The options of `run` and `plan`: both match the same sweep against the same database. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "config/scaling.h"
#include "config/search_options.h"

enum progress { PROGRESS_AUTO, PROGRESS_TTY, PROGRESS_PLAIN, PROGRESS_JSON, PROGRESS_NONE };
enum switch_choice { SWITCH_NOT_GIVEN, SWITCH_ON, SWITCH_OFF };

/* Texts are as written, NULL: not given (retry_failed "": all classes); of numbers 0 is not given, or no limit.
 * `racing` and `equal_batch` are an enum switch_choice, `progress` an enum progress. */
struct run_options {
#include "cli/run_option_members.h" /* the options of `run` in src/commands/commands.toml */
    const char *search_numbers[SEARCH_NUMBER_COUNT];
    bool starts_nothing;           /* what this machine alone cannot run counts, too */
    bool tell_stale;               /* report stale results */
    const struct scaling *scaling; /* scale the sweep, without checking devices; NULL: no scaling */
};
