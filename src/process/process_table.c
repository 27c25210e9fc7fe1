#include "process/process_table.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "util/buffer.h"
#include "util/memory.h"
#include "util/parse.h"

enum {
    ENVIRONMENT_LIMIT_BYTES = 4 << 20,
    DEPTH_MOST = 1000,
    READS_MOST = 3,
    KERNEL_FLAG_EXITING = 0x4,      /* PF_EXITING of linux/sched.h, as FIELD_FLAGS shows it */
    KERNEL_FLAG_THREAD = 0x00200000 /* PF_KTHREAD: one of the kernel's own, which never has an environment */
};

/* The fields of /proc/PID/stat, as proc(5) counts them. */
enum {
    FIELD_PARENT = 4,
    FIELD_GROUP = 5,
    FIELD_SESSION = 6,
    FIELD_FLAGS = 9,
    FIELD_THREADS = 20,
    FIELD_START = 22,
    FIELD_ENVIRONMENT_END = 51
};

enum read_outcome { READ_DONE = 1, READ_HIDDEN, READ_FAILED }; /* hidden: it has ended, or is none of ours to see */

static enum read_outcome read_some(const char *path, char *out, size_t room, ssize_t *length)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    *length = fd < 0 ? -1 : read(fd, out, room);
    bool hidden = *length < 0 && (errno == ENOENT || errno == ESRCH || errno == EACCES || errno == EPERM);
    if (fd >= 0)
        close(fd);
    return *length > 0 ? READ_DONE : hidden || *length == 0 ? READ_HIDDEN : READ_FAILED;
}

/* `*rest` gets what follows the name in /proc/PID/stat. */
static enum read_outcome read_stat(pid_t pid, char *text, size_t room, const char **rest)
{
    char path[40];
    ssize_t n = 0;
    enum read_outcome outcome = READ_FAILED;
    snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
    for (int i = 0; i < READS_MOST && outcome == READ_FAILED; i++)
        outcome = read_some(path, text, room - 1, &n);
    if (outcome != READ_DONE)
        return outcome;
    text[n] = '\0';
    /* The name stands in parentheses, and may hold parentheses and blanks itself. */
    const char *end = strrchr(text, ')');
    *rest = end ? end + 1 : "";
    return READ_DONE;
}

static enum read_outcome read_entry(pid_t pid, struct process_entry *out)
{
    char text[1024];
    const char *rest = NULL;
    long long fields[FIELD_START + 1];
    enum read_outcome outcome = read_stat(pid, text, sizeof text, &rest);
    if (outcome != READ_DONE)
        return outcome;
    if (strlen(rest) < 2)
        return READ_HIDDEN;
    char state = rest[1];
    rest += 2;
    for (int field = FIELD_PARENT; field <= FIELD_START; field++) {
        char *end;
        fields[field] = strtoll(rest, &end, 10);
        if (end == rest)
            return READ_HIDDEN;
        rest = end;
    }
    /* A process whose first thread has ended looks like a zombie while its other threads go on. */
    bool ended = state == 'Z' || state == 'X' || (fields[FIELD_FLAGS] & KERNEL_FLAG_EXITING);
    *out = (struct process_entry){.pid = pid,
                                  .parent = (pid_t)fields[FIELD_PARENT],
                                  .group = (pid_t)fields[FIELD_GROUP],
                                  .session = (pid_t)fields[FIELD_SESSION],
                                  .start_ticks = fields[FIELD_START],
                                  .of_kernel = fields[FIELD_FLAGS] & KERNEL_FLAG_THREAD,
                                  .live = !ended || fields[FIELD_THREADS] > 1,
                                  .owner = OWNER_UNSET};
    return READ_DONE;
}

bool process_read(pid_t pid, struct process_entry *out)
{
    return read_entry(pid, out) == READ_DONE;
}

/* Returns whether the process has got its environment and keeps it: the address of its end (field 51 of /proc/PID/stat)
 * is 0 from the moment execve replaces the memory until it is filled, and once the memory is given up at the end. */
static bool has_environment(pid_t pid)
{
    char text[1024];
    const char *rest = NULL;
    read_stat(pid, text, sizeof text, &rest);
    for (int field = 3; rest && field < FIELD_ENVIRONMENT_END; field++) {
        rest += strspn(rest, " ");
        rest = strchr(rest, ' ');
    }
    return rest && strtoull(rest, NULL, 10) != 0;
}

BY_NUMBER(by_pid, struct process_entry, ->pid)

void process_table_free(struct process_table *t)
{
    free(t->entries);
    *t = (struct process_table){.without_reaper = t->without_reaper};
}

