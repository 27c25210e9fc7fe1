#include "trainer/options.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "trainer/collective.h"
#include "trainer/zero.h"

enum { WARMUP_NOT_GIVEN = -1, WARMUP_DEFAULT = 2 };

enum kind { KIND_INT, KIND_REAL, KIND_SEED, KIND_SIZE, KIND_PATH, KIND_FLAG };

struct option_entry {
    const char *name;
    enum kind kind;
    size_t offset;
    long least;
    long most;
    const char *value;
    const char *help;
};

#define AT(field) offsetof(struct options, field)

/* The upper bounds keep every tensor's size well within 64 bits. */
static const struct option_entry entries[] = {
    {"layers", KIND_INT, AT(layers), 1, 4096, "N", "transformer layers (default 2)"},
    {"hidden", KIND_INT, AT(hidden), 1, 65536, "N", "width (default 64)"},
    {"heads", KIND_INT, AT(heads), 1, 1024, "N", "attention heads; divides the width (default 4)"},
    {"seq", KIND_INT, AT(seq), 1, 32768, "N", "tokens in a sequence (default 64)"},
    {"vocab", KIND_INT, AT(vocab), 256, 65536, "N", "rows of the token table; tokens are bytes (default 256)"},
    {"micro-batch", KIND_INT, AT(micro_batch), 1, 4096, "N", "sequences in one pass of one rank (default 4)"},
    {"global-batch", KIND_INT, AT(global_batch), 1, 1 << 24, "N", "sequences in one step of all ranks (default 16)"},
    {"ranks", KIND_INT, AT(ranks), 1, COLLECTIVE_MAX_RANKS, "N", "data-parallel processes (default 1)"},
    {"zero-stage", KIND_INT, AT(zero_stage), 0, ZERO_LAST_STAGE, "N",
     "what is partitioned: 0 nothing, 1 optimizer state,\n2 also gradients, 3 also parameters (default 0)"},
    {"activation-checkpointing", KIND_FLAG, AT(checkpointing), 0, 0, NULL,
     "keep only the layers' inputs and recompute the rest"},
    {"steps", KIND_INT, AT(steps), 1, 1 << 24, "N", "optimizer steps (default 20)"},
    {"warmup-steps", KIND_INT, AT(warmup_steps), 0, 1 << 24, "N", "steps left out of the median time (default 2)"},
    {"lr", KIND_REAL, AT(learning_rate), 0, 0, "X", "Adam's learning rate (default 1e-3)"},
    {"seed", KIND_SEED, AT(seed), 0, 0, "N", "of parameters, text and order of samples (default 1)"},
    {"device-memory", KIND_SIZE, AT(device_memory_bytes), 0, 0, "SIZE",
     "what a rank may allocate, such as 24MiB (default no limit)"},
    {"data", KIND_PATH, AT(data_path), 0, 0, "FILE", "train on its bytes instead of generated text"},
    {"metrics", KIND_PATH, AT(metrics_path), 0, 0, "FILE",
     "append JSON lines to it (default $MESHSWEEP_METRICS if set)"},
    {"help", KIND_FLAG, AT(help), 0, 0, NULL, "print this and exit"},
};
enum { ENTRIES = sizeof entries / sizeof *entries };

static const struct options defaults = {
    .layers = 2,
    .hidden = 64,
    .heads = 4,
    .seq = 64,
    .vocab = 256,
    .micro_batch = 4,
    .global_batch = 16,
    .ranks = 1,
    .steps = 20,
    .warmup_steps = WARMUP_NOT_GIVEN,
    .learning_rate = 1e-3,
    .seed = 1,
};

static const struct {
    const char *name;
    double bytes;
} size_units[] = {
    {"", 1},     {"B", 1},    {"KiB", 1024.0}, {"MiB", 1048576.0}, {"GiB", 1073741824.0},
    {"KB", 1e3}, {"MB", 1e6}, {"GB", 1e9},
};

static int bad_value(const struct option_entry *entry, const char *text, const char *wanted, struct error *e)
{
    return error_set(e, STATUS_USAGE, "--%s %s: must be %s", entry->name, text, wanted);
}

static int read_int(const struct option_entry *entry, const char *text, int *out, struct error *e)
{
    char *end, range[64];
    errno = 0;
    long value = strtol(text, &end, 10);

    if (end == text || *end || errno || value < entry->least || value > entry->most) {
        snprintf(range, sizeof range, "a whole number from %ld to %ld", entry->least, entry->most);
        return bad_value(entry, text, range, e);
    }
    *out = (int)value;
    return 0;
}

static int read_real(const struct option_entry *entry, const char *text, double *out, struct error *e)
{
    char *end;
    double value = strtod(text, &end);

    if (end == text || *end || !isfinite(value) || value <= 0)
        return bad_value(entry, text, "a number above 0", e);
    *out = value;
    return 0;
}

static int read_seed(const struct option_entry *entry, const char *text, uint64_t *out, struct error *e)
{
    char *end;
    errno = 0;
    unsigned long long value = strtoull(text, &end, 10);

    if (end == text || *end || errno || strchr(text, '-'))
        return bad_value(entry, text, "a whole number from 0", e);
    *out = value;
    return 0;
}

