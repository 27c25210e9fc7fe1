/* Rules: built-in ones from sql/rules.sql and the rule sets that the sweep asks for, those of profiles and of the sweep
 * file. */
#ifndef MESHSWEEP_SPACE_RULES_H
#define MESHSWEEP_SPACE_RULES_H

#include "space/space.h"

/* Fills space->rules: the built-in ones, then those of profiles and file, then one per placeholder that some spec
 * does not bind. A rule of the same name replaces; a disabled one is left out; a name in disable_rules that no rule
 * has, and one in rule_sets that is not a set, are problems. What does not resolve is added to `problems`; -1 only when
 * SQLite itself fails. */
int rules_compile(struct space *space, struct problems *problems, struct error *e);
void rules_free(struct space *space);

#endif
