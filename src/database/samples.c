#include "database/samples.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "database/sqlite.h"
#include "util/buffer.h"
#include "util/memory.h"

enum {
    SERIES_LEAST = 64, /* fewer take less than what they would be compressed to, or hardly more */
    ROWS_MOST = 10000, /* in one piece: a curve is read from its first sample on */
    TEXT_MOST = 1 << 24,
    DECIMALS_MOST = 22 /* 10^22 is the last power of ten that is a double */
};

/* Steps and sequences are below it, so that ROWS_MOST times the difference of two has 64 bits. */
#define NUMBER_MOST (INT64_C(1) << 45)

/* --- a function --- */

static void uncompress_value(sqlite3_context *c, int count, sqlite3_value **values)
{
    const sqlite3_int64 bytes = sqlite3_value_int64(values[1]);
    const int length = sqlite3_value_bytes(values[0]);
    (void)count;
    if (bytes <= 0 || bytes == length) {
        sqlite3_result_value(c, values[0]);
        return;
    }
    if (bytes > TEXT_MOST)
        return;
    uLongf size = (uLongf)bytes;
    Bytef *out = xmalloc(size);
    if (uncompress(out, &size, sqlite3_value_blob(values[0]), (uLong)length) == Z_OK)
        sqlite3_result_blob(c, out, (int)size, free);
    else
        free(out);
}

void samples_add_function(struct db *db)
{
    if (sqlite3_create_function_v2(db->handle, "sqlar_uncompress", 2,
                                   SQLITE_UTF8 | SQLITE_DETERMINISTIC | SQLITE_INNOCUOUS, NULL, uncompress_value, NULL,
                                   NULL, NULL) != SQLITE_OK)
        out_of_memory();
}

/* --- reading --- */

struct archived_row {
    int64_t sequence, step;
    double value;
    bool has_step, is_finite;
    bool stays; /* in `metric` */
};

struct archived_rows {
    struct archived_row *items;
    size_t count;
};

static int read_rows(struct db *db, const char *sql, struct sql_values of, struct archived_rows *out, struct error *e)
{
    struct stmt *s = NULL;
    int rc;
    while ((rc = db_next(db, sql, of, &s, e)) > 0) {
        const enum column_type step = stmt_type(s, 1), value = stmt_type(s, 2);
        const bool is_step = step == COLUMN_INT && stmt_int(s, 1) > -NUMBER_MOST && stmt_int(s, 1) < NUMBER_MOST;
        *array_add(out->items, out->count) = (struct archived_row){
            .sequence = stmt_int(s, 0),
            .step = is_step ? stmt_int(s, 1) : 0,
            .value = value == COLUMN_FLOAT ? stmt_double(s, 2) : 0,
            .has_step = step != COLUMN_NULL,
            .is_finite = value != COLUMN_NULL,
            /* What somebody else wrote, or a step that is too large to reckon with. */
            .stays = (step != COLUMN_NULL && !is_step) || (value != COLUMN_NULL && value != COLUMN_FLOAT),
        };
    }
    return rc;
}

/* To the last bit: -0 is not 0. */
static bool is_same_bits(double a, double b)
{
    uint64_t x, y;
    memcpy(&x, &a, sizeof x);
    memcpy(&y, &b, sizeof y);
    return x == y;
}

static bool are_same(const struct archived_rows *a, const struct archived_rows *b)
{
    bool same = a->count == b->count;
    for (size_t i = 0; same && i < a->count; i++) {
        const struct archived_row *x = &a->items[i], *y = &b->items[i];
        same = x->sequence == y->sequence && x->step == y->step && x->has_step == y->has_step &&
               x->is_finite == y->is_finite && is_same_bits(x->value, y->value);
    }
    return same;
}

/* --- numbers as integers --- */

/* The division is the one that the view makes; of two doubles it has the same result everywhere. */
static bool as_integer(double value, double scale, int64_t *out)
{
    const double scaled = nearbyint(value * scale);
    if (!(fabs(scaled) < 0x1p62))
        return false;
    *out = (int64_t)scaled;
    const double back = (double)*out / scale;
    return is_same_bits(back, value);
}

/* The least power of two by which all are integers, or the largest with which the largest of them still is one. */
static double power_of_two(const struct archived_row *rows, size_t count)
{
    int power = 0, most = INT32_MAX;
    for (size_t i = 0; i < count; i++) {
        int exponent, needed = 53;
        const int64_t fraction = (int64_t)ldexp(frexp(rows[i].value, &exponent), needed);
        if (!rows[i].is_finite || fraction == 0)
            continue;
        needed -= __builtin_ctzll((uint64_t)fraction) + exponent;
        power = needed > power ? needed : power;
        most = 62 - exponent < most ? 62 - exponent : most;
    }
    power = power < most ? power : most;
    return ldexp(1, power < 1000 ? power : 1000);
}

