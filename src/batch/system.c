#include "batch/system.h"

#include <stdlib.h>
#include <string.h>

#include "expression/expression.h"
#include "sweep_file/reading.h"
#include "sweep_file/schema.h"
#include "toml/parse.h"
#include "util/embedded.h"
#include "util/file.h"
#include "util/memory.h"

#define FILE_BYTES_MOST (1 << 20)
#define AT(member) offsetof(struct batch_system, member)
#define OF(member) offsetof(struct batch_question, member)

/* --- keys --- */

static const char *const arrays_words[] = {"always", "several", "never", NULL};
static const char *const refusal_words[] = {"limit", "policy", "no answer", NULL};

static const struct schema schema_environment = {SCHEMA("[environment]", KEYS_OF_SYSTEM_ENVIRONMENT)};
static const struct schema schema_submit = {SCHEMA("[submit]", KEYS_OF_SYSTEM_SUBMIT)};
static const struct schema schema_cancel = {SCHEMA("[cancel]", KEYS_OF_SYSTEM_CANCEL)};
static const struct schema schema_fetch = {SCHEMA("[fetch]", KEYS_OF_SYSTEM_FETCH)};
static const struct schema schema_system = {SCHEMA("the file", KEYS_OF_SYSTEM)};
static const struct schema schema_queue = {SCHEMA("[queue]", KEYS_OF_QUEUE)};
static const struct schema schema_question = {SCHEMA("a question", KEYS_OF_QUESTION)};
static const struct schema_key field_keys[] = {KEYS_OF_QUESTION_FIELDS}; /* in the order of enum batch_field */
static const struct schema schema_fields = {"[fields]", field_keys, ENTRY_COUNT, NULL};

/* --- checks --- */

/* Checks one text: braces are closed, and filters known. */
static void check_template_of(const struct reading *r, const struct toml_node *node)
{
    for (const char *c = node->text; (c = strpbrk(c, "{}")); c++) {
        if (c[1] == *c) {
            c++;
            continue;
        }
        size_t name = *c == '{' ? strspn(c + 1, "abcdefghijklmnopqrstuvwxyz0123456789_") : 0;
        size_t bar = strcspn(c, "|}\n"), end = strcspn(c, "}\n");
        if (name == 0 || !strchr(":?|}", c[1 + name]) || c[end] != '}' ||
            (bar < end && strncmp(c + bar, "|quoted}", 8) != 0 && strncmp(c + bar, "|json}", 6) != 0 &&
             strncmp(c + bar, "|sh}", 4) != 0)) {
            problem_at_value(r, node,
                             "%s: expected {key}, {key:default}, {key?…@…}, {key|quoted}, {key|json} or {key|sh} at: "
                             "%.30s",
                             node->key ? node->key : "a word", c);
            return;
        }
        c += end;
    }
}

static void check_templates(const struct reading *r, const struct toml_node *node)
{
    for (size_t i = 0; node && node->kind == NODE_LIST && i < node->child_count; i++)
        check_templates(r, &node->children[i]);
    if (node && node->kind == NODE_STRING)
        check_template_of(r, node);
}

/* Patterns of a table: in what it is read into, by their keys. */
struct pattern_key {
    const char *name;
    size_t at;
};
static const struct pattern_key submit_patterns[] = {{"id", AT(id)},
                                                     {"id_anyway", AT(id_anyway)},
                                                     {"refusal_drop", AT(refusal_drop)},
                                                     {"refusal_strip", AT(refusal_strip)}};
static const struct pattern_key question_patterns[] = {{"pattern", OF(pattern)},
                                                       {"pair", OF(pair)},
                                                       {"record", OF(record)},
                                                       {"none", OF(none)},
                                                       {"empty", OF(empty)}};
#define PATTERNS(list) list, sizeof(list) / sizeof *(list)

static void compile(const struct reading *r, const struct toml_node *node, struct batch_pattern *p)
{
    char why[256];
    if (p->text && line_pattern_compile(&p->compiled, p->text, why) < 0) {
        problem_at_value(r, node, "the pattern cannot be used: %s", why);
        p->text = NULL;
    }
}

