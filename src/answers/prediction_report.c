#include "answers/prediction_report.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <cjson/cJSON.h>

#include "measures/learning.h"
#include "predict/baseline.h"
#include "util/memory.h"
#include "util/parse.h"
#include "util/quantile.h"

static void add_bytes(struct buffer *b, double bytes)
{
    char text[32];
    buffer_add_text(b, format_size_bytes((int64_t)bytes, text, sizeof text));
}

static const char *ordinal(int64_t n)
{
    static const char *const ends[] = {"th", "st", "nd", "rd"};
    bool is_teen = n % 100 >= 11 && n % 100 <= 13;
    return n % 10 <= 3 && !is_teen ? ends[n % 10] : "th";
}

static void add_head(struct buffer *out, const struct scaled_plan *plan)
{
    if (plan->there.place > 0)
        buffer_printf(out, "%" PRId64 "%s", plan->there.place, ordinal(plan->there.place));
    else
        buffer_add_text(out, "no place");
    buffer_printf(out, "  %s%son %.0f devices", plan->words, plan->words[0] ? " " : "", plan->there.devices);
    if (!plan->here.found)
        buffer_add_text(out, "; not possible here");
    else if (plan->here.place > 0)
        buffer_printf(out, "; here %" PRId64 "%s, on %.0f", plan->here.place, ordinal(plan->here.place),
                      plan->here.devices);
    else
        buffer_printf(out, "; not possible here, on %.0f", plan->here.devices);
    buffer_add_char(out, '\n');
}

static void add_memory(struct buffer *out, const struct scaled_plan *plan)
{
    const struct plan_figures *f = &plan->there;
    if (isnan(f->memory.value))
        return;
    buffer_add_text(out, "    memory ");
    add_bytes(out, f->memory.value);
    buffer_printf(out, "%s%s (", plan->memory_of && plan->memory_of[0] ? " " : "",
                  plan->memory_of ? plan->memory_of : "");
    add_bytes(out, f->memory.low);
    buffer_add_text(out, " to ");
    add_bytes(out, f->memory.high);
    buffer_printf(out, ")%s%s", f->verdict ? ", " : "", f->verdict ? oom_verdict_names[f->verdict] : "");
    if (plan->here.found && !isnan(plan->here.memory.value)) {
        buffer_add_text(out, "; here ");
        add_bytes(out, plan->here.memory.value);
    }
    buffer_add_char(out, '\n');
}

static void add_time(struct buffer *out, const struct scaled_plan *plan)
{
    const struct plan_figures *f = &plan->there;
    const struct scaled_figure *x = &plan->efficiency;
    if (isnan(f->seconds.value))
        return;
    buffer_printf(out, "    step %.3g s (%.3g to %.3g), %.4g %s/s (%.3g to %.3g)", f->seconds.value, f->seconds.low,
                  f->seconds.high, f->throughput.value, plan->counts_tokens ? "tokens" : "samples", f->throughput.low,
                  f->throughput.high);
    if (plan->here.found && plan->here.samples != f->samples)
        buffer_printf(out, " at a batch of %.0f, here %.0f", f->samples, plan->here.samples);
    if (!isnan(x->value))
        buffer_printf(out, "; efficiency %.0f %% (%.0f to %.0f)", 100 * x->value, 100 * x->low, 100 * x->high);
    buffer_add_char(out, '\n');
}

static bool has_any_there(const struct scaled_plans *p, size_t first, size_t end)
{
    while (first < end && !p->ranked[first]->there.found)
        first++;
    return first < end;
}

/* Lists the plans of one work, from `first` to `end`. */
static void list_plans(const struct scaled_plans *p, size_t first, size_t end, size_t most, struct buffer *out)
{
    size_t shown = 0, more = 0;
    for (size_t i = first; i < end; i++) {
        const struct scaled_plan *plan = p->ranked[i];
        if (!plan->there.found || shown == most) {
            more += plan->there.found;
            continue;
        }
        add_head(out, plan);
        add_memory(out, plan);
        add_time(out, plan);
        shown++;
    }
    if (more > 0)
        buffer_printf(out, "… and %zu more; --all shows them\n", more);
}

