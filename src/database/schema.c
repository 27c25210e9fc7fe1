#include "database/schema.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "database/open.h"
#include "database/sqlite.h"
#include "util/embedded.h"
#include "util/memory.h"
#include "util/shell.h"

/* The sums (sum_of) of what the migrations make, without and with sql/attempt_sums.sql, which a sweep may ask for.
 * Where it is another one, the parts are compared one by one, which takes 10 ms for 0.1. tests/unit/test_schema.c
 * prints what they are. */
static const char *const schema_sums[] = {"ae0c100705b96413439b993df0a3f9d1", "e6f41b461e9074e522458f0c7ea82266"};

/* Views that the program makes, for people and for its own questions. */
static const char *const view_names[] = {
    "configurations", "current_sweep", "excluded", "failures", "progress", "ranking", "results",
};

/* Tables and views that the migrations make. */
static const char table_names[] =
    "accepted archived_metric attempt attempt_file attempt_fixture attempt_sum breach calibration change"
    " counted_attempt definition excluded_attempt excluded_job exclusion failure_class failure_pattern fixture_start"
    " further_objective given_text imported_table job job_metric job_note meta metric metric_definition note"
    " observation place replaced rule runner sample search spec subject_to summary sweep trial";

/* SQLite's statistics, which come and go. */
static const char *const own_tables[] = {
    "CREATE TABLE sqlite_stat1(tbl,idx,stat)",
    "CREATE TABLE sqlite_stat4(tbl,idx,neq,nlt,ndlt,sample)",
    "CREATE TABLE sqlite_sequence(name,seq)",
};

/* The names of what sql/attempt_sums.sql makes begin so; it need not be there. */
static const char asked_for[] = "attempt_sum";

/* A table or view of such a name would stand in for a table that SQLite or this program makes while it is asked. */
static const char *const reserved_names[] = {"json_each", "json_tree", "waiting_job", "waiting_spec"};
static const char *const reserved_beginnings[] = {"pragma_", "sqlite_"};

static bool is_among(const char *name, const char *const *names, size_t count)
{
    return ANY(i, count, strcasecmp(names[i], name) == 0);
}

static bool is_reserved(const char *name)
{
    for (size_t i = 0; i < LENGTH(reserved_beginnings); i++)
        if (strncasecmp(name, reserved_beginnings[i], strlen(reserved_beginnings[i])) == 0)
            return true;
    return is_among(name, reserved_names, LENGTH(reserved_names));
}

/* --- reading --- */

void schema_parts_free(struct schema_parts *p)
{
    arena_free(&p->arena);
}

/* All but the indexes that SQLite makes of itself and its statistics. */
static int read_parts(struct db *db, struct schema_parts *out, struct error *e)
{
    OWNED_STMT *s = NULL;
    int rc;
    while ((rc = db_next(db,
                         "SELECT type, name, tbl_name, sql, rowid FROM sqlite_schema"
                         " WHERE sql IS NOT NULL ORDER BY type, name, rowid",
                         NO_VALUES, &s, e)) > 0) {
        const char *texts[4];
        for (int i = 0; i < 4; i++)
            texts[i] = arena_keep(&out->arena, stmt_copy_text_or(s, i, ""));
        if (!is_among(texts[3], own_tables, LENGTH(own_tables)))
            *arena_add(&out->arena, out->items, out->count) =
                (struct schema_part){0, texts[0], texts[1], texts[2], texts[3], stmt_int(s, 4)};
    }
    return rc;
}

static bool is_view(const struct schema_part *p)
{
    return strcmp(p->type, "view") == 0;
}

/* As SQLite writes it; a virtual table's begins otherwise. */
static bool is_plain(const struct schema_part *p)
{
    static const char *const beginnings[] = {"table CREATE TABLE ", "view CREATE VIEW ", "index CREATE INDEX ",
                                             "index CREATE UNIQUE INDEX "};
    bool is = false;
    for (size_t i = 0; i < LENGTH(beginnings); i++) {
        size_t type = strcspn(beginnings[i], " ");
        const char *words = beginnings[i] + type + 1;
        is = is || (strlen(p->type) == type && strncmp(p->type, beginnings[i], type) == 0 &&
                    strncmp(p->sql, words, strlen(words)) == 0);
    }
    return is;
}

