#include "deepspeed/tuning_batches.h"

#include <stdlib.h>

#include "deepspeed/ds_check.h"
#include "util/memory.h"

#define RANGE_LEAST 6
#define NEAR 8 /* of micro-batches that nobody listed: those whose global batch is off by at most an eighth */

static const struct json *at(const struct tuning_batches *b, const char *key)
{
    const struct json *found = json_text_find(b->root, key);
    return found && !json_text_is_null(found) ? found : NULL;
}

/* 0 if it is not a positive integer. */
static long long number_at(const struct tuning_batches *b, const char *key)
{
    const struct json *j = at(b, key);
    long long n;
    return j && json_text_integer(j, &n) && n > 0 ? n : 0;
}

static bool accumulation_is_open(const struct tuning_batches *b)
{
    const struct json *j = at(b, "gradient_accumulation_steps");
    return !j || json_text_is(j, "auto");
}

/* The positive integers of a number or a list, one by one; 0: there is none at that place. */
static long long item_of(const struct json *j, size_t i)
{
    const struct json *item = !j                     ? NULL
                              : j->kind != JSON_LIST ? (i == 0 ? j : NULL)
                              : i < j->count         ? &j->children[i]
                                                     : NULL;
    long long n;
    return item && json_text_integer(item, &n) && n > 0 ? n : 0;
}

static size_t item_count(const struct json *j)
{
    return j && j->kind == JSON_LIST ? j->count : j != NULL;
}

/* --- data-parallel sizes --- */

/* Ranks of one group share a sequence, a pipeline or a tensor, and their samples. */
static const char *const degree_keys[] = {"sequence_parallel_size", "pipeline.stages", "tensor_parallel.autotp_size"};
#define DEGREES LENGTH(degree_keys)

static void add_ranks(struct tuning_batches *b, long long ranks)
{
    size_t i = FIRST(k, b->rank_count, b->ranks[k] == ranks);
    if (i == b->rank_count && i < RANKS_MOST)
        b->ranks[b->rank_count++] = ranks;
}

/* Adds what degrees from that one on leave of the ranks. */
static void add_shared(struct tuning_batches *b, long long ranks, size_t degree, long long most_sequence)
{
    if (degree == DEGREES) {
        add_ranks(b, ranks);
        return;
    }
    const struct json *j = at(b, degree_keys[degree]);
    const bool is_open = degree == 0 && j && json_text_is(j, "auto");
    const size_t count = is_open || !j ? 1 : item_count(j);
    for (long long n = 1; is_open && n <= most_sequence; n *= 2)
        if (ranks % n == 0)
            add_shared(b, ranks / n, degree + 1, most_sequence);
    for (size_t i = 0; !is_open && i < count; i++) {
        const long long n = item_of(j, i) ? item_of(j, i) : 1;
        if (ranks % n == 0)
            add_shared(b, ranks / n, degree + 1, most_sequence);
    }
}

struct tuning_batches tuning_batches_of(const struct json *root, const struct autotuning *knobs,
                                        const struct tuning_cluster *cluster, long long most_sequence)
{
    struct tuning_batches b = {.root = root, .knobs = knobs};
    for (size_t i = 0; i < tuning_cluster_count(knobs); i++) {
        const long long ranks = tuning_cluster_devices(cluster, knobs, i) / knobs->mp_size;
        add_shared(&b, ranks > 0 ? ranks : 1, 0, most_sequence);
    }
    if (b.rank_count == 0)
        add_ranks(&b, 1);
    return b;
}

static long long fewest_ranks(const struct tuning_batches *b)
{
    long long fewest = b->ranks[0];
    for (size_t i = 1; i < b->rank_count; i++)
        fewest = b->ranks[i] < fewest ? b->ranks[i] : fewest;
    return fewest;
}

/* --- limits --- */

/* The first listed micro-batch by which those ranks cannot share out the one global batch, or 1 if by none at all; 0:
 * there is none. */
