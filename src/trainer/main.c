/* meshsweep-trainer: options, training text, the loop over steps, and what it reports. */
#include <errno.h>
#include <malloc.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "trainer/model.h"

/* ---- options: one table has their names, ranges and help ---- */

struct options {
    struct model_shape shape;
    size_t global_batch, ranks, zero_stage, steps;
    size_t warmup_steps; /* not in the median; fewer than steps */
    double learning_rate;
    uint64_t seed;
    size_t device_memory_bytes; /* 0: without limit */
    const char *data_path;      /* NULL: generated text */
    const char *metrics_path;   /* NULL: none */
    bool help;
};

enum { WARMUP_DEFAULT = 2 };
static const struct options defaults = {
    .shape = {.layers = 2, .hidden = 64, .heads = 4, .seq = 64, .vocab = 256, .micro_batch = 4},
    .global_batch = 16,
    .ranks = 1,
    .steps = 20,
    .warmup_steps = SIZE_MAX,
    .learning_rate = 1e-3,
    .seed = 1,
};

enum kind { COUNT, RATE, SEED, SIZE, PATH, FLAG };

#define AT(field) offsetof(struct options, field)

/* The upper bounds keep every tensor's size well within 64 bits. */
static const struct option {
    const char *name;
    enum kind kind;
    size_t offset;
    long least, most;
    const char *value, *help;
} table[] = {
    {"layers", COUNT, AT(shape.layers), 1, 4096, " N", "transformer layers (default 2)"},
    {"hidden", COUNT, AT(shape.hidden), 1, 65536, " N", "width (default 64)"},
    {"heads", COUNT, AT(shape.heads), 1, 1024, " N", "attention heads; divides the width (default 4)"},
    {"seq", COUNT, AT(shape.seq), 1, 32768, " N", "tokens in a sequence (default 64)"},
    {"vocab", COUNT, AT(shape.vocab), 256, 65536, " N", "rows of the token table; tokens are bytes (default 256)"},
    {"micro-batch", COUNT, AT(shape.micro_batch), 1, 4096, " N", "sequences in one pass of one rank (default 4)"},
    {"global-batch", COUNT, AT(global_batch), 1, 1 << 24, " N", "sequences in one step of all ranks (default 16)"},
    {"ranks", COUNT, AT(ranks), 1, RANKS_MAX, " N", "data-parallel processes (default 1)"},
    {"zero-stage", COUNT, AT(zero_stage), 0, ZERO_LAST_STAGE, " N",
     "what is partitioned: 0 nothing, 1 optimizer state,\n                            2 also gradients, 3 also "
     "parameters (default 0)"},
    {"activation-checkpointing", FLAG, AT(shape.checkpointing), 0, 0, "",
     "keep only the layers' inputs and recompute the rest"},
    {"steps", COUNT, AT(steps), 1, 1 << 24, " N", "optimizer steps (default 20)"},
    {"warmup-steps", COUNT, AT(warmup_steps), 0, 1 << 24, " N", "steps left out of the median time (default 2)"},
    {"lr", RATE, AT(learning_rate), 0, 0, " X", "Adam's learning rate (default 1e-3)"},
    {"seed", SEED, AT(seed), 0, 0, " N", "of parameters, text and order of samples (default 1)"},
    {"device-memory", SIZE, AT(device_memory_bytes), 0, 0, " SIZE",
     "what a rank may allocate, such as 24MiB (default no limit)"},
    {"data", PATH, AT(data_path), 0, 0, " FILE", "train on its bytes instead of generated text"},
    {"metrics", PATH, AT(metrics_path), 0, 0, " FILE", "append JSON lines to it (default $MESHSWEEP_METRICS if set)"},
    {"help", FLAG, AT(help), 0, 0, "", "print this and exit"},
};
enum { OPTIONS = sizeof table / sizeof *table };

static void print_help(void)
{
    fputs("Usage: meshsweep-trainer [OPTIONS]\n"
          "Trains a byte-level transformer on the CPU, data-parallel over processes.\n\n",
          stdout);
    for (size_t i = 0; i < OPTIONS; i++) {
        char name[64];
        snprintf(name, sizeof name, "--%s%s", table[i].name, table[i].value);
        printf("  %-24s  %s\n", name, table[i].help);
    }
    fputs("\nExit status: 0 trained; 1 failed, as when a rank is out of device memory; 2 wrong use;\n"
          "128+n when signal n killed a rank.\n",
          stdout);
}

