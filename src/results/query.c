#include "results/query.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "config/sweep.h"
#include "database/guard.h"
#include "results/configurations.h"
#include "results/json.h"
#include "results/status.h"
#include "secrets/secrets.h"
#include "sweep_file/reader.h"
#include "util/buffer.h"
#include "util/embedded.h"
#include "util/memory.h"
#include "util/string_list.h"
#include "util/suggest.h"
#include "util/unit.h"

#define PROCESSOR_MOST_MS 120000
#define TITLES_LISTED 40
#define FIRST_LOOKED_AT 20000 /* some 30 ms */

static const char *find_title(const struct string_list *t, const char *name, size_t length)
{
    return FIND(i, t->count, strncasecmp(t->items[i], name, length) == 0 && !t->items[i][length], t->items[i]);
}

static int read_titles(struct db *db, struct string_list *out, struct error *e)
{
    int64_t made;
    OWNED_STMT *s = NULL;
    if (db_query_int(db, "SELECT count(*) FROM sqlite_schema WHERE name = 'results'", NO_VALUES, 0, &made, e) < 0)
        return -1;
    if (!made)
        return error_set(e, ERROR_NOTHING, "this database has no sweep yet; `meshsweep run` records one");
    if (db_prepare(db, "SELECT * FROM results LIMIT 0", &s, e) < 0)
        return -1;
    for (int i = 0; i < stmt_column_count(s); i++)
        string_list_add(out, xstrdup(stmt_column_name(s, i)));
    return 0;
}

/* --- names that are not there --- */

/* " (did you mean …?)", "" when nothing comes near: columns "section.NAME", else the nearest one. The caller's. */
static char *hint(const struct string_list *t, const char *name, const char *quote)
{
    struct buffer b = BUFFER_INIT;
    for (size_t i = 0; i < t->count; i++) {
        const char *dot = strrchr(t->items[i], '.');
        if (dot && strcasecmp(dot + 1, name) == 0)
            buffer_printf(&b, "%s%s%s%s", b.length ? " or " : " (did you mean ", quote, t->items[i], quote);
    }
    const char *near = b.length ? NULL : SUGGEST(name, i, t->count, t->items[i]).near;
    if (near)
        buffer_printf(&b, " (did you mean %s%s%s?", strchr(near, '.') ? quote : "", near,
                      strchr(near, '.') ? quote : "");
    else if (b.length)
        buffer_add_char(&b, '?');
    if (b.length)
        buffer_add_char(&b, ')');
    return buffer_take(&b);
}

/* " (columns: …)", where nothing comes near. The caller's. */
static char *list(const struct string_list *t)
{
    struct buffer b = BUFFER_INIT;
    buffer_add_text(&b, " (columns: ");
    for (size_t i = 0; i < t->count && i < TITLES_LISTED; i++)
        buffer_printf(&b, "%s%s", i ? ", " : "", t->items[i]);
    buffer_add_text(&b, t->count > TITLES_LISTED ? ", …)" : ")");
    return buffer_take(&b);
}

static int unknown_column(const struct string_list *t, const char *option, const char *name, size_t length,
                          struct error *e)
{
    OWNED char *word = xstrndup(name, length);
    OWNED char *suggestion = hint(t, word, "");
    if (!suggestion[0]) {
        free(suggestion);
        suggestion = list(t);
    }
    return error_set(e, ERROR_USAGE, "%s: no such column: %s%s", option, word, suggestion);
}

/* Returns what to write for the first number with a unit, "40 GiB": " (a number has no unit there: …)"; empty: it has
 * none. The caller's. */
static char *without_unit(const char *where)
{
    static const char *const bases[] = {"", "B", "s"};
    for (const char *p = where; *p; p++) {
        if (!isdigit((unsigned char)p[*p == '.']) ||
            (p > where && (isalnum((unsigned char)p[-1]) || strchr("_.'\"", p[-1]))))
            continue;
        char *end;
        const double value = strtod(p, &end);
        const char *unit = end + strspn(end, " ");
        char *word = xstrndup(unit, strcspn(unit, " \t\n()<>=,+-*"));
        for (size_t i = 0; *word && i < LENGTH(bases); i++) {
            double all = value;
            if (!unit_convert(value, word, bases[i], &all) || (all == value && strcmp(word, bases[i]) != 0))
                continue;
            free(word);
            if (all == value || !*bases[i])
                return xasprintf(" (a number has no unit there: write %.15g)", all);
            return xasprintf(" (a number has no unit there: write %.15g, or %.15g where the column is in %s)", value,
                             all, *bases[i] == 'B' ? "bytes" : "seconds");
        }
        const bool is_rate = isalpha((unsigned char)*word) && strchr(word, '/');
        free(word);
        if (is_rate)
            return xasprintf(" (a number has no unit there: write %.15g)", value);
    }
    return xstrdup("");
}