static bool is_generated(const struct schema_part *p)
{
    return is_view(p) && is_among(p->name, view_names, LENGTH(view_names));
}

/* As SQL compares them: letter case does not count in names. */
static const struct schema_part *find_part(const struct schema_parts *in, const struct schema_part *p)
{
    return FIND(i, in->count, strcmp(in->items[i].type, p->type) == 0 && strcasecmp(in->items[i].name, p->name) == 0,
                &in->items[i]);
}

/* --- the fast question --- */

/* A person's view, plain table or index of one: nothing that the sum has to be of. */
static bool is_of_others(const struct schema_part *p)
{
    if (!is_plain(p) || is_reserved(p->name) || (!is_view(p) && is_among(p->name, view_names, LENGTH(view_names))))
        return false;
    if (strcmp(p->type, "table") == 0)
        return !words_have(table_names, p->name);
    if (is_view(p))
        return is_generated(p) || !words_have(table_names, p->name);
    return strcmp(p->type, "index") == 0 && !words_have(table_names, p->table);
}

/* Over all but that and the views of the program. */
static void sum_of(const struct schema_parts *p, char out[HASH_HEX_BYTES])
{
    OWNED_BUFFER b = BUFFER_INIT;
    for (size_t i = 0; i < p->count; i++) {
        const struct schema_part *part = &p->items[i];
        const char *const texts[] = {part->type, part->name, part->table, part->sql};
        for (size_t k = 0; k < LENGTH(texts) && !is_of_others(part); k++)
            buffer_add(&b, texts[k], strlen(texts[k]) + 1);
    }
    const struct hash128 hash = hash_bytes(buffer_text(&b), b.length);
    hash_hex(&hash, out);
}

/* "results 0123…\n" for each view of the program. */
static char *describe_views(const struct schema_parts *p)
{
    struct buffer b = BUFFER_INIT;
    for (size_t i = 0; i < p->count; i++) {
        char hex[HASH_HEX_BYTES];
        if (!is_generated(&p->items[i]))
            continue;
        const struct hash128 hash = hash_bytes(p->items[i].sql, strlen(p->items[i].sql));
        buffer_printf(&b, "%s %s\n", p->items[i].name, hash_hex(&hash, hex));
    }
    return buffer_take(&b);
}

/* NULL where nothing is noted, or nothing can be. The caller's. */
static char *noted_views(struct db *db)
{
    struct error none = ERROR_INIT;
    char *noted = NULL;
    (void)db_query_text(db, "SELECT value FROM meta WHERE name = 'views'", NO_VALUES, &noted, &none);
    return noted;
}

int schema_note_views(struct db *db, struct error *e)
{
    OWNED_BY(schema_parts_free) struct schema_parts here = {0};
    if (read_parts(db, &here, e) < 0)
        return -1;
    OWNED char *text = describe_views(&here);
    return db_run(db, "INSERT OR REPLACE INTO meta VALUES ('views', ?)", VALUES(sql_text(text)), e);
}

/* Returns whether they are as noted; `unknown` where nothing is noted. */
static bool views_are_noted(struct db *db, const struct schema_parts *here, bool unknown)
{
    OWNED char *noted = noted_views(db), *text = describe_views(here);
    return noted ? strcmp(noted, text) == 0 : unknown;
}

int schema_views_are_noted(struct db *db, bool *yes, struct error *e)
{
    OWNED_BY(schema_parts_free) struct schema_parts here = {0};
    int rc = read_parts(db, &here, e);
    if (rc == 0)
        *yes = views_are_noted(db, &here, false);
    return rc;
}

/* --- one by one --- */

