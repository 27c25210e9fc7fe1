/* Configurations compete instead of jobs when a sweep lists replicate keys or groups ([sweep] replicate, group_by),
 * each with others of its group only. The view of that name is there while the current sweep lists any.
 *
 * configurations  one row per configuration that is ranked, by group, then best first: comparison_group
 *                 ("model.name=1B, num_hosts=1", "" without groups), rank (in the group; equal values, equal rank),
 *                 job (of its ok replicates the one in the middle), value (the mean of the objective over them),
 *                 replicates (how many are ok), replicates_failed, replicates_open (pending or running),
 *                 replicates_median, _low, _high (95 % interval of the mean, by Student's t), _stddev, _min, _max
 *                 (NULL for fewer than two), per_device (value over the job's devices). While some replicates of a
 *                 configuration are open it is not ranked, unless that is so of all of the group. */
#pragma once

#include <stdbool.h>

#include "database/db.h"
#include "util/buffer.h"
#include "util/string_list.h"

/* What competes in the current sweep in place of jobs; neither: the jobs do. */
struct competition {
    bool replicates, groups;
};

/* The columns of what sql/configurations.sql makes. */
enum configurations_sql {
    CONFIGURATIONS_SAME, /* for `job` and `spec` tables: the id of the first spec of the same section that is equal but
                              for replicate keys, as a common table expression "same (id, same)"; equal ids without such
                              keys */
    CONFIGURATIONS_GROUPS, /* rows (job, number of its group from 0 on, the group) of the current sweep in the order of
                              jobs; nothing where it lists no groups */
    CONFIGURATIONS_VIEW,   /* the view; nothing where the current sweep lists no such keys or has no objective */
};

/* Appends that SQL. */
int configurations_add(struct db *db, enum configurations_sql which, struct buffer *out, struct error *e);

/* Asks a statement of sql/answers/ with the table `measured` before its own, the attempts that may win; and where no
 * configurations compete one in place of that view, which the statement's `ranked_job` is. */
int configurations_ask(struct db *db, const char *name, const struct competition *c, struct sql_values values,
                       struct stmt **out, struct error *e);

int configurations_compete(struct db *db, struct competition *out, struct error *e);

/* On this connection alone: the view is that of other keys of groups (a list in JSON of "section.key", or the name of a
 * derived one; NULL: those of the sweep), and of the conditions of measures_suppose. */
int configurations_suppose(struct db *db, const char *keys_json, struct error *e);
