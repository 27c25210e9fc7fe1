#include "measures/place_watch.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "results/failure_causes.h"
#include "store/states.h"
#include "util/buffer.h"
#include "util/clock.h"
#include "util/memory.h"
#include "util/parse.h"

#define PAIR_OF_SOUND 0.25 /* at most: p (1 - p) */
#define PAIR_OF_NAMED 0.01 /* words that name a broken device are wrong that often */
#define PAIR_OF_BROKEN 0.9 /* at least */
#define ROW_OF_DOUBT 3     /* alike in a row on one place: asked of another whether it is the place */
#define DOUBTS_MOST 64     /* of a place */
#define EARLY 0.5          /* of the mean time of what went well */
#define REST_MOST_MS 86400000

/* A job that failed on a place. */
struct doubt {
    int64_t job_id, attempt_id;
    char *message;
    bool is_named;
    bool is_asked; /* it is to run elsewhere; others may, if they are tried again anyway */
    bool is_known; /* it went well elsewhere */
    bool is_taken; /* by place_watch_take_seconds */
};

struct watched_place {
    char *name;
    double evidence;
    int64_t row, row_needed; /* failures alike since something went well there; how many to ask for a doubt */
    struct doubt *doubts;
    size_t doubt_count;
    char *last; /* message of the last one; NULL: none */
    bool is_aside;
    char *message;
    int64_t until_ms, rest_ms, probe; /* of one that is set aside; the attempt that tries it, 0: none */
};

struct place_watch {
    struct watched_place *places;
    size_t place_count;
    struct place_changes changes;
    int64_t rest_ms, ok_count;
    double ok_ms; /* in all */
};

double place_evidence_after(double evidence, bool is_pair, bool is_named)
{
    const double sound = is_named ? PAIR_OF_NAMED : PAIR_OF_SOUND;
    double after = evidence + (is_pair ? log(PAIR_OF_BROKEN / sound) : log((1 - PAIR_OF_BROKEN) / (1 - sound)));
    return after > 0 ? after : 0;
}

struct place_watch *place_watch_create(int64_t rest_ms)
{
    struct place_watch *w = xcalloc(1, sizeof *w);
    w->rest_ms = rest_ms;
    return w;
}

static void drop_doubt(struct watched_place *p, size_t i)
{
    free(p->doubts[i].message);
    p->doubts[i] = p->doubts[--p->doubt_count];
}

/* Drops those that are settled, or asked of nobody; `all`: the others, too. */
static void drop_doubts(struct watched_place *p, bool all)
{
    for (size_t i = p->doubt_count; i-- > 0;)
        if (all || p->doubts[i].is_known || !p->doubts[i].is_asked)
            drop_doubt(p, i);
}

void place_changes_free(struct place_changes *c)
{
    for (size_t i = 0; i < c->count; i++)
        free_all(c->items[i].place, c->items[i].message, c->items[i].attempts);
    free(c->items);
    *c = (struct place_changes){NULL, 0};
}

void place_watch_free(struct place_watch *w)
{
    if (!w)
        return;
    for (size_t i = 0; i < w->place_count; i++) {
        struct watched_place *p = &w->places[i];
        drop_doubts(p, true);
        free_all(p->doubts, p->name, p->last, p->message);
    }
    free(w->places);
    place_changes_free(&w->changes);
    free(w);
}

/* --- places --- */

static bool is_among(const char *places, const char *name)
{
    size_t length = strlen(name);
    for (const char *p = places; *p; p += strcspn(p, ","), p += *p == ',')
        if (strcspn(p, ",") == length && strncmp(p, name, length) == 0)
            return true;
    return false;
}

static struct watched_place *find_place(const struct place_watch *w, const char *name)
{
    return FIND(i, w->place_count, strcmp(w->places[i].name, name) == 0, &w->places[i]);
}

static struct watched_place *need_place(struct place_watch *w, const char *name)
{
    struct watched_place *found = find_place(w, name);
    if (found)
        return found;
    w->places = array_grow(w->places, w->place_count, sizeof *w->places);
    w->places[w->place_count] =
        (struct watched_place){.name = xstrdup(name), .rest_ms = w->rest_ms, .row_needed = ROW_OF_DOUBT};
    return &w->places[w->place_count++];
}

static void need_places(struct place_watch *w, const char *places)
{
    char *copy = xstrdup(places), *rest = NULL;
    for (char *name = strtok_r(copy, ",", &rest); name; name = strtok_r(NULL, ",", &rest))
        need_place(w, name);
    free(copy);
}

