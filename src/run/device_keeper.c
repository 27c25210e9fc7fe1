#include "run/device_keeper.h"

#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include "device/usage.h"
#include "space/launch.h"
#include "util/buffer.h"
#include "util/clock.h"
#include "util/memory.h"
#include "util/parse.h"

enum {
    PATIENCE = 16,    /* starts of others that the first of the queue puts up with */
    OVERDUE_MS = 100, /* until the next round when a look is overdue */
    FRESH_MS = 1000,  /* an answer that old still counts */
    COST_MOST = 20    /* looks take at most that part of the time */
};

/* Devices of a running attempt. */
struct holding {
    int64_t attempt;
    struct device_set set;
    int64_t peak_bytes;                  /* -1: not seen yet, or of several jobs */
    size_t neighbours;                   /* the most that had the same device at once */
    struct device_condition *conditions; /* of each of them */
};

struct device_keeper {
    const struct device_list *names;
    const struct local_config *config;
    const struct batch_config *slurm;
    char *const *environment;
    struct place_watch *places;
    void (*notice)(void *context, const char *text);
    void *context;
    struct device_pool pool;
    struct holding *holdings;
    size_t holding_count;
    struct nvml *nvml; /* NULL: there is none */
    bool nvml_tried;
    int64_t *numbers;           /* by device, as NVML counts them; -1: it does not know it */
    int64_t cost_ms;            /* of the last look */
    struct device_usage *usage; /* by device */
    int64_t *dirty_since;       /* by device; 0: clean */
    bool *notified;
    int64_t asked_ms;       /* when the devices were last asked about; 0: never */
    bool silent;            /* they cannot be asked about */
    int64_t stuck_since_ms; /* nothing runs, and nothing that waits fits; 0: not so */
};

struct device_keeper *device_keeper_create(const struct device_options *options, const struct sweep *sweep,
                                           char *const *environment, struct place_watch *places,
                                           void (*notice)(void *context, const char *text), void *context)
{
    size_t count = options->devices ? options->devices->count : 0;
    if (count == 0)
        return NULL;
    struct device_keeper *k = xcalloc(1, sizeof *k);
    *k = (struct device_keeper){.names = options->devices,
                                .config = &sweep->local,
                                .slurm = &sweep->batch,
                                .environment = environment,
                                .places = places,
                                .notice = notice,
                                .context = context,
                                .usage = xcalloc(count, sizeof *k->usage),
                                .numbers = xcalloc(count, sizeof *k->numbers),
                                .dirty_since = xcalloc(count, sizeof *k->dirty_since),
                                .notified = xcalloc(count, sizeof *k->notified),
                                /* Slurm watches what is on other machines. */
                                .silent = options->devices->nodes != NULL};
    device_pool_init(&k->pool, count, (size_t)options->most, options->devices->nodes);
    k->pool.gives_whole = options->devices->hosts;
    return k;
}

void device_keeper_free(struct device_keeper *k)
{
    if (!k)
        return;
    for (size_t i = 0; i < k->holding_count; i++)
        free(k->holdings[i].conditions);
    free_all(k->holdings, k->usage, k->numbers);
    nvml_close(k->nvml);
    free_all(k->dirty_since, k->notified, k);
}

/* --- memory in use --- */

/* A host that does not answer may come back. */
static bool awaits_hosts(const struct device_keeper *k)
{
    bool lost = false;
    for (size_t i = 0; k->names->hosts && i < k->pool.count; i++)
        lost |= k->pool.state[i] == DEVICE_SKIPPED;
    return lost;
}

/* Notes what an answer says of the attempts that hold devices, whoever asked. */
static void note_peaks(struct device_keeper *k)
{
    for (size_t i = 0; i < k->holding_count; i++) {
        struct holding *h = &k->holdings[i];
        for (size_t d = 0; d < h->set.count && h->neighbours == 0; d++)
            if (k->usage[h->set.items[d]].bytes > h->peak_bytes)
                h->peak_bytes = k->usage[h->set.items[d]].bytes;
    }
}

static bool looks(const struct device_keeper *k)
{
    return k->config->sample_ms > 0 && k->names->nodes == NULL;
}

