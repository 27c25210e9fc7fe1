#include "sweep_file/reader.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "config/model_space.h"
#include "config/own_metrics.h"
#include "config/problems.h"
#include "config/template.h"
#include "sweep_file/reading.h"
#include "sweep_file/schema.h"
#include "toml/parse.h"
#include "util/buffer.h"
#include "util/embedded.h"
#include "util/file.h"
#include "util/hash.h"
#include "util/memory.h"
#include "util/string_list.h"
#include "util/suggest.h"

#define MOST_FILES 100

#define TOP_CLUSTER 2

/* --- the files of one sweep: the sweep file, what it includes and its profiles, read and parsed --- */

/* One of them while it is read. */
struct page {
    struct reading reading;
    struct toml_node *tree;
    struct found found;
};

struct gathering {
    struct reading common; /* what the readings of all pages have in common */
    struct page *pages;    /* as they take effect: profiles, included files before what includes them, the sweep file */
    size_t page_count, file_count;
    struct buffer text;            /* of everything but the sweep file */
    struct string_list identities; /* of what was included and the sweep file: each is read once */
};

/* A file being read and who asked for it: a cycle shows as a file among its own askers. */
struct asker {
    const struct reading *reading;
    const char *identity;
    const struct asker *asker;
};

/* Remembers a file's name for positions. `source` is for rules that name none. */
static struct reading reading_of(struct gathering *g, const char *file, enum file_role role, const char *source)
{
    struct reading r = g->common;
    g->file_count++;
    r.file = texts_add(r.arena, &r.sweep->files, file);
    r.role = role;
    r.source = source;
    return r;
}