static int check_condition(const struct string_list *t, const char *where, struct error *e)
{
    static const char missing[] = "no such column: ";
    struct error why = ERROR_INIT;
    if (guard_check_where(where, (const char *const *)t->items, t->count, &why) == 0)
        return 0;
    const char *name = strncmp(why.text, missing, strlen(missing)) == 0 ? why.text + strlen(missing) : NULL;
    OWNED char *suggestion = name ? hint(t, name, "\"") : without_unit(where);
    const char *at = name && !*suggestion ? strstr(where, name) : NULL;
    while (at && at > where && at[-1] == ' ')
        at--;
    if (at && at > where && at[-1] == '=')
        text_replace(&suggestion, xasprintf(" (put strings in single quotes: '%s')", name));
    if (strstr(why.text, "syntax error"))
        /* The parenthesis is the one that stands around it. */
        error_set(e, why.kind, "--where `%s`: %s%s", where,
                  !strchr(where, ')') && strstr(why.text, "near \")\"") ? "it ends too early" : why.text, suggestion);
    else if (strstr(why.text, "\n)") || strcmp(why.text, "incomplete input") == 0)
        error_set(e, why.kind, "--where `%s`: a quotation mark or parenthesis is not closed", where);
    else
        error_set(e, why.kind, "--where: %s%s", why.text, suggestion);
    return -1;
}

/* --- which columns --- */

/* All but those that are rarely read, and keys that every spec of their kind has with the same value: they tell no row
 * from another. A column has the bare name of a key only where no other column has it: `state` is no key where there is
 * a `model.state`. */
static int choose_brief(struct db *db, const struct result_query *q, struct string_list *out, struct error *e)
{
    static const char sql[] =
        "SELECT name FROM pragma_table_info('results') WHERE name NOT IN ('key', 'in_sweep', 'partial', 'not_finite',"
        " 'directory', 'started', 'ended') AND name COLLATE NOCASE NOT IN (SELECT kind || '.' || key FROM same)"
        " AND name COLLATE NOCASE NOT IN (SELECT key FROM same WHERE (kind || '.' || key) COLLATE NOCASE NOT IN"
        " (SELECT name FROM pragma_table_info('results'))) ORDER BY cid";
    OWNED_STMT *s = NULL;
    if (status_part(db, sql, NO_VALUES, &s, e) < 0)
        return -1;
    int rc;
    while ((rc = stmt_next(s, e)) > 0)
        if (q->every_sweep || strcmp(stmt_text(s, 0), "sweep") != 0)
            string_list_add(out, stmt_copy_text(s, 0));
    return rc;
}

static int choose_named(const struct string_list *all, const struct result_query *q, struct string_list *out,
                        struct error *e)
{
    for (const char *name = q->columns;; name++) {
        size_t length = strcspn(name, ",");
        const char *title = find_title(all, name, length);
        if (!title)
            return unknown_column(all, q->columns_option ? q->columns_option : "--columns", name, length, e);
        string_list_add(out, xstrdup(title));
        name += length;
        if (!*name)
            return 0;
    }
}

static int choose_columns(struct db *db, const struct result_query *q, const struct string_list *all,
                          struct string_list *out, struct error *e)
{
    if (q->columns)
        return choose_named(all, q, out, e);
    if (q->brief)
        return choose_brief(db, q, out, e);
    for (size_t i = 0; i < all->count; i++)
        string_list_add(out, xstrdup(all->items[i]));
    return 0;
}

/* --- the statement --- */