/* 0 if the text is no size. */
static size_t bytes_of(const char *text)
{
    static const struct {
        const char *name;
        double bytes;
    } units[] = {
        {"", 1},     {"B", 1},    {"KiB", 1024.0}, {"MiB", 1048576.0}, {"GiB", 1073741824.0},
        {"KB", 1e3}, {"MB", 1e6}, {"GB", 1e9},
    };
    char *end;
    double value = strtod(text, &end);
    for (size_t i = 0; end != text && i < sizeof units / sizeof *units; i++)
        if (strcmp(end + strspn(end, " "), units[i].name) == 0)
            return value * units[i].bytes >= 1 && value * units[i].bytes < 9e18 ? (size_t)(value * units[i].bytes) : 0;
    return 0;
}

static void read_value(struct options *o, const struct option *option, const char *text)
{
    static const char *const wanted[] = {
        [COUNT] = "a whole number",
        [RATE] = "a number above 0",
        [SEED] = "a whole number from 0",
        [SIZE] = "a size such as 24MiB, 1.5GiB or 500MB",
    };
    void *field = (char *)o + option->offset;
    char *end = "", range[64] = "";
    bool is_good = false;
    long count;
    errno = 0;
    switch (option->kind) {
    case COUNT:
        count = strtol(text, &end, 10);
        is_good = !errno && count >= option->least && count <= option->most;
        *(size_t *)field = (size_t)count;
        snprintf(range, sizeof range, " from %ld to %ld", option->least, option->most);
        break;
    case RATE:
        *(double *)field = strtod(text, &end);
        is_good = isfinite(*(double *)field) && *(double *)field > 0;
        break;
    case SEED:
        *(uint64_t *)field = strtoull(text, &end, 10);
        is_good = !errno && !strchr(text, '-');
        break;
    case SIZE:
        is_good = (*(size_t *)field = bytes_of(text)) > 0;
        break;
    case PATH:
        *(const char **)field = text;
        return;
    case FLAG:
        *(bool *)field = true;
        return;
    }
    if (end == text || *end || !is_good)
        die(STATUS_USAGE, "--%s %s: must be %s%s", option->name, text, wanted[option->kind], range);
}

/* Reads one option and its value, `--name value` or `--name=value`; returns what comes after. */
static char *const *read_option(struct options *o, char *const *argv)
{
    const char *argument = *argv++;
    const struct option *option = table;
    if (strncmp(argument, "--", 2) != 0)
        die(STATUS_USAGE, "unexpected argument '%s'; see --help", argument);
    const char *name = argument + 2;
    size_t length = strcspn(name, "=");
    while (option < table + OPTIONS && (strlen(option->name) != length || strncmp(option->name, name, length) != 0))
        option++;
    if (option == table + OPTIONS)
        die(STATUS_USAGE, "unknown option '%s'; see --help", argument);
    const char *value = name[length] ? name + length + 1 : NULL;
    if (option->kind == FLAG && value)
        die(STATUS_USAGE, "--%s takes no value", option->name);
    if (option->kind != FLAG && !value && !(value = *argv++))
        die(STATUS_USAGE, "--%s needs a value", option->name);
    read_value(o, option, value);
    return argv;
}

static void check_together(struct options *o)
{
    const struct model_shape *s = &o->shape;
    if (o->warmup_steps == defaults.warmup_steps)
        o->warmup_steps = o->steps > WARMUP_DEFAULT ? WARMUP_DEFAULT : o->steps - 1;
    if (o->warmup_steps >= o->steps)
        die(STATUS_USAGE, "--warmup-steps %zu leaves none of --steps %zu to measure", o->warmup_steps, o->steps);
    if (s->hidden % s->heads != 0)
        die(STATUS_USAGE, "--hidden %zu is not a multiple of --heads %zu", s->hidden, s->heads);
    if (o->global_batch % (s->micro_batch * o->ranks) != 0)
        die(STATUS_USAGE, "--global-batch %zu is not a multiple of --micro-batch %zu times --ranks %zu",
            o->global_batch, s->micro_batch, o->ranks);
}

/* Made by the launcher; each rank goes on with its own copy. */
struct job {
    struct options options;
    unsigned char *text;
    size_t text_bytes;
    struct device device;
    struct model model;
    unsigned char *tokens; /* of a micro-batch, and then its targets */
    FILE *metrics;         /* rank 0 appends to it; NULL: none */
    double *seconds;       /* of every step */
};

/* ---- the training text, read by all ranks ---- */

enum { GENERATED_BYTES = 256 * 1024, WORDS = 256, FOLLOWERS = 4, SYLLABLES_MAX = 3, WORD_BYTES = 16 };

static uint64_t random_below(uint64_t *random, uint64_t bound)
{
    return random_bits(random) % bound;
}

