#include "sweep_file/reader.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "config/problems.h"
#include "sweep_file/documents.h"
#include "sweep_file/reading.h"
#include "sweep_file/schema.h"
#include "sweep_file/sections.h"
#include "toml/parse.h"
#include "util/buffer.h"
#include "util/file.h"
#include "util/memory.h"

#define DEFAULT_GRACE_MS 5000
#define DEFAULT_BACKOFF_MS 1000
#define DEFAULT_BACKOFF_MAX_MS 300000
#define DEFAULT_PLACE_MS 1800000

static const struct schema_key top_keys[] = {
    {.name = "profile", TYPE_STRING | TYPE_STRINGS, FILE_SWEEP},
    {.name = "include", TYPE_STRING | TYPE_STRINGS, SPACE},
    /* The sections, in the order of enum section_kind. */
    {.name = "cluster_spec", TYPE_TABLE | TYPE_TABLES, SPACE},
    {.name = "model", TYPE_TABLE | TYPE_TABLES, SPACE},
    {.name = "training_spec", TYPE_TABLE | TYPE_TABLES, SPACE},
    {.name = "parallel_spec", TYPE_TABLE | TYPE_TABLES, SPACE},
    {.name = "sweep", TYPE_TABLE, EVERY, .read = read_sweep_table, .of = &schema_sweep},
    {.name = "job", TYPE_TABLE, DEFAULTS, .read = read_job, .of = &schema_job},
    {.name = "metrics",
     TYPE_TABLE,
     DEFAULTS,
     .read = read_derived_metrics,
     .of = &schema_derived_metric,
     .named = true},
    {.name = "derive", TYPE_TABLE, EVERY, .read = read_derive},
    {.name = "synonym", TYPE_TABLE, EVERY, .read = read_synonyms},
    {.name = "inert", TYPE_TABLE, EVERY, .read = read_inert},
    {.name = "rule", TYPE_TABLES, EVERY, .read = read_rules, .of = &schema_rule},
    {.name = "failure", TYPE_TABLES, EVERY, .read = read_failures, .of = &schema_failure},
    {.name = "retry", TYPE_TABLE, DEFAULTS, .read = read_retry, .of = &schema_retry},
    {.name = "device", TYPE_TABLES, EVERY, .read = read_device_rows, .of = &schema_device},
    {.name = "model_type", TYPE_TABLES, EVERY, .read = read_model_types, .of = &schema_model_type},
    {.name = "deepspeed", TYPE_TABLE, DEFAULTS, .read = read_deepspeed, .of = &schema_deepspeed},
    {.name = "model_space", TYPE_TABLE, EVERY, .read = read_model_space, .of = &schema_model_space},
    {.name = "model_info", TYPE_TABLE, FILE_SWEEP, .read = read_model_info, .of = &schema_model_info},
    {.name = "predict", TYPE_TABLE, DEFAULTS, .read = read_predict, .of = &schema_predict},
    {.name = "import", TYPE_TABLE, DEFAULTS, .read = read_import, .of = &schema_import},
    {.name = "search", TYPE_TABLE, DEFAULTS, .read = read_search, .of = &schema_search},
    {.name = "slurm", TYPE_TABLE, DEFAULTS, .read = read_slurm, .of = &schema_slurm},
    {.name = "local", TYPE_TABLE, DEFAULTS, .read = read_local, .of = &schema_local},
};
const struct schema schema_top = {"the file", SCHEMA_KEYS(top_keys)};

#define TOP_CLUSTER 2

/* One document while it is read. */
struct page {
    struct reading reading;
    const struct toml_node *found[sizeof top_keys / sizeof *top_keys];
};

static void read_sections(const struct page *page)
{
    for (int kind = 0; kind < SECTION_COUNT; kind++)
        if (page->found[TOP_CLUSTER + kind])
            read_section(&page->reading, (enum section_kind)kind, page->found[TOP_CLUSTER + kind]);
}

/* What compares one part of the file with another says nothing useful where a file could not be read. */
static void finish(const struct reading *r, bool complete)
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
    struct page *pages = xcalloc(d->count, sizeof *pages);
    for (size_t i = 0; i < d->count; i++) {
        pages[i].reading = (struct reading){.sweep = s,
                                            .problems = problems,
                                            .gathered = &gathered,
                                            .file = d->items[i].file,
                                            .source = d->items[i].source,
                                            .role = d->items[i].role,
                                            .is_carried = d->items[i].is_carried};
        schema_match(&schema_top, &pages[i].reading, d->items[i].tree, pages[i].found);
        schema_take(&schema_top, &pages[i].reading, pages[i].found, s);
    }
    words_sort(&gathered.list_values);
    for (size_t i = 0; i < d->count; i++)
        read_sections(&pages[i]);
    if (d->count > 0)
        finish(&pages[d->count - 1].reading, complete);
    free(pages);
    words_free(&gathered.objectives);
    words_free(&gathered.notes);
    words_free(&gathered.list_values);
    hf_type_table_free(&gathered.types);
}

/* The file's name without its directory and ".toml". */
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
    struct buffer all = BUFFER_INIT;
    buffer_add(&all, s->text, strlen(s->text) + 1);
    buffer_add_text(&all, s->profile_text);
    struct hash128 hash = hash_bytes(all.data, all.length);
    buffer_free(&all);
    return hash;
}

/* Filled as far as the text could be read. */
static struct sweep *parse(const char *path, const char *text, size_t length, struct problems *problems)
{
    struct documents documents = DOCUMENTS_INIT;
    struct sweep *s = xcalloc(1, sizeof *s);
    s->job.grace_ms = DEFAULT_GRACE_MS;
    s->retry_backoff_ms = DEFAULT_BACKOFF_MS;
    s->retry_backoff_max_ms = DEFAULT_BACKOFF_MAX_MS;
    s->retry_place_ms = DEFAULT_PLACE_MS;
    s->job.repeat = 1;
    executors_set_defaults(s);
    model_info_set_defaults(s);
    s->job.pass_environment = xcalloc(1, sizeof *s->job.pass_environment);
    s->job.secrets = xcalloc(1, sizeof *s->job.secrets);
    documents_read(path, text, length, s, &documents, problems);
    read_documents(s, &documents, problems);
    if (!s->name)
        s->name = base_name(path);
    if (!s->description)
        s->description = xstrdup("");
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
    struct buffer text = BUFFER_INIT;
    int rc = read_text(path, &text, e);
    if (rc == 0)
        rc = sweep_parse(path, buffer_text(&text), text.length, out, e);
    buffer_free(&text);
    return rc;
}

int sweep_read(const char *path, struct sweep **out, struct problems *problems, struct error *e)
{
    struct buffer text = BUFFER_INIT;
    int rc = read_text(path, &text, e);
    if (rc == 0)
        *out = parse(path, buffer_text(&text), text.length, problems);
    buffer_free(&text);
    return rc;
}
