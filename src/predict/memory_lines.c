#include "predict/memory_lines.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "util/hash.h"
#include "util/memory.h"

#define SLOTS (2 * MEMORY_LINES_MOST) /* a power of two */

struct class_points {
    uint64_t class;
    size_t count; /* measurements added; 0: the slot is free */
    double micro_batch[MEMORY_LINE_POINTS], bytes[MEMORY_LINE_POINTS];
};

struct memory_lines {
    struct class_points slots[SLOTS];
    size_t used;
};

struct memory_lines *memory_lines_create(void)
{
    return xcalloc(1, sizeof(struct memory_lines));
}

void memory_lines_free(struct memory_lines *l)
{
    free(l);
}

uint64_t memory_class(const struct input_value *values, const struct subject *s)
{
    static const bool skipped[INPUT_COUNT] =
        {[AT_MICRO_BATCH] = true, [AT_GRADIENT_ACCUMULATION] = true, [AT_GLOBAL_BATCH] = true, [AT_STEPS] = true};
    struct buffer b = BUFFER_INIT;
    double in_flight = plan_in_flight(&s->plan, 0);
    uint64_t class;
    for (size_t i = 0; i < INPUT_COUNT; i++) {
        if (skipped[i] || values[i].kind == INPUT_ABSENT)
            continue;
        buffer_add(&b, &i, sizeof i);
        if (values[i].kind == INPUT_TEXT)
            buffer_add(&b, values[i].text, strlen(values[i].text) + 1);
        else
            buffer_add(&b, &values[i].number, sizeof values[i].number);
    }
    buffer_add(&b, &in_flight, sizeof in_flight);
    const struct hash128 hash = hash_bytes(b.data, b.length);
    buffer_free(&b);
    memcpy(&class, hash.bytes, sizeof class);
    return class;
}

/* The class's slot, or the free one for it. At most half of the slots are taken. */
static size_t slot_of(const struct memory_lines *l, uint64_t class)
{
    size_t i = (size_t)(class & (SLOTS - 1));
    while (l->slots[i].count > 0 && l->slots[i].class != class)
        i = (i + 1) & (SLOTS - 1);
    return i;
}

void memory_lines_add(struct memory_lines *l, uint64_t class, double micro_batch, double bytes)
{
    struct class_points *c = &l->slots[slot_of(l, class)];
    if (c->count == 0 && l->used == MEMORY_LINES_MOST)
        return;
    l->used += c->count == 0;
    c->class = class;
    c->micro_batch[c->count % MEMORY_LINE_POINTS] = micro_batch;
    c->bytes[c->count++ % MEMORY_LINE_POINTS] = bytes;
}

bool memory_lines_bytes(const struct memory_lines *l, uint64_t class, double micro_batch, double *bytes)
{
    const struct class_points *c = &l->slots[slot_of(l, class)];
    const size_t count = c->count < MEMORY_LINE_POINTS ? c->count : MEMORY_LINE_POINTS;
    double smallest = INFINITY, largest = 0, mean_x = 0, mean_y = 0, xx = 0, xy = 0;
    for (size_t i = 0; i < count; i++) {
        smallest = fmin(smallest, c->micro_batch[i]);
        largest = fmax(largest, c->micro_batch[i]);
        mean_x += c->micro_batch[i] / (double)count;
        mean_y += c->bytes[i] / (double)count;
    }
    for (size_t i = 0; i < count; i++) {
        xx += (c->micro_batch[i] - mean_x) * (c->micro_batch[i] - mean_x);
        xy += (c->micro_batch[i] - mean_x) * (c->bytes[i] - mean_y);
    }
    const double slope = xy / xx, base = mean_y - slope * mean_x;
    if (!(slope > 0 && isfinite(slope) && base >= 0) || micro_batch < smallest / 2 || micro_batch > 2 * largest)
        return false;
    *bytes = base + slope * micro_batch;
    return true;
}
