#include "serve/live_rows.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "util/memory.h"

/* Index of the job's row, or where to insert it. */
static size_t place_of(const struct live_rows *r, int64_t job)
{
    size_t low = 0, high = r->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (r->items[middle].job < job)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

void live_rows_put(struct live_rows *r, int64_t job, struct buffer *text)
{
    size_t at = place_of(r, job);
    char *taken = buffer_take(text);
    if (at < r->count && r->items[at].job == job) {
        if (strcmp(r->items[at].text, taken) == 0) {
            free(taken);
            return;
        }
        free(r->items[at].text);
    } else {
        r->items = array_grow(r->items, r->count, sizeof *r->items);
        memmove(&r->items[at + 1], &r->items[at], (r->count - at) * sizeof *r->items);
        r->count++;
    }
    r->items[at] = (struct live_row){job, ++r->change, taken};
}

void live_rows_put_search(struct live_rows *r, char *text)
{
    if (r->search ? strcmp(r->search, text) == 0 : text[0] == '\0') {
        free(text);
        return;
    }
    free(r->search);
    r->search = text;
    r->change++;
}

void live_rows_add_changes(const struct live_rows *r, int64_t since, struct buffer *out)
{
    bool first = true;
    for (size_t i = 0; i < r->count; i++) {
        if (r->items[i].change <= since)
            continue;
        buffer_add_text(out, first ? "" : ",");
        buffer_add_text(out, r->items[i].text);
        first = false;
    }
}

void live_rows_clear(struct live_rows *r)
{
    for (size_t i = 0; i < r->count; i++)
        free(r->items[i].text);
    free_all(r->items, r->search);
    r->items = NULL;
    r->search = NULL;
    r->count = 0;
}
