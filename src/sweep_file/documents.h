/* The files of one sweep: the sweep file, what it includes and its profiles, read and parsed. */
#ifndef MESHSWEEP_SWEEP_FILE_DOCUMENTS_H
#define MESHSWEEP_SWEEP_FILE_DOCUMENTS_H

#include "config/problems.h"
#include "config/sweep.h"
#include "sweep_file/reading.h"
#include "toml/tree.h"

struct document {
    const char *file; /* as in positions; borrowed from the sweep */
    enum file_role role;
    bool is_carried; /* a profile that the program carries with it */
    char *source;    /* for rules that name none */
    struct toml_node *tree;
};

/* In the order in which they take effect: profiles, included files (before the file that includes them), the sweep
 * file. */
struct documents {
    struct document *items;
    size_t count;
};

#define DOCUMENTS_INIT                                                                                                 \
    {                                                                                                                  \
        NULL, 0                                                                                                        \
    }

/* Reads everything that `text` asks for. Fills path, text, files, profile_rank, profile_names and profile_text of
 * `s`; what cannot be read is left out and reported to `p`. The profile "zhen" is taken when none is named and a
 * section ties (pp, dp, op). */
void documents_read(const char *path, const char *text, size_t length, struct sweep *s, struct documents *d,
                    struct problems *p);

void documents_free(struct documents *d);

#endif
