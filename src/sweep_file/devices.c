#include "sweep_file/devices.h"

#include <ctype.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "sweep_file/schema.h"
#include "util/memory.h"
#include "util/suggest.h"

#define GIB 1073741824.0

/* --- by name --- */

/* Words that drivers and shops write before a name. */
static const char *const makers[] = {"nvidia", "tesla", "geforce", "amd",    "instinct", "google",
                                     "cloud",  "aws",   "intel",   "habana", NULL};

static bool is_between(char c)
{
    return c == ' ' || c == '-' || c == '_';
}

/* The name at `*at` up to `end` without its makers. */
static void skip_makers(const char **at, const char *end)
{
    for (size_t i = 0; makers[i];) {
        size_t length = tolower((unsigned char)**at) == makers[i][0] ? strlen(makers[i]) : 0;
        if (length && (size_t)(end - *at) > length && strncasecmp(*at, makers[i], length) == 0 &&
            is_between((*at)[length])) {
            *at += length + 1;
            i = 0;
        } else {
            i++;
        }
    }
}

/* "NVIDIA A100-SXM4-80GB" is "a100 sxm4 80gb": blanks, dashes and case do not count. */
static bool is_same(const char *a, const char *a_end, const char *b, const char *b_end)
{
    skip_makers(&a, a_end);
    skip_makers(&b, b_end);
    for (;; a++, b++) {
        while (a < a_end && is_between(*a))
            a++;
        while (b < b_end && is_between(*b))
            b++;
        if (a == a_end || b == b_end || tolower((unsigned char)*a) != tolower((unsigned char)*b))
            return a == a_end && b == b_end;
    }
}

static bool is_called(const struct device *d, const char *name)
{
    const char *end = name + strlen(name);
    bool same = is_same(d->name, d->name + strlen(d->name), name, end);
    for (char **other = d->others; other && *other && !same; other++)
        same = is_same(*other, *other + strlen(*other), name, end);
    return same;
}

static struct device *find_in(const struct device_table *set, const char *name)
{
    for (size_t i = 0; i < set->count; i++)
        if (strcmp(set->items[i].name, name) == 0)
            return &set->items[i];
    return FIND(i, set->count, is_called(&set->items[i], name), &set->items[i]);
}

static bool is_blank(const char *name)
{
    return strspn(name, " -_") == strlen(name);
}

bool device_is_kind(const char *name)
{
    static const char *const kinds[] = {"cuda", "gpu", "cpu", "hip", "xpu", "tpu", "npu", "mps", "xla"};
    size_t length = strcspn(name, ":");
    return ANY(i, LENGTH(kinds), strlen(kinds[i]) == length && strncasecmp(kinds[i], name, length) == 0);
}

/* The letters of "MI450X" before its number, behind its makers. */
static size_t series_of(const char **name)
{
    size_t length = 0;
    skip_makers(name, *name + strlen(*name));
    while (isalpha((unsigned char)(*name)[length]))
        length++;
    return length;
}

/* One or two letters before a number are a maker's series, and another's name no misspelling of it: K100, H100. */
static bool may_be_meant(const char *word, const char *name)
{
    size_t a = series_of(&word), b = series_of(&name);
    return (a > 2 && b > 2) || (a == b && strncasecmp(word, name, a) == 0);
}

struct suggestion device_suggest_for(const char *word)
{
    skip_makers(&word, word + strlen(word));
    return suggest_for(word);
}

void device_suggest_try(struct suggestion *s, const char *name)
{
    if (may_be_meant(s->word, name))
        suggest_try(s, name);
}

int64_t device_usual_node(const struct string_list *names, double most)
{
    int64_t node = 0;
    for (size_t i = 0; i < names->count; i++) {
        const struct device *d = device_find(NULL, names->items[i]);
        if (!d || d->node == 0 || (node && d->node != node))
            return 0;
        node = d->node;
    }
    return most > (double)node ? node : 0;
}