static long long uneven_micro_batch(const struct tuning_batches *b, long long ranks)
{
    const struct json *micro = at(b, "train_micro_batch_size_per_gpu");
    const long long batch = accumulation_is_open(b) ? number_at(b, "train_batch_size") : 0;
    if (batch % ranks != 0)
        return 1;
    for (size_t i = 0; micro && micro->kind == JSON_LIST && i < micro->count; i++) {
        const long long size = item_of(micro, i);
        if (size > 0 && batch / ranks % size != 0)
            return size;
    }
    return 0;
}

static bool is_shared_unevenly(const struct tuning_batches *b)
{
    return ANY(i, b->rank_count, uneven_micro_batch(b, b->ranks[i]));
}

long long tuning_batches_fixed(const struct tuning_batches *b)
{
    return is_shared_unevenly(b) ? 0 : number_at(b, "train_batch_size");
}

/* Limits of a global batch; 0: none. */
struct limits {
    long long least, most;
};

static struct limits limits_of(const struct tuning_batches *b)
{
    return number_at(b, "train_batch_size")
               ? (struct limits){0, 0}
               : (struct limits){b->knobs->min_train_batch_size, b->knobs->max_train_batch_size};
}

bool tuning_batches_are_limited(const struct tuning_batches *b)
{
    const struct limits l = limits_of(b);
    return l.least || l.most || is_shared_unevenly(b);
}

/* The accumulation with which those ranks' global batch is nearest to the one requested. */
static long long nearest_accumulation(const struct tuning_batches *b, long long ranks, long long micro)
{
    long long step = micro * ranks, n = (2 * number_at(b, "train_batch_size") + step) / (2 * step);
    return n > 0 ? n : 1;
}

static long long nearest_batch(const struct tuning_batches *b, long long ranks, long long micro)
{
    return micro * ranks * nearest_accumulation(b, ranks, micro);
}

/* Returns whether the nearest batch with it is near on some ranks. */
static bool comes_near(const struct tuning_batches *b, long long micro)
{
    const long long batch = number_at(b, "train_batch_size");
    return ANY(i, b->rank_count, NEAR * llabs(nearest_batch(b, b->ranks[i], micro) - batch) <= batch);
}

bool tuning_batches_pair(const struct tuning_batches *b)
{
    return tuning_batches_are_limited(b) && accumulation_is_open(b);
}

/* --- micro-batches --- */

static long long largest_micro_batch(const struct tuning_batches *b)
{
    long long most = b->knobs->max_micro_batch, batch = number_at(b, "train_batch_size");
    batch = is_shared_unevenly(b) ? batch + batch / NEAR : batch;
    batch = batch ? batch : limits_of(b).most;
    batch = batch ? batch / fewest_ranks(b) : most;
    return batch < most ? batch : most;
}

/* Micro-batches, or the accumulations for one, the largest first. */
struct sizes {
    long long *items;
    size_t count;
};

static void add_accumulation(struct sizes *a, long long n)
{
    size_t at = a->count;
    while (at > 0 && a->items[at - 1] < n)
        at--;
    if (n < 1 || (at > 0 && a->items[at - 1] == n))
        return;
    a->items = array_grow(a->items, a->count, sizeof *a->items);
    for (size_t i = a->count++; i > at; i--)
        a->items[i] = a->items[i - 1];
    a->items[at] = n;
}

static long long ceiling(long long n, long long by)
{
    return (n + by - 1) / by;
}

/* Candidates besides the largest accumulation: all, powers of two, or the smallest. */
enum which { EVERY, POWERS, SMALLEST };

/* Adds the accumulations within the limits. Without an upper one, the smallest that reaches the lower one. */
static void add_of_ranks(const struct tuning_batches *b, long long ranks, long long micro, enum which which,
                         struct sizes *a)
{
    const struct limits l = limits_of(b);
    if (is_shared_unevenly(b)) {
        add_accumulation(a, nearest_accumulation(b, ranks, micro));
        return;
    }
    long long step = micro * ranks, least = l.least ? ceiling(l.least, step) : 1;
    long long most = l.most ? l.most / step : least;
    if (most >= least)
        add_accumulation(a, most);
    for (long long n = which == POWERS ? 1 : least; n < most; n = which == POWERS ? 2 * n : n + 1) {
        if (n >= least)
            add_accumulation(a, n);
        if (which == SMALLEST)
            break;
    }
}

