#include "sweep_file/devices.h"

#include <ctype.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "sweep_file/schema.h"
#include "sweep_file/sections.h"
#include "sweep_file/values.h"
#include "util/memory.h"
#include "util/suggest.h"

#define GIB 1073741824.0
#define LENGTH(array) (sizeof(array) / sizeof *(array))

/* --- by name --- */

/* What drivers and shops write before a name. */
static const char *const makers[] = {"nvidia", "tesla", "geforce", "amd", "instinct", "google", "cloud", "aws", NULL};

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
    for (size_t i = 0; i < set->count; i++)
        if (is_called(&set->items[i], name))
            return &set->items[i];
    return NULL;
}

static bool is_blank(const char *name)
{
    return strspn(name, " -_") == strlen(name);
}

bool device_is_kind(const char *name)
{
    static const char *const kinds[] = {"cuda", "gpu", "cpu", "hip", "xpu", "tpu", "npu", "mps", "xla"};
    size_t length = strcspn(name, ":");
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (strlen(kinds[i]) == length && strncasecmp(kinds[i], name, length) == 0)
            return true;
    return false;
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

static const struct {
    enum device_key key;
    size_t offset;
    double least, most, unit;
} numbers[] = {
    {DEVICE_PEAK_FLOPS, offsetof(struct device, peak_flops), 1, 1e21, 1},
    {DEVICE_ATTENTION_FLOPS, offsetof(struct device, attention_flops), 1, 1e21, 1},
    {DEVICE_LATEST_ATTENTION_FLOPS, offsetof(struct device, latest_attention_flops), 1, 1e21, 1},
    {DEVICE_FP8_FACTOR, offsetof(struct device, fp8_factor), 1, 64, 1},
    {DEVICE_FP4_FACTOR, offsetof(struct device, fp4_factor), 1, 64, 1},
    {DEVICE_FP32_FACTOR, offsetof(struct device, fp32_factor), 0.001, 1, 1},
    {DEVICE_PRODUCT_SHARE, offsetof(struct device, product_share), 0.01, 1, 1},
    {DEVICE_FP8_SHARE, offsetof(struct device, fp8_share), 0.01, 1, 1},
    {DEVICE_VECTOR_FLOPS, offsetof(struct device, vector_flops), 1, 1e21, 1},
    {DEVICE_MEMORY_BANDWIDTH, offsetof(struct device, memory_bytes_per_s), 1, 1e18, 1},
    {DEVICE_MEMORY_GIB, offsetof(struct device, usable_bytes), 0.1, 1e5, GIB},
    {DEVICE_LINK_BANDWIDTH, offsetof(struct device, link_bytes_per_s), 1, 1e18, 1},
    {DEVICE_NETWORK_BANDWIDTH, offsetof(struct device, adapter_bytes_per_s), 1, 1e18, 1},
};

static void device_free(struct device *d)
{
    free((char *)d->name);
    free((char *)d->source);
    strings_free(d->others);
}

void device_table_free(struct device_table *set)
{
    for (size_t i = 0; i < set->count; i++)
        device_free(&set->items[i]);
    free(set->items);
}

/* NULL where there are none. */
static char **add_names(char *const *known, const struct toml_node *list)
{
    size_t count = 0, more = list ? list->child_count : 0;
    while (known && known[count])
        count++;
    char **names = count + more ? xcalloc(count + more + 1, sizeof *names) : NULL;
    for (size_t i = 0; i < count + more; i++)
        names[i] = xstrdup(i < count ? known[i] : list->children[i - count].text);
    return names;
}

/* Attention that the row does not state keeps its share of the peak. */
static void complete(const struct device *known, const struct toml_node *const *found, struct device *d)
{
    if (!found[DEVICE_ATTENTION_FLOPS])
        d->attention_flops =
            known ? known->attention_flops * (d->peak_flops / known->peak_flops) : UNMEASURED_ATTENTION * d->peak_flops;
    if (known && !found[DEVICE_LATEST_ATTENTION_FLOPS])
        d->latest_attention_flops = known->latest_attention_flops * (d->peak_flops / known->peak_flops);
    if (d->fp4_factor < d->fp8_factor)
        d->fp4_factor = d->fp8_factor;
}

/* A row that changes a device is short; one that was to change a device and names none lacks what every device has. */
static bool check_new(const struct reading *r, const struct toml_node *table, const struct toml_node *name,
                      const struct device_table *known)
{
    const char **names = xcalloc(known->count + 1, sizeof *names);
    for (size_t i = 0; i < known->count; i++)
        names[i] = known->items[i].name;
    char *hint = suggest_hint(name->text, names, known->count);
    bool good = toml_child(table, "peak_flops") && toml_child(table, "memory_bandwidth");
    if (!good)
        problem_at_value(r, name, "no device \"%s\" is known: a new one needs peak_flops and memory_bandwidth%s",
                         name->text, hint);
    free(hint);
    free(names);
    return good;
}

/* As `known` has it (NULL: a device of its own), but for what the table says; names are added to its own. */
static struct device read_row(const struct reading *r, const struct toml_node *table,
                              const struct toml_node *const *found, const struct device *known)
{
    struct device d =
        known ? *known : (struct device){.fp8_factor = 1, .fp32_factor = 0.5, .link_bytes_per_s = UNKNOWN_LINK};
    double value;
    const char *source = found[DEVICE_SOURCE] ? found[DEVICE_SOURCE]->text : d.source;
    d.name = xstrdup(known ? known->name : found[DEVICE_NAME]->text);
    d.source = source ? xstrdup(source) : NULL;
    d.others = add_names(d.others, found[DEVICE_OTHERS]);
    if (found[DEVICE_MEASURED])
        d.measured = found[DEVICE_MEASURED]->integer;
    if (found[DEVICE_ENGINES])
        d.collective_engines = found[DEVICE_ENGINES]->integer;
    if (found[DEVICE_DOMAIN] && check_range(r, found[DEVICE_DOMAIN], 1, 1000000))
        d.link_domain = found[DEVICE_DOMAIN]->integer;
    for (size_t i = 0; i < LENGTH(numbers); i++)
        if (found[numbers[i].key] &&
            read_bounded(r, found[numbers[i].key], numbers[i].least, numbers[i].most, &value)) {
            value *= numbers[i].unit;
            memcpy((char *)&d + numbers[i].offset, &value, sizeof value);
        }
    complete(known, found, &d);
    d.at = reading_at_value(r, table);
    return d;
}

static void read_device(const struct reading *r, const struct toml_node *table, const struct device_table *carried)
{
    struct device_table *set = &r->sweep->devices;
    const struct toml_node *found[DEVICE_KEY_COUNT];
    schema_match(&schema_device, r, table, found);
    const struct toml_node *name = found[DEVICE_NAME];
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
    if (!known && !check_new(r, table, name, carried))
        return;
    struct device d = read_row(r, table, found, known);
    if (own) {
        device_free(own);
    } else {
        set->items = array_grow(set->items, set->count, sizeof *set->items);
        own = &set->items[set->count++];
    }
    *own = d;
}

static void read_rows(const struct reading *r, const struct toml_node *list, const struct device_table *carried)
{
    if (check_entry_count(r, list, r->sweep->devices.count, "devices"))
        for (size_t i = 0; i < list->child_count; i++)
            read_device(r, &list->children[i], carried);
}

void read_device_rows(const struct reading *r, const struct toml_node *list)
{
    read_rows(r, list, devices_carried());
}

/* --- what the program carries --- */

static struct device_table carried_devices;

static void read_first(const struct reading *r, const struct toml_node *list)
{
    read_rows(r, list, &carried_devices);
}

static void read_carried(void)
{
    struct sweep *rows = xcalloc(1, sizeof *rows);
    toml_free(reading_carried("knowledge/devices.toml", "device", rows, NULL, read_first));
    carried_devices = rows->devices;
    free(rows);
}

const struct device_table *devices_carried(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, read_carried);
    return &carried_devices;
}
