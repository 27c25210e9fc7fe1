/* Readers proposed from a log's lines alone for numbers that look like step time, throughput, memory, loss and others,
 * and how sure that is. Pure. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "util/buffer.h"

enum proposal_confidence {
    PROPOSAL_SURE = 1, /* name and unit say so, on several lines */
    PROPOSAL_LIKELY,   /* one of both does, or on one line only */
};

/* Lines that are alike but for the number and what follows it. */
struct proposal_head {
    uint32_t hash;
    size_t lines;
};

enum { PROPOSAL_HEADS_MOST = 8, PROPOSAL_VALUES_MOST = 4 };

struct proposal {
    const char *metric; /* "step_time", a constant */
    char *regex;        /* for [job.metrics.NAME]; its first group is the number */
    char *column;       /* in place of it: of a CSV file; NULL: it is of a line */
    char *unit;         /* as the log has it; "": none */
    bool has_prefix;    /* "K", or a program's unit, may follow the number: the last group of `regex` */
    const char *take;   /* what the samples come to: "median", "max", "last" */
    bool higher_is_better;
    enum proposal_confidence confidence;
    size_t lines;                        /* that it was found on */
    double least, most;                  /* of the numbers */
    double values[PROPOSAL_VALUES_MOST]; /* the first */
    double last, least_rise, most_rise;  /* from one to the next */
    struct proposal_head heads[PROPOSAL_HEADS_MOST];
    size_t head_count;
    bool is_of_program; /* known by what the program prints besides */
    bool is_mixed;      /* its lines name different things: nothing to read */
    bool is_coloured;   /* colours stand within what names it: nothing to read */
    bool second;        /* another one of the same metric is proposed before it */
};

struct proposal_list {
    struct proposal *items; /* by metric, the best of each first */
    size_t count;
    bool has_tabs;           /* in the log */
    bool has_decimal_commas; /* in the log: "1234,5" or "0,25" */
    const char *objective;   /* of the program; NULL: its first metric */
};

#define PROPOSALS_MOST 64 /* different ones that are followed; more of a log are not reported */

/* `length` bytes of a log; colours are passed over. Never fails: what looks like nothing proposes nothing. Free with
 * proposal_list_free. */
void proposals_from_log(const char *log, size_t length, struct proposal_list *out);

/* Proposes what is known of the program whose mark the log has ([[log.programs]] in configs/knowledge/words.toml), the
 * metric that counts first; nothing where it is of none. */
void proposals_of_program(const char *log, size_t length, struct proposal_list *out);

/* As proposals_from_log, of a CSV file: `names` of its columns, and of each its numbers in text, a line each. */
void proposals_from_columns(char *const *names, const struct buffer *numbers, size_t count, struct proposal_list *out);
void proposal_list_free(struct proposal_list *l);

/* The unit of a name that says a rate: "tokens/s" of "avg Tokens/s", "tok/s/gpu" of "tok_s_per_gpu"; NULL: it says
 * none. The caller's. */
char *proposals_rate_of(const char *name);
