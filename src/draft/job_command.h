/* A command line that becomes the command of a sweep: the settings that it gives, and {KEY} in the place of their
 * values. */
#ifndef MESHSWEEP_DRAFT_JOB_COMMAND_H
#define MESHSWEEP_DRAFT_JOB_COMMAND_H

#include <stdbool.h>
#include <stddef.h>

#include "util/string_list.h"

/* --micro-batch-size 4, --micro-batch-size=4, -b 4, micro_batch_size=4, or a switch, --bf16. */
struct command_setting {
    char *key;          /* micro_batch_size */
    size_t option;      /* the word that names it */
    size_t word, start; /* where its value begins: of that word, after so many bytes; of a switch, at its end */
    bool is_switch, is_launchers;
};

struct job_command {
    struct string_list words;
    size_t variables; /* so many words in front set the environment, NAME=VALUE, and are settings of the launcher */
    size_t end;       /* before this word further settings of the script go: all words, or a launcher's "--" */
    struct command_setting *settings; /* in their order */
    size_t setting_count;
    const char *launcher; /* that is known to start the processes of a job, as it is called; NULL: none. Borrowed. */
    /* How the script's settings are written, where they are all alike in this: */
    bool has_hyphens; /* names of options, with hyphens between their parts and not with underscores */
    bool is_assigned; /* as key=value */
};

/* From NULL-terminated words, "env" in front or not. job_command_free. */
struct job_command job_command_read(char *const *words);
void job_command_free(struct job_command *c);

/* The word that trains: a script or a module that is no launcher, else what a launcher starts, else the program itself.
 * Borrowed. */
const char *job_command_script(char *const *words);

/* The key of an option's name, without dashes in front; the caller's. */
char *job_command_key(const char *name);

/* The last setting of that key, of the script or of the launcher; NULL: there is none, or it is {KEY} already. */
const struct command_setting *job_command_find(const struct job_command *c, const char *key, bool is_launchers);

/* The same of a variable in front of the command. */
const struct command_setting *job_command_find_variable(const struct job_command *c, const char *name);

/* Puts the text in place of the setting's value; it is no setting any more. Of a switch the word goes. */
void job_command_replace(struct job_command *c, const struct command_setting *setting, const char *text);

/* What the settings of a launcher, or of a script that starts its processes itself, say of devices: which of them give
 * the devices of each host (or of all hosts together, with `counts_all`) and the hosts. NULL: the command does not give
 * it as a setting. */
struct launched_devices {
    const struct command_setting *devices, *hosts;
    bool counts_all;
};
struct launched_devices job_command_devices(const struct job_command *c);

#endif
