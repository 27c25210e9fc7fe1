/* A POSIX extended regular expression that is tried on very many lines: a text that every match must hold is looked
 * for first, which is over ten times as fast where it is not there. */
#ifndef MESHSWEEP_RUN_LINE_PATTERN_H
#define MESHSWEEP_RUN_LINE_PATTERN_H

#include <regex.h>
#include <stdbool.h>
#include <stddef.h>

struct line_pattern {
    regex_t regex;
    char **needles; /* one per alternative, every match holds at least one of them; none: nothing is known */
    size_t needle_count;
};

/* Returns 0, or regcomp's error number with its text in `why` and nothing to be freed. */
int line_pattern_compile(struct line_pattern *p, const char *text, char why[256]);
void line_pattern_free(struct line_pattern *p);

/* As regexec: true with `groups` filled (`count` may be 0) when the line matches. */
bool line_pattern_match(const struct line_pattern *p, const char *line, size_t count, regmatch_t *groups);

#endif