static struct sizes accumulations_of(const struct tuning_batches *b, long long micro, enum which which)
{
    struct sizes a = {NULL, 0};
    for (size_t i = 0; i < b->rank_count; i++)
        add_of_ranks(b, b->ranks[i], micro, which, &a);
    return a;
}

/* Counts pairs without building them: on each number of ranks, up to the largest accumulation. */
static bool are_too_many(const struct tuning_batches *b, const struct sizes *sizes)
{
    long long total = 0;
    for (size_t k = 0; k < sizes->count; k++)
        for (size_t i = 0; i < b->rank_count; i++)
            total += limits_of(b).most / (sizes->items[k] * b->ranks[i]);
    return total > PAIRS_MOST;
}

static void add_pairs(const struct tuning_batches *b, const struct sizes *sizes, struct buffer *out)
{
    enum which which = !b->knobs->fast ? SMALLEST : are_too_many(b, sizes) ? POWERS : EVERY;
    const struct json *micro = at(b, "train_micro_batch_size_per_gpu");
    bool any = false, is_listed = micro && micro->kind == JSON_LIST;
    buffer_add_text(out, "\"(train_micro_batch_size_per_gpu, gradient_accumulation_steps)\" = [");
    for (size_t k = 0; k < sizes->count; k++) {
        struct sizes a = accumulations_of(b, sizes->items[k], which);
        if (a.count == 0 && is_listed) /* the rule says what is wrong */
            add_accumulation(&a, 1);
        for (size_t i = 0; i < a.count; i++)
            buffer_printf(out, "%s[%lld, %lld]", any || i ? ", " : "", sizes->items[k], a.items[i]);
        any |= a.count > 0;
        free(a.items);
    }
    if (!any) /* an empty list is no axis */
        buffer_printf(out, "[%lld, 1]", sizes->items[0]);
    buffer_add_text(out, "]\n");
}

/* As a range, if they are one, and so many that nobody would edit them one by one; false: nothing is appended. */
static bool add_range(const struct sizes *sizes, struct buffer *out)
{
    const long long *n = sizes->items, last = sizes->count - 1;
    bool steps = sizes->count >= RANGE_LEAST, doubles = steps;
    for (size_t i = 1; i < sizes->count; i++) {
        steps = steps && n[i] == n[i - 1] + 1;
        doubles = doubles && n[i] == 2 * n[i - 1];
    }
    if (steps || doubles)
        buffer_printf(out, "{ from = %lld, to = %lld%s }\n", n[0], n[last], doubles ? ", factor = 2" : "");
    return steps || doubles;
}

static void add_sizes(const struct tuning_batches *b, const struct sizes *sizes, struct buffer *out)
{
    if (tuning_batches_pair(b)) {
        add_pairs(b, sizes, out);
        return;
    }
    buffer_add_text(out, "\"train_micro_batch_size_per_gpu\" = ");
    if (add_range(sizes, out))
        return;
    buffer_add_char(out, '[');
    for (size_t i = 0; i < sizes->count; i++)
        buffer_printf(out, "%s%lld", i ? ", " : "", sizes->items[i]);
    buffer_add_text(out, "]\n");
}

/* Sizes are coarser if other keys are tuned, so that the matching configurations stay within what a search lists. */
static long long size_after(const struct tuning_batches *b, long long m, bool every)
{
    long long step = b->knobs->fast || m < 64 ? 1 : m < 256 ? 8 : 32;
    return every ? step * (m / step + 1) : 2 * m;
}

void tuning_batches_add(const struct tuning_batches *b, long long first, bool every, struct buffer *out)
{
    /* The smallest micro-batch has the shortest step; only the other keys are tuned. */
    bool smallest = !every && !b->knobs->fast && !tuning_batches_fixed(b);
    struct sizes sizes = {NULL, 0};
    for (long long m = first; m <= largest_micro_batch(b) || m == first; m = size_after(b, m, every)) {
        if (m == first || !is_shared_unevenly(b) || comes_near(b, m))
            *array_add(sizes.items, sizes.count) = m;
        if (smallest)
            break;
    }
    add_sizes(b, &sizes, out);
    free(sizes.items);
}

