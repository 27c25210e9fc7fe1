/* Predictions against every published table that there is, nothing of which was used for them: mean error of memory,
 * how many of what was measured lie within the 90 % interval, and how much of what ran the default pruning would
 * exclude. The figures are printed, and scripts/bench.sh accuracy makes docs/predictions.md of them. */
#include "predict/predictor.h"
#include "published_tables.h"
#include "unit_test.h"
#include "util/quantile.h"

/* 90 % intervals: how many hold what was measured, and the sum of half the ln of how wide they are. */
struct intervals {
    size_t inside, far; /* beyond twice the interval */
    double widths;
};

/* The comparison of one quantity of a table's rows. */
struct comparison {
    size_t rows;
    struct intervals unseen, known; /* as if the table had never been seen; as users have them */
    double error, sum;
    double *residuals; /* |ln(measured / predicted)| */
};

struct figures {
    size_t ran, excluded, refused, failed, avoided;
    struct comparison memory, large, time;
};

static double predicted_bytes(const struct prediction *p, const struct table *spec)
{
    const struct memory_stage *stages[] =
        {[WHOSE_MOST] = &p->memory.most, [WHOSE_FIRST] = &p->memory.first, [WHOSE_LAST] = &p->memory.last};
    const struct memory_stage *s = stages[spec->whose];
    double outside = spec->counter == COUNTER_DEVICE ? p->memory.reserve_bytes : 0;
    return spec->counter == COUNTER_ALLOCATED ? s->allocated_bytes : s->bytes + outside;
}

static void add(struct comparison *c, double predicted, double measured)
{
    double residual = log(measured / predicted);
    c->residuals = array_grow(c->residuals, c->rows, sizeof *c->residuals);
    c->residuals[c->rows++] = fabs(residual);
    c->error += fabs(predicted / measured - 1);
    c->sum += residual;
}

/* `low` and `high`: ln of the bounds over the prediction. */
static void add_interval(struct intervals *n, double residual, double low, double high)
{
    n->inside += residual >= low && residual <= high;
    n->far += residual < 2 * low || residual > 2 * high;
    n->widths += (high - low) / 2;
}

static void tell_intervals(const struct intervals *n, double rows)
{
    print_message("%.0f %%, ± %.0f %% | ", 100 * (double)n->inside / rows, 100 * expm1(n->widths / rows));
}

/* A row of the table in docs/predictions.md. */
static void tell(const char *name, const char *quantity, struct comparison *c, const struct figures *f)
{
    double n = (double)c->rows;
    if (c->rows == 0)
        return;
    sort_doubles(c->residuals, c->rows);
    print_message("| %s | %s | %zu | %.1f %% | %+.1f %% | ", quantity, name, c->rows, 100 * c->error / n,
                  100 * expm1(-c->sum / n));
    tell_intervals(&c->unseen, n);
    tell_intervals(&c->known, n);
    print_message("%.0f %% | %.0f %% | ", 100 * expm1(quantile(c->residuals, c->rows, 0.9)),
                  100 * expm1(c->residuals[c->rows - 1]));
    if (f->failed > 0)
        print_message("%zu of %zu", f->avoided, f->failed);
    print_message(" | %zu of %zu |\n", f->excluded, f->ran);
}

/* Comparisons of a file, by what is unusual; a run with two features counts for both, but one with mixers for these
 * alone: its error says little of experts or fp8 without them; nor does tensor parallelism over nodes of nodes without
 * it. */
static struct comparison apart[PREDICTED_QUANTITIES][PLAN_FEATURES];