static size_t count_lost(const struct archived_row *rows, size_t count, double scale)
{
    size_t lost = 0;
    int64_t ignored;
    for (size_t i = 0; i < count; i++)
        lost += rows[i].is_finite && !as_integer(rows[i].value, scale, &ignored);
    return lost;
}

/* That of ten, where decimals were reported, by which no more are lost than by that of two. */
static double choose_scale(const struct archived_row *rows, size_t count)
{
    const double of_two = power_of_two(rows, count);
    const size_t most_lost = count_lost(rows, count, of_two);
    double power = 1;
    for (int i = 0; i <= DECIMALS_MOST; i++, power *= 10)
        if (count_lost(rows, count, power) <= most_lost)
            return power;
    return of_two;
}

/* --- a piece --- */

struct archived_piece {
    struct archived_row *rows;
    size_t count, kept;
    int64_t sequence_by, step_by;
    double scale;
    struct buffer json;
};

static void add_element(struct archived_piece *p, size_t at)
{
    struct archived_row *r = &p->rows[at];
    const struct archived_row *first = p->rows;
    int64_t integer = 0, rank = (int64_t)at;
    r->stays |= r->has_step != first->has_step || (r->is_finite && !as_integer(r->value, p->scale, &integer));
    buffer_add_char(&p->json, at ? ',' : '[');
    if (r->stays) {
        buffer_add_text(&p->json, "false");
        return;
    }
    const int64_t further = r->sequence - first->sequence - rank * p->sequence_by;
    const int64_t steps = r->has_step ? r->step - first->step - rank * p->step_by : 0;
    const bool is_regular = further == 0 && steps == 0;
    p->kept++;
    buffer_add_text(&p->json, is_regular ? "" : "[");
    if (r->is_finite)
        buffer_add_int(&p->json, integer);
    else
        buffer_add_text(&p->json, "null");
    if (!is_regular)
        buffer_printf(&p->json, ",%lld,%lld]", (long long)further, (long long)steps);
}

/* The pattern is the one in the middle: the beginning may be another one. */
static void encode(struct archived_piece *p)
{
    const struct archived_row *middle = &p->rows[p->count / 2];
    p->sequence_by = p->count > 1 ? middle->sequence - middle[-1].sequence : 0;
    p->step_by = p->count > 1 && p->rows->has_step ? middle->step - middle[-1].step : 0;
    p->scale = choose_scale(p->rows, p->count);
    for (size_t i = 0; i < p->count; i++)
        add_element(p, i);
    buffer_add_char(&p->json, ']');
}

static int store_piece(struct db *db, int64_t attempt_id, const char *name, struct archived_piece *p, struct error *e)
{
    encode(p);
    uLongf length = compressBound(p->json.length);
    OWNED Bytef *packed = xmalloc(length);
    /* Each that stays takes as much as before, and its place here. */
    if (p->kept < p->count / 2 || p->json.length > TEXT_MOST ||
        compress2(packed, &length, (const Bytef *)p->json.data, p->json.length, Z_BEST_COMPRESSION) != Z_OK ||
        length >= p->json.length) {
        for (size_t i = 0; i < p->count; i++)
            p->rows[i].stays = true;
        return 0;
    }
    const struct archived_row *first = p->rows;
    return db_run(db, "INSERT INTO archived_metric VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                  VALUES(sql_int(attempt_id), sql_text(name), sql_int(first->sequence), sql_int(p->sequence_by),
                         first->has_step ? sql_int(first->step) : sql_null(), sql_int(p->step_by), sql_real(p->scale),
                         sql_int((int64_t)p->count), sql_int((int64_t)p->json.length), sql_blob(packed, length)),
                  e);
}

/* --- a series --- */

static int remove_rows(struct db *db, int64_t attempt_id, const char *name, const struct archived_rows *rows,
                       int64_t *count, struct error *e)
{
    static const char sql[] = "DELETE FROM metric WHERE attempt_id = ? AND name = ? AND sequence = ?";
    OWNED_STMT *s = NULL;
    int rc = db_prepare(db, sql, &s, e);
    for (size_t i = 0; rc == 0 && i < rows->count; i++)
        if (!rows->items[i].stays) {
            rc = stmt_run_with(s, VALUES(sql_int(attempt_id), sql_text(name), sql_int(rows->items[i].sequence)), e);
            ++*count;
        }
    return rc;
}

