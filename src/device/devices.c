#include "device/devices.h"

#include <assert.h>
#include <ctype.h>
#include <dirent.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "process/external_command.h"
#include "process/process.h"
#include "util/buffer.h"
#include "util/file.h"
#include "util/memory.h"

#define SMI_TIMEOUT_MS 20000 /* a driver that wakes up takes some seconds */

/* --- which there are --- */

void device_list_free(struct device_list *l)
{
    for (size_t i = 0; i < l->count; i++)
        free(l->names[i]);
    free_all(l->names, l->nodes);
    *l = DEVICE_LIST_INIT;
}

size_t device_list_most(const struct device_list *l)
{
    size_t whole = 0;
    for (size_t i = 0; i < l->count; i++)
        whole += strncmp(l->names[i], "MIG-", 4) != 0;
    return whole > 0 || l->count == 0 ? whole : 1;
}

static void add_name(struct device_list *l, char *name)
{
    if (l->count == DEVICES_MOST) {
        free(name);
        return;
    }
    *array_add(l->names, l->count) = name;
}

void device_list_add_names(struct device_list *l, const char *text)
{
    char *copy = xstrdup(text), *rest = NULL;
    for (char *word = strtok_r(copy, ", ", &rest); word; word = strtok_r(NULL, ", ", &rest)) {
        if (!isdigit((unsigned char)*word) && strncmp(word, "GPU-", 4) != 0 && strncmp(word, "MIG-", 4) != 0)
            break;
        if (!ANY(i, l->count, strcmp(l->names[i], word) == 0))
            add_name(l, xstrdup(word));
    }
    free(copy);
}

void device_list_add_count(struct device_list *l, int64_t count)
{
    for (int64_t i = 0; i < count; i++)
        add_name(l, xasprintf("%lld", (long long)i));
}

void device_list_add_node(struct device_list *l, uint16_t node, const char *name, int64_t count)
{
    for (int64_t i = 0; i < count && l->count < DEVICES_MOST; i++) {
        l->nodes = array_grow(l->nodes, l->count, sizeof *l->nodes);
        l->nodes[l->count] = node;
        add_name(l, xasprintf("%s:%lld", name, (long long)i));
    }
}

/* "  MIG 1g.10gb     Device  0: (UUID: MIG-6d31…)": its name; the caller's, NULL: the line is of something else. */
static char *mig_name(const char *line, size_t length)
{
    static const char begin[] = "(UUID: MIG-";
    const char *uuid = memmem(line, length, begin, strlen(begin));
    if (!uuid || strncmp(line + strspn(line, " \t"), "MIG ", 4) != 0)
        return NULL;
    uuid += strlen("(UUID: ");
    return xstrndup(uuid, strcspn(uuid, ")\r\n"));
}

void device_list_add_smi(struct device_list *l, const char *text)
{
    int64_t count = 0;
    bool is_whole = false; /* the last of the list is a device that instances may take the place of */
    for (const char *line = text; *line; line += strcspn(line, "\n"), line += *line == '\n') {
        char *name = mig_name(line, strcspn(line, "\n"));
        if (!name && (strncmp(line, "GPU ", 4) != 0 || !isdigit((unsigned char)line[4])))
            continue;
        if (name && is_whole)
            free(l->names[--l->count]);
        is_whole = !name && l->count < DEVICES_MOST;
        add_name(l, name ? name : xasprintf("%lld", (long long)count++));
    }
}

char *const device_variables[] = {(char *)"CUDA_VISIBLE_DEVICES", (char *)"ROCR_VISIBLE_DEVICES",
                                  (char *)"HIP_VISIBLE_DEVICES", NULL};

static bool from_environment(char *const *environment, struct device_list *out)
{
    for (char *const *name = device_variables; *name; name++) {
        const char *value = environment_value(environment, *name);
        if (!value)
            continue;
        device_list_add_names(out, value);
        out->source = *name;
        return true;
    }
    return false;
}

