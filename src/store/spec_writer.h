/* Specs in bulk. Inside the caller's write transaction. */
#pragma once

#include "config/sweep.h"
#include "database/db.h"
#include "util/hash.h"

struct spec_row {
    struct hash128 hash;     /* equal hash, equal spec: of the content, and of labels where a job's texts read one */
    struct hash128 identity; /* of the content alone: what job keys are made from */
    const char *json;        /* labels included */
};

/* One at a time for a database. */
struct spec_writer;
int spec_writer_create(struct db *db, struct spec_writer **out, struct error *e);
void spec_writer_free(struct spec_writer *w);

/* From now on each spec is put once, and none that was put before. Where there are none but this writer's they are put
 * in together with others, and indexed by spec_writer_finish all at once. */
int spec_writer_expect_distinct(struct spec_writer *w, struct error *e);

/* The id of that spec; made when it is new, its name and labels brought up to date when not. */
int spec_writer_put(struct spec_writer *w, enum section_kind kind, const struct spec_row *row, int64_t *id,
                    struct error *e);

/* Puts in what was not put in yet. */
int spec_writer_finish(struct spec_writer *w, struct error *e);
