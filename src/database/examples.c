#include "database/examples.h"

#define EXAMPLES_MOST 5

void examples_add(struct examples *x, const char *example)
{
    if (x->count < EXAMPLES_MOST)
        buffer_printf(&x->text, "%s%s", x->count ? ", " : "", example);
    else if (x->count == EXAMPLES_MOST)
        buffer_add_text(&x->text, ", ...");
    x->count++;
}

void examples_free(struct examples *x)
{
    buffer_free(&x->text);
}

int examples_query(struct db *db, const char *sql, struct examples *x, struct error *e)
{
    struct stmt *s = NULL;
    int rc;
    while ((rc = db_next(db, sql, NO_VALUES, &s, e)) > 0)
        examples_add(x, stmt_text(s, 0));
    return rc;
}
