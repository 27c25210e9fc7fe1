#include "sweep_file/reader.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "config/problems.h"
#include "sweep_file/reading.h"
#include "sweep_file/schema.h"
#include "toml/parse.h"
#include "util/buffer.h"
#include "util/embedded.h"
#include "util/file.h"
#include "util/memory.h"
#include "util/string_list.h"
#include "util/suggest.h"

#define MOST_FILES 100

#define TOP_CLUSTER 2

/* --- the files of one sweep: the sweep file, what it includes and its profiles, read and parsed --- */

struct document {
    const char *file; /* as in positions; borrowed from the sweep */
    enum file_role role;
    bool is_carried;    /* a profile that the program carries with it */
    const char *source; /* for rules that name none */
    struct toml_node *tree;
};

/* In the order in which they take effect: profiles, included files (before the file that includes them), the sweep
 * file. */
struct documents {
    struct document *items;
    size_t count;
};

struct gathering {
    struct sweep *sweep;
    struct problems *problems;
    struct documents *documents;
    size_t file_count;
    struct buffer text;            /* of everything but the sweep file */
    struct string_list identities; /* of what was included and the sweep file: each is read once */
};

/* A file being read and who asked for it: a cycle shows as a file among its own askers. */
struct asker {
    const char *file;
    const char *identity;
    const struct asker *asker;
};

/* Remembers a file's name for positions. */
static const char *add_file(struct gathering *g, const char *name)
{
    g->file_count++;
    return texts_add(&g->sweep->arena, &g->sweep->files, name);
}

static void add_document(struct gathering *g, struct document document)
{
    struct documents *d = g->documents;
    *array_add(d->items, d->count) = document;
}

static struct toml_node *parse_file(struct gathering *g, const char *file, const char *text, size_t length)
{
    struct toml_fault fault;
    struct toml_node *tree;
    if (toml_parse(text, length, &tree, &fault) == 0)
        return tree;
    struct position at = {.file = file, .line = fault.line, .column = fault.column};
    problems_add(g->problems, at, "%s", fault.message);
    free(fault.message);
    return NULL;
}

static struct position at_node(const char *file, const struct toml_node *node)
{
    return (struct position){.file = file, .line = node->line, .column = node->column};
}

/* The names in a `profile` or `include` key: itself or the strings of its list. The schema complains of wrong types. */
static size_t named(const struct toml_node *node, const struct toml_node **first)
{
    size_t count = 0;
    const bool good = node && schema_type_fits(node, TYPE_STRING | TYPE_STRINGS);
    *first = good ? toml_texts(node, &count) : NULL;
    return count;
}

/* --- the sweep file and what it includes --- */

static void load_file(struct gathering *g, const char *file, const char *text, size_t length, const struct asker *self);

static bool is_asker(const struct asker *asker, const char *identity)
{
    while (asker && strcmp(asker->identity, identity) != 0)
        asker = asker->asker;
    return asker;
}

/* Bytes that may still be read, so that files within the limit do not add up beyond it. */
static size_t bytes_left(const struct gathering *g)
{
    return g->text.length < TOML_MOST_BYTES ? TOML_MOST_BYTES - g->text.length : 0;
}

static void load_included(struct gathering *g, const char *path, struct position at, const struct asker *self)
{
    OWNED_BUFFER text = BUFFER_INIT;
    struct error e = ERROR_INIT;
    if (file_read(path, bytes_left(g), &text, &e) < 0) {
        problems_add(g->problems, at, "%s", e.text);
    } else {
        buffer_add(&g->text, buffer_text(&text), text.length);
        load_file(g, path, buffer_text(&text), text.length, self);
    }
}

static void include(struct gathering *g, const struct toml_node *node, const struct asker *asker)
{
    struct position at = at_node(asker->file, node);
    OWNED char *path = path_beside(asker->file, node->text);
    OWNED char *identity = path_absolute(path);
    if (is_asker(asker, identity)) {
        problems_add(g->problems, at, "include cycle: %s includes itself, directly or through other files", path);
    } else if (g->identities.count == MOST_FILES) {
        problems_add(g->problems, at, "more than %d files", MOST_FILES);
    } else if (!strings_have(g->identities.items, identity)) {
        struct asker self = {.file = path, .identity = identity, .asker = asker};
        load_included(g, path, at, &self);
    }
}