/* The best plan on the largest number of devices here. */
static const struct scaled_plan *best_here(const struct scaled_plans *p, size_t first, size_t end)
{
    const struct scaled_plan *best = NULL;
    for (size_t i = first; i < end; i++)
        if (p->ranked[i]->here.place == 1 && (!best || p->ranked[i]->here.devices > best->here.devices))
            best = p->ranked[i];
    return best;
}

static void tell_best(const struct scaled_plans *p, size_t first, size_t end, struct buffer *out)
{
    const struct scaled_plan *here = best_here(p, first, end), *there = p->ranked[first];
    if (there->there.place != 1) {
        buffer_add_text(out, "no plan can be predicted to fit there, with a step time\n");
        return;
    }
    if (!here || here == there) {
        buffer_printf(out, "%s is the best%s\n", there->words, here ? " here and there" : " there");
        return;
    }
    buffer_printf(out, "%s is the best there, ", there->words);
    if (there->here.place > 0)
        buffer_printf(out, "and %" PRId64 "%s here; ", there->here.place, ordinal(there->here.place));
    else
        buffer_printf(out, "and %s here; ", there->here.found ? "without a place" : "not possible");
    buffer_printf(out, "%s is the best here, ", here->words);
    if (here->there.place > 0)
        buffer_printf(out,
                      "and %" PRId64 "%s there; the first is faster than the second with a probability of %.0f %%\n",
                      here->there.place, ordinal(here->there.place), 100 * scaled_plans_faster(there, here));
    else
        buffer_printf(out, "and %s there\n", here->there.found ? "without a place" : "not possible");
}

static void count_plans(const struct scaled_plans *p, struct buffer *out)
{
    size_t both = 0, only_there = 0, only_here = 0, too_large = 0;
    for (size_t i = 0; i < p->count; i++) {
        const struct scaled_plan *plan = &p->items[i];
        both += plan->here.found && plan->there.found;
        only_there += !plan->here.found;
        only_here += !plan->there.found;
        too_large += plan->there.verdict == OOM_CERTAIN;
    }
    buffer_printf(out,
                  "%zu plan%s both here and there, %zu only there, %zu only here; %zu are predicted not to fit there\n",
                  both, both == 1 ? "" : "s", only_there, only_here, too_large);
    if (p->without > 0)
        buffer_printf(out, "nothing can be predicted for %" PRId64 " combinations there\n", p->without);
}

/* A plan on the largest number of devices there; NULL if there is none. */
static const struct scaled_plan *largest(const struct scaled_plans *p)
{
    const struct scaled_plan *found = NULL;
    for (size_t i = 0; i < p->count; i++)
        if (p->items[i].there.found && (!found || p->items[i].there.devices > found->there.devices))
            found = &p->items[i];
    return found;
}

static void tell_extrapolation(const struct scaled_plans *p, struct buffer *out)
{
    const struct scaled_plan *plan = largest(p);
    if (!(p->measured_devices > 0)) {
        buffer_add_text(out, "nothing has been measured here, so intervals are as wide as the errors of predictions "
                             "elsewhere\n");
        return;
    }
    if (!plan || !(plan->there.devices > p->measured_devices))
        return;
    double times = plan->there.devices / p->measured_devices, far = sqrt(log2(times));
    buffer_printf(out,
                  "measured on at most %.0f devices; %.0f are %.3g times as many, so intervals of time are widened by "
                  "%.0f %% and those of memory by %.0f %%, as in comparisons of plans on few and on many devices\n",
                  p->measured_devices, plan->there.devices, times, 100 * expm1(plan->spread[QUANTITY_OF_TIME] * far),
                  100 * expm1(plan->spread[QUANTITY_OF_MEMORY] * far));
}

