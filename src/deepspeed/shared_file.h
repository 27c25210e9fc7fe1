/* Checks whether the hosts of a hostfile see this machine's files. */
#ifndef MESHSWEEP_DEEPSPEED_SHARED_FILE_H
#define MESHSWEEP_DEEPSPEED_SHARED_FILE_H

#include "device/hostfile.h"

/* Asks up to eight hosts through ssh. Returns the first that has no file at that path, or another one than this machine
 * (by inode, size and modification time); borrowed from `hosts`. NULL if none reports that; a host that cannot be
 * reached within 10 s does not count. */
const char *shared_file_lacking_host(const struct host_list *hosts, const char *path, char *const *environment);

#endif
