#include "trainer/train.h"

#include <malloc.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "trainer/model.h"
#include "trainer/report.h"

struct trainer {
    const struct train_job *job;
    struct collective collective;
    struct device device;
    struct zero zero;
    struct model model;
    struct adam adam;
    struct report report;
    unsigned char *tokens; /* a micro-batch of tokens, then one of targets */
};

static double now_seconds(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static struct model_shape shape_of(const struct options *o)
{
    return (struct model_shape){o->layers, o->hidden, o->heads, o->seq, o->vocab};
}

/* Rank 0's initial values are broadcast one unit at a time, so that no rank needs room for the whole model. */
static int load_parameters(struct trainer *t, struct error *e)
{
    for (int unit = 0; unit < t->zero.unit_count; unit++) {
        size_t count = zero_padded(&t->zero, unit);
        real *values = device_alloc(&t->device, DEVICE_BUFFERS, count * sizeof *values, e);
        if (!values)
            return -1;
        if (t->collective.rank == 0)
            model_init_unit(&t->model.shape, unit, t->job->options->seed, values);
        collective_broadcast(&t->collective, values, count, 0);
        zero_load(&t->zero, unit, values);
        device_free(&t->device, values);
    }
    return 0;
}

static int open_zero(struct trainer *t, struct error *e)
{
    const struct model_shape *shape = &t->model.shape;
    int units = model_unit_count(shape);
    size_t *sizes = calloc((size_t)units, sizeof *sizes);
    struct zero_setup setup = {t->job->options->zero_stage, sizes, units, &t->device, &t->collective};

    if (!sizes)
        return error_set(e, STATUS_FAILED, "no host memory for %d units", units);
    for (int i = 0; i < units; i++)
        sizes[i] = model_unit_parameters(shape, i);
    int result = zero_open(&t->zero, &setup, e);
    free(sizes);
    return result;
}

static void describe(struct trainer *t)
{
    const struct options *o = t->job->options;

    t->model = (struct model){shape_of(o), o->micro_batch, o->checkpointing, &t->zero, &t->device};
    t->adam = adam_defaults(o->learning_rate);
    t->report = (struct report){
        .steps = o->steps,
        .warmup_steps = o->warmup_steps,
        .samples_per_step = o->global_batch,
        .tokens_per_sample = o->seq,
    };
}

static int trainer_open(struct trainer *t, const struct train_job *job, int rank, struct error *e)
{
    const struct options *o = job->options;

    *t = (struct trainer){.job = job};
    collective_join(&t->collective, job->group, rank);
    device_open(&t->device, rank, o->device_memory_bytes);
    describe(t);
    if (rank == 0 && report_open(&t->report, o->metrics_path, e) < 0)
        return -1;
    if (device_reserve(&t->device, DEVICE_BUFFERS, collective_window_bytes(o->ranks), e) < 0)
        return -1;
    if (open_zero(t, e) < 0 || load_parameters(t, e) < 0)
        return -1;
    t->tokens = device_alloc(&t->device, DEVICE_BUFFERS, 2 * (size_t)o->micro_batch * (size_t)o->seq, e);
    return t->tokens ? 0 : -1;
}

static void trainer_close(struct trainer *t)
{
    device_free(&t->device, t->tokens);
    zero_close(&t->zero);
    report_close(&t->report);
}

/* The samples of one micro-batch, numbered rank by rank, in the order in which a single rank would use them. */
static struct model_batch load_batch(struct trainer *t, int step, int micro_step)
{
    const struct options *o = t->job->options;
    size_t seq = (size_t)o->seq, tokens = (size_t)o->micro_batch * seq;
    uint64_t micro_batch = (uint64_t)micro_step * (uint64_t)o->ranks + (uint64_t)t->collective.rank;
    uint64_t first = (uint64_t)(step - 1) * (uint64_t)o->global_batch + micro_batch * (uint64_t)o->micro_batch;

    for (size_t i = 0; i < (size_t)o->micro_batch; i++) {
        const unsigned char *sample = corpus_sample(t->job->corpus, o->seed, first + i, seq);
        memcpy(t->tokens + i * seq, sample, seq);
        memcpy(t->tokens + tokens + i * seq, sample + 1, seq);
    }
    return (struct model_batch){t->tokens, t->tokens + tokens, 1 / ((real)o->global_batch * (real)o->seq)};
}

static int train_step(struct trainer *t, int step, real *loss, struct error *e)
{
    *loss = 0;
    for (int i = 0; i < options_accumulation(t->job->options); i++) {
        struct model_batch batch = load_batch(t, step, i);
        real own_loss;
        if (model_pass(&t->model, &batch, &own_loss, e) < 0)
            return -1;
        collective_all_reduce_add(&t->collective, loss, &own_loss, 1);
    }
    zero_step(&t->zero, &t->adam, step);
    collective_barrier(&t->collective);
    return 0;
}

static int train_steps(struct trainer *t, struct error *e)
{
    for (int step = 1; step <= t->job->options->steps; step++) {
        real loss;
        double start_seconds = now_seconds();
        if (train_step(t, step, &loss, e) < 0)
            return -1;
        struct report_step done = {step, loss, now_seconds() - start_seconds};
        if (t->collective.rank == 0 && report_step(&t->report, &done, e) < 0)
            return -1;
    }
    return 0;
}

static int summarise(struct trainer *t, struct error *e)
{
    struct report_summary summary = {
        .parameters = model_parameters(&t->model.shape),
        .peak_bytes = collective_max(&t->collective, t->device.peak_bytes),
    };

    for (int i = 0; i < DEVICE_USES; i++)
        summary.peak_by[i] = collective_max(&t->collective, t->device.peak_by[i]);
    return t->collective.rank == 0 ? report_summary(&t->report, &summary, e) : 0;
}

/* Every pass allocates and frees blocks; returning them to the kernel each time would cost page faults. */
static void keep_freed_memory(void)
{
    mallopt(M_MMAP_THRESHOLD, 1 << 30);
    mallopt(M_TRIM_THRESHOLD, 1 << 30);
}

int train_rank(const struct train_job *job, int rank, struct error *e)
{
    struct trainer t;
    int result = -1;

    keep_freed_memory();
    if (trainer_open(&t, job, rank, e) < 0)
        goto out;
    if (train_steps(&t, e) < 0)
        goto out;
    result = summarise(&t, e);
out:
    trainer_close(&t);
    return result;
}
