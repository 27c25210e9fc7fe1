/* config: [model_space] and every complaint about it, with its position. */
#include "config/model_space.h"
#include "sweep_fixture.h"

/* Five lines of a DHEN space, then what a case adds. */
#define DHEN                                                                                                           \
    "[model_space]\nmixers = [\"DOT\", \"LINEAR\"]\ntotal_mixers = 3\nnum_zhen_layers = [1, 2]\n"                      \
    "num_features = 8\nemb_dim = 4\noutput_per_emb = 2\n"
#define BASE                                                                                                           \
    "[model_space.base]\nnum_features = 8\nemb_dim = 4\noutput_per_emb = 2\nnum_zhen_layers = 1\ntokens = [\"DOT\"]\n"

TEST(read__dhen_space__keys_in_order)
{
    HELD_AT(sweep) *s = sweep_of("[model_space]\nseed = -7\nmixers = [\"DOT\", \"LINEAR\"]\n"
                                 "num_zhen_layers = { from = 1, to = 5, step = 2 }\ntotal_mixers = [12, 6]\n"
                                 "mixers_per_layer = { from = 1, to = 4, factor = 2 }\n"
                                 "num_features = 512\nemb_dim = [64, 160]\n"
                                 "output_per_emb = { from = 10, to = 50, step = 20 }\nshared_weights = false\n"
                                 "[model_space.keys]\nactivation = [\"relu\", \"gelu\"]\n");
    const struct model_space_table *m = s->model_space;
    const struct space_key *k = m->keys, *tokens = &k[DHEN_KEY_TOKENS];
    SAYS("1 0 1 -7 5", "%d %d %d %d %zu", m->dhen, m->shared_weights, m->seed_given, (int)m->seed, m->key_count);
    SAYS("num_features 512, 2 160, 2 3 20", "%s %d, %zu %s, %d %zu %d", k[0].name, (int)k[0].integers[0],
         k[1].value_count, k[1].literals[1], k[2].kind, k[2].value_count, (int)k[2].step);
    SAYS("tokens num_zhen_layers 3 5, 6, 3 4", "%s %s %zu %u, %u, %zu %u", tokens->name, tokens->layers_key,
         tokens->layers.count, tokens->layers.values[2], tokens->totals.values[1], tokens->sizes.count,
         tokens->sizes.values[2]);
    SAYS("\"relu\" (nil)", "%s %p", k[4].literals[0], (void *)k[4].integers);
}

TEST(read__generic_space__every_form)
{
    HELD_AT(sweep) *s = sweep_of("[sweep]\nseed = 3\n[model_space.keys]\n"
                                 "width = { from = 64, to = 1000, factor = 2 }\nrate = 0.5\n"
                                 "\"opt.lr\" = [1, 1.0, \"x\", [1, 2], { a = 1 }]\n"
                                 "blocks = { multiset = [\"a\", \"b\"], layers = [1, 2], per_layer = 3, "
                                 "layers_key = \"depth\" }\n"
                                 "bag = { multiset = [\"x\"], total = 2 }\n");
    const struct model_space_table *m = s->model_space;
    const struct space_key *k = m->keys;
    char *const *texts = k[2].literals;
    SAYS("0 0 5: 4 512 0.5", "%d %d %zu: %zu %d %s", m->dhen, m->seed_given, m->key_count, k[0].value_count,
         (int)k[0].integers[3], k[1].literals[0]);
    SAYS("1 | 1.0 | \"x\" | [1, 2] | { a = 1 }", "%s | %s | %s | %s | %s", texts[0], texts[1], texts[2], texts[3],
         texts[4]);
    SAYS("depth 0 3, 1 1", "%s %d %u, %d %zu", k[3].layers_key, k[3].flat, k[3].sizes.values[0], k[4].flat,
         k[4].layers.count);
}

