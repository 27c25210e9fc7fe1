#include "models/cursor.h"

#include <assert.h>
#include <stdbool.h>
#include <string.h>

#include "models/dhen.h"
#include "toml/tree.h"
#include "util/memory.h"

struct model_cursor {
    const struct model_index *index;
    struct model_part *parts;
    struct model_candidate candidate;
    bool started;
    struct dhen_counter parameters, flops;
};

static bool is_stack(const struct model_cursor *cursor, size_t k)
{
    return model_key_is_stack(&cursor->index->space->keys[k]);
}

struct model_cursor *model_cursor_make(const struct model_index *index)
{
    struct model_cursor *cursor = xcalloc(1, sizeof *cursor);
    cursor->index = index;
    cursor->parts = xcalloc(index->space->key_count, sizeof *cursor->parts);
    cursor->candidate.space = index->space;
    cursor->candidate.parts = cursor->parts;
    for (size_t k = 0; k < index->space->key_count; k++)
        if (is_stack(cursor, k))
            cursor->parts[k].stack = layer_state_make(&index->keys[k].stack);
    if (!index->space->dhen)
        return cursor;
    const struct space_key *mixers = &index->space->keys[DHEN_KEY_TOKENS];
    cursor->parameters =
        dhen_counter_make(mixers, index->space->shared_weights ? DHEN_SHARED_PARAMETERS : DHEN_PARAMETERS);
    cursor->flops = dhen_counter_make(mixers, DHEN_FLOPS);
    return cursor;
}

void model_cursor_free(struct model_cursor *cursor)
{
    if (!cursor)
        return;
    for (size_t k = 0; k < cursor->index->space->key_count; k++)
        layer_state_free(&cursor->parts[k].stack);
    free_all(cursor->parts, cursor);
}

static int64_t size_at(const struct model_cursor *cursor, enum dhen_key k)
{
    return model_key_integer(&cursor->index->space->keys[k], cursor->parts[k].position);
}

/* Counts parameters and FLOPs again after key `changed` took its next value and all keys after it their first. */
static void count_again(struct model_cursor *cursor, size_t changed)
{
    const struct model_index *index = cursor->index;
    if (!index->space->dhen || changed > DHEN_KEY_TOKENS)
        return;
    const struct layer_state *st = &cursor->parts[DHEN_KEY_TOKENS].stack;
    const struct dhen_sizes sizes = {
        .features = size_at(cursor, DHEN_KEY_FEATURES),
        .emb_dim = size_at(cursor, DHEN_KEY_EMB_DIM),
        .output_per_emb = size_at(cursor, DHEN_KEY_OUTPUTS),
    };
    unsigned from = changed == DHEN_KEY_TOKENS ? st->changed : 0;
    cursor->candidate.parameters = dhen_counter_count(&cursor->parameters, &sizes, st, from);
    if (index->flops)
        cursor->candidate.flops = DHEN_TRAINING_PASSES * dhen_counter_count(&cursor->flops, &sizes, st, from);
}

static void set_part(struct model_cursor *cursor, size_t k, uint64_t rank)
{
    const struct model_index_key *key = &cursor->index->keys[k];
    if (is_stack(cursor, k))
        layer_stack_unrank(&key->stack, rank, &cursor->parts[k].stack);
    else
        cursor->parts[k].position = key->lowest + rank;
}

const struct model_candidate *model_cursor_seek(struct model_cursor *cursor, uint64_t rank)
{
    const struct model_index *index = cursor->index;
    cursor->started = true;
    cursor->candidate.rank = rank < index->count ? rank : index->count;
    if (rank >= index->count)
        return NULL;
    for (size_t k = index->space->key_count; k-- > 0;) {
        set_part(cursor, k, rank % index->keys[k].count);
        rank /= index->keys[k].count;
    }
    count_again(cursor, 0);
    return &cursor->candidate;
}