/* As rows of src/predict/evidence.toml. */
static void tell_evidence(const struct table *spec)
{
    OWNED char **features =
        parts_of("plain family experts context offload mtp fp8 fp4 schedule adapters device mixers spread "
                 "lengths other_adapters other_quantization quantization fp32 held sharded long nodes unpacked "
                 "network host whole split cast kept logits",
                 " ");
    for (int q = 0; q < PREDICTED_QUANTITIES; q++)
        for (int k = 0; k < PLAN_FEATURES; k++) {
            struct comparison *c = &apart[q][k];
            if (c->rows == 0)
                continue;
            sort_doubles(c->residuals, c->rows);
            print_message("compared { table = \"%s\", framework = \"%s\", quantity = \"%s\", feature = \"%s\", "
                          "runs = %zu, within = %.3f },\n",
                          spec->file, spec->framework, q == QUANTITY_OF_MEMORY ? "memory" : "time", features[k],
                          c->rows, quantile(c->residuals, c->rows, 0.9));
            free(c->residuals);
            *c = (struct comparison){0};
        }
}

/* By quantity, of sources held out in turn: of the file at hand, and of all before it. */
static struct held_out {
    size_t rows, inside, far; /* of the file */
    size_t sources, all_rows, all_far;
    double shares; /* inside, summed over sources */
} held_out[PREDICTED_QUANTITIES];

static void hold_out(enum predicted_quantity q, const struct comparison *c)
{
    held_out[q].rows += c->rows;
    held_out[q].inside += c->unseen.inside;
    held_out[q].far += c->unseen.far;
}

static void end_source(struct held_out *h, const char *file)
{
    if (h->rows == 0)
        return;
    print_message("without %s: %.0f %% of %zu runs inside, %zu beyond twice the interval\n", file,
                  100 * (double)h->inside / (double)h->rows, h->rows, h->far);
    h->sources++;
    h->shares += (double)h->inside / (double)h->rows;
    h->all_rows += h->rows;
    h->all_far += h->far;
    h->rows = h->inside = h->far = 0;
}

/* Between a prediction and what it is if what no key says were the other way, nothing is off. */
static double nearest(const struct prediction *p, double predicted, double measured)
{
    return fmin(fmax(measured, predicted), predicted * p->memory.other);
}

#define FEATURES_OF_PLAIN                                                                                              \
    (1U << FEATURE_HELD | 1U << FEATURE_SHARDED | 1U << FEATURE_LONG | 1U << FEATURE_NODES | FEATURES_OF_KIND)

static void add_apart(enum predicted_quantity q, feature_set features, double predicted, double measured)
{
    features = evidence_features(features, q);
    if (features & 1U << FEATURE_MIXERS)
        features = 1U << FEATURE_MIXERS;
    if (features & 1U << FEATURE_SPREAD)
        features &= ~(1U << FEATURE_NODES);
    for (int k = 0; k < PLAN_FEATURES; k++)
        if (k == FEATURE_PLAIN ? (features & ~FEATURES_OF_PLAIN) == 0 : (features & 1U << k) != 0)
            add(&apart[q][k], predicted, measured);
}

/* `without`: the table whose evidence is left out, so that nothing of it is used; NULL: none. */
static struct predictor *predictor_of(const struct table *spec, const char *without)
{
    struct predictor *p = NULL;
    const struct predictor_options options = {.framework = spec->framework,
                                              .network_bandwidth = spec->network,
                                              .network_latency = spec->latency,
                                              .counter = (enum memory_counter)spec->counter,
                                              .evidence_without = without};
    FAIL_IF(predictor_create(&options, &p, &e) < 0);
    return p;
}

static bool is_small(double measured)
{
    return measured < 8 * GIB;
}

static double seconds_of(const struct shared_table *t, size_t row, const struct table *spec, const struct prediction *p)
{
    double rate = spec->rate ? shared_number(t, row, spec->rate) : 0;
    if (spec->time)
        return shared_number(t, row, spec->time) * spec->seconds;
    return rate > 0 ? p->tokens / (rate * p->devices) : 0;
}

static void add_known(struct intervals *n, const struct prediction *p, enum predicted_quantity q, double residual)
{
    if (q == QUANTITY_OF_MEMORY)
        add_interval(n, residual, log(p->memory.low_bytes / p->memory.most.bytes),
                     log(p->memory.high_bytes / p->memory.most.bytes));
    else
        add_interval(n, residual, log(p->low_s / p->seconds), log(p->high_s / p->seconds));
}

