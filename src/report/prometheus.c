#include "report/exports.h"

#include <math.h>
#include <string.h>

#include "report/text.h"
#include "util/decimal.h"

/* Backslashes, quotes and line ends are escaped in a label's value; nothing else is. */
static void add_label(struct buffer *out, const char *name, const char *value)
{
    OWNED_BUFFER valid = BUFFER_INIT;
    text_add_valid(&valid, value, strlen(value));
    buffer_printf(out, "%s=\"", name);
    for (const char *c = buffer_text(&valid); *c; c++) {
        if (*c == '\\' || *c == '"')
            buffer_add_char(out, '\\');
        if (*c == '\n')
            buffer_add_text(out, "\\n");
        else
            buffer_add_char(out, *c);
    }
    buffer_add_char(out, '"');
}

struct scrape {
    const cJSON *status;
    const char *name, *help; /* of the family that is written; samples have its name */
    bool is_begun;           /* it has a sample */
    struct buffer *out;
};

static void add_family(struct scrape *x, const char *name, const char *help)
{
    x->name = name;
    x->help = help;
    x->is_begun = false;
}

/* A sample with a label in addition to the sweep; `label` NULL: none. */
static void add_sample(struct scrape *x, const char *label, const char *value, const char *number)
{
    if (!x->is_begun)
        buffer_printf(x->out, "# HELP %s %s\n# TYPE %s gauge\n", x->name, x->help, x->name);
    x->is_begun = true;
    buffer_printf(x->out, "%s{", x->name);
    add_label(x->out, "sweep", json_text_or(x->status, "sweep", ""));
    if (label) {
        buffer_add_char(x->out, ',');
        add_label(x->out, label, value);
    }
    buffer_printf(x->out, "} %s\n", number);
}

static void add_count(struct scrape *x, const char *label, const char *value, int64_t count)
{
    char text[DECIMAL_BYTES];
    decimal_from_int64(count, text);
    add_sample(x, label, value, text);
}

/* NaN means not known. */
static void add_real(struct scrape *x, const char *label, const char *value, double real)
{
    char text[DECIMAL_BYTES];
    if (isnan(real))
        return;
    decimal_from_double(real, text);
    add_sample(x, label, value, text);
}

void prometheus_add(const cJSON *status, int64_t now_ms, struct buffer *out)
{
    static const char *const states[] = {"pending", "running", "waiting", "ok", "failed", "pruned", "held"};
    const cJSON *counts = cJSON_GetObjectItemCaseSensitive(status, "states"), *class;
    const cJSON *best = cJSON_GetObjectItemCaseSensitive(status, "best");
    struct scrape x = {.status = status, .out = out};
    add_family(&x, "meshsweep_info", "The version of meshsweep that wrote this file.");
    add_count(&x, "version", MESHSWEEP_VERSION, 1);
    add_family(&x, "meshsweep_jobs", "Jobs of the sweep by state.");
    for (size_t i = 0; i < sizeof states / sizeof *states; i++)
        add_count(&x, "state", states[i], json_count_of(counts, states[i]));
    add_family(&x, "meshsweep_failed_jobs", "Failed jobs by failure class.");
    cJSON_ArrayForEach(class, cJSON_GetObjectItemCaseSensitive(status, "failure_classes"))
        add_count(&x, "failure", class->string, (int64_t) class->valuedouble);
    if (cJSON_IsObject(best)) {
        add_family(&x, "meshsweep_best", "The best value of the objective so far.");
        add_real(&x, "metric", json_text_of(best, "objective"), json_real_of(best, "value"));
        add_family(&x, "meshsweep_best_job", "The number of the job with the best value.");
        add_count(&x, NULL, NULL, json_count_of(best, "job"));
    }
    add_family(&x, "meshsweep_device_seconds", "Device-seconds of all attempts that have ended.");
    add_real(&x, NULL, NULL, json_real_of(status, "device_hours") * 3600);
    add_family(&x, "meshsweep_device_seconds_left", "Estimated device-seconds of jobs that are not done.");
    add_real(&x, NULL, NULL, json_real_of(status, "device_hours_left") * 3600);
    add_family(&x, "meshsweep_eta_seconds", "Estimated time until all jobs are done.");
    add_real(&x, NULL, NULL, json_real_of(status, "eta_ms") / 1000);
    add_family(&x, "meshsweep_written_timestamp_seconds", "Time at which this file was written.");
    add_real(&x, NULL, NULL, (double)now_ms / 1000);
}
