/* Finds the settings of a command that predictions need, such as --num-layers 32, as keys of a sweep. */
#ifndef MESHSWEEP_DRAFT_COMMAND_INPUTS_H
#define MESHSWEEP_DRAFT_COMMAND_INPUTS_H

#include <stdbool.h>
#include <stddef.h>

#include "draft/job_command.h"

struct command_input {
    char *key, *value; /* the value as TOML */
    bool is_of_model, is_axis;
    bool is_flag; /* a switch, or true or false, which the script may spell in its own way */
};

struct command_inputs {
    char *profile; /* the profile whose names the settings use; NULL: known without one */
    struct command_input *items;
    size_t count;
    size_t own_count; /* items and axes that the profile itself names in [synonym] */
    char *missing;    /* what a prediction still needs, separated by ", "; "": nothing */
};

/* Tries the built-in profiles, or only `profile`, and takes the one that understands most of the settings and `axes`
 * ("KEY=VALUE,VALUE", NULL-terminated); of several, the one that names most itself. Axes do not become items. If the
 * model's layers and width are not found, nothing is, and `*out` is zeroed. command_inputs_free frees it. */
void command_inputs_find(const struct job_command *c, char *const *axes, const char *profile,
                         struct command_inputs *out);
void command_inputs_free(struct command_inputs *f);

#endif
