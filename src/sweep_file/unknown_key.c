#include "sweep_file/unknown_key.h"

#include <stdlib.h>
#include <string.h>

#include "sweep_file/schema.h"
#include "util/buffer.h"
#include "util/memory.h"
#include "util/suggest.h"

#define LENGTH(array) (sizeof(array) / sizeof *(array))
#define KEYS_LISTED 20

/* What other tools call a key: Optuna, Ray Tune, Hydra, W&B, Determined, Slurm and GitHub's matrices. */
static const struct {
    const char *table;
    const char *said;
    const char *key;
    const char *in; /* another table that has it; NULL: the same */
} elsewhere[] = {
    {"[[failure]]", "regex", "pattern", NULL},
    {"[[rule]]", "assert", "require", NULL},
    {"[[rule]]", "condition", "require", NULL},
    {"[[rule]]", "if", "when", NULL},
    {"[[rule]]", "reason", "why", NULL},
    {"[job.metrics]", "aggregate", "take", NULL},
    {"[job.metrics]", "direction", "better", NULL},
    {"[job.metrics]", "goal", "better", NULL},
    {"[job.metrics]", "mode", "better", NULL},
    {"[job.metrics]", "pattern", "regex", NULL},
    {"[job.metrics]", "reduce", "take", NULL},
    {"[job.metrics]", "skip", "warmup", NULL},
    {"[job]", "args", "command", NULL},
    {"[job]", "argv", "command", NULL},
    {"[job]", "cmd", "command", NULL},
    {"[job]", "directory", "cwd", NULL},
    {"[job]", "entrypoint", "command", NULL},
    {"[job]", "environment", "env", NULL},
    {"[job]", "limit", "timeout", NULL},
    {"[job]", "max_time", "timeout", NULL},
    {"[job]", "program", "command", NULL},
    {"[job]", "run", "command", NULL},
    {"[job]", "script", "command", NULL},
    {"[job]", "time", "timeout", NULL},
    {"[job]", "time_limit", "timeout", NULL},
    {"[job]", "walltime", "timeout", NULL},
    {"[job]", "workdir", "cwd", NULL},
    {"[job]", "working_dir", "cwd", NULL},
    {"[job]", "working_directory", "cwd", NULL},
    {"[local]", "gpus", "devices", NULL},
    {"[local]", "num_devices", "devices", NULL},
    {"[local]", "num_gpus", "devices", NULL},
    {"[metrics]", "aggregate", "take", NULL},
    {"[metrics]", "direction", "better", NULL},
    {"[metrics]", "formula", "expression", NULL},
    {"[metrics]", "goal", "better", NULL},
    {"[metrics]", "mode", "better", NULL},
    {"[metrics]", "reduce", "take", NULL},
    {"[metrics]", "sql", "expression", NULL},
    {"[search]", "algorithm", "strategy", NULL},
    {"[search]", "max_evals", "max_trials", NULL},
    {"[search]", "max_time", "deadline", NULL},
    {"[search]", "method", "strategy", NULL},
    {"[search]", "n_trials", "max_trials", NULL},
    {"[search]", "num_samples", "max_trials", NULL},
    {"[search]", "objective", "metric", NULL},
    {"[search]", "patience", "early_stopping", NULL},
    {"[search]", "sampler", "strategy", NULL},
    {"[search]", "seed", "random_seed", NULL},
    {"[search]", "timeout", "deadline", NULL},
    {"[search]", "trials", "max_trials", NULL},
    {"[slurm]", "cpus", "cpus_per_task", NULL},
    {"[slurm]", "gpus_per_node", "num_devices_per_host", "[cluster_spec]"},
    {"[slurm]", "gres", "gpu_type", NULL},
    {"[slurm]", "mem", "memory", NULL},
    {"[slurm]", "nodes", "num_hosts", "[cluster_spec]"},
    {"[slurm]", "ntasks_per_node", "tasks_per_node", NULL},
    {"[slurm]", "time", "timeout", "[job]"},
    {"[slurm]", "time_limit", "timeout", "[job]"},
    {"[sweep]", "command", "command", "[job]"},
    {"[sweep]", "constraints", "subject_to", NULL},
    {"[sweep]", "direction", "better", "[job.metrics]"},
    {"[sweep]", "goal", "objective", NULL},
    {"[sweep]", "max_trials", "max_trials", "[search]"},
    {"[sweep]", "method", "strategy", "[search]"},
    {"[sweep]", "metric", "objective", NULL},
    {"[sweep]", "program", "command", "[job]"},
    {"[sweep]", "strategy", "strategy", "[search]"},
    {"[sweep]", "target", "objective", NULL},
    {"[sweep]", "timeout", "timeout", "[job]"},
    {"the file", "axes", "training_spec", NULL},
    {"the file", "cluster", "cluster_spec", NULL},
    {"the file", "constraint", "rule", NULL},
    {"the file", "constraints", "rule", NULL},
    {"the file", "grid", "training_spec", NULL},
    {"the file", "hyperparameters", "training_spec", NULL},
    {"the file", "matrix", "training_spec", NULL},
    {"the file", "parameters", "training_spec", NULL},
    {"the file", "params", "training_spec", NULL},
    {"the file", "searcher", "search", NULL},
    {"the file", "space", "training_spec", NULL},
    {"the file", "training", "training_spec", NULL},
};