struct schema_comparison {
    struct db *db;
    struct schema_parts here, expected;
    struct schema_parts *out;
};

static void report(const struct schema_comparison *c, enum schema_state state, const struct schema_part *p, int64_t row,
                   const char *sql)
{
    *arena_add(&c->out->arena, c->out->items, c->out->count) =
        (struct schema_part){state, p->type, p->name, p->table, sql, row};
}

static bool is_loaded(struct db *db, const char *view)
{
    struct error none = ERROR_INIT;
    bool is = false;
    return db_query_bool(db, "SELECT 1 FROM pragma_table_list(?)", VALUES(sql_text(view)), &is, &none) == 0 && is;
}

/* A plain index is of columns as they are, for look-ups alone: it can neither refuse a row nor run an expression. One
 * that cannot be asked is not plain. */
static bool is_plain_index(struct db *db, const struct schema_part *p)
{
    static const char sql[] =
        "SELECT \"unique\" = 0 AND partial = 0 AND NOT EXISTS (SELECT 1 FROM pragma_index_xinfo(?2)"
        " WHERE cid < -1 OR coll NOT IN ('BINARY', 'NOCASE', 'RTRIM'))"
        " FROM pragma_index_list(?1) WHERE name = ?2 COLLATE NOCASE";
    struct error none = ERROR_INIT;
    bool is = false;
    return db_query_bool(db, sql, VALUES(sql_text(p->table), sql_text(p->name)), &is, &none) == 0 && is;
}

/* Returns whether what is not meshsweep's does nothing that we would notice. */
static bool is_harmless(const struct schema_comparison *c, const struct schema_part *p)
{
    const struct schema_part table = {.type = "table", .name = p->table};
    if (is_generated(p))
        return true; /* judged by what was noted */
    if (!is_plain(p) || is_reserved(p->name) || is_among(p->name, view_names, LENGTH(view_names)))
        return false;
    if (strcmp(p->type, "index") == 0)
        return !find_part(&c->expected, &table) || is_plain_index(c->db, p);
    return !is_view(p) || (!c->db->schema_problem || is_loaded(c->db, p->name));
}

static void compare_views(const struct schema_comparison *c)
{
    OWNED char *noted = noted_views(c->db);
    for (size_t i = 0; noted && i < LENGTH(view_names); i++) {
        const struct schema_part view = {.type = "view", .name = view_names[i], .table = view_names[i]};
        const struct schema_part *here = find_part(&c->here, &view);
        const struct schema_parts one = {(struct schema_part *)here, here ? 1 : 0, {0}};
        OWNED char *now = describe_views(&one), *name = xasprintf("%s ", view_names[i]);
        bool is_noted = strstr(noted, name) != NULL;
        if (!here && is_noted)
            report(c, SCHEMA_MISSING, &view, 0, NULL);
        else if (here && !strstr(noted, now))
            report(c, is_noted ? SCHEMA_CHANGED : SCHEMA_FOREIGN, here, here->row, NULL);
    }
}

static void compare_parts(const struct schema_comparison *c)
{
    OWNED bool *seen = xcalloc(c->expected.count + 1, sizeof *seen);
    for (size_t i = 0; i < c->here.count; i++) {
        const struct schema_part *p = &c->here.items[i], *expected = find_part(&c->expected, p);
        bool again = expected && seen[expected - c->expected.items];
        if (expected)
            seen[expected - c->expected.items] = true;
        if (again || (!expected && !is_harmless(c, p)))
            report(c, SCHEMA_FOREIGN, p, p->row, NULL);
        else if (expected && (strcmp(p->sql, expected->sql) != 0 || strcasecmp(p->table, expected->table) != 0))
            report(c, SCHEMA_CHANGED, expected, p->row, expected->sql);
    }
    for (size_t i = 0; i < c->expected.count; i++)
        if (!seen[i] && strncmp(c->expected.items[i].name, asked_for, strlen(asked_for)) != 0)
            report(c, SCHEMA_MISSING, &c->expected.items[i], 0, c->expected.items[i].sql);
}