/* By what the rows are sorted. */
struct sort_order {
    const char *title; /* borrowed from the titles; NULL: as the rows lie */
    bool descending;
    bool of_metric;     /* of jobs that are not ok it is no result: they come last */
    const char *metric; /* of which the index gives the first rows; borrowed from the title; NULL: it cannot */
    const char *last;   /* the column by which they lie */
};

static int read_order(const struct string_list *all, const char *sort, struct sort_order *out, struct error *e)
{
    *out = (struct sort_order){.last = "job"};
    if (!sort)
        return 0;
    const char *colon = strrchr(sort, ':');
    out->descending = colon && strcmp(colon, ":desc") == 0;
    bool ascending = colon && strcmp(colon, ":asc") == 0;
    size_t length = out->descending || ascending ? (size_t)(colon - sort) : strlen(sort);
    out->title = find_title(all, sort, length);
    return out->title ? 0 : unknown_column(all, "--sort", sort, length, e);
}

static void add_order(const struct sort_order *order, struct buffer *b)
{
    buffer_add_text(b, order->of_metric ? " ORDER BY state = 'ok' DESC, " : " ORDER BY ");
    if (order->title) {
        buffer_add_quoted(b, order->title, '\"');
        buffer_printf(b, "%s NULLS LAST, ", order->descending ? " DESC" : "");
    }
    buffer_add_text(b, order->last); /* as the rows lie, without sorting them */
}

/* The metric that a column shows, NULL when it is none. Borrowed from the title. */
static const char *metric_of(const struct string_list *all, const char *title)
{
    static const char section[] = "metric.";
    if (strncmp(title, section, strlen(section)) == 0)
        return title + strlen(section);
    OWNED char *qualified = xasprintf("%s%s", section, title);
    bool elsewhere = find_title(all, qualified, strlen(qualified)) != NULL;
    return elsewhere ? NULL : title;
}

static int find_metric(struct db *db, const struct string_list *all, struct sort_order *order, struct error *e)
{
    const char *metric = order->title ? metric_of(all, order->title) : NULL;
    int64_t found = 0;
    if (metric && db_query_int(db, "SELECT count(*) FROM (SELECT 1 FROM job_metric WHERE name = ? LIMIT 1)",
                               VALUES(sql_text(metric)), 0, &found, e) < 0)
        return -1;
    order->of_metric = found > 0;
    return 0;
}

static void add_condition(const struct result_query *q, struct buffer *b)
{
    buffer_printf(b, "(?1 OR %s) AND (?2 IS NULL OR state = ?2)", q->is_table ? "true" : "in_sweep");
    if (q->where)
        buffer_printf(b, " AND (%s\n)", q->where);
}

/* The first jobs by a metric, along its index: nothing is read of the others. Needs a name, ?4. Jobs without a number,
 * and those that are not ok, are left out; where there is a condition, so are those after the first FIRST_LOOKED_AT. */
static void add_first_by_metric(const struct result_query *q, const struct sort_order *order, struct buffer *b)
{
    const char *way = order->descending ? " DESC" : "";
    buffer_printf(b,
                  "SELECT \"#job\" FROM (SELECT j.id AS \"#job\", m.value AS \"#value\" FROM job_metric AS m"
                  " INDEXED BY job_metric_value CROSS JOIN job AS j NOT INDEXED ON j.id = m.job_id WHERE m.name = ?4"
                  " AND m.value IS NOT NULL AND j.state = 'ok' AND (?1 OR j.sweep_id = (SELECT id FROM current_sweep))"
                  " ORDER BY m.value%s, j.id LIMIT max(?3, %d))",
                  way, q->where || q->state ? FIRST_LOOKED_AT : 0);
    if (q->where || q->state) {
        buffer_add_text(b, " CROSS JOIN results ON job = \"#job\" WHERE ");
        add_condition(q, b);
    }
    buffer_printf(b, " ORDER BY \"#value\"%s, \"#job\" LIMIT ?3", way);
}

