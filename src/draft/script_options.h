/* Finds in a training script's text how it takes its settings, so that `init` can write the command. */
#ifndef MESHSWEEP_DRAFT_SCRIPT_OPTIONS_H
#define MESHSWEEP_DRAFT_SCRIPT_OPTIONS_H

#include <stdbool.h>

#include "util/string_list.h"

enum script_way {
    SCRIPT_OPTION,     /* --key=VALUE; also if the text does not say */
    SCRIPT_SWITCH,     /* --key or nothing: argparse's store_true, click's is_flag */
    SCRIPT_NEGATION,   /* --key or --no-key: argparse's BooleanOptionalAction */
    SCRIPT_ASSIGNMENT, /* key=VALUE: Hydra, OmegaConf.from_cli */
    SCRIPT_VARIABLE,   /* environment variable */
};

/* The text of the script: the first word that names a text file other than a configuration, or after "-m" a module in
 * the working directory. NULL if there is none. The caller frees it. */
char *script_text(char *const *command);

/* How the script takes `key`. `text` may be NULL; `is_assigned`: the command gives its other settings as key=VALUE.
 * Sets `*option`, which the caller frees, to the option's spelling without leading dashes: "batch-size" for batch_size
 * if the text has that or, with `has_hyphens`, has neither. */
enum script_way script_way(const char *text, const char *key, bool has_hyphens, bool is_assigned, char **option);

/* Whether the text declares an option or reads a variable of that name; false if the text is NULL. */
bool script_names(const char *text, const char *key);

/* For a shell script at `path` that sets the variable itself or does not pass on its arguments: a TOML comment that
 * says what to change. NULL if neither is the case. The caller frees it. */
char *script_warning(const char *path, const char *text, const char *key, enum script_way way);

/* A comment of TOML where the script's text declares its options and none of that spelling, or where it is not known
 * and `given`, the options of the command without dashes, has its initials or its full name ("lr", "learning-rate").
 * NULL: neither. The caller's. */
char *script_lacks(const char *path, const char *text, const struct string_list *given, const char *option);

#endif
