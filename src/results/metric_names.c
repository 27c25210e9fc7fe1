#include "results/metric_names.h"

#include "config/own_metrics.h"
#include "util/buffer.h"
#include "util/string_list.h"
#include "util/suggest.h"

int metric_names_refuse(struct db *db, const char *name, struct error *e)
{
    if (own_metric_by_name(name))
        return error_set(e, ERROR_USAGE,
                         "--metric %s: it is not a metric of this sweep; to make it one, add [metrics.%s_seen] with "
                         "expression = \"%s\" and better = \"min\" to the sweep file, and the next run computes it for "
                         "all jobs that have run",
                         name, name, name);
    struct string_list names = STRING_LIST_INIT;
    struct buffer listed = BUFFER_INIT;
    int rc = db_query_texts(db, "SELECT name FROM metric_definition UNION SELECT name FROM summary ORDER BY name",
                            NO_VALUES, &names, e);
    const char *near = rc < 0 ? NULL : suggest_nearest(name, (const char *const *)names.items, names.count);
    for (size_t i = 0; !near && i < names.count; i++)
        buffer_printf(&listed, "%s%s", i ? ", " : "; its metrics are ", names.items[i]);
    if (rc == 0 && near)
        rc = error_set(e, ERROR_USAGE, "--metric %s: no such metric; did you mean \"%s\"?", name, near);
    else if (rc == 0)
        rc = error_set(e, ERROR_USAGE, "--metric %s: no such metric%s", name, buffer_text(&listed));
    buffer_free(&listed);
    string_list_free(&names);
    return rc;
}
