#include "space/launch.h"

#include <stdlib.h>
#include <string.h>

#include "metrics/json_value.h"
#include "space/build.h"
#include "space/job_texts.h"
#include "space/match.h"
#include "store/jobs.h"
#include "util/memory.h"
#include "util/string_list.h"

#define FIXED_COLUMNS (5 + LIMIT_COUNT)

struct job_loader {
    const struct space *space;
    struct stmt *select;
};

static const char *const limit_columns[LIMIT_COUNT] = {
    [LIMIT_TOTAL] = "timeout_ms",
    [LIMIT_IDLE] = "idle_timeout_ms",
    [LIMIT_STARTUP] = "startup_timeout_ms",
};

/* A limit is a column of the job, or worked out where it depends on the attempt. */
static void add_limits(const struct space *space, struct buffer *sql)
{
    OWNED_BUFFER given = BUFFER_INIT, from = BUFFER_INIT;
    expression_add_row(&space->names, NULL, space->names.key_count, job_spec_columns, &from);
    for (int i = 0; i <= LIMIT_COUNT; i++) {
        const char *name = i < LIMIT_COUNT ? limit_columns[i] : "memory_mib";
        const char *later = i < LIMIT_COUNT ? space->limits[i].later : space->memory;
        OWNED char *own = later ? xasprintf("max(0, CAST((SELECT %s%s) AS INTEGER))", later, buffer_text(&from))
                          : i < LIMIT_COUNT ? xasprintf("j.%s", name)
                                            : xstrdup("0");
        buffer_printf(sql, ", %s", own);
        if (later)
            buffer_printf(&given, "%s'%s', nullif(%s, 0)", given.length ? ", " : "", name, own);
    }
    buffer_printf(sql, ", %s%s%s", given.length ? "json_object(" : "NULL", buffer_text(&given),
                  given.length ? ")" : "");
}

static void add_select(const struct space *space, struct buffer *sql)
{
    buffer_add_text(sql, "SELECT j.key, j.devices, " JOB_SPEC_SQL);
    add_limits(space, sql);
    for (size_t i = 0; i < space->placeholder_count; i++) {
        buffer_add_text(sql, ", ");
        placeholder_add_column(space, &space->placeholders[i], sql);
    }
    buffer_add_text(sql, JOB_SPECS_FROM_SQL " WHERE j.id = ?");
}

int job_loader_create(const struct space *space, struct db *db, struct job_loader **out, struct error *e)
{
    struct buffer sql = BUFFER_INIT;
    struct job_loader *l = xcalloc(1, sizeof *l);
    l->space = space;
    add_select(space, &sql);
    int rc = limits_add_function(db, e);
    if (rc == 0 && db_prepare(db, buffer_text(&sql), &l->select, e) < 0)
        rc = error_context(e, "limits that depend on the attempt");
    buffer_free(&sql);
    if (rc < 0)
        free(l);
    else
        *out = l;
    return rc;
}

void job_loader_free(struct job_loader *l)
{
    if (!l)
        return;
    stmt_free(l->select);
    free(l);
}

void job_details_free(struct job_details *d)
{
    for (size_t i = 0; i < d->value_count; i++)
        value_free(&d->values[i]);
    free_all(d->values, d->spec_json, d->given);
}

static struct job_details read_details(const struct job_loader *l)
{
    const struct stmt *s = l->select;
    struct job_details d = {.devices = stmt_int(s, 1), .spec_json = xstrdup(stmt_text(s, 2))};
    memcpy(d.key.bytes, stmt_hash(s, 0), sizeof d.key.bytes);
    for (int i = 0; i < LIMIT_COUNT; i++)
        d.limit_ms[i] = stmt_int(s, 3 + i);
    d.memory_mib = stmt_int(s, 3 + LIMIT_COUNT);
    d.given = stmt_copy_text(s, 4 + LIMIT_COUNT);
    d.value_count = l->space->placeholder_count;
    d.values = xcalloc(d.value_count, sizeof *d.values);
    for (size_t i = 0; i < d.value_count; i++)
        d.values[i] = match_typed(match_column_value(s, FIXED_COLUMNS + (int)i), &l->space->placeholders[i]);
    return d;
}

