#include "cli/match_words.h"

#include <math.h>
#include <stdlib.h>

#include "report/text.h"
#include "results/json.h"
#include "util/memory.h"
#include "util/parse.h"

void match_add_prediction(const struct match *m, struct buffer *out)
{
    static const char *const words[] =
        {[OOM_FITS] = "", [OOM_RISK] = " (may not fit)", [OOM_CERTAIN] = " (does not fit)"};
    const char *of = m->predicted_memory_of;
    char size[32];
    if (!isnan(m->predicted_memory))
        buffer_printf(out, "  predicted %s%s%s%s%s", format_size_bytes((int64_t)m->predicted_memory, size, sizeof size),
                      *of ? " " : "", of, words[m->risk] ? words[m->risk] : "",
                      m->is_audit ? " run to audit pruning" : "");
    if (!isnan(m->predicted_time)) {
        buffer_add_text(out, isnan(m->predicted_memory) ? "  predicted " : ", ");
        text_add_figure(out, 3, m->predicted_time);
        buffer_add_text(out, " s a step");
    }
}

/* --- as JSON --- */

struct match_json {
    struct space *space;
    struct describer *describer;
    struct stmt *json[SECTION_COUNT]; /* of a section's specs; NULL: the sweep has none */
};

int match_json_create(struct space *space, struct match_json **out, struct error *e)
{
    struct match_json *j = xcalloc(1, sizeof *j);
    j->space = space;
    int rc = 0;
    j->describer = describer_create(space, NULL);
    for (int i = 0; rc == 0 && i < SECTION_COUNT; i++) {
        if (space->counts[i] == 0)
            continue;
        OWNED char *sql = xasprintf("SELECT \"#json\" FROM \"%s\" WHERE \"#id\" = ?", section_names[i]);
        rc = db_prepare(space->db, sql, &j->json[i], e);
    }
    if (rc < 0) {
        match_json_free(j);
        return -1;
    }
    *out = j;
    return 0;
}

void match_json_free(struct match_json *j)
{
    if (!j)
        return;
    for (int i = 0; i < SECTION_COUNT; i++)
        stmt_free(j->json[i]);
    describer_free(j->describer);
    free(j);
}

static int add_keys(struct match_json *j, const struct match *m, cJSON *job, struct error *e)
{
    cJSON *keys = cJSON_AddObjectToObject(job, "keys");
    OWNED_BUFFER derived = BUFFER_INIT;
    for (int i = 0; i < SECTION_COUNT; i++) {
        int rc = 0;
        if (j->json[i]) {
            stmt_reset(j->json[i]);
            stmt_bind_at(j->json[i], 1, sql_int(m->spec[i]));
            rc = stmt_next(j->json[i], e);
        }
        if (rc < 0)
            return -1;
        json_add_raw(keys, section_names[i], rc > 0 ? stmt_text(j->json[i], 0) : NULL);
    }
    match_add_derived_json(j->space, m, &derived);
    json_add_raw(keys, "derived", derived.length ? buffer_text(&derived) : NULL);
    return 0;
}

int match_json_add(struct match_json *j, const struct match *m, cJSON *job, struct error *e)
{
    static const char *const verdicts[] =
        {[OOM_FITS] = "fits", [OOM_RISK] = "may not fit", [OOM_CERTAIN] = "does not fit"};
    OWNED_BUFFER words = BUFFER_INIT;
    char hex[HASH_HEX_BYTES];
    cJSON_AddStringToObject(job, "key", hash_hex(&m->key, hex));
    int rc = add_keys(j, m, job, e);
    describe_match(j->describer, m, &words);
    JSON_ADD(job, JSON_TEXT("description", buffer_text(&words)),
             JSON_REAL("predicted_memory_bytes", m->predicted_memory),
             JSON_REAL("predicted_step_time_s", m->predicted_time),
             JSON_TEXT("predicted_to", isnan(m->predicted_memory) ? NULL : verdicts[m->risk]));
    return rc;
}
