/* Inert keys: where the condition that [inert] gives is true, the value of a key changes nothing about the job, and
 * combinations that differ in nothing else are one job. */
#ifndef MESHSWEEP_SPACE_INERT_H
#define MESHSWEEP_SPACE_INERT_H

#include "space/space.h"

/* Sets is_inert of the keys that [inert] names, by their names or by synonyms. Before the sections are expanded. */
void inert_mark(struct space *space);

/* Fills space->inert: a key that several entries name is inert where any of them says so. A condition that does not
 * resolve, and an entry of a sweep file that names no key, are added to `problems`. */
void inert_compile(struct space *space, struct problems *problems);
void inert_free_all(struct space *space);

#endif
