/* Opens files of jobs for readers who follow a link, and no other file. */
#ifndef MESHSWEEP_SERVE_JOB_FILE_H
#define MESHSWEEP_SERVE_JOB_FILE_H

#include <stdint.h>

/* Opens a regular file below `directory` for reading. Each component is opened separately without following symbolic
 * links, so the path cannot leave the directory, even if someone changes it meanwhile; "..", "." and empty components
 * are refused. The descriptor is the caller's; -1: no such file. */
int job_file_open(const char *directory, const char *path, int64_t *bytes);

#endif