static void compare_one(struct comparison *c, const struct prediction *p, const struct prediction *users,
                        enum predicted_quantity q, double predicted, double measured)
{
    assert_true(p->by_evidence[q]);
    add(c, predicted, measured);
    add_known(&c->known, users, q, log(measured / predicted));
    add_known(&c->unseen, p, q, log(measured / predicted));
}

/* `users`: what users have, for whom the table was seen. */
static void take(struct figures *f, const struct shared_table *t, size_t row, const struct table *spec,
                 const struct prediction *p, const struct prediction *users)
{
    bool failed = published_failed(t, row, spec), excluded = users->verdict == OOM_CERTAIN;
    f->ran += !failed;
    f->excluded += !failed && excluded;
    f->failed += failed;
    f->avoided += failed && excluded;
    if (failed)
        return;
    double bytes = predicted_bytes(p, spec);
    double measured = spec->memory ? shared_number(t, row, spec->memory) * spec->unit : 0;
    if (measured > 0)
        compare_one(&f->memory, p, users, QUANTITY_OF_MEMORY, bytes, measured);
    if (measured > 0 && !is_small(measured))
        compare_one(&f->large, p, users, QUANTITY_OF_MEMORY, bytes, measured);
    double seconds = seconds_of(t, row, spec, p);
    const struct device *device = device_find(NULL, p->where.device);
    assert_true(seconds <= 0 || (device && !device->measured) || (p->features & 1U << FEATURE_DEVICE) == 0);
    if (seconds > 0 && p->has_time)
        compare_one(&f->time, p, users, QUANTITY_OF_TIME, p->seconds, seconds);
    if (measured > 0 && spec->aside)
        add(&apart[QUANTITY_OF_MEMORY][FEATURE_HELD], nearest(p, bytes, measured), measured);
    else if (measured > 0)
        add_apart(QUANTITY_OF_MEMORY, p->features, nearest(p, bytes, measured), measured);
    if (seconds > 0 && p->has_time)
        add_apart(QUANTITY_OF_TIME, p->features, p->seconds, seconds);
    if (getenv("MESHSWEEP_EACH_ROW"))
        print_message("row %zu: %.2f of %.2f GiB, verdict %d, sigma %.2f, usable %.0f; %.3g of %.3g s, sigma %.2f\n",
                      row + 2, bytes / GIB, measured / GIB, (int)p->verdict, p->memory.sigma, p->usable_bytes / GIB,
                      p->seconds, seconds, p->step.sigma);
}

/* --- the same plan on other numbers of devices --- */

/* ln(measured / predicted) of a row, under what stays when a plan is scaled. */
struct sighting {
    char *plan;
    double devices, residual;
};

static struct sightings {
    struct sighting *items;
    size_t count;
} sightings[PREDICTED_QUANTITIES];

static char *plan_of(const struct input_value *values)
{
    static const size_t scaled[] = {AT_NODES, AT_DP, AT_GRADIENT_ACCUMULATION, AT_GLOBAL_BATCH, AT_DEVICES_PER_NODE};
    struct buffer b = BUFFER_INIT;
    for (size_t i = 0; i < INPUT_COUNT; i++)
        if (values[i].kind && !ANY(k, LENGTH(scaled), scaled[k] == i))
            buffer_printf(&b, "%zu=%.17g%s ", i, values[i].number, values[i].kind == INPUT_TEXT ? values[i].text : "");
    return buffer_take(&b);
}

static void note_sighting(enum predicted_quantity q, const struct input_value *values, const struct prediction *p,
                          double residual)
{
    struct sightings *s = &sightings[q];
    s->items = array_grow(s->items, s->count, sizeof *s->items);
    s->items[s->count++] = (struct sighting){plan_of(values), p->devices, residual};
}

static int by_plan(const void *a, const void *b)
{
    const struct sighting *x = a, *y = b;
    int order = strcmp(x->plan, y->plan);
    return order ? order : (x->devices > y->devices) - (x->devices < y->devices);
}