TEST(read__filters_base_and_samples__as_written)
{
    HELD_AT(sweep) *s =
        sweep_of("[model_space]\nwhere = \"params < 10\"\ninclude_base = true\nmixers = [\"DOT\", \"LINEAR\"]\n"
                 "total_mixers = 3\nnum_zhen_layers = [1, 2]\nnum_features = 8\nemb_dim = 4\noutput_per_emb = 2\n" BASE
                 "[[model_space.filter]]\nname = \"small\"\nwhere = \"flops < 5\"\n"
                 "[[model_space.filter]]\npreset = \"similar-parameters\"\ntolerance = 0\n"
                 "[[model_space.filter]]\npreset = \"fixed-layers\"\nlayers = 2\n"
                 "[[model_space.filter]]\npreset = \"uniform-mixer\"\nmixer = \"LINEAR\"\n"
                 "[[model_space.filter]]\npreset = \"uniform-mixer\"\n"
                 "[[model_space.sample]]\ntake = 20\neach = { num_zhen_layers = [1, 2] }\nwhere = \"mixers(1) = 1\"\n"
                 "[[model_space.sample]]\ntake = 5\neach = \"emb_dim\"\n"
                 "[[model_space.sample]]\ntake = 100\n");
    const struct model_space_table *m = s->model_space;
    const struct space_filter *f = m->filters;
    const struct space_sample *p = m->samples;
    const struct base_key *tokens = model_space_base_key(m, "tokens");
    SAYS("6: params < 10, small flops < 5, 2 0 similar-parameters, 2, LINEAR (null)",
         "%zu: %s, %s %s, %d %g %s, %d, %s %s", m->filter_count, f[0].name, f[1].name, f[1].where, f[2].preset,
         f[2].tolerance, f[2].name, (int)f[3].layers, f[4].mixer, f[5].mixer);
    SAYS("1 1 DOT", "%d %d %s", m->include_base, tokens->flat, tokens->layers[0].items[0]);
    SAYS("3: num_zhen_layers 2 mixers(1) = 1, 0, (null) 100", "%zu: %s %s %s, %zu, %s %d", m->sample_count, p[0].each,
         p[0].literals.items[1], p[0].where, p[1].literals.count, p[2].each, (int)p[2].take);
}