static enum read_outcome read_all(struct process_table *t)
{
    enum read_outcome outcome = READ_DONE;
    process_table_free(t);
    DIR *directory = opendir("/proc");
    if (!directory)
        return errno == ENOENT || errno == EACCES ? READ_HIDDEN : READ_FAILED;
    struct dirent *d;
    while (errno = 0, outcome != READ_FAILED && (d = readdir(directory))) {
        int64_t pid;
        struct process_entry entry;
        if (d->d_name[0] < '1' || d->d_name[0] > '9' || !parse_int64(d->d_name, &pid))
            continue;
        if ((outcome = read_entry((pid_t)pid, &entry)) != READ_DONE) {
            t->missed |= outcome == READ_HIDDEN;
            continue;
        }
        *array_add(t->entries, t->count) = entry;
    }
    if (outcome != READ_FAILED)
        outcome = errno ? READ_FAILED : READ_DONE;
    closedir(directory);
    return outcome;
}

struct process_entry *process_table_find(const struct process_table *t, pid_t pid)
{
    struct process_entry key = {.pid = pid};
    return t->count ? bsearch(&key, t->entries, t->count, sizeof key, by_pid) : NULL;
}

/* The kernel lists all pids at once. What one of them starts between the list and the reading of its entry is missing,
 * and that one may have ended by then. */
static void mark_just_ended(struct process_table *t, const struct process_table *before)
{
    for (size_t i = 0; i < t->count; i++) {
        struct process_entry *entry = &t->entries[i];
        const struct process_entry *known = process_table_find(before, entry->pid);
        bool had_ended = known && known->start_ticks == entry->start_ticks && !known->live;
        entry->just_ended = !entry->live && !entry->of_kernel && !had_ended;
    }
}

void process_table_read(struct process_table *t)
{
    struct process_table before = *t;
    *t = (struct process_table){.without_reaper = before.without_reaper};
    enum read_outcome outcome = READ_FAILED;
    for (int i = 0; i < READS_MOST && outcome == READ_FAILED; i++)
        outcome = read_all(t);
    if (outcome == READ_FAILED)
        process_table_free(t);
    t->unread = outcome == READ_FAILED;
    array_sort(t->entries, t->count, by_pid);
    mark_just_ended(t, &before);
    process_table_free(&before);
}

/* False when it may not be read. */
static bool read_environment(pid_t pid, struct buffer *out)
{
    char path[40], block[16384];
    snprintf(path, sizeof path, "/proc/%d/environ", (int)pid);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return errno != EACCES && errno != EPERM;
    ssize_t n;
    while (out->length < ENVIRONMENT_LIMIT_BYTES &&
           ((n = read(fd, block, sizeof block)) > 0 || (n < 0 && errno == EINTR)))
        if (n > 0)
            buffer_add(out, block, (size_t)n);
    close(fd);
    return true;
}

int64_t process_token(pid_t pid, const char *token_prefix)
{
    OWNED_BUFFER environment = BUFFER_INIT;
    OWNED char *wanted = xasprintf("MESHSWEEP_ATTEMPT=%s:", token_prefix);
    size_t length = strlen(wanted);
    int64_t attempt = TOKEN_NONE;
    bool readable = read_environment(pid, &environment);
    if (readable && environment.length == 0 &&
        !(has_environment(pid) && read_environment(pid, &environment))) /* execve may just have filled it */
        attempt = TOKEN_UNSURE;
    for (size_t at = 0; at < environment.length; at += strlen(environment.data + at) + 1)
        if (strncmp(environment.data + at, wanted, length) == 0 &&
            parse_int64(strrchr(environment.data + at, ':') + 1, &attempt))
            break;
    return attempt;
}

struct assignment {
    struct process_table *table;
    pid_t runner;
    const struct tree_root *roots;
    size_t root_count;
    const char *token_prefix;
};

/* A pid is not given out again while a session or group bears it. So when somebody else has the leader's pid, the
 * leader's session is empty, and what carries its number is that other's. */
static bool number_is_reused(const struct assignment *a, const struct tree_root *root)
{
    const struct process_entry *holder = process_table_find(a->table, root->leader);
    return root->leader_gone && holder && holder->start_ticks != root->start_ticks;
}

static int owner_by_session(const struct assignment *a, const struct process_entry *entry)
{
    for (size_t i = 0; i < a->root_count; i++) {
        const struct tree_root *root = &a->roots[i];
        bool numbered = entry->session == root->leader || entry->group == root->leader || entry->pid == root->leader;
        if (numbered && !number_is_reused(a, root))
            return (int)i;
    }
    return OWNER_UNSET;
}

