/* Whether a host of a hostfile sees the files of this machine. */
#ifndef MESHSWEEP_DEEPSPEED_SHARED_FILE_H
#define MESHSWEEP_DEEPSPEED_SHARED_FILE_H

#include "device/hostfile.h"

/* The first of at most eight hosts that, asked through ssh, has no such file at that path, or another one than this
 * machine (by inode, size and time of change): borrowed from `hosts`. NULL: none has said so; who is not reached within
 * 10 s says nothing. */
const char *shared_file_lacking_host(const struct host_list *hosts, const char *path, char *const *environment);

#endif