static bool is_like(const char *a, const char *b)
{
    OWNED char *cause = cause_text(a), *other = cause_text(b);
    return strcmp(cause, other) == 0;
}

static struct place_change *add_change(struct place_watch *w, const struct watched_place *p, int64_t now_ms)
{
    struct place_changes *c = &w->changes;
    c->items = array_grow(c->items, c->count, sizeof *c->items);
    c->items[c->count] = (struct place_change){.place = xstrdup(p->name),
                                               .message = p->message ? xstrdup(p->message) : NULL,
                                               .is_aside = p->is_aside,
                                               .since_ms = now_ms,
                                               .until_ms = p->until_ms,
                                               .rest_ms = p->rest_ms};
    return &c->items[c->count++];
}

/* --- what an end says --- */

static void set_aside(struct place_watch *w, struct watched_place *p, int64_t now_ms)
{
    p->is_aside = true;
    p->until_ms = now_ms + p->rest_ms;
    p->probe = 0;
    p->evidence = 0;
    p->row = 0;
    text_replace(&p->message, NULL);
    for (size_t i = 0; i < p->doubt_count && !p->message; i++)
        p->message = p->doubts[i].is_known ? xstrdup(p->doubts[i].message) : NULL;
    struct place_change *c = add_change(w, p, now_ms);
    c->attempts = xcalloc(p->doubt_count + 1, sizeof *c->attempts);
    /* The jobs that have not run elsewhere yet failed on a broken place as well. */
    for (size_t i = 0; i < p->doubt_count; i++) {
        c->attempts[c->attempt_count++] = p->doubts[i].attempt_id;
        c->jobs += p->doubts[i].is_known;
    }
    drop_doubts(p, false);
}

static void note_pair(struct place_watch *w, struct watched_place *p, size_t i, int64_t now_ms)
{
    struct doubt *d = &p->doubts[i];
    d->is_known = true;
    p->row_needed = ROW_OF_DOUBT;
    if (p->is_aside) {
        drop_doubt(p, i);
        return;
    }
    p->evidence = place_evidence_after(p->evidence, true, d->is_named);
    if (p->evidence >= PLACE_EVIDENCE_ENOUGH)
        set_aside(w, p, now_ms);
}

static void note_no_pair(struct watched_place *p)
{
    p->row = 0;
    p->evidence = place_evidence_after(p->evidence, false, false);
    /* The doubts are old once nothing speaks against the place any more. */
    if (p->evidence == 0)
        drop_doubts(p, false);
}

static size_t find_doubt(const struct watched_place *p, int64_t job_id)
{
    size_t i = FIRST(k, p->doubt_count, p->doubts[k].job_id == job_id && !p->doubts[k].is_known);
    return i;
}

/* Returns whether it runs there again though it was to run elsewhere: there is no other place for it. */
static bool runs_again(const struct place_watch *w, const struct place_end *end)
{
    for (size_t n = 0; n < w->place_count; n++) {
        const struct watched_place *p = &w->places[n];
        const size_t i = find_doubt(p, end->job_id);
        if (i < p->doubt_count && p->doubts[i].is_asked && is_among(end->places, p->name))
            return true;
    }
    return false;
}

/* Settles the job's doubts, now that it ended at `end->places`. Returns whether it was asked to run there. */
static bool settle_doubts(struct place_watch *w, const struct place_end *end)
{
    bool was_asked = false;
    for (size_t n = 0; n < w->place_count; n++) {
        struct watched_place *p = &w->places[n];
        const size_t i = find_doubt(p, end->job_id);
        if (i == p->doubt_count)
            continue;
        const bool is_asked = p->doubts[i].is_asked;
        was_asked |= is_asked;
        if (end->is_ok && !is_among(end->places, p->name)) {
            note_pair(w, p, i, end->now_ms);
            continue;
        }
        /* Whoever fails everywhere is asked less often. */
        p->row_needed *= is_asked ? 2 : 1;
        drop_doubt(p, i);
        note_no_pair(p);
    }
    return was_asked;
}

static void note_ok(struct place_watch *w, const struct place_end *end)
{
    w->ok_count++;
    w->ok_ms += (double)end->duration_ms;
    for (size_t i = 0; i < w->place_count; i++) {
        struct watched_place *p = &w->places[i];
        if (!is_among(end->places, p->name))
            continue;
        p->row_needed = ROW_OF_DOUBT;
        if (!p->is_aside) {
            note_no_pair(p);
        } else if (p->probe == end->attempt_id) {
            p->is_aside = false;
            p->rest_ms = w->rest_ms;
            drop_doubts(p, true);
            add_change(w, p, end->now_ms);
        }
    }
}

