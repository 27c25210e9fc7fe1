#include "report/prometheus.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "report/text.h"
#include "util/decimal.h"

/* One metric family; its samples have the same name. */
struct family {
    const char *name, *type, *help;
    void (*add)(const struct family *f, const struct sweep_status *s, int64_t now_ms, struct buffer *out);
};

/* Backslashes, quotes and line ends are escaped in a label's value; nothing else is. */
static void add_label(struct buffer *out, const char *name, const char *value)
{
    struct buffer valid = BUFFER_INIT;
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
    buffer_free(&valid);
}

/* A label in addition to the sweep; `name` NULL: none. */
struct label {
    const char *name, *value;
};

static void begin_sample(const struct family *f, const struct sweep_status *s, struct label l, struct buffer *out)
{
    buffer_printf(out, "%s{", f->name);
    add_label(out, "sweep", s->name);
    if (l.name) {
        buffer_add_char(out, ',');
        add_label(out, l.name, l.value);
    }
    buffer_add_text(out, "} ");
}

static void add_count(const struct family *f, const struct sweep_status *s, struct label l, int64_t value,
                      struct buffer *out)
{
    begin_sample(f, s, l, out);
    buffer_printf(out, "%" PRId64 "\n", value);
}

/* NaN means not known. */
static void add_number(const struct family *f, const struct sweep_status *s, struct label l, double value,
                       struct buffer *out)
{
    if (isnan(value))
        return;
    char text[DECIMAL_BYTES];
    decimal_from_double(value, text);
    begin_sample(f, s, l, out);
    buffer_printf(out, "%s\n", text);
}

static void add_info(const struct family *f, const struct sweep_status *s, int64_t now_ms, struct buffer *out)
{
    (void)now_ms;
    add_count(f, s, (struct label){"version", MESHSWEEP_VERSION}, 1, out);
}

static void add_jobs(const struct family *f, const struct sweep_status *s, int64_t now_ms, struct buffer *out)
{
    (void)now_ms;
    const struct {
        const char *state;
        int64_t jobs;
    } states[] = {
        {"pending", s->pending}, {"running", s->running}, {"ok", s->ok},
        {"failed", s->failed},   {"pruned", s->pruned},   {"held", s->held},
    };
    for (size_t i = 0; i < sizeof states / sizeof *states; i++)
        add_count(f, s, (struct label){"state", states[i].state}, states[i].jobs, out);
}

static void add_failed(const struct family *f, const struct sweep_status *s, int64_t now_ms, struct buffer *out)
{
    (void)now_ms;
    for (size_t i = 0; i < s->class_count; i++)
        add_count(f, s, (struct label){"failure", s->classes[i].name}, s->classes[i].jobs, out);
}

static void add_best(const struct family *f, const struct sweep_status *s, int64_t now_ms, struct buffer *out)
{
    (void)now_ms;
    if (s->has_best)
        add_number(f, s, (struct label){"metric", s->objective}, s->best, out);
}

static void add_best_job(const struct family *f, const struct sweep_status *s, int64_t now_ms, struct buffer *out)
{
    (void)now_ms;
    if (s->has_best)
        add_count(f, s, (struct label){NULL, NULL}, s->best_job, out);
}

static void add_device_seconds(const struct family *f, const struct sweep_status *s, int64_t now_ms, struct buffer *out)
{
    (void)now_ms;
    add_number(f, s, (struct label){NULL, NULL}, s->device_hours * 3600, out);
}

static void add_device_seconds_left(const struct family *f, const struct sweep_status *s, int64_t now_ms,
                                    struct buffer *out)
{
    (void)now_ms;
    add_number(f, s, (struct label){NULL, NULL}, s->device_hours_left * 3600, out);
}

static void add_eta(const struct family *f, const struct sweep_status *s, int64_t now_ms, struct buffer *out)
{
    int64_t eta_ms = status_eta_ms(s, now_ms);
    if (eta_ms >= 0)
        add_number(f, s, (struct label){NULL, NULL}, (double)eta_ms / 1000, out);
}

static void add_written(const struct family *f, const struct sweep_status *s, int64_t now_ms, struct buffer *out)
{
    add_number(f, s, (struct label){NULL, NULL}, (double)now_ms / 1000, out);
}

static const struct family families[] = {
    {"meshsweep_info", "gauge", "The version of meshsweep that wrote this file.", add_info},
    {"meshsweep_jobs", "gauge", "Jobs of the sweep by state.", add_jobs},
    {"meshsweep_failed_jobs", "gauge", "Failed jobs by failure class.", add_failed},
    {"meshsweep_best", "gauge", "The best value of the objective so far.", add_best},
    {"meshsweep_best_job", "gauge", "The number of the job with the best value.", add_best_job},
    {"meshsweep_device_seconds", "gauge", "Device-seconds of all attempts that have ended.", add_device_seconds},
    {"meshsweep_device_seconds_left", "gauge", "Estimated device-seconds of jobs that are not done.",
     add_device_seconds_left},
    {"meshsweep_eta_seconds", "gauge", "Estimated time until all jobs are done.", add_eta},
    {"meshsweep_written_timestamp_seconds", "gauge", "Time at which this file was written.", add_written},
};

void prometheus_add(const struct sweep_status *s, int64_t now_ms, struct buffer *out)
{
    struct buffer samples = BUFFER_INIT;
    for (size_t i = 0; i < sizeof families / sizeof *families; i++) {
        buffer_clear(&samples);
        families[i].add(&families[i], s, now_ms, &samples);
        if (samples.length)
            buffer_printf(out, "# HELP %s %s\n# TYPE %s %s\n%s", families[i].name, families[i].help, families[i].name,
                          families[i].type, buffer_text(&samples));
    }
    buffer_free(&samples);
}
