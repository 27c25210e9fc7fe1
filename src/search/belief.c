#include "search/belief.h"

#include <math.h>
#include <strings.h>

#include "util/linear.h"
#include "util/memory.h"
#include "util/quantile.h"
#include "util/rng.h"

/* --- memory --- */

double memory_belief_trust(double log_predicted, double log_otherwise)
{
    double odds = log(MEMORY_TRUST / (1 - MEMORY_TRUST)) + log_predicted - log_otherwise;
    return 1 / (1 + exp(-odds));
}

/* --- time --- */

#define BROKEN_SHARE 0.15 /* of runs */
#define BROKEN_MOST 3.5   /* ln of how many times slower a broken run is */
#define LEAST_DENSITY 1e-6

static double normal(double distance, double spread)
{
    return exp(-distance * distance / (2 * spread * spread)) / (spread * sqrt(2 * M_PI));
}

static double sound_or_broken(double distance, double spread)
{
    double broken = distance > 0 && distance < BROKEN_MOST ? 1 / BROKEN_MOST : 0;
    return (1 - BROKEN_SHARE) * normal(distance, spread) + BROKEN_SHARE * broken + LEAST_DENSITY;
}

double time_belief_trust(const struct compared_time *runs, size_t count)
{
    double odds = log(TIME_TRUST / (1 - TIME_TRUST)), sigma = 0;
    if (count == 0)
        return TIME_TRUST;
    OWNED double *distances = xcalloc(count, sizeof *distances);
    for (size_t i = 0; i < count; i++) {
        distances[i] = log(runs[i].measured / runs[i].predicted);
        sigma += runs[i].sigma / (double)count;
    }
    double level = median(distances, count);
    odds += log(sound_or_broken(level, sigma) / (normal(level, TIME_ANYWHERE) + LEAST_DENSITY));
    return 1 / (1 + exp(-odds));
}

/* --- before any outcome --- */

struct contradiction claims_compare(const struct two_claims *c, double spread)
{
    /* Means by group. */
    OWNED struct {
        double count, predicted, arithmetic;
    } *means = xcalloc(c->group_count + 1, sizeof *means);
    double xx = 0, xy = 0, yy = 0, sum = 0, count = 0;
    for (size_t i = 0; i < c->count; i++) {
        if (isnan(c->predicted[i]))
            continue;
        means[c->group[i]].count++;
        means[c->group[i]].predicted += (c->predicted[i] - means[c->group[i]].predicted) / means[c->group[i]].count;
        means[c->group[i]].arithmetic += (c->arithmetic[i] - means[c->group[i]].arithmetic) / means[c->group[i]].count;
        sum += c->predicted[i] - c->arithmetic[i];
        count++;
    }
    for (size_t i = 0; i < c->count; i++) {
        double x = c->predicted[i] - means[c->group[i]].predicted, y = c->arithmetic[i] - means[c->group[i]].arithmetic;
        xx += isnan(x) ? 0 : x * x;
        xy += isnan(x) ? 0 : x * y;
        yy += isnan(x) ? 0 : y * y;
    }
    const double level = count > 0 ? sum / count : 0;
    if (!(xx > 0) || !(yy > 0))
        return (struct contradiction){0, spread, level};
    double claimed = sqrt(yy / count), slopes = M_SQRT2 * BELIEF_SLOPE_DEVIATION * claimed;
    return (struct contradiction){(1 - xy / sqrt(xx * yy)) * claimed, hypot(slopes, spread / sqrt(count)), level};
}

double trust_contradicted(double trust, const struct contradiction *c, double anywhere)
{
    double ratio = fmin(1, normal(c->distance, c->deviation) / normal(c->distance, anywhere));
    return trust * ratio / (trust * ratio + 1 - trust);
}

/* --- slopes --- */

#define SLOPE_SPREAD 0.5

double time_belief_slope(const double *predicted, const double *merits, size_t count, double spread)
{
    double belief = spread * spread / 2 / (SLOPE_SPREAD * SLOPE_SPREAD), xx = 0, xy = 0;
    double middle = median(predicted, count), level = median(merits, count);
    for (size_t i = 0; i < count; i++) {
        xx += (predicted[i] - middle) * (predicted[i] - middle);
        xy += (predicted[i] - middle) * (merits[i] - level);
    }
    return (belief + xy) / (belief + xx);
}

/* --- what is left --- */

#define DRAWS 1000
/* Share of the variance that is a candidate's own: rounding may leave a negative rest between nearly equal ones. */
#define OWN 1e-3
#define SEED 2024