/* Sets `metric` where as many jobs have a number of it as rows are wanted, so that none without one is among them. */
static int choose_index(struct db *db, const struct result_query *q, const struct string_list *all,
                        struct sort_order *order, struct error *e)
{
    const char *metric = order->title && q->limit > 0 && !q->is_table ? metric_of(all, order->title) : NULL;
    OWNED_BUFFER sql = BUFFER_INIT;
    if (!metric)
        return 0;
    buffer_add_text(&sql, "SELECT count(*) FROM (");
    add_first_by_metric(q, order, &sql);
    buffer_add_char(&sql, ')');
    int64_t found = -1;
    const struct sql_values values =
        VALUES(sql_int(q->every_sweep), sql_text(q->state), sql_int(q->limit), sql_text(metric));
    int rc = db_query_int(db, buffer_text(&sql), values, -1, &found, e);
    order->metric = found == q->limit ? metric : NULL;
    return rc;
}

/* Rows of configurations: the specs without replicate keys tell them apart. Columns that are neither keys nor numbers
 * are left out; other values than means are those of the first job. */
static int write_means(struct db *db, const struct result_query *q, struct buffer *b, struct error *e)
{
    OWNED char *means = NULL;
    buffer_add_text(b, "WITH ");
    if (db_query_text(db, embedded_text("src/results/means.sql"), NO_VALUES, &means, e) < 0 ||
        configurations_add(db, CONFIGURATIONS_SAME, b, e) < 0)
        return -1;
    if (!means)
        return error_set(e, ERROR_USAGE,
                         "--means: [sweep] replicate names no keys over which means could be taken; a job's repeats "
                         "are one value already");
    buffer_printf(b, " SELECT min(r.job) AS job%s FROM (SELECT * FROM results WHERE ", means);
    add_condition(q, b);
    buffer_add_text(b, ") AS r JOIN job AS j ON j.id = r.job LEFT JOIN same AS c ON c.id = j.cluster_id LEFT JOIN same "
                       "AS m"
                       " ON m.id = j.model_id LEFT JOIN same AS t ON t.id = j.training_id LEFT JOIN same AS p"
                       " ON p.id = j.parallel_id GROUP BY c.same, m.same, t.same, p.same ORDER BY 1 LIMIT ?3");
    return 0;
}

static void write_statement(const struct result_query *q, const struct string_list *chosen,
                            const struct sort_order *order, struct buffer *b)
{
    buffer_add_text(b, "SELECT ");
    for (size_t i = 0; i < chosen->count; i++) {
        buffer_add_text(b, i ? ", " : "");
        buffer_add_quoted(b, chosen->items[i], '\"');
    }
    buffer_add_text(b, " FROM results WHERE ");
    add_condition(q, b);
    if (order->metric) {
        buffer_add_text(b, " AND job IN (");
        add_first_by_metric(q, order, b);
        buffer_add_char(b, ')');
    }
    add_order(order, b);
    buffer_add_text(b, " LIMIT ?3");
}

/* --where is anybody's. */
static void limit_work(struct db *db)
{
    guard_limit_processor(db, PROCESSOR_MOST_MS);
    guard_limit_values(db);
}

int result_query_open(struct db *db, const struct result_query *q, struct stmt **out, struct error *e)
{
    OWNED_LIST all = STRING_LIST_INIT, chosen = STRING_LIST_INIT;
    OWNED_BUFFER sql = BUFFER_INIT;
    struct stmt *s = NULL;
    struct sort_order order;
    if (read_titles(db, &all, e) < 0 || choose_columns(db, q, &all, &chosen, e) < 0 ||
        read_order(&all, q->sort, &order, e) < 0 || (q->where && check_condition(&all, q->where, e) < 0))
        return -1;
    if (q->where)
        limit_work(db);
    if (q->is_table)
        order.last = "number";
    if ((!q->is_table && find_metric(db, &all, &order, e) < 0) || choose_index(db, q, &all, &order, e) < 0)
        return -1;
    if (!q->means)
        write_statement(q, &chosen, &order, &sql);
    if ((q->means && write_means(db, q, &sql, e) < 0) || db_prepare(db, buffer_text(&sql), &s, e) < 0)
        return -1;
    stmt_bind(s, VALUES(sql_int(q->every_sweep), sql_text(q->state), sql_int(q->limit > 0 ? q->limit : -1)));
    if (order.metric)
        stmt_bind_at(s, 4, sql_text(order.metric));
    *out = s;
    return 0;
}