static void compile_all(const struct reading *r, const struct toml_node *table, const struct pattern_key *keys,
                        size_t count, void *into)
{
    for (size_t i = 0; i < count; i++)
        compile(r, toml_child(table, keys[i].name), (void *)((char *)into + keys[i].at));
}

static void release_all(const struct pattern_key *keys, size_t count, void *of)
{
    for (size_t i = 0; i < count; i++) {
        struct batch_pattern *p = (void *)((char *)of + keys[i].at);
        if (p->text)
            line_pattern_free(&p->compiled);
    }
}

/* --- questions --- */

/* The row in which the answer's records are, with their keys as columns. */
static int prepare_rows(struct batch_system *s, struct batch_question *q, struct error *e)
{
    struct buffer sql = BUFFER_INIT;
    buffer_add_text(&sql, "SELECT ");
    for (int i = 0; i < ENTRY_COUNT; i++) {
        const char *name = field_keys[i].name;
        const char *own = string_list_find(&q->names, name) < q->names.count ? name : "NULL";
        buffer_printf(&sql, "%s(%s)", i ? ", " : "", q->fields[i] ? q->fields[i] : own);
    }
    buffer_add_text(&sql, " FROM (SELECT key, value");
    for (size_t i = 0; i < q->names.count; i++) {
        buffer_add_text(&sql, ", ");
        if (q->columns)
            buffer_printf(&sql, "value ->> %zu", i);
        else
            expression_add_member(&sql, "value", q->names.items[i]);
        buffer_add_text(&sql, " AS ");
        expression_add_name(&sql, q->names.items[i]);
    }
    buffer_add_text(&sql, " FROM json_each(?1");
    if (q->json) {
        buffer_add_text(&sql, ", ");
        buffer_add_quoted(&sql, q->json, '\'');
    }
    buffer_add_text(&sql, "))");
    return db_prepare_built(s->db, &sql, &q->rows, e);
}

/* SQLite's complaints tell what records are read for: their keys are the columns that it misses. */
static void prepare_question(const struct reading *r, const struct toml_node *table, struct batch_system *s,
                             struct batch_question *q)
{
    static const char missing[] = "no such column: ";
    struct error e = ERROR_INIT;
    for (char **c = q->columns; c && *c; c++)
        string_list_add(&q->names, **c ? xstrdup(*c) : xasprintf("column %zu", q->names.count + 1));
    while (prepare_rows(s, q, &e) < 0) {
        const char *name = strstr(e.text, missing);
        name = name ? name + sizeof missing - 1 : NULL;
        if (q->columns || !name || q->names.count > 100 || string_list_find(&q->names, name) < q->names.count) {
            problem_at_value(r, table, "fields: %s", e.text);
            return;
        }
        string_list_add(&q->names, xstrdup(name));
    }
}

static void check_states(const struct reading *r, const struct toml_node *states)
{
    for (size_t i = 0; states && i < states->child_count; i++) {
        const struct toml_node *n = &states->children[i];
        if (n->kind != NODE_STRING || batch_state_by_name(n->text) == BATCH_STRANGE)
            problem_at_value(r, n,
                             "a state must be one of PENDING, REQUEUED, STARTING, RUNNING, SUSPENDED, "
                             "COMPLETING, COMPLETED, FAILED, TIMEOUT, OUT_OF_MEMORY, NODE_FAIL, PREEMPTED, CANCELLED, "
                             "BOOT_FAIL, DEADLINE");
    }
}

static void read_question(const struct reading *r, const struct toml_node *table, const char *title,
                          struct batch_system *s, struct batch_question *q)
{
    struct schema schema = q == &s->queue ? schema_queue : schema_question;
    const struct toml_node *fields = toml_child(table, "fields"), *fallback = toml_child(table, "fallback");
    schema.title = title;
    schema_read(&schema, r, table, q);
    check_templates(r, toml_child(table, "command"));
    compile_all(r, table, PATTERNS(question_patterns), q);
    if (fields && fields->kind == NODE_TABLE)
        schema_read(&schema_fields, r, fields, q);
    const struct toml_node *columns = toml_child(table, "columns");
    if (columns && columns->child_count > BATCH_COLUMNS_MOST)
        problem_at_value(r, columns, "columns: at most %d can be read", BATCH_COLUMNS_MOST);
    if ((q->columns != NULL) + (q->pair.text != NULL) + (q->json != NULL) != 1)
        problem_at_value(r, table, "%s needs one of columns, pair and json: how its answer is read", title);
    else
        prepare_question(r, table, s, q);
    if (fallback && fallback->kind == NODE_TABLE) {
        q->fallback = xcalloc(1, sizeof *q->fallback);
        read_question(r, fallback, "a fallback", s, q->fallback);
    }
}

