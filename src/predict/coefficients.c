#include "predict/coefficients.h"

#include <stdlib.h>
#include <string.h>

#include "toml/parse.h"
#include "util/embedded.h"
#include "util/memory.h"

const char *const memory_term_names[MEMORY_TERM_COUNT] = {
    [MEMORY_BASE] = "base",       [MEMORY_UNSHARDED] = "unsharded",
    [MEMORY_SHARDED] = "sharded", [MEMORY_ACTIVATIONS] = "activations",
    [MEMORY_WORKING] = "working", [MEMORY_LOGITS] = "logits",
    [MEMORY_BUFFERS] = "buffers",
};

const char *const time_term_names[TIME_TERM_COUNT] = {
    [TIME_MATRICES] = "matrices",
    [TIME_ATTENTION] = "attention",
    [TIME_ELEMENTWISE] = "elementwise",
    [TIME_LOGITS] = "logits",
    [TIME_LAUNCH] = "launch",
    [TIME_TENSOR] = "tensor",
    [TIME_TENSOR_STEPS] = "tensor-steps",
    [TIME_CONTEXT] = "context",
    [TIME_EXPERT] = "expert",
    [TIME_PIPELINE] = "pipeline",
    [TIME_DATA_INTRA] = "data-intra",
    [TIME_DATA_INTER] = "data-inter",
    [TIME_OPTIMIZER] = "optimizer",
    [TIME_OFFLOAD] = "offload",
    [TIME_STEP] = "step",
};

/* --- by name --- */

struct coefficient_member {
    const char *name;
    size_t offset;
};

#define M(name)                                                                                                        \
    {                                                                                                                  \
#name, offsetof(struct memory_coefficients, name)                                                              \
    }
static const struct coefficient_member memory_members[] = {
    M(parameter),
    M(gradient),
    M(master),
    M(fp32_master),
    M(moment),
    M(partition),
    M(norm_bytes),
    M(autocast),
    M(bucket_copy),
    M(narrow_copies),
    M(tied_sum),
    M(wide_norms),
    M(wide_scores),
    M(wide_rows),
    M(gpt_bigcode),
    M(step),
    M(fuses_step),
    M(flat_step),
    M(adapter),
    M(adapters_compared),
    M(quantised_inputs),
    M(unpacked),
    M(phases),
    M(recipes),
    M(default_stage),
    M(may_keep_gathered),
    M(may_chunk_loss),
    M(base_bytes),
    M(fragmentation),
    M(unusable),
    M(unusable_sharded),
    M(gated_mlp_bytes),
    M(logit_bytes),
    M(hidden_bytes),
    M(fused_logit_bytes),
    M(te_logit_bytes),
    M(part_logit_bytes),
    M(gathered_logits),
    M(logit_slack),
    M(length_pieces),
    M(frees_gradients),
    M(expert_imbalance),
    M(reduce_elements),
    M(prefetch_elements),
    M(gathered_layers),
    M(live_elements),
    M(sharded_at_rest),
    M(whole_gradients),
    M(holds_gradients),
    M(whole_stages),
    M(context_bytes),
    M(communicator_bytes),
    M(communicators),
    M(sigma),
    M(spread),
    {"accumulation_0", offsetof(struct memory_coefficients, accumulation)},
    {"accumulation_1", offsetof(struct memory_coefficients, accumulation) + sizeof(double)},
    {"accumulation_2", offsetof(struct memory_coefficients, accumulation) + 2 * sizeof(double)},
    {"accumulation_3", offsetof(struct memory_coefficients, accumulation) + 3 * sizeof(double)},
};
#define T(name)                                                                                                        \
    {                                                                                                                  \
#name, offsetof(struct time_coefficients, name)                                                                \
    }
static const struct coefficient_member time_members[] = {T(gradient_bytes),
                                                         T(reduce_each_micro_batch),
                                                         T(all_reduces),
                                                         T(collective_launches),
                                                         T(module_launches),
                                                         T(gradient_hooks),
                                                         T(module_hooks),
                                                         T(passing_hooks),
                                                         T(checkpoint_launches),
                                                         T(host_accumulates),
                                                         T(gather_copies),
                                                         T(adapter_units),
                                                         T(may_mask),
                                                         T(unit_hooks),
                                                         T(parameter_hooks),
                                                         T(unpacks),
                                                         T(ring),
                                                         T(loops_experts),
                                                         T(fuses_scores),
                                                         T(latest_attention),
                                                         T(bucket_bytes),
                                                         T(gathered_tensors),
                                                         T(sigma),
                                                         T(spread)};

static bool set_member(const struct coefficient_member *members, size_t count, void *coefficients, const char *name,
                       double value)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(members[i].name, name) == 0) {
            memcpy((char *)coefficients + members[i].offset, &value, sizeof value);
            return true;
        }
    return false;
}

static bool set_weight(const char *const *names, size_t count, double *weights, const char *name, double value)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(names[i], name) == 0) {
            weights[i] = value;
            return true;
        }
    return false;
}

