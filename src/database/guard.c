#include "database/guard.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "database/sqlite.h"
#include "util/buffer.h"
#include "util/clock.h"
#include "util/memory.h"
#include "util/string_list.h"

#define STEPS_BETWEEN_LOOKS 200

/* Pure functions of SQLite 3.40 with the math extension, total but for texts that are no JSON, paths that are none, and
 * abs() of the least integer, and of ours duration_ms (space/build.c), elastic_allows (space/elasticity.c),
 * layout_layers and the like (space/elasticity.c), model_elements (models/filter.c) and measured (import/table.c);
 * those that predict register themselves under names that begin with "predict_". */
static const char allowed_functions[] =
    "abs acos asin atan atan2 ceil ceiling char coalesce cos cosh degrees duration_ms elastic_allows exp floor format"
    " glob hex ifnull iif instr json json_array_length json_extract json_type json_valid layout_is_whole layout_layers"
    " layout_mtp layout_parts -> ->> length like likelihood likely ln log log10 log2 lower ltrim max min mod"
    " model_elements nullif pi pow power printf quote radians replace round rtrim sign sin sinh sqrt substr substring"
    " tan tanh trim trunc typeof unicode unlikely upper measured";

struct watch {
    guard_column *each; /* NULL: nobody asks */
    void *context;
    int selects;
    char refused[256];
};

static int refuse(struct watch *w, const char *what, const char *name)
{
    if (!w->refused[0])
        sqlite3_snprintf(sizeof w->refused, w->refused, "%s%s%s is not allowed here", what, name ? " " : "",
                         name ? name : "");
    return SQLITE_DENY;
}

static int authorize(void *context, int action, const char *a, const char *b, const char *schema, const char *trigger)
{
    (void)a;
    (void)schema;
    struct watch *w = context;
    if (trigger)
        return SQLITE_OK; /* asked by a view of ours, not by the expression */
    switch (action) {
    case SQLITE_SELECT:
        return ++w->selects > 1 ? refuse(w, "a subquery", NULL) : SQLITE_OK;
    case SQLITE_READ:
        if (w->each)
            w->each(w->context, b);
        return SQLITE_OK;
    case SQLITE_FUNCTION:
        return strncasecmp(b, "predict_", 8) == 0 || words_have(allowed_functions, b) ? SQLITE_OK
                                                                                      : refuse(w, "the function", b);
    default:
        return refuse(w, "that statement", NULL);
    }
}

int guard_prepare(struct db *db, const char *sql, struct stmt **out, struct error *e)
{
    return guard_prepare_reading(db, sql, NULL, NULL, out, e);
}

int guard_prepare_reading(struct db *db, const char *sql, guard_column *each, void *context, struct stmt **out,
                          struct error *e)
{
    struct watch w = {each, context, 0, ""};
    sqlite3_set_authorizer(db->handle, authorize, &w);
    sqlite3_stmt *handle = NULL;
    int rc = sqlite3_prepare_v2(db->handle, sql, -1, &handle, NULL);
    sqlite3_set_authorizer(db->handle, NULL, NULL);
    if (rc != SQLITE_OK)
        return error_set(e, ERROR_USAGE, "%s", w.refused[0] ? w.refused : sqlite3_errmsg(db->handle));
    struct stmt *s = xmalloc(sizeof *s);
    *s = (struct stmt){.handle = handle, .db = db};
    *out = s;
    return 0;
}

int guard_prepare_expression(struct db *db, const char *before, const char *expression, const char *after,
                             struct stmt **out, struct error *e)
{
    struct stmt *bare = NULL;
    /* The line end closes a comment, so that it cannot swallow the parenthesis. */
    char *sql = xasprintf("%s(%s\n)%s", before, expression, after);
    int rc = guard_prepare(db, sql, out, e);
    free(sql);
    if (rc < 0)
        return -1;
    sql = xasprintf("%s %s\n%s", before, expression, after);
    rc = guard_prepare(db, sql, &bare, e);
    free(sql);
    stmt_free(bare);
    if (rc == 0)
        return 0;
    stmt_free(*out);
    *out = NULL;
    return -1;
}

