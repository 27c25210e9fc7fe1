/* The columns of `predict` besides the keys of the combination. */
#ifndef MESHSWEEP_REPORT_PREDICTION_FIELDS_H
#define MESHSWEEP_REPORT_PREDICTION_FIELDS_H

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
    FIELD_PLACE, /* from here on of scaled plans */
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
    FIELD_DERIVED, /* JSON from here on, out of which columns are made */
    FIELD_SECTION, /* and SECTION_COUNT of these */
    FIELD_COUNT = FIELD_SECTION + SECTION_COUNT
};

struct prediction_field {
    const char *name;
    const char *unit; /* "B" is completed by whose memory it is; "": of the throughput; NULL: none */
    bool is_brief;    /* shown where no columns were asked for */
};

/* Those with a name: before FIELD_PLACE of every prediction, from there on of scaled plans. */
extern const struct prediction_field prediction_fields[FIELD_DERIVED];

#endif