/* A queue whose records have no id or no state would never know any job. */
static void check_known(const struct reading *r, const struct toml_node *table, const struct batch_question *q)
{
    static const int needed[] = {ENTRY_ID, ENTRY_STATE};
    for (size_t i = 0; i < LENGTH(needed); i++) {
        const char *name = field_keys[needed[i]].name;
        if (!q->fields[needed[i]] && string_list_find(&q->names, name) == q->names.count)
            problem_at_value(r, table, "[queue] lacks fields.%s, or a column \"%s\"", name, name);
    }
}

static void read_queue(const struct reading *r, const struct toml_node *table, struct batch_system *s)
{
    read_question(r, table, "[queue]", s, &s->queue);
    for (const struct batch_question *q = &s->queue; q; q = q->fallback)
        check_known(r, table, q);
    s->states = toml_child(table, "states");
    s->changes = toml_child(table, "changes");
    const struct toml_node *stuck = toml_child(table, "stuck");
    s->stuck = stuck && schema_type_fits(stuck, TYPE_STRINGS) ? toml_strings(r->arena, stuck) : NULL;
    check_states(r, s->states);
}

static void question_free(struct batch_question *q)
{
    release_all(PATTERNS(question_patterns), q);
    string_list_free(&q->names);
    stmt_free(q->rows);
    if (q->fallback)
        question_free(q->fallback);
    free(q->fallback);
}

/* --- [submit] --- */

static void read_refusal(const struct reading *r, const struct toml_node *n, struct batch_system *s)
{
    if (!schema_expect(r, n, n->key, TYPE_STRING))
        return;
    struct batch_refusal_pattern *p = arena_add(r->arena, s->refusals, s->refusal_count);
    *p = (struct batch_refusal_pattern){{arena_text(r->arena, n->key), {0}}, REFUSAL_FINAL};
    p->means = (enum batch_refusal)(check_choice(r, n, refusal_words, 3) + REFUSAL_LIMIT);
    compile(r, n, &p->pattern);
}

static void read_reserved(const struct reading *r, const struct toml_node *list, struct batch_system *s)
{
    struct buffer b = BUFFER_INIT;
    for (size_t i = 0; i < list->child_count; i++)
        if (schema_expect(r, &list->children[i], "an exit status", TYPE_INT))
            buffer_printf(&b, "%s%lld", b.length ? " " : "", (long long)list->children[i].integer);
    s->reserved_exits = arena_keep(r->arena, buffer_take(&b));
}

static void read_submit(const struct reading *r, const struct toml_node *table, struct batch_system *s)
{
    static const char *const templates[] = {"command", "head", "request", "exclude", "whole", "member", "alone"};
    const struct toml_node *refusals = toml_child(table, "refusals"), *reserved = toml_child(table, "reserved_exits");
    for (size_t i = 0; i < LENGTH(templates); i++)
        check_templates(r, toml_child(table, templates[i]));
    compile_all(r, table, PATTERNS(submit_patterns), s);
    for (size_t i = 0; refusals && i < refusals->child_count; i++)
        read_refusal(r, &refusals->children[i], s);
    if (reserved)
        read_reserved(r, reserved, s);
    if (!s->rank != !s->hosts)
        problem_at_value(r, table, "[submit] needs both \"rank\" and \"hosts\", or neither");
    if (s->arrays != ARRAYS_NEVER && !s->task_variable)
        problem_at_value(r, table,
                         "[submit] lacks \"task_variable\", which tells a task its index; without arrays, "
                         "add arrays = \"never\"");
}

/* --- the file --- */

