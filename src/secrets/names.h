/* Names of options, keys and variables, in a command or a text, whose values are secrets. */
#ifndef MESHSWEEP_SECRETS_NAMES_H
#define MESHSWEEP_SECRETS_NAMES_H

#include <stddef.h>

enum secret_name {
    SECRET_NAME_NONE = 0,
    SECRET_NAME_QUERY,   /* only in an address, behind "?" or "&": "sig" */
    SECRET_NAME_LIKELY,  /* a short number behind it is not a secret: "--token 7" */
    SECRET_NAME_CERTAIN, /* whatever stands behind it is one: "--api-key", "password" */
};

/* Of a name without dashes before it, in any case, its words joined by "-", "_" or ".": "api-key", "wandb.api_key",
 * "HF_TOKEN", or one of `listed` (NULL-terminated, may be NULL). Stricter than secrets_match_name where the name is not
 * that of a variable: "pad-token", "num-key-value-heads" and "api-key-file" are none. */
enum secret_name secret_name_kind(const char *name, size_t length, char *const *listed);

#endif
