/* The SQL that joins the spec tables under rules. */
#ifndef MESHSWEEP_SPACE_JOIN_H
#define MESHSWEEP_SPACE_JOIN_H

#include "space/space.h"

/* Appends "FROM … " over the sections in `sections` (bits), joined in an order in which `rules[0..count)` cut early,
 * then "WHERE …" with those rules: " AND …" may follow. Warnings are left out. */
void join_add(const struct space *space, unsigned sections, size_t rule_count, struct buffer *sql);

/* The same for counting: each section is reduced to the distinct values of the columns in `keys` (one bool per
 * names.keys), with their number as "SECTION"."#count". */
void join_add_counting(const struct space *space, unsigned sections, size_t rule_count, const bool *keys,
                       struct buffer *sql);

#endif
