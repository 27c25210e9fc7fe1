#include "deepspeed/ds_preparation.h"

#include <math.h>
#include <stddef.h>
#include <string.h>

#include "config/search_options.h"
#include "database/open.h"
#include "deepspeed/ds_config.h"
#include "process/job_file.h"
#include "util/buffer.h"
#include "util/error.h"
#include "util/file.h"
#include "util/memory.h"
#include "util/string_list.h"

int64_t profile_steps_last(const int64_t steps[PROFILE_STEP_COUNT], double step_seconds)
{
    const int64_t least = steps[PROFILE_LEAST], most = steps[PROFILE_MOST], first = steps[PROFILE_FIRST];
    if (!most || !(step_seconds > 0))
        return least;
    const double last = (double)first + floor(PROFILE_SECONDS / step_seconds);
    return last < (double)least ? least : last > (double)most ? most : (int64_t)last;
}

/* Samples per step are throughput x latency. ?1: those of this job, NULL: not known; ?2: the objective. Selects the
 * jobs within a tenth of the nearest number of samples. */
static const char seconds_sql[] =
    "WITH measured AS (SELECT l.value AS latency, t.value AS throughput,"
    "   max(?1 / (l.value * t.value), l.value * t.value / ?1) AS ratio"
    "  FROM job AS j JOIN job_metric AS l ON l.job_id = j.id AND l.name = 'latency' AND l.value > 0"
    "  LEFT JOIN job_metric AS t ON t.job_id = j.id AND t.name = 'throughput' AND t.value > 0"
    "  JOIN summary AS o ON o.attempt_id = j.attempt_id AND o.name = ?2 AND o.count > 1"
    "  WHERE j.state = 'ok' AND j.sweep_id = (SELECT id FROM current_sweep))"
    " SELECT max(max(latency, coalesce(?1 / throughput, latency))) FROM measured"
    " WHERE ratio IS NULL OR ratio <= (SELECT min(ratio) FROM measured) * 1.1";

static double seconds_of_batch(struct db *db, const char *objective, int64_t batch)
{
    struct error ignored = ERROR_INIT;
    OWNED_STMT *s = NULL;
    double seconds = NAN;
    if (db_prepare(db, seconds_sql, &s, &ignored) < 0)
        return NAN;
    stmt_bind(s, VALUES(sql_real(batch > 0 ? (double)batch : NAN), sql_text(objective)));
    if (stmt_next(s, &ignored) > 0)
        seconds = stmt_double_or_nan(s, 0);
    return seconds;
}

double profile_step_seconds(const char *db_path, const char *objective, int64_t batch)
{
    struct error ignored = ERROR_INIT;
    OWNED_DB *db = NULL;
    return store_open_read_only(db_path, &db, &ignored) < 0 ? NAN : seconds_of_batch(db, objective, batch);
}

static int64_t last_step(const struct ds_preparation *p, const char *text)
{
    const int64_t *steps = p->sweep->deepspeed.profile_steps;
    double seconds = NAN;
    if (steps[PROFILE_MOST] && p->sweep->objective_count > 0)
        seconds = profile_step_seconds(p->db_path, p->sweep->objectives[0].metric, ds_config_batch(text));
    return profile_steps_last(steps, seconds);
}

static int make(void *context, const char *spec_json, const char *job_dir, struct given_files *files, char **runtime,
                struct error *e)
{
    const struct ds_preparation *p = context;
    struct buffer text = BUFFER_INIT, base64 = BUFFER_INIT;
    OWNED char *directory = path_absolute(job_dir);
    int rc = ds_config_render(p->config, spec_json, &text, e);
    if (rc == 0 && ds_config_is_profiled(p->config))
        given_files_add(files, DS_TRAINING_FILE, xstrdup(buffer_text(&text)));
    if (rc == 0)
        rc = ds_config_add_profiling(p->config, directory, last_step(p, buffer_text(&text)), &text, e);
    if (rc == 0) {
        ds_config_add_base64(text.data, &base64);
        runtime[RUNTIME_DS_CONFIG] = xasprintf("%s/" DS_CONFIG_FILE, directory);
        runtime[RUNTIME_DS_CONFIG_BASE64] = buffer_take(&base64);
        given_files_add(files, DS_CONFIG_FILE, buffer_take(&text));
    }
    buffer_free(&text);
    return rc;
}

static char **command(void *context, const char *spec_json, char *const *words)
{
    const struct ds_preparation *p = context;
    OWNED_BUFFER text = BUFFER_INIT;
    struct error ignored = ERROR_INIT;
    return ds_config_render(p->config, spec_json, &text, &ignored) < 0
               ? strings_copy(words)
               : ds_arguments_map(&p->sweep->deepspeed, text.data, words);
}

struct preparation ds_preparation_of(struct ds_preparation *p)
{
    return (struct preparation){make, command, p};
}

#define LARGEST_CONFIG (16u << 20)

static char *read_text(const char *job_dir, const char *name)
{
    OWNED char *path = xasprintf("%s/%s", job_dir, name);
    return job_file_text(path, LARGEST_CONFIG);
}

static char *base64_of(const char *text)
{
    struct buffer b = BUFFER_INIT;
    ds_config_add_base64(text, &b);
    return buffer_take(&b);
}

char *training_config(const char *job_dir)
{
    return read_text(job_dir, DS_TRAINING_FILE);
}

void training_command(char **words, const char *job_dir, const char *file)
{
    OWNED char *config = training_config(job_dir), *profiled = read_text(job_dir, DS_CONFIG_FILE);
    if (config && profiled) {
        OWNED char *directory = path_absolute(job_dir), *to = path_absolute(file);
        OWNED char *from = xasprintf("%s/" DS_CONFIG_FILE, directory);
        OWNED char *from_base64 = base64_of(profiled), *to_base64 = base64_of(config);
        strings_replace(words, from, to);
        strings_replace(words, from_base64, to_base64);
    }
}
