#include <inttypes.h>
#include <math.h>

#include "answers/prediction_report.h"
#include "util/parse.h"

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
