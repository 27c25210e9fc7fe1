#include "device/hostfile.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "util/memory.h"
#include "util/parse.h"
#include "util/string_list.h"
#include "util/utf8.h"

#define BLANKS " \t\r"

void host_list_free(struct host_list *l)
{
    for (size_t i = 0; i < l->count; i++)
        free_all(l->hosts[i].name, l->hosts[i].devices, l->hosts[i].directory);
    free(l->hosts);
    *l = HOST_LIST_INIT;
}

void host_give(struct host *h, int64_t slots)
{
    h->device_count = (size_t)slots;
    h->devices = xreallocarray(h->devices, h->device_count + 1, sizeof *h->devices);
    for (int i = 0; i < slots; i++)
        h->devices[i] = i;
}

struct host *host_list_add(struct host_list *l, const char *name, int64_t slots)
{
    struct host *h = array_add(l->hosts, l->count);
    *h = (struct host){.name = xstrdup(name)};
    host_give(h, slots);
    return h;
}

/* --- hostfiles --- */

char *hostfile_word(struct hostfile_line *line)
{
    return strtok_r(NULL, BLANKS, &line->rest);
}

int hostfile_read(const char *path, const char *text, hostfile_take *take, struct host_list *out, struct error *e)
{
    struct host_list l = HOST_LIST_INIT;
    struct error problems = ERROR_INIT;
    OWNED char *copy = xstrdup(text + utf8_mark_length(text, strlen(text)));
    struct hostfile_line line = {.path = path, .number = 1};
    OWNED_LIST names = STRING_LIST_INIT;
    for (char *at = copy, *next; at; at = next, line.number++) {
        next = strchr(at, '\n');
        if (next)
            *next++ = '\0';
        at[strcspn(at, "#")] = '\0';
        line.name = strtok_r(at, BLANKS, &line.rest);
        if (line.name && string_list_find(&names, line.name) < names.count)
            error_add_line(&problems, ERROR_USAGE, "%s:%d: host %s is listed twice", path, line.number, line.name);
        else if (line.name) {
            string_list_add(&names, xstrdup(line.name));
            take(&l, &line, &problems);
        }
    }
    if (names.count == 0)
        error_set(&problems, ERROR_USAGE, "%s: it lists no hosts", path);
    if (problems.kind) {
        host_list_free(&l);
        *e = problems;
        return -1;
    }
    *out = l;
    return 0;
}

static void take_line(struct host_list *list, struct hostfile_line *line, struct error *problems)
{
    const char *slots = hostfile_word(line), *more = hostfile_word(line);
    int64_t n = 0;
    if (!slots || more || strncmp(slots, "slots=", 6) != 0 || !parse_int64(slots + 6, &n))
        error_add_line(problems, ERROR_USAGE, "%s:%d: write each line as `HOST slots=N`", line->path, line->number);
    else if (n < 1 || n > HOSTFILE_SLOTS_MOST)
        error_add_line(problems, ERROR_USAGE, "%s:%d: a host has 1 to %d slots, not %lld", line->path, line->number,
                       HOSTFILE_SLOTS_MOST, (long long)n);
    else
        host_list_add(list, line->name, n);
}

int hosts_parse(const char *path, const char *text, struct host_list *out, struct error *e)
{
    return hostfile_read(path, text, take_line, out, e);
}

/* --- include and exclude --- */

/* Marks what "HOST" or "HOST:0,2" names: one bool per device, at the place of its host and number. */
static int mark_host(const struct host_list *l, char *text, bool *marks, const char *option, struct error *e)
{
    char *numbers = strchr(text, ':'), *rest = NULL;
    if (numbers)
        *numbers++ = '\0';
    const struct host *h = FIND(i, l->count, strcmp(l->hosts[i].name, text) == 0, &l->hosts[i]);
    if (!h)
        return error_set(e, ERROR_USAGE, "%s: the hostfile has no host `%s`", option, text);
    bool *own = marks + (size_t)(h - l->hosts) * HOSTFILE_SLOTS_MOST;
    for (size_t i = 0; !numbers && i < h->device_count; i++)
        own[h->devices[i]] = true;
    if (numbers && !*numbers)
        return error_set(e, ERROR_USAGE, "%s: no slot of host %s is named after the colon", option, text);
    for (char *word = numbers ? strtok_r(numbers, ",", &rest) : NULL; word; word = strtok_r(NULL, ",", &rest)) {
        int64_t n;
        if (!parse_int64(word, &n) || !ANY(i, h->device_count, h->devices[i] == n))
            return error_set(e, ERROR_USAGE, "%s: host %s has no slot `%s`", option, text, word);
        own[n] = true;
    }
    return 0;
}

static int mark(const struct host_list *l, const char *text, bool *marks, const char *option, struct error *e)
{
    char *copy = xstrdup(text), *rest = NULL;
    int rc = 0;
    for (char *word = strtok_r(copy, "@", &rest); rc == 0 && word; word = strtok_r(NULL, "@", &rest))
        rc = mark_host(l, word, marks, option, e);
    free(copy);
    return rc;
}

static void keep_marked(struct host_list *l, const bool *marks, bool wanted)
{
    size_t kept = 0;
    for (size_t h = 0; h < l->count; h++) {
        struct host *host = &l->hosts[h];
        size_t n = 0;
        for (size_t i = 0; i < host->device_count; i++)
            if (marks[h * HOSTFILE_SLOTS_MOST + (size_t)host->devices[i]] == wanted)
                host->devices[n++] = host->devices[i];
        host->device_count = n;
        if (n > 0)
            l->hosts[kept++] = *host;
        else
            free_all(host->name, host->devices, host->directory);
    }
    l->count = kept;
}

int hosts_filter(struct host_list *l, const char *include, const char *exclude, struct error *e)
{
    bool including = include && *include, excluding = exclude && *exclude;
    if (including && excluding)
        return error_set(e, ERROR_USAGE, "include and exclude cannot be combined; give one of them");
    if (!including && !excluding)
        return 0;
    const char *option = including ? "include" : "exclude";
    OWNED bool *marks = xcalloc(l->count * HOSTFILE_SLOTS_MOST + 1, sizeof *marks);
    int rc = mark(l, including ? include : exclude, marks, option, e);
    int64_t named = 0;
    for (size_t i = 0; i < l->count * HOSTFILE_SLOTS_MOST; i++)
        named += marks[i];
    if (rc == 0 && named == (including ? 0 : hosts_device_count(l)))
        rc = error_set(e, ERROR_USAGE, "%s: no host is left", option);
    if (rc == 0)
        keep_marked(l, marks, including);
    return rc;
}

int64_t hosts_device_count(const struct host_list *l)
{
    int64_t n = 0;
    for (size_t i = 0; i < l->count; i++)
        n += (int64_t)l->hosts[i].device_count;
    return n;
}
