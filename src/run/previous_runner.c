#include "run/previous_runner.h"

#include <inttypes.h>
#include <string.h>
#include <unistd.h>

#include "process/process_table.h"
#include "process/supervisor.h"
#include "util/memory.h"

static bool is_alive(const struct runner_process *p)
{
    struct process_entry now;
    char boot_id[64];
    return p->pid != getpid() && strcmp(boot_id_read(boot_id), p->boot_id) == 0 && process_read((pid_t)p->pid, &now) &&
           now.live && now.start_ticks == p->start_ticks;
}

char *runner_token(const char *identity, int64_t id, int64_t pid)
{
    return xasprintf("%s:%" PRId64 "-%" PRId64, identity, id, pid);
}

int previous_runner_check(struct db *db, struct runner_process *last, bool *died, struct error *e)
{
    bool open;
    if (runner_find_open(db, last, &open, e) < 0)
        return -1;
    if (open && is_alive(last))
        return error_set(e, ERROR_FAILED,
                         "process %lld is using this database, or the one that this is a copy of; wait for it or stop "
                         "it, then start again",
                         (long long)last->pid);
    *died = open;
    return 0;
}