PROBLEMS(keys__wrong__said_where,
         {"[model_space]\n", "1:1: [model_space] has no keys; add mixers (for DHEN models) or [model_space.keys]"},
         {"[model_space]\nmixer = []\n",
          "1:1: [model_space] has no keys; add mixers (for DHEN models) or [model_space.keys]\n"
          "s.toml:2:1: unknown key \"mixer\" in [model_space]; did you mean \"mixers\"?"},
         {"[model_space]\nemb_dim = 4\n[model_space.keys]\na = 1\n",
          "2:1: emb_dim needs mixers; put keys of other models into [model_space.keys]"},
         {"[model_space]\nmixers = [\"DOT\"]\nnum_features = 8\nemb_dim = 4\n",
          "1:1: [model_space] has mixers, but lacks \"output_per_emb\"\n"
          "s.toml:1:1: [model_space] has mixers, but lacks \"num_zhen_layers\"\n"
          "s.toml:1:1: [model_space] has mixers, but lacks \"total_mixers\" or \"mixers_per_layer\""},
         {DHEN "[model_space.keys]\ntokens = 1\n", "9:1: the model space has key \"tokens\" twice (first on line 2)"},
         {DHEN "[model_space.keys]\nnum_zhen_layers = 1\n",
          "9:1: the model space has key \"num_zhen_layers\" twice (first on line 2)"},
         {"[model_space.keys]\na = 1\nA = 1\n", "3:1: \"A\" differs from \"a\" (line 2) only in case"},
         {"[model_space.keys]\nname = \"a\"\nb = 1\n",
          "2:1: name cannot be a key of a model space: all its models would have the same name"},
         {"[model_space.keys]\na = [true, false, 1]\n",
          "2:19: a is a boolean in one place and another type elsewhere; use one type"},
         {"[model_space.keys]\na = [1, false]\n",
          "2:9: a is a boolean in one place and another type elsewhere; use one type"},
         {"[model_space.keys]\na = []\n", "2:5: a: a key needs a value"},
         {"[model_space.keys]\na = [1, 2, 1]\n", "2:12: a: 1 is listed twice"},
         {"[model_space.keys]\na = [inf]\n", "2:6: a: NaN and infinity cannot be values of an axis"},
         {"[model_space.keys]\na = { x = 1 }\n",
          "2:5: a: a table must be a range such as { from = 1, to = 4 } or a multiset such as { multiset = [...] }"},
         {"[model_space.keys]\n\"a b\" = 1\n",
          "2:1: \"a b\" cannot be a key: use letters, digits, \"_\", \"-\" and inner dots, beginning with a letter"},
         {"[model_space.keys]\na = { from = 2, to = 1 }\n", "2:5: a: the range from 2 to 1 is empty"},
         {"[model_space.keys]\na = { from = 2 }\n", "2:5: a range lacks \"to\""},
         {"[model_space.keys]\na = { from = 1, to = 2, step = 0 }\n", "2:32: step must be at least 1, not 0"},
         {"[model_space.keys]\na = { from = 1, to = 2, factor = 1 }\n", "2:34: factor must be at least 2, not 1"},
         {"[model_space.keys]\na = { from = 0, to = 2, factor = 2 }\n",
          "2:14: a range with a factor must begin at 1 or above, not at 0"},
         {"[model_space.keys]\na = { from = 1, to = 2, step = 1, factor = 2 }\n",
          "2:35: a range can have a step or a factor, but not both"},
         {"[model_space.keys]\na = { from = -9223372036854775808, to = 9223372036854775807 }\n",
          "2:5: a: the range has too many values to count"},
         {"[model_space.keys]\na = { from = 1, too = 2 }\n",
          "2:17: unknown key \"too\" in a range; did you mean \"to\"?"},
         {"[model_space.keys]\na = { multiset = [\"x\", \"x\"], total = 2 }\n", "2:24: multiset: x is listed twice"},
         {"[model_space.keys]\na = { multiset = [], total = 2 }\n", "2:18: multiset is an empty list"},
         {"[model_space.keys]\na = { multiset = [\"x\"] }\n",
          "2:5: a: give the number of elements, with total or per_layer"},
         {"[model_space.keys]\na = { multiset = [\"x\"], total = 2, layers_key = \"n\" }\n",
          "2:36: layers_key needs layers"},
         {"[model_space.keys]\na = { multiset = [\"x\"], total = 0 }\n", "2:33: total must be from 1 to 2048, not 0"},
         {"[model_space.keys]\na = { multiset = [\"x\"], total = [1, \"b\"] }\n",
          "2:37: total takes integers, not a string"},
         {"[model_space.keys]\na = { multiset = [\"x\"], total = [1, 1] }\n", "2:37: total: 1 is listed twice"},
         {"[model_space.keys]\na = { multiset = [\"x\"], total = { from = 1, to = 1000000000000 } }\n",
          "2:33: total must be from 1 to 2048, not 2049"},
         {"[model_space]\nmixers = \"DOT\"\n", "2:10: mixers must be a list of strings, not a string"},
         {"[model_space]\nmixers = [\"DOT\"]\ntotal_mixers = 1\nnum_zhen_layers = 1\nnum_features = [8, 0]\n"
          "emb_dim = [1.5]\noutput_per_emb = \"a\"\n",
          "5:16: num_features takes positive integers\ns.toml:6:11: emb_dim takes positive integers\n"
          "s.toml:7:18: output_per_emb must be an integer or a table or a list, not a string"})

#define FILTER DHEN "[[model_space.filter]]\n"
PROBLEMS(
    filters__wrong__said_where, {FILTER, "8:1: a filter needs where or preset"},
    {FILTER "where = \"a\"\npreset = \"fixed-layers\"\n", "8:1: a filter must have either where or preset, not both"},
    {FILTER "where = \" \"\n", "9:9: where is empty"},
    {FILTER "where = \"a\"\nlayers = 1\n", "10:1: layers needs preset = \"fixed-layers\""},
    {FILTER "preset = \"fixed-layer\"\nlayers = 1\n",
     "9:10: preset must be \"fixed-layers\", \"similar-parameters\" or \"uniform-mixer\"; did you mean "
     "\"fixed-layers\"?"},
    {FILTER "preset = \"fixed-layers\"\n", "8:1: fixed-layers lacks \"layers\""},
    {FILTER "preset = \"fixed-layers\"\nlayers = 0\n", "10:10: layers must be from 1 to 2147483647, not 0"},
    {FILTER "preset = \"fixed-layers\"\nlayers = 1\ntolerance = 0.5\n",
     "11:1: tolerance needs preset = \"similar-parameters\""},
    {FILTER "preset = \"similar-parameters\"\n", "9:10: similar-parameters needs [model_space.base] to compare with"},
    {DHEN BASE "[[model_space.filter]]\npreset = \"similar-parameters\"\ntolerance = 1\n",
     "16:13: tolerance must be at least 0 and less than 1"},
    {"[model_space.keys]\na = 1\n[[model_space.filter]]\npreset = \"similar-parameters\"\n",
     "4:10: similar-parameters: the parameters of these models cannot be counted, only those of DHEN models (see "
     "mixers)"},
    {FILTER "preset = \"uniform-mixer\"\nmixer = \"DOTS\"\n",
     "10:9: the model space has no mixer \"DOTS\"; did you mean \"DOT\"?"},
    {FILTER "preset = \"uniform-mixer\"\nmixer = \"ATTENTION\"\n", "10:9: the model space has no mixer \"ATTENTION\""},
    {FILTER "wheer = \"a\"\n", "8:1: a filter needs where or preset\n"
                               "s.toml:9:1: unknown key \"wheer\" in [[model_space.filter]]; did you mean \"where\"?"})