static struct toml_node *parse_file(const struct reading *r, const char *text, size_t length)
{
    struct toml_fault fault;
    struct toml_node *tree;
    if (toml_parse(text, length, &tree, &fault) == 0)
        return tree;
    struct position at = {.file = r->file, .line = fault.line, .column = fault.column};
    problems_add(r->problems, at, "%s", fault.message);
    free(fault.message);
    return NULL;
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

static void load_file(struct gathering *g, const char *file, const char *identity, const char *text, size_t length,
                      const struct asker *asker);

static bool is_asker(const struct asker *asker, const char *identity)
{
    while (asker && strcmp(asker->identity, identity) != 0)
        asker = asker->asker;
    return asker;
}

static void include(struct gathering *g, const struct toml_node *node, const struct asker *asker)
{
    const struct reading *r = asker->reading;
    OWNED_BUFFER text = BUFFER_INIT;
    struct error e = ERROR_INIT;
    OWNED char *path = path_beside(r->file, node->text), *identity = path_absolute(path);
    if (is_asker(asker, identity))
        problem_at_value(r, node, "include cycle: %s includes itself, directly or through other files", path);
    else if (g->identities.count == MOST_FILES)
        problem_at_value(r, node, "more than %d files", MOST_FILES);
    else if (strings_have(g->identities.items, identity))
        return;
    else if (file_read(path, g->text.length < TOML_MOST_BYTES ? TOML_MOST_BYTES - g->text.length : 0, &text, &e) < 0)
        problem_at_value(r, node, "%s", e.text);
    else {
        buffer_add(&g->text, buffer_text(&text), text.length);
        load_file(g, path, identity, buffer_text(&text), text.length, asker);
    }
}

/* Included files come first, so that blocks stand in the order in which they would if they were pasted. */
static void load_file(struct gathering *g, const char *file, const char *identity, const char *text, size_t length,
                      const struct asker *asker)
{
    const struct reading r = reading_of(g, file, asker ? FILE_INCLUDE : FILE_SWEEP, "sweep file");
    const struct asker self = {&r, identity, asker};
    string_list_add(&g->identities, xstrdup(identity));
    struct toml_node *tree = parse_file(&r, text, length);
    if (!tree)
        return;
    const struct toml_node *first;
    size_t count = named(toml_child(tree, "include"), &first);
    for (size_t i = 0; i < count; i++)
        include(g, &first[i], &self);
    *array_add(g->pages, g->page_count) = (struct page){.reading = r, .tree = tree};
}

/* --- profiles --- */

static void unknown_profile(const struct reading *common, const char *name, struct position at)
{
    OWNED_LIST names = STRING_LIST_INIT;
    OWNED_BUFFER list = BUFFER_INIT;
    for (const struct embedded_file *f = NULL; (f = embedded_next("profiles/", f));)
        string_list_add(&names, embedded_stem(f));
    struct suggestion meant = SUGGEST(name, i, names.count, names.items[i]);
    for (size_t i = 0; i < names.count; i++)
        buffer_printf(&list, "%s%s", i ? ", " : "", names.items[i]);
    if (meant.near)
        problems_add(common->problems, at, "there is no profile \"%s\"%s", name, suggest_hint(&meant));
    else
        problems_add(common->problems, at, "there is no profile \"%s\"; there are %s, or give the path of a file", name,
                     buffer_text(&list));
}

static void load_profile(struct gathering *g, const char *name, struct position at)
{
    OWNED_BUFFER text = BUFFER_INIT;
    struct error e = ERROR_INIT;
    const bool is_carried = !strchr(name, '/') && !length_before(name, ".toml");
    OWNED char *whole = xasprintf("profiles/%s.toml", name);
    const char *carried = is_carried ? embedded_text(whole) : NULL;
    OWNED char *file = is_carried ? xasprintf("profile %s", name) : path_beside(g->common.sweep->path, name);
    if (carried) {
        buffer_add_text(&text, carried);
    } else if (is_carried) {
        unknown_profile(&g->common, name, at);
        return;
    } else if (file_read(file, TOML_MOST_BYTES, &text, &e) < 0) {
        problems_add(g->common.problems, at, "%s", e.text);
        return;
    }
    struct reading r = reading_of(g, file, FILE_PROFILE, arena_keep(g->common.arena, xasprintf("profile %s", name)));
    r.is_carried = is_carried;
    struct toml_node *tree = parse_file(&r, buffer_text(&text), text.length);
    buffer_add(&g->text, buffer_text(&text), text.length);
    if (tree)
        *array_add(g->pages, g->page_count) = (struct page){.reading = r, .tree = tree};
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
    return ANY(i, node->child_count,
               (node->children[i].key && is_zhen_group(node->children[i].key)) || has_zhen_group(&node->children[i]));
}

static void load_profiles(struct gathering *g)
{
    const struct page sweep = g->pages[g->page_count - 1];
    const struct toml_node *first, *node = toml_child(sweep.tree, "profile");
    size_t count = named(node, &first);
    char ***names = &g->common.sweep->profile_names;
    if (!node && ANY(i, g->page_count, has_zhen_group(g->pages[i].tree))) {
        texts_add(g->common.arena, names, "zhen");
        load_profile(g, "zhen", (struct position){.file = sweep.reading.file});
    }
    if (count > MOST_FILES)
        problem_at_value(&sweep.reading, node, "more than %d profiles", MOST_FILES);
    for (size_t i = 0; i < count && i < MOST_FILES; i++) {
        texts_add(g->common.arena, names, first[i].text);
        load_profile(g, first[i].text, reading_at_value(&sweep.reading, &first[i]));
    }
}

/* Profiles are read last, because the other files say which, and take effect first: the pages from there on. */
static void bring_forward(struct gathering *g, size_t from)
{
    struct page *pages = xreallocarray(NULL, g->page_count + 1, sizeof *pages);
    for (size_t i = 0; i < g->page_count; i++)
        pages[i] = g->pages[(from + i) % g->page_count];
    free(g->pages);
    g->pages = pages;
}

/* The base of every framework's predictions, under all other profiles, where any file has [predict]. */
static void load_prediction_base(struct gathering *g)
{
    const size_t before = g->page_count;
    if (ANY(i, before, toml_child(g->pages[i].tree, "predict")) &&
        !strings_have(g->common.sweep->profile_names, "predict")) {
        load_profile(g, "predict", (struct position){.file = g->common.sweep->path});
        bring_forward(g, before);
    }
}

/* Reads everything that the sweep's text asks for. Fills files, profile_rank, profile_names and profile_text; what
 * cannot be read is left out and reported. The profile "zhen" is taken when none is named and a section ties
 * (pp, dp, op). */
static void gather(struct gathering *g, const char *text, size_t length)
{
    struct sweep *s = g->common.sweep;
    OWNED char *identity = path_absolute(s->path);
    s->profile_names = arena_grow(&s->arena, NULL, 0, sizeof *s->profile_names);
    load_file(g, s->path, identity, text, length, NULL);
    const size_t included = g->page_count;
    s->profile_rank = g->file_count;
    if (included > 0 && g->pages[included - 1].reading.role == FILE_SWEEP)
        load_profiles(g);
    bring_forward(g, included);
    load_prediction_base(g);
    s->profile_text = arena_keep(&s->arena, buffer_take(&g->text));
}

/* --- [sweep] --- */

#define NAME_LONGEST 200

#define MOST_CONSTRAINTS 100

static void read_constraints(const struct reading *r, const struct toml_node *node)
{
    if (node->kind == NODE_LIST && node->child_count > MOST_CONSTRAINTS)
        problem_at_value(r, node, "more than %d constraints", MOST_CONSTRAINTS);
    else
        read_words(r, node, FORM_WORDS, "subject_to", &r->sweep->constraints);
}

/* It stands on lines for people and in names of files. */
static void read_name(const struct reading *r, const struct toml_node *name)
{
    if (!check_not_blank(r, name, "name"))
        return;
    if (strlen(name->text) > NAME_LONGEST)
        problem_at_value(r, name, "name is longer than %d bytes; use description for longer text", NAME_LONGEST);
    else
        r->sweep->name = arena_text(r->arena, name->text);
}

static void read_groups(const struct reading *r, const struct toml_node *list)
{
    read_words(r, list, FORM_KEYS, NULL, &r->sweep->groups);
    r->sweep->groups_given = true;
}

/* No key has a place in it: a run has all values of them. */
static void read_on_end(const struct reading *r, const struct toml_node *node)
{
    size_t count;
    const struct toml_node *texts = toml_texts(node, &count);
    if (count == 0)
        problem_at_value(r, node, "on_end is empty; give the program and its arguments");
    else if (check_not_blank(r, texts, "on_end"))
        r->sweep->on_end = node->kind == NODE_STRING ? shell_command(r, node->text) : toml_strings(r->arena, node);
}

const struct schema schema_sweep = {SCHEMA("[sweep]", KEYS_OF_SWEEP)};

/* --- what needs all files --- */

/* A metric may come from $MESHSWEEP_METRICS without a word in the file: then only the objective can say which way is
 * better. */
static bool own_direction(const struct reading *r, const struct listed_word *word, bool *maximise)
{
    const struct job_config *job = &r->sweep->job;
    const struct metric *metric = job_find_metric(job, word->text);
    if (metric) {
        *maximise = metric->maximise;
        return true;
    }
    if (problems_excused(r->problems, word->text))
        return false;
    struct suggestion meant = SUGGEST(word->text, i, job->metric_count, job->metrics[i].name);
    if (meant.near)
        problems_add(r->problems, word->at, "objective: there is no metric \"%s\"%s", word->text, suggest_hint(&meant));
    else
        problems_add(r->problems, word->at,
                     "objective: the direction of \"%s\" is missing; write \"max:%s\" or \"min:%s\"", word->text,
                     word->text, word->text);
    return false;
}

/* A table's word on a metric's direction holds: a latency is never made longer by a slip of the objective. */
static bool direction_agrees(const struct reading *r, const struct listed_word *word, const char *name, bool maximise)
{
    const struct metric *m = job_find_metric(&r->sweep->job, name);
    if (!m || !m->better_given || m->maximise == maximise)
        return true;
    problems_add(r->problems, word->at, "objective: \"%s\" contradicts better = \"%s\" of \"%s\" (%s:%d)", word->text,
                 m->maximise ? "max" : "min", name, m->at.file, m->at.line);
    return false;
}

/* Metrics that every attempt has need no table, but have a unit. */
static void declare_own_metric(const struct reading *r, const struct listed_word *word, const char *name)
{
    struct job_config *job = &r->sweep->job;
    const enum own_metric own = own_metric_by_name(name);
    if (!own || job_find_metric(job, name))
        return;
    *arena_add(r->arena, job->metrics, job->metric_count) =
        (struct metric){.name = arena_text(r->arena, name),
                        .reader = READER_FILE,
                        .unit = arena_text(r->arena, own_metrics[own].unit),
                        .take = TAKE_MEDIAN,
                        .at = word->at};
}

/* A job that comes from a table has what the table gives, what is worked out from that, and what every attempt has.
 * Where the table gives no metric at all, [import] is at fault. */
static bool has_source(const struct reading *r, const struct listed_word *word, const char *name)
{
    const struct sweep *s = r->sweep;
    const struct metric *metric = job_find_metric(&s->job, name);
    bool has = !sweep_is_imported(s) || own_metric_by_name(name) || (metric && metric->reader == READER_EXPRESSION);
    size_t given = 0;
    for (size_t i = 0; i < s->import.column_count; i++) {
        given += s->import.columns[i].is_metric;
        has |= s->import.columns[i].is_metric && strcmp(s->import.columns[i].name, name) == 0;
    }
    has |= given == 0;
    if (!has && !problems_excused(r->problems, name))
        problems_add(r->problems, word->at, "objective: jobs come from a table, but [import.metrics] has no \"%s\"",
                     name);
    return has;
}

static void finish_objective(const struct reading *r, const struct listed_word *word)
{
    struct sweep *s = r->sweep;
    const char *colon = strchr(word->text, ':');
    const char *name = colon ? colon + 1 : word->text;
    bool maximise = strncmp(word->text, "max:", 4) == 0;
    if (colon && !maximise && strncmp(word->text, "min:", 4) != 0) {
        problems_add(r->problems, word->at, "objective: \"%s\" must begin with \"max:\" or \"min:\"", word->text);
        return;
    }
    declare_own_metric(r, word, name);
    if (!check_entry_name(r, word->at, name, "metric") || (!colon && !own_direction(r, word, &maximise)))
        return;
    if (!direction_agrees(r, word, name, maximise) || !has_source(r, word, name))
        return;
    for (size_t i = 0; i < s->objective_count; i++) {
        if (strcmp(s->objectives[i].metric, name) == 0) {
            problems_add(r->problems, word->at, "objective: \"%s\" is listed twice", name);
            return;
        }
    }
    *arena_add(r->arena, s->objectives, s->objective_count) = (struct objective){arena_text(r->arena, name), maximise};
}

#define MOST_OBJECTIVES 100

static void finish_objectives(const struct reading *r)
{
    const struct word_list *objectives = &r->sweep->objective_words;
    if (objectives->count > MOST_OBJECTIVES) {
        problems_add(r->problems, objectives->items[0].at, "more than %d objectives", MOST_OBJECTIVES);
        return;
    }
    for (size_t i = 0; i < objectives->count; i++)
        finish_objective(r, &objectives->items[i]);
}

/* dsat's names of what the profile "deepspeed" calls otherwise, where the sweep does not know them. */
static const char *usual_name(const struct sweep *s, const char *text)
{
    static const char *const names[][2] = {{"FLOPS_per_gpu", "flops_per_gpu"}, {"forward", "fwd"}, {"backward", "bwd"}};
    for (size_t i = 0; i < LENGTH(names); i++)
        if (strcmp(text, names[i][0]) == 0 && !job_find_metric(&s->job, text) && job_find_metric(&s->job, names[i][1]))
            return names[i][1];
    return text;
}

int sweep_set_objective(struct sweep *s, const char *text, struct error *e)
{
    text = usual_name(s, text);
    OWNED_BY(problems_free) struct problems problems = PROBLEMS_INIT;
    const struct reading r = {.sweep = s, .arena = &s->arena, .problems = &problems, .file = s->path};
    const struct listed_word word = {text, {NULL, 0, 0}};
    OWNED_BUFFER identity = BUFFER_INIT;
    s->objective_count = 0;
    finish_objective(&r, &word);
    buffer_add(&identity, s->hash.bytes, sizeof s->hash.bytes);
    buffer_add_text(&identity, text);
    s->hash = hash_bytes(identity.data, identity.length);
    return problems_report(&problems, s->files, e);
}

/* Adds what is not there yet. */
static void add_label(const struct reading *r, const char *text)
{
    if (!strings_have(r->sweep->labels, text))
        texts_add(r->arena, &r->sweep->labels, text);
}

static void finish_labels(const struct reading *r)
{
    /* The name of what a table has and nothing runs may be all that tells two models apart. */
    if (!(r->sweep->import.given && !r->sweep->job.command.words))
        add_label(r, "name");
    add_label(r, "description");
    for (size_t i = 0; i < r->sweep->notes.count; i++)
        add_label(r, r->sweep->notes.items[i].text);
}

void sweep_free(struct sweep *s)
{
    if (s)
        arena_free(&s->arena);
    free(s);
}

void sweep_release(struct sweep **at)
{
    sweep_free(*at);
}

/* --- from documents to a sweep --- */

const struct schema schema_top = {SCHEMA("the file", KEYS_OF_TOP)};

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

static void read_pages(struct gathering *g, bool complete)
{
    for (struct page *p = g->pages; p < g->pages + g->page_count; p++) {
        p->found = schema_match(&schema_top, &p->reading, p->tree);
        schema_take(&p->reading, &p->found, p->reading.sweep);
    }
    for (size_t i = 0; i < g->page_count; i++)
        read_sections(&g->pages[i]);
    if (g->page_count > 0)
        finish_sweep(&g->pages[g->page_count - 1].reading, complete);
    free(g->common.types->items);
    for (size_t i = 0; i < g->page_count; i++)
        toml_free(g->pages[i].tree);
    free(g->pages);
    string_list_free(&g->identities);
}

/* The file's name without its directory and ".toml". The caller's. */
static char *base_name(const char *path)
{
    const char *base = path_name(path);
    const size_t length = length_before(base, ".toml");
    return xstrndup(base, length ? length : strlen(base));
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
    struct sweep *s = xcalloc(1, sizeof *s);
    struct hf_type_table types = {0};
    struct gathering g = {.common = {.sweep = s, .arena = &s->arena, .problems = problems, .types = &types}};
    schema_set_defaults(&schema_top, s);
    schema_set_defaults(&schema_local, s);
    s->batch.shared = true;
    model_info_set_defaults(s);
    s->job.pass_environment = arena_grow(&s->arena, NULL, 0, sizeof *s->job.pass_environment);
    s->job.secrets = arena_grow(&s->arena, NULL, 0, sizeof *s->job.secrets);
    s->path = arena_text(&s->arena, path);
    s->text = arena_keep(&s->arena, xstrndup(text, length));
    gather(&g, text, length);
    read_pages(&g, problems->found == 0);
    if (!s->name)
        s->name = arena_keep(&s->arena, base_name(path));
    if (!s->description)
        s->description = arena_text(&s->arena, "");
    s->hash = hash_texts(s);
    return s;
}

int sweep_parse(const char *path, const char *text, size_t length, struct sweep **out, struct error *e)
{
    OWNED_BY(problems_free) struct problems problems = PROBLEMS_INIT;
    struct sweep *s = parse(path, text, length, &problems);
    int rc = problems_report(&problems, s->files, e);
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
