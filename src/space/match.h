/* The match: which combinations every rule accepts, and what each rule removed. */
#pragma once

#include "space/space.h"
#include "store/jobs.h"
#include "util/hash.h"

struct rule_count {
    int64_t excluded; /* combinations for which this rule is the first that is false */
    int64_t alone;    /* combinations that it makes false whatever the others say; -1: too many to count cheaply */
};

struct match_counts {
    int64_t combinations;
    int64_t matched;
    struct rule_count *rules; /* one per space->rules; the caller's, free() */
};

/* Counts without listing, within `filter` where that is not NULL. A warning's `excluded` is how many matched
 * combinations it is false for. */
int match_count(struct space *space, const struct expression *filter, struct match_counts *out, struct error *e);

/* A combination that every rule accepts. Borrowed until the next match_next. */
struct match {
    int64_t rank;                  /* place in the product: sections in the order of enum section_kind, last fastest */
    int64_t spec[SECTION_COUNT];   /* row of each section; -1: the section is absent */
    struct hash128 key;            /* the job's identity */
    const struct value *values;    /* one per space->placeholders */
    const struct value *derived;   /* one per names.derived, VALUE_NULL for those not asked for */
    int64_t limit_ms[LIMIT_COUNT]; /* 0: none */
    int64_t devices;
    /* Predictions, where they are asked for; NaN and 0 where nothing can be said. */
    double predicted_memory, predicted_time; /* bytes, seconds of a step */
    const char *predicted_memory_of;         /* "reserved, largest rank"; NULL: not predicted */
    double predicted_steps;
    const struct prediction *prediction; /* NULL: none, and `why_not` says why. Borrowed as the match is */
    const char *why_not;
    enum oom_verdict risk;
    bool is_audit; /* would be pruned, but runs to see whether that would be right */
};

/* Returns whether it can be told that no two matches are one job: false is not known. */
bool match_are_distinct(const struct space *space);

/* How many jobs the matches within `filter` (NULL: all) are, where two are one because specs stand in several blocks: 1
 * with `*out`, 0 where that is not known, -1. */
int match_count_jobs(struct space *space, const struct expression *filter, int64_t *out, struct error *e);

/* Returns whether whatever is computed for a match (devices, limits, derived keys, predictions) is the same for every
 * one: false is not known. */
bool match_are_alike(const struct space *space);

struct match_cursor;

/* Walks the matches in the order of rank, finding each when it is asked for. `filter` (may be NULL) is a further
 * condition. */
struct match_cursor *match_open(struct space *space, const struct expression *filter);

/* Goes on with the first match whose rank is not below `rank`, for a cursor of match_open. */
void match_seek_rank(struct match_cursor *c, int64_t rank);

/* A cursor over single combinations: match_seek chooses one by the rows of its specs (as in struct match; -1 for absent
 * sections), and match_next gives it once, unless rules exclude and one does. */
enum rules_use { RULES_IGNORED, RULES_ASKED, RULES_EXCLUDE };
struct match_cursor *match_open_single(struct space *space, enum rules_use rules);
void match_seek(struct match_cursor *c, const int64_t *spec);

/* Finds the rules, one per space->rules, that the combination that match_next gave last does not obey (RULES_ASKED). */
int match_broken(struct match_cursor *c, bool *breaks, struct error *e);

/* A cursor over jobs of a database: match_stored gives what the sweep would run with a job's specs, whatever the rules
 * say, if it is the same job. NULL: it is not, or an expression fails on old values, which says nothing about this
 * file's jobs. Ranks and rows of specs say nothing. */
struct match_cursor *match_open_stored(struct space *space);
const struct match *match_stored(struct match_cursor *c, const struct job_specs *job);

/* The values of the keys of what was given last, one per names.keys; borrowed as the match is. */
struct datum *match_keys(const struct match_cursor *c);

int match_next(struct match_cursor *c, const struct match **out, struct error *e); /* 1, 0 at the end, -1 */
void match_close(struct match_cursor *c);

/* The JSON object of the derived keys of a match that are kept with a job: declared ones, and built-in ones that a
 * placeholder uses. "" when there are none. */
void match_add_derived_json(const struct space *space, const struct match *m, struct buffer *out);

/* Returns whether the derived key is one of those. */
bool match_keeps_derived(const struct space *space, size_t derived);

/* Up to `limit` combinations (within `filter` where that is not NULL) that rule `rule` is the first to exclude. With
 * `distinct` one of those whose values are the same, of the first EXCLUSIONS_LOOKED_AT. */
#define EXCLUSIONS_LOOKED_AT 1000
struct exclusion_query {
    size_t rule;
    const struct expression *filter;
    int64_t limit;
    bool distinct;
    /* Called with the combination's rank and a JSON object of the values that the rule reads. -1 stops. */
    int (*each)(void *context, int64_t rank, const char *values_json, struct error *e);
    void *context;
};
int match_excluded(struct space *space, const struct exclusion_query *q, struct error *e);

/* A column of a statement as a value. Text is copied. */
struct value match_column_value(const struct stmt *s, int column);

/* The value with the kind that values of its placeholder have: columns know neither booleans nor lists. */
struct value match_typed(struct value value, const struct placeholder *p);