/* Only where it is needed: it takes a moment to load, and memory. */
static void need_nvml(struct device_keeper *k)
{
    if (k->nvml_tried)
        return;
    k->nvml_tried = true;
    k->nvml = nvml_open();
    device_nvml_numbers(k->nvml, k->names, k->numbers);
}

static void note_condition(struct device_keeper *k, struct holding *h)
{
    for (size_t d = 0; k->nvml && d < h->set.count; d++) {
        const int64_t number = k->numbers[h->set.items[d]];
        if (number < 0)
            continue;
        const struct device_reading reading = nvml_device_condition(k->nvml, (size_t)number);
        device_condition_note(&h->conditions[d], &reading);
    }
}

static int64_t sample_every_ms(const struct device_keeper *k)
{
    return k->config->sample_ms > COST_MOST * k->cost_ms ? k->config->sample_ms : COST_MOST * k->cost_ms;
}

static void ask_devices(struct device_keeper *k, int64_t age_ms)
{
    int64_t now_ms = clock_monotonic_ms();
    if (k->silent || (k->asked_ms && now_ms - k->asked_ms < age_ms))
        return;
    need_nvml(k);
    const struct device_witness witness = {k->nvml, k->environment, ""};
    k->silent = device_usage_read(&witness, k->names, k->usage) < 0;
    if (!k->silent && looks(k))
        note_peaks(k);
    for (size_t i = 0; looks(k) && i < k->holding_count; i++)
        note_condition(k, &k->holdings[i]);
    k->asked_ms = clock_monotonic_ms();
    k->cost_ms = k->asked_ms - now_ms;
}

void device_keeper_sample(struct device_keeper *k)
{
    if (k && looks(k) && k->holding_count > 0)
        ask_devices(k, sample_every_ms(k));
}

int64_t device_keeper_due_ms(const struct device_keeper *k)
{
    bool dirty = false;
    if (k && k->stuck_since_ms && awaits_hosts(k))
        return OVERDUE_MS;
    if (!k || k->silent)
        return -1;
    for (size_t i = 0; i < k->pool.count; i++)
        dirty |= k->dirty_since[i] != 0;
    bool sampling = k->config->sample_ms > 0 && k->holding_count > 0;
    int64_t left_ms = k->asked_ms + (dirty && !sampling ? FRESH_MS : sample_every_ms(k)) - clock_monotonic_ms();
    /* One that is overdue has nothing that waits for it: never a loop without a pause. */
    return !sampling && !dirty ? -1 : left_ms > 0 ? left_ms : OVERDUE_MS;
}

/* --- clean devices --- */

static void notify(struct device_keeper *k, size_t device, const char *what)
{
    char size[32];
    const struct device_usage *u = &k->usage[device];
    const char *used = u->bytes >= 0 ? format_size_bytes(u->bytes, size, sizeof size) : "memory";
    OWNED char *text = u->processes > 0 ? xasprintf("device %s is in use (%s of memory, %lld other processes): %s",
                                                    k->names->names[device], used, (long long)u->processes, what)
                                        : xasprintf("device %s is in use by others (%s of memory): %s",
                                                    k->names->names[device], used, what);
    if (k->notice)
        k->notice(k->context, text);
}

static bool is_dirty(const struct device_keeper *k, size_t device)
{
    return k->usage[device].bytes >= k->config->dirty_bytes || k->usage[device].processes > 0;
}

/* A free device on which something of others lies is waited for, then passed over until it is clean. */
static void judge(struct device_keeper *k, size_t device, int64_t now_ms)
{
    if (k->pool.state[device] == DEVICE_BUSY)
        return;
    if (!is_dirty(k, device)) {
        k->dirty_since[device] = 0;
        k->notified[device] = false;
        device_pool_restore(&k->pool, device);
        return;
    }
    if (k->dirty_since[device] == 0) {
        k->dirty_since[device] = now_ms;
        notify(k, device, "waiting for it");
    }
    device_pool_skip(&k->pool, device);
    if (!k->notified[device] && now_ms - k->dirty_since[device] >= k->config->clean_ms) {
        k->notified[device] = true;
        notify(k, device, "doing without it");
    }
}

