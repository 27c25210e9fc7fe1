#include "process/slot_owners.h"

#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "util/memory.h"

static char *owners_path(const char *scratch_dir)
{
    return xasprintf("%s/owners", scratch_dir);
}

int slot_owners_open(const char *scratch_dir)
{
    OWNED char *path = owners_path(scratch_dir);
    return open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
}

void slot_owner_set(int fd, size_t slot, int64_t attempt)
{
    ssize_t n = fd >= 0 ? pwrite(fd, &attempt, sizeof attempt, (off_t)(slot * sizeof attempt)) : 0;
    (void)n; /* a full disk: the log will not be saved after a crash, and that is all */
}

int slot_of_attempt(const char *scratch_dir, int64_t attempt)
{
    char *path = owners_path(scratch_dir);
    int fd = open(path, O_RDONLY | O_CLOEXEC), slot = 0;
    int64_t owner = 0;
    free(path);
    if (fd < 0)
        return -1;
    while (pread(fd, &owner, sizeof owner, (off_t)slot * (off_t)sizeof owner) == sizeof owner && owner != attempt)
        slot++;
    close(fd);
    return owner == attempt ? slot : -1;
}