/* Included files come first, so that blocks stand in the order in which they would if they were pasted. */
static void load_file(struct gathering *g, const char *file, const char *text, size_t length, const struct asker *self)
{
    bool is_sweep = !self->asker;
    string_list_add(&g->identities, xstrdup(self->identity));
    const char *name = add_file(g, file);
    struct toml_node *tree = parse_file(g, name, text, length);
    if (!tree)
        return;
    const struct toml_node *first;
    size_t count = named(toml_child(tree, "include"), &first);
    struct asker asker = {.file = name, .identity = self->identity, .asker = self->asker};
    for (size_t i = 0; i < count; i++)
        include(g, &first[i], &asker);
    add_document(g, (struct document){.file = name,
                                      .role = is_sweep ? FILE_SWEEP : FILE_INCLUDE,
                                      .source = "sweep file",
                                      .tree = tree});
}

/* --- profiles --- */

static bool is_path(const char *name)
{
    size_t length = strlen(name);
    return strchr(name, '/') || (length > 5 && strcmp(name + length - 5, ".toml") == 0);
}

static void unknown_profile(struct gathering *g, const char *name, struct position at)
{
    OWNED_LIST names = STRING_LIST_INIT;
    OWNED_BUFFER list = BUFFER_INIT;
    for (const struct embedded_file *f = NULL; (f = embedded_next("profiles/", f));)
        string_list_add(&names, embedded_stem(f));
    const char *near = suggest_nearest(name, (const char *const *)names.items, names.count);
    for (size_t i = 0; i < names.count; i++)
        buffer_printf(&list, "%s%s", i ? ", " : "", names.items[i]);
    if (near)
        problems_add(g->problems, at, "there is no profile \"%s\"; did you mean \"%s\"?", name, near);
    else
        problems_add(g->problems, at, "there is no profile \"%s\"; there are %s, or give the path of a file", name,
                     buffer_text(&list));
}

/* The profile's text, and in `*file` what positions in it are to say. */
static int read_profile(struct gathering *g, const char *name, struct position at, struct buffer *text, char **file)
{
    if (is_path(name)) {
        struct error e = ERROR_INIT;
        char *path = path_beside(g->sweep->path, name);
        if (file_read(path, TOML_MOST_BYTES, text, &e) < 0) {
            problems_add(g->problems, at, "%s", e.text);
            free(path);
            return -1;
        }
        *file = path;
        return 0;
    }
    OWNED char *whole = xasprintf("profiles/%s.toml", name);
    const char *embedded = embedded_text(whole);
    if (!embedded) {
        unknown_profile(g, name, at);
        return -1;
    }
    buffer_add_text(text, embedded);
    *file = xasprintf("profile %s", name);
    return 0;
}

static void load_profile(struct gathering *g, const char *name, struct position at)
{
    OWNED_BUFFER text = BUFFER_INIT;
    char *file;
    if (read_profile(g, name, at, &text, &file) == 0) {
        const char *kept = add_file(g, file);
        struct toml_node *tree = parse_file(g, kept, buffer_text(&text), text.length);
        buffer_add(&g->text, buffer_text(&text), text.length);
        if (tree)
            add_document(g, (struct document){.file = kept,
                                              .role = FILE_PROFILE,
                                              .is_carried = !is_path(name),
                                              .source = arena_keep(&g->sweep->arena, xasprintf("profile %s", name)),
                                              .tree = tree});
        free(file);
    }
}

/* ZHEN's files name no profile; this key is how they are known. */
static bool is_zhen_group(const char *key)
{
    struct arena p = {0};
    char **names;
    size_t count;
    const bool same = group_parse(&p, key, &names, &count) && count == 3 && strcmp(names[0], "pp") == 0 &&
                      strcmp(names[1], "dp") == 0 && strcmp(names[2], "op") == 0;
    arena_free(&p);
    return same;
}

