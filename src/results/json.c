#include "results/json.h"

#include <math.h>
#include <string.h>

cJSON *json_document(void)
{
    cJSON *root = cJSON_CreateObject();
    cJSON_AddNumberToObject(root, "schema_version", JSON_SCHEMA_VERSION);
    return root;
}

void json_add_count(cJSON *object, const char *name, int64_t value)
{
    cJSON_AddItemToObject(object, name, value < 0 ? cJSON_CreateNull() : cJSON_CreateNumber((double)value));
}

void json_add_real(cJSON *object, const char *name, double value)
{
    cJSON_AddItemToObject(object, name, isfinite(value) ? cJSON_CreateNumber(value) : cJSON_CreateNull());
}

void json_add_text(cJSON *object, const char *name, const char *text)
{
    cJSON_AddItemToObject(object, name, text && *text ? cJSON_CreateString(text) : cJSON_CreateNull());
}

void json_add_raw(cJSON *object, const char *name, const char *json)
{
    cJSON_AddItemToObject(object, name, json ? cJSON_CreateRaw(json) : cJSON_CreateNull());
}

/* What SQLite has no type for. */
static const char *const columns_of_json[] = {"keys", "command", "environment", "scripts", "versions", "gpus", NULL};
static const char *const columns_of_truth[] = {"in_current_sweep", NULL};

static bool is_listed(const char *const *names, const char *name)
{
    for (; *names; names++)
        if (strcmp(*names, name) == 0)
            return true;
    return false;
}

static void json_add_column(cJSON *object, const struct stmt *s, int column)
{
    const char *name = stmt_column_name(s, column);
    const enum column_type type = stmt_type(s, column);
    if (type == COLUMN_NULL)
        cJSON_AddNullToObject(object, name);
    else if (is_listed(columns_of_json, name))
        json_add_raw(object, name, stmt_text(s, column));
    else if (is_listed(columns_of_truth, name))
        cJSON_AddBoolToObject(object, name, stmt_int(s, column) != 0);
    else if (type == COLUMN_INT || type == COLUMN_FLOAT)
        json_add_real(object, name, stmt_double(s, column));
    else
        json_add_text(object, name, stmt_text(s, column));
}

void json_add_columns(cJSON *object, const struct stmt *s, int first)
{
    for (int i = first; i < stmt_column_count(s); i++)
        json_add_column(object, s, i);
}

int json_add_keys(cJSON *object, struct db *db, int64_t job_id, struct error *e)
{
    struct stmt *s = NULL;
    if (db_prepare(db, "SELECT " JSON_KEYS_SQL " AS keys FROM job AS j WHERE j.id = ?1", &s, e) < 0)
        return -1;
    stmt_bind_int(s, 1, job_id);
    int rc = stmt_next(s, e);
    if (rc > 0)
        json_add_column(object, s, 0);
    stmt_free(s);
    return rc < 0 ? -1 : 0;
}