int schema_compare(struct db *db, int64_t version, struct schema_parts *out, struct error *e)
{
    struct schema_comparison c = {.db = db, .out = out};
    struct db *blank = NULL;
    int rc = store_open_blank(version, &blank, e);
    if (rc == 0 && version > 0)
        rc = db_exec(blank, embedded_text("sql/attempt_sums.sql"), e);
    if (rc == 0)
        rc = read_parts(blank, &c.expected, e);
    if (rc == 0)
        rc = read_parts(db, &c.here, e);
    if (rc == 0) {
        compare_parts(&c);
        compare_views(&c);
    }
    arena_take(&out->arena, &c.expected.arena);
    arena_take(&out->arena, &c.here.arena);
    db_close(blank);
    return rc;
}

char *schema_describe(const struct schema_part *d)
{
    static const char *const states[] = {[SCHEMA_MISSING] = "missing", [SCHEMA_CHANGED] = "changed"};
    if (d->state != SCHEMA_FOREIGN)
        return xasprintf("%s %s (%s)", d->type, d->name, states[d->state]);
    return strcmp(d->name, d->table) == 0 ? xasprintf("%s %s", d->type, d->name)
                                          : xasprintf("%s %s on %s", d->type, d->name, d->table);
}

bool schema_can_be_made(const char *type)
{
    return strcmp(type, "table") != 0;
}

int schema_is_known(struct db *db, bool views, char sum[HASH_HEX_BYTES], bool *yes, struct error *e)
{
    OWNED_BY(schema_parts_free) struct schema_parts here = {0};
    if (read_parts(db, &here, e) < 0)
        return -1;
    sum_of(&here, sum);
    *yes = is_among(sum, schema_sums, LENGTH(schema_sums)) && (!views || views_are_noted(db, &here, true));
    return 0;
}

int schema_check(struct db *db, int64_t version, bool views, struct error *e)
{
    char sum[HASH_HEX_BYTES];
    bool is_known = false;
    int rc = schema_is_known(db, views, sum, &is_known, e);
    if (rc < 0 || is_known)
        return rc;
    OWNED_BY(schema_parts_free) struct schema_parts all = {0};
    struct examples x = EXAMPLES_INIT;
    rc = schema_compare(db, version, &all, e);
    for (size_t i = 0; i < all.count; i++) {
        const struct schema_part *d = &all.items[i];
        const bool is_ours =
            strcmp(d->type, "view") == 0 && !d->sql && is_among(d->name, view_names, LENGTH(view_names));
        OWNED char *text = schema_describe(d);
        if (!(d->state == SCHEMA_MISSING && d->sql) && (views || !is_ours))
            examples_add(&x, text);
    }
    if (rc == 0 && x.count > 0) {
        OWNED char *advice = shell_fill_file("`meshsweep check --repair -d FILE` brings it back to that", db->path);
        rc = error_set(e, ERROR_FAILED,
                       "database %s: its schema is not as meshsweep makes it: %s; %s, and keeps all rows", db->path,
                       buffer_text(&x.text), advice);
    }
    examples_free(&x);
    return rc;
}

/* --- bringing back --- */

void schema_tolerate(struct db *db)
{
    static const char beginning[] = "malformed database schema";
    struct error none = ERROR_INIT;
    int64_t parts;
    if (db_query_int(db, "SELECT count(*) FROM sqlite_schema", NO_VALUES, 0, &parts, &none) == 0 ||
        strncmp(sqlite3_errmsg(db->handle), beginning, strlen(beginning)) != 0)
        return;
    db->schema_problem = xstrdup(sqlite3_errmsg(db->handle));
    sqlite3_db_config(db->handle, SQLITE_DBCONFIG_WRITABLE_SCHEMA, 1, (int *)NULL);
}

const char *schema_problem(const struct db *db)
{
    return db->schema_problem;
}

/* The statements to run while the schema is text, and once SQLite has read it again. */
struct restoration {
    struct buffer edits, then;
    struct string_list *restored, tables;
};