bool tuning_batches_add_list(const struct tuning_batches *b, const struct json *list, struct buffer *out)
{
    struct sizes sizes = {NULL, 0};
    bool good = tuning_batches_pair(b) && list->count > 0;
    for (size_t i = 0; good && i < list->count; i++) {
        long long n;
        good = json_text_integer(&list->children[i], &n) && n > 0;
        if (good)
            *array_add(sizes.items, sizes.count) = n;
    }
    if (good)
        add_sizes(b, &sizes, out);
    free(sizes.items);
    return good;
}

/* --- one global batch --- */

void tuning_batches_add_fixed(const struct tuning_batches *b, struct buffer *out)
{
    if (tuning_batches_fixed(b) > 0)
        buffer_printf(out, "train_batch_size = %lld\n", tuning_batches_fixed(b));
}

char *tuning_batches_nearest(const struct tuning_batches *b)
{
    long long micro = 0;
    for (size_t i = 0; i < b->rank_count && !micro; i++)
        micro = uneven_micro_batch(b, b->ranks[i]);
    if (!micro)
        return NULL;
    OWNED char *by = micro > 1 ? xasprintf(" by micro-batches of %lld", micro) : xstrdup("");
    return xasprintf("train_batch_size %lld cannot be divided evenly among the data-parallel ranks%s; each "
                     "micro-batch is tried at the nearest batch that can, and global batches differ: compared "
                     "per sample",
                     number_at(b, "train_batch_size"), by);
}

/* --- what is left out --- */

/* The part's choices: those that the ds_config gives; a micro-batch by itself is where a search begins. */
static const struct json *choices_of(const struct tuning_batches *b, int part)
{
    const struct json *j = at(b, batch_keys[part]);
    return part == MICRO && j && j->kind != JSON_LIST ? NULL : j;
}

/* Returns whether some number of ranks makes a whole of the parts; 0: whatever suits. */
static bool is_possible(const struct tuning_batches *b, const long long n[PART_COUNT])
{
    const struct limits l = limits_of(b);
    const bool is_free = !n[MICRO] || !n[STEPS];
    for (size_t i = 0; i < b->rank_count; i++) {
        const long long step = (n[MICRO] ? n[MICRO] : 1) * (n[STEPS] ? n[STEPS] : 1) * b->ranks[i];
        const long long most = is_free && l.most ? l.most / step * step : step;
        if (n[TRAIN] ? (is_free ? n[TRAIN] % step == 0 : n[TRAIN] == step)
                     : (!l.most || (most > 0 && most <= l.most)) && (most >= l.least || (is_free && !l.most)))
            return true;
    }
    return false;
}

/* Returns whether the parts from `part` on have choices that go with those before. */
static bool has_choice(const struct tuning_batches *b, int fixed, int part, long long n[PART_COUNT])
{
    if (part == PART_COUNT)
        return is_possible(b, n);
    if (part == fixed)
        return has_choice(b, fixed, part + 1, n);
    const struct json *j = choices_of(b, part);
    bool is_free = !j || item_count(j) == 0, has = false;
    for (size_t i = 0; i < item_count(j) && !has; i++) {
        n[part] = item_of(j, i);
        has = has_choice(b, fixed, part + 1, n);
    }
    n[part] = 0;
    return has || (is_free && has_choice(b, fixed, part + 1, n));
}

static void add_ranks_in_words(const struct tuning_batches *b, struct buffer *out)
{
    for (size_t i = 0; i < b->rank_count; i++)
        buffer_printf(out, "%s%lld", i == 0 ? "" : i + 1 < b->rank_count ? ", " : " or ", b->ranks[i]);
}

