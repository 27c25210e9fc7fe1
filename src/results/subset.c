#include "results/subset.h"

#include <stdlib.h>
#include <string.h>

#include "config/sweep.h"
#include "secrets/secrets.h"
#include "sweep_file/reader.h"
#include "util/memory.h"
#include "util/string_list.h"

#define RULE_BYTES_MOST 65536 /* of an expression */

/* The conditions of a JSON list of jobs, in its order: each key that is not the same in all specs IS what it is. */
static const char conditions_sql[] =
    "WITH key (kind, name, path) AS MATERIALIZED (SELECT s.kind, k.key, '$.\"' || k.key || '\"'"
    "  FROM spec AS s, json_each(s.json) AS k WHERE instr(k.key, '\"') = 0 AND instr(k.key, '\\') = 0"
    "  GROUP BY s.kind, k.key HAVING count(DISTINCT k.value) > 1"
    "   OR count(*) < (SELECT count(*) FROM spec AS n WHERE n.kind = s.kind))"
    " SELECT coalesce((SELECT group_concat(key.kind || '.\"' || key.name || '\" IS '"
    "  || quote(json_extract(s.json, key.path)), ' AND ') FROM key JOIN spec AS s ON s.kind = key.kind"
    " AND s.id IN (j.cluster_id, j.model_id, j.training_id, j.parallel_id)), 'true')"
    " FROM json_each(?1) AS n JOIN job AS j ON j.id = n.value ORDER BY n.key";

/* `ids` gets a JSON list of the jobs. */
static int read_ids(struct stmt *jobs, struct buffer *ids, struct error *e)
{
    int rc;
    while ((rc = stmt_next(jobs, e)) > 0)
        buffer_printf(ids, "%c%lld", ids->length ? ',' : '[', (long long)stmt_int(jobs, 0));
    if (rc == 0 && ids->length == 0)
        return error_set(e, ERROR_NOTHING, "no job matches");
    buffer_add_char(ids, ']');
    return rc;
}

/* Halved again and again: SQLite takes no deeper expressions than 1,000. */
static void add_any(char *const *conditions, size_t count, struct buffer *out)
{
    if (count == 1) {
        buffer_printf(out, "(%s)", conditions[0]);
        return;
    }
    buffer_add_char(out, '(');
    add_any(conditions, count / 2, out);
    buffer_add_text(out, " OR ");
    add_any(conditions + count / 2, count - count / 2, out);
    buffer_add_char(out, ')');
}

/* Appends the rule that leaves these jobs alone. */
static int add_rule(const char *name, const struct buffer *require, size_t jobs, struct buffer *out, struct error *e)
{
    if (require->length > RULE_BYTES_MOST)
        return error_set(e, ERROR_FAILED,
                         "%zu jobs would make a rule of %zu bytes, longer than the limit of %d; select fewer jobs",
                         jobs, require->length, RULE_BYTES_MOST);
    buffer_printf(out, "\n[[rule]]\nname = \"%s\"\nwhy = \"only these jobs were exported\"\nrequire = ", name);
    buffer_add_json_string(out, require->data, require->length);
    buffer_add_char(out, '\n');
    return 0;
}

/* --- jobs of tables: the file has no sections --- */

/* A value as TOML spells it. */
static void add_toml_value(const struct stmt *s, int type, int value, struct buffer *out)
{
    const char *is = stmt_text(s, type), *text = stmt_text(s, value);
    if (strcmp(is, "text") == 0)
        buffer_add_json_string(out, text, strlen(text));
    else if (strcmp(is, "true") == 0 || strcmp(is, "false") == 0)
        buffer_add_text(out, is);
    else if (strcmp(is, "array") == 0 || strcmp(is, "object") == 0)
        buffer_printf(out, "[%s]", text);
    else
        buffer_add_text(out, text);
}

#define SPECS_OF_SQL                                                                                                   \
    "(SELECT DISTINCT s.* FROM json_each(?1) AS n JOIN job AS j ON j.id = n.value JOIN spec AS s"                      \
    " ON s.id IN (j.cluster_id, j.model_id, j.training_id, j.parallel_id))"