static void judge_all(struct device_keeper *k)
{
    if (k->config->clean_ms == 0)
        return;
    ask_devices(k, FRESH_MS);
    int64_t now_ms = clock_monotonic_ms();
    for (size_t i = 0; !k->silent && i < k->pool.count; i++)
        judge(k, i, now_ms);
}

/* --- who gets which --- */

static struct device_gang gang_of(const struct device_keeper *k, const struct running_attempt *f)
{
    if (k->names->nodes) {
        const struct job_shape shape = job_shape_of(k->slurm, f->job.spec_json, f->job.devices);
        return (struct device_gang){(size_t)shape.nodes, (size_t)shape.devices_per_node, 0};
    }
    if (k->config->exclusive)
        return (struct device_gang){1, k->pool.most, 0};
    /* A job on several hosts has some of its devices elsewhere: here it has what is here, at most. */
    size_t devices = f->job.devices > 0 ? (size_t)f->job.devices : 1;
    if (devices > 1)
        return (struct device_gang){1, devices < k->pool.most ? devices : k->pool.most, 0};
    const double share = job_shape_of(k->slurm, f->job.spec_json, 1).share, of_all = (double)k->config->jobs_per_device;
    return (struct device_gang){1, 1, device_parts(share > 0 ? share : of_all > 1 ? 1 / of_all : 1)};
}

static struct device_gang wanted(const struct device_keeper *k, struct running_attempt *f)
{
    if (f->gang.nodes == 0)
        f->gang = gang_of(k, f);
    return f->gang;
}

static void add_named(const struct device_keeper *k, const char *names, struct device_set *set)
{
    char *copy = xstrdup(names ? names : ""), *rest = NULL;
    for (char *name = strtok_r(copy, ",", &rest); name; name = strtok_r(NULL, ",", &rest))
        for (size_t d = 0; d < k->names->count && set->count < DEVICES_MOST; d++)
            if (strcmp(k->names->names[d], name) == 0)
                set->items[set->count++] = (uint16_t)d;
    free(copy);
}

/* Those on which the job failed before, on whatever host: their names say little, and cost little. */
static struct device_set failed_devices(const struct device_keeper *k, const struct running_attempt *f)
{
    struct device_set set = {.count = 0};
    for (size_t i = 0; i < f->failed.count; i++)
        add_named(k, f->failed.items[i].devices, &set);
    return set;
}

/* Takes the free ones of these out of the pool, until they are put back. */
static struct device_set withhold(struct device_keeper *k, const char *names)
{
    struct device_set named = {.count = 0}, withheld = {.count = 0};
    add_named(k, names, &named);
    for (size_t i = 0; i < named.count; i++) {
        if (device_pool_skip(&k->pool, named.items[i]))
            withheld.items[withheld.count++] = named.items[i];
    }
    return withheld;
}

static void put_back(struct device_keeper *k, const struct device_set *withheld)
{
    for (size_t i = 0; i < withheld->count; i++)
        device_pool_restore(&k->pool, withheld->items[i]);
}

/* Takes devices for it (`set` NULL: only looks whether they are to be had), none on which it is not to run. One that
 * is to run elsewhere keeps away from all that is in doubt, where there is enough else; then from where it
 * failed. */
static bool take_for(struct device_keeper *k, struct running_attempt *f, struct device_set *set)
{
    const bool is_second = place_watch_is_second(k->places, f->claim.job_id);
    const struct device_set failed = failed_devices(k, f);
    bool fits = false, may_fit = false;
    for (int wary = is_second; !fits && !may_fit && wary >= 0; wary--) {
        OWNED char *kept = place_watch_kept(k->places, f->claim.job_id, wary > 0, clock_wall_ms());
        const struct device_set withheld = withhold(k, kept);
        fits = device_pool_fits(&k->pool, wanted(k, f)) &&
               (!set || device_pool_take(&k->pool, wanted(k, f), &failed, set));
        may_fit = device_pool_can_ever(&k->pool, wanted(k, f));
        put_back(k, &withheld);
    }
    return fits;
}

bool device_keeper_has_elsewhere(struct device_keeper *k, struct running_attempt *f)
{
    OWNED char *kept = place_watch_kept(k->places, 0, false, clock_wall_ms());
    const struct device_set closed = withhold(k, kept), own = withhold(k, f->devices);
    bool has = device_pool_can_ever(&k->pool, wanted(k, f));
    put_back(k, &own);
    put_back(k, &closed);
    return has;
}