static bool from_smi(char *const *environment, struct device_list *out)
{
    char *argv[] = {(char *)"nvidia-smi", (char *)"-L", NULL};
    const struct external_command question = {argv, environment, NULL, SMI_TIMEOUT_MS, 1 << 16, NULL};
    OWNED_RESULT answer = EXTERNAL_COMMAND_RESULT_INIT;
    struct error none = ERROR_INIT;
    if (external_command_run(&question, &answer, &none) == 0 && answer.exit_code == 0)
        device_list_add_smi(out, answer.output);
    if (out->count > 0)
        out->source = "nvidia-smi";
    return out->count > 0;
}

static int is_entry(const struct dirent *d)
{
    return d->d_name[0] != '.';
}

static int64_t count_entries(const char *directory)
{
    struct dirent **entries = NULL;
    int n = scandir(directory, &entries, is_entry, NULL);
    for (int i = 0; i < n; i++)
        free(entries[i]);
    free(entries);
    return n > 0 ? n : 0;
}

static bool from_nvidia_files(const char *root, struct device_list *out)
{
    OWNED char *path = xasprintf("%s/proc/driver/nvidia/gpus", root);
    device_list_add_count(out, count_entries(path));
    if (out->count > 0)
        out->source = "/proc/driver/nvidia";
    return out->count > 0;
}

/* A node of the topology is a GPU when it has SIMD units; the others are processors. */
static bool is_gpu_node(const char *directory)
{
    OWNED_BUFFER text = BUFFER_INIT;
    OWNED char *path = xasprintf("%s/properties", directory);
    bool yes = file_read(path, 1 << 16, &text, NULL) == 0;
    const char *line = yes ? strstr(buffer_text(&text), "simd_count ") : NULL;
    yes = line && strtol(line + strlen("simd_count "), NULL, 10) > 0;
    return yes;
}

static void from_rocm_files(const char *root, struct device_list *out)
{
    OWNED char *nodes = xasprintf("%s/sys/class/kfd/kfd/topology/nodes", root);
    int64_t count = 0, entries = count_entries(nodes);
    for (int64_t i = 0; i < entries; i++) {
        OWNED char *node = xasprintf("%s/%lld", nodes, (long long)i);
        count += is_gpu_node(node);
    }
    device_list_add_count(out, count);
    if (count > 0)
        out->source = "ROCm";
}

void devices_discover(char *const *environment, const char *root, struct device_list *out)
{
    *out = DEVICE_LIST_INIT;
    if (from_environment(environment, out) || from_smi(environment, out) || from_nvidia_files(root, out))
        return;
    from_rocm_files(root, out);
}

/* --- which job gets which --- */

void device_pool_init(struct device_pool *p, size_t count, size_t most, const uint16_t *nodes)
{
    count = count < DEVICES_MOST ? count : DEVICES_MOST;
    *p = (struct device_pool){.count = count, .most = most > 0 && most < count ? most : count, .node_count = 1};
    for (size_t i = 0; nodes && i < count; i++) {
        p->node[i] = nodes[i];
        p->node_count = nodes[i] + (size_t)1;
    }
}

static size_t size_of(struct device_gang gang)
{
    return gang.nodes * gang.each;
}

static bool is_in(const struct device_set *set, size_t device)
{
    for (size_t i = 0; set && i < set->count; i++)
        if (set->items[i] == device)
            return true;
    return false;
}

static bool may_take(const struct device_pool *p, size_t device, const struct device_set *avoid)
{
    return p->state[device] == DEVICE_FREE && !is_in(avoid, device);
}

uint32_t device_parts(double share)
{
    return share > 0 && share < 1 ? (uint32_t)fmax(share * DEVICE_PARTS, 1) : 0;
}

/* Returns a device of which a share may be taken: the fullest, so that whole devices stay free; p->count where there is
 * none. */
