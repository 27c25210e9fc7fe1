#include "cli/match_words.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "cli/output.h"
#include "cli/progress_display.h"
#include "report/text.h"
#include "results/json.h"
#include "util/clock.h"
#include "util/memory.h"
#include "util/parse.h"

void match_add_prediction(const struct match *m, struct buffer *out)
{
    static const char *const words[] =
        {[OOM_FITS] = "", [OOM_RISK] = " (may not fit)", [OOM_CERTAIN] = " (does not fit)"};
    const char *of = m->predicted_memory_of;
    char size[32];
    if (!isnan(m->predicted_memory))
        buffer_printf(out, "  predicted %s%s%s%s%s", format_size_bytes((int64_t)m->predicted_memory, size, sizeof size),
                      *of ? " " : "", of, words[m->risk] ? words[m->risk] : "",
                      m->is_audit ? " run to audit pruning" : "");
    if (!isnan(m->predicted_time)) {
        buffer_add_text(out, isnan(m->predicted_memory) ? "  predicted " : ", ");
        text_add_figure(out, 3, m->predicted_time);
        buffer_add_text(out, " s a step");
    }
}

/* --- as JSON --- */

char *match_keys_json(const struct space *space)
{
    const struct names *n = &space->names;
    OWNED_JSON *list = cJSON_CreateArray();
    size_t index;
    for (size_t i = 0; i < n->key_count + n->derived_count; i++) {
        const bool is_key = i < n->key_count;
        const struct key *key = &n->keys[is_key ? i : 0];
        const char *name = is_key ? key->name : n->derived[i - n->key_count].name;
        if (!is_key && !match_keeps_derived(space, i - n->key_count))
            continue;
        cJSON *row = cJSON_CreateArray();
        cJSON_AddItemToArray(row, cJSON_CreateString(is_key ? section_names[key->section] : "derived"));
        cJSON_AddItemToArray(row, cJSON_CreateString(name));
        cJSON_AddItemToArray(row, cJSON_CreateBool(is_key && specs_differ(space->specs[key->section], i)));
        cJSON_AddItemToArray(row, cJSON_CreateBool(!is_key || names_resolve(n, name, &index) == RESOLVED_KEY));
        cJSON_AddItemToArray(list, row);
    }
    return cJSON_PrintUnformatted(list);
}

struct match_json {
    struct space *space;
    struct describer *describer;
    struct stmt *json[SECTION_COUNT]; /* of a section's specs; NULL: the sweep has none */
};

int match_json_create(struct space *space, struct match_json **out, struct error *e)
{
    struct match_json *j = xcalloc(1, sizeof *j);
    j->space = space;
    int rc = 0;
    j->describer = describer_create(space, NULL);
    for (int i = 0; rc == 0 && i < SECTION_COUNT; i++) {
        if (space->counts[i] == 0)
            continue;
        OWNED char *sql = xasprintf("SELECT \"#json\" FROM \"%s\" WHERE \"#id\" = ?", section_names[i]);
        rc = db_prepare(space->db, sql, &j->json[i], e);
    }
    if (rc < 0) {
        match_json_free(j);
        return -1;
    }
    *out = j;
    return 0;
}

void match_json_free(struct match_json *j)
{
    if (!j)
        return;
    for (int i = 0; i < SECTION_COUNT; i++)
        stmt_free(j->json[i]);
    describer_free(j->describer);
    free(j);
}

static int add_keys(struct match_json *j, const struct match *m, cJSON *job, struct error *e)
{
    cJSON *keys = cJSON_AddObjectToObject(job, "keys");
    OWNED_BUFFER derived = BUFFER_INIT;
    for (int i = 0; i < SECTION_COUNT; i++) {
        int rc = 0;
        if (j->json[i]) {
            stmt_reset(j->json[i]);
            stmt_bind_at(j->json[i], 1, sql_int(m->spec[i]));
            rc = stmt_next(j->json[i], e);
        }
        if (rc < 0)
            return -1;
        json_add_raw(keys, section_names[i], rc > 0 ? stmt_text(j->json[i], 0) : NULL);
    }
    match_add_derived_json(j->space, m, &derived);
    json_add_raw(keys, "derived", derived.length ? buffer_text(&derived) : NULL);
    return 0;
}

int match_json_add(struct match_json *j, const struct match *m, cJSON *job, struct error *e)
{
    static const char *const verdicts[] =
        {[OOM_FITS] = "fits", [OOM_RISK] = "may not fit", [OOM_CERTAIN] = "does not fit"};
    OWNED_BUFFER words = BUFFER_INIT;
    char hex[HASH_HEX_BYTES];
    cJSON_AddStringToObject(job, "key", hash_hex(&m->key, hex));
    int rc = add_keys(j, m, job, e);
    describe_match(j->describer, m, &words);
    JSON_ADD(job, JSON_TEXT("description", buffer_text(&words)),
             JSON_REAL("predicted_memory_bytes", m->predicted_memory),
             JSON_REAL("predicted_step_time_s", m->predicted_time),
             JSON_TEXT("predicted_to", isnan(m->predicted_memory) ? NULL : verdicts[m->risk]));
    return rc;
}

/* --- its progress --- */

