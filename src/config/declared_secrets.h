/* Secrets that the sweep file itself contains. */
#pragma once

#include "config/sweep.h"
#include "secrets/secrets.h"

/* Adds what [job] env gives to names that match, what [job] command and the other values of env have behind options
 * that do, and the parts of these around placeholders. From then on `s` knows the names of [job] secrets, which the
 * sweep lends it. */
void declared_secrets_add(struct secrets *s, const struct sweep *sweep);

/* The same of a command that stands in place of the sweep's, as it is written. */
void declared_secrets_add_command(struct secrets *s, char *const *words);
