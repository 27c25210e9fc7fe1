/* A short description of a combination: the keys that differ between the specs of the sweep, or all if none does. */
#pragma once

#include "config/scaling.h"
#include "space/match.h"

/* One that leaves out what a scaling (NULL: none) changes: the words of what stays. */
struct describer;
struct describer *describer_create(struct space *space, const struct scaling *scaling);
void describer_free(struct describer *d);

/* Appends "layers=2 zero_stage=3 micro_batch=4": keys in the order of the file, qualified where the bare name is
 * ambiguous, absent ones left out; a label ("name") only where no other key of its section differs, or where names
 * alone tell some specs apart. */
void describe_match(struct describer *d, const struct match *m, struct buffer *out);

/* The same of a job's spec_json (launch.h). */
void describe_spec(struct describer *d, const char *spec_json, struct buffer *out);