static size_t fullest_with(const struct device_pool *p, uint32_t parts, const struct device_set *avoid)
{
    size_t best = p->count;
    for (size_t i = 0; i < p->count; i++) {
        const bool is_shared = p->state[i] == DEVICE_BUSY && p->room[i] >= parts && !p->is_closed[i];
        if (is_in(avoid, i) || (!is_shared && (p->state[i] != DEVICE_FREE || p->used == p->most)))
            continue;
        const uint32_t room = is_shared ? p->room[i] : DEVICE_PARTS;
        if (best == p->count || room < (p->state[best] == DEVICE_BUSY ? p->room[best] : DEVICE_PARTS))
            best = i;
    }
    return best;
}

static bool take_share(struct device_pool *p, uint32_t parts, const struct device_set *avoid, struct device_set *out)
{
    size_t device = fullest_with(p, parts, avoid);
    device = device < p->count ? device : fullest_with(p, parts, NULL);
    if (device == p->count)
        return false;
    p->room[device] = (p->state[device] == DEVICE_BUSY ? p->room[device] : DEVICE_PARTS) - parts;
    p->used += p->state[device] == DEVICE_FREE;
    p->state[device] = DEVICE_BUSY;
    *out = (struct device_set){.count = 1, .items = {(uint16_t)device}, .parts = parts};
    return true;
}

static bool is_whole(const struct device_pool *p, struct device_gang wanted)
{
    return p->gives_whole && wanted.nodes > 1;
}

/* The devices of a node that may be taken, into a count for each node; with `whole` none of one that is in use. */
static void count_free(const struct device_pool *p, const struct device_set *avoid, bool whole,
                       uint16_t free_of[DEVICES_MOST])
{
    memset(free_of, 0, p->node_count * sizeof *free_of);
    for (size_t i = 0; i < p->count; i++)
        free_of[p->node[i]] += may_take(p, i, avoid);
    for (size_t i = 0; whole && i < p->count; i++)
        if (p->state[i] == DEVICE_BUSY)
            free_of[p->node[i]] = 0;
}

static size_t nodes_with(const struct device_pool *p, const uint16_t *counts, size_t each)
{
    size_t n = 0;
    for (size_t i = 0; i < p->node_count; i++)
        n += counts[i] >= each;
    return n;
}

bool device_pool_fits(const struct device_pool *p, struct device_gang wanted)
{
    uint16_t free_of[DEVICES_MOST];
    if (wanted.parts)
        return fullest_with(p, wanted.parts, NULL) < p->count;
    count_free(p, NULL, is_whole(p, wanted), free_of);
    return nodes_with(p, free_of, wanted.each) >= wanted.nodes && p->used + wanted.nodes * wanted.each <= p->most;
}

bool device_pool_can_ever(const struct device_pool *p, struct device_gang wanted)
{
    uint16_t usable[DEVICES_MOST] = {0};
    for (size_t i = 0; i < p->count; i++)
        usable[p->node[i]] += p->state[i] != DEVICE_SKIPPED && !p->is_closed[i];
    return nodes_with(p, usable, wanted.each) >= wanted.nodes && wanted.nodes * wanted.each <= p->most;
}

/* Returns where the smallest run of at least `wanted` neighbours on the node begins; p->count when there is none. */
static size_t smallest_gap(const struct device_pool *p, size_t node, size_t wanted, const struct device_set *avoid)
{
    size_t best = p->count, best_length = SIZE_MAX;
    for (size_t i = 0, length; i < p->count; i += length + 1) {
        for (length = 0; i + length < p->count && p->node[i + length] == node && may_take(p, i + length, avoid);
             length++)
            continue;
        if (length >= wanted && length < best_length) {
            best = i;
            best_length = length;
        }
    }
    return best;
}

static void add_device(struct device_pool *p, struct device_set *set, size_t device)
{
    p->state[device] = DEVICE_BUSY;
    set->items[set->count++] = (uint16_t)device;
}

BY_NUMBER(by_number, uint16_t, [0])