static int owner_by_token(const struct assignment *a, struct process_entry *entry)
{
    int64_t attempt = process_token(entry->pid, a->token_prefix);
    entry->unsure = attempt == TOKEN_UNSURE;
    if (attempt < 0)
        return OWNER_UNKNOWN;
    for (size_t i = 0; i < a->root_count; i++)
        if (a->roots[i].attempt == attempt)
            return (int)i;
    return OWNER_ESCAPED;
}

/* The snapshot is not atomic: when the parent ended during the reading, somebody else is the parent by now. */
static struct process_entry *parent_of(const struct assignment *a, struct process_entry *entry)
{
    struct process_entry *parent = entry->parent ? process_table_find(a->table, entry->parent) : NULL;
    struct process_entry now;
    if (parent || !entry->parent || !process_read(entry->pid, &now) || now.start_ticks != entry->start_ticks)
        return parent;
    entry->parent = now.parent;
    return process_table_find(a->table, now.parent);
}

/* There, but not for us to see, as others' processes are where /proc is mounted with hidepid. What a job starts
 * without privileges is never so. */
static bool is_hidden(pid_t pid)
{
    struct process_entry entry;
    return (kill(pid, 0) == 0 || errno == EPERM) && read_entry(pid, &entry) == READ_HIDDEN;
}

static int owner_of(const struct assignment *a, struct process_entry *entry, int depth);

/* Whose it is by what is above it; OWNER_UNSET where that is hidden. Sets `unsure` where it could not be found out. */
static int inherited_owner(const struct assignment *a, struct process_entry *entry, int depth)
{
    struct process_entry *parent = parent_of(a, entry);
    if (!entry->parent || (parent && depth >= DEPTH_MOST)) /* nothing keeps pids of two moments from forming a ring */
        return OWNER_FOREIGN;
    if (!parent && is_hidden(entry->parent))
        return OWNER_UNSET;
    int owner = parent ? owner_of(a, parent, depth + 1) : OWNER_UNKNOWN;
    entry->unsure = owner == OWNER_UNKNOWN && (!parent || parent->unsure);
    return owner;
}

/* That a process descends from the runner must be seen: one whose ancestors are not to be seen is anybody's. */
static int owner_of(const struct assignment *a, struct process_entry *entry, int depth)
{
    if (entry->owner != OWNER_UNSET)
        return entry->owner;
    entry->owner = entry->pid == a->runner ? OWNER_RUNNER : owner_by_session(a, entry);
    if (entry->owner != OWNER_UNSET)
        return entry->owner;
    int inherited = inherited_owner(a, entry, depth);
    bool below_unsure = entry->unsure;
    /* A parent of nobody's may only have lost its environment, as a process does that is ending. */
    bool certain = inherited >= 0 || (inherited == OWNER_FOREIGN && !a->table->without_reaper);
    entry->owner = certain ? inherited : owner_by_token(a, entry);
    bool may_show = entry->unsure && (inherited == OWNER_UNSET || (entry->live && !entry->of_kernel));
    if ((inherited == OWNER_FOREIGN || inherited == OWNER_UNSET) && entry->owner == OWNER_UNKNOWN && !may_show)
        entry->owner = OWNER_FOREIGN;
    entry->unsure |= below_unsure && entry->owner == OWNER_UNKNOWN;
    return entry->owner;
}

void process_table_assign(struct process_table *t, pid_t runner, const struct tree_root *roots, size_t root_count,
                          const char *token_prefix)
{
    struct assignment a = {t, runner, roots, root_count, token_prefix};
    for (size_t i = 0; i < t->count; i++)
        t->entries[i].owner = OWNER_UNSET;
    for (size_t i = 0; i < t->count; i++)
        owner_of(&a, &t->entries[i], 0);
}

bool process_table_has_gaps(const struct process_table *t)
{
    return t->unread || (t->without_reaper && t->missed);
}

enum tree_state process_table_state(const struct process_table *t, const struct tree_root *roots, size_t index)
{
    enum tree_state state = process_table_has_gaps(t) ? TREE_UNSURE : TREE_GONE;
    for (size_t i = 0; i < t->count; i++) {
        const struct process_entry *entry = &t->entries[i];
        bool may_be_ours = entry->owner == OWNER_UNKNOWN && entry->start_ticks >= roots[index].start_ticks;
        if (entry->owner == (int)index && entry->live && entry->pid != roots[index].leader)
            return TREE_LIVE;
        bool hides_one = t->without_reaper && entry->just_ended && entry->start_ticks >= roots[index].start_ticks;
        if ((entry->owner == (int)index && !entry->live) || (may_be_ours && (!entry->live || entry->unsure)) ||
            hides_one)
            state = TREE_UNSURE;
    }
    return state;
}
