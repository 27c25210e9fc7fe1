/* A sweep's plans on another number of hosts or devices: one key gets one other value, and what counts devices as well
 * (data-parallel degrees, nodes) follows it in proportion. Where a global batch and its gradient accumulation are both
 * keys, the batch stays and the accumulation falls in that proportion; or that stays and the batch grows. */
#pragma once

#include "config/sweep.h"

struct scaled_key {
    enum section_kind section;
    char *name;
};

struct scaling {
    struct scaled_key key;
    int64_t value; /* from 1 */
    struct scaled_follower {
        struct scaled_key key;
        bool falls; /* else it grows as the key does */
    } * followers;
    size_t follower_count;
    struct scaled_key batch; /* the global batch, where the accumulation is a follower; name NULL: it is none */
};

void scaling_free(struct scaling *x);

bool scaling_is_key(const struct scaling *x, enum section_kind section, const char *name);
const struct scaled_follower *scaling_follower(const struct scaling *x, enum section_kind section,
                                               const char *name); /* or NULL */

/* The factor of a key that is `from`; 0: it is not a number above 0. */
double scaling_ratio(const struct scaling *x, const struct value *from);

/* A follower's value: `*v` times `ratio`, or by it, a whole number. False, with `*v` as it was: it would be none. */
bool scaling_follow(const struct scaled_follower *f, struct value *v, double ratio);

/* From now on the batch grows and the accumulation stays. False: there is no batch. */
bool scaling_let_batch_grow(struct scaling *x);

/* Changes the axes of the sections: those of the key have the one value, those of a follower each of their values as
 * it follows each ratio, where that is a whole number (rules then leave what goes together). An axis of which nothing
 * would be left stays as it is. */
void sweep_scale(struct sweep *s, const struct scaling *x);
