#include "compare/comparison.h"

#include <stdlib.h>
#include <string.h>

#include "compare/compared_jobs.h"
#include "compare/comparison_subject.h"
#include "compare/key_ties.h"
#include "compare/matched_pairs.h"
#include "util/memory.h"

struct work {
    const struct compared_jobs *jobs;
    const struct comparison_request *request;
    struct comparison_subject subject;
    struct comparison *out;
};

static int measure(struct work *w, struct error *e)
{
    return matched_pairs_measure(w->jobs, w->request, w->subject.maximise, w->out, e);
}

/* --- free keys --- */

static size_t most_pairs(const struct comparison *c)
{
    size_t most = 0;
    for (size_t i = 0; i < c->count; i++) {
        const size_t pairs = c->pairs[i].summary.count + (size_t)c->pairs[i].without_choice;
        most = pairs > most ? pairs : most;
    }
    return most;
}

/* Fixes again each freed key that adds no pairs. */
static int fix_needless(struct work *w, struct error *e)
{
    struct string_list all = w->out->free;
    size_t most = most_pairs(w->out);
    bool *fixed = xcalloc(all.count + 1, sizeof *fixed);
    int rc = 0;
    for (size_t i = 0; rc == 0 && i <= all.count; i++) {
        fixed[i] = true;
        w->out->free = (struct string_list)STRING_LIST_INIT;
        for (size_t k = 0; k < all.count; k++)
            if (!fixed[k])
                string_list_add(&w->out->free, xstrdup(all.items[k]));
        rc = measure(w, e);
        fixed[i] = most_pairs(w->out) >= most;
        if (i < all.count)
            string_list_free(&w->out->free);
    }
    free(fixed);
    string_list_free(&all);
    return rc;
}

/* If a key cannot be changed alone, keys that must follow it are freed. */
static int find_free(struct db *db, struct work *w, struct error *e)
{
    size_t alone = most_pairs(w->out);
    if (!w->out->key || w->out->values < 2 || alone >= RATIOS_LEAST || !w->subject.has_direction)
        return 0;
    if (key_ties_read(db, w->jobs, w->out->key, &w->out->free, e) < 0)
        return -1;
    int rc = w->out->free.count ? measure(w, e) : 0;
    if (rc == 0 && most_pairs(w->out) > alone) {
        w->out->free_was_found = true;
        w->out->pairs_alone = alone;
        return fix_needless(w, e);
    }
    bool tried = w->out->free.count > 0;
    string_list_free(&w->out->free);
    return rc == 0 && tried ? measure(w, e) : rc;
}

/* Looks at one job, because all have the same keys, apart from those of blocks of one section. */
static int read_batch(struct db *db, struct comparison *c, struct error *e)
{
    int64_t found;
    if (db_query_int(db,
                     "SELECT EXISTS (SELECT 1 FROM (SELECT derived, training_id, parallel_id FROM job"
                     "  WHERE sweep_id = (SELECT id FROM current_sweep) LIMIT 1) AS j"
                     " LEFT JOIN spec AS t ON t.id = j.training_id LEFT JOIN spec AS p ON p.id = j.parallel_id"
                     " JOIN json_each(json_array('$.global_batch', '$.train_batch_size')) AS k"
                     " WHERE coalesce(json_extract(j.derived, k.value), json_extract(t.json, k.value),"
                     "  json_extract(p.json, k.value)) IS NOT NULL)",
                     NO_VALUES, 0, &found, e) < 0)
        return -1;
    c->says_batch = found;
    return 0;
}

static int compare(struct db *db, struct compared_jobs *jobs, struct work *w, struct error *e)
{
    w->jobs = jobs;
    if (comparison_subject_keys(db, jobs, w->request, &w->subject, w->out, e) < 0)
        return -1;
    const enum compared_kind section = compared_section_named(w->out->section, strlen(w->out->section));
    if (!w->out->key && compared_jobs_read_labels(db, jobs, section, e) < 0)
        return -1;
    if (measure(w, e) < 0 || (!w->request->free && find_free(db, w, e) < 0))
        return -1;
    return read_batch(db, w->out, e);
}

/* Reads the jobs if the request brings none. */
static int read_and_compare(struct db *db, struct work *w, struct error *e)
{
    struct compared_jobs own = {0};
    if (comparison_subject_metric(db, w->request->metric, w->out, &w->subject, e) < 0)
        return -1;
    if (w->request->jobs)
        return compare(db, w->request->jobs, w, e);
    int rc = compared_jobs_read(db, w->out->metric, &own, e);
    rc = rc == 0 ? compare(db, &own, w, e) : rc;
    compared_jobs_free(&own);
    w->jobs = NULL;
    return rc;
}

int comparison_read(struct db *db, const struct comparison_request *request, struct comparison *out, struct error *e)
{
    struct comparison c = {0};
    struct work w = {.request = request, .out = &c};
    /* One transaction, because a runner may be at work. */
    if (db_read_begin(db, e) < 0)
        return -1;
    int rc = read_and_compare(db, &w, e);
    db_read_end(db);
    if (rc < 0) {
        comparison_free(&c);
        return -1;
    }
    *out = c;
    return 0;
}

size_t comparisons_judge(struct comparison *items, size_t count)
{
    size_t together = 0;
    for (size_t i = 0; i < count; i++)
        for (size_t j = 0; j < items[i].count; j++)
            together += items[i].pairs[j].summary.count >= RATIOS_INTERVAL_LEAST;
    for (size_t i = 0; i < count; i++)
        for (size_t j = 0; j < items[i].count; j++) {
            struct comparison_pair *p = &items[i].pairs[j];
            ratios_judge(p->ratios, &p->summary, together, (unsigned)p->chosen_a + p->chosen_b);
        }
    return together;
}

void comparison_free(struct comparison *c)
{
    matched_pairs_clear(c);
    string_list_free(&c->free);
    free(c->section);
    free(c->key);
    free(c->metric);
    free(c->unit);
    *c = (struct comparison){0};
}