static bool advance_part(struct model_cursor *cursor, size_t k)
{
    const struct model_index_key *key = &cursor->index->keys[k];
    struct model_part *part = &cursor->parts[k];
    if (is_stack(cursor, k))
        return layer_stack_next(&key->stack, &part->stack);
    if (part->position - key->lowest + 1 >= key->count)
        return false;
    part->position++;
    return true;
}

/* Returns the slowest key that changed. There is a next candidate. */
static size_t advance(struct model_cursor *cursor)
{
    size_t k = cursor->index->space->key_count - 1;
    while (!advance_part(cursor, k)) {
        set_part(cursor, k, 0);
        assert(k > 0);
        k--;
    }
    return k;
}

const struct model_candidate *model_cursor_next(struct model_cursor *cursor)
{
    if (!cursor->started)
        return model_cursor_seek(cursor, 0);
    /* After the last candidate the rank stays at the count. */
    if (cursor->candidate.rank + 1 >= cursor->index->count) {
        cursor->candidate.rank = cursor->index->count;
        return NULL;
    }
    cursor->candidate.rank++;
    count_again(cursor, advance(cursor));
    return &cursor->candidate;
}

uint64_t model_candidate_rank(const struct model_candidate *c, const struct model_index *index)
{
    uint64_t rank = 0;
    for (size_t k = 0; k < index->space->key_count; k++) {
        const struct model_index_key *key = &index->keys[k];
        rank *= key->count;
        rank += model_key_is_stack(&index->space->keys[k]) ? layer_stack_rank(&key->stack, &c->parts[k].stack)
                                                           : c->parts[k].position - key->lowest;
    }
    return rank;
}

/* --- as TOML --- */

/* ["DOT", "DOT", "LINEAR"] */
static void add_layer(const struct space_key *stack, const uint16_t *counts, const char *comma, struct buffer *out)
{
    const char *separator = "";
    buffer_add_char(out, '[');
    for (unsigned k = 0; k < stack->kinds.count; k++) {
        for (unsigned n = 0; n < counts[k]; n++) {
            buffer_add_text(out, separator);
            buffer_add_json_string(out, stack->kinds.items[k], strlen(stack->kinds.items[k]));
            separator = comma;
        }
    }
    buffer_add_char(out, ']');
}

static void add_layers(const struct space_key *stack, const struct layer_state *st, const char *comma,
                       struct buffer *out)
{
    if (!stack->flat)
        buffer_add_char(out, '[');
    for (unsigned layer = 0; layer < st->layers; layer++) {
        buffer_add_text(out, layer > 0 ? comma : "");
        add_layer(stack, &st->counts[(size_t)layer * stack->kinds.count], comma, out);
    }
    if (!stack->flat)
        buffer_add_char(out, ']');
}

void model_candidate_add_json(const struct model_candidate *c, size_t key, struct buffer *out)
{
    add_layers(&c->space->keys[key], &c->parts[key].stack, ",", out);
}

void model_candidate_add_literal(const struct model_candidate *c, size_t key, struct buffer *out)
{
    const struct space_key *k = &c->space->keys[key];
    if (model_key_is_stack(k))
        add_layers(k, &c->parts[key].stack, ", ", out);
    else
        model_key_add_literal(k, c->parts[key].position, out);
}

static void add_key(const char *name, struct buffer *out)
{
    toml_add_key(name, out);
    buffer_add_text(out, " = ");
}

void model_candidate_add_toml(const struct model_candidate *c, struct buffer *out)
{
    buffer_add_text(out, "[[model]]\n");
    for (size_t k = 0; k < c->space->key_count; k++) {
        const struct space_key *key = &c->space->keys[k];
        if (key->layers_key) {
            add_key(key->layers_key, out);
            buffer_printf(out, "%u\n", c->parts[k].stack.layers);
        }
        add_key(key->name, out);
        model_candidate_add_literal(c, k, out);
        buffer_add_char(out, '\n');
    }
}
