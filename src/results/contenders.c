#include "results/contenders.h"

#include <string.h>

#include "util/memory.h"

int contenders_read(struct db *db, const struct best *b, cJSON **out, struct error *e)
{
    OWNED_STMT *s = NULL;
    const bool maximise = strcmp(json_text_of(b->document, "better"), "max") == 0;
    *out = NULL;
    int rc = best_job(b) < 0 ? 0
                             : configurations_ask(db, "sql/answers/leads.sql", &(struct competition){false, false},
                                                  VALUES(sql_text(json_text_of(b->document, "objective")),
                                                         sql_int(maximise), sql_int(0), sql_int(best_job(b))),
                                                  &s, e);
    if (rc == 0 && s && (rc = stmt_next(s, e)) > 0)
        rc = answer_take(s, 1, out, e);
    return rc;
}

int leads_read(struct db *db, const char *objective, bool maximise, const struct competition *c, cJSON **out,
               struct error *e)
{
    OWNED_STMT *s = NULL;
    int rc = configurations_ask(db, "sql/answers/leads.sql", c,
                                VALUES(sql_text(objective), sql_int(maximise), sql_int(c->replicates ? 2 : c->groups),
                                       sql_null()),
                                &s, e);
    rc = rc < 0 ? -1 : stmt_next(s, e);
    return rc <= 0 ? rc : answer_take(s, 0, out, e);
}
