#include "measures/place_record.h"

#include <stdlib.h>
#include <string.h>

#include "store/places.h"
#include "util/clock.h"
#include "util/memory.h"
#include "util/parse.h"

struct loading {
    const struct place_naming *naming;
    struct place_watch *watch;
};

static void load_one(void *context, const struct place_row *row)
{
    const struct loading *l = context;
    const bool is_node = !row->device, is_here = strcmp(row->host, l->naming->host) == 0;
    char *name = NULL;
    switch (l->naming->kind) {
    case PLACES_ARE_NODES:
        name = is_node ? xstrdup(row->host) : NULL;
        break;
    case PLACES_ARE_DEVICES_OF_NODES:
        name = is_node ? NULL : xasprintf("%s:%s", row->host, row->device);
        break;
    case PLACES_ARE_DEVICES:
        name = is_node || !is_here ? NULL : xstrdup(row->device);
        break;
    }
    if (name)
        place_watch_resume(l->watch, name, row->message, row->until_ms, row->rest_ms);
    free(name);
}

int place_record_load(struct db *db, const struct place_naming *naming, bool release, struct place_watch *w,
                      struct error *e)
{
    struct loading l = {naming, w};
    if (places_aside_read(db, load_one, &l, e) < 0)
        return -1;
    if (release)
        place_watch_release(w, clock_wall_ms());
    return 0;
}

/* Its host, the caller's, and what follows that of its name; NULL: nothing. */
static char *split(const struct place_naming *naming, const char *place, const char **device)
{
    const char *colon = strrchr(place, ':');
    switch (naming->kind) {
    case PLACES_ARE_NODES:
        *device = NULL;
        return xstrdup(place);
    case PLACES_ARE_DEVICES_OF_NODES:
        *device = colon ? colon + 1 : NULL;
        return xstrndup(place, colon ? (size_t)(colon - place) : strlen(place));
    case PLACES_ARE_DEVICES:
        break;
    }
    *device = place;
    return xstrdup(naming->host);
}

static int write_one(struct db *db, const struct place_naming *naming, const struct place_change *c, struct error *e)
{
    const char *device;
    char *host = split(naming, c->place, &device);
    const struct place_row row = {host, device, c->message, c->jobs, c->since_ms, c->until_ms, c->rest_ms};
    int rc = c->is_aside ? place_set_aside(db, &row, e) : place_restore(db, host, device, e);
    free(host);
    return rc;
}

static int blame(const struct place_target *t, const struct place_change *c, int64_t *reopened, struct error *e)
{
    for (size_t i = 0; i < c->attempt_count; i++) {
        enum failure failure;
        if (place_blame(t->db, c->attempts[i], &failure, e) < 0 ||
            (t->sums && attempt_sums_keep(t->sums, c->attempts[i], e) < 0))
            return -1;
        reopened[failure] += failure != FAILURE_NONE;
    }
    return 0;
}

int place_record_write(const struct place_target *target, const struct place_changes *changes,
                       int64_t reopened[FAILURE_COUNT], struct error *e)
{
    for (size_t i = 0; i < changes->count; i++)
        if (write_one(target->db, target->naming, &changes->items[i], e) < 0 ||
            blame(target, &changes->items[i], reopened, e) < 0)
            return -1;
    return 0;
}

char *place_record_describe(const struct place_naming *naming, const struct place_change *c)
{
    const char *device;
    char duration[32], *host = split(naming, c->place, &device), *name = place_name(host, device), *text;
    format_duration_ms(c->until_ms - c->since_ms, duration, sizeof duration);
    if (!c->is_aside)
        text = xasprintf("%s works again", name);
    else if (c->is_again)
        text = xasprintf("%s fails as before; it is tried again in %s", name, duration);
    else
        text = xasprintf("%s is set aside: %lld job%s failed on it and succeeded elsewhere (%s); such failures do not "
                         "count against jobs; it is tried again in %s (now: run --release)",
                         name, (long long)c->jobs, c->jobs == 1 ? "" : "s", c->message ? c->message : "", duration);
    free(host);
    free(name);
    return text;
}
