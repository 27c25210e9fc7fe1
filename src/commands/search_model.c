#include <math.h>

#include "cli/command.h"
#include "cli/output.h"
#include "cli/search_model.h"
#include "sweep_file/reader.h"
#include "util/parse.h"

struct search_model_options {
    const char *config, *where, *seed;
    bool count, json;
    int64_t limit, offset;
};

#define AT(member) offsetof(struct search_model_options, member)

static const struct option options[] = {
    OPTION(STRING, "config", AT(config), "FILE", "the sweep file", .letter = 'c', .fallback = "sweep.toml"),
    OPTION(FLAG, "count", AT(count), NULL, "count the candidates instead of printing models"),
    OPTION(FLAG, "json", AT(json), NULL, "print the counts as JSON"),
    OPTION(STRING, "where", AT(where), "SQL",
           "only candidates that satisfy this condition: 'params < 2e8 AND mixers(1) > 2'", .offer = OFFER_CANDIDATES),
    OPTION(INT, "limit", AT(limit), "N", "at most N models", .least = 1, .most = INFINITY),
    OPTION(INT, "offset", AT(offset), "N", "skip the first N models", .least = 0, .most = INFINITY),
    OPTION(STRING, "seed", AT(seed), "N", "seed of the sample, instead of the one in the file"),
    {.name = NULL},
};

static int search_options(const struct search_model_options *o, struct model_search_options *out, struct error *e)
{
    *out = (struct model_search_options){.where = o->where,
                                         .seed_given = o->seed != NULL,
                                         .offset = (uint64_t)o->offset,
                                         .limit = (uint64_t)o->limit};
    if (o->seed && !parse_int64(o->seed, &out->seed))
        return error_set(e, ERROR_USAGE, "--seed %s: must be an integer", o->seed);
    if (o->json && !o->count)
        return error_set(e, ERROR_USAGE, "search-model: --json needs --count; models are printed as TOML");
    return 0;
}

static int search_model(const struct arguments *a, struct error *e)
{
    const struct search_model_options *o = a->options;
    struct model_search_options search;
    struct sweep *sweep = NULL;
    if (search_options(o, &search, e) < 0 || sweep_load(o->config, &sweep, e) < 0)
        return -1;
    int rc = search_model_need(sweep, e);
    if (rc == 0)
        rc = o->count ? search_model_count(sweep, &search, o->json, e) : search_model_print(sweep, &search, e);
    sweep_free(sweep);
    return rc;
}

const struct command search_model_command = {
    .name = "search-model",
    .summary = "Print model candidates of a [model_space] as TOML",
    .usage = "[OPTIONS]",
    .example = "meshsweep search-model -c configs/zhen-search.toml --count\n"
               "meshsweep search-model -c configs/zhen-search.toml > models.toml\n"
               "meshsweep search-model -c configs/zhen-search.toml --where 'mixers(1) = 3' --limit 10",
    .options = options,
    .options_bytes = sizeof(struct search_model_options),
    .pages = true,
    .run = search_model,
};