void scaled_report(const struct scaled_plans *p, const struct scaled_shown *shown, struct buffer *out)
{
    size_t first = 0;
    buffer_printf(out, "%s=%" PRId64 ", the best plans first\n\n", shown->scaling->key.name, shown->scaling->value);
    while (first < p->count) {
        size_t end = first + 1;
        while (end < p->count && p->ranked[end]->work == p->ranked[first]->work)
            end++;
        if (has_any_there(p, first, end)) {
            list_plans(p, first, end, shown->most, out);
            buffer_add_char(out, '\n');
            tell_best(p, first, end, out);
            buffer_add_char(out, '\n');
        }
        first = end;
    }
    count_plans(p, out);
    tell_extrapolation(p, out);
}

/* How large one key can become before memory runs out, for each combination of the others: the measured limit, and the
 * one predicted by a line through memory over size. */

/* Initialise to zero. */
struct memory_frontier {
    struct frontier_line *lines; /* one per combination without the key */
    size_t count;
};

struct points {
    double *sizes, *bytes;
    size_t count;
};

struct frontier_line {
    char *rest;                      /* the combination without the key */
    double largest_ok, smallest_oom; /* NaN: none */
    double usable, bytes_at_largest;
    struct points predicted, measured; /* memory over size */
};

/* Splits "a=1 key=4 b=2" into the value and the rest; false if the words do not have the key. */
static bool split_words(const char *words, const char *key, struct buffer *rest, double *value)
{
    bool found = false;
    char *copy = xstrdup(words), *left = NULL;
    size_t length = strlen(key);
    for (char *word = strtok_r(copy, " ", &left); word; word = strtok_r(NULL, " ", &left)) {
        if (strncmp(word, key, length) == 0 && word[length] == '=' && parse_double(word + length + 1, value))
            found = true;
        else
            buffer_printf(rest, "%s%s", rest->length ? " " : "", word);
    }
    free(copy);
    return found;
}

static struct frontier_line *line_of(struct memory_frontier *frontier, const char *rest)
{
    for (size_t i = 0; i < frontier->count; i++)
        if (strcmp(frontier->lines[i].rest, rest) == 0)
            return &frontier->lines[i];
    frontier->lines = array_grow(frontier->lines, frontier->count, sizeof *frontier->lines);
    frontier->lines[frontier->count] =
        (struct frontier_line){.rest = xstrdup(rest), .largest_ok = NAN, .smallest_oom = NAN};
    return &frontier->lines[frontier->count++];
}

static void add_point(struct points *p, double size, double bytes)
{
    p->sizes = array_grow(p->sizes, p->count, sizeof *p->sizes);
    p->bytes = array_grow(p->bytes, p->count, sizeof *p->bytes);
    p->sizes[p->count] = size;
    p->bytes[p->count++] = bytes;
}

/* Ignores rows without a number for `key`. */
static void memory_frontier_add(struct memory_frontier *frontier, const char *key, const struct predicted_row *row)
{
    struct buffer rest = BUFFER_INIT;
    double value;
    if (!split_words(row->words, key, &rest, &value)) {
        buffer_free(&rest);
        return;
    }
    struct frontier_line *f = line_of(frontier, buffer_text(&rest));
    buffer_free(&rest);
    if (strcmp(row->state, "ok") == 0 && !(f->largest_ok >= value)) {
        f->largest_ok = value;
        f->bytes_at_largest = row->measured_bytes;
    }
    if (strcmp(row->state, "ok") == 0 && row->measured_bytes > 0)
        add_point(&f->measured, value, row->measured_bytes);
    if (strcmp(row->failure, "oom") == 0 && !(f->smallest_oom <= value))
        f->smallest_oom = value;
    if (!row->prediction || !row->prediction->has_memory)
        return;
    f->usable = row->prediction->usable_bytes;
    add_point(&f->predicted, value, row->prediction->memory.most.bytes);
}

static void add_size(struct buffer *out, double value)
{
    if (isnan(value))
        buffer_printf(out, "  %9s", "-");
    else
        buffer_printf(out, "  %9g", value);
}

