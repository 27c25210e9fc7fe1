/* The JSON that commands print: one contract (docs/json.md, schemas/). In all documents a name has one type and
 * one meaning; what is unknown, does not apply or is not a finite number is null, never "" or -1. */
#pragma once

#include <stdint.h>

#include <cjson/cJSON.h>

#include "database/db.h"
#include "util/buffer.h"

/* The version of the contract as a whole. It rises when a name goes, or changes its type or meaning; not when one is
 * added. */
#define JSON_SCHEMA_VERSION 1

/* {"schema_version": …}: how every document begins. The caller's. */
cJSON *json_document(void);

/* A whole number that is never negative: below 0 it is unknown. */
#define json_add_count(object, name, value) JSON_ADD(object, JSON_COUNT(name, value))

/* NAN and infinities become null. */
#define json_add_real(object, name, value) JSON_ADD(object, JSON_REAL(name, value))

/* NULL and "" become null. */
#define json_add_text(object, name, value) JSON_ADD(object, JSON_TEXT(name, value))

/* Several members at once: JSON_ADD(object, JSON_INT("jobs", 4), JSON_TEXT("why", NULL)). JSON_COUNT, JSON_REAL and
 * JSON_TEXT are as above; a JSON_STRING is text, "" too. */
struct json_member {
    const char *name;
    enum { JSON_OF_INT = 1, JSON_OF_COUNT, JSON_OF_REAL, JSON_OF_TEXT, JSON_OF_STRING, JSON_OF_TRUTH } kind;
    double number;
    const char *text;
};
#define JSON_INT(name, value) ((struct json_member){(name), JSON_OF_INT, (double)(value), NULL})
#define JSON_COUNT(name, value) ((struct json_member){(name), JSON_OF_COUNT, (double)(value), NULL})
#define JSON_REAL(name, value) ((struct json_member){(name), JSON_OF_REAL, (value), NULL})
#define JSON_TEXT(name, value) ((struct json_member){(name), JSON_OF_TEXT, 0, (value)})
#define JSON_STRING(name, value) ((struct json_member){(name), JSON_OF_STRING, 0, (value)})
#define JSON_TRUTH(name, value) ((struct json_member){(name), JSON_OF_TRUTH, (value), NULL})
#define JSON_MEMBERS(...)                                                                                              \
    (const struct json_member[]){__VA_ARGS__},                                                                         \
        sizeof((const struct json_member[]){__VA_ARGS__}) / sizeof(struct json_member)
#define JSON_ADD(object, ...) json_add_members(object, JSON_MEMBERS(__VA_ARGS__))
void json_add_members(cJSON *object, const struct json_member *members, size_t count);

/* The same as text, a comma before each: on a line of events, whose reals have a point or an exponent. */
#define JSON_WRITE(out, ...) json_write_members(out, JSON_MEMBERS(__VA_ARGS__))
void json_write_members(struct buffer *out, const struct json_member *members, size_t count);

/* The same of a new object at the end of a list, which is returned. */
#define JSON_ITEM(list, ...) json_add_item(list, JSON_MEMBERS(__VA_ARGS__))
cJSON *json_add_item(cJSON *list, const struct json_member *members, size_t count);

/* The text of a document, whose numbers read back equal: one of which 15 digits do not say all becomes raw JSON in it,
 * as in CSV. The caller's, cJSON_free. */
char *json_print(cJSON *document, bool indented);

/* JSON as it stands, so that numbers keep their digits; NULL becomes null. */
void json_add_raw(cJSON *object, const char *name, const char *json);

/* Moves all members of `from` to the end of `object`. NULL has none. */
void json_take_members(cJSON *object, cJSON *from);

/* Asks the statement "sql/answers/NAME.sql", which makes a document, or with `select` some of its tables: what stands
 * before its last SELECT. */
int answer_open(struct db *db, const char *name, const char *select, struct sql_values values, struct stmt **out,
                struct error *e);

/* The same for its first or next row, as db_next has it. */
int answer_next(struct db *db, const char *name, const char *select, struct sql_values values, struct stmt **s,
                struct error *e);

/* The document in a column. Numbers become doubles, but stand as written below the names that hold others' JSON
 * ("keys", "values", …). `*out` is the caller's. */
int answer_take(const struct stmt *s, int column, cJSON **out, struct error *e);

/* Takes the documents of the next row from the column `first` on, one or, unless `beside` is NULL, two; NULL without a
 * row. */
int answer_documents(struct stmt *s, int first, cJSON **out, cJSON **beside, struct error *e);

/* Return a member of an answer; NULL, NAN and -1 for null and what is not there. */
const char *json_text_of(const cJSON *object, const char *name);
const char *json_text_or(const cJSON *object, const char *name, const char *absent);
double json_real_of(const cJSON *object, const char *name);
int64_t json_count_of(const cJSON *object, const char *name);

/* The values of all columns from `first` on under their columns' names, which also say what is JSON ("keys", "scripts",
 * …) or a truth value ("in_current_sweep") although SQLite has no type for it. */
void json_add_columns(cJSON *object, const struct stmt *s, int first);

/* Adds "keys" of the job: {"model": {…}} by section (null: it has none of that section), each value as in the sweep
 * file. */
int json_add_keys(cJSON *object, struct db *db, int64_t job_id, struct error *e);

/* The same as SQL: the keys of the job `j` as JSON. */
#define JSON_KEYS_SQL                                                                                                  \
    "json_object('cluster_spec', json((SELECT json FROM spec WHERE id = j.cluster_id)),"                               \
    " 'model', json((SELECT json FROM spec WHERE id = j.model_id)),"                                                   \
    " 'training_spec', json((SELECT json FROM spec WHERE id = j.training_id)),"                                        \
    " 'parallel_spec', json((SELECT json FROM spec WHERE id = j.parallel_id)), 'derived', json(j.derived))"