PROBLEMS(
    base__wrong__said_where,
    {"[model_space]\ninclude_base = true\nkeys = { a = 1 }\n", "2:1: include_base: there is no [model_space.base]"},
    {"[model_space]\nkeys = { a = 1, b = true }\n[model_space.base]\na = true\nb = 1\nB = true\n",
     "4:5: a is a boolean in one place and another type elsewhere; use one type\n"
     "s.toml:5:5: b is a boolean in one place and another type elsewhere; use one type\n"
     "s.toml:6:1: \"B\" differs from \"b\" (line 2) only in case"},
    {"[model_space]\nkeys = { a = 1 }\n[model_space.base]\n", "3:1: [model_space.base] is empty"},
    {DHEN "[model_space.base]\nemb_dim = 0\ntokens = []\n",
     "8:1: [model_space.base] lacks \"num_features\"\ns.toml:8:1: [model_space.base] lacks \"output_per_emb\"\n"
     "s.toml:8:1: [model_space.base] lacks \"num_zhen_layers\"\n"
     "s.toml:9:11: emb_dim of the base must be a positive integer\n"
     "s.toml:10:10: tokens of the base must be a list of its layers, such as [[\"A\"], [\"A\", \"B\"]], or one list"},
    {DHEN "[model_space.base]\nnum_features = 8\nemb_dim = 4\noutput_per_emb = 2\nnum_zhen_layers = 1\n"
          "tokens = [[\"DOT\"], [\"DOT\"]]\n",
     "12:19: the base has 2 layers of tokens, but num_zhen_layers = 1"},
    {DHEN "[model_space.base]\nnum_features = 8\nemb_dim = 4\noutput_per_emb = 2\nnum_zhen_layers = 2\n"
          "tokens = [[\"DOT\"], \"DOT\"]\n",
     "13:10: tokens of the base must be a list of its layers, such as [[\"A\"], [\"A\", \"B\"]], or one list"})

#define SAMPLE DHEN "[[model_space.sample]]\n"
PROBLEMS(samples__wrong__said_where, {SAMPLE, "8:1: [[model_space.sample]] lacks \"take\""},
         {SAMPLE "take = 0\n", "9:8: take must be from 1 to 100000000, not 0"},
         {SAMPLE "take = 1\neach = \"num_zhen_layer\"\n",
          "10:8: the model space has no key \"num_zhen_layer\" to sample by; did you mean \"num_zhen_layers\"?"},
         {SAMPLE "take = 1\neach = \"tokens\"\n", "10:8: the model space has no key \"tokens\" to sample by"},
         {SAMPLE "take = 1\neach = { emb_dim = 4, num_features = 8 }\n",
          "10:8: each must be a table with one key and its values: { layer_count = [1, 2] }"},
         {SAMPLE "take = 1\neach = { emb_dim = [] }\n", "10:20: emb_dim is an empty list"},
         {SAMPLE "take = 1\neach = { emb_dim = [4, 4] }\n", "10:24: emb_dim: 4 is listed twice"},
         {SAMPLE "take = 1\nwhere = \"\"\n", "10:9: where is empty"},
         {"[[model_space]]\nmixers = []\n", "1:1: model_space must be a table, not a list"})