/* Fits a + b · size to the measurements if there are two or more, else to the predictions. */
static bool fit_line(const struct frontier_line *f, struct memory_line *line)
{
    const struct points *p = f->measured.count >= 2 ? &f->measured : &f->predicted;
    struct error ignored;
    return memory_line_fit(p->sizes, p->bytes, p->count, line, &ignored) == 0;
}

/* Appends a table for people. ERROR_NOTHING if no row had the key. */
static int memory_frontier_describe(const struct memory_frontier *frontier, const char *key, struct buffer *out,
                                    struct error *e)
{
    if (frontier->count == 0)
        return error_set(e, ERROR_NOTHING, "no two combinations differ in `%s`, or its values are not numbers", key);
    buffer_printf(out, "%s:  largest ok  smallest oom  predicted limit  headroom at largest\n", key);
    for (size_t i = 0; i < frontier->count; i++) {
        const struct frontier_line *f = &frontier->lines[i];
        struct memory_line line;
        bool has_line = f->usable > 0 && fit_line(f, &line);
        add_size(out, f->largest_ok);
        add_size(out, f->smallest_oom);
        add_size(out, has_line ? memory_line_largest(&line, f->usable) : NAN);
        if (f->usable > 0 && f->bytes_at_largest > 0)
            buffer_printf(out, "  %5.1f %%", 100 * (1 - f->bytes_at_largest / f->usable));
        else
            buffer_add_text(out, "        -");
        buffer_printf(out, "  %s\n", f->rest);
    }
    return 0;
}

static void memory_frontier_free(struct memory_frontier *frontier)
{
    for (size_t i = 0; i < frontier->count; i++) {
        struct frontier_line *f = &frontier->lines[i];
        free_all(f->rest, f->predicted.sizes, f->predicted.bytes, f->measured.sizes, f->measured.bytes);
    }
    free(frontier->lines);
    *frontier = (struct memory_frontier){0};
}

/* --- the report --- */

#define SHARES 6
static const double shares[SHARES] = {0.7, 0.8, 0.9, 1.0, 1.1, 1.2};

/* Mean of ln(predicted / measured) over the combinations with one value of a key. */
struct residual {
    char *word; /* "tp=2" */
    double bytes, seconds;
    int64_t byte_count, second_count;
};

/* A kind of plan that was listed. */
struct listed_kind {
    char *framework;
    feature_set features;
    bool by_evidence[PREDICTED_QUANTITIES];
};

struct prediction_report {
    struct report_request request;
    struct listed_kind *kinds;
    size_t kind_count;
    struct buffer lines;
    int64_t seen, shown, without;
    struct residual *residuals;
    size_t residual_count;
    struct memory_frontier frontier;
    int64_t ok, oom, lost[SHARES], avoided[SHARES]; /* of jobs with an outcome that were predicted before */
    int64_t audits_ok, audits_oom;
};

struct prediction_report *prediction_report_create(const struct report_request *request)
{
    struct prediction_report *r = xcalloc(1, sizeof *r);
    r->request = *request;
    return r;
}

void prediction_report_free(struct prediction_report *r)
{
    if (!r)
        return;
    for (size_t i = 0; i < r->residual_count; i++)
        free(r->residuals[i].word);
    for (size_t i = 0; i < r->kind_count; i++)
        free(r->kinds[i].framework);
    free_all(r->kinds, r->residuals);
    memory_frontier_free(&r->frontier);
    buffer_free(&r->lines);
    free(r);
}

static double residual_percent(double predicted, double measured)
{
    return 100 * (predicted / measured - 1);
}

/* --- the list --- */

/* A normal distribution is not reliable far out in its tails. */
static void add_probability(struct buffer *b, const char *verdict, double percent)
{
    bool is_low = percent<0.1, is_high = percent> 99.9;
    buffer_printf(b, ", %s, out of memory with %s%.*f %%", verdict,
                  is_low    ? "less than "
                  : is_high ? "more than "
                            : "",
                  percent < 10 || is_high ? 1 : 0,
                  is_low    ? 0.1
                  : is_high ? 99.9
                            : percent);
}