/* The specs of the jobs as blocks of their sections. `*product` is how many combinations they make. */
static int add_sections(struct db *db, const char *ids, struct buffer *out, double *product, struct error *e)
{
    static const char sql[] =
        "SELECT s.id, s.kind, k.key, k.type, k.value FROM " SPECS_OF_SQL " AS s, json_each(s.json) AS k"
        " WHERE k.type <> 'null' ORDER BY s.kind, s.id, k.id";
    struct stmt *s = NULL;
    int64_t last = -1;
    double counts[SECTION_COUNT] = {0};
    int rc;
    while ((rc = db_next(db, sql, VALUES(sql_text(ids)), &s, e)) > 0) {
        if (stmt_int(s, 0) != last)
            buffer_printf(out, "\n[[%s]]\n", stmt_text(s, 1));
        for (int i = 0; stmt_int(s, 0) != last && i < SECTION_COUNT; i++)
            counts[i] += strcmp(section_names[i], stmt_text(s, 1)) == 0;
        last = stmt_int(s, 0);
        buffer_add_json_string(out, stmt_text(s, 2), strlen(stmt_text(s, 2)));
        buffer_add_text(out, " = ");
        add_toml_value(s, 3, 4, out);
        buffer_add_char(out, '\n');
    }
    *product = 1;
    for (int i = 0; i < SECTION_COUNT; i++)
        *product *= counts[i] > 0 ? counts[i] : 1;
    return rc;
}

/* A part of the jobs, and the kinds of their sections whose keys count: JSON lists. */
struct subset_part {
    const char *ids, *kinds;
};

/* Adds SQL for the values of the keys that differ, joined, of a combination of the file or a job in the database. */
static int add_keys_joined(struct db *db, const struct subset_part *p, bool of_file, struct buffer *out,
                           struct error *e)
{
    OWNED_STMT *s = NULL;
    int rc;
    if (db_query(db,
                 "SELECT s.kind, k.key FROM " SPECS_OF_SQL " AS s, json_each(s.json) AS k"
                 " WHERE instr(k.key, '\"') = 0 AND instr(k.key, '\\') = 0 AND instr(k.key, char(39)) = 0"
                 " AND s.kind IN (SELECT value FROM json_each(?2)) GROUP BY 1, 2"
                 " HAVING count(DISTINCT k.value) > 1"
                 " OR count(*) < (SELECT count(*) FROM " SPECS_OF_SQL " AS n WHERE n.kind = s.kind) ORDER BY 1, 2",
                 VALUES(sql_text(p->ids), sql_text(p->kinds)), &s, e) < 0)
        return -1;
    buffer_add_text(out, "'|'");
    while ((rc = stmt_next(s, e)) > 0) {
        if (of_file)
            buffer_printf(out, " || coalesce(%s.\"%s\", '') || '|'", stmt_text(s, 0), stmt_text(s, 1));
        else
            buffer_printf(out, " || coalesce(json_extract(%s.json, '$.\"%s\"'), '') || '|'", stmt_text(s, 0),
                          stmt_text(s, 1));
    }
    return rc;
}

/* Rows of "what the first sections are, and what may stand beside it", each the joined values of keys. */
static int select_pairs(struct db *db, const struct subset_part *first, const struct subset_part *beside,
                        struct stmt **out, struct error *e)
{
    OWNED_BUFFER sql = BUFFER_INIT;
    buffer_add_text(&sql, "SELECT quote(a), quote(group_concat(b, '')) FROM (SELECT DISTINCT ");
    int rc = add_keys_joined(db, first, false, &sql, e);
    buffer_add_text(&sql, " AS a, ");
    if (rc == 0)
        rc = add_keys_joined(db, beside, false, &sql, e);
    buffer_add_text(&sql, " AS b FROM json_each(?1) AS n JOIN job AS j ON j.id = n.value"
                          " LEFT JOIN spec AS cluster_spec ON cluster_spec.id = j.cluster_id"
                          " LEFT JOIN spec AS model ON model.id = j.model_id"
                          " LEFT JOIN spec AS training_spec ON training_spec.id = j.training_id"
                          " LEFT JOIN spec AS parallel_spec ON parallel_spec.id = j.parallel_id ORDER BY j.id)"
                          " GROUP BY a ORDER BY a");
    if (rc == 0)
        rc = db_query(db, buffer_text(&sql), VALUES(sql_text(first->ids)), out, e);
    return rc;
}

