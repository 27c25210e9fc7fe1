/* Lines of a file of any size and content, in bounded memory. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define LINE_BYTES_MOST 65536 /* longer lines come in pieces */
#define LINE_OVERLAP 4096     /* bytes of a piece that the next one repeats */

struct line_reader;

/* Opens a file for reading; of one larger than `bytes_most` only the first and the last half of that, with a line end
 * between them; 0: all of it. NULL with errno when it cannot be opened or is not a regular file (a job may leave a
 * FIFO, which would never end); `path` may be NULL. */
struct line_reader *line_reader_open(const char *path, int64_t bytes_most);
/* The same of a file that is open, which is taken; -1: NULL with errno as it is. */
struct line_reader *line_reader_of(int fd, int64_t bytes_most);
void line_reader_close(struct line_reader *r);

/* The next line without its end, cut after LINE_BYTES_MOST; NULL at the end of the file. "\r" alone ends a line too, as
 * progress bars write it. NUL bytes become blanks. Borrowed until the next call. */
char *line_reader_next(struct line_reader *r);

/* A line, or a part of one that is longer. */
struct line_piece {
    char *text; /* without the line's end; borrowed until the next call */
    size_t length;
    size_t repeated;   /* bytes at its begin that ended the piece before it */
    bool begins, ends; /* the line */
};

/* The same in pieces, so that nothing of a line is left out. False at the end of the file. */
bool line_reader_next_piece(struct line_reader *r, struct line_piece *out);

/* --- a file that is being written --- */

/* A reader that stands at the begin of a file: line_reader_attach gives it the file, open (taken; -1: none), and
 * line_reader_detach closes it. Each time it reads on from where it was, and leaves a line whose end has not been
 * written until line_reader_set_growth says that nothing more comes. A part of the file that was given back to the file
 * system, so that it is of zeros, is skipped. */
struct line_reader *line_reader_create_growing(void);
void line_reader_attach(struct line_reader *r, int fd);
void line_reader_detach(struct line_reader *r);
void line_reader_set_growth(struct line_reader *r, bool growing);

/* How far it has read, and how much before that it skipped. */
int64_t line_reader_position(const struct line_reader *r);
int64_t line_reader_skipped(const struct line_reader *r);

/* The errno of a read that failed, which ends the lines as the end of the file does; 0: none has. */
int line_reader_error(const struct line_reader *r);

/* Returns whether an errno means that the machine failed (a disk's error, no descriptors left) and not that a file is
 * absent or somebody else's. */
bool is_machine_error(int error);