static int read_size(const struct option_entry *entry, const char *text, size_t *out, struct error *e)
{
    char *end;
    double value = strtod(text, &end);
    const char *unit = end + strspn(end, " ");

    for (size_t i = 0; end != text && i < sizeof size_units / sizeof *size_units; i++) {
        double bytes = value * size_units[i].bytes;
        if (strcmp(unit, size_units[i].name) != 0)
            continue;
        if (!(bytes >= 1 && bytes < 9e18))
            break;
        *out = (size_t)bytes;
        return 0;
    }
    return bad_value(entry, text, "a size such as 24MiB, 1.5GiB or 500MB", e);
}

static int read_value(struct options *o, const struct option_entry *entry, const char *text, struct error *e)
{
    void *field = (char *)o + entry->offset;

    switch (entry->kind) {
    case KIND_INT:
        return read_int(entry, text, field, e);
    case KIND_REAL:
        return read_real(entry, text, field, e);
    case KIND_SEED:
        return read_seed(entry, text, field, e);
    case KIND_SIZE:
        return read_size(entry, text, field, e);
    case KIND_PATH:
        *(const char **)field = text;
        return 0;
    case KIND_FLAG:
        *(bool *)field = true;
        return 0;
    }
    return 0;
}

static const struct option_entry *find_entry(const char *name, size_t length)
{
    for (size_t i = 0; i < ENTRIES; i++)
        if (strlen(entries[i].name) == length && strncmp(entries[i].name, name, length) == 0)
            return &entries[i];
    return NULL;
}

/* Reads one option and its value, `--name value` or `--name=value`; advances *at past them. */
static int read_argument(struct options *o, char *const *argv, int *at, struct error *e)
{
    const char *argument = argv[(*at)++];

    if (strncmp(argument, "--", 2) != 0)
        return error_set(e, STATUS_USAGE, "unexpected argument '%s'; see --help", argument);
    size_t length = strcspn(argument + 2, "=");
    const struct option_entry *entry = find_entry(argument + 2, length);
    if (!entry)
        return error_set(e, STATUS_USAGE, "unknown option '%s'; see --help", argument);
    const char *value = argument[2 + length] ? argument + 2 + length + 1 : NULL;
    if (entry->kind == KIND_FLAG && value)
        return error_set(e, STATUS_USAGE, "--%s takes no value", entry->name);
    if (entry->kind != KIND_FLAG && !value && !(value = argv[*at]))
        return error_set(e, STATUS_USAGE, "--%s needs a value", entry->name);
    if (entry->kind != KIND_FLAG && value == argv[*at])
        (*at)++;
    return read_value(o, entry, value, e);
}

static int check_together(struct options *o, struct error *e)
{
    if (o->warmup_steps == WARMUP_NOT_GIVEN)
        o->warmup_steps = o->steps > WARMUP_DEFAULT ? WARMUP_DEFAULT : o->steps - 1;
    if (o->warmup_steps >= o->steps)
        return error_set(e, STATUS_USAGE, "--warmup-steps %d leaves none of --steps %d to measure", o->warmup_steps,
                         o->steps);
    if (o->hidden % o->heads != 0)
        return error_set(e, STATUS_USAGE, "--hidden %d is not a multiple of --heads %d", o->hidden, o->heads);
    if (o->global_batch % (o->micro_batch * o->ranks) != 0)
        return error_set(e, STATUS_USAGE, "--global-batch %d is not a multiple of --micro-batch %d times --ranks %d",
                         o->global_batch, o->micro_batch, o->ranks);
    return 0;
}

int options_parse(struct options *o, int argc, char *const *argv, struct error *e)
{
    *o = defaults;
    for (int at = 1; at < argc;) {
        if (read_argument(o, argv, &at, e) < 0)
            return -1;
        if (o->help)
            return 0;
    }
    return check_together(o, e);
}

int options_accumulation(const struct options *o)
{
    return o->global_batch / (o->micro_batch * o->ranks);
}

void options_print_help(FILE *out)
{
    enum { COLUMN = 28 };

    fputs("Usage: meshsweep-trainer [OPTIONS]\n"
          "Trains a byte-level transformer on the CPU, data-parallel over processes.\n\n",
          out);
    for (size_t i = 0; i < ENTRIES; i++) {
        const char *value = entries[i].value ? entries[i].value : "";
        int used = fprintf(out, "  --%s%s%s", entries[i].name, *value ? " " : "", value);
        for (const char *text = entries[i].help; *text; text += *text == '\n') {
            int length = (int)strcspn(text, "\n");
            fprintf(out, "%*s%.*s\n", used < COLUMN ? COLUMN - used : 2, "", length, text);
            text += length;
            used = 0;
        }
    }
    fputs("\nExit status: 0 trained; 1 failed, as when a rank is out of device memory; 2 wrong use;\n"
          "128+n when signal n killed a rank.\n",
          out);
}