static bool has_zhen_group(const struct toml_node *node)
{
    if (node->kind != NODE_TABLE && node->kind != NODE_LIST)
        return false;
    for (size_t i = 0; i < node->child_count; i++) {
        const struct toml_node *child = &node->children[i];
        if ((child->key && child->key[0] == '(' && is_zhen_group(child->key)) || has_zhen_group(child))
            return true;
    }
    return false;
}

static void load_profiles(struct gathering *g, size_t included)
{
    const struct document sweep = g->documents->items[included - 1];
    const struct toml_node *first, *node = toml_child(sweep.tree, "profile");
    size_t count = named(node, &first);
    bool zhen = false;
    for (size_t i = 0; !node && !zhen && i < included; i++)
        zhen = has_zhen_group(g->documents->items[i].tree);
    if (zhen) {
        texts_add(&g->sweep->arena, &g->sweep->profile_names, "zhen");
        load_profile(g, "zhen", (struct position){.file = sweep.file});
    }
    if (count > MOST_FILES)
        problems_add(g->problems, at_node(sweep.file, node), "more than %d profiles", MOST_FILES);
    for (size_t i = 0; i < count && i < MOST_FILES; i++) {
        texts_add(&g->sweep->arena, &g->sweep->profile_names, first[i].text);
        load_profile(g, first[i].text, at_node(sweep.file, &first[i]));
    }
}

/* Profiles are read last, because the other files say which, and take effect first. */
static void profiles_first(struct documents *d, size_t included)
{
    struct document *items = xreallocarray(NULL, d->count + 1, sizeof *items);
    size_t profiles = d->count - included;
    for (size_t i = 0; i < d->count; i++)
        items[i < included ? i + profiles : i - included] = d->items[i];
    free(d->items);
    d->items = items;
}

/* The base of every framework's predictions, under all other profiles, where any file has [predict]. */
static void load_prediction_base(struct gathering *g)
{
    struct documents *d = g->documents;
    bool asked = false;
    for (size_t i = 0; i < d->count; i++)
        asked |= toml_child(d->items[i].tree, "predict") != NULL;
    for (size_t i = 0; g->sweep->profile_names[i]; i++)
        asked &= strcmp(g->sweep->profile_names[i], "predict") != 0;
    size_t before = d->count;
    if (asked)
        load_profile(g, "predict", (struct position){.file = g->sweep->path});
    if (d->count == before)
        return;
    struct document base = d->items[before];
    memmove(d->items + 1, d->items, before * sizeof *d->items);
    d->items[0] = base;
}

/* Reads everything that `text` asks for. Fills path, text, files, profile_rank, profile_names and profile_text of
 * `s`; what cannot be read is left out and reported to `p`. The profile "zhen" is taken when none is named and a
 * section ties (pp, dp, op). */
static void documents_read(const char *path, const char *text, size_t length, struct sweep *s, struct documents *d,
                           struct problems *p)
{
    struct gathering g = {.sweep = s, .problems = p, .documents = d, .text = BUFFER_INIT};
    s->path = arena_text(&s->arena, path);
    s->text = arena_keep(&s->arena, xstrndup(text, length));
    s->profile_names = arena_grow(&s->arena, NULL, 0, sizeof *s->profile_names);
    OWNED char *identity = path_absolute(path);
    load_file(&g, path, text, length, &(struct asker){.file = path, .identity = identity});
    size_t included = d->count;
    s->profile_rank = g.file_count;
    if (included > 0 && d->items[included - 1].role == FILE_SWEEP)
        load_profiles(&g, included);
    profiles_first(d, included);
    load_prediction_base(&g);
    s->profile_text = arena_keep(&s->arena, buffer_take(&g.text));
    string_list_free(&g.identities);
}

static void documents_free(struct documents *d)
{
    for (size_t i = 0; i < d->count; i++)
        toml_free(d->items[i].tree);
    free(d->items);
    *d = (struct documents){NULL, 0};
}

/* --- from documents to a sweep --- */

#define AT(member) offsetof(struct sweep, member)