/* In an invented language of some hundred words, each with a few successors: a small model has something to learn. */
static void generate_text(struct job *job, uint64_t random)
{
    static const char consonants[] = "bdfgklmnprstvz", vowels[] = "aeiou";
    char words[WORDS][WORD_BYTES] = {0};
    unsigned char followers[WORDS][FOLLOWERS];
    job->text = malloc(GENERATED_BYTES + WORD_BYTES);
    if (!job->text)
        die(STATUS_FAILED, "no host memory for %d bytes of text", GENERATED_BYTES);
    for (int i = 0; i < WORDS; i++) {
        char *letter = words[i];
        for (uint64_t left = 1 + random_below(&random, SYLLABLES_MAX); left > 0; left--) {
            *letter++ = consonants[random_below(&random, sizeof consonants - 1)];
            *letter++ = vowels[random_below(&random, sizeof vowels - 1)];
        }
        for (int j = 0; j < FOLLOWERS; j++)
            followers[i][j] = (unsigned char)random_below(&random, WORDS);
    }
    for (int word = 0; job->text_bytes < GENERATED_BYTES; word = followers[word][random_below(&random, FOLLOWERS)])
        job->text_bytes += (size_t)sprintf((char *)job->text + job->text_bytes, "%s ", words[word]);
    job->text_bytes = GENERATED_BYTES;
}

static void read_text(struct job *job, const char *path, size_t least)
{
    size_t got = 0;
    FILE *file = fopen(path, "rbe");
    if (!file)
        die(STATUS_USAGE, "--data %s: %s", path, strerror(errno));
    do {
        job->text_bytes += got;
        job->text = realloc(job->text, 2 * job->text_bytes + 65536);
        if (!job->text)
            die(STATUS_FAILED, "no host memory for the text");
    } while ((got = fread(job->text + job->text_bytes, 1, job->text_bytes + 65536, file)) > 0);
    if (ferror(file))
        die(STATUS_FAILED, "--data %s: it cannot be read: %s", path, strerror(errno));
    if (job->text_bytes < least)
        die(STATUS_USAGE, "--data %s: it has %zu bytes and a sample needs %zu", path, job->text_bytes, least);
    fclose(file);
}

/* ---- training ---- */

static double now_seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* A sample is seq + 1 bytes, which depend on seed and number alone. */
static const unsigned char *sample_of(const struct job *job, size_t number)
{
    uint64_t random = job->options.seed ^ (number * 0xd1b54a32d192ed03u);
    return job->text + random_below(&random, job->text_bytes - job->options.shape.seq);
}

/* Samples are numbered rank by rank, in the order in which a single rank would use them. */
static real train_step(struct job *job, struct ranks *ranks, size_t step)
{
    const struct options *o = &job->options;
    size_t seq = o->shape.seq, samples = o->shape.micro_batch;
    unsigned char *targets = job->tokens + samples * seq;
    real loss = 0, scale = 1 / ((real)o->global_batch * (real)seq);
    for (size_t done = 0; done < o->global_batch; done += samples * o->ranks) {
        size_t first = (step - 1) * o->global_batch + done + (size_t)ranks->rank * samples;
        for (size_t i = 0; i < samples; i++) {
            memcpy(job->tokens + i * seq, sample_of(job, first + i), seq);
            memcpy(targets + i * seq, sample_of(job, first + i) + 1, seq);
        }
        real own_loss = model_pass(&job->model, job->tokens, targets, scale);
        ranks_exchange(ranks, ALL_REDUCE_ADD, &loss, &own_loss, 1);
    }
    zero_step(&job->model.zero, o->learning_rate, (int)step);
    ranks_barrier(ranks);
    return loss;
}

/* Output is flushed at once, because somebody may be following it. */
static void flush(const struct job *job)
{
    if (fflush(stdout) != 0 || ferror(stdout))
        die(STATUS_FAILED, "standard output: %s", strerror(errno));
    if (job->metrics && (fflush(job->metrics) != 0 || ferror(job->metrics)))
        die(STATUS_FAILED, "the metrics file: %s", strerror(errno));
}

static void report_step(const struct job *job, size_t step, double loss)
{
    double seconds = job->seconds[step - 1], throughput = (double)job->options.global_batch / seconds;
    if (!isfinite(loss))
        die(STATUS_FAILED, "the loss of step %zu is not finite; a lower --lr may help", step);
    printf("step %zu loss %.4f step_time %.6f s samples/s %.1f\n", step, loss, seconds, throughput);
    if (job->metrics)
        fprintf(job->metrics, "{\"step\": %zu, \"loss\": %.9g, \"step_time\": %.9g, \"throughput\": %.9g}\n", step,
                loss, seconds, throughput);
    flush(job);
}