static bool is_early(const struct place_watch *w, const struct place_end *end)
{
    return w->ok_count == 0 || (double)end->duration_ms <= EARLY * w->ok_ms / (double)w->ok_count;
}

static void add_doubt(struct watched_place *p, const struct place_end *end, bool is_asked)
{
    for (size_t i = 0; p->doubt_count == DOUBTS_MOST && i < p->doubt_count; i++)
        if (!p->doubts[i].is_asked)
            drop_doubt(p, i);
    if (p->doubt_count == DOUBTS_MOST)
        drop_doubt(p, 0);
    *array_add(p->doubts, p->doubt_count) = (struct doubt){.job_id = end->job_id,
                                                           .attempt_id = end->attempt_id,
                                                           .message = xstrdup(end->message),
                                                           .is_named = end->is_named,
                                                           .is_asked = is_asked};
}

/* How many alike there have been on the place in a row. */
static int64_t note_row(struct watched_place *p, const struct place_end *end)
{
    bool alike = p->last && is_like(p->last, end->message);
    text_replace(&p->last, xstrdup(end->message));
    return p->row = alike ? p->row + 1 : 1;
}

/* A place that is set aside fails again as it did: it rests, for longer each time. */
static bool blames_aside(struct place_watch *w, struct watched_place *p, const struct place_end *end)
{
    bool is_same = end->is_named || (p->message && is_like(p->message, end->message));
    bool is_probe = p->probe == end->attempt_id;
    if (is_probe)
        p->probe = 0;
    if (!is_same || !end->is_like)
        return false;
    if (!is_probe)
        return true;
    p->rest_ms = 2 * p->rest_ms < REST_MOST_MS ? 2 * p->rest_ms : REST_MOST_MS;
    p->until_ms = end->now_ms + p->rest_ms;
    add_change(w, p, end->now_ms)->is_again = true;
    return true;
}

static enum place_answer note_failure(struct place_watch *w, const struct place_end *end, bool was_asked, bool is_again)
{
    bool is_blamed = false, asks = end->is_named;
    const bool counts = end->is_like && (end->is_named || is_early(w, end));
    for (size_t i = 0; i < w->place_count; i++) {
        struct watched_place *p = &w->places[i];
        if (!is_among(end->places, p->name))
            continue;
        asks |= counts && note_row(p, end) >= p->row_needed;
        is_blamed |= p->is_aside && blames_aside(w, p, end);
    }
    asks = end->has_elsewhere && !is_again && (is_blamed || (counts && asks && !was_asked));
    for (size_t i = 0; (counts || asks) && i < w->place_count; i++)
        if (is_among(end->places, w->places[i].name))
            add_doubt(&w->places[i], end, asks);
    return !asks ? PLACE_SAYS_NOTHING : is_blamed || end->is_named ? PLACE_BLAMED : PLACE_DOUBTED;
}

enum place_answer place_watch_note(struct place_watch *w, const struct place_end *end)
{
    if (!end->places)
        return PLACE_SAYS_NOTHING;
    need_places(w, end->places);
    /* The place may be known only now. */
    place_watch_started(w, end->places, end->attempt_id, end->now_ms);
    for (size_t i = 0; end->is_void && i < w->place_count; i++)
        if (w->places[i].probe == end->attempt_id)
            w->places[i].probe = 0;
    if (end->is_void)
        return PLACE_SAYS_NOTHING;
    const bool is_again = runs_again(w, end);
    const bool was_asked = settle_doubts(w, end);
    if (!end->is_ok)
        return note_failure(w, end, was_asked, is_again);
    note_ok(w, end);
    return PLACE_SAYS_NOTHING;
}

/* --- who may run where --- */

static bool is_open(const struct doubt *d)
{
    return d->is_asked && !d->is_known;
}

/* Enough would speak against it if all that is open went well elsewhere. */
static bool is_halted(const struct watched_place *p)
{
    double evidence = p->evidence;
    bool any = false;
    for (size_t i = 0; i < p->doubt_count; i++) {
        any |= is_open(&p->doubts[i]);
        if (is_open(&p->doubts[i]))
            evidence = place_evidence_after(evidence, true, p->doubts[i].is_named);
    }
    return any && evidence >= PLACE_EVIDENCE_ENOUGH;
}

static bool has_doubt_of(const struct watched_place *p, int64_t job_id)
{
    const size_t i = find_doubt(p, job_id);
    return i < p->doubt_count && p->doubts[i].is_asked;
}

