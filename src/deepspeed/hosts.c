#include "deepspeed/hosts.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "util/memory.h"
#include "util/parse.h"

#define SLOTS_MOST 1024

void ds_hosts_free(struct ds_hosts *h)
{
    for (size_t i = 0; i < h->count; i++) {
        free(h->items[i].name);
        free(h->items[i].slots);
    }
    free(h->items);
    *h = (struct ds_hosts)DS_HOSTS_INIT;
}

static struct ds_host *find(const struct ds_hosts *h, const char *name)
{
    for (size_t i = 0; i < h->count; i++)
        if (strcmp(h->items[i].name, name) == 0)
            return &h->items[i];
    return NULL;
}

/* --- the hostfile --- */

static void add_host(struct ds_hosts *h, const char *name, int64_t slots)
{
    h->items = array_grow(h->items, h->count, sizeof *h->items);
    struct ds_host *host = &h->items[h->count++];
    *host = (struct ds_host){xstrdup(name), xcalloc((size_t)slots, sizeof(long long)), (size_t)slots};
    for (int64_t i = 0; i < slots; i++)
        host->slots[i] = i;
}

static int parse_line(const char *file, int number, char *line, struct ds_hosts *h, struct error *e)
{
    char *rest = NULL;
    int64_t slots = 0;
    line[strcspn(line, "#")] = '\0';
    const char *name = strtok_r(line, " \t\r", &rest), *count = name ? strtok_r(NULL, " \t\r", &rest) : NULL;
    if (!name)
        return 0;
    if (!count || strncmp(count, "slots=", 6) != 0 || !parse_int64(count + 6, &slots) || slots < 1 ||
        slots > SLOTS_MOST || strtok_r(NULL, " \t\r", &rest))
        return error_set(e, ERROR_USAGE, "%s:%d: a line of a hostfile is \"NAME slots=N\"", file, number);
    if (find(h, name))
        return error_set(e, ERROR_USAGE, "%s:%d: host %s is given twice", file, number, name);
    add_host(h, name, slots);
    return 0;
}

int ds_hosts_parse(const char *file, const char *text, struct ds_hosts *out, struct error *e)
{
    struct ds_hosts hosts = DS_HOSTS_INIT;
    char *copy = xstrdup(text), *line = copy;
    int rc = 0, number = 1;
    for (char *end; rc == 0 && line; line = end, number++) {
        end = strchr(line, '\n');
        if (end)
            *end++ = '\0';
        rc = parse_line(file, number, line, &hosts, e);
    }
    free(copy);
    if (rc == 0 && hosts.count == 0)
        rc = error_set(e, ERROR_USAGE, "%s: no host stands in it; a line is \"NAME slots=N\"", file);
    if (rc < 0)
        ds_hosts_free(&hosts);
    else
        *out = hosts;
    return rc;
}

/* --- filters --- */

static bool has_slot(const struct ds_host *host, long long slot)
{
    for (size_t i = 0; host && i < host->slot_count; i++)
        if (host->slots[i] == slot)
            return true;
    return false;
}

/* Puts the slots that `node` ("NAME:0,1" or "NAME") names into `named`, under the host's name. */
static int parse_node(const struct ds_hosts *all, char *node, struct ds_hosts *named, struct error *e)
{
    char *colon = strchr(node, ':'), *rest = NULL;
    if (colon)
        *colon++ = '\0';
    const struct ds_host *host = find(all, node);
    if (!host)
        return error_set(e, ERROR_USAGE, "there is no host %s", node);
    if (find(named, node))
        return error_set(e, ERROR_USAGE, "host %s is named twice", node);
    add_host(named, node, (int64_t)host->slot_count);
    struct ds_host *kept = &named->items[named->count - 1];
    memcpy(kept->slots, host->slots, host->slot_count * sizeof *kept->slots);
    if (!colon)
        return 0;
    kept->slot_count = 0;
    for (char *word = strtok_r(colon, ",", &rest); word; word = strtok_r(NULL, ",", &rest)) {
        int64_t slot;
        if (!parse_int64(word, &slot) || !has_slot(host, slot))
            return error_set(e, ERROR_USAGE, "host %s has no slot %s", node, word);
        if (!has_slot(kept, slot))
            kept->slots[kept->slot_count++] = slot;
    }
    return 0;
}

static void apply(struct ds_hosts *h, const struct ds_hosts *named, bool include)
{
    size_t hosts = 0;
    for (size_t i = 0; i < h->count; i++) {
        struct ds_host *host = &h->items[i];
        const struct ds_host *filter = find(named, host->name);
        size_t kept = 0;
        for (size_t s = 0; s < host->slot_count; s++)
            if (has_slot(filter, host->slots[s]) == include)
                host->slots[kept++] = host->slots[s];
        host->slot_count = kept;
        if (kept > 0) {
            h->items[hosts++] = *host;
        } else {
            free(host->name);
            free(host->slots);
        }
    }
    h->count = hosts;
}

int ds_hosts_filter(struct ds_hosts *h, const char *include, const char *exclude, struct error *e)
{
    if (include && exclude)
        return error_set(e, ERROR_USAGE, "--include and --exclude do not go together");
    if (!include && !exclude)
        return 0;
    struct ds_hosts named = DS_HOSTS_INIT;
    char *copy = xstrdup(include ? include : exclude), *rest = NULL;
    int rc = 0;
    for (char *node = strtok_r(copy, "@", &rest); rc == 0 && node; node = strtok_r(NULL, "@", &rest))
        rc = parse_node(h, node, &named, e);
    if (rc == 0)
        apply(h, &named, include != NULL);
    if (rc == 0 && h->count == 0)
        rc = error_set(e, ERROR_USAGE, "no device is left");
    if (rc < 0)
        error_context(e, "--%s %s", include ? "include" : "exclude", include ? include : exclude);
    free(copy);
    ds_hosts_free(&named);
    return rc;
}

long long ds_hosts_devices(const struct ds_hosts *h)
{
    size_t least = h->count ? h->items[0].slot_count : 0;
    for (size_t i = 1; i < h->count; i++)
        least = h->items[i].slot_count < least ? h->items[i].slot_count : least;
    return (long long)least;
}
