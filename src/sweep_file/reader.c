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

/* One document while it is read. */
struct page {
    struct reading reading;
    const struct toml_node *found[TOP_COUNT];
};

static void read_tables(const struct page *page)
{
    static const struct {
        enum top_key key;
        void (*read)(const struct reading *r, const struct toml_node *node);
    } readers[] = {
        {TOP_SWEEP, read_sweep_table},
        {TOP_JOB, read_job},
        {TOP_METRICS, read_derived_metrics},
        {TOP_DERIVE, read_derive},
        {TOP_RULE, read_rules},
        {TOP_FAILURE, read_failures},
        {TOP_RETRY, read_retry},
        {TOP_DEVICE, read_device_rows},
        {TOP_MODEL_TYPE, read_model_types},
        {TOP_MODEL_SPACE, read_model_space},
        {TOP_DEEPSPEED, read_deepspeed},
        {TOP_MODEL_INFO, read_model_info},
        {TOP_SYNONYM, read_synonyms},
        {TOP_INERT, read_inert},
        {TOP_PREDICT, read_predict},
        {TOP_SEARCH, read_search},
        {TOP_IMPORT, read_import},
        {TOP_SLURM, read_slurm},
        {TOP_LOCAL, read_local},
    };
    for (size_t i = 0; i < sizeof readers / sizeof *readers; i++)
        if (page->found[readers[i].key])
            readers[i].read(&page->reading, page->found[readers[i].key]);
}

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
        read_tables(&pages[i]);
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