static char *left_out_text(const struct tuning_batches *b, int part, long long value)
{
    const struct limits l = limits_of(b);
    const struct json *train = at(b, batch_keys[TRAIN]);
    struct buffer t = BUFFER_INIT;
    buffer_printf(&t, "%s %lld is not tried: micro-batch x accumulation x ", batch_keys[part], value);
    add_ranks_in_words(b, &t);
    buffer_printf(&t, " data-parallel ranks is %snever ", part == TRAIN ? "" : "then ");
    if (part == TRAIN)
        buffer_add_text(&t, "that");
    else if (train && train->kind == JSON_LIST)
        buffer_add_text(&t, "a train_batch_size of the list");
    else if (train)
        buffer_printf(&t, "train_batch_size %lld", number_at(b, batch_keys[TRAIN]));
    else if (l.least && l.most)
        buffer_printf(&t, "from %lld to %lld (min_ and max_train_batch_size)", l.least, l.most);
    else
        buffer_printf(&t, "%s_train_batch_size %lld or %s", l.most ? "max" : "min", l.most ? l.most : l.least,
                      l.most ? "less" : "more");
    return buffer_take(&t);
}

void tuning_batches_left_out(const struct tuning_batches *b, struct string_list *out)
{
    for (int part = 0; part < PART_COUNT && !is_shared_unevenly(b); part++) {
        const struct json *j = part == MICRO ? at(b, batch_keys[MICRO]) : choices_of(b, part);
        for (size_t i = 0; i < item_count(j); i++) {
            long long n[PART_COUNT] = {0};
            n[part] = item_of(j, i);
            if (n[part] && !has_choice(b, part, TRAIN, n))
                string_list_add(out, left_out_text(b, part, item_of(j, i)));
        }
    }
}

/* --- rules --- */

static const char *per_sequence(const struct tuning_batches *b)
{
    return at(b, "sequence_parallel_size") ? " / coalesce(sequence_parallel_size, 1)" : "";
}

static void add_limit(const struct tuning_batches *b, const char *name, const char *sign, long long limit,
                      struct buffer *out)
{
    const struct json *steps = at(b, "gradient_accumulation_steps");
    long long fixed = 1;
    if (limit == 0)
        return;
    buffer_printf(out, "\n[[rule]]\nname = \"%s\"\nrequire = \"train_micro_batch_size_per_gpu * ", name);
    if (tuning_batches_pair(b) || (steps && steps->kind == JSON_LIST))
        buffer_add_text(out, "gradient_accumulation_steps");
    else if (steps && json_text_integer(steps, &fixed))
        buffer_printf(out, "%lld", fixed);
    buffer_printf(out,
                  " * dp%s %s %lld\"\nwhy = \"micro-batch x accumulation x data-parallel size must be %s %lld\"\n"
                  "source = \"autotuning.%s\"\n",
                  per_sequence(b), sign, limit, sign[0] == '<' ? "at most" : "at least", limit, name);
}

static void add_nearest(const struct tuning_batches *b, struct buffer *out)
{
    const long long batch = number_at(b, "train_batch_size");
    const char *per = per_sequence(b);
    buffer_printf(
        out,
        "\n[[rule]]\nname = \"nearest-train-batch-size\"\nrequire = \"gradient_accumulation_steps = max(1, (2 * "
        "%lld + train_micro_batch_size_per_gpu * (dp%s)) / (2 * train_micro_batch_size_per_gpu * (dp%s)))\"\n"
        "why = \"another accumulation brings micro-batch x accumulation x data-parallel size nearer to "
        "train_batch_size = %lld\"\nsource = \"the ds_config's train_batch_size, which the ranks do not divide\"\n",
        batch, per, per, batch);
}

void tuning_batches_add_rules(const struct tuning_batches *b, struct buffer *out)
{
    const struct limits l = limits_of(b);
    if (tuning_batches_fixed(b) > 0 && accumulation_is_open(b))
        buffer_printf(out,
                      "\n[derive]\ngradient_accumulation = \"train_batch_size / "
                      "(train_micro_batch_size_per_gpu * dp%s)\"\n",
                      per_sequence(b));
    if (is_shared_unevenly(b))
        buffer_printf(out,
                      "\n[derive]\nglobal_batch = \"train_micro_batch_size_per_gpu * gradient_accumulation_steps * "
                      "dp%s\"\n",
                      per_sequence(b));
    if (is_shared_unevenly(b))
        add_nearest(b, out);
    add_limit(b, "max_train_batch_size", "<=", l.most, out);
    add_limit(b, "min_train_batch_size", ">=", l.least, out);
}
