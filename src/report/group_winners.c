#include "report/group_winners.h"

#include <stdlib.h>
#include <string.h>

#include <cjson/cJSON.h>

#include "report/text.h"
#include "results/json.h"
#include "util/memory.h"

/* --- a configuration --- */

void configuration_add_text(const struct configuration *c, struct buffer *out)
{
    buffer_printf(out, "mean of %lld replicate%s", (long long)c->replicates, c->replicates == 1 ? "" : "s");
    if (c->replicates > 1)
        buffer_printf(out, " (median %.6g, 95 %% interval %.6g to %.6g, from %.6g to %.6g)", c->median, c->low, c->high,
                      c->least, c->most);
    if (c->failed)
        buffer_printf(out, ", %lld failed", (long long)c->failed);
    if (c->open)
        buffer_printf(out, ", %lld not ended", (long long)c->open);
}

void configuration_add_json(const struct configuration *c, size_t alike, cJSON *o)
{
    if (!c) {
        cJSON_AddNullToObject(o, "replicates");
        return;
    }
    cJSON *r = cJSON_AddObjectToObject(o, "replicates");
    cJSON_AddNumberToObject(r, "ok", (double)c->replicates);
    cJSON_AddNumberToObject(r, "failed", (double)c->failed);
    cJSON_AddNumberToObject(r, "open", (double)c->open);
    json_add_real(r, "median", c->median);
    json_add_real(r, "low", c->low);
    json_add_real(r, "high", c->high);
    json_add_real(r, "stddev", c->stddev);
    json_add_real(r, "minimum", c->least);
    json_add_real(r, "maximum", c->most);
    cJSON_AddNumberToObject(r, "alike", (double)alike);
}

/* --- the winners --- */

struct group_winner {
    const struct configuration *configuration;
    size_t competitors, alike; /* of its group: all configurations, and others not distinguishable from it */
    struct job_keys keys;
};

struct group_winners {
    struct group_winner *items;
    size_t count;
};

static struct group_winners find_winners(const struct configurations *c)
{
    struct group_winners all = {0};
    for (size_t first = 0, count; first < c->count; first += count) {
        count = configurations_in_group(c, first);
        *array_add(all.items, all.count) =
            (struct group_winner){&c->items[first], count, configurations_alike(&c->items[first], count), {0}};
    }
    return all;
}

static void free_winners(struct group_winners *w)
{
    for (size_t i = 0; i < w->count; i++)
        job_keys_free(&w->items[i].keys);
    free(w->items);
}

static bool has_key(const struct job_keys *keys, const struct job_key *key)
{
    for (size_t i = 0; i < keys->count; i++)
        if (strcmp(keys->items[i].section, key->section) == 0 && strcmp(keys->items[i].name, key->name) == 0)
            return strcmp(keys->items[i].text, key->text) == 0;
    return false;
}

static bool winners_differ(const struct group_winners *w, const struct job_key *key)
{
    for (size_t i = 0; i < w->count; i++)
        if (!has_key(&w->items[i].keys, key))
            return true;
    return false;
}

static void add_keys(const struct group_winners *all, const struct group_winner *w, struct buffer *out)
{
    for (size_t i = 0; i < w->keys.count; i++) {
        if (!winners_differ(all, &w->keys.items[i]))
            continue;
        OWNED char *title = job_key_title(&w->keys, &w->keys.items[i]);
        buffer_printf(out, ", %s ", title);
        text_add_printable(out, w->keys.items[i].text, strlen(w->keys.items[i].text), 40, false);
    }
}

static void add_winner(const struct best *b, const struct group_winners *all, const struct group_winner *w,
                       const char *indent, struct buffer *out)
{
    const struct configuration *c = w->configuration;
    buffer_add_text(out, indent);
    text_add_line(out, c->group);
    buffer_add_text(out, ": ");
    text_add_rounded(out, c->value);
    buffer_printf(out, "%s%s", b->unit[0] ? " " : "", b->unit);
    /* Only a rate, where more is better, can be divided among devices. */
    if (b->maximise && c->per_device != c->value) {
        buffer_add_text(out, " (");
        text_add_rounded(out, c->per_device);
        buffer_add_text(out, " per device)");
    }
    buffer_printf(out, ", job %lld", (long long)c->job);
    add_keys(all, w, out);
    buffer_add_char(out, '\n');
    if (!b->configurations.has_replicates)
        return;
    buffer_printf(out, "%s  ", indent);
    configuration_add_text(c, out);
    if (w->alike)
        buffer_printf(out, "; cannot be told apart from %zu other%s of %zu", w->alike, w->alike == 1 ? "" : "s",
                      w->competitors - 1);
    buffer_add_char(out, '\n');
}

int group_winners_add_text(struct db *db, const struct best *b, const char *indent, struct buffer *out, struct error *e)
{
    struct group_winners all = find_winners(&b->configurations);
    int rc = 0;
    for (size_t i = 0; rc == 0 && i < all.count; i++)
        rc = job_keys_read(db, all.items[i].configuration->job, &all.items[i].keys, e);
    for (size_t i = 0; rc == 0 && i < all.count; i++)
        add_winner(b, &all, &all.items[i], indent, out);
    free_winners(&all);
    return rc;
}

cJSON *group_winners_json(const struct best *b)
{
    struct group_winners all = find_winners(&b->configurations);
    cJSON *list = cJSON_CreateArray();
    for (size_t i = 0; i < all.count; i++) {
        const struct configuration *c = all.items[i].configuration;
        cJSON *o = cJSON_CreateObject();
        cJSON_AddItemToArray(list, o);
        json_add_text(o, "group", c->group);
        cJSON_AddNumberToObject(o, "job", (double)c->job);
        json_add_real(o, "value", c->value);
        json_add_real(o, "per_device", c->per_device);
        cJSON_AddNumberToObject(o, "configurations", (double)all.items[i].competitors);
        configuration_add_json(c, all.items[i].alike, o);
    }
    free_winners(&all);
    return list;
}

/* --- for status --- */

static int add_status(struct db *db, const struct best *b, struct buffer *text, cJSON **json, struct error *e)
{
    if (b->count == 0)
        return 0;
    *json = group_winners_json(b);
    if (b->configurations.has_groups) {
        buffer_printf(text, "best %s so far of each group:\n", b->objective);
        return group_winners_add_text(db, b, "  ", text, e);
    }
    buffer_printf(text, "best so far: %s ", b->objective);
    text_add_rounded(text, b->jobs[0].value);
    buffer_printf(text, "%s%s, ", b->unit[0] ? " " : "", b->unit);
    configuration_add_text(b->jobs[0].configuration, text);
    buffer_printf(text, ", job %lld\n", (long long)b->jobs[0].job_id);
    if (b->alike)
        buffer_printf(text, "  cannot be told apart from %zu other%s\n", b->alike, b->alike == 1 ? "" : "s");
    return 0;
}

int group_winners_read_status(struct db *db, struct buffer *text, cJSON **json, struct error *e)
{
    struct best b = {0};
    bool compete = false;
    if (configurations_compete(db, &compete, e) < 0)
        return -1;
    int rc = compete ? best_read(db, &b, e) : 0;
    if (rc == 0)
        rc = add_status(db, &b, text, json, e);
    best_free(&b);
    return rc;
}
