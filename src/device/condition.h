/* In what condition devices are while an attempt has them: a row of a table for each quantity. Pure. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum device_quantity {
    DEVICE_CLOCK = 0, /* of the multiprocessors, MHz; mean */
    DEVICE_CLOCK_LEAST,
    DEVICE_TEMPERATURE, /* degrees Celsius; highest */
    DEVICE_POWER,       /* W; mean, of all devices together */
    DEVICE_ENERGY,      /* J; of all devices together */
    DEVICE_THROTTLED,   /* share of the looks in which heat, a power supply or the board slowed it down */
    DEVICE_ECC,         /* memory errors that could not be corrected; of all devices together */
    DEVICE_POWER_LIMIT, /* W; the lowest that a device was held to */
    DEVICE_QUANTITY_COUNT
};

/* A device's state at one moment. */
struct device_reading {
    double values[DEVICE_QUANTITY_COUNT];   /* counters as they stand; NAN: not to be had */
    const char *why[DEVICE_QUANTITY_COUNT]; /* it is not; static */
    uint64_t reasons;                       /* why its clock is lowered: bits of nvml.h */
    char model[96];
};

/* The condition of one device during an attempt. All zero: nothing seen yet. */
struct device_condition {
    struct {
        double first, last, sum, least, most;
        int64_t count;
        const char *why; /* it is not to be had, static; NULL: it was never asked for, or is */
    } of[DEVICE_QUANTITY_COUNT];
    uint64_t reasons; /* all that there were */
    char model[96];   /* "": it was never asked */
};

/* The share that an attempt had of its device, and the most others that had some at once. */
struct device_sharing {
    double share; /* 0: all of it */
    int64_t others;
};

void device_condition_note(struct device_condition *c, const struct device_reading *reading);

/* Over the whole time and all devices of an attempt; NAN where one of them does not say. */
double device_conditions_value(const struct device_condition *all, size_t count, enum device_quantity quantity);

/* Drops the power and energy of a device that is shared with others: nobody knows whose they are. */
void device_condition_share(struct device_condition *c);

/* {"0": {"model": "NVIDIA H100", "clock": 1755, …, "reasons": ["power cap"], "why": {"ecc": "not supported"}}}; NULL
 * where nothing was asked and the device not shared. `names`: "0,1", in their order. An attempt with a share of its
 * device has "share": 0.25, "shared_with": 3 (0: nobody else had any). The caller's. */
char *device_conditions_json(const struct device_condition *all, const char *names, size_t count,
                             struct device_sharing sharing);

/* Other attempts on devices of the same model; arrays of `count`, NAN where not known. They are sorted in place. */
struct device_peers {
    double *clocks, *throttled;
    size_t count;
};

/* How devices of that mean clock, slowed down in that share of the looks, were slower than the peers' beyond noise;
 * NULL: they were not, or there are too few peers to tell. Noise is five robust standard deviations (the median of
 * absolute deviations, times 1.4826) of the peers, and at least 3 % of their clock or 5 % of looks. The caller's. */
char *device_condition_unlike(double clock, double throttled, struct device_peers *peers);