static void add_drop(struct buffer *b, const char *what, const char *name)
{
    buffer_printf(b, "%s ", what);
    buffer_add_quoted(b, name, '"');
    buffer_add_text(b, ";");
}

static void add_update(struct buffer *b, const struct schema_part *d)
{
    buffer_add_text(b, "UPDATE sqlite_schema SET name = ");
    buffer_add_quoted(b, d->name, '\'');
    buffer_add_text(b, ", tbl_name = ");
    buffer_add_quoted(b, d->table, '\'');
    buffer_add_text(b, ", sql = ");
    buffer_add_quoted(b, d->sql, '\'');
    buffer_printf(b, " WHERE rowid = %lld;", (long long)d->row);
}

/* A trigger, a view or a virtual table is a line of the schema and no more; others have pages, which SQLite frees. */
static void plan_part(struct restoration *r, const struct schema_part *d)
{
    bool is_index = strcmp(d->type, "index") == 0, is_table = strcmp(d->type, "table") == 0;
    if (d->state == SCHEMA_MISSING && d->sql)
        return;
    string_list_add(r->restored, schema_describe(d));
    if (d->state == SCHEMA_CHANGED && d->sql) {
        add_update(&r->edits, d);
        if (is_index)
            add_drop(&r->then, "REINDEX", d->name);
        if (is_table)
            string_list_add(&r->tables, xstrdup(d->name));
    } else if (is_index) {
        add_drop(&r->then, "DROP INDEX", d->name);
    } else if (is_table && (is_reserved(d->name) || is_among(d->name, view_names, LENGTH(view_names)))) {
        add_drop(&r->then, "DROP TABLE", d->name);
    } else if (d->row) {
        buffer_printf(&r->edits, "DELETE FROM sqlite_schema WHERE rowid = %lld;", (long long)d->row);
    }
}

/* Checks that each column that both have stands in the same place, and no row has fewer than are expected. A table that
 * SQLite could not read is left to the integrity check. */
static int check_columns(struct db *db, struct db *blank, const char *table, struct error *e)
{
    static const char sql[] = "SELECT name FROM pragma_table_xinfo(?) WHERE hidden <> 2 ORDER BY cid";
    OWNED_LIST here = STRING_LIST_INIT, expected = STRING_LIST_INIT;
    int rc = db_query_texts(db, sql, VALUES(sql_text(table)), &here, e);
    if (rc == 0)
        rc = db_query_texts(blank, sql, VALUES(sql_text(table)), &expected, e);
    bool same = here.count == 0 || here.count >= expected.count;
    for (size_t i = 0; i < expected.count; i++) {
        size_t at = string_list_find(&here, expected.items[i]);
        same = same && (at == i || at == here.count);
    }
    return rc < 0 || same ? rc
                          : error_set(e, ERROR_FAILED,
                                      "database %s: another program changed the columns of the table %s: make a new "
                                      "database with `meshsweep run -d NEW`, or restore a copy of this one",
                                      db->path, table);
}

static int check_tables(struct db *db, int64_t version, const struct string_list *tables, struct error *e)
{
    struct db *blank = NULL;
    int rc = store_open_blank(version, &blank, e);
    for (size_t i = 0; rc == 0 && i < tables->count; i++)
        rc = check_columns(db, blank, tables->items[i], e);
    db_close(blank);
    return rc;
}

/* The views of the program are made again by the process that opened the database. */
static void add_views(struct buffer *b)
{
    for (size_t i = 0; i < LENGTH(view_names); i++)
        buffer_printf(b, "DELETE FROM sqlite_schema WHERE type = 'view' AND name = '%s' COLLATE NOCASE;",
                      view_names[i]);
    buffer_add_text(b, "DELETE FROM meta WHERE name = 'views';");
}

