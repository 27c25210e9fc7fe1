#include "store/selection.h"

#include <string.h>

#include "util/memory.h"

int selection_begin(struct db *db, struct error *e)
{
    return db_exec(db, "DROP TABLE IF EXISTS temp.selected; CREATE TEMP TABLE selected (job_id INTEGER PRIMARY KEY)",
                   e);
}

int selection_add(struct db *db, int64_t job_id, struct error *e)
{
    return db_run(db, "INSERT OR IGNORE INTO temp.selected VALUES (?)", VALUES(sql_int(job_id)), e);
}

int selection_add_key(struct db *db, const struct hash128 *key, struct error *e)
{
    return db_run(db, "INSERT OR IGNORE INTO temp.selected SELECT id FROM job WHERE key = ?", VALUES(sql_hash(key)), e);
}

/* --- shards --- */

/* Every shard draws a number for the job, the same on every machine; the highest has it. */
bool shard_has(const struct shard *s, const struct hash128 *key)
{
    unsigned char drawn[sizeof key->bytes + 4];
    struct hash128 highest = {0};
    int64_t owner = 0;
    memcpy(drawn, key->bytes, sizeof key->bytes);
    for (int64_t i = 1; i <= s->of; i++) {
        for (int k = 0; k < 4; k++)
            drawn[sizeof key->bytes + (size_t)k] = (unsigned char)(i >> (8 * k));
        const struct hash128 hash = hash_bytes(drawn, sizeof drawn);
        if (owner == 0 || memcmp(hash.bytes, highest.bytes, sizeof hash.bytes) > 0) {
            highest = hash;
            owner = i;
        }
    }
    return s->of == 0 || owner == s->number;
}

/* The jobs that are looked at, and what is done with one that is others', or else with one's own. */
struct narrowing {
    const char *jobs, *change;
    bool changes_own;
};

static const struct narrowing of_sweep = {"SELECT id, key FROM job WHERE sweep_id = ?1",
                                          "INSERT OR IGNORE INTO temp.selected VALUES (?)", true};
static const struct narrowing of_selection =
    {"SELECT id, key FROM temp.selected JOIN job ON id = job_id WHERE ?1 IS NOT NULL",
     "DELETE FROM temp.selected WHERE job_id = ?", false};

static int narrow(struct db *db, int64_t sweep_id, const struct narrowing *n, const struct shard *s, int64_t *others,
                  struct error *e)
{
    OWNED_STMT *jobs = NULL;
    int rc;
    *others = 0;
    while ((rc = db_next(db, n->jobs, VALUES(sql_int(sweep_id)), &jobs, e)) > 0) {
        struct hash128 key;
        memcpy(key.bytes, stmt_hash(jobs, 1), sizeof key.bytes);
        const bool has = shard_has(s, &key);
        *others += !has;
        if (has == n->changes_own && db_run(db, n->change, VALUES(sql_int(stmt_int(jobs, 0))), e) < 0)
            return -1;
    }
    if (rc < 0)
        return -1;
    return db_run(db,
                  "INSERT OR REPLACE INTO meta VALUES ('shard', json_object('sweep', ?1, 'shard', ?2 || '/' || ?3,"
                  " 'others', ?4))",
                  VALUES(sql_int(sweep_id), sql_int(s->number), sql_int(s->of), sql_int(*others)), e);
}

int selection_take_shard(struct db *db, int64_t sweep_id, bool of_selected, const struct shard *s, int64_t *others,
                         struct error *e)
{
    if ((!of_selected && selection_begin(db, e) < 0) || db_begin(db, e) < 0)
        return -1;
    return db_end(db, narrow(db, sweep_id, of_selected ? &of_selection : &of_sweep, s, others, e), e);
}

int selection_forget_shard(struct db *db, struct error *e)
{
    return db_exec(db, "DELETE FROM meta WHERE name = 'shard'", e);
}
