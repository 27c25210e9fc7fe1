/* The lines of an output that are exceptions, where several processes write into one file. The text before "Traceback
 * (most recent call last)" tells them apart: PyTorch, torchrun, srun, mpirun and pdsh put a mark of the rank or the
 * host before each line. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

enum line_kind {
    LINE_OTHER = 1,
    LINE_FRAME,     /* part of a traceback */
    LINE_EXCEPTION, /* what a traceback ends with, or a line that reads like one */
    LINE_USAGE,     /* "PROGRAM: error: TEXT" of a parser that has shown how the program is used */
    LINE_IGNORED,   /* an exception of which Python says that nobody minds it */
};

struct output_line {
    enum line_kind kind;
    const char *mark; /* of the line's writer; "": none */
    const char *text; /* the line without it; an exception that has no text of its own with the place where it was
                         raised. Both borrowed until the next line */
    size_t process;   /* which of those that can be told apart */
    bool ended_it;    /* nothing caught it: it ended a rank */
    bool continues;   /* came of handling the last one of its process */
};

struct traceback_reader;
struct traceback_reader *traceback_reader_create(void);
void traceback_reader_free(struct traceback_reader *r);

/* Takes the lines of one output in their order. */
struct output_line traceback_reader_take(struct traceback_reader *r, const char *line);
