/* Content hashes of the files that a command names, to tell later whether they have changed. */
#pragma once

#include <stdint.h>

#include "util/hash.h"

#define SCRIPT_BYTES_MOST ((int64_t)1 << 20) /* larger files are data, or programs: those count up to 256 MiB */

/* Contents by path. A file is read again when its size, times or identity have changed. */
struct scripts;
struct scripts *scripts_create(void);
void scripts_free(struct scripts *s);

/* {"/home/me/train.py":"<32 digits>", …}: the regular files that words of `command` name, also after "=" and in the
 * line of `sh -c`, relative to `directory` (NULL: the current one). Not those below `job_dir`, which belong to the
 * attempt alone, nor the system's (/bin, /sbin, /usr, /lib, /dev, /proc, /sys). NULL: there is none. The caller's. */
char *scripts_json(struct scripts *s, char *const *command, const char *directory, const char *job_dir);

/* The content of the file as 32 hexadecimal digits; "" where it is not a regular file, cannot be read or is too large.
 * Borrowed until the next call. */
const char *scripts_content(struct scripts *s, const char *path);
