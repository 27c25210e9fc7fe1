/* The devices of hosts: hostfiles, and what is included and excluded of them, as DeepSpeed's launcher spells these
 * (https://www.deepspeed.ai/getting-started/#resource-configuration-multi-node). Pure. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "util/error.h"

#define HOSTFILE_SLOTS_MOST 1024

struct host {
    char *name;
    int *devices; /* numbers that may be used, ascending */
    size_t device_count;
    char
        *directory; /* of those reached by ssh: where the runner's working directory is on it; NULL: at the same path */
};
struct host_list {
    struct host *hosts; /* in the order of the file */
    size_t count;
};
#define HOST_LIST_INIT ((struct host_list){NULL, 0})
void host_list_free(struct host_list *l);

/* Adds a host of `slots` devices, numbered from 0. Valid until the next one. */
struct host *host_list_add(struct host_list *l, const char *name, int64_t slots);
/* It has so many, whatever it had before. */
void host_give(struct host *h, int64_t slots);

/* A line of a hostfile: empty ones, and what follows "#", are left out. */
struct hostfile_line {
    const char *path, *name;
    int number;
    char *rest; /* the words behind the name: hostfile_word */
};
typedef void hostfile_take(struct host_list *list, struct hostfile_line *line, struct error *problems);

/* Makes a list of what `take` makes of each line. ERROR_USAGE, with all problems at once: those that `take` added, a
 * name that comes twice, or no line. */
int hostfile_read(const char *path, const char *text, hostfile_take *take, struct host_list *out, struct error *e);

/* Returns the next word of the line; NULL: there is none. */
char *hostfile_word(struct hostfile_line *line);

/* "worker-1 slots=4" a line; empty lines and what follows "#" are left out. `path` is for messages: all problems are
 * reported at once, with their lines. ERROR_USAGE. */
int hosts_parse(const char *path, const char *text, struct host_list *out, struct error *e);

/* Narrows a list. "worker-0@worker-1:0,2": all devices of worker-0, 0 and 2 of worker-1. Included ones are all that
 * stay, excluded ones go; a host without devices goes. Only one of the two may be given (NULL or "": not). Hosts and
 * devices that do not exist are errors, and the list is untouched then; so is a list from which nothing stays. */
int hosts_filter(struct host_list *l, const char *include, const char *exclude, struct error *e);

/* All devices of all hosts. */
int64_t hosts_device_count(const struct host_list *l);