#define PATIENCE_MS 1000 /* before the first line */
#define SHOW_EVERY_MS 250
#define SLOW_MS 3000        /* time spent counting a rule, and */
#define SLOW_LEFT_MS 10000  /* time left, to report it as slow */
#define MOST_LEFT_MS 3.2e10 /* a year */
#define LOOKS_BETWEEN 1024  /* matches */
#define KEYS_NAMED 6

/* Time left after `taken_ms` for `share` of the work. */
static double left_ms(int64_t taken_ms, double share)
{
    return share > 0 ? (double)taken_ms * (1 - share) / share : INFINITY;
}

static void add_left(double ms, struct buffer *out)
{
    char text[32];
    if (ms >= MOST_LEFT_MS)
        buffer_add_text(out, "more than a year");
    else
        buffer_printf(out, "about %s", format_duration_ms((int64_t)(ms < 1000 ? 1000 : ms), text, sizeof text));
}

void match_display_clear(struct match_display *d)
{
    output_clear_line(&d->on_line);
}

static bool is_due(const struct match_display *d, int64_t now_ms)
{
    return d->is_live && now_ms - d->began_ms >= PATIENCE_MS && now_ms - d->shown_ms >= SHOW_EVERY_MS;
}

static void show(struct match_display *d, struct buffer *line, int64_t now_ms)
{
    output_to_stderr("\r", line, "\x1b[K");
    fflush(stderr);
    buffer_free(line);
    d->on_line = true;
    d->shown_ms = now_ms;
}

static void show_how_far(struct match_display *d, double share, int64_t now_ms)
{
    struct buffer line = BUFFER_INIT;
    if (d->rule < d->space->rule_count)
        buffer_printf(&line, "counting what rules exclude: %zu of %zu, %s", d->rule + 1, d->space->rule_count,
                      d->space->rules[d->rule].name);
    else if (d->of > 0)
        buffer_printf(&line, "looking at jobs: %" PRId64 " of %" PRId64, d->matches, d->of);
    else
        buffer_add_text(&line, "matching");
    if (d->of > 0)
        share = (double)d->matches / (double)d->of;
    if (share > 0) {
        buffer_printf(&line, ", %.3g %%, ", 100 * share);
        add_left(left_ms(now_ms - d->rule_began_ms, share), &line);
        buffer_add_text(&line, " left");
    }
    show(d, &line, now_ms);
}

static void name_keys(const struct space *space, const struct expression *x, struct buffer *out)
{
    for (size_t i = 0; i < x->key_count && i < KEYS_NAMED; i++)
        buffer_printf(out, "%s%s", i ? ", " : "", space->names.keys[x->keys[i]].name);
    if (x->key_count > KEYS_NAMED)
        buffer_add_text(out, ", …");
}

static void tell_slow(struct match_display *d, double share, int64_t now_ms)
{
    const struct space_rule *rule = &d->space->rules[d->rule];
    OWNED_BUFFER text = BUFFER_INIT;
    buffer_printf(&text, "rule `%s` leaves many values of %zu keys to combine (", rule->name, rule->accepts.key_count);
    name_keys(d->space, &rule->accepts, &text);
    buffer_add_text(&text, "), so counting what it excludes takes ");
    add_left(left_ms(now_ms - d->rule_began_ms, share), &text);
    buffer_add_text(&text,
                    " more; to make it quicker, derive keys that follow from others ([derive]) instead of making them "
                    "axes, or tie keys that go together (\"(a, b)\" = [[1, 2], …]); Ctrl-C stops it");
    match_display_clear(d);
    progress_display_notice(d->notices, buffer_text(&text));
    d->told_ms = now_ms;
}

static int show_match(void *context, size_t rule, double share, struct error *e)
{
    struct match_display *d = context;
    int64_t now_ms = clock_monotonic_ms();
    (void)e;
    if (rule != d->rule) {
        d->rule = rule;
        d->rule_began_ms = now_ms;
        d->told_ms = 0;
    }
    if (rule < d->space->rule_count && !d->told_ms && now_ms - d->rule_began_ms >= SLOW_MS &&
        left_ms(now_ms - d->rule_began_ms, share) >= SLOW_LEFT_MS)
        tell_slow(d, share, now_ms);
    if (is_due(d, now_ms))
        show_how_far(d, share, now_ms);
    return 0;
}

void match_display_begin(struct match_display *d, struct space *space)
{
    d->space = space;
    d->watch = (struct match_watch){show_match, d};
    d->began_ms = d->rule_began_ms = clock_monotonic_ms();
    d->rule = space->rule_count;
    space->watch = &d->watch;
}

void match_display_end(struct match_display *d)
{
    if (!d->space)
        return;
    match_display_clear(d);
    d->space->watch = NULL;
    d->space = NULL;
}

void match_display_matches(struct match_display *d, int64_t matches, int64_t of)
{
    if (matches > 1 && matches % LOOKS_BETWEEN != 0)
        return;
    int64_t now_ms = clock_monotonic_ms();
    if (d->of == 0)
        d->rule_began_ms = now_ms;
    d->matches = matches;
    d->of = of;
    if (is_due(d, now_ms))
        show_how_far(d, 0, now_ms);
}
