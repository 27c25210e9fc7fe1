#include "models/toml.h"

#include <string.h>

#include "toml/tree.h"

/* ["DOT", "DOT", "LINEAR"] */
static void add_layer(const struct model_stack *stack, const uint16_t *counts, const char *comma, struct buffer *out)
{
    const char *separator = "";
    buffer_add_char(out, '[');
    for (unsigned k = 0; k < stack->rules.kinds; k++) {
        for (unsigned n = 0; n < counts[k]; n++) {
            buffer_add_text(out, separator);
            buffer_add_json_string(out, stack->kinds[k], strlen(stack->kinds[k]));
            separator = comma;
        }
    }
    buffer_add_char(out, ']');
}

static void add_layers(const struct model_stack *stack, const struct layer_state *st, const char *comma,
                       struct buffer *out)
{
    if (!stack->flat)
        buffer_add_char(out, '[');
    for (unsigned layer = 0; layer < st->layers; layer++) {
        buffer_add_text(out, layer > 0 ? comma : "");
        add_layer(stack, &st->counts[(size_t)layer * stack->rules.kinds], comma, out);
    }
    if (!stack->flat)
        buffer_add_char(out, ']');
}

void model_candidate_add_json(const struct model_candidate *c, size_t key, struct buffer *out)
{
    add_layers(&c->space->keys[key].stack, &c->parts[key].stack, ",", out);
}

void model_candidate_add_literal(const struct model_candidate *c, size_t key, struct buffer *out)
{
    const struct model_key *k = &c->space->keys[key];
    if (k->kind == MODEL_KEY_STACK)
        add_layers(&k->stack, &c->parts[key].stack, ", ", out);
    else
        model_axis_add_literal(&k->axis, c->parts[key].position, out);
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
        const struct model_key *key = &c->space->keys[k];
        if (key->kind == MODEL_KEY_STACK && key->stack.layers_name) {
            add_key(key->stack.layers_name, out);
            buffer_printf(out, "%u\n", c->parts[k].stack.layers);
        }
        add_key(key->name, out);
        model_candidate_add_literal(c, k, out);
        buffer_add_char(out, '\n');
    }
}