/* Statistics, of a point where the metric is a curve. */
#define OF(name) ", coalesce(p." name ", m." name ") AS " name
static const char statistics[] = OF("mean") OF("median") OF("minimum") OF("maximum") OF("stddev") OF("p90");

int result_query_open_long(struct db *db, const struct result_query *q, struct stmt **out, struct error *e)
{
    OWNED_LIST all = STRING_LIST_INIT;
    OWNED_BUFFER sql = BUFFER_INIT;
    bool curves = false;
    int rc = read_titles(db, &all, e);
    if (rc == 0)
        rc = db_query_bool(db,
                           "SELECT 1 FROM metric_definition AS d JOIN definition AS f ON f.id = d.definition_id"
                           " WHERE f.reading ->> '$.per' IS NOT NULL LIMIT 1",
                           NO_VALUES, &curves, e);
    if (rc == 0 && q->where)
        rc = check_condition(&all, q->where, e);
    buffer_printf(&sql,
                  "SELECT r.job, r.key, r.state, m.name AS metric, nullif(d.unit, '') AS unit, d.counter, d.rank,"
                  " coalesce(p.samples, m.count) AS samples, coalesce(p.not_finite, m.not_finite) AS not_finite,"
                  " iif(p.step IS NULL, v.value, p.value) AS value%s%s"
                  " FROM (SELECT job, key, state FROM results WHERE (?2 OR in_sweep) AND (?3 IS NULL OR state = ?3)",
                  statistics, curves ? ", p.step AS point" : "");
    if (q->where)
        buffer_printf(&sql, " AND (%s\n)", q->where);
    buffer_add_text(&sql, ") AS r JOIN job AS j ON j.id = r.job JOIN summary AS m ON m.attempt_id = j.attempt_id"
                          " LEFT JOIN job_metric AS v ON v.job_id = j.id AND v.name = m.name"
                          " LEFT JOIN metric_definition AS d ON d.name = m.name"
                          " LEFT JOIN curve_point AS p ON p.attempt_id = m.attempt_id AND p.name = m.name"
                          " ORDER BY r.job, m.name, p.step");
    if (rc == 0)
        rc = answer_open(db, "sql/answers/show.sql", buffer_text(&sql),
                         VALUES(sql_null(), sql_int(q->every_sweep), sql_text(q->state)), out, e);
    if (rc == 0 && q->where)
        limit_work(db);
    return rc;
}

/* --- columns --- */

int result_columns(struct db *db, const struct stmt *s, enum unit_form form, bool has_keys, struct result_column **out,
                   struct error *e)
{
    static const char sql[] =
        "WITH own (name, unit) AS (VALUES ('duration_ms', 'ms'), ('max_rss', 'B'), ('predicted_memory', "
        "'B'), ('predicted_time', 's')) SELECT unit FROM own WHERE ?3 AND name = ?1"
        " UNION ALL SELECT iif(?2, unit, unit || coalesce(iif(unit <> '', ' ', '') || counter, '') ||"
        " coalesce(', rank ' || rank, '')) FROM metric_definition WHERE unit || coalesce(counter, '') <> ''"
        " AND ('metric.' || name = ?1 OR (name = ?1 AND NOT EXISTS (SELECT 1 FROM pragma_table_info('results') AS c"
        " WHERE c.name = 'metric.' || ?1)))";
    const int count = stmt_column_count(s);
    struct result_column *columns = xcalloc((size_t)count + 1, sizeof *columns);
    OWNED_STMT *unit = NULL, *type = NULL;
    int rc = db_prepare(db, sql, &unit, e);
    for (int i = 0; rc >= 0 && i < count; i++) {
        columns[i].name = xstrdup(stmt_column_name(s, i));
        stmt_reset(unit);
        stmt_bind(unit, VALUES(sql_text(columns[i].name), sql_int(form == UNITS_BARE), sql_int(form == UNITS_ALL)));
        rc = stmt_next(unit, e);
        columns[i].unit = rc > 0 ? stmt_copy_text(unit, 0) : NULL;
    }
    while (rc >= 0 && has_keys &&
           (rc = db_next(db, embedded_text("src/results/key_types.sql"), NO_VALUES, &type, e)) > 0)
        for (int i = 0; i < count; i++)
            if (strcasecmp(columns[i].name, stmt_text(type, 0)) == 0)
                columns[i].type = (enum key_type)stmt_int(type, 1);
    if (rc < 0) {
        result_columns_free(columns);
        return -1;
    }
    *out = columns;
    return 0;
}

