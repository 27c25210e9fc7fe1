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

static void assert_kept(const char *space, const char *where, int64_t expected)
{
    struct error e = ERROR_INIT;
    int64_t kept = kept_by(space, where, &e);
    FAIL_WHERE(kept != expected, "%s: %lld instead of %lld %s", where, (long long)kept, (long long)expected, e.text);
}

static void assert_refused(const char *space, const char *where, const char *message)
{
    struct error e = ERROR_INIT;
    FAIL_WHERE(kept_by(space, where, &e) != -1, "accepted: %s", where);
    assert_string_equal(e.text, message);
    assert_int_equal(e.kind, ERROR_USAGE);
}

/* One layer: 6 candidates of 2, 3 of 1; two layers: 9 × … per size. */
#define TWO_KINDS                                                                                                      \
    "[model_space]\nmixers = [\"DOT\", \"LINEAR\"]\ntotal_mixers = [2, 3]\nnum_zhen_layers = [1, 2]\n"                 \
    "num_features = 512\nemb_dim = [160, 320]\noutput_per_emb = 50\n"                                                  \
    "[model_space.keys]\nactivation = [\"relu\", \"gelu\"]\nrate = [0.5, 1.5]\nbias = [true, false]\n"                 \
    "shape = [[1, 2], [3]]\n"

/* Layers have {2}: 3, {3}: 4, {1,1}: 4, {1,2} and {2,1}: 6 each. 23 stacks, times 2 × 2 × 2 × 2 × 2. */
TEST(keys__every_kind_of_value__compared)
{
    const int64_t all = 23 * 32;
    assert_kept(TWO_KINDS, "true", all);
    assert_kept(TWO_KINDS, "NULL", 0);
    assert_kept(TWO_KINDS, "emb_dim = 160", all / 2);
    assert_kept(TWO_KINDS, "activation = 'relu'", all / 2);
    assert_kept(TWO_KINDS, "rate > 1 AND NOT bias", all / 4);
    assert_kept(TWO_KINDS, "json_array_length(shape) = 2", all / 2);
    assert_kept(TWO_KINDS, "num_zhen_layers = 1", 7 * 32);
    assert_kept(TWO_KINDS, "layer_count = 2 AND num_zhen_layers = layer_count", 16 * 32);
    assert_kept(TWO_KINDS, "tokens = '[[\"DOT\",\"DOT\"]]'", 32);
    assert_kept(TWO_KINDS, "\"emb_dim\" IN (160, 1)", all / 2);
}

TEST(functions__elements__counted)
{
    assert_kept(TWO_KINDS, "mixers() = 2", 7 * 32);
    assert_kept(TWO_KINDS, "mixers(1) = 2", (3 + 6) * 32);
    assert_kept(TWO_KINDS, "mixers(2) IS NULL", 7 * 32);
    assert_kept(TWO_KINDS, "mixers(0) IS NULL AND mixers(NULL) IS NULL", 23 * 32);
    assert_kept(TWO_KINDS, "mixers(layer_count, 'DOT') = 0", (1 + 1 + 2 + 2 + 3) * 32);
    assert_kept(TWO_KINDS, "mixers('DOT') = 3", (1 + 0 + 1 + 1) * 32);
    assert_kept(TWO_KINDS, "tokens(1, 'LINEAR') + tokens(1, 'DOT') = tokens(1)", 23 * 32);
    assert_refused(TWO_KINDS, "mixers('MAGIC') = 1", "--where: tokens(): there is no kind 'MAGIC'");
    assert_refused(TWO_KINDS, "mixers('DOT', 1) = 1",
                   "--where: tokens() takes a layer number, a kind in quotes, or both");
    assert_refused(TWO_KINDS, "mixers('DOT', 'DOT') = 1",
                   "--where: tokens() takes a layer number, a kind in quotes, or both");
}

TEST(base__parameters__known_number)
{
    /* A tenth of the base, and a tenth of the larger of both: 124 models lie between. */
    assert_kept(ZHEN_SPACE ZHEN_BASE, "params BETWEEN 0.9 * base.params AND 1.1 * base.params", 95939);
    assert_kept(ZHEN_SPACE ZHEN_BASE, "abs(params - base.params) <= 0.1 * max(params, base.params)", 96063);
}

TEST(base__its_keys__constants)
{
    assert_kept(ZHEN_SPACE ZHEN_BASE, "base.params = 215334328 AND base.flops = 3754564608 AND layer_count = 1", 91);
    assert_kept(ZHEN_SPACE ZHEN_BASE, "layer_count = base.layer_count - 3 AND base.emb_dim = emb_dim", 91);
    assert_kept(ZHEN_SPACE ZHEN_BASE, "base.tokens = '[\"ATTENTION\",\"LINEAR\",\"ATTENTION\",\"DOT\"]'", 998738);
}

/* LINEAR alone of one layer: 2·50·512·160 forward, thrice that in training, twelve of them. */
TEST(flops__one_layer__as_by_hand)
{
    assert_kept(ZHEN_SPACE, "flops = 12 * 3 * 2 * 50 * 512 * 160", 1);
    assert_kept(ZHEN_SPACE, "flops IS NULL OR flops <= 0", 0);
}

#define TWO_STACKS                                                                                                     \
    "[model_space.keys]\na = { multiset = [\"x\", \"y\"], total = 2 }\nb = { multiset = [\"z\"], layers = [1, 2], "    \
    "per_layer = [1, 2], layers_key = \"depth\" }\n"

TEST(generic__several_multisets__by_their_names)
{
    assert_kept(TWO_STACKS, "a('x') = 2", 6);
    assert_kept(TWO_STACKS, "b() = 3 AND depth = 2", 6);
    assert_kept(TWO_STACKS, "a = '[\"x\",\"y\"]' AND b = '[[\"z\"]]'", 1);
    assert_refused(TWO_STACKS, "layer_count = 1", "--where: unknown key `layer_count`");
    assert_refused(TWO_STACKS, "mixers() = 1",
                   "--where: mixers(): the model space has no layers of mixers, or several kinds of them");
    assert_refused(TWO_STACKS, "params > 1",
                   "--where: `params`: the parameters of these models cannot be counted, only those of DHEN models "
                   "(see mixers)");
}

TEST(refused__names_and_functions__reason_and_hint)
{
    assert_refused(TWO_KINDS, "emb_dims = 1", "--where: unknown key `emb_dims` (did you mean `emb_dim`?)");
    assert_refused(TWO_KINDS, "zzz = 1", "--where: unknown key `zzz`");
    assert_refused(TWO_KINDS, "layer_cuont = 1", "--where: unknown key `layer_cuont` (did you mean `layer_count`?)");
    assert_refused(TWO_KINDS, "base.params > 1",
                   "--where: `base.params`: there is no [model_space.base] to compare with");
    assert_refused(ZHEN_SPACE ZHEN_BASE, "base.zzz > 1", "--where: unknown key `base.zzz`");
    assert_refused(TWO_KINDS, "random() > 0", "--where: the function random is not allowed here");
    assert_refused(TWO_KINDS, "(SELECT 1)", "--where: a subquery is not allowed here");
    assert_refused(TWO_KINDS, "emb_dim >", "--where: it ends too early");
    assert_refused(TWO_KINDS, "nosuch(1)", "--where: no such function: nosuch");
    assert_refused(TWO_KINDS, "abs(-9223372036854775807 - 1) > 0", "--where: integer overflow");
}