double left_above_alone(const struct left_expectation *x)
{
    return x->deviation > 0 ? 0.5 * erfc(-x->mean / x->deviation / M_SQRT2) : x->mean > 0 ? 1 : 0;
}

static double uniform(struct rng *r)
{
    return ((double)(rng_next(r) >> 11) + 0.5) * 0x1p-53;
}

/* Box-Muller. */
static double draw_normal(struct rng *r)
{
    double radius = sqrt(-2 * log(uniform(r)));
    return radius * cos(2 * M_PI * uniform(r));
}

/* Common factor of all deviations: the root of freedom / χ². */
static double draw_spread(struct rng *r, size_t freedom)
{
    double squares = 0;
    for (size_t i = 0; i < freedom; i++) {
        double x = draw_normal(r);
        squares += x * x;
    }
    return sqrt((double)freedom / squares);
}

/* Lower Cholesky factor of the correlations, by rows. The caller frees it. */
static double *factors_of(const struct candidates_left *c)
{
    size_t n = c->count;
    double *factors = xcalloc(n * n + 1, sizeof *factors);
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j <= i; j++) {
            double left = c->correlation[i * n + j] - weighted_sum(factors + i * n, factors + j * n, j);
            factors[i * n + j] = i == j ? sqrt(fmax(left, 0) + OWN) : left / factors[j * n + j];
        }
    return factors;
}

static bool some_better(const struct candidates_left *c, const double *factors, const double *drawn, bool believed,
                        double luck)
{
    const struct left_expectation *x = believed ? c->believed : c->doubted;
    return ANY(i, c->count,
               luck >= c->failure[i] &&
                   x[i].mean + x[i].deviation * weighted_sum(factors + i * c->count, drawn, i + 1) > 0);
}

double better_left(const struct candidates_left *c)
{
    OWNED double *factors = factors_of(c), *drawn = xcalloc(c->count + 1, sizeof *drawn);
    struct rng r = rng_stream(SEED, 0);
    size_t better = 0;
    for (size_t draw = 0; draw < DRAWS; draw++) {
        bool believed = uniform(&r) < c->trust;
        double luck = uniform(&r);
        double spread = draw_spread(&r, c->freedom);
        for (size_t i = 0; i < c->count; i++)
            drawn[i] = spread * draw_normal(&r);
        better += some_better(c, factors, drawn, believed, luck);
    }
    return (double)better / DRAWS;
}

/* --- what runs --- */

/* P(Binomial(n, 1/2) <= b). */
static double at_most(size_t n, size_t b)
{
    double sum = 0, n_real = (double)n;
    for (size_t i = 0; i <= b; i++) {
        double k = (double)i;
        sum += exp(lgamma(n_real + 1) - lgamma(k + 1) - lgamma(n_real - k + 1) - n_real * M_LN2);
    }
    return sum;
}

bool race_is_lost(const struct race *race, const double *values, size_t count)
{
    size_t better = 0;
    double look = (double)race->look;
    for (size_t i = 0; i < count; i++) {
        if (isnan(values[i]))
            return false; /* cannot tell how it compares */
        better += race->maximise ? values[i] > race->incumbent : values[i] < race->incumbent;
    }
    return count > 0 && at_most(count, better) <= (1 - race->confidence) / (look * (look + 1));
}

/* --- layouts --- */

/* A model of 7 billion parameters, for keys that are not known. */
#define LAYERS 32
#define HIDDEN 4096
#define VOCAB 50257
#define SEQUENCE 2048
#define DEVICES_PER_HOST 8

/* Floating-point operations per byte, roughly to a power of two: an H100's 990e12 bf16 per second at 50 %, over 3.35e12
 * for memory, 450e9 for NVLink, 50e9 for a 400 Gb/s port; an A100's 312e12 over 2e12, 300e9, 25e9. */
#define BALANCE_MEMORY 150
#define BALANCE_LINK 1000
#define BALANCE_NETWORK 10000

/* Latency of a collective and of a kernel launch, in operations at 500e12 per second. */
#define LATENCY_LINK 5e9     /* 10 µs */
#define LATENCY_NETWORK 25e9 /* 50 µs */
#define LAUNCH 2.5e9         /* 5 µs */
#define KERNELS 30           /* per layer, forward and backward */
#define COLLECTIVES 4        /* per layer in its tensor-parallel group, forward and backward (Megatron-LM, 2019) */

static double known(const struct input_value *given, size_t input, double otherwise)
{
    return given[input].kind == INPUT_NUMBER && given[input].number > 0 ? given[input].number : otherwise;
}