/* Repeats are one, by their mean. */
static void merge_repeats(struct sightings *s)
{
    size_t kept = 0, count;
    qsort(s->items, s->count, sizeof *s->items, by_plan);
    for (size_t first = 0; first < s->count; first += count) {
        double sum = s->items[first].residual;
        for (count = 1; first + count < s->count && by_plan(&s->items[first], &s->items[first + count]) == 0; count++) {
            sum += s->items[first + count].residual;
            free(s->items[first + count].plan);
        }
        s->items[kept] = s->items[first];
        s->items[kept++].residual = sum / (double)count;
    }
    s->count = kept;
}

/* Pairs whose larger is on more than `beyond` devices, but no more than `most`, as a row of what is scaled in
 * src/predict/evidence.toml. */
static void tell_pairs(const struct table *spec, enum predicted_quantity q, double beyond, double most)
{
    const struct sightings *s = &sightings[q];
    struct comparison c = {.rows = 0};
    for (size_t i = 0; i < s->count; i++)
        for (size_t k = i + 1; k < s->count && strcmp(s->items[i].plan, s->items[k].plan) == 0; k++) {
            if (!(s->items[k].devices > beyond && s->items[k].devices <= most))
                continue;
            double doublings = log2(s->items[k].devices / s->items[i].devices);
            c.residuals = array_grow(c.residuals, c.rows, sizeof *c.residuals);
            c.residuals[c.rows++] = fabs(s->items[k].residual - s->items[i].residual) / sqrt(doublings);
        }
    sort_doubles(c.residuals, c.rows);
    if (c.rows > 0)
        print_message("scaled { table = \"%s\", framework = \"%s\", quantity = \"%s\", beyond = %.0f, runs = %zu, "
                      "within = %.3f },\n",
                      spec->file, spec->framework, q == QUANTITY_OF_MEMORY ? "memory" : "time", beyond, c.rows,
                      quantile(c.residuals, c.rows, 0.9));
    free(c.residuals);
}

#define FIRST_REACH 64
#define LAST_REACH 16384

/* By how many devices a pair reaches to; forgets them. */
static void tell_scaling(const struct table *spec, enum predicted_quantity q)
{
    struct sightings *s = &sightings[q];
    if (s->count > 0)
        merge_repeats(s);
    tell_pairs(spec, q, 0, FIRST_REACH);
    for (double beyond = FIRST_REACH; beyond <= LAST_REACH; beyond *= 4)
        tell_pairs(spec, q, beyond, 4 * beyond);
    for (size_t i = 0; i < s->count; i++)
        free(s->items[i].plan);
    free(s->items);
    *s = (struct sightings){NULL, 0};
}

/* --- what one place teaches another --- */

#define TOLD_FROM 10 /* runs of a place */

/* Runs of one table on one device, timed. */
static struct place {
    const struct table *table;
    char *device;
    struct observation *runs;
    size_t count;
} * places;
static size_t place_count;

static void note_place(const struct table *spec, const struct prediction *p, double seconds)
{
    size_t i = 0;
    while (i < place_count &&
           (strcmp(places[i].table->file, spec->file) != 0 || strcmp(places[i].device, p->where.device) != 0))
        i++;
    if (i == place_count) {
        places = array_grow(places, place_count, sizeof *places);
        places[place_count++] = (struct place){.table = spec, .device = xstrdup(p->where.device)};
    }
    struct observation o = {.y = seconds, .kind = OBSERVATION_MEASURED};
    memcpy(o.terms, p->step.terms, TIME_TERM_COUNT * sizeof *o.terms);
    places[i].runs = array_grow(places[i].runs, places[i].count, sizeof *places[i].runs);
    places[i].runs[places[i].count++] = o;
}

