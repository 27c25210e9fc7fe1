/* Reads what an attempt reports while it is written: each byte of the output once. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "metrics/readers.h"

struct output_reading;

/* Creates the reading of one attempt; `set` is borrowed. It may be handed from thread to thread. */
struct output_reading *output_reading_create(const struct reader_set *set);
void output_reading_free(struct output_reading *r);

/* Gives the output, open, to the next output_reading_follow, which closes it; without, that finds nothing. -1: it could
 * not be opened, errno tells why. */
void output_reading_attach(struct output_reading *r, int log_fd);

/* Reads on in the output, about `bytes_most` (0: all that is there); a line that has not ended is left. False when
 * there is nothing more for now. */
bool output_reading_follow(struct output_reading *r, const char *job_dir, int64_t bytes_most);

/* How many bytes of the output need not be read again; INT64_MAX: no reader wants them. */
int64_t output_reading_position(const struct output_reading *r);

/* Returns whether any reader found a sample in the output so far. */
bool output_reading_found_any(const struct output_reading *r);

/* Gives what was reported so far: as readers_read, with the output as far as it was followed. */
void output_reading_look(const struct output_reading *r, const char *log_path, const char *metrics_path,
                         const char *job_dir, struct sample_list *out);

/* Reads what is left; called once, when nothing is written any more. */
void output_reading_finish(struct output_reading *r, const char *log_path, const char *metrics_path,
                           const char *job_dir, struct sample_list *out);