static void list_memory(struct buffer *b, const struct predicted_row *row, const char *words)
{
    const struct prediction *p = row->prediction;
    const char *of = row->predicted_memory_of;
    buffer_add_text(b, "    memory ");
    add_bytes(b, p->measured_bytes);
    buffer_printf(b, "%s%s (", of[0] ? " " : "", of);
    add_bytes(b, p->measured_low);
    buffer_add_text(b, " to ");
    add_bytes(b, p->measured_high);
    buffer_printf(b, "%s)", p->by_line ? ", by the line through runs" : p->memory_calibrated ? "" : ", uncalibrated");
    if (p->has_probability)
        add_probability(b, oom_verdict_names[p->verdict], 100 * p->oom_probability);
    if (!isnan(row->measured_bytes)) {
        buffer_add_text(b, "; measured ");
        add_bytes(b, row->measured_bytes);
        buffer_printf(b, "%s%s (%+.1f %%)", words[0] ? " " : "", words,
                      residual_percent(p->measured_bytes, row->measured_bytes));
    }
    buffer_add_char(b, '\n');
}

static void list_time(struct buffer *b, const struct predicted_row *row)
{
    const struct prediction *p = row->prediction;
    buffer_printf(b, "    step %.3g s (%.3g to %.3g%s%s), MFU %.1f %%", p->seconds, p->low_s, p->high_s,
                  p->time_calibrated ? "" : ", uncalibrated", p->by_baseline ? ", by a constant MFU" : "",
                  100 * p->peak_seconds / p->seconds);
    if (!isnan(row->measured_s))
        buffer_printf(b, "; measured %.3g s (%+.1f %%), MFU %.1f %%", row->measured_s,
                      residual_percent(p->seconds, row->measured_s),
                      100 * p->flops / (row->measured_s * p->peak_flops));
    buffer_add_char(b, '\n');
}

static void note_kind(struct prediction_report *r, const struct prediction *p)
{
    size_t i = 0;
    while (i < r->kind_count &&
           (strcmp(r->kinds[i].framework, p->where.framework) != 0 || r->kinds[i].features != p->features))
        i++;
    if (i == r->kind_count) {
        *array_add(r->kinds, r->kind_count) =
            (struct listed_kind){.framework = xstrdup(p->where.framework), .features = p->features};
    }
    for (int q = 0; q < PREDICTED_QUANTITIES; q++)
        r->kinds[i].by_evidence[q] |= p->by_evidence[q];
}

/* Collects the features of all listed kinds of a framework; false if none has its interval from comparisons. */
static bool find_features(const struct prediction_report *r, const char *framework, enum predicted_quantity q,
                          feature_set *out)
{
    bool any = false;
    *out = 0;
    for (size_t i = 0; i < r->kind_count; i++)
        if (strcmp(r->kinds[i].framework, framework) == 0 && r->kinds[i].by_evidence[q]) {
            any = true;
            *out |= r->kinds[i].features;
        }
    return any;
}

static bool is_first_of_framework(const struct prediction_report *r, size_t kind)
{
    for (size_t i = 0; i < kind; i++)
        if (strcmp(r->kinds[i].framework, r->kinds[kind].framework) == 0)
            return false;
    return true;
}

static const char *const quantity_words[PREDICTED_QUANTITIES] = {"memory", "time"};

/* Once for each quantity and framework, with the features of any of its plans. */
static void add_evidence(const struct prediction_report *r, struct buffer *out)
{
    feature_set features;
    for (int q = 0; q < PREDICTED_QUANTITIES; q++)
        for (size_t i = 0; i < r->kind_count; i++) {
            if (!is_first_of_framework(r, i) ||
                !find_features(r, r->kinds[i].framework, (enum predicted_quantity)q, &features))
                continue;
            buffer_printf(out,
                          "\nthe intervals of %s are as wide as the errors of predictions in comparisons with "
                          "published runs:\n",
                          quantity_words[q]);
            evidence_describe(r->kinds[i].framework, (enum predicted_quantity)q, features, out);
        }
}