/* Asked for each combination, nearly always by the table's own name. */
const struct device *device_find(const struct device_table *own, const char *name)
{
    if (is_blank(name))
        return NULL;
    const struct device *found = own ? find_in(own, name) : NULL;
    return found || device_is_kind(name) ? found : find_in(devices_carried(), name);
}

/* --- rows --- */

/* Attention that the row does not state keeps its share of the peak. */
static void complete(const struct device *known, const struct found *found, struct device *d)
{
    if (!found_key(found, "attention_flops"))
        d->attention_flops =
            known ? known->attention_flops * (d->peak_flops / known->peak_flops) : UNMEASURED_ATTENTION * d->peak_flops;
    if (known && !found_key(found, "latest_attention_flops"))
        d->latest_attention_flops = known->latest_attention_flops * (d->peak_flops / known->peak_flops);
    if (!(d->launch_factor > 0))
        d->launch_factor = 1;
    if (d->fp4_factor < d->fp8_factor)
        d->fp4_factor = d->fp8_factor;
}

/* A row that changes a device is short; one that was to change a device and names none lacks what every device has. */
static bool check_new(const struct reading *r, const struct toml_node *table, const struct toml_node *name,
                      const struct device_table *known)
{
    struct suggestion meant = device_suggest_for(name->text);
    for (size_t i = 0; i < known->count; i++)
        device_suggest_try(&meant, known->items[i].name);
    bool good = toml_child(table, "peak_flops") && toml_child(table, "memory_bandwidth");
    if (!good)
        problem_at_value(r, name, "no device \"%s\" is known: a new one needs peak_flops and memory_bandwidth%s",
                         name->text, suggest_hint(&meant));
    return good;
}

/* As `known` has it (NULL: a device of its own), but for what the table says; names are added to its own. */
static struct device read_row(const struct reading *r, struct found *found, const struct device *known)
{
    struct device d =
        known ? *known : (struct device){.fp8_factor = 1, .fp32_factor = 0.5, .link_bytes_per_s = UNKNOWN_LINK};
    const struct toml_node *others = found_key(found, "others");
    if (!known)
        d.name = arena_text(r->arena, found_key(found, "name")->text);
    d.others = NULL; /* the list of `known` is not to grow */
    for (char **other = known ? known->others : NULL; other && *other; other++)
        texts_add(r->arena, &d.others, *other);
    for (size_t i = 0; others && i < others->child_count; i++)
        texts_add(r->arena, &d.others, others->children[i].text);
    schema_take(r, found, &d);
    if (d.usable_bytes > 0 && !(known && d.usable_bytes == known->usable_bytes)) /* it is written in GiB */
        d.usable_bytes *= GIB;
    complete(known, found, &d);
    d.at = reading_at_value(r, found->table);
    return d;
}

static struct sweep carried_rows; /* no more than their devices */

static void read_device(const struct reading *r, struct found *found)
{
    struct device_table *set = &r->sweep->devices;
    const struct device_table *carried = r->sweep == &carried_rows ? set : devices_carried();
    const struct toml_node *name = found_key(found, "name");
    if (!name)
        return;
    if (is_blank(name->text)) {
        problem_at_value(r, name, "the name of a device is empty");
        return;
    }
    struct device *own = find_in(set, name->text);
    if (own && !check_replaces(r, name, name->text, &own->at))
        return;
    const struct device *known = own ? own : find_in(carried, name->text);
    if (!known && !check_new(r, found->table, name, carried))
        return;
    const struct device d = read_row(r, found, known);
    *(own ? own : arena_add(r->arena, set->items, set->count)) = d;
}

const struct schema schema_device = {SCHEMA("[[device]]", KEYS_OF_DEVICE), read_device};

/* --- what the program carries --- */

static void read_carried(void)
{
    toml_free(reading_carried("knowledge/devices.toml", "device", &schema_device, &carried_rows, NULL));
}

const struct device_table *devices_carried(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, read_carried);
    return &carried_rows.devices;
}
