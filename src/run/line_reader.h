/* Lines of a file of any size and content, in bounded memory. */
#ifndef MESHSWEEP_RUN_LINE_READER_H
#define MESHSWEEP_RUN_LINE_READER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define LINE_BYTES_MOST 65536 /* longer lines are cut: what is beyond is skipped */

struct line_reader;

/* Of a file larger than `bytes_most` only the first and the last half of that are read, with a line end between them;
 * 0: all of it. NULL with errno when it cannot be opened or is no regular file (a job may leave a FIFO, which would
 * never end); `path` may be NULL. */
struct line_reader *line_reader_open(const char *path, int64_t bytes_most);
void line_reader_close(struct line_reader *r);

/* The next line without its end; NULL at the end of the file. "\r" alone ends a line too, as progress bars write it.
 * NUL bytes become blanks. Borrowed until the next call. */
char *line_reader_next(struct line_reader *r);

/* The errno of a read that failed, which ends the lines as the end of the file does; 0: none has. */
int line_reader_error(const struct line_reader *r);

/* Whether an errno means that the machine failed (a disk's error, no descriptors left) and not that a file is absent or
 * somebody else's. */
bool is_machine_error(int error);

#endif