#define ROWS_OF(table) "SELECT sequence, step, value FROM " table " WHERE attempt_id = ? AND name = ? ORDER BY sequence"

static int archive_series(struct db *db, int64_t attempt_id, const char *name, int64_t *count, struct error *e)
{
    const struct sql_values of = VALUES(sql_int(attempt_id), sql_text(name));
    struct archived_rows rows = {0}, back = {0};
    int rc = read_rows(db, ROWS_OF("metric"), of, &rows, e);
    for (size_t at = 0; rc == 0 && at < rows.count; at += ROWS_MOST) {
        struct archived_piece p = {.rows = rows.items + at, .json = BUFFER_INIT};
        p.count = rows.count - at < ROWS_MOST ? rows.count - at : ROWS_MOST;
        rc = store_piece(db, attempt_id, name, &p, e);
        buffer_free(&p.json);
    }
    if (rc == 0)
        rc = remove_rows(db, attempt_id, name, &rows, count, e);
    if (rc == 0)
        rc = read_rows(db, ROWS_OF("sample"), of, &back, e);
    if (rc == 0 && !are_same(&rows, &back))
        rc = error_set(e, ERROR_FAILED, "samples of `%s` would not read back as they were", name);
    free_all(rows.items, back.items);
    return rc;
}

/* --- an attempt --- */

int samples_archive(struct db *db, int64_t attempt_id, bool dry, int64_t *count, struct error *e)
{
    static const char worth[] =
        "SELECT name FROM metric WHERE attempt_id = ?1"
        " AND name NOT IN (SELECT s.name FROM summary AS s LEFT JOIN definition AS d ON d.id = s.definition_id"
        "  WHERE s.attempt_id = ?1 AND (s.point IS NOT NULL OR d.reading ->> '$.per' IS NOT NULL))"
        " AND name NOT IN (SELECT name FROM archived_metric WHERE attempt_id = ?1) GROUP BY name HAVING count(*) >= ?2"
        " AND min(sequence) >= 0 AND max(sequence) < ?3";
    OWNED_LIST names = STRING_LIST_INIT;
    int64_t of_name = 0;
    int rc =
        db_query_texts(db, worth, VALUES(sql_int(attempt_id), sql_int(SERIES_LEAST), sql_int(NUMBER_MOST)), &names, e);
    for (size_t i = 0; rc == 0 && i < names.count; i++) {
        const char *name = names.items[i];
        if (!dry)
            rc = archive_series(db, attempt_id, name, count, e);
        else
            rc = db_query_int(db, "SELECT count(*) FROM metric WHERE attempt_id = ? AND name = ?",
                              VALUES(sql_int(attempt_id), sql_text(name)), 0, &of_name, e);
        *count += of_name;
    }
    return rc;
}

int samples_bring_back(struct db *db, int64_t attempt_id, bool dry, int64_t *count, struct error *e)
{
    static const char archived[] = "SELECT (SELECT count(*) FROM sample WHERE attempt_id = ?1)"
                                   " - (SELECT count(*) FROM metric WHERE attempt_id = ?1)";
    static const char *const sql[] =
        {"INSERT INTO metric SELECT * FROM sample AS s WHERE attempt_id = ?1 AND NOT EXISTS"
         " (SELECT 1 FROM metric WHERE attempt_id = ?1 AND name = s.name AND sequence = s.sequence)",
         "DELETE FROM archived_metric WHERE attempt_id = ?1"};
    const struct sql_values of = VALUES(sql_int(attempt_id));
    int64_t of_attempt = 0;
    int rc = db_query_int(db, archived, of, 0, &of_attempt, e);
    for (size_t i = 0; rc == 0 && !dry && i < LENGTH(sql); i++)
        rc = db_run(db, sql[i], of, e);
    *count += of_attempt;
    return rc;
}

int samples_forget(struct db *db, int64_t attempt_id, const char *name, struct error *e)
{
    static const char *const sql[] = {"DELETE FROM metric WHERE attempt_id = ? AND name = ?",
                                      "DELETE FROM archived_metric WHERE attempt_id = ? AND name = ?"};
    int rc = 0;
    for (size_t i = 0; rc == 0 && i < LENGTH(sql); i++)
        rc = db_run(db, sql[i], VALUES(sql_int(attempt_id), sql_text(name)), e);
    return rc;
}
