#include "device/condition.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "util/buffer.h"
#include "util/memory.h"
#include "util/quantile.h"

/* How readings become one number, over time and over devices. */
enum fold { FOLD_MEAN = 1, FOLD_LEAST, FOLD_MOST, FOLD_SUM, FOLD_RISE };

static const struct {
    const char *name;
    enum fold over_time, over_devices;
} quantities[DEVICE_QUANTITY_COUNT] = {
    [DEVICE_CLOCK] = {"clock", FOLD_MEAN, FOLD_MEAN},
    [DEVICE_CLOCK_LEAST] = {"clock_least", FOLD_LEAST, FOLD_LEAST},
    [DEVICE_TEMPERATURE] = {"temperature", FOLD_MOST, FOLD_MOST},
    [DEVICE_POWER] = {"power", FOLD_MEAN, FOLD_SUM},
    [DEVICE_ENERGY] = {"energy", FOLD_RISE, FOLD_SUM},
    [DEVICE_THROTTLED] = {"throttled", FOLD_MEAN, FOLD_MOST},
    [DEVICE_ECC] = {"ecc", FOLD_RISE, FOLD_SUM},
    [DEVICE_POWER_LIMIT] = {"power_limit", FOLD_LEAST, FOLD_LEAST},
};

/* nvmlClocksEventReasons of nvml.h. */
static const struct {
    uint64_t bit;
    const char *name;
} reasons[] = {{0x1, "idle"},     {0x2, "applications clocks"}, {0x4, "power cap"},
               {0x8, "hardware"}, {0x10, "sync boost"},         {0x20, "software thermal"},
               {0x40, "thermal"}, {0x80, "power brake"},        {0x100, "display clocks"}};

void device_condition_note(struct device_condition *c, const struct device_reading *reading)
{
    for (int q = 0; q < DEVICE_QUANTITY_COUNT; q++) {
        const double value = reading->values[q];
        if (isnan(value)) {
            c->of[q].why = reading->why[q];
            continue;
        }
        const bool is_first = c->of[q].count++ == 0;
        c->of[q].first = is_first ? value : c->of[q].first;
        c->of[q].last = value;
        c->of[q].sum += value;
        c->of[q].least = is_first || value < c->of[q].least ? value : c->of[q].least;
        c->of[q].most = is_first || value > c->of[q].most ? value : c->of[q].most;
    }
    c->reasons |= reading->reasons;
    memcpy(c->model, reading->model, sizeof c->model);
}

/* Over the whole time; NAN: not known. */
static double value_of(const struct device_condition *c, enum device_quantity quantity)
{
    if (c->of[quantity].count == 0)
        return NAN;
    switch (quantities[quantity].over_time) {
    case FOLD_LEAST:
        return c->of[quantity].least;
    case FOLD_MOST:
        return c->of[quantity].most;
    case FOLD_SUM:
        return c->of[quantity].sum;
    case FOLD_RISE:
        /* A counter that began anew meanwhile tells nothing. */
        return c->of[quantity].last >= c->of[quantity].first ? c->of[quantity].last - c->of[quantity].first : NAN;
    case FOLD_MEAN:
        break;
    }
    return c->of[quantity].sum / (double)c->of[quantity].count;
}

double device_conditions_value(const struct device_condition *all, size_t count, enum device_quantity quantity)
{
    struct device_condition over = {0};
    const enum fold fold = quantities[quantity].over_devices;
    double sum = 0;
    for (size_t i = 0; i < count; i++) {
        const double value = value_of(&all[i], quantity);
        if (isnan(value))
            return NAN;
        sum += value;
        over.of[quantity].least = i == 0 || value < over.of[quantity].least ? value : over.of[quantity].least;
        over.of[quantity].most = i == 0 || value > over.of[quantity].most ? value : over.of[quantity].most;
    }
    if (count == 0)
        return NAN;
    return fold == FOLD_LEAST  ? over.of[quantity].least
           : fold == FOLD_MOST ? over.of[quantity].most
           : fold == FOLD_SUM  ? sum
                               : sum / (double)count;
}

