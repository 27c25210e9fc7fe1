/* The files of a job where no file system is shared: they go there as shell text, and what they become comes back in
 * frames, through a connection or a log that may cut them: "MARK LENGTH CHECKSUM" on a line, then LENGTH bytes.
 * batch/frame.sh writes them. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "util/buffer.h"

/* As cksum(1) of POSIX has it. */
uint32_t frame_checksum(const char *bytes, size_t length);

/* Borrowed. */
struct frame {
    const char *bytes;
    size_t length;
    bool damaged; /* they have another checksum */
};

/* Reads " LENGTH CHECKSUM" of a line's end, and the `left` bytes behind that line. False: they are not all there. */
bool frame_read(const char *sizes, const char *body, size_t left, struct frame *out);

/* Appends shell text that makes the directory as `there`, with all that is in it but output and metrics of a job;
 * each command ends in "|| return 1". */
void frame_add_files(const char *directory, const char *there, struct buffer *out);
