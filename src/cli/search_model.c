#include "cli/search_model.h"

#include <inttypes.h>
#include <stdlib.h>

#include <cjson/cJSON.h>

#include "cli/output.h"
#include "models/search.h"
#include "report/saying.h"
#include "results/json.h"
#include "sweep_file/reader.h"
#include "util/clock.h"
#include "util/memory.h"

#define PROGRESS_EVERY_MS 1000

int search_model_need(const struct sweep *sweep, struct error *e)
{
    if (sweep->model_space)
        return 0;
    return error_set(e, ERROR_USAGE, "%s: there is no [model_space] to search", sweep->path);
}

int search_model_not_forgotten(const struct sweep *sweep, struct error *e)
{
    if (!sweep->model_space || sweep->sections[SECTION_MODEL].block_count > 0)
        return 0;
    return error_set(e, ERROR_USAGE,
                     "%s: its models are in [model_space]; sweep them with --search-model, or print them with "
                     "meshsweep search-model",
                     sweep->path);
}

static bool is_all(const struct sweep *sweep)
{
    for (int kind = 0; kind < SECTION_COUNT; kind++)
        if (sweep->sections[kind].block_count > 0)
            return false;
    return !sweep->job.command.words;
}

/* --- progress --- */

struct searching {
    struct model_search *search;
    int64_t told_ms;
};

static void report_progress(void *context, uint64_t looked_at)
{
    struct searching *s = context;
    const int64_t now_ms = clock_monotonic_ms();
    if (now_ms - s->told_ms < PROGRESS_EVERY_MS)
        return;
    s->told_ms = now_ms;
    output_message("%" PRIu64 " candidates looked at", looked_at);
}

static int open_search(struct searching *s, const struct sweep *sweep, struct model_search_options options,
                       struct error *e)
{
    s->told_ms = clock_monotonic_ms();
    options.progress = report_progress;
    options.progress_context = s;
    return model_search_open(sweep, &options, &s->search, e);
}

static void close_search(struct searching *s)
{
    model_search_free(s->search);
}

static void report_strata(const struct model_search *search)
{
    for (size_t i = 0; i < search->stratum_count; i++) {
        const struct model_search_stratum *s = &search->strata[i];
        if (s->taken < (uint64_t)s->sample->take)
            output_message("%s: %" PRIu64 " of %" PRId64 " models: %s", s->name, s->taken, s->sample->take,
                           search->cut ? "there may be more, but the space is too large to examine completely"
                                       : "there are no more");
    }
}

static void report_end(const struct model_search *search, uint64_t count)
{
    for (size_t i = 0; i < search->filter_count; i++)
        if (search->filters[i].name)
            output_message("%s removed %" PRIu64 " of the %" PRIu64 " candidates looked at", search->filters[i].name,
                           search->filters[i].removed, search->looked_at);
    report_strata(search);
    output_message("%" PRIu64 " model%s of %" PRIu64 " candidate%s", count, count == 1 ? "" : "s", search->index->count,
                   search->index->count == 1 ? "" : "s");
}

/* --- printing --- */

struct printing {
    const struct model_search *search;
    struct buffer text;
    bool begun;
};

static void add_head(const struct model_search *search, struct buffer *out)
{
    buffer_printf(out, "# Models from %" PRIu64 " candidates", search->index->count);
    if (search->stratum_count > 0)
        buffer_printf(out, ", sampled with seed %" PRId64, search->options.seed);
    buffer_add_text(out, ".\n");
    const size_t before = out->length;
    buffer_add_text(out, "[sweep]\nlist_values = ");
    const size_t names = out->length;
    model_section_add_list_values(search, out);
    if (out->length == names) {
        out->length = before;
        return;
    }
    buffer_add_char(out, '\n');
}

static int print_pick(void *context, const struct model_pick *pick, struct error *e)
{
    struct printing *p = context;
    buffer_clear(&p->text);
    if (!p->begun)
        add_head(p->search, &p->text);
    p->begun = true;
    buffer_add_char(&p->text, '\n');
    if (p->search->table->dhen)
        buffer_printf(&p->text, "# %" PRId64 " parameters%s\n", pick->parameters, pick->candidate ? "" : ": the base");
    model_section_add_toml(p->search, pick, &p->text);
    return output_write(p->text.data, p->text.length, e);
}

