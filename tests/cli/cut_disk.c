/* Makes what a disk may hold after a power cut, from record_disk.c's notes: cut_disk RECORDED SEED DIRECTORY
 *
 * The power goes after a number of acts that the seed chooses, every other time one at which something had been said:
 * before, nothing can be lost that somebody relies on, and there are most of the acts. What was synced is there. Of
 * what was written to a file since its last sync the seed chooses for each file: nothing, all, a beginning whose last
 * write is torn at a sector, or any of the sectors, whatever their order. A name is on disk with a sync of its
 * directory, of which more are there up to one that the seed chooses, in order. The files are made in DIRECTORY, which
 * must be empty; standard output gets what had been said on standard error by then. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "disk_acts.h"

enum { SECTOR_BYTES = 512, FILES_MOST = 4096, ACTS_MOST = 1 << 20 };

struct act {
    struct disk_act head;
    const char *name, *bytes;
};

struct content {
    char *bytes;
    int64_t length;
};

/* One of the files that the name has had. */
struct file {
    char name[256];
    struct content synced;
    size_t pending[ACTS_MOST / 16]; /* acts since */
    size_t pending_count;
    int is_named;             /* its name is on disk */
    int is_gone;              /* and its end */
    size_t created, unlinked; /* acts; 0: none */
};

static struct act *acts;
static size_t act_count;
static struct file *files[FILES_MOST];
static size_t file_count;
static uint64_t state;

static uint64_t chosen(uint64_t below)
{
    state += 0x9e3779b97f4a7c15u; /* splitmix64 */
    uint64_t z = state;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return (z ^ (z >> 31)) % below;
}

static void die(const char *what)
{
    perror(what);
    exit(1);
}

static void read_acts(const char *path)
{
    struct stat status;
    int fd = open(path, O_RDONLY);
    if (fd < 0 || fstat(fd, &status) < 0)
        die(path);
    char *all = malloc((size_t)status.st_size + 1);
    acts = calloc(ACTS_MOST, sizeof *acts);
    if (!all || !acts || read(fd, all, (size_t)status.st_size) != status.st_size)
        die(path);
    for (char *p = all; p < all + status.st_size && act_count < ACTS_MOST;) {
        struct act *a = &acts[act_count++];
        memcpy(&a->head, p, sizeof a->head);
        a->name = p + sizeof a->head;
        a->bytes = a->name + a->head.name_bytes;
        p = (char *)a->bytes + a->head.bytes;
    }
    close(fd);
}

static int has_name(const struct act *a, const char *name)
{
    return strlen(name) == a->head.name_bytes && memcmp(name, a->name, a->head.name_bytes) == 0;
}

/* The file that has the name now; NULL: none. */
static struct file *file_of(const struct act *a)
{
    for (size_t i = file_count; i-- > 0;)
        if (!files[i]->unlinked && has_name(a, files[i]->name))
            return files[i];
    return NULL;
}

static struct file *file_new(const struct act *a, size_t number)
{
    struct file *f = calloc(1, sizeof *f);
    if (!f || file_count == FILES_MOST || a->head.name_bytes >= sizeof f->name)
        die("file");
    memcpy(f->name, a->name, a->head.name_bytes);
    f->created = number;
    return files[file_count++] = f;
}

static void put(struct content *c, const char *bytes, int64_t at, int64_t length)
{
    if (at + length > c->length) {
        c->bytes = realloc(c->bytes, (size_t)(at + length));
        memset(c->bytes + c->length, 0, (size_t)(at + length - c->length));
        c->length = at + length;
    }
    if (bytes)
        memcpy(c->bytes + at, bytes, (size_t)length);
}

static void apply(struct content *c, const struct act *a)
{
    if (a->head.kind == DISK_WRITE)
        put(c, a->bytes, a->head.offset, a->head.bytes);
    else if (a->head.offset > c->length)
        put(c, NULL, a->head.offset, 0);
    else
        c->length = a->head.offset;
}

