/* The hosts of [ssh]: which there are, and what devices they have. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "config/sweep.h"
#include "device/devices.h"
#include "device/hostfile.h"
#include "util/error.h"
#include "util/string_list.h"

/* Those of [ssh] hosts, or of the hostfile of [ssh] or [local]. ERROR_USAGE: none, or a line that is wrong; all of
 * these are said. */
int ssh_hosts_read(const struct sweep *sweep, struct host_list *out, struct error *e);

/* "NAME [slots=N] [directory=PATH]", a line each; empty lines and what follows "#" are left out. `path` is for
 * messages. Pure. */
int ssh_hosts_parse(const char *path, const char *text, struct host_list *out, struct error *e);

/* Their devices as "HOST:0", but for those that [local] include and exclude leave out. Hosts that are not said to have
 * any are asked, all at once: one without devices, or that does not answer, has one place. ERROR_USAGE as
 * ssh_hosts_read, or ssh_is_refusal. */
int ssh_hosts_devices(const struct sweep *sweep, char *const *environment, struct device_list *out, struct error *e);

/* Adds "ssh" and its options: those of [ssh], then what this program needs. */
void ssh_add_words(const struct ssh_config *config, struct string_list *words);

/* Returns whether what ssh says is no matter of waiting: an unknown name or key, a key that is refused, a wrong
 * option. */
bool ssh_is_refusal(const char *line);
