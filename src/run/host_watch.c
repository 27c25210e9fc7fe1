#include "run/host_watch.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "util/clock.h"
#include "util/file.h"
#include "util/memory.h"

#define FIRST_DELAY_MS 1000
#define LONGEST_DELAY_MS 60000
#define ENDS_MOST 3          /* of one job that the host is blamed for */
#define ROOM_BYTES (1 << 20) /* that a disk must take before another job is tried */

void host_watch_open(struct host_watch *w, const char *scratch, int64_t give_up_ms, bool worked)
{
    *w = (struct host_watch){.scratch = scratch,
                             .directory = getcwd(NULL, 0),
                             .give_up_ms = give_up_ms,
                             .worked = worked};
}

void host_watch_close(struct host_watch *w)
{
    free_all(w->directory, w->held, w->ended, w->why, w->suspect_way);
}

/* --- whose fault --- */

enum suspicion { OF_JOB, OF_EITHER, OF_HOST };

/* "log" and "job files" are the runner's own doing, in the directory of job files; what goes into the latter may be
 * wrong, what becomes of the former never is the job's. */
static enum suspicion suspicion_of(const struct host_watch *w, const char *stage, int error_number)
{
    static const int of_host[] = {EMFILE, ENFILE, ENOMEM, EAGAIN, ENOSPC,   EDQUOT, EFBIG,     EIO,      EROFS,
                                  ESTALE, ENXIO,  ENODEV, EBUSY,  ENOTCONN, EINTR,  ETIMEDOUT, EHOSTDOWN};
    static const int of_either[] = {ENOENT, ENOTDIR, EACCES, EPERM, ETXTBSY, ENETDOWN, EHOSTUNREACH};
    if (strcmp(stage, "fork") == 0 || strcmp(stage, "log") == 0)
        return OF_HOST;
    for (size_t i = 0; i < LENGTH(of_host); i++)
        if (of_host[i] == error_number)
            return OF_HOST;
    if (strcmp(stage, "job files") == 0)
        return host_has_room(w->scratch) ? OF_JOB : OF_HOST;
    for (size_t i = 0; i < LENGTH(of_either); i++)
        if (of_either[i] == error_number)
            return OF_EITHER;
    return OF_JOB;
}

static size_t find_held(const struct host_watch *w, int64_t job_id)
{
    size_t i = FIRST(k, w->held_count, w->held[k] == job_id);
    return i;
}

static bool is_host(const struct host_watch *w, int64_t job_id)
{
    return find_held(w, job_id) == w->held_count || !w->any_started;
}

bool host_watch_is_host(struct host_watch *w, int64_t job_id)
{
    int times = 1;
    for (size_t i = 0; i < w->ended_count; i++)
        times += w->ended[i] == job_id;
    *array_add(w->ended, w->ended_count) = job_id;
    return times <= ENDS_MOST && is_host(w, job_id);
}

static char *way_of(const struct outcome *o)
{
    const char *subject = o->spawn_subject ? o->spawn_subject : "", *slash = strrchr(subject, '/');
    return xasprintf("%s %.*s", o->spawn_stage, slash ? (int)(slash - subject) : (int)strlen(subject), subject);
}

/* Takes `way`. */
static void suspect(struct host_watch *w, int64_t job_id, int error_number, char *way)
{
    free(w->suspect_way);
    w->suspect_job = job_id;
    w->suspect_error = error_number;
    w->suspect_way = way;
}

enum host_answer host_watch_judge(struct host_watch *w, int64_t job_id, const struct outcome *o)
{
    enum suspicion suspicion = suspicion_of(w, o->spawn_stage, o->error_number);
    if (suspicion == OF_JOB || !is_host(w, job_id))
        return HOST_BLAMES_JOB;
    char *way = way_of(o);
    bool same = w->suspect_job && w->suspect_job != job_id && w->suspect_error == o->error_number &&
                strcmp(w->suspect_way, way) == 0;
    bool of_host = suspicion == OF_HOST || same || w->is_paused;
    if (of_host) {
        w->is_certain |= suspicion == OF_HOST;
        free(way);
    } else {
        suspect(w, job_id, o->error_number, way);
    }
    return of_host ? HOST_BLAMES_HOST : HOST_UNSURE;
}

/* --- the pause --- */

bool host_watch_hold(struct host_watch *w, int64_t job_id, const char *why, enum host_need need)
{
    bool begins = !w->is_paused;
    if (find_held(w, job_id) == w->held_count) {
        *array_add(w->held, w->held_count) = job_id;
    }
    w->needs_disk |= need == HOST_NEEDS_DISK;
    w->needs_end |= need == HOST_NEEDS_END;
    w->is_certain |= need != HOST_NEEDS_START;
    if (!begins)
        return false;
    w->is_paused = true;
    w->any_started = false;
    free(w->why);
    w->why = xstrdup(why);
    w->since_ms = clock_monotonic_ms();
    w->delay_ms = FIRST_DELAY_MS;
    w->probe_ms = w->since_ms + w->delay_ms;
    return true;
}

bool host_watch_started(struct host_watch *w, int64_t job_id)
{
    size_t i = find_held(w, job_id);
    bool ends = w->is_paused;
    w->worked = true;
    if (w->needs_end)
        return false;
    w->suspect_job = 0;
    w->any_started = true;
    if (i < w->held_count)
        w->held[i] = w->held[--w->held_count];
    w->is_paused = w->needs_disk = w->is_certain = false;
    return ends;
}

bool host_watch_ended(struct host_watch *w, int64_t job_id)
{
    if (!w->needs_end)
        return false;
    w->needs_end = false;
    return host_watch_started(w, job_id);
}

bool host_has_room(const char *scratch)
{
    OWNED char *path = xasprintf("%s/room", scratch);
    struct error ignored = ERROR_INIT;
    file_make_directories(scratch, &ignored);
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0600);
    bool has = file_has_room(fd, ROOM_BYTES, true);
    if (fd >= 0)
        close(fd);
    unlink(path);
    return has;
}

bool host_watch_may_start(struct host_watch *w, bool at_once)
{
    if (!w->is_paused)
        return true;
    int64_t now_ms = clock_monotonic_ms();
    if (at_once)
        w->delay_ms = FIRST_DELAY_MS;
    else if (now_ms < w->probe_ms)
        return false;
    w->probe_ms = now_ms + w->delay_ms;
    w->delay_ms = 2 * w->delay_ms < LONGEST_DELAY_MS ? 2 * w->delay_ms : LONGEST_DELAY_MS;
    /* A directory that was mounted or made anew has the name of the one that is gone. */
    if (w->directory && chdir(w->directory) < 0)
        return false;
    return !w->needs_disk || host_has_room(w->scratch);
}

int64_t host_watch_due_ms(const struct host_watch *w)
{
    int64_t left_ms = w->is_paused ? w->probe_ms - clock_monotonic_ms() : -1;
    return w->is_paused && left_ms < 0 ? 0 : left_ms;
}

bool host_watch_gives_up(const struct host_watch *w)
{
    if (!w->is_paused)
        return false;
    return (!w->worked && !w->is_certain) || clock_monotonic_ms() - w->since_ms >= w->give_up_ms;
}
