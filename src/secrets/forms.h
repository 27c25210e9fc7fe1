/* Secrets that are recognised by their form, whatever their name. */
#ifndef MESHSWEEP_SECRETS_FORMS_H
#define MESHSWEEP_SECRETS_FORMS_H

#include <stdbool.h>
#include <stddef.h>

/* Bytes from `text` on that stay visible, and bytes behind them that are the secret. */
struct secret_form {
    size_t visible, hidden;
};

/* Whether one begins at `text`: a key of a well-known service ("sk-…", "ghp_…", "hf_…", "AKIA…"), a token behind
 * "Bearer" or "Basic", a JSON web token, the body of a private key or, where `text` is at ":", the password or token
 * of an address. Before `text` no letter, digit or "_" may stand, which is the caller's to see to. */
bool secret_form_find(const char *text, struct secret_form *out);

/* Letters and digits mixed, eight at least: chosen by a machine rather than written by a person. */
bool secret_form_is_random(const char *text, size_t length);

#endif
