/* Serves the files of jobs to readers who follow a link, and no other file of the machine. */
#ifndef MESHSWEEP_SERVE_JOB_FILE_H
#define MESHSWEEP_SERVE_JOB_FILE_H

#include <stdint.h>

/* Opens a regular file below `directory` for reading. Every part of the path is opened by itself and no symbolic link
 * is followed, so that nothing leads out, whoever writes there meanwhile; "..", "." and empty parts are refused. The
 * descriptor is the caller's; -1: there is none. */
int job_file_open(const char *directory, const char *path, int64_t *bytes);

#endif