/* exp(mean |ln(measured / predicted)|) - 1, in percent. */
static double error_there(const struct place *p, const double *weights)
{
    double sum = 0;
    for (size_t i = 0; i < p->count; i++) {
        double predicted = 0;
        for (size_t t = 0; t < TIME_TERM_COUNT; t++)
            predicted += p->runs[i].terms[t] * weights[t];
        sum += fabs(log(p->runs[i].y / predicted));
    }
    return 100 * expm1(sum / (double)p->count);
}

static double share_inside(const struct place *p, const double *weights, double width)
{
    size_t inside = 0;
    for (size_t i = 0; i < p->count; i++) {
        struct place one = {.runs = &p->runs[i], .count = 1};
        inside += log1p(error_there(&one, weights) / 100) <= width;
    }
    return 100 * (double)inside / (double)p->count;
}

/* One of the terms that are the framework's, not the device's or the network's. */
static bool is_overhead(size_t term)
{
    return term == TIME_LAUNCH || term == TIME_STEP || term == TIME_TENSOR_STEPS || term == TIME_PIPELINE;
}

/* All other places of the framework (of the same table alone, where `same`). */
static size_t runs_elsewhere(const struct place *p, bool same, struct observation **out)
{
    size_t count = 0;
    *out = NULL;
    for (size_t i = 0; i < place_count; i++) {
        const struct place *other = &places[i];
        bool counts = other != p && strcmp(other->table->framework, p->table->framework) == 0 &&
                      (!same || strcmp(other->table->file, p->table->file) == 0);
        for (size_t k = 0; counts && k < other->count; k++) {
            *out = array_grow(*out, count, sizeof **out);
            (*out)[count++] = other->runs[k];
        }
    }
    return count;
}

/* Over places: of runs predicted by the profile's weights, and by those fitted to other places. */
struct carried {
    double places, error, fitted_error, fitted_inside; /* sums, in percent */
};

static void tell_carried(const struct place *p, const struct framework *prior, bool same, struct carried *sums)
{
    OWNED struct observation *runs = NULL;
    struct calibration fit;
    const struct calibration_prior start = calibration_of_time(&prior->time);
    double overheads[CALIBRATION_TERMS];
    size_t count = runs_elsewhere(p, same, &runs);
    if (count == 0 || !calibrate(&start, runs, count, NULL, &fit))
        return;
    for (size_t t = 0; t < TIME_TERM_COUNT; t++)
        overheads[t] = is_overhead(t) ? fit.weights[t] : start.weights[t];
    double error = error_there(p, start.weights), fitted_error = error_there(p, fit.weights);
    double fitted_inside = share_inside(p, fit.weights, fit.interval);
    print_message("| %s, %s | %zu | %s, %zu | %.1f %% | %.1f %% | %.1f %% | %.0f %% |\n", p->table->name, p->device,
                  p->count, same ? "the table's other devices" : "all others", count, error, fitted_error,
                  error_there(p, overheads), fitted_inside);
    *sums = (struct carried){sums->places + 1, sums->error + error, sums->fitted_error + fitted_error,
                             sums->fitted_inside + fitted_inside};
}

static void note_scaled(const struct shared_table *t, size_t row, const struct table *spec,
                        const struct input_value *values, const struct prediction *p)
{
    double bytes = spec->memory ? shared_number(t, row, spec->memory) * spec->unit : 0;
    double seconds = seconds_of(t, row, spec, p);
    if (published_failed(t, row, spec))
        return;
    if (bytes > 0 && !spec->aside)
        note_sighting(QUANTITY_OF_MEMORY, values, p, log(bytes / predicted_bytes(p, spec)));
    if (seconds > 0 && p->has_time)
        note_sighting(QUANTITY_OF_TIME, values, p, log(seconds / p->seconds));
    if (seconds > 0 && p->has_time)
        note_place(spec, p, seconds);
}

