/* A [model_space] from text, and the search for it. */
#pragma once

#include "models/search.h"
#include "sweep_fixture.h"

#define BASE_PARAMETERS INT64_C(215334328) /* four layers of ATTENTION, LINEAR, ATTENTION, DOT */
#define BASE_FLOPS (3 * INT64_C(1251521536))

#define ZHEN_SIZES "num_features = 512\nemb_dim = 160\noutput_per_emb = 50\n"
#define ZHEN_KINDS(kinds) "mixers = [" kinds "]\ntotal_mixers = 12\nnum_zhen_layers = { from = 1, to = 4 }\n" ZHEN_SIZES
#define ZHEN_SPACE "[model_space]\n" ZHEN_KINDS("\"DOT\", \"LINEAR\", \"ATTENTION\"")
#define ZHEN_BASE                                                                                                      \
    "[model_space.base]\n" ZHEN_SIZES                                                                                  \
    "num_zhen_layers = 4\ntokens = [\"ATTENTION\", \"LINEAR\", \"ATTENTION\", \"DOT\"]\n"
#define SIMILAR "[[model_space.filter]]\npreset = \"similar-parameters\"\n"

static inline struct model_search *search_of(const struct sweep *sweep, const struct model_search_options *options)
{
    static const struct model_search_options none;
    struct model_search *search = NULL;
    FAIL_IF(model_search_open(sweep, options ? options : &none, &search, &e) < 0);
    return search;
}