int search_model_print(const struct sweep *sweep, const struct model_search_options *options, struct error *e)
{
    OWNED_BY(close_search) struct searching s = {NULL, 0};
    uint64_t count = 0;
    if (open_search(&s, sweep, *options, e) < 0)
        return -1;
    struct printing p = {.search = s.search};
    int rc = model_search_each(s.search, print_pick, &p, &count, e);
    if (rc == 0)
        report_end(s.search, count);
    buffer_free(&p.text);
    return rc;
}

int search_model_print_alone(const char *config, bool *printed, struct error *e)
{
    OWNED_SWEEP *sweep = NULL;
    if (sweep_load(config, &sweep, e) < 0 || search_model_need(sweep, e) < 0)
        return -1;
    *printed = is_all(sweep);
    return *printed ? search_model_print(sweep, &(struct model_search_options){0}, e) : 0;
}

int search_model_fill(struct sweep *sweep, struct error *e)
{
    OWNED_BY(close_search) struct searching s = {NULL, 0};
    const size_t written = sweep->sections[SECTION_MODEL].block_count;
    uint64_t count = 0;
    if (open_search(&s, sweep, (struct model_search_options){0}, e) < 0)
        return -1;
    if (written > 0)
        output_message("%s: models of [model_space] replace %zu [[model]] blocks", sweep->path, written);
    if (model_section_fill(s.search, sweep, &count, e) < 0)
        return -1;
    report_end(s.search, count);
    return 0;
}

int search_model_check(struct sweep *sweep, uint64_t *candidates, struct error *e)
{
    OWNED_BY(close_search) struct searching s = {NULL, 0};
    uint64_t count = 0;
    if (open_search(&s, sweep, (struct model_search_options){.limit = 1}, e) < 0)
        return -1;
    *candidates = s.search->index->count;
    return sweep->sections[SECTION_MODEL].block_count == 0 ? model_section_fill(s.search, sweep, &count, e) : 0;
}

/* --- counting --- */

/* Counts have up to 64 bits, more than a double holds. */
static void add_number(cJSON *object, const char *name, uint64_t number)
{
    char digits[24];
    snprintf(digits, sizeof digits, "%" PRIu64, number);
    cJSON_AddItemToObject(object, name, cJSON_CreateRaw(digits));
}

/* null without filters, since all are kept. */
static void add_kept(cJSON *object, bool is_filtered, uint64_t kept)
{
    if (is_filtered)
        add_number(object, "kept", kept);
    else
        cJSON_AddNullToObject(object, "kept");
}

/* `counts` NULL: there are no filters. */
static cJSON *document_of(const struct model_search *s, const struct model_counts *counts)
{
    const size_t stack = model_space_main_stack(s->table);
    cJSON *o = json_document();
    add_number(o, "candidates", s->index->count);
    add_kept(o, counts, counts ? counts->kept : 0);
    cJSON *by_layers = cJSON_AddArrayToObject(o, "by_layers");
    for (size_t i = 0; stack != MODEL_NO_KEY && i < s->index->keys[stack].stack.layers_count; i++) {
        const unsigned layers = s->index->keys[stack].stack.layers[i];
        cJSON *row = JSON_ITEM(by_layers, JSON_INT("layers", layers));
        add_number(row, "candidates", model_index_count_layers(s->index, stack, layers));
        add_kept(row, counts, counts && counts->kept_by_layers ? counts->kept_by_layers[layers] : 0);
    }
    cJSON *filters = cJSON_AddArrayToObject(o, "filters");
    for (size_t i = 0; i < s->filter_count; i++)
        if (s->filters[i].name)
            add_number(JSON_ITEM(filters, JSON_STRING("name", s->filters[i].name)), "removed", s->filters[i].removed);
    return o;
}

int search_model_count(const struct sweep *sweep, const struct model_search_options *options, bool json,
                       struct error *e)
{
    OWNED_BY(close_search) struct searching s = {NULL, 0};
    struct model_counts counts = {0};
    OWNED_BUFFER text = BUFFER_INIT;
    if (open_search(&s, sweep, *options, e) < 0)
        return -1;
    const bool is_filtered = ANY(i, s.search->filter_count, s.search->filters[i].name);
    int rc = is_filtered ? model_search_count(s.search, &counts, e) : 0;
    OWNED_JSON *document = document_of(s.search, is_filtered ? &counts : NULL);
    if (rc == 0 && json)
        rc = output_json(document, e);
    else if (rc == 0 && (rc = saying_add_text("sql/texts/search_model.sql", document, NULL, &text, e)) == 0)
        rc = output_text(buffer_text(&text), e);
    free(counts.kept_by_layers);
    return rc;
}
