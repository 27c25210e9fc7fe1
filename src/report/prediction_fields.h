/* The columns of `predict` besides the keys of the combination. */
#pragma once

#include <stdbool.h>

#include "config/sweep.h"

/* Where the named fields of a row begin that stand behind its keys, and those of scaled plans; and their end. */
enum { FIELD_STATE = 3, FIELD_PLACE = 17, FIELD_END = 29 };

struct prediction_field {
    const char *name;
    const char *unit; /* "B" is followed by whose memory it is; "": the unit of throughput; NULL: none */
    bool is_brief;    /* shown if no columns are requested */
    enum field_source {
        OF_COMBINATION,
        OF_JOB,        /* which plans on other devices do not have */
        OF_PREDICTION, /* which that of the plan replaces */
        OF_PLAN,
    } source;
};

/* The named fields: every prediction's before FIELD_PLACE, scaled plans' from there on. */
extern const struct prediction_field prediction_fields[FIELD_END];