static int compare_doubles(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Times are of the median step after the warm-up, peaks the highest of any rank. */
static void report_end(const struct job *job, const size_t peak[USES])
{
    static const char *const names[USES] = {[USE_TOTAL] = "",
                                            [USE_PARAMETERS] = "parameter_",
                                            [USE_GRADIENTS] = "gradient_",
                                            [USE_OPTIMIZER] = "optimizer_",
                                            [USE_ACTIVATIONS] = "activation_",
                                            [USE_BUFFERS] = "buffer_"};
    const struct options *o = &job->options;
    size_t count = o->steps - o->warmup_steps, parameters = model_parameters(&o->shape);
    double *measured = job->seconds + o->warmup_steps;
    qsort(measured, count, sizeof *measured, compare_doubles);
    double seconds = (measured[(count - 1) / 2] + measured[count / 2]) / 2;
    double throughput = (double)o->global_batch / seconds;
    printf("parameters %zu\nstep_time %.6f s\nthroughput %.1f samples/s\n", parameters, seconds, throughput);
    printf("tokens/s %.1f\n", throughput * (double)o->shape.seq);
    for (int i = 0; i < USES; i++)
        printf("peak_memory_%sbytes %zu\n", names[i], peak[i]);
    if (job->metrics) {
        fprintf(job->metrics, "{\"parameters\": %zu", parameters);
        for (int i = 0; i < USES; i++)
            fprintf(job->metrics, ", \"peak_memory_%sbytes\": %zu", names[i], peak[i]);
        fputs("}\n", job->metrics);
    }
    flush(job);
}

static void open_rank(struct job *job, struct ranks *ranks)
{
    const struct options *o = &job->options;
    /* Every pass allocates and frees blocks; returning them to the kernel each time would cost page faults. */
    mallopt(M_MMAP_THRESHOLD, 1 << 30);
    mallopt(M_TRIM_THRESHOLD, 1 << 30);
    job->seconds = calloc(o->steps, sizeof *job->seconds);
    if (!job->seconds)
        die(STATUS_FAILED, "no host memory for %zu step times", o->steps);
    if (ranks->rank == 0 && o->metrics_path && !(job->metrics = fopen(o->metrics_path, "ae")))
        die(STATUS_FAILED, "--metrics %s: %s", o->metrics_path, strerror(errno));
    job->device = (struct device){.rank = ranks->rank, .capacity = o->device_memory_bytes};
    device_reserve(&job->device, USE_BUFFERS, ranks->count > 1 ? RANKS_WINDOW_BYTES : 0);
    job->model.shape = o->shape;
    job->model.zero = (struct zero){.device = &job->device, .ranks = ranks, .stage = (int)o->zero_stage};
    model_open(&job->model, o->seed);
    job->tokens = device_alloc(&job->device, USE_BUFFERS, 2 * o->shape.micro_batch * o->shape.seq);
}

static void train(struct ranks *ranks, void *context)
{
    struct job *job = context;
    size_t peak[RANKS_MAX * USES];
    open_rank(job, ranks);
    for (size_t step = 1; step <= job->options.steps; step++) {
        double start = now_seconds();
        real loss = train_step(job, ranks, step);
        job->seconds[step - 1] = now_seconds() - start;
        if (ranks->rank == 0)
            report_step(job, step, loss);
    }
    ranks_exchange(ranks, ALL_GATHER, (real *)peak, (const real *)job->device.peak, USES * sizeof *peak / sizeof(real));
    for (int i = USES; i < ranks->count * USES; i++)
        if (peak[i] > peak[i % USES])
            peak[i % USES] = peak[i];
    if (ranks->rank == 0)
        report_end(job, peak);
}

int main(int argc, char **argv)
{
    struct job job = {.options = defaults};
    struct options *o = &job.options;
    struct ranks ranks = {0};
    const char *metrics = getenv("MESHSWEEP_METRICS");
    for (char *const *at = argv + (argc > 0); *at && !o->help;)
        at = read_option(o, at);
    if (o->help) {
        print_help();
        return STATUS_OK;
    }
    check_together(o);
    if (!o->metrics_path && metrics && *metrics)
        o->metrics_path = metrics;
    if (o->data_path)
        read_text(&job, o->data_path, o->shape.seq + 1);
    else
        generate_text(&job, o->seed);
    ranks.count = (int)o->ranks;
    ranks_run(&ranks, train, &job);
    free(job.text);
    return STATUS_OK;
}
