
#include "cli/output.h"
#include "commands/commands.h"
#include "commands/proposing.h"
#include "util/memory.h"

static int ask_for(const struct proposing *p, const struct ask_options *o, const cJSON *proposals, cJSON **answer,
                   struct error *e)
{
    if (o->open)
        return proposals_open(&p->place, answer, e);
    if (proposals)
        return proposals_ask(&p->place, proposals, answer, e);
    return proposals_next(&p->place, (size_t)o->count, answer, e);
}

static int print(cJSON *answer, struct error *e)
{
    const cJSON *refused = cJSON_GetObjectItemCaseSensitive(answer, "refused");
    if (output_json(answer, e) < 0)
        return -1;
    return cJSON_GetArraySize(refused) > 0 ? STATUS_JOBS_FAILED : STATUS_OK;
}

int command_ask(const struct ask_options *o, const struct arguments *a, struct error *e)
{
    struct proposing p = {0};
    OWNED_JSON *proposals = NULL, *answer = NULL;
    if (o->open && a->word_count > 0)
        return error_set(e, ERROR_USAGE, "ask: --open takes no proposals; leave out the file");
    int rc = a->word_count > 0 ? proposing_read(a->words[0], &proposals, e) : 0;
    if (rc == 0)
        rc = proposing_open(&p, o->config, o->db, e);
    if (rc == 0) {
        p.place.by = o->by;
        p.place.why = o->why;
        rc = proposing_end(&p, ask_for(&p, o, proposals, &answer, e), e);
    }
    proposing_close(&p);
    if (rc == 0)
        rc = print(answer, e);
    return rc;
}
