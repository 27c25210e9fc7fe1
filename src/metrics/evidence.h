/* The evidence in an attempt's output about why it failed: what came first of everything that every rank wrote and is
 * not only a rank's or a launcher's word about the end of another. */
#pragma once

#include "metrics/classify.h"
#include "pattern/line_pattern.h"

#define EVIDENCE_BYTES 600 /* of a line put into a message, with the list that follows it */

enum line_meaning {
    MEANING_FAILURE = 1, /* the attempt failed of a class */
    MEANING_REASON,      /* says why a process ended, without a traceback */
    MEANING_HOST,        /* the same, of a device or a link that is broken */
    MEANING_CONSEQUENCE, /* says that another process had ended */
    MEANING_END,         /* of a launcher: how a process ended */
    MEANING_LAUNCHER,    /* what else launchers say */
};

struct known_line {
    enum line_meaning meaning;
    enum failure failure; /* of MEANING_FAILURE */
    struct line_pattern pattern;
};

struct known_lines {
    struct known_line *items;
    size_t count;
};

struct evidence {
    enum failure failure;                 /* the first class found, but device memory above all others */
    char line[EVIDENCE_BYTES + 1];        /* that says so */
    char cause[EVIDENCE_BYTES + 1];       /* the first exception or the like that is nobody's consequence; "": none */
    bool of_host;                         /* the cause is of MEANING_HOST */
    char consequence[EVIDENCE_BYTES + 1]; /* the first one that is */
    char end[EVIDENCE_BYTES + 1];         /* the first word of a launcher on how a process ended */
    char launcher[EVIDENCE_BYTES + 1];    /* the first other one */
    char last[EVIDENCE_BYTES + 1];        /* last other line with a letter in it */
};

/* Reads the attempt's output and the logs in its directory, in which launchers keep those of each rank, in the order in
 * which they were last written: memory and time are bounded. */
struct evidence evidence_gather(const struct known_lines *known, const struct attempt_output *output);