bool place_watch_is_second(const struct place_watch *w, int64_t job_id)
{
    return ANY(i, w->place_count, has_doubt_of(&w->places[i], job_id));
}

static bool keeps_from(const struct place_watch *w, const struct watched_place *p, int64_t job_id, bool is_wary,
                       int64_t now_ms)
{
    if (p->is_aside && (p->probe != 0 || now_ms < p->until_ms))
        return true;
    if (job_id == 0 || !place_watch_is_second(w, job_id))
        return !p->is_aside && is_halted(p);
    return has_doubt_of(p, job_id) || (is_wary && (p->is_aside || p->doubt_count > 0));
}

char *place_watch_kept(const struct place_watch *w, int64_t job_id, bool is_wary, int64_t now_ms)
{
    struct buffer b = BUFFER_INIT;
    for (size_t i = 0; i < w->place_count; i++)
        if (keeps_from(w, &w->places[i], job_id, is_wary, now_ms))
            buffer_printf(&b, "%s%s", b.length ? "," : "", w->places[i].name);
    return b.length ? buffer_take(&b) : NULL;
}

bool place_watch_started(struct place_watch *w, const char *places, int64_t attempt_id, int64_t now_ms)
{
    bool tries = false;
    for (size_t i = 0; places && i < w->place_count; i++) {
        struct watched_place *p = &w->places[i];
        if (!p->is_aside || p->probe != 0 || now_ms < p->until_ms || !is_among(places, p->name))
            continue;
        p->probe = attempt_id;
        tries = true;
    }
    return tries;
}

bool place_watch_drop_doubts(struct place_watch *w)
{
    bool any = false;
    for (size_t n = 0; n < w->place_count; n++)
        for (size_t i = w->places[n].doubt_count; i-- > 0;)
            if (is_open(&w->places[n].doubts[i])) {
                drop_doubt(&w->places[n], i);
                any = true;
            }
    return any;
}

void place_watch_release(struct place_watch *w, int64_t now_ms)
{
    for (size_t i = 0; i < w->place_count; i++)
        w->places[i].until_ms = w->places[i].until_ms < now_ms ? w->places[i].until_ms : now_ms;
}

int64_t place_watch_due_ms(const struct place_watch *w, int64_t now_ms)
{
    int64_t due_ms = -1;
    for (size_t i = 0; i < w->place_count; i++) {
        const struct watched_place *p = &w->places[i];
        int64_t left_ms = p->until_ms > now_ms ? p->until_ms - now_ms : 0;
        if (p->is_aside && p->probe == 0 && (due_ms < 0 || left_ms < due_ms))
            due_ms = left_ms;
    }
    return due_ms;
}

struct place_changes place_watch_take(struct place_watch *w)
{
    struct place_changes taken = w->changes;
    w->changes = (struct place_changes){NULL, 0};
    return taken;
}

size_t place_watch_take_seconds(struct place_watch *w, int64_t *job_ids, size_t room)
{
    size_t n = 0;
    for (size_t k = 0; k < w->place_count; k++)
        for (size_t i = 0; i < w->places[k].doubt_count && n < room; i++) {
            struct doubt *d = &w->places[k].doubts[i];
            bool is_new = is_open(d) && !d->is_taken;
            for (size_t j = 0; is_new && j < n; j++)
                is_new = job_ids[j] != d->job_id;
            if (is_new)
                job_ids[n++] = d->job_id;
            d->is_taken = true;
        }
    return n;
}

/* --- in the database and in words --- */

int place_record_load(struct db *db, const struct place_naming *naming, bool release, struct place_watch *w,
                      struct error *e)
{
    const bool are_nodes = naming->kind == PLACES_ARE_NODES, are_here = naming->kind == PLACES_ARE_DEVICES;
    struct stmt *s = NULL;
    int rc;
    while (
        (rc = db_next(db, "SELECT host, nullif(device, ''), message, until, rest_ms FROM place ORDER BY host, device",
                      NO_VALUES, &s, e)) > 0) {
        const char *host = stmt_text(s, 0), *device = stmt_text(s, 1);
        if (are_nodes != !device || (are_here && strcmp(host, naming->host) != 0))
            continue;
        OWNED char *name = are_nodes ? xstrdup(host) : are_here ? xstrdup(device) : xasprintf("%s:%s", host, device);
        struct watched_place *p = need_place(w, name);
        p->is_aside = true;
        text_replace(&p->message, stmt_copy_text(s, 2));
        p->until_ms = stmt_int(s, 3);
        p->rest_ms = stmt_int(s, 4);
    }
    if (rc == 0 && release)
        place_watch_release(w, clock_wall_ms());
    return rc;
}