bool memory_coefficient_set(struct memory_coefficients *c, const char *name, double value)
{
    c->calibrated |= strcmp(name, "sigma") == 0;
    return set_member(memory_members, LENGTH(memory_members), c, name, value) ||
           set_weight(memory_term_names, MEMORY_TERM_COUNT, c->weights, name, value);
}

bool time_coefficient_set(struct time_coefficients *c, const char *name, double value)
{
    c->calibrated |= strcmp(name, "sigma") == 0;
    return set_member(time_members, LENGTH(time_members), c, name, value) ||
           set_weight(time_term_names, TIME_TERM_COUNT, c->weights, name, value);
}

size_t coefficient_names(bool is_time, const char **out, size_t most)
{
    size_t count = 0;
    size_t members = is_time ? LENGTH(time_members) : LENGTH(memory_members);
    size_t terms = is_time ? (size_t)TIME_TERM_COUNT : (size_t)MEMORY_TERM_COUNT;
    for (size_t i = 0; i < members && count < most; i++)
        out[count++] = is_time ? time_members[i].name : memory_members[i].name;
    for (size_t i = 0; i < terms && count < most; i++)
        out[count++] = is_time ? time_term_names[i] : memory_term_names[i];
    return count;
}

/* --- the profiles --- */

static bool number_of(const struct toml_node *node, double *out)
{
    *out = node->kind == NODE_FLOAT ? node->real : (double)node->integer;
    return node->kind == NODE_FLOAT || node->kind == NODE_INT || node->kind == NODE_BOOL;
}

static int read_table(const struct toml_node *table, bool is_time, struct framework *f, struct error *e)
{
    for (size_t i = 0; table && i < table->child_count; i++) {
        const struct toml_node *node = &table->children[i];
        double value;
        if (is_time && node->kind == NODE_STRING && strcmp(node->key, "compared_on") == 0) {
            f->compared_on = xstrdup(node->text);
            continue;
        }
        if (!number_of(node, &value) || !(is_time ? time_coefficient_set(&f->time, node->key, value)
                                                  : memory_coefficient_set(&f->memory, node->key, value)))
            return error_set(e, ERROR_FAILED, "line %d: there is no coefficient \"%s\", or its value is not a number",
                             node->key_line, node->key);
    }
    return 0;
}

/* Overrides `f` with the predictions' part of `text`; `*any` says whether there is one. */
static int read_profile(const char *text, struct framework *f, bool *any, struct error *e)
{
    struct toml_fault fault;
    struct toml_node *root;
    *any = false;
    /* Profiles without such a part need not be parsed. */
    if (!strstr(text, "[predict.memory]") && !strstr(text, "[predict.time]"))
        return 0;
    if (toml_parse(text, strlen(text), &root, &fault) < 0) {
        error_set(e, ERROR_FAILED, "line %d: %s", fault.line, fault.message);
        free(fault.message);
        return -1;
    }
    const struct toml_node *predict = toml_child(root, "predict");
    int rc = read_table(toml_child(predict, "memory"), false, f, e);
    if (rc == 0)
        rc = read_table(toml_child(predict, "time"), true, f, e);
    *any = true;
    toml_free(root);
    return rc;
}

#define BASE_PROFILE "profiles/predict.toml"

static int read_base(struct framework *base, struct error *e)
{
    bool any;
    *base = (struct framework){.name = ""};
    for (int i = 0; i < MEMORY_TERM_COUNT; i++)
        base->memory.weights[i] = 1;
    if (read_profile(embedded_text(BASE_PROFILE), base, &any, e) < 0)
        return error_context(e, "%s", BASE_PROFILE);
    memcpy(base->memory.nominal, base->memory.weights, sizeof base->memory.nominal);
    memcpy(base->time.nominal, base->time.weights, sizeof base->time.nominal);
    base->memory.calibrated = base->time.calibrated = false;
    return 0;
}

static int add_framework(struct framework_set *s, const struct embedded_file *file, struct error *e)
{
    struct framework f = s->base;
    bool any;
    if (read_profile(file->text, &f, &any, e) < 0)
        return error_context(e, "%s", file->name);
    if (!any)
        return 0;
    memcpy(f.memory.nominal, f.memory.weights, sizeof f.memory.nominal);
    memcpy(f.time.nominal, f.time.weights, sizeof f.time.nominal);
    f.name = embedded_stem(file);
    *array_add(s->items, s->count) = f;
    return 0;
}

int framework_set_read(struct framework_set *out, struct error *e)
{
    struct framework_set s = {.count = 0};
    int rc = read_base(&s.base, e);
    for (const struct embedded_file *f = NULL; rc == 0 && (f = embedded_next("profiles/", f));)
        if (strcmp(f->name, BASE_PROFILE) != 0)
            rc = add_framework(&s, f, e);
    if (rc < 0)
        framework_set_free(&s);
    else
        *out = s;
    return rc;
}

void framework_set_free(struct framework_set *s)
{
    for (size_t i = 0; i < s->count; i++)
        free_all((char *)s->items[i].name, s->items[i].compared_on);
    free(s->items);
    *s = (struct framework_set){.count = 0};
}