/* --- choosing --- */

/* Chooses the first that can start of the jobs that run elsewhere because a place is uncertain: their outcome is waited
 * for. -1: none. */
static int64_t choose_second(struct device_keeper *k, struct running_attempt *queue, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (place_watch_is_second(k->places, queue[i].claim.job_id) && take_for(k, &queue[i], NULL))
            return (int64_t)i;
    return -1;
}

static int64_t choose_other(struct device_keeper *k, struct running_attempt *queue, size_t count)
{
    /* More nodes than there are: it fits nowhere. */
    static const struct device_gang nowhere = {SIZE_MAX, 1, 0};
    OWNED struct device_wish *wishes = xcalloc(count, sizeof *wishes);
    for (size_t i = 0; i < count; i++)
        wishes[i] = (struct device_wish){place_watch_is_second(k->places, queue[i].claim.job_id) ? nowhere
                                                                                                 : wanted(k, &queue[i]),
                                         queue[i].passed_over};
    OWNED char *kept = place_watch_kept(k->places, 0, false, clock_wall_ms());
    const struct device_set withheld = withhold(k, kept);
    int64_t chosen = devices_choose(&k->pool, wishes, count, PATIENCE);
    put_back(k, &withheld);
    return chosen;
}

static int64_t choose(struct device_keeper *k, struct running_attempt *queue, size_t count)
{
    int64_t second = choose_second(k, queue, count);
    return second >= 0 ? second : choose_other(k, queue, count);
}

int64_t device_keeper_choose(struct device_keeper *k, struct claims *claims)
{
    struct running_attempt *queue = claims->items + claims->first;
    if (claims->count == 0)
        return 0;
    if (!k)
        return queue[0].claim.attempt_id;
    judge_all(k);
    int64_t chosen = choose(k, queue, claims->count);
    /* Nothing is left that could settle a doubt. */
    if (chosen < 0 && k->pool.used == 0 && place_watch_drop_doubts(k->places))
        chosen = choose(k, queue, claims->count);
    bool stuck = chosen < 0 && k->pool.used == 0;
    k->stuck_since_ms = !stuck ? 0 : k->stuck_since_ms ? k->stuck_since_ms : clock_monotonic_ms();
    for (int64_t i = 0; i < chosen; i++)
        queue[i].passed_over++;
    return chosen < 0 ? 0 : queue[chosen].claim.attempt_id;
}

/* The processors that belong to the devices when all are shared out evenly: "0-3,8". */
static char *cpus_of(const struct device_keeper *k, const struct device_set *set)
{
    cpu_set_t all;
    struct buffer b = BUFFER_INIT;
    if (!k->config->bind_cpus || k->names->nodes || sched_getaffinity(0, sizeof all, &all) < 0)
        return NULL;
    size_t count = (size_t)CPU_COUNT(&all), rank = 0;
    for (int cpu = 0; cpu < CPU_SETSIZE; cpu++) {
        if (!CPU_ISSET(cpu, &all))
            continue;
        size_t device = rank++ * k->pool.count / count;
        for (size_t i = 0; i < set->count; i++)
            if (set->items[i] == device)
                buffer_printf(&b, "%s%d", b.length ? "," : "", cpu);
    }
    /* Fewer processors than devices: they share all. */
    return b.length ? buffer_take(&b) : NULL;
}

/* Nobody knows whose memory and power a device's are then. */
static void note_neighbours(struct device_keeper *k, size_t device)
{
    size_t count = 0;
    for (size_t i = 0; i < k->holding_count; i++)
        count += k->holdings[i].set.items[0] == device;
    for (size_t i = 0; i < k->holding_count; i++)
        if (k->holdings[i].set.items[0] == device && count - 1 > k->holdings[i].neighbours) {
            k->holdings[i].neighbours = count - 1;
            k->holdings[i].peak_bytes = -1;
        }
}