static void list(struct prediction_report *r, const struct predicted_row *row)
{
    if (r->shown >= r->request.most)
        return;
    r->shown++;
    buffer_printf(&r->lines, "%s%s%s%s%s\n", row->words, row->state[0] ? "  " : "", row->state,
                  row->failure[0] ? "/" : "", row->failure);
    if (!row->prediction) {
        buffer_printf(&r->lines, "    no prediction: %s\n", row->why);
        return;
    }
    note_kind(r, row->prediction);
    if (row->prediction->has_memory)
        list_memory(&r->lines, row, r->request.memory_words);
    if (row->prediction->has_time)
        list_time(&r->lines, row);
}

static struct residual *find_residual(struct prediction_report *r, const char *word)
{
    for (size_t i = 0; i < r->residual_count; i++)
        if (strcmp(r->residuals[i].word, word) == 0)
            return &r->residuals[i];
    r->residuals = array_grow(r->residuals, r->residual_count, sizeof *r->residuals);
    r->residuals[r->residual_count] = (struct residual){.word = xstrdup(word)};
    return &r->residuals[r->residual_count++];
}

static void note_residuals(struct prediction_report *r, const struct predicted_row *row)
{
    const struct prediction *p = row->prediction;
    char *words = xstrdup(row->words), *rest = NULL;
    for (char *word = strtok_r(words, " ", &rest); word; word = strtok_r(NULL, " ", &rest)) {
        struct residual *residual = find_residual(r, word);
        if (p->has_memory && !isnan(row->measured_bytes)) {
            residual->bytes += log(p->measured_bytes / row->measured_bytes);
            residual->byte_count++;
        }
        if (p->has_time && !isnan(row->measured_s)) {
            residual->seconds += log(p->seconds / row->measured_s);
            residual->second_count++;
        }
    }
    free(words);
}

static int compare_residuals(const void *a, const void *b)
{
    return strcmp(((const struct residual *)a)->word, ((const struct residual *)b)->word);
}

static void add_residuals(struct prediction_report *r, struct buffer *out)
{
    bool first = true;
    if (r->residual_count > 0)
        qsort(r->residuals, r->residual_count, sizeof *r->residuals, compare_residuals);
    for (size_t i = 0; i < r->residual_count; i++) {
        const struct residual *x = &r->residuals[i];
        if (x->byte_count + x->second_count == 0)
            continue;
        if (first)
            buffer_add_text(out, "\npredicted over measured, by axis\n");
        first = false;
        buffer_printf(out, "  %-28s", x->word);
        if (x->byte_count)
            buffer_printf(out, "  memory %+6.1f %% of %" PRId64, 100 * expm1(x->bytes / (double)x->byte_count),
                          x->byte_count);
        if (x->second_count)
            buffer_printf(out, "  step %+6.1f %% of %" PRId64, 100 * expm1(x->seconds / (double)x->second_count),
                          x->second_count);
        buffer_add_char(out, '\n');
    }
}

static int add_calibration(void *context, const struct calibration_row *row, struct error *e)
{
    struct buffer *out = context;
    (void)e;
    buffer_printf(out, "%s of %s on %s%s%s: %s, from ", row->quantity, row->framework,
                  row->device[0] ? row->device : "its device", row->cluster[0] ? " of " : "", row->cluster,
                  row->prior ? "prior" : "calibrated");
    buffer_add_count(out, row->measured, "measurement");
    buffer_add_text(out, ", ");
    buffer_add_count(out, row->censored, "bound");
    buffer_add_text(out, " (ran out of memory, or fitted), ");
    buffer_add_count(out, row->broken, "broken run");
    buffer_printf(out, " left out; error %.1f %%\n", 100 * row->sigma);
    if (!isnan(row->baseline))
        buffer_printf(out,
                      "  a constant MFU was more accurate over the last runs (error %.1f %%, the model %.1f %%), so it "
                      "is used\n",
                      100 * row->baseline_error, 100 * row->model_error);
    return 0;
}