/* Only these of the combinations. Texts are short: one for each way in which the sections before may be. */
static int add_membership(struct db *db, const struct subset_part *first, const struct subset_part *beside,
                          struct buffer *require, struct error *e)
{
    OWNED_BUFFER tested = BUFFER_INIT;
    OWNED_STMT *s = NULL;
    buffer_add_text(require, "CASE ");
    int rc = add_keys_joined(db, first, true, require, e) < 0 || add_keys_joined(db, beside, true, &tested, e) < 0
                 ? -1
                 : select_pairs(db, first, beside, &s, e);
    while (rc == 0 && (rc = stmt_next(s, e)) > 0) {
        buffer_printf(require, " WHEN %s THEN %s", stmt_text(s, 0), stmt_text(s, 1));
        rc = 0;
    }
    buffer_add_text(require, " ELSE '' END");
    OWNED char *texts = buffer_take(require);
    buffer_printf(require, "instr(%s, %s) > 0", texts, buffer_text(&tested));
    return rc;
}

/* A rule for the first two sections, one for the first three, one for all: what cannot be is seen before the rest of
 * the product is looked at. */
static int add_memberships(struct db *db, const char *ids, size_t jobs, struct buffer *out, struct error *e)
{
    static const char *const names[SECTION_COUNT] = {NULL, "exported-subset-2", "exported-subset-3", "exported-subset"};
    OWNED_BUFFER kinds = BUFFER_INIT;
    int rc = 0;
    for (int i = 0; rc == 0 && i < SECTION_COUNT; i++) {
        OWNED_BUFFER require = BUFFER_INIT;
        OWNED char *before = xasprintf("[%s]", buffer_text(&kinds)), *own = xasprintf("[\"%s\"]", section_names[i]);
        const struct subset_part first = {ids, before}, beside = {ids, own};
        if (names[i] && (rc = add_membership(db, &first, &beside, &require, e)) == 0)
            rc = add_rule(names[i], &require, jobs, out, e);
        buffer_printf(&kinds, "%s\"%s\"", i ? ", " : "", section_names[i]);
    }
    return rc;
}

/* The text may be of a file that was exported itself. The caller's. */
static char *free_rule_name(const char *text)
{
    char *name = xstrdup("exported-subset");
    for (int i = 2;; i++) {
        char *quoted = xasprintf("\"%s\"", name);
        bool taken = strstr(text, quoted) != NULL;
        free(quoted);
        if (!taken)
            return name;
        free(name);
        name = xasprintf("exported-subset-%d", i);
    }
}

/* --- the file --- */

/* Returns whether the file has no sections of its own: its jobs come from tables. */
static bool is_imported(const char *path, const char *text)
{
    struct sweep *sweep = NULL;
    struct error unread = ERROR_INIT;
    bool yes = sweep_parse(path, text, strlen(text), &sweep, &unread) == 0 && sweep_is_imported(sweep);
    sweep_free(sweep);
    return yes;
}

static int add_conditions(const char *text, const struct string_list *c, struct buffer *out, struct error *e)
{
    OWNED_BUFFER require = BUFFER_INIT;
    OWNED char *name = free_rule_name(text);
    add_any(c->items, c->count, &require);
    return add_rule(name, &require, c->count, out, e);
}

static int add_file(struct db *db, const struct string_list *c, const char *ids, struct buffer *out, struct error *e)
{
    OWNED_STMT *s = NULL;
    int rc = db_next(db, "SELECT text, path FROM current_sweep", NO_VALUES, &s, e);
    if (rc > 0) {
        const char *text = stmt_text(s, 0);
        size_t length = strlen(text);
        if (strstr(text, SECRET_REDACTED))
            buffer_add_text(out, "# Secrets are left out; fill them in for " SECRET_REDACTED ".\n");
        buffer_printf(out, "%s%s", text, length && text[length - 1] != '\n' ? "\n" : "");
        double product = 0;
        const bool imported = is_imported(stmt_text(s, 1), text);
        rc = imported ? add_sections(db, ids, out, &product, e) : add_conditions(text, c, out, e);
        if (rc == 0 && product > (double)c->count)
            rc = add_memberships(db, ids, c->count, out, e);
    }
    return rc;
}

int subset_add_toml(struct db *db, const struct result_query *q, struct buffer *out, struct error *e)
{
    struct result_query query = *q;
    OWNED_LIST c = STRING_LIST_INIT;
    OWNED_BUFFER ids = BUFFER_INIT;
    OWNED_STMT *jobs = NULL;
    query.columns = "job";
    query.every_sweep = false;
    if (result_query_open(db, &query, &jobs, e) < 0)
        return -1;
    int rc = read_ids(jobs, &ids, e);
    if (rc == 0)
        rc = db_query_texts(db, conditions_sql, VALUES(sql_text(buffer_text(&ids))), &c, e);
    if (rc == 0)
        rc = add_file(db, &c, buffer_text(&ids), out, e);
    return rc;
}