static void read_top(const struct reading *r, struct batch_system *s)
{
    const struct {
        const char *key, *title;
        struct batch_question *q;
    } questions[] = {{"accounting", "[accounting]", &s->accounting},
                     {"doubt", "[doubt]", &s->doubt},
                     {"end", "[end]", &s->end}};
    schema_read(&schema_system, r, s->tree, s);
    const struct toml_node *submit = toml_child(s->tree, "submit"), *queue = toml_child(s->tree, "queue");
    const struct toml_node *cancel = toml_child(s->tree, "cancel"), *fetch = toml_child(s->tree, "fetch");
    if (submit && submit->kind == NODE_TABLE)
        read_submit(r, submit, s);
    if (queue && queue->kind == NODE_TABLE)
        read_queue(r, queue, s);
    for (size_t i = 0; i < LENGTH(questions); i++) {
        const struct toml_node *table = toml_child(s->tree, questions[i].key);
        if (table && table->kind == NODE_TABLE)
            read_question(r, table, questions[i].title, s, questions[i].q);
    }
    check_templates(r, cancel ? toml_child(cancel, "command") : NULL);
    check_templates(r, fetch ? toml_child(fetch, "command") : NULL);
}

static void set_default(struct arena *p, char **text, const char *otherwise)
{
    if (!*text)
        *text = arena_text(p, otherwise);
}

static int read_text(const char *file, const char *text, struct batch_system *s, struct error *e)
{
    OWNED_BY(problems_free) struct problems problems = PROBLEMS_INIT;
    const struct reading r = {.arena = &s->arena, .problems = &problems, .file = file, .role = FILE_SWEEP};
    struct toml_fault fault;
    if (toml_parse(text, strlen(text), &s->tree, &fault) == 0) {
        read_top(&r, s);
    } else {
        problems_add(&problems, (struct position){file, fault.line, fault.column}, "%s", fault.message);
        free(fault.message);
    }
    set_default(&s->arena, &s->whole, "{id}");
    set_default(&s->arena, &s->member, "{id}_{task}");
    set_default(&s->arena, &s->alone, "{id}");
    set_default(&s->arena, &s->nodes, "$(hostname)");
    return problems_report(&problems, NULL, e);
}

/* "local, ssh, gridengine, slurm": the names of those that are built in. The caller's. */
static char *names_there_are(void)
{
    struct buffer b = BUFFER_INIT;
    buffer_add_text(&b, "local, ssh");
    for (const struct embedded_file *f = NULL; (f = embedded_next("executors/", f));) {
        OWNED char *stem = embedded_stem(f);
        buffer_printf(&b, ", %s", stem);
    }
    return buffer_take(&b);
}

/* The text of the file, and how it is called in messages; both the caller's. */
static int find_text(const char *name, const char *of, char **file, char **text, struct error *e)
{
    const char *dot = strrchr(name, '.');
    if (strchr(name, '/') || (dot && strcmp(dot, ".toml") == 0)) {
        static const char *const taken[] = {"local.toml", "slurm-step.toml", "ssh.toml", "import.toml"};
        struct buffer b = BUFFER_INIT;
        for (size_t i = 0; i < LENGTH(taken); i++)
            if (strcmp(path_name(name), taken[i]) == 0)
                return error_set(e, ERROR_USAGE,
                                 "%s: attempts are recorded under the file's name, and this one has "
                                 "another meaning; rename the file",
                                 name);
        *file = of ? path_beside(of, name) : xstrdup(name);
        int rc = file_read(*file, FILE_BYTES_MOST, &b, e);
        *text = buffer_take(&b);
        if (rc < 0 && e)
            e->kind = ERROR_USAGE;
        return rc;
    }
    char *path = xasprintf("executors/%s.toml", name);
    const char *built_in = embedded_text(path);
    *file = path;
    *text = built_in ? xstrdup(built_in) : NULL;
    if (built_in)
        return 0;
    OWNED char *names = names_there_are();
    error_set(e, ERROR_USAGE,
              "there is no executor \"%s\"; there are %s, and a file is given by its path, such as ./%s.toml", name,
              names, name);
    return -1;
}

int batch_system_load(const char *name, const char *of, struct batch_system **out, struct error *e)
{
    struct batch_system *s = xcalloc(1, sizeof *s);
    OWNED char *file = NULL, *text = NULL;
    const char *last = path_name(name), *dot = strrchr(last, '.');
    s->name = arena_keep(&s->arena, xstrndup(last, dot ? (size_t)(dot - last) : strlen(last)));
    int rc = find_text(name, of, &file, &text, e);
    if (rc == 0)
        rc = db_open(NULL, DB_TEMPORARY, &s->db, e);
    if (rc == 0 && text)
        rc = read_text(file, text, s, e);
    if (rc < 0)
        batch_system_free(s);
    else
        *out = s;
    return rc;
}

