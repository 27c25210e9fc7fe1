#include "answers/memory_frontier.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "predict/baseline.h"
#include "util/memory.h"
#include "util/parse.h"

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

void memory_frontier_add(struct memory_frontier *frontier, const char *key, const struct predicted_row *row)
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

int memory_frontier_describe(const struct memory_frontier *frontier, const char *key, struct buffer *out,
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

void memory_frontier_free(struct memory_frontier *frontier)
{
    for (size_t i = 0; i < frontier->count; i++) {
        struct frontier_line *f = &frontier->lines[i];
        free(f->rest);
        free(f->predicted.sizes);
        free(f->predicted.bytes);
        free(f->measured.sizes);
        free(f->measured.bytes);
    }
    free(frontier->lines);
    *frontier = (struct memory_frontier){0};
}