static void compare(const struct table *spec)
{
    struct shared_table t;
    struct figures f = {0};
    struct error e = ERROR_INIT;
    if (!shared_table_load(spec->file, &t))
        return;
    HELD_AT(predictor) *p = predictor_of(spec, spec->file), *users = predictor_of(spec, NULL);
    for (size_t row = 0; row < t.row_count; row++) {
        struct input_value values[INPUT_COUNT];
        const struct prediction *found, *usual;
        if (published_left_out(&t, row, spec))
            continue;
        published_values(&t, row, spec, values);
        e.text[0] = '\0';
        if (predictor_predict(p, values, &found, &e) == 0 && found->has_memory) {
            assert_int_equal(predictor_predict(users, values, &usual, &e), 0);
            take(&f, &t, row, spec, found, usual);
            note_scaled(&t, row, spec, values, found);
            continue;
        }
        f.refused++;
        if (getenv("MESHSWEEP_EACH_ROW"))
            print_message("row %zu: %s\n", row + 2, e.text);
    }
    if (f.refused > 0)
        print_message("%s: %zu rows are not predicted\n", spec->name, f.refused);
    tell(spec->name, "memory", &f.memory, &f);
    if (f.large.rows < f.memory.rows)
        tell("of these above 8 GiB", "memory", &f.large, &f);
    tell(spec->name, "time", &f.time, &f);
    hold_out(QUANTITY_OF_MEMORY, &f.memory);
    hold_out(QUANTITY_OF_TIME, &f.time);
    if (spec->most > 0)
        assert_true(f.memory.error <= spec->most * (double)f.memory.rows);
    free(f.memory.residuals);
    free(f.large.residuals);
    free(f.time.residuals);
    shared_table_free(&t);
}

TEST(predictions__published_tables__figures)
{
    for (size_t i = 0; i < published_table_count; i++) {
        compare(&published_tables[i]);
        if (i + 1 < published_table_count && strcmp(published_tables[i + 1].file, published_tables[i].file) == 0)
            continue;
        tell_evidence(&published_tables[i]);
        for (int q = 0; q < PREDICTED_QUANTITIES; q++) {
            tell_scaling(&published_tables[i], (enum predicted_quantity)q);
            end_source(&held_out[q], published_tables[i].file);
        }
    }
    for (int q = 0; q < PREDICTED_QUANTITIES; q++) {
        const struct held_out *h = &held_out[q];
        if (h->sources == 0)
            continue;
        print_message("held out, %s: %zu sources, %.0f %% of a source's runs inside, %.1f of 100 runs beyond twice the "
                      "interval\n",
                      q == QUANTITY_OF_MEMORY ? "memory" : "time", h->sources, 100 * h->shares / (double)h->sources,
                      100 * (double)h->all_far / (double)h->all_rows);
        assert_true(h->shares >= 0.85 * (double)h->sources && h->all_far <= 0.02 * (double)h->all_rows);
    }
}

/* Of the places that the comparison above has noted. Why weights are not carried from one place to another: those of
 * all others are 11.4 % off where the profile's are 12.7 %, but hold 77 % of the runs in their interval instead of 92 %
 * (src/predict/comparisons.md). */
TEST(predictions__weights_of_other_places__hardly_better_and_less_sure)
{
    const struct predictor_options options = {.framework = "megatron"};
    struct carried all = {0}, alike = {0};
    HELD_AT(predictor) *p = NULL;
    NEEDS(place_count > 0);
    FAIL_IF(predictor_create(&options, &p, &e));
    for (size_t i = 0; i < place_count; i++)
        for (int same = 0; places[i].count >= TOLD_FROM && same < 2; same++)
            tell_carried(&places[i], predictor_prior(p, places[i].table->framework), same != 0, same ? &alike : &all);
    for (size_t i = 0; i < place_count; i++) {
        free(places[i].device);
        free(places[i].runs);
    }
    free(places);
    assert_true(all.places == 10 && alike.places == 8);
    assert_true(all.error <= 15 * all.places);
    assert_true(all.fitted_error >= 0.85 * all.error && all.fitted_inside <= 80 * all.places);
    assert_true(alike.error <= 16 * alike.places && alike.fitted_inside <= 85 * alike.places);
}
