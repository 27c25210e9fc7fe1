/* space/model_expression: what names and functions stand for, and what is refused. */
#include "model_search_fixture.h"

/* How many candidates the expression keeps; -1 with `e` filled. */
static int64_t kept_by(const char *space, const char *where, struct error *e)
{
    HELD_AT(sweep) *s = sweep_of(space);
    HELD_AT(model_search) *search = NULL;
    struct model_counts counts = {0};
    const struct model_search_options options = {.where = where};
    int rc = model_search_open(s, &options, &search, e);
    if (rc == 0)
        rc = model_search_count(search, &counts, e);
    free(counts.kept_by_layers);
    return rc < 0 ? -1 : (int64_t)counts.kept;
}

/* One layer: 6 candidates of 2, 3 of 1; two layers: 9 × … per size. */
#define TWO_KINDS                                                                                                      \
    "[model_space]\nmixers = [\"DOT\", \"LINEAR\"]\ntotal_mixers = [2, 3]\nnum_zhen_layers = [1, 2]\n"                 \
    "num_features = 512\nemb_dim = [160, 320]\noutput_per_emb = 50\n"                                                  \
    "[model_space.keys]\nactivation = [\"relu\", \"gelu\"]\nrate = [0.5, 1.5]\nbias = [true, false]\n"                 \
    "shape = [[1, 2], [3]]\n"

#define TWO_STACKS                                                                                                     \
    "[model_space.keys]\na = { multiset = [\"x\", \"y\"], total = 2 }\nb = { multiset = [\"z\"], layers = [1, 2], "    \
    "per_layer = [1, 2], layers_key = \"depth\" }\n"

TEST_ROWS(expression__keys_and_functions__compared_and_counted, (const char *space, *where; int64_t kept),
          /* Layers have {2}: 3, {3}: 4, {1,1}: 4, {1,2} and {2,1}: 6 each. 23 stacks, times 2 × 2 × 2 × 2 × 2. */
          {TWO_KINDS, "true", 23 * 32}, {TWO_KINDS, "NULL", 0}, {TWO_KINDS, "emb_dim = 160", 23 * 32 / 2},
          {TWO_KINDS, "activation = 'relu'", 23 * 32 / 2}, {TWO_KINDS, "rate > 1 AND NOT bias", 23 * 32 / 4},
          {TWO_KINDS, "json_array_length(shape) = 2", 23 * 32 / 2}, {TWO_KINDS, "num_zhen_layers = 1", 7 * 32},
          {TWO_KINDS, "layer_count = 2 AND num_zhen_layers = layer_count", 16 * 32},
          {TWO_KINDS, "tokens = '[[\"DOT\",\"DOT\"]]'", 32}, {TWO_KINDS, "\"emb_dim\" IN (160, 1)", 23 * 32 / 2},
          {TWO_KINDS, "mixers() = 2", 7 * 32}, {TWO_KINDS, "mixers(1) = 2", (3 + 6) * 32},
          {TWO_KINDS, "mixers(2) IS NULL", 7 * 32}, {TWO_KINDS, "mixers(0) IS NULL AND mixers(NULL) IS NULL", 23 * 32},
          {TWO_KINDS, "mixers(layer_count, 'DOT') = 0", (1 + 1 + 2 + 2 + 3) * 32},
          {TWO_KINDS, "mixers('DOT') = 3", (1 + 0 + 1 + 1) * 32},
          {TWO_KINDS, "tokens(1, 'LINEAR') + tokens(1, 'DOT') = tokens(1)", 23 * 32},
          /* A tenth of the base, and a tenth of the larger of both: 124 models lie between. */
          {ZHEN_SPACE ZHEN_BASE, "params BETWEEN 0.9 * base.params AND 1.1 * base.params", 95939},
          {ZHEN_SPACE ZHEN_BASE, "abs(params - base.params) <= 0.1 * max(params, base.params)", 96063},
          {ZHEN_SPACE ZHEN_BASE, "base.params = 215334328 AND base.flops = 3754564608 AND layer_count = 1", 91},
          {ZHEN_SPACE ZHEN_BASE, "layer_count = base.layer_count - 3 AND base.emb_dim = emb_dim", 91},
          {ZHEN_SPACE ZHEN_BASE, "base.tokens = '[\"ATTENTION\",\"LINEAR\",\"ATTENTION\",\"DOT\"]'", 998738},
          /* LINEAR alone of one layer: 2·50·512·160 forward, thrice that in training, twelve of them. */
          {ZHEN_SPACE, "flops = 12 * 3 * 2 * 50 * 512 * 160", 1}, {ZHEN_SPACE, "flops IS NULL OR flops <= 0", 0},
          {TWO_STACKS, "a('x') = 2", 6}, {TWO_STACKS, "b() = 3 AND depth = 2", 6},
          {TWO_STACKS, "a = '[\"x\",\"y\"]' AND b = '[[\"z\"]]'", 1})
{
    struct error e = ERROR_INIT;
    int64_t kept = kept_by(row->space, row->where, &e);
    FAIL_WHERE(kept != row->kept, "%s: %lld instead of %lld %s", row->where, (long long)kept, (long long)row->kept,
               e.text);
}

TEST_ROWS(expression__wrong_names_and_functions__refused_with_reason_and_hint, (const char *space, *where, *message),
          {TWO_KINDS, "mixers('MAGIC') = 1", "--where: tokens(): there is no kind 'MAGIC'"},
          {TWO_KINDS, "mixers('DOT', 1) = 1", "--where: tokens() takes a layer number, a kind in quotes, or both"},
          {TWO_KINDS, "mixers('DOT', 'DOT') = 1", "--where: tokens() takes a layer number, a kind in quotes, or both"},
          {TWO_STACKS, "layer_count = 1", "--where: unknown key `layer_count`"},
          {TWO_STACKS, "mixers() = 1",
           "--where: mixers(): the model space has no layers of mixers, or several kinds of them"},
          {TWO_STACKS, "params > 1",
           "--where: `params`: the parameters of these models cannot be counted, only those of DHEN models "
           "(see mixers)"},
          {TWO_KINDS, "emb_dims = 1", "--where: unknown key `emb_dims` (did you mean `emb_dim`?)"},
          {TWO_KINDS, "zzz = 1", "--where: unknown key `zzz`"},
          {TWO_KINDS, "layer_cuont = 1", "--where: unknown key `layer_cuont` (did you mean `layer_count`?)"},
          {TWO_KINDS, "base.params > 1", "--where: `base.params`: there is no [model_space.base] to compare with"},
          {ZHEN_SPACE ZHEN_BASE, "base.zzz > 1", "--where: unknown key `base.zzz`"},
          {TWO_KINDS, "random() > 0", "--where: the function random is not allowed here"},
          {TWO_KINDS, "(SELECT 1)", "--where: a subquery is not allowed here"},
          {TWO_KINDS, "emb_dim >", "--where: it ends too early"},
          {TWO_KINDS, "nosuch(1)", "--where: no such function: nosuch"},
          {TWO_KINDS, "abs(-9223372036854775807 - 1) > 0", "--where: integer overflow"})
{
    struct error e = ERROR_INIT;
    FAIL_WHERE(kept_by(row->space, row->where, &e) != -1, "accepted: %s", row->where);
    assert_string_equal(e.text, row->message);
    assert_int_equal(e.kind, ERROR_USAGE);
}