static size_t index_of(const char *const *names, size_t count, const char *name)
{
    size_t i = 0;
    while (i < count && strcmp(names[i], name) != 0)
        i++;
    return i;
}

/* "; did you mean "better"?" for what other tools call so, and its index in `names`; else NULL. The caller's. */
static char *said_elsewhere(const char *title, const char *said, const char *const *names, size_t count, size_t *meant)
{
    for (size_t i = 0; i < LENGTH(elsewhere); i++) {
        if (strcmp(elsewhere[i].table, title) != 0 || strcmp(elsewhere[i].said, said) != 0)
            continue;
        if (elsewhere[i].in)
            return xasprintf("; did you mean \"%s\" in %s?", elsewhere[i].key, elsewhere[i].in);
        *meant = index_of(names, count, elsewhere[i].key);
        return xasprintf("; did you mean \"%s\"?", elsewhere[i].key);
    }
    return NULL;
}

static char *nearest(const char *name, const char *const *names, size_t count, size_t *meant)
{
    const char *near = suggest_nearest(name, names, count);
    if (!near)
        return NULL;
    *meant = index_of(names, count, near);
    return xasprintf("; did you mean \"%s\"?", near);
}

static bool is_known_in(const struct schema *s, const char *name)
{
    if (schema_find(s, name) < s->count)
        return true;
    for (size_t i = 0; i < LENGTH(elsewhere); i++)
        if (!elsewhere[i].in && strcmp(elsewhere[i].table, s->title) == 0 && strcmp(elsewhere[i].said, name) == 0)
            return true;
    return false;
}

/* "; it belongs in [job]" of a key that is out of place: `profile` below [sweep], `timeout` above [job]; NULL where no
 * table has it. The caller's. */
static char *homes_of(const char *name)
{
    struct buffer b = BUFFER_INIT;
    for (size_t i = 0; i < schema_common_count; i++) {
        const struct schema *s = schema_common[i];
        if (is_known_in(s, name))
            buffer_printf(&b, "%s%s", b.length ? " or " : "; it belongs in ",
                          s == &schema_top ? "the top of the file, before the first [table]" : s->title);
    }
    return b.length ? buffer_take(&b) : NULL;
}

/* "; its keys are regex, key, …" where they are few; of the file only its tables, for a table. Else NULL. The
 * caller's. */
static char *all_there_are(const struct reading *r, const struct toml_node *node, const char *title,
                           const char *const *names, size_t count)
{
    const bool is_file = strcmp(title, schema_top.title) == 0;
    const bool is_table = node->kind == NODE_TABLE || schema_type_fits(node, TYPE_TABLES);
    const char *lead = is_file ? "; its tables are " : "; its keys are ";
    struct buffer b = BUFFER_INIT;
    for (size_t i = 0; (is_file ? is_table : count <= KEYS_LISTED) && i < count; i++) {
        const struct schema_key *k = is_file ? &schema_top.keys[i] : NULL;
        if (!k || ((k->types & (TYPE_TABLE | TYPE_TABLES)) && (k->files & r->role)))
            buffer_printf(&b, "%s%s", b.length ? ", " : lead, names[i]);
    }
    return b.length ? buffer_take(&b) : NULL;
}

size_t unknown_key(const struct reading *r, const struct toml_node *node, const char *title, const char *const *names,
                   size_t count)
{
    size_t meant = count;
    char *hint = NULL;
    reading_excuse(r, node);
    /* A hint that nobody will see is not looked for: a hostile file may have a million such keys. */
    if (r->problems->found < PROBLEMS_KEPT) {
        hint = said_elsewhere(title, node->key, names, count, &meant);
        hint = hint ? hint : nearest(node->key, names, count, &meant);
        hint = hint ? hint : homes_of(node->key);
        hint = hint ? hint : all_there_are(r, node, title, names, count);
    }
    problem_at_key(r, node, "unknown key \"%s\" in %s%s", node->key, title, hint ? hint : "");
    free(hint);
    return meant;
}
