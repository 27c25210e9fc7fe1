/* A command line that becomes the command of a sweep: finds its settings, and replaces their values with {KEY}. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "files/document.h"
#include "util/buffer.h"
#include "util/error.h"
#include "util/memory.h"
#include "util/string_list.h"

/* --micro-batch-size 4, --micro-batch-size=4, -b 4, micro_batch_size=4, or a switch, --bf16. */
struct command_setting {
    char *key;          /* micro_batch_size */
    size_t option;      /* index of the word that names it */
    size_t word, start; /* its value begins at byte `start` of that word, for a switch at its end */
    bool is_switch, is_launchers;
};

struct job_command {
    struct arena *arena; /* has its texts */
    struct string_list words;
    size_t variables; /* number of leading words NAME=VALUE, which count as settings of the launcher */
    size_t end;       /* new settings of the script go before this word: a launcher's "--", or the end */
    struct command_setting *settings; /* in the order of the command */
    size_t setting_count;
    const char *launcher; /* name of the known launcher; NULL: none. Borrowed. */
    /* How all of the script's settings are written: */
    bool has_hyphens; /* option names with hyphens instead of underscores */
    bool is_assigned; /* as key=value */
};

/* Reads NULL-terminated words, with or without a leading "env". */
struct job_command job_command_read(struct arena *p, char *const *words);

/* The word that names the training program: a script or module that is not a launcher, else what a launcher starts,
 * else the program itself. Borrowed. */
const char *job_command_script(char *const *words);

/* The key for an option's name without leading dashes. The caller frees it. */
char *job_command_key(const char *name);

/* The last setting of that key, of the script or of the launcher. NULL if there is none or it is already {KEY}. */
const struct command_setting *job_command_find(const struct job_command *c, const char *key, bool is_launchers);

/* The same for a variable before the command. */
const struct command_setting *job_command_find_variable(const struct job_command *c, const char *name);

/* Replaces the setting's value, or the whole word of a switch, with `text`; NULL: removes it with its value. It is no
 * longer a setting. */
void job_command_replace(struct job_command *c, const struct command_setting *setting, const char *text);

/* The settings of a launcher, or of a script that starts its own processes, that give the number of devices per host
 * (of all hosts if `counts_all`; the first ones if `from_first`) and of hosts. NULL: not a setting of the command. A
 * file may have a launcher's. */
struct launched_devices {
    const struct command_setting *devices, *hosts;
    const char *device_key, *host_key; /* NULL: a script's */
    bool counts_all, from_first;
};
struct launched_devices job_command_devices(const struct job_command *c);

enum script_way {
    SCRIPT_OPTION,     /* --key=VALUE; also if the text does not say */
    SCRIPT_WORDS,      /* --key VALUE: a case of the shell, which takes what follows */
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

/* Returns, for a compiled program, a comment that nothing in it shows the option, the caller's; NULL: it has it, with
 * "-" or "_" as `*option` is spelled then, or it is no such program. */
char *program_lacks(const struct job_command *c, char *const *environment, char **option);

/* Returns whether the text declares an option or reads a variable of that name; false if the text is NULL. */
bool script_names(const char *text, const char *key);

/* For a shell script at `path` that sets the variable itself or does not pass on its arguments, of which the key's is
 * the first (`is_first`) or a later one: a TOML comment that says what to change. NULL if neither is the case. The
 * caller frees it. */
char *script_warning(const char *path, const char *text, const char *key, enum script_way way, bool is_first);

/* A comment of TOML where the script's text declares its options and none of that spelling, or where it is not known
 * and `given`, the options of the command without dashes, has its initials or its full name ("lr", "learning-rate").
 * NULL: neither. The caller's. */
char *script_lacks(const char *path, const char *text, const struct string_list *given, const char *option);

/* --- the configuration files that it names, and where a key stands in them --- */

struct command_file {
    const char *path; /* as the command names it */
    const char *name; /* of the job's copy: the last part of the path or, where {file.NAME} does not take that,
                       * config.yaml */
    bool is_swept;    /* some axis is a key of it */
};

/* The place of a key. */
struct file_place {
    struct command_file *file;
    const char *path, *text; /* the value as the file has it */
    enum doc_kind kind;
};

struct command_files {
    struct arena *arena; /* of the command */
    struct command_file **items;
    size_t count;
    struct file_place *leaves; /* of all files, one after the other */
    size_t leaf_count;
};

/* Reads those that are there, but for `except`, which may be NULL. One that cannot be read is left out. */
struct command_files command_files_open(const struct job_command *c, const char *except);

/* By the whole path or, if there is none, by the last parts of one; "-" is as good as "_". 1; 0: nowhere, `out` is
 * untouched. ERROR_USAGE where it may be several, with all of them. */
int command_files_find(const struct command_files *f, const char *key, struct file_place *out, struct error *e);

/* The path that is nearest to a key that is nowhere, "data.batch_size of a.yaml", the caller's; NULL: none is near. */
char *command_files_nearest(const struct command_files *f, const char *key);

/* Puts {file.NAME} where the command names a file that is swept. */
void command_files_place(const struct command_files *f, struct job_command *c);

/* The value that a person wrote as TOML, of the place's kind as far as it can be. False: it is of another. */
bool file_place_add_value(const struct file_place *p, const char *value, size_t length, struct buffer *out);