/* --- accuracy --- */

static void note_outcome(struct prediction_report *r, const struct predicted_row *row)
{
    /* A job pruned by a witness would run out of memory. */
    bool ok = strcmp(row->state, "ok") == 0,
         oom = strcmp(row->failure, "oom") == 0 || strcmp(row->state, "pruned") == 0;
    double usable = row->prediction->usable_bytes;
    if ((!ok && !oom) || isnan(row->before_bytes) || !(usable > 0))
        return;
    r->ok += ok;
    r->oom += oom;
    r->audits_ok += row->is_audit && ok;
    r->audits_oom += row->is_audit && oom;
    for (int i = 0; i < SHARES; i++) {
        r->avoided[i] += oom && row->before_bytes > shares[i] * usable;
        r->lost[i] += ok && row->before_bytes > shares[i] * usable;
    }
}

static int add_quantity(struct db *db, const char *quantity, struct buffer *out, struct error *e)
{
    struct stmt *s = NULL;
    double *errors = NULL, *ratios = NULL, sum = 0;
    size_t n = 0;
    int rc;
    while ((rc = db_next(db, "SELECT predicted / measured FROM observation WHERE quantity = ? AND kind = 'measured'",
                         VALUES(sql_text(quantity)), &s, e)) > 0) {
        double ratio = stmt_double(s, 0);
        errors = array_grow(errors, n, sizeof *errors);
        ratios = array_grow(ratios, n, sizeof *ratios);
        errors[n] = fabs(ratio - 1);
        ratios[n] = fmax(ratio, 1 / ratio);
        sum += errors[n++];
    }
    if (n > 0) {
        sort_doubles(errors, n);
        sort_doubles(ratios, n);
        buffer_printf(out,
                      "%-6s  %zu runs, each predicted before it ran: MAPE %.1f %%, median %.1f %%, p95 ratio %.2f\n",
                      quantity, n, 100 * sum / (double)n, 100 * quantile(errors, n, 0.5), quantile(ratios, n, 0.95));
    } else
        buffer_printf(out, "%-6s  no measurements yet\n", quantity);
    free_all(errors, ratios);
    return rc;
}

/* With Wilson's 95 % interval. */
static void add_audit(const struct prediction_report *r, struct buffer *out)
{
    double n = (double)(r->audits_ok + r->audits_oom), z = 1.959964;
    if (n == 0) {
        buffer_add_text(out, "audit of pruning: no audit has run yet\n");
        return;
    }
    double share = (double)r->audits_ok / n, middle = (share + z * z / (2 * n)) / (1 + z * z / n);
    double half = z / (1 + z * z / n) * sqrt(share * (1 - share) / n + z * z / (4 * n * n));
    buffer_printf(out, "audit of pruning: %" PRId64 " of %.0f would have run: wrong in %.0f %% (%.0f to %.0f %%)\n",
                  r->audits_ok, n, 100 * share, 100 * fmax(0, middle - half), 100 * fmin(1, middle + half));
}

static int add_accuracy(const struct prediction_report *r, struct db *db, struct buffer *out, struct error *e)
{
    if (!db)
        return error_set(e, ERROR_NOTHING, "there is no database, so nothing has been measured");
    if (add_quantity(db, "memory", out, e) < 0 || add_quantity(db, "time", out, e) < 0)
        return -1;
    buffer_printf(out,
                  "running out of memory, predicted before the sweep: %" PRId64 " jobs failed, %" PRId64
                  " ran\n  skipped above   failures avoided   good jobs lost\n",
                  r->oom, r->ok);
    for (int i = 0; i < SHARES; i++)
        buffer_printf(out, "  %10.0f %%   %9" PRId64 " (%3.0f %%)   %7" PRId64 " (%3.0f %%)\n", 100 * shares[i],
                      r->avoided[i], r->oom ? 100 * (double)r->avoided[i] / (double)r->oom : 0, r->lost[i],
                      r->ok ? 100 * (double)r->lost[i] / (double)r->ok : 0);
    add_audit(r, out);
    for (int q = 0; q < PREDICTED_QUANTITIES; q++) {
        buffer_printf(out, "\n90 %% intervals of %s before any run, with each published source left out in turn:\n",
                      quantity_words[q]);
        evidence_describe_sources((enum predicted_quantity)q, out);
    }
    return 0;
}