static void add_why(const struct device_condition *c, struct buffer *b)
{
    bool any = false;
    for (int q = 0; q < DEVICE_QUANTITY_COUNT; q++) {
        if (!isnan(value_of(c, (enum device_quantity)q)) || !c->of[q].why)
            continue;
        buffer_printf(b, "%s\"%s\":\"%s\"", any ? "," : ",\"why\":{", quantities[q].name, c->of[q].why);
        any = true;
    }
    buffer_add_text(b, any ? "}" : "");
}

static void add_device(const struct device_condition *c, struct buffer *b)
{
    bool any = false;
    buffer_add_text(b, "{\"model\":");
    buffer_add_json_string(b, c->model, strlen(c->model));
    for (int q = 0; q < DEVICE_QUANTITY_COUNT; q++) {
        const double value = value_of(c, (enum device_quantity)q);
        buffer_printf(b, ",\"%s\":", quantities[q].name);
        if (isnan(value))
            buffer_add_text(b, "null");
        else
            buffer_printf(b, "%.6g", value);
    }
    buffer_add_text(b, ",\"reasons\":[");
    for (size_t i = 0; i < LENGTH(reasons); i++)
        if (c->reasons & reasons[i].bit) {
            buffer_printf(b, "%s\"%s\"", any ? "," : "", reasons[i].name);
            any = true;
        }
    buffer_add_char(b, ']');
    add_why(c, b);
    buffer_add_char(b, '}');
}

void device_condition_share(struct device_condition *c)
{
    static const char why[] = "of all jobs on the device";
    c->of[DEVICE_POWER].count = c->of[DEVICE_ENERGY].count = 0;
    c->of[DEVICE_POWER].why = c->of[DEVICE_ENERGY].why = why;
}

char *device_conditions_json(const struct device_condition *all, const char *names, size_t count,
                             struct device_sharing sharing)
{
    struct buffer b = BUFFER_INIT;
    for (size_t i = 0; i < count && names; i++, names += strcspn(names, ","), names += *names == ',') {
        if (!all[i].model[0])
            continue;
        buffer_add_text(&b, b.length ? "," : "{");
        buffer_add_json_string(&b, names, strcspn(names, ","));
        buffer_add_char(&b, ':');
        add_device(&all[i], &b);
    }
    if (sharing.share > 0)
        buffer_printf(&b, "%s\"share\":%.6g,\"shared_with\":%lld", b.length ? "," : "{", sharing.share,
                      (long long)sharing.others);
    if (b.length == 0)
        return NULL;
    buffer_add_char(&b, '}');
    return buffer_take(&b);
}

/* --- against others --- */

#define PEERS_LEAST 4
#define DEVIATIONS 5
#define DEVIATION_OF_MEDIAN 1.4826 /* of normal noise */

/* Moves what is known of them to the front, and counts it. */
static size_t keep_known(double *values, size_t count)
{
    size_t known = 0;
    for (size_t i = 0; i < count; i++)
        if (!isnan(values[i]))
            values[known++] = values[i];
    return known;
}

/* By how much they differ among themselves. */
static double noise_of(const double *values, size_t count, double least)
{
    const double middle = median(values, count);
    OWNED double *deviations = xcalloc(count, sizeof *deviations);
    for (size_t i = 0; i < count; i++)
        deviations[i] = fabs(values[i] - middle);
    const double noise = DEVIATIONS * DEVIATION_OF_MEDIAN * median(deviations, count);
    return noise > least ? noise : least;
}

char *device_condition_unlike(double clock, double throttled, struct device_peers *peers)
{
    struct buffer b = BUFFER_INIT;
    const size_t clocks = keep_known(peers->clocks, peers->count), shares = keep_known(peers->throttled, peers->count);
    if (clocks >= PEERS_LEAST && clock > 0) {
        const double usual = median(peers->clocks, clocks);
        if (clock < usual - noise_of(peers->clocks, clocks, 0.03 * usual))
            buffer_printf(&b, "clock %.0f MHz, %.0f MHz usually", clock, usual);
    }
    if (shares >= PEERS_LEAST && throttled > 0) {
        const double usual = median(peers->throttled, shares);
        if (throttled > usual + noise_of(peers->throttled, shares, 0.05))
            buffer_printf(&b, "%sslowed down %.0f %% of the time, %.0f %% usually", b.length ? "; " : "",
                          100 * throttled, 100 * usual);
    }
    return b.length ? buffer_take(&b) : NULL;
}
