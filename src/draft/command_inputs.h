/* What predictions can be made from among the settings of a command: --num-layers 32, as keys of a sweep. */
#ifndef MESHSWEEP_DRAFT_COMMAND_INPUTS_H
#define MESHSWEEP_DRAFT_COMMAND_INPUTS_H

#include <stdbool.h>
#include <stddef.h>

#include "draft/job_command.h"

struct command_input {
    char *key, *value; /* the value as TOML */
    bool is_of_model, is_axis;
    bool is_flag; /* a switch, or true or false: the script may have words of its own for them */
};

struct command_inputs {
    char *profile; /* whose names the settings have; NULL: names that are known without one */
    struct command_input *items;
    size_t count;
    size_t own_count; /* of them and of the axes that the profile itself names in [synonym] */
    char *missing;    /* what else a prediction needs, ", " between; "": nothing */
};

/* Tries the profiles that the program carries, or only `profile`, and takes the one that reads most of the settings and
 * of `axes` ("KEY=VALUE,VALUE", NULL-terminated), which are no items; of several the one that names most of them.
 * Nothing is found, `*out` zeroed, where the model's layers and width are not among them. */
void command_inputs_find(const struct job_command *c, char *const *axes, const char *profile,
                         struct command_inputs *out);
void command_inputs_free(struct command_inputs *f);

#endif