/* Some of the sectors of a write, as FIRST says how many of them all are there; -1: any. */
static void apply_torn(struct content *c, const struct act *a, int64_t first)
{
    int64_t at = a->head.offset, end = at + a->head.bytes;
    for (int64_t sector = 0; at < end; sector++) {
        int64_t until = (at / SECTOR_BYTES + 1) * SECTOR_BYTES;
        until = until < end ? until : end;
        if (first < 0 ? chosen(2) : (uint64_t)(sector < first))
            put(c, a->bytes + (at - a->head.offset), at, until - at);
        at = until;
    }
}

static void sync_file(struct file *f)
{
    for (size_t i = 0; i < f->pending_count; i++)
        apply(&f->synced, &acts[f->pending[i]]);
    f->pending_count = 0;
}

static void sync_names(void)
{
    for (size_t i = 0; i < file_count; i++) {
        files[i]->is_named = 1;
        files[i]->is_gone = files[i]->unlinked != 0;
    }
}

static void take(size_t number)
{
    const struct act *a = &acts[number];
    struct file *f = file_of(a);
    if (a->head.kind == DISK_SAID) {
        fwrite(a->bytes, 1, (size_t)a->head.bytes, stdout);
    } else if (a->head.name_bytes == 0) {
        if (a->head.kind == DISK_SYNC)
            sync_names();
    } else if (a->head.kind == DISK_UNLINK) {
        if (f)
            f->unlinked = number + 1;
    } else if (a->head.kind == DISK_SYNC) {
        if (f)
            sync_file(f);
    } else {
        f = f ? f : file_new(a, number + 1);
        if (a->head.kind == DISK_CREATE)
            return;
        if (f->pending_count == sizeof f->pending / sizeof *f->pending)
            die("too much is not synced");
        f->pending[f->pending_count++] = number;
    }
}

static void cut_file(struct file *f)
{
    size_t kept = chosen(f->pending_count + 1);
    switch (chosen(4)) {
    case 0:
        return;
    case 1:
        sync_file(f);
        return;
    case 2:
        for (size_t i = 0; i < kept; i++)
            apply(&f->synced, &acts[f->pending[i]]);
        if (kept < f->pending_count && acts[f->pending[kept]].head.kind == DISK_WRITE)
            apply_torn(&f->synced, &acts[f->pending[kept]], (int64_t)chosen(8));
        return;
    default:
        for (size_t i = 0; i < f->pending_count; i++)
            if (acts[f->pending[i]].head.kind == DISK_WRITE)
                apply_torn(&f->synced, &acts[f->pending[i]], -1);
            else if (chosen(2))
                apply(&f->synced, &acts[f->pending[i]]);
    }
}

static void write_file(const struct file *f, const char *directory)
{
    char path[8192];
    snprintf(path, sizeof path, "%s/%s", directory, f->name);
    for (char *slash = path + strlen(directory) + 1; (slash = strchr(slash, '/')); slash++) {
        *slash = '\0';
        if (mkdir(path, 0700) < 0 && errno != EEXIST)
            die(path);
        *slash = '/';
    }
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    if (fd < 0 || write(fd, f->synced.bytes, (size_t)f->synced.length) != f->synced.length || close(fd) < 0)
        die(path);
}

int main(int argc, char **argv)
{
    if (argc != 4)
        return 2;
    state = strtoull(argv[2], NULL, 10);
    read_acts(argv[1]);
    size_t said = 0;
    while (said < act_count && acts[said].head.kind != DISK_SAID)
        said++;
    said = chosen(2) ? said : 0;
    size_t end = said + chosen(act_count + 1 - said), names = chosen(act_count + 1);
    for (size_t i = 0; i < end; i++)
        take(i);
    for (size_t i = 0; i < file_count; i++) {
        struct file *f = files[i];
        int is_named = f->is_named || f->created <= names,
            is_gone = f->is_gone || (f->unlinked && f->unlinked <= names);
        cut_file(f);
        if (is_named && !is_gone)
            write_file(f, argv[3]);
    }
    fflush(stdout);
    fprintf(stderr, "%zu of %zu acts\n", end, act_count);
    return 0;
}