static const struct schema_key top_keys[] = {
    {.name = "profile", TYPE_STRING | TYPE_STRINGS, FILE_SWEEP},
    {.name = "include", TYPE_STRING | TYPE_STRINGS, SPACE},
    /* The sections, in the order of enum section_kind. */
    {.name = "cluster_spec", TYPE_TABLE | TYPE_TABLES, SPACE},
    {.name = "model", TYPE_TABLE | TYPE_TABLES, SPACE},
    {.name = "training_spec", TYPE_TABLE | TYPE_TABLES, SPACE},
    {.name = "parallel_spec", TYPE_TABLE | TYPE_TABLES, SPACE},
    {.name = "sweep", TYPE_TABLE, EVERY, TABLE(schema_sweep)},
    {.name = "job", TYPE_TABLE, DEFAULTS, TABLE(schema_job)},
    {.name = "metrics",
     TYPE_TABLE,
     DEFAULTS,
     TABLES(AT(job.metric_count), "metrics", schema_derived_metric),
     .named = "metric"},
    {.name = "fixture", TYPE_TABLES, DEFAULTS, TABLES(AT(fixture_count), "fixtures", schema_fixture)},
    {.name = "derive", TYPE_TABLE, EVERY, NAMES(AT(derived_count), derived_entries, "derived keys")},
    {.name = "synonym", TYPE_TABLE, EVERY, WALK(AT(synonym_count), read_synonym, "synonyms")},
    {.name = "inert", TYPE_TABLE, EVERY, WALK(AT(inert_count), read_inert, "inert keys")},
    {.name = "was", TYPE_TABLE, FILE_SWEEP, WALK(AT(was_count), read_was, "keys")},
    {.name = "rule", TYPE_TABLES, EVERY, TABLES(AT(rule_count), "rules", schema_rule)},
    {.name = "failure", TYPE_TABLES, EVERY, TABLES(AT(failure_count), "failure patterns", schema_failure)},
    {.name = "retry", TYPE_TABLE, DEFAULTS, TABLE(schema_retry)},
    {.name = "device", TYPE_TABLES, EVERY, TABLES(AT(devices.count), "devices", schema_device)},
    {.name = "model_type", TYPE_TABLES, EVERY, .read = read_model_types, .of = &schema_model_type},
    {.name = "deepspeed", TYPE_TABLE, DEFAULTS, TABLE(schema_deepspeed)},
    {.name = "model_space", TYPE_TABLE, EVERY, .read = read_model_space, .of = &schema_model_space},
    {.name = "model_info", TYPE_TABLE, FILE_SWEEP, TABLE(schema_model_info)},
    {.name = "predict", TYPE_TABLE, DEFAULTS, TABLE(schema_predict)},
    {.name = "import", TYPE_TABLE, DEFAULTS, TABLE(schema_import)},
    {.name = "search", TYPE_TABLE, DEFAULTS, TABLE(schema_search)},
    {.name = "slurm", TYPE_TABLE, DEFAULTS, TABLE(schema_slurm)},
    {.name = "executor", TYPE_TABLE, DEFAULTS, TABLE(schema_executor)},
    {.name = "ssh", TYPE_TABLE, DEFAULTS, TABLE(schema_ssh)},
    {.name = "local", TYPE_TABLE, DEFAULTS, TABLE(schema_local)},
};
const struct schema schema_top = {"the file", SCHEMA_KEYS(top_keys)};

/* One document while it is read. */
struct page {
    struct reading reading;
    struct found found;
};

static void read_sections(const struct page *page)
{
    for (int kind = 0; kind < SECTION_COUNT; kind++)
        if (page->found.nodes[TOP_CLUSTER + kind])
            read_section(&page->reading, (enum section_kind)kind, page->found.nodes[TOP_CLUSTER + kind]);
}

/* Comparisons of one part with another say nothing useful where a file could not be read. */
static void finish_sweep(const struct reading *r, bool complete)
{
    finish_labels(r);
    finish_profile_steps(r->sweep);
    finish_job(&r->sweep->job);
    if (!complete) {
        problems_excuse_all(r->problems);
        return;
    }
    finish_objectives(r);
    check_sections(r);
    check_model_info(r);
}

