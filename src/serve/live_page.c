#include "serve/live_page.h"

#include <stdlib.h>
#include <string.h>

#include "util/memory.h"

static bool begins(const char *line, size_t length, const char *with)
{
    return length >= strlen(with) && strncmp(line, with, strlen(with)) == 0;
}

static void add_line(struct live_page *p, size_t offset, size_t length)
{
    const char *line = p->text.data + offset;
    if (p->part_count == 0 || begins(line, length, "<section") || begins(line, length, "</main>") ||
        begins(line, length, "<script")) {
        *array_add(p->parts, p->part_count) = (struct live_part){NULL, 0};
    }
    struct live_part *part = &p->parts[p->part_count - 1];
    *array_add(part->lines, part->count) = (struct live_line){offset, length, p->version};
}

static struct live_page split(struct buffer *text, int64_t version)
{
    struct live_page p = {.text = *text, .version = version};
    *text = BUFFER_INIT;
    for (size_t at = 0; at < p.text.length;) {
        const char *end = memchr(p.text.data + at, '\n', p.text.length - at);
        size_t length = end ? (size_t)(end - p.text.data) - at : p.text.length - at;
        add_line(&p, at, length);
        at += length + 1;
    }
    return p;
}

static bool is_same(const struct live_page *a, const struct live_line *x, const struct live_page *b,
                    const struct live_line *y)
{
    return x->length == y->length && memcmp(a->text.data + x->offset, b->text.data + y->offset, x->length) == 0;
}

/* Lines that did not change keep their version. Returns whether another line than the footer changed. */
static bool compare_part(const struct live_page *was, const struct live_part *old, const struct live_page *is,
                         struct live_part *now)
{
    bool changed = now->count != old->count;
    for (size_t i = 0; now->count == old->count && i < now->count; i++) {
        if (is_same(was, &old->lines[i], is, &now->lines[i]))
            now->lines[i].version = old->lines[i].version;
        else
            changed |= !begins(is->text.data + now->lines[i].offset, now->lines[i].length, "<footer");
    }
    return changed;
}

bool live_page_update(struct live_page *p, struct buffer *text)
{
    struct live_page now = split(text, p->version + 1);
    bool changed = p->version == 0 || now.part_count != p->part_count;
    now.since = changed ? now.version : p->since;
    for (size_t i = 0; now.since != now.version && i < now.part_count; i++)
        changed |= compare_part(p, &p->parts[i], &now, &now.parts[i]);
    if (!changed) {
        live_page_free(&now);
        return false;
    }
    live_page_free(p);
    *p = now;
    return true;
}

void live_page_free(struct live_page *p)
{
    for (size_t i = 0; i < p->part_count; i++)
        free(p->parts[i].lines);
    free(p->parts);
    buffer_free(&p->text);
    *p = LIVE_PAGE_INIT;
}

static void add_part(const struct live_page *p, size_t index, int64_t since, bool *first, struct buffer *out)
{
    const struct live_part *part = &p->parts[index];
    bool none = true;
    for (size_t i = 0; i < part->count; i++) {
        const struct live_line *line = &part->lines[i];
        if (line->version <= since)
            continue;
        if (none)
            buffer_printf(out, "%s\"%zu\":{\"count\":%zu,\"lines\":{", *first ? "" : ",", index, part->count);
        buffer_printf(out, "%s\"%zu\":", none ? "" : ",", i);
        buffer_add_json_string(out, p->text.data + line->offset, line->length);
        none = *first = false;
    }
    buffer_add_text(out, none ? "" : "}}");
}

void live_page_add_changes(const struct live_page *p, int64_t since, struct buffer *out)
{
    bool first = true;
    int64_t known = since >= p->since && since <= p->version ? since : 0;
    buffer_printf(out, "{\"version\":%lld,\"parts\":%zu,\"changed\":{", (long long)p->version, p->part_count);
    for (size_t i = 0; i < p->part_count; i++)
        add_part(p, i, known, &first, out);
    buffer_add_text(out, "}}\n");
}

/* --- rows of jobs --- */

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