int batch_system_check_shared(const struct batch_system *s, bool shared, struct error *e)
{
    return shared || (s->fetch && s->has_description)
               ? 0
               : error_set(e, ERROR_USAGE, "[executor] shared = false: %s has no [fetch] by which results come back",
                           s->title);
}

void batch_system_free(struct batch_system *s)
{
    if (!s)
        return;
    release_all(PATTERNS(submit_patterns), s);
    for (size_t i = 0; i < s->refusal_count; i++)
        if (s->refusals[i].pattern.text)
            line_pattern_free(&s->refusals[i].pattern.compiled);
    question_free(&s->queue);
    question_free(&s->accounting);
    question_free(&s->doubt);
    question_free(&s->end);
    db_close(s->db);
    toml_free(s->tree);
    arena_free(&s->arena);
    free(s);
}

/* --- what its words mean --- */

bool batch_system_is_slurm(const struct batch_system *s)
{
    return strcmp(s->name, "slurm") == 0;
}

enum batch_state batch_system_state(const struct batch_system *s, const char *word)
{
    const struct toml_node *known = s->states ? toml_child(s->states, word) : NULL;
    return batch_state_by_name(known ? known->text : word);
}

const char *batch_system_change(const struct batch_system *s, const char *reason)
{
    for (size_t i = 0; s->changes && i < s->changes->child_count; i++)
        if (s->changes->children[i].kind == NODE_STRING && strstr(reason, s->changes->children[i].key))
            return s->changes->children[i].text;
    return NULL;
}

bool batch_pattern_finds(const struct batch_pattern *p, const char *text, size_t count, struct text_range *groups)
{
    bool found = false;
    char *copy = p->text ? xstrdup(text) : NULL, *rest = copy;
    /* Behind the last line break is no line. */
    for (char *line; !found && (line = strsep(&rest, "\r\n")) && (*line || rest || line == copy);) {
        found = line_pattern_match(&p->compiled, line, count, groups);
        for (size_t i = 0; found && i < count; i++)
            if (groups[i].begin >= 0)
                groups[i] = (struct text_range){groups[i].begin + (line - copy), groups[i].end + (line - copy)};
    }
    free(copy);
    return found;
}

enum batch_refusal batch_system_refusal(const struct batch_system *s, const char *said)
{
    for (size_t i = 0; i < s->refusal_count; i++)
        if (batch_pattern_finds(&s->refusals[i].pattern, said, 0, NULL))
            return s->refusals[i].means;
    return REFUSAL_FINAL;
}

char *batch_system_refusal_text(const struct batch_system *s, const char *said)
{
    struct buffer b = BUFFER_INIT;
    struct text_range head;
    char *copy = xstrdup(said), *rest = copy;
    for (char *line; (line = strsep(&rest, "\r\n"));) {
        if (s->refusal_drop.text && line_pattern_match(&s->refusal_drop.compiled, line, 0, NULL))
            continue;
        if (s->refusal_strip.text && line_pattern_match(&s->refusal_strip.compiled, line, 1, &head) && head.begin == 0)
            line += head.end;
        if (*line)
            buffer_printf(&b, "%s%s%.300s", b.length ? "; " : s->submit[0], b.length ? "" : ": ", line);
    }
    free(copy);
    return buffer_take(&b);
}

static char *id_by(const struct batch_pattern *p, const char *text)
{
    struct text_range groups[2];
    if (!batch_pattern_finds(p, text, 2, groups) || groups[1].end <= groups[1].begin)
        return NULL;
    return xstrndup(text + groups[1].begin, (size_t)(groups[1].end - groups[1].begin));
}

char *batch_system_id(const struct batch_system *s, const char *output, const char *errors, bool went_well)
{
    char *id = went_well ? id_by(&s->id, output) : NULL;
    id = id ? id : id_by(&s->id_anyway, output);
    return id ? id : id_by(&s->id_anyway, errors);
}
