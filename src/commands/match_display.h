/* What a person sees of a match that takes long, on standard error: how far it is, where that is a terminal and it
 * takes longer than a second; and which rule makes it slow. */
#ifndef MESHSWEEP_COMMANDS_MATCH_DISPLAY_H
#define MESHSWEEP_COMMANDS_MATCH_DISPLAY_H

#include "space/space.h"

struct match_display {
    struct space *space;
    struct match_watch watch;
    bool is_live;              /* lines are shown: the terminal can be written over */
    int64_t began_ms;          /* the match */
    int64_t rule_began_ms;     /* counting `rule`, or looking at matches */
    int64_t matches, of;       /* that have been looked at; 0: none yet */
    int64_t shown_ms, told_ms; /* when a line was shown last, and a rule told of last; 0: never */
    size_t rule;
    bool on_line; /* a line stands there */
    /* Tells of a slow rule in one sentence; NULL: output_message. */
    void (*tell)(void *context, const char *sentence);
    void *context;
};

/* From now on the space's match is watched, until match_display_end. is_live and whom to tell are set before; `d` must
 * stay where it is. */
void match_display_begin(struct match_display *d, struct space *space);
void match_display_end(struct match_display *d);

/* So many matches have been looked at. */
void match_display_matches(struct match_display *d, int64_t matches, int64_t of);

/* Before something else is written. */
void match_display_clear(struct match_display *d);

#endif