int guard_truth(struct stmt *s, struct error *e)
{
    int truth = -1;
    if (sqlite3_step(s->handle) == SQLITE_ROW)
        truth = sqlite3_column_int64(s->handle, 0) != 0;
    else
        error_set(e, ERROR_USAGE, "%s", sqlite3_errmsg(s->db->handle));
    sqlite3_reset(s->handle);
    return truth;
}

int guard_check_where(const char *expression, const char *const *columns, size_t count, struct error *e)
{
    struct db *db = NULL;
    struct stmt *s = NULL;
    OWNED_BUFFER sql = BUFFER_INIT;
    buffer_add_text(&sql, "CREATE TABLE results (");
    for (size_t i = 0; i < count; i++) {
        char *name = sqlite3_mprintf("%s\"%w\"", i ? ", " : "", columns[i]);
        buffer_add_text(&sql, name);
        sqlite3_free(name);
    }
    buffer_add_char(&sql, ')');
    int rc = db_open(NULL, DB_TEMPORARY, &db, e) < 0 || db_exec(db, buffer_text(&sql), e) < 0
                 ? -1
                 : guard_prepare_expression(db, "SELECT 1 FROM results WHERE ", expression, "", &s, e);
    stmt_free(s);
    db_close(db);
    return rc;
}

struct processor_limit {
    int64_t end_us; /* as clock_processor_us has it */
};

static int is_spent(void *context)
{
    const struct processor_limit *limit = context;
    return clock_processor_us() > limit->end_us;
}

void guard_limit_processor(struct db *db, int64_t ms)
{
    /* One budget per connection, released with it. */
    if (ms <= 0) {
        sqlite3_progress_handler(db->handle, 0, NULL, NULL);
        return;
    }
    db->processor_limit = xrealloc(db->processor_limit, sizeof *db->processor_limit);
    db->processor_limit->end_us = clock_processor_us() + ms * 1000;
    sqlite3_progress_handler(db->handle, STEPS_BETWEEN_LOOKS, is_spent, db->processor_limit);
}

/* The worst of the allowed functions is trim(X, Y): it compares each character of X with each of Y, for which SQLite
 * allocates 12 bytes within the same limit. 0.8 s at 64 KiB on a core that trims 256 KiB in 13 s; replace() and instr()
 * are at a thirtieth of that. */
void guard_limit_values(struct db *db)
{
    sqlite3_limit(db->handle, SQLITE_LIMIT_LENGTH, 64 << 10);
    sqlite3_limit(db->handle, SQLITE_LIMIT_LIKE_PATTERN_LENGTH, 1000);
}

struct allowance {
    int64_t left_ms;  /* when the running statement began */
    int64_t began_ms; /* of the running step */
    char sentence[];
};

static int is_used_up(void *context)
{
    const struct allowance *a = context;
    return clock_monotonic_ms() - a->began_ms > a->left_ms;
}

void guard_limit_time(struct db *db, int64_t ms, const char *sentence)
{
    db->allowance = xrealloc(db->allowance, sizeof *db->allowance + strlen(sentence) + 1);
    db->allowance->left_ms = ms;
    strcpy(db->allowance->sentence, sentence);
}

/* Steps within the allowance. */
static int step_allowed(struct stmt *s, struct allowance *a)
{
    a->began_ms = clock_monotonic_ms();
    sqlite3_progress_handler(s->db->handle, STEPS_BETWEEN_LOOKS, is_used_up, a);
    int rc = sqlite3_step(s->handle);
    sqlite3_progress_handler(s->db->handle, 0, NULL, NULL);
    a->left_ms -= clock_monotonic_ms() - a->began_ms;
    return rc;
}

int guard_next(struct stmt *s, struct error *e)
{
    struct allowance *a = s->db->allowance;
    if (!a)
        return stmt_next(s, e);
    int rc = step_allowed(s, a);
    bool interrupted = rc == SQLITE_INTERRUPT;
    if (rc == SQLITE_ROW)
        return 1;
    if (interrupted)
        error_set(e, ERROR_USAGE, "%s", a->sentence);
    else if (rc != SQLITE_DONE)
        db_error(s->db, e);
    sqlite3_reset(s->handle);
    return rc == SQLITE_DONE ? 0 : -1;
}
