/* Programs that make life hard for a supervisor. A test program hands "child NAME" on its command line over to
 * awkward_child, and so is its own collection of them. */
#pragma once

#include <stdint.h>

/* Plays the child of this name; returns its exit status, 99 when there is none of the name. */
int awkward_child(const char *name);

void wait_ms(int64_t ms);
