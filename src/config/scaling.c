#include "config/scaling.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "util/memory.h"

#define WHOLE_MOST 9e15

void scaling_free(struct scaling *x)
{
    free(x->key.name);
    for (size_t i = 0; i < x->follower_count; i++)
        free(x->followers[i].key.name);
    free_all(x->followers, x->batch.name);
    *x = (struct scaling){.value = 0};
}

static bool is_of(const struct scaled_key *k, enum section_kind section, const char *name)
{
    return k->section == section && strcmp(k->name, name) == 0;
}

bool scaling_is_key(const struct scaling *x, enum section_kind section, const char *name)
{
    return is_of(&x->key, section, name);
}

const struct scaled_follower *scaling_follower(const struct scaling *x, enum section_kind section, const char *name)
{
    return FIND(i, x->follower_count, is_of(&x->followers[i].key, section, name), &x->followers[i]);
}

bool scaling_let_batch_grow(struct scaling *x)
{
    for (size_t i = 0; x->batch.name && i < x->follower_count; i++)
        if (x->followers[i].falls) {
            free(x->followers[i].key.name);
            x->followers[i] = (struct scaled_follower){x->batch, false};
            x->batch.name = NULL;
            return true;
        }
    return false;
}

double scaling_ratio(const struct scaling *x, const struct value *from)
{
    double number = from->kind == VALUE_INT ? (double)from->integer : from->kind == VALUE_FLOAT ? from->real : 0;
    return number > 0 ? (double)x->value / number : 0;
}

bool scaling_follow(const struct scaled_follower *f, struct value *v, double ratio)
{
    double product = v->kind == VALUE_INT ? (double)v->integer * (f->falls ? 1 / ratio : ratio) : NAN;
    if (!(product >= 1 && product <= WHOLE_MOST) || fabs(product - round(product)) > 1e-9 * product)
        return false;
    v->integer = (int64_t)round(product);
    return true;
}

/* --- axes --- */

struct ratios {
    double *items;
    size_t count;
};

/* The column of the key in an axis of that section; key_count: it has none. */
static size_t find_column(const struct axis *axis, const struct scaling *x, enum section_kind section)
{
    return FIRST(at, axis->key_count, scaling_is_key(x, section, axis->keys[at]));
}

static void collect_ratios(const struct sweep *s, const struct scaling *x, struct ratios *out)
{
    for (struct axis_place at = AXES_OF(x->key.section); sweep_next_axis(s, &at);) {
        const struct axis *axis = at.axis;
        size_t column = find_column(axis, x, x->key.section);
        for (size_t v = 0; column < axis->key_count && v < axis->value_count; v++) {
            double ratio = scaling_ratio(x, &axis->values[v * axis->key_count + column]);
            if (ratio > 0 && !ANY(i, out->count, out->items[i] == ratio))
                *array_add(out->items, out->count) = ratio;
        }
    }
}

/* The values of an axis as they become. Texts are the sweep's. */
struct scaled_rows {
    struct arena *arena;
    struct value *values;
    size_t count, width;
};

static bool has_row(const struct scaled_rows *rows, const struct value *row)
{
    for (size_t i = 0; i < rows->count; i++) {
        size_t k = FIRST(at, rows->width, !value_equal(&rows->values[i * rows->width + at], &row[at]));
        if (k == rows->width)
            return true;
    }
    return false;
}

/* A row of the axis, with followers times the ratio and the key, if it is there, as it is to be. */
static void scale_row(const struct axis *axis, const struct value *from, const struct scaling *x,
                      enum section_kind section, double ratio, struct scaled_rows *out)
{
    OWNED struct value *row = xcalloc(axis->key_count, sizeof *row);
    bool is_whole = true;
    for (size_t k = 0; k < axis->key_count; k++) {
        const struct scaled_follower *f = scaling_follower(x, section, axis->keys[k]);
        row[k] = from[k];
        if (scaling_is_key(x, section, axis->keys[k]))
            row[k] = (struct value){VALUE_INT, x->value, 0, NULL};
        else if (f && row[k].kind == VALUE_INT)
            is_whole &= scaling_follow(f, &row[k], ratio);
    }
    size_t count = out->count * out->width;
    if (!is_whole || has_row(out, row))
        return;
    for (size_t k = 0; k < out->width; k++)
        *arena_add(out->arena, out->values, count) = row[k];
    out->count++;
}

static void scale_axis(struct arena *p, struct axis *axis, const struct scaling *x, enum section_kind section,
                       const struct ratios *all)
{
    struct scaled_rows rows = {.arena = p, .width = axis->key_count};
    size_t column = find_column(axis, x, section);
    bool has_key = column < axis->key_count;
    if (!has_key && !ANY(k, axis->key_count, scaling_follower(x, section, axis->keys[k])))
        return;
    for (size_t v = 0; v < axis->value_count; v++) {
        const struct value *from = &axis->values[v * axis->key_count];
        if (has_key)
            scale_row(axis, from, x, section, scaling_ratio(x, &from[column]), &rows);
        for (size_t r = 0; !has_key && r < all->count; r++)
            scale_row(axis, from, x, section, all->items[r], &rows);
    }
    if (rows.count > 0) {
        axis->values = rows.values;
        axis->value_count = rows.count;
    }
}

void sweep_scale(struct sweep *s, const struct scaling *x)
{
    struct ratios all = {NULL, 0};
    collect_ratios(s, x, &all);
    for (struct axis_place at = AXES_FROM(0); sweep_next_axis(s, &at);)
        scale_axis(&s->arena, at.axis, x, at.section, &all);
    free(all.items);
}
