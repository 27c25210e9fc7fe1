/* The first few of many items, for a sentence: "job 1, job 2, ...". */
#pragma once

#include "database/db.h"
#include "util/buffer.h"

struct examples {
    struct buffer text;
    int64_t count; /* of all */
};

#define EXAMPLES_INIT ((struct examples){BUFFER_INIT, 0})

void examples_add(struct examples *x, const char *example);
void examples_free(struct examples *x);

/* The first column of every row. */
int examples_query(struct db *db, const char *sql, struct examples *x, struct error *e);