/* Share of the forward pass that is recomputed. */
static double recomputed_share(const struct input_value *v)
{
    if (v->kind != INPUT_TEXT)
        return v->kind == INPUT_NUMBER && v->number > 0 ? 1 : 0;
    bool full = input_word_value(inputs[AT_RECOMPUTE].place.words, v->text) == RECOMPUTE_FULL;
    return full || strcasecmp(v->text, "true") == 0 ? 1 : 0;
}

struct layout layout_of(const struct input_value *given, double devices)
{
    struct layout l = {.devices = devices,
                       .devices_per_host = known(given, AT_DEVICES_PER_NODE, fmin(devices, DEVICES_PER_HOST)),
                       .tp = known(given, AT_TP, 1),
                       .cp = known(given, AT_CP, 1),
                       .pp = known(given, AT_PP, 1),
                       .virtual_stages = known(given, AT_VPP, 1),
                       .seq = known(given, AT_SEQ, SEQUENCE),
                       .layers = known(given, AT_LAYERS, LAYERS),
                       .hidden = known(given, AT_HIDDEN, HIDDEN),
                       .vocab = known(given, AT_VOCAB, VOCAB),
                       .zero_stage = known(given, AT_ZERO_STAGE, 0),
                       .recomputed = recomputed_share(&given[AT_RECOMPUTE])};
    const double batch = known(given, AT_GLOBAL_BATCH, 0), times = known(given, AT_GRADIENT_ACCUMULATION, 1);
    l.dp = known(given, AT_DP, fmax(1, devices / (l.tp * l.cp * l.pp)));
    l.micro_batch = known(given, AT_MICRO_BATCH, fmax(1, (batch > 0 ? batch : l.dp) / (l.dp * times)));
    l.micro_batches = known(given, AT_GRADIENT_ACCUMULATION, fmax(1, batch / (l.dp * l.micro_batch)));
    return l;
}

static double parameters(const struct layout *l)
{
    return 12 * l->layers * l->hidden * l->hidden + l->vocab * l->hidden;
}

/* Operations of a layer per micro-batch, forward and backward, on one device. */
static double operations(const struct layout *l, double tokens)
{
    return 72 * tokens * l->hidden * l->hidden / l->tp * (1 + l->seq / (6 * l->hidden)) * (1 + l->recomputed / 3);
}

/* All other costs of a layer per micro-batch. */
static double overheads(const struct layout *l, double tokens)
{
    double weights = 12 * l->hidden * l->hidden / l->tp, group = l->tp * l->cp,
           shards = l->dp > 1 && l->zero_stage >= 3;
    double latency = group > l->devices_per_host ? LATENCY_NETWORK : LATENCY_LINK;
    double collective = 2 * tokens * 2 * l->hidden * (l->tp - 1) / l->tp * BALANCE_LINK + 2 * latency * log2(l->tp);
    double gathered = l->devices > l->devices_per_host ? BALANCE_NETWORK : BALANCE_LINK;
    return KERNELS * LAUNCH + 3 * 2 * weights * BALANCE_MEMORY + COLLECTIVES * collective * (l->tp > 1) +
           2 * 2 * weights * gathered * shards;
}

double layout_seconds(const struct layout *l)
{
    double tokens = l->micro_batch * l->seq / l->cp, layers = l->layers / l->pp;
    double network = l->devices > l->devices_per_host ? BALANCE_NETWORK : BALANCE_LINK;
    double head = 6 * tokens * l->hidden * l->vocab / l->tp;
    double micro_batch = layers * (operations(l, tokens) + overheads(l, tokens)) + head;
    double bubble = 1 + (l->pp - 1) / (l->virtual_stages * l->micro_batches);
    double gradients = 2 * 2 * parameters(l) / (l->tp * l->pp) * (l->dp - 1) / l->dp * network;
    return l->micro_batches * micro_batch * bubble + gradients;
}

double layout_bytes(const struct layout *l)
{
    double tokens = l->micro_batch * l->seq / l->cp, flight = fmin(l->pp, l->micro_batches);
    double states = l->zero_stage >= 3   ? 16 / l->dp
                    : l->zero_stage >= 2 ? 2 + 14 / l->dp
                    : l->zero_stage >= 1 ? 4 + 12 / l->dp
                                         : 16;
    double activations = 34 - 32 * l->recomputed;
    return states * parameters(l) / (l->tp * l->pp) +
           activations * tokens * l->hidden * l->layers / (l->tp * l->pp) * flight + 10 * tokens * l->vocab / l->tp;
}