/* --- the whole --- */

void prediction_report_add(struct prediction_report *r, const struct predicted_row *row)
{
    r->seen++;
    r->without += !row->prediction;
    if (r->request.kind == REPORT_LIST)
        list(r, row);
    if (r->request.kind == REPORT_FRONTIER)
        memory_frontier_add(&r->frontier, r->request.frontier_key, row);
    if (!row->prediction)
        return;
    if (r->request.kind == REPORT_LIST)
        note_residuals(r, row);
    note_outcome(r, row);
}

int prediction_report_end(struct prediction_report *r, struct space *space, struct db *db, struct buffer *out,
                          struct error *e)
{
    if (r->request.kind == REPORT_ACCURACY)
        return add_accuracy(r, db, out, e);
    if (r->request.kind == REPORT_FRONTIER)
        return memory_frontier_describe(&r->frontier, r->request.frontier_key, out, e);
    buffer_add(out, r->lines.data, r->lines.length);
    if (r->seen > r->shown)
        buffer_printf(out, "… and %" PRId64 " more; --all lists them\n", r->seen - r->shown);
    add_evidence(r, out);
    add_residuals(r, out);
    if (!db)
        return 0;
    buffer_add_char(out, '\n');
    return learning_calibrations(space, db, add_calibration, out, e);
}

static void add_weights(struct buffer *out, const char *json, const char *const *names, int count)
{
    cJSON *list = cJSON_Parse(json);
    int i = 0;
    for (const cJSON *n = list ? list->child : NULL; n && i < count; n = n->next, i++) {
        buffer_printf(out, "%s = ", names[i]);
        buffer_add_double(out, n->valuedouble);
        buffer_add_char(out, '\n');
    }
    cJSON_Delete(list);
}

struct profile_text {
    struct buffer *out;
    char *place; /* the last one written */
};

static int add_to_profile(void *context, const struct calibration_row *row, struct error *e)
{
    struct profile_text *t = context;
    struct buffer words = BUFFER_INIT;
    const struct {
        const char *key, *value;
    } keys[] = {{"framework", row->framework}, {"device", row->device}, {"cluster", row->cluster}};
    (void)e;
    if (row->prior)
        return 0;
    for (size_t i = 0; i < LENGTH(keys); i++)
        if (keys[i].value[0])
            buffer_printf(&words, "%s = \"%s\"\n", keys[i].key, keys[i].value);
    char *place = buffer_take(&words);
    bool is_memory = strcmp(row->quantity, "memory") == 0;
    if (strcmp(place, t->place) != 0)
        buffer_printf(t->out, "%s[predict]\n%s", t->out->length ? "\n# A separate profile:\n" : "", place);
    free(t->place);
    t->place = place;
    buffer_printf(t->out, "\n# From %" PRId64 " measurements.\n[predict.%s]\nsigma = ", row->measured, row->quantity);
    buffer_add_double(t->out, row->sigma);
    buffer_add_char(t->out, '\n');
    add_weights(t->out, row->weights_json, is_memory ? memory_term_names : time_term_names,
                is_memory ? (int)MEMORY_TERM_COUNT : (int)TIME_TERM_COUNT);
    return 0;
}

int prediction_report_profile(struct space *space, struct db *db, struct buffer *out, struct error *e)
{
    struct profile_text text = {out, xstrdup("")};
    int rc = learning_calibrations(space, db, add_to_profile, &text, e);
    free(text.place);
    if (rc == 0 && out->length == 0)
        return error_set(e, ERROR_NOTHING,
                         "nothing is calibrated yet: that takes three measurements with one framework, device and "
                         "cluster");
    return rc;
}