int job_loader_read(struct job_loader *l, int64_t job_id, struct job_details *out, struct error *e)
{
    stmt_bind_at(l->select, 1, sql_int(job_id));
    int rc = stmt_next(l->select, e);
    if (rc > 0)
        *out = read_details(l);
    stmt_reset(l->select);
    return rc;
}

void launch_texts_render(const struct space *space, const struct job_details *job, const char *const *runtime,
                         struct launch_texts *out)
{
    struct string_list unset = STRING_LIST_INIT;
    const struct template *directory = &space->directory;
    const bool is_there = !job_text_is_left_out(directory, job->values, runtime);
    *out = (struct launch_texts){
        .command = job_texts_list(&space->command, job->values, runtime, NULL),
        .environment = job_texts_list(&space->environment, job->values, runtime, &unset),
        .unset = string_list_take(&unset),
        .directory = is_there ? job_text_text(directory, job->values, runtime) : NULL,
    };
}

void launch_texts_profile(const struct space *space, const struct job_details *job, const char *const *runtime,
                          struct launch_texts *texts)
{
    struct string_list words = STRING_LIST_INIT;
    OWNED char **prefix = job_texts_list(&space->profile, job->values, runtime, NULL), **command = texts->command;
    for (char **word = prefix; *word; word++)
        string_list_add(&words, *word);
    for (char **word = command; *word; word++)
        string_list_add(&words, *word);
    texts->command = string_list_take(&words);
}

void launch_texts_free(struct launch_texts *t)
{
    char **const lists[] = {t->command, t->environment, t->unset};
    for (size_t i = 0; i < LENGTH(lists); i++)
        if (lists[i])
            strings_free(lists[i]);
    free(t->directory);
    *t = (struct launch_texts){NULL, NULL, NULL, NULL};
}

/* --- how large a job is --- */

static int64_t count_of(const cJSON *cluster, const char *key, int64_t otherwise)
{
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(cluster, key);
    return cJSON_IsNumber(item) && item->valuedouble >= 1 && item->valuedouble < 1e9 ? (int64_t)item->valuedouble
                                                                                     : otherwise;
}

/* Of the first key that has one. */
static int64_t first_count(const cJSON *cluster, const char *const *keys, int64_t otherwise)
{
    int64_t count = 0;
    for (; *keys && count == 0; keys++)
        count = count_of(cluster, *keys, 0);
    return count ? count : otherwise;
}

struct job_shape job_shape_of(const struct batch_config *config, const char *spec_json, int64_t devices)
{
    OWNED_JSON *spec = json_parse(spec_json);
    const cJSON *cluster = cJSON_GetObjectItemCaseSensitive(spec, "cluster_spec");
    int64_t nodes = first_count(cluster, (const char *[]){"num_hosts", "num_nodes", "nodes", NULL}, 1);
    const cJSON *gpus = cJSON_GetObjectItemCaseSensitive(cluster, "gpus");
    int64_t each = devices > 0 ? (devices + nodes - 1) / nodes : 1;
    return (struct job_shape){
        .nodes = nodes,
        .devices_per_node =
            first_count(cluster, (const char *[]){"num_devices_per_host", "gpus_per_node", "devices_per_node", NULL},
                        each),
        .tasks_per_node = count_of(cluster, "tasks_per_node", config->tasks_per_node),
        .cpus_per_task = count_of(cluster, "cpus_per_task", config->cpus_per_task),
        .share = cJSON_IsNumber(gpus) && gpus->valuedouble > 0 && gpus->valuedouble < 1 ? gpus->valuedouble : 0,
    };
}
