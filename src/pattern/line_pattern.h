/* A POSIX extended regular expression that is tried on very many lines: a text that every match must hold is looked
 * for first, which is faster still where it is not there. */
#pragma once

#include "pattern/engine.h"

struct line_pattern {
    struct engine *engine;
    size_t group_count;
    char **needles; /* one per alternative, every match holds at least one of them; none: nothing is known */
    size_t needle_count;
};

/* As regcomp with REG_EXTENDED, save that back-references are refused. Returns 0, or -1 with the reason in `why` and
 * nothing to be freed. */
int line_pattern_compile(struct line_pattern *p, const char *text, char why[256]);
void line_pattern_free(struct line_pattern *p);

/* As regexec: true with `groups` filled (`count` may be 0) when the line matches. Classes such as [[:alpha:]] and \w
 * are ASCII's; "." is a character of UTF-8, or a byte that is of none. The time is linear in the line. */
bool line_pattern_match(const struct line_pattern *p, const char *line, size_t count, struct text_range *groups);

/* The same within [begin, end) of a text that continues around that. */
bool line_pattern_match_within(const struct line_pattern *p, const char *text, struct text_range within, size_t count,
                               struct text_range *groups);
