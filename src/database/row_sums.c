#include "database/row_sums.h"

#include <endian.h>
#include <math.h>
#include <string.h>

#include "database/sqlite.h"
#include "util/buffer.h"
#include "util/embedded.h"
#include "util/hash.h"
#include "util/memory.h"

#define EXACT 0x1p53 /* below it each integer has a real of its own */

enum rows_summed { ALL_ROWS, SORTED_ROWS, SINGLE_ROWS };

/* The rows of a sum. Each is put in bytes that compare as the rows do. */
struct sum_of_rows {
    uint64_t all, last;
    struct buffer row, before; /* the latter only where the order counts */
    size_t key_length;         /* of the row's first values, by which rows are told apart */
    bool is_same, was_same;    /* they are those of the row before; they were, of that */
    bool is_unsorted;
};

enum { NUMBER_MOST = 17 }; /* bytes that a number takes; one more than those of a text are fewer */

static char *put_sortable(char *at, uint64_t bits)
{
    bits = htobe64(bits);
    memcpy(at, &bits, sizeof bits);
    return at + sizeof bits;
}

/* A column of reals has whole ones as integers in one place and as reals in another. `rest` is what the real lacks of
 * an integer so large that others have the same one. */
static char *put_number(char *at, double number, int64_t rest)
{
    const double same = number == 0 ? 0 : number; /* -0.0 is 0 */
    uint64_t bits;
    memcpy(&bits, &same, sizeof bits);
    *at++ = '1';
    at = put_sortable(at, bits >> 63 ? ~bits : bits | UINT64_C(1) << 63);
    return fabs(number) >= EXACT ? put_sortable(at, (uint64_t)rest ^ UINT64_C(1) << 63) : at;
}

/* Integers within 512 of 2^63 have it as their real, which is none of them. */
static int64_t rest_of(int64_t integer)
{
    const double number = (double)integer;
    return number < 0x1p63 ? integer - (int64_t)number : integer - INT64_MAX - 1;
}

static void add_value(struct buffer *b, sqlite3_value *v)
{
    const int type = sqlite3_value_type(v);
    const void *bytes = type == SQLITE_TEXT   ? sqlite3_value_text(v)
                        : type == SQLITE_BLOB ? sqlite3_value_blob(v)
                                              : NULL;
    const size_t length = bytes ? (size_t)sqlite3_value_bytes(v) : 0;
    buffer_reserve(b, length + NUMBER_MOST);
    char *at = b->data + b->length;
    if (type == SQLITE_INTEGER) {
        at = put_number(at, (double)sqlite3_value_int64(v), rest_of(sqlite3_value_int64(v)));
    } else if (type == SQLITE_FLOAT) {
        at = put_number(at, sqlite3_value_double(v), 0);
    } else if (type == SQLITE_NULL) {
        *at++ = '0';
    } else {
        *at++ = type == SQLITE_TEXT ? '2' : '3';
        at = mempcpy(at, length ? bytes : "", length);
        *at++ = '\0';
    }
    b->length = (size_t)(at - b->data);
}

/* The row in `row` comes after the one in `before`; `is_key` says whether no other may have its first values. */
static void note_order(struct sum_of_rows *sum, bool is_key)
{
    const struct buffer *row = &sum->row, *before = &sum->before;
    const size_t least = row->length < before->length ? row->length : before->length;
    sum->is_unsorted |= least && memcmp(before->data, row->data, least) > 0;
    sum->is_unsorted |= is_key && sum->is_same;
}

static void add_sum(struct sum_of_rows *sum, enum rows_summed which)
{
    const struct hash128 hash = hash_bytes(sum->row.data, sum->row.length);
    const uint64_t last = sum->last;
    memcpy(&sum->last, hash.bytes, sizeof sum->last);
    if (which != SINGLE_ROWS || !sum->is_same)
        sum->all += sum->last;
    else if (!sum->was_same)
        sum->all -= last;
}

static void add_row(sqlite3_context *c, int count, sqlite3_value **values)
{
    const enum rows_summed which = *(const enum rows_summed *)sqlite3_user_data(c);
    struct sum_of_rows *sum = sqlite3_aggregate_context(c, sizeof *sum);
    if (!sum)
        out_of_memory();
    const int unique = which == ALL_ROWS ? 0 : sqlite3_value_int(*values++);
    bool has_null = unique == 0;
    count -= which != ALL_ROWS;
    if (which != ALL_ROWS) {
        const struct buffer before = sum->row;
        sum->row = sum->before;
        sum->before = before;
    }
    sum->row.length = 0;
    for (int i = 0; i < count; i++) {
        add_value(&sum->row, values[i]);
        has_null |= i < unique && sqlite3_value_type(values[i]) == SQLITE_NULL;
        if (i + 1 == unique)
            sum->key_length = sum->row.length;
    }
    sum->was_same = sum->is_same;
    sum->is_same = sum->before.length && sum->before.length >= sum->key_length &&
                   memcmp(sum->before.data, sum->row.data, sum->key_length) == 0;
    if (which == SORTED_ROWS)
        note_order(sum, !has_null);
    add_sum(sum, which);
}

static void give_sum(sqlite3_context *c)
{
    struct sum_of_rows *sum = sqlite3_aggregate_context(c, 0);
    if (sum && sum->is_unsorted)
        sqlite3_result_null(c);
    else
        sqlite3_result_int64(c, sum ? (int64_t)sum->all : 0);
    if (sum) {
        buffer_free(&sum->row);
        buffer_free(&sum->before);
    }
}

int row_sums_add(struct db *db, struct error *e)
{
    static const enum rows_summed kinds[] = {ALL_ROWS, SORTED_ROWS, SINGLE_ROWS};
    static const char *const names[] = {"row_sum", "sorted_row_sum", "single_row_sum"};
    for (size_t i = 0; i < LENGTH(names); i++)
        if (sqlite3_create_function_v2(db->handle, names[i], -1, SQLITE_UTF8, (void *)&kinds[i], NULL, add_row,
                                       give_sum, NULL) != SQLITE_OK)
            return db_error(db, e);
    return 0;
}

/* --- indexes --- */

int row_sums_indexes_agree(struct db *db, bool *yes, struct error *e)
{
    OWNED_LIST tables = STRING_LIST_INIT;
    bool agree = true;
    int rc = db_query_texts(db, embedded_text("src/database/indexes.sql"), NO_VALUES, &tables, e);
    for (size_t i = 0; rc == 0 && agree && i < tables.count; i++)
        rc = db_query_bool(db, tables.items[i], NO_VALUES, &agree, e);
    if (rc == 0)
        *yes = agree;
    return rc;
}