void result_columns_free(struct result_column *columns)
{
    for (struct result_column *c = columns; c && c->name; c++)
        free_all(c->name, c->unit);
    free(columns);
}

/* The view `ranking` has it as its second column; without an objective that is called so, and is empty. */
char *result_objective(struct db *db)
{
    struct error e = ERROR_INIT;
    OWNED_STMT *s = NULL;
    char *name = NULL;
    if (db_prepare(db, "SELECT * FROM ranking LIMIT 0", &s, &e) == 0 && stmt_column_count(s) > 1)
        name = xstrdup(stmt_column_name(s, 1));
    return name;
}

/* --- a part of the jobs as a sweep file --- */

#define RULE_BYTES_MOST 65536 /* of an expression */

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
static int add_rule(const char *name, const char *require, size_t jobs, struct buffer *out, struct error *e)
{
    const size_t length = strlen(require);
    if (length > RULE_BYTES_MOST)
        return error_set(e, ERROR_FAILED,
                         "%zu jobs would make a rule of %zu bytes, longer than the limit of %d; select fewer jobs",
                         jobs, length, RULE_BYTES_MOST);
    buffer_printf(out, "\n[[rule]]\nname = \"%s\"\nwhy = \"only these jobs were exported\"\nrequire = ", name);
    buffer_add_json_string(out, require, length);
    buffer_add_char(out, '\n');
    return 0;
}

/* --- jobs of tables: the file has no sections --- */

/* The specs of the jobs as blocks of their sections. */
static int add_sections(struct db *db, const char *ids, struct buffer *out, struct error *e)
{
    struct stmt *s = NULL;
    int rc;
    while ((rc = db_next(db, embedded_text("src/results/subset_keys.sql"), VALUES(sql_text(ids)), &s, e)) > 0) {
        buffer_add_text(out, stmt_text(s, 0));
        for (int i = 1; i <= 2; i++) {
            if (stmt_is_null(s, i))
                buffer_add_text(out, stmt_text(s, 3));
            else
                buffer_add_json_string(out, stmt_text(s, i), strlen(stmt_text(s, i)));
            buffer_add_text(out, i == 1 ? " = " : "\n");
        }
    }
    return rc;
}

static int add_memberships(struct db *db, const char *ids, size_t jobs, struct buffer *out, struct error *e)
{
    const struct sql_values values = VALUES(sql_text(ids), sql_int((int64_t)jobs));
    OWNED_STMT *s = NULL;
    int rc = 0;
    while (rc == 0 && (rc = db_next(db, embedded_text("src/results/subset_rules.sql"), values, &s, e)) > 0)
        rc = add_rule(stmt_text(s, 0), stmt_text(s, 1), jobs, out, e);
    return rc;
}

/* The text may be of a file that was exported itself. The caller's. */
static char *free_rule_name(const char *text)
{
    char *name = xstrdup("exported-subset");
    for (int i = 2;; i++) {
        OWNED char *quoted = xasprintf("\"%s\"", name);
        bool taken = strstr(text, quoted) != NULL;
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
    OWNED_SWEEP *sweep = NULL;
    struct error unread = ERROR_INIT;
    return sweep_parse(path, text, strlen(text), &sweep, &unread) == 0 && sweep_is_imported(sweep);
}

static int add_conditions(const char *text, const struct string_list *c, struct buffer *out, struct error *e)
{
    OWNED_BUFFER require = BUFFER_INIT;
    OWNED char *name = free_rule_name(text);
    add_any(c->items, c->count, &require);
    return add_rule(name, buffer_text(&require), c->count, out, e);
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
        if (!is_imported(stmt_text(s, 1), text))
            return add_conditions(text, c, out, e);
        rc = add_sections(db, ids, out, e);
        if (rc == 0)
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
        rc = db_query_texts(db, embedded_text("src/results/conditions_of_jobs.sql"),
                            VALUES(sql_text(buffer_text(&ids))), &c, e);
    if (rc == 0)
        rc = add_file(db, &c, buffer_text(&ids), out, e);
    return rc;
}
