/* A combination with its predictions, as text and as JSON, and how far going through them is. */
#pragma once

#include <cjson/cJSON.h>

#include "space/describe.h"
#include "space/match.h"
#include "space/space.h"
#include "util/buffer.h"

/* Appends " predicted 18.2 MiB reserved, rank 0 (may not fit), 0.12 s a step", or nothing without a prediction. */
void match_add_prediction(const struct match *m, struct buffer *out);

/* The sweep's keys, then the derived ones that matches keep: [["model", "layers", whether its specs differ in it,
 * whether the name alone says which key it is], …]. The caller's. */
char *match_keys_json(const struct space *space);

struct match_json;
int match_json_create(struct space *space, struct match_json **out, struct error *e);
void match_json_free(struct match_json *j);

/* Adds "key", "keys", "description" and the predictions to `job`. */
int match_json_add(struct match_json *j, const struct match *m, cJSON *job, struct error *e);

/* --- progress of a slow match on standard error --- */

/* On a terminal, how far it is after a second; anywhere, which rule makes it slow. */
struct match_display {
    struct space *space;
    struct match_watch watch;
    bool is_live;              /* shows a live line */
    int64_t began_ms;          /* the match */
    int64_t rule_began_ms;     /* of counting `rule`, or of going through the matches */
    int64_t matches, of;       /* matches looked at, and their number; 0: not known yet */
    int64_t shown_ms, told_ms; /* times of the last line and of the last message about a rule; 0: never */
    size_t rule;
    bool on_line;                     /* a live line is on the terminal */
    struct progress_display *notices; /* where a slow rule is told of; NULL: on standard error */
};

/* From now on the space's match is watched, until match_display_end. is_live and notices are set before; `d` must
 * stay where it is. */
void match_display_begin(struct match_display *d, struct space *space);
void match_display_end(struct match_display *d);

/* So many matches have been looked at. */
void match_display_matches(struct match_display *d, int64_t matches, int64_t of);

/* To be called before other output. */
void match_display_clear(struct match_display *d);