static void read_documents(struct sweep *s, const struct documents *d, struct problems *problems)
{
    bool complete = problems->found == 0;
    struct gathered gathered = {0};
    OWNED struct page *pages = xcalloc(d->count, sizeof *pages);
    for (size_t i = 0; i < d->count; i++) {
        pages[i].reading = (struct reading){.sweep = s,
                                            .arena = &s->arena,
                                            .problems = problems,
                                            .gathered = &gathered,
                                            .file = d->items[i].file,
                                            .source = d->items[i].source,
                                            .role = d->items[i].role,
                                            .is_carried = d->items[i].is_carried};
        pages[i].found = schema_match(&schema_top, &pages[i].reading, d->items[i].tree);
        schema_take(&pages[i].reading, &pages[i].found, s);
    }
    words_sort(&gathered.list_values);
    for (size_t i = 0; i < d->count; i++)
        read_sections(&pages[i]);
    if (d->count > 0)
        finish_sweep(&pages[d->count - 1].reading, complete);
    free(gathered.types.items);
}

/* The file's name without its directory and ".toml". The caller's. */
static char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    const char *base = slash ? slash + 1 : path;
    size_t length = strlen(base);
    if (length > 5 && strcmp(base + length - 5, ".toml") == 0)
        length -= 5;
    return xstrndup(base, length);
}

static struct hash128 hash_texts(const struct sweep *s)
{
    OWNED_BUFFER all = BUFFER_INIT;
    buffer_add(&all, s->text, strlen(s->text) + 1);
    buffer_add_text(&all, s->profile_text);
    return hash_bytes(all.data, all.length);
}

/* Filled as far as the text could be read. */
static struct sweep *parse(const char *path, const char *text, size_t length, struct problems *problems)
{
    struct documents documents = {NULL, 0};
    struct sweep *s = xcalloc(1, sizeof *s);
    schema_set_defaults(&schema_top, s);
    schema_set_defaults(&schema_local, s);
    s->batch.shared = true;
    model_info_set_defaults(s);
    s->job.pass_environment = arena_grow(&s->arena, NULL, 0, sizeof *s->job.pass_environment);
    s->job.secrets = arena_grow(&s->arena, NULL, 0, sizeof *s->job.secrets);
    documents_read(path, text, length, s, &documents, problems);
    read_documents(s, &documents, problems);
    if (!s->name)
        s->name = arena_keep(&s->arena, base_name(path));
    if (!s->description)
        s->description = arena_text(&s->arena, "");
    s->hash = hash_texts(s);
    documents_free(&documents);
    return s;
}

int sweep_parse(const char *path, const char *text, size_t length, struct sweep **out, struct error *e)
{
    struct problems problems = PROBLEMS_INIT;
    struct sweep *s = parse(path, text, length, &problems);
    int rc = problems_report(&problems, s->files, e);
    problems_free(&problems);
    if (rc == 0)
        *out = s;
    else
        sweep_free(s);
    return rc;
}

static int read_text(const char *path, struct buffer *text, struct error *e)
{
    if (access(path, F_OK) < 0 && errno == ENOENT)
        return error_set(e, ERROR_USAGE,
                         "%s: no such file; name the sweep file with -c FILE, or write one with meshsweep init", path);
    int rc = file_read(path, TOML_MOST_BYTES, text, e);
    if (rc < 0 && e)
        e->kind = ERROR_USAGE;
    return rc;
}

int sweep_load(const char *path, struct sweep **out, struct error *e)
{
    OWNED_BUFFER text = BUFFER_INIT;
    int rc = read_text(path, &text, e);
    if (rc == 0)
        rc = sweep_parse(path, buffer_text(&text), text.length, out, e);
    return rc;
}

int sweep_read(const char *path, struct sweep **out, struct problems *problems, struct error *e)
{
    OWNED_BUFFER text = BUFFER_INIT;
    int rc = read_text(path, &text, e);
    if (rc == 0)
        *out = parse(path, buffer_text(&text), text.length, problems);
    return rc;
}