int schema_refuse_damaged(struct db *db, struct error *e)
{
    static const char sql[] = "SELECT count(*) FROM pragma_integrity_check WHERE integrity_check <> 'ok'"
                              " AND integrity_check NOT LIKE 'row % missing from index %'"
                              " AND integrity_check NOT LIKE 'wrong # of entries in %'"
                              " AND integrity_check NOT LIKE 'CHECK constraint failed in %'";
    int64_t damage;
    struct error unreadable = ERROR_INIT;
    if (db_query_int(db, sql, NO_VALUES, 0, &damage, &unreadable) == 0 && damage == 0)
        return 0;
    OWNED char *word = shell_word(db->path);
    return error_set(e, ERROR_FAILED,
                     "database %s: it is damaged, so nothing was repaired; `meshsweep check -d %s` says what is wrong "
                     "and what to do",
                     db->path, word);
}

static int carry_out(struct db *db, struct restoration *r, struct error *e)
{
    int64_t cookie;
    if (db_query_int(db, "PRAGMA schema_version", NO_VALUES, 0, &cookie, e) < 0)
        return -1;
    add_views(&r->edits);
    /* Other connections notice by the schema's version that it is another one. */
    buffer_printf(&r->edits, "PRAGMA schema_version = %lld; PRAGMA writable_schema = RESET;", (long long)cookie + 1);
    if (db_exec(db, "PRAGMA writable_schema = ON", e) < 0 || db_exec(db, buffer_text(&r->edits), e) < 0 ||
        db_exec(db, buffer_text(&r->then), e) < 0)
        return -1;
    return schema_refuse_damaged(db, e);
}

static int restore(struct db *db, int64_t version, struct restoration *r, struct error *e)
{
    OWNED_BY(schema_parts_free) struct schema_parts all = {0};
    int rc = schema_compare(db, version, &all, e);
    for (size_t i = 0; i < all.count; i++)
        plan_part(r, &all.items[i]);
    if (rc < 0 || check_tables(db, version, &r->tables, e) < 0)
        return -1;
    if (r->restored->count == 0 && !db->schema_problem)
        return 0;
    if (r->restored->count == 0)
        string_list_add(r->restored, xstrdup(db->schema_problem));
    return carry_out(db, r, e);
}

int schema_restore(struct db *db, int64_t version, struct string_list *restored, struct error *e)
{
    struct restoration r = {BUFFER_INIT, BUFFER_INIT, restored, STRING_LIST_INIT};
    if (db_begin(db, e) < 0)
        return -1;
    db_allow_schema_edits(db, true);
    int rc = db_end(db, restore(db, version, &r, e), e);
    db_allow_schema_edits(db, false);
    string_list_free(&r.tables);
    buffer_free(&r.edits);
    buffer_free(&r.then);
    return rc;
}

int schema_take_part(struct db *db, const char *type, const char *name, char **sql, struct error *e)
{
    char *text = NULL, *drop = xasprintf("DROP %s IF EXISTS \"%s\"", type, name);
    int rc = db_query_text(db, "SELECT sql FROM sqlite_schema WHERE type = ?1 AND name = ?2",
                           VALUES(sql_text(type), sql_text(name)), &text, e);
    if (rc == 0)
        rc = db_exec(db, drop, e);
    free(drop);
    if (rc == 0)
        *sql = text;
    else
        free(text);
    return rc;
}

/* --- examples --- */

#define EXAMPLES_MOST 5

void examples_add(struct examples *x, const char *example)
{
    if (x->count < EXAMPLES_MOST)
        buffer_printf(&x->text, "%s%s", x->count ? ", " : "", example);
    else if (x->count == EXAMPLES_MOST)
        buffer_add_text(&x->text, ", ...");
    x->count++;
}

void examples_free(struct examples *x)
{
    buffer_free(&x->text);
}

int examples_query(struct db *db, const char *sql, struct examples *x, struct error *e)
{
    struct stmt *s = NULL;
    int rc;
    while ((rc = db_next(db, sql, NO_VALUES, &s, e)) > 0)
        examples_add(x, stmt_text(s, 0));
    return rc;
}