/* "n1,n2": each once, as devices of a node follow each other. NULL: they are of this machine. */
static char *nodes_of(const struct device_keeper *k, const struct device_set *set)
{
    struct buffer b = BUFFER_INIT;
    for (size_t i = 0; k->names->nodes && i < set->count; i++) {
        const char *name = k->names->names[set->items[i]];
        if (i == 0 || k->names->nodes[set->items[i]] != k->names->nodes[set->items[i - 1]])
            buffer_printf(&b, "%s%.*s", i ? "," : "", (int)(strrchr(name, ':') - name), name);
    }
    return b.length ? buffer_take(&b) : NULL;
}

bool device_keeper_give(struct device_keeper *k, struct running_attempt *f)
{
    if (!k)
        return true;
    struct holding h = {.attempt = f->claim.attempt_id, .peak_bytes = -1};
    if (!take_for(k, f, &h.set))
        return false;
    h.conditions = xcalloc(h.set.count, sizeof *h.conditions);
    /* Counters are told by what they rise by. */
    if (looks(k))
        need_nvml(k);
    note_condition(k, &h);
    *array_add(k->holdings, k->holding_count) = h;
    if (h.set.parts)
        note_neighbours(k, h.set.items[0]);
    f->devices = device_set_names(&h.set, k->names);
    f->hosts = nodes_of(k, &h.set);
    f->cpus = cpus_of(k, &h.set);
    return true;
}

/* The use that was seen is the job's own, which is gone. */
static void forget_use(struct device_keeper *k, const struct device_set *set)
{
    for (size_t i = 0; i < set->count; i++) {
        if (is_dirty(k, set->items[i]))
            k->asked_ms = 0;
        k->usage[set->items[i]] = (struct device_usage){-1, -1};
    }
}

int64_t device_keeper_take_back(struct device_keeper *k, struct running_attempt *f)
{
    for (size_t i = 0; k && i < k->holding_count; i++) {
        struct holding *h = &k->holdings[i];
        if (h->attempt != f->claim.attempt_id)
            continue;
        int64_t peak = h->peak_bytes;
        note_condition(k, h);
        f->conditions = h->conditions;
        f->condition_count = h->set.count;
        f->neighbours = (int64_t)h->neighbours;
        if (f->neighbours > 0)
            device_condition_share(f->conditions);
        forget_use(k, &h->set);
        device_pool_give(&k->pool, &h->set);
        k->holdings[i] = k->holdings[--k->holding_count];
        return peak;
    }
    return -1;
}

static void change_nodes(struct device_keeper *k, const char *nodes, bool lose)
{
    for (size_t i = 0; k && k->names->nodes && i < k->pool.count; i++) {
        size_t length = (size_t)(strrchr(k->names->names[i], ':') - k->names->names[i]);
        for (const char *name = nodes; *name; name += strcspn(name, ","), name += *name == ',') {
            if (strcspn(name, ",") != length || strncmp(name, k->names->names[i], length) != 0)
                continue;
            if (lose)
                device_pool_skip(&k->pool, i);
            else
                device_pool_restore(&k->pool, i);
        }
    }
}

void device_keeper_lose(struct device_keeper *k, const char *nodes)
{
    change_nodes(k, nodes, true);
}

void device_keeper_regain(struct device_keeper *k, const char *nodes)
{
    change_nodes(k, nodes, false);
}

static void notify_stuck(const struct device_keeper *k)
{
    struct device_set set = {.count = 0};
    for (size_t i = 0; i < k->pool.count; i++)
        if (k->pool.state[i] == DEVICE_SKIPPED)
            set.items[set.count++] = (uint16_t)i;
    char *aside = place_watch_kept(k->places, 0, false, clock_wall_ms());
    OWNED char *names = aside ? aside : device_set_names(&set, k->names);
    OWNED char *text = xasprintf("the jobs that are left need devices that %s: %s; they stay pending for another run",
                                 aside             ? "are set aside"
                                 : k->names->nodes ? "are gone with their node"
                                                   : "others still use",
                                 names);
    if (k->notice)
        k->notice(k->context, text);
}

bool device_keeper_gives_up(struct device_keeper *k)
{
    if (!k || k->stuck_since_ms == 0)
        return false;
    if ((!k->names->nodes || awaits_hosts(k)) && clock_monotonic_ms() - k->stuck_since_ms < k->config->give_up_ms)
        return false;
    k->stuck_since_ms = 0;
    notify_stuck(k);
    return true;
}
