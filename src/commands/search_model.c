
#include "cli/search_model.h"
#include "cli/output.h"
#include "commands/commands.h"
#include "sweep_file/reader.h"
#include "util/parse.h"

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

int command_search_model(const struct search_model_options *o, struct error *e)
{
    struct model_search_options search;
    OWNED_SWEEP *sweep = NULL;
    if (search_options(o, &search, e) < 0 || sweep_load(o->config, &sweep, e) < 0 || search_model_need(sweep, e) < 0)
        return -1;
    return o->count ? search_model_count(sweep, &search, o->json, e) : search_model_print(sweep, &search, e);
}
