/* How a training script takes its settings, found in its text; `init` writes its command accordingly. */
#ifndef MESHSWEEP_DRAFT_SCRIPT_OPTIONS_H
#define MESHSWEEP_DRAFT_SCRIPT_OPTIONS_H

#include <stdbool.h>

enum script_way {
    SCRIPT_OPTION,     /* --key=VALUE; also where the text says nothing */
    SCRIPT_SWITCH,     /* --key or nothing: argparse's store_true, click's is_flag */
    SCRIPT_NEGATION,   /* --key or --no-key: argparse's BooleanOptionalAction */
    SCRIPT_ASSIGNMENT, /* key=VALUE: Hydra, OmegaConf.from_cli */
    SCRIPT_VARIABLE,   /* of the environment */
};

/* The text of the first word that names a file of text that is no configuration, or behind "-m" a module of the working
 * directory; NULL: none does. The caller's. */
char *script_text(char *const *command);

/* `text` may be NULL; `is_assigned`: the command gives its other settings as key=VALUE. `*option`, the caller's, is its
 * spelling without the dashes in front: "batch-size" of a key batch_size, where the text has it so or, with
 * `has_hyphens`, does not have it at all. */
enum script_way script_way(const char *text, const char *key, bool has_hyphens, bool is_assigned, char **option);

/* Of a shell script, at `path`, that sets the variable itself or passes no arguments on: a comment of TOML that says
 * what to change in it. NULL: neither. The caller's. */
char *script_warning(const char *path, const char *text, const char *key, enum script_way way);

#endif
