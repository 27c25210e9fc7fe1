/* The effect of each key on the objective: ratios of matched pairs with their intervals. */
#include "compare/comparison.h"

#include "compare/ratios.h"
#include "page/page.h"
#include "page/sections.h"
#include "report/saying.h"

static int say_effects(struct db *db, const struct html_data *d, struct db *said, struct error *e)
{
    const char *keys[EFFECTS_KEYS_MOST];
    if (db_run(said, "INSERT INTO asked (metric, unit, maximise, least) VALUES (?, ?, ?, ?)",
               VALUES(sql_text(d->objective), sql_text(d->unit), sql_int(d->maximise), sql_int(RATIOS_LEAST)), e) < 0)
        return -1;
    return key_effects_read(db, d->objective, keys, html_effect_keys(d, keys, EFFECTS_KEYS_MOST), said, e);
}

int html_rank_keys(struct db *db, struct db *said, struct error *e)
{
    struct html_data d = {0};
    /* One transaction: a runner may be at work. */
    if (db_read_begin(db, e) < 0)
        return -1;
    int rc = html_data_read(db, &d, e);
    if (rc == 0)
        rc = d.objective ? say_effects(db, &d, said, e)
                         : error_set(e, ERROR_USAGE,
                                     "--rank: the sweep has no objective; add objective = \"max:METRIC\" or "
                                     "\"min:METRIC\" under [sweep]");
    db_read_end(db);
    html_data_free(&d);
    return rc;
}

int html_effects(struct html_page *p, struct error *e)
{
    struct db *said = NULL;
    int rc = saying_open("sql/comparisons.sql", &said, e);
    if (rc == 0)
        rc = html_add_functions(said, e);
    if (rc == 0 && p->data->objective)
        rc = say_effects(p->db, p->data, said, e);
    if (rc == 0)
        rc = html_add_document(&p->out, said, "effects", NO_VALUES, e);
    db_close(said);
    return rc;
}