/* Its host, the caller's, and what follows that of its name; NULL: nothing. */
static char *split(const struct place_naming *naming, const char *place, const char **device)
{
    const bool are_here = naming->kind == PLACES_ARE_DEVICES;
    const char *colon = naming->kind == PLACES_ARE_DEVICES_OF_NODES ? strrchr(place, ':') : NULL;
    *device = are_here ? place : colon ? colon + 1 : NULL;
    return are_here ? xstrdup(naming->host) : xstrndup(place, colon ? (size_t)(colon - place) : strlen(place));
}

static int write_one(struct db *db, const struct place_naming *naming, const struct place_change *c, struct error *e)
{
    const char *device;
    OWNED char *host = split(naming, c->place, &device);
    if (!c->is_aside)
        return db_run(db, "DELETE FROM place WHERE host = ?1 AND device = coalesce(?2, '')",
                      VALUES(sql_text(host), sql_text(device)), e);
    return db_run(db,
                  "INSERT INTO place (host, device, message, jobs, since, until, rest_ms)"
                  " VALUES (?1, coalesce(?2, ''), ?3, ?4, ?5, ?6, ?7) ON CONFLICT DO UPDATE SET"
                  " jobs = jobs + excluded.jobs, message = coalesce(excluded.message, message),"
                  " until = excluded.until, rest_ms = excluded.rest_ms",
                  VALUES(sql_text(host), sql_text(device), sql_text(c->message), sql_int(c->jobs), sql_int(c->since_ms),
                         sql_int(c->until_ms), sql_int(c->rest_ms)),
                  e);
}

/* The attempt's failure is put down to its place. A job that stands as failed by it is pending again. */
static int blame(const struct place_target *t, int64_t attempt_id, int64_t *reopened, struct error *e)
{
    const struct sql_value id = sql_int(attempt_id);
    const char *pending = job_state_names[job_transition(JOB_FAILED, JOB_REOPEN).next];
    OWNED char *failure = NULL;
    if (db_run(t->db, "UPDATE attempt SET blame = ?2 WHERE id = ?1 AND state = 'failed' AND blame IS NULL",
               VALUES(id, sql_text(blame_names[BLAME_HOST])), e) < 0 ||
        db_query_text(t->db, "SELECT failure FROM job WHERE attempt_id = ? AND state = 'failed'", VALUES(id), &failure,
                      e) < 0)
        return -1;
    if (failure &&
        db_run(t->db,
               "UPDATE job SET state = ?2, failure = NULL, due = NULL WHERE attempt_id = ?1 AND state = 'failed'",
               VALUES(id, sql_text(pending)), e) < 0)
        return -1;
    const enum failure was = failure ? failure_by_name(failure) : FAILURE_NONE;
    reopened[was] += was != FAILURE_NONE;
    return t->keeps_sums ? attempt_sums_keep(t->db, attempt_id, e) : 0;
}

int place_record_write(const struct place_target *target, const struct place_changes *changes,
                       int64_t reopened[FAILURE_COUNT], struct error *e)
{
    int rc = 0;
    for (size_t i = 0; rc == 0 && i < changes->count; i++) {
        const struct place_change *c = &changes->items[i];
        rc = write_one(target->db, target->naming, c, e);
        for (size_t k = 0; rc == 0 && k < c->attempt_count; k++)
            rc = blame(target, c->attempts[k], reopened, e);
    }
    return rc;
}

char *place_record_describe(const struct place_naming *naming, const struct place_change *c)
{
    const char *device;
    char duration[32], *host = split(naming, c->place, &device), *text;
    char *name = device ? xasprintf("device %s of %s", device, host) : xasprintf("node %s", host);
    format_duration_ms(c->until_ms - c->since_ms, duration, sizeof duration);
    if (!c->is_aside)
        text = xasprintf("%s works again", name);
    else if (c->is_again)
        text = xasprintf("%s fails as before; it is tried again in %s", name, duration);
    else
        text = xasprintf("%s is set aside: %lld job%s failed on it and succeeded elsewhere (%s); such failures do not "
                         "count against jobs; it is tried again in %s (now: run --release)",
                         name, (long long)c->jobs, c->jobs == 1 ? "" : "s", c->message ? c->message : "", duration);
    free_all(host, name);
    return text;
}
