#include "cli/search_model.h"

#include <inttypes.h>
#include <stdlib.h>

#include <cjson/cJSON.h>

#include "cli/output.h"
#include "models/search.h"
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

struct model_search_progress {
    int64_t last_ms;
};

static void report_progress(void *context, uint64_t looked_at)
{
    struct model_search_progress *t = context;
    const int64_t now_ms = clock_monotonic_ms();
    if (now_ms - t->last_ms < PROGRESS_EVERY_MS)
        return;
    t->last_ms = now_ms;
    output_message("%" PRIu64 " candidates looked at", looked_at);
}

static int open_search(const struct sweep *sweep, const struct model_search_options *options,
                       struct model_search_progress *progress, struct model_search **out, struct error *e)
{
    struct model_search_options o = *options;
    progress->last_ms = clock_monotonic_ms();
    o.progress = report_progress;
    o.progress_context = progress;
    return model_search_open(sweep, &o, out, e);
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
    struct model_search *search = NULL;
    struct model_search_progress progress;
    uint64_t count = 0;
    if (open_search(sweep, options, &progress, &search, e) < 0)
        return -1;
    struct printing p = {.search = search};
    int rc = model_search_each(search, print_pick, &p, &count, e);
    if (rc == 0)
        report_end(search, count);
    buffer_free(&p.text);
    model_search_free(search);
    return rc;
}

int search_model_print_alone(const char *config, bool *printed, struct error *e)
{
    const struct model_search_options options = {0};
    OWNED_SWEEP *sweep = NULL;
    if (sweep_load(config, &sweep, e) < 0 || search_model_need(sweep, e) < 0)
        return -1;
    *printed = is_all(sweep);
    return *printed ? search_model_print(sweep, &options, e) : 0;
}

int search_model_fill(struct sweep *sweep, struct error *e)
{
    const struct model_search_options options = {0};
    const size_t written = sweep->sections[SECTION_MODEL].block_count;
    struct model_search *search = NULL;
    struct model_search_progress progress;
    uint64_t count = 0;
    if (open_search(sweep, &options, &progress, &search, e) < 0)
        return -1;
    if (written > 0)
        output_message("%s: models of [model_space] replace %zu [[model]] blocks", sweep->path, written);
    int rc = model_section_fill(search, sweep, &count, e);
    if (rc == 0)
        report_end(search, count);
    model_search_free(search);
    return rc;
}

int search_model_check(struct sweep *sweep, uint64_t *candidates, struct error *e)
{
    const struct model_search_options options = {.limit = 1};
    struct model_search *search = NULL;
    struct model_search_progress progress;
    uint64_t count = 0;
    if (open_search(sweep, &options, &progress, &search, e) < 0)
        return -1;
    *candidates = search->index->count;
    int rc = sweep->sections[SECTION_MODEL].block_count == 0 ? model_section_fill(search, sweep, &count, e) : 0;
    model_search_free(search);
    return rc;
}

/* --- counting --- */

struct counts {
    const struct model_search *search;
    bool filtered; /* then `counted` counts what is kept */
    struct model_counts counted;
};

static bool has_filters(const struct model_search *search)
{
    return ANY(i, search->filter_count, search->filters[i].name);
}

static uint64_t kept_of(const struct counts *c, unsigned layers)
{
    return c->counted.kept_by_layers ? c->counted.kept_by_layers[layers] : 0;
}

static void add_line(const struct counts *c, const char *layers, uint64_t candidates, uint64_t kept, struct buffer *out)
{
    buffer_printf(out, "%-6s %20" PRIu64, layers, candidates);
    if (c->filtered)
        buffer_printf(out, " %20" PRIu64, kept);
    buffer_add_char(out, '\n');
}

static void add_text(const struct counts *c, struct buffer *out)
{
    const struct model_search *s = c->search;
    const size_t stack = model_space_main_stack(s->table);
    char text[16];
    buffer_printf(out, "layers           candidates%s\n", c->filtered ? "                 kept" : "");
    for (size_t i = 0; stack != MODEL_NO_KEY && i < s->index->keys[stack].stack.layers_count; i++) {
        const unsigned layers = s->index->keys[stack].stack.layers[i];
        snprintf(text, sizeof text, "%u", layers);
        add_line(c, text, model_index_count_layers(s->index, stack, layers), kept_of(c, layers), out);
    }
    add_line(c, "all", s->index->count, c->counted.kept, out);
    for (size_t i = 0; i < s->filter_count; i++)
        if (s->filters[i].name)
            buffer_printf(out, "%s removed %" PRIu64 "\n", s->filters[i].name, s->filters[i].removed);
}

/* Counts have up to 64 bits, more than a double holds. */
static void add_number(cJSON *object, const char *name, uint64_t number)
{
    char digits[24];
    snprintf(digits, sizeof digits, "%" PRIu64, number);
    cJSON_AddItemToObject(object, name, cJSON_CreateRaw(digits));
}

/* null without filters, since all are kept. */
static void add_kept(cJSON *object, const struct counts *c, uint64_t kept)
{
    if (c->filtered)
        add_number(object, "kept", kept);
    else
        cJSON_AddNullToObject(object, "kept");
}

static void add_json(const struct counts *c, struct buffer *out)
{
    const struct model_search *s = c->search;
    const size_t stack = model_space_main_stack(s->table);
    OWNED_JSON *o = json_document();
    add_number(o, "candidates", s->index->count);
    add_kept(o, c, c->counted.kept);
    cJSON *by_layers = cJSON_AddArrayToObject(o, "by_layers");
    for (size_t i = 0; stack != MODEL_NO_KEY && i < s->index->keys[stack].stack.layers_count; i++) {
        const unsigned layers = s->index->keys[stack].stack.layers[i];
        cJSON *row = cJSON_CreateObject();
        add_number(row, "layers", layers);
        add_number(row, "candidates", model_index_count_layers(s->index, stack, layers));
        add_kept(row, c, c->filtered ? kept_of(c, layers) : 0);
        cJSON_AddItemToArray(by_layers, row);
    }
    cJSON *filters = cJSON_AddArrayToObject(o, "filters");
    for (size_t i = 0; i < s->filter_count; i++) {
        if (!s->filters[i].name)
            continue;
        cJSON *row = cJSON_CreateObject();
        cJSON_AddStringToObject(row, "name", s->filters[i].name);
        add_number(row, "removed", s->filters[i].removed);
        cJSON_AddItemToArray(filters, row);
    }
    char *text = cJSON_Print(o);
    buffer_printf(out, "%s\n", text);
    cJSON_free(text);
}

int search_model_count(const struct sweep *sweep, const struct model_search_options *options, bool json,
                       struct error *e)
{
    struct model_search *search = NULL;
    struct model_search_progress progress;
    OWNED_BUFFER out = BUFFER_INIT;
    if (open_search(sweep, options, &progress, &search, e) < 0)
        return -1;
    struct counts c = {.search = search, .filtered = has_filters(search)};
    int rc = c.filtered ? model_search_count(search, &c.counted, e) : 0;
    if (rc == 0) {
        (json ? add_json : add_text)(&c, &out);
        rc = output_write(buffer_text(&out), out.length, e);
    }
    free(c.counted.kept_by_layers);
    model_search_free(search);
    return rc;
}
