/* A job's report about itself, in a file that it replaces atomically (batch/script.h writes it). */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct batch_report {
    int64_t attempt;                     /* whose it is */
    int64_t started_ms, ended_ms;        /* by the node's clock; -1: not known */
    int64_t user_ms, system_ms;          /* of the command and what it waited for; -1: not known */
    int64_t output_bytes, metrics_bytes; /* of the frames that came before it; 0 where files are shared */
    int exit_code;                       /* as the shell has it: 128 + n for signal n */
    bool ended;
    bool terminated; /* it had been asked to end before it did */
    char nodes[256]; /* "" when not known */
    char array[256]; /* the job's id, as the system told it; "" when not known */
};

/* Reads the text of such a file. False when it is none; pure. */
bool batch_report_parse(const char *text, struct batch_report *out);
