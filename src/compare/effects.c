#include "compare/effects.h"

#include "compare/compared_jobs.h"
#include "compare/comparison.h"
#include "util/buffer.h"

struct key_effects {
    struct compared_jobs jobs;
    struct comparison items[EFFECTS_KEYS_MOST];
    const char *keys[EFFECTS_KEYS_MOST]; /* as they were asked for */
    size_t count;
};

/* A key that cannot be compared by has no effect. */
static int read_effect(struct db *db, const char *key, struct key_effects *x, struct error *e)
{
    const struct comparison_request request = {.key = key, .seed = 1, .jobs = &x->jobs};
    struct error why = ERROR_INIT;
    if (comparison_read(db, &request, &x->items[x->count], &why) == 0)
        x->keys[x->count++] = key;
    else if (why.kind != ERROR_USAGE)
        *e = why;
    return why.kind == ERROR_NONE || why.kind == ERROR_USAGE ? 0 : -1;
}

static int say_effect(struct db *said, const char *key, const struct comparison *c, struct error *e)
{
    const char *by = c->key ? c->key : c->section;
    OWNED_BUFFER tied = BUFFER_INIT;
    int rc = 0;
    for (size_t i = 0; i < c->free.count; i++)
        buffer_printf(&tied, "%s%s", i ? ", " : "", c->free.items[i]);
    for (size_t i = 0; rc == 0 && i < c->count; i++)
        rc = comparison_say_pair(said, by, &c->pairs[i], false, e);
    return rc < 0 ? -1
                  : db_run(said, "INSERT INTO effect VALUES (NULL, ?, (SELECT max(n) FROM pair), ?, ?)",
                           VALUES(sql_text(key), sql_int((int64_t)c->pairs_alone),
                                  sql_text(c->free_was_found ? buffer_text(&tied) : NULL)),
                           e);
}

static int say_effects(struct db *said, struct key_effects *x, struct error *e)
{
    const size_t together = comparisons_judge(x->items, x->count);
    int rc = db_run(said, "UPDATE asked SET together = ?", VALUES(sql_int((int64_t)together)), e);
    for (size_t i = 0; rc == 0 && i < x->count; i++)
        rc = say_effect(said, x->keys[i], &x->items[i], e);
    return rc;
}

int key_effects_read(struct db *db, const char *objective, const char *const *keys, size_t count, struct db *said,
                     struct error *e)
{
    struct key_effects x = {0};
    int rc = count ? compared_jobs_read(db, objective, &x.jobs, e) : 0;
    for (size_t i = 0; rc == 0 && i < count && i < EFFECTS_KEYS_MOST; i++)
        rc = read_effect(db, keys[i], &x, e);
    if (rc == 0)
        rc = say_effects(said, &x, e);
    for (size_t i = 0; i < x.count; i++)
        comparison_free(&x.items[i]);
    compared_jobs_free(&x.jobs);
    return rc;
}