static void take_on(struct device_pool *p, size_t node, size_t wanted, const struct device_set *avoid,
                    struct device_set *set)
{
    size_t gap = smallest_gap(p, node, wanted, avoid), full = set->count + wanted;
    for (size_t i = gap; gap < p->count && set->count < full; i++)
        add_device(p, set, i);
    for (size_t i = 0; i < p->count && set->count < full; i++)
        if (p->node[i] == node && may_take(p, i, avoid))
            add_device(p, set, i);
    for (size_t i = 0; i < p->count && set->count < full; i++)
        if (p->node[i] == node && p->state[i] == DEVICE_FREE)
            add_device(p, set, i);
}

/* The node with the fewest that suffices; p->node_count when none does. */
static size_t tightest_node(const struct device_pool *p, const uint16_t *counts, size_t each)
{
    size_t best = p->node_count;
    for (size_t i = 0; i < p->node_count; i++)
        if (counts[i] >= each && (best == p->node_count || counts[i] < counts[best]))
            best = i;
    return best;
}

bool device_pool_take(struct device_pool *p, struct device_gang wanted, const struct device_set *avoid,
                      struct device_set *out)
{
    uint16_t good[DEVICES_MOST], any[DEVICES_MOST];
    struct device_set set = {.count = 0};
    if (wanted.parts)
        return take_share(p, wanted.parts, avoid, out);
    if (!device_pool_fits(p, wanted))
        return false;
    count_free(p, avoid, is_whole(p, wanted), good);
    count_free(p, NULL, is_whole(p, wanted), any);
    for (size_t i = 0; i < wanted.nodes; i++) {
        size_t node = tightest_node(p, good, wanted.each);
        node = node < p->node_count ? node : tightest_node(p, any, wanted.each);
        take_on(p, node, is_whole(p, wanted) ? any[node] : wanted.each, avoid, &set);
        good[node] = any[node] = 0;
    }
    array_sort(set.items, set.count, by_number);
    p->used += set.count;
    *out = set;
    return true;
}

void device_pool_give(struct device_pool *p, const struct device_set *set)
{
    for (size_t i = 0; i < set->count; i++) {
        const size_t device = set->items[i];
        assert(p->state[device] == DEVICE_BUSY);
        p->room[device] += set->parts;
        if (set->parts && p->room[device] < DEVICE_PARTS)
            continue;
        p->state[device] = p->is_closed[device] ? DEVICE_SKIPPED : DEVICE_FREE;
        p->room[device] = 0;
        p->is_closed[device] = false;
        p->used--;
    }
}

bool device_pool_skip(struct device_pool *p, size_t device)
{
    const bool is_free = p->state[device] == DEVICE_FREE;
    const bool has_room = p->room[device] > 0 && !p->is_closed[device];
    if (is_free)
        p->state[device] = DEVICE_SKIPPED;
    p->is_closed[device] |= has_room;
    return is_free || has_room;
}

void device_pool_restore(struct device_pool *p, size_t device)
{
    if (p->state[device] == DEVICE_SKIPPED)
        p->state[device] = DEVICE_FREE;
    p->is_closed[device] = false;
}

static bool is_larger(struct device_gang a, struct device_gang b)
{
    const size_t x = size_of(a), y = size_of(b);
    return x != y ? x > y : (a.parts ? a.parts : DEVICE_PARTS) > (b.parts ? b.parts : DEVICE_PARTS);
}

int64_t devices_choose(const struct device_pool *p, const struct device_wish *wishes, size_t count, int64_t patience)
{
    int64_t best = -1;
    if (count > 0 && wishes[0].passed_over >= patience && device_pool_can_ever(p, wishes[0].devices))
        return device_pool_fits(p, wishes[0].devices) ? 0 : -1;
    for (size_t i = 0; i < count; i++)
        if ((best < 0 || is_larger(wishes[i].devices, wishes[best].devices)) && device_pool_fits(p, wishes[i].devices))
            best = (int64_t)i;
    return best;
}

char *device_set_names(const struct device_set *set, const struct device_list *names)
{
    struct buffer b = BUFFER_INIT;
    for (size_t i = 0; i < set->count; i++) {
        buffer_add_text(&b, i ? "," : "");
        buffer_add_text(&b, names->names[set->items[i]]);
    }
    return buffer_take(&b);
}
