/* The columns of `predict` besides the keys of the combination. */
#pragma once

#include <stdbool.h>

#include "config/sweep.h"

/* In the order of the columns of its private database. */
enum prediction_column {
    FIELD_NUMBER,
    FIELD_JOB,
    FIELD_KEY,
    FIELD_STATE,
    FIELD_FAILURE,
    FIELD_MEMORY,
    FIELD_MEMORY_LOW,
    FIELD_MEMORY_HIGH,
    FIELD_VERDICT,
    FIELD_OOM,
    FIELD_MEASURED_MEMORY,
    FIELD_TIME,
    FIELD_TIME_LOW,
    FIELD_TIME_HIGH,
    FIELD_MEASURED_TIME,
    FIELD_MFU,
    FIELD_WHY,
    FIELD_PLACE, /* from here on for scaled plans only */
    FIELD_PLACE_HERE,
    FIELD_DEVICES,
    FIELD_DEVICES_HERE,
    FIELD_TIME_HERE,
    FIELD_MEMORY_HERE,
    FIELD_THROUGHPUT,
    FIELD_THROUGHPUT_LOW,
    FIELD_THROUGHPUT_HIGH,
    FIELD_EFFICIENCY,
    FIELD_EFFICIENCY_LOW,
    FIELD_EFFICIENCY_HIGH,
    FIELD_DERIVED
};

struct prediction_field {
    const char *name;
    const char *unit; /* "B" is followed by whose memory it is; "": the unit of throughput; NULL: none */
    bool is_brief;    /* shown if no columns are requested */
};

/* The named fields: every prediction's before FIELD_PLACE, scaled plans' from there on. */
extern const struct prediction_field prediction_fields[FIELD_DERIVED];
