/* The place in a file where something was written, for messages. */
#pragma once

struct position {
    const char *file; /* borrowed from the sweep: one of its `files` */
    int line, column; /* from 1; 0 where there is none */
};
