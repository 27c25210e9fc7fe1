/* What must never be recorded: the values of environment variables whose names tell that they are secrets. */
#ifndef MESHSWEEP_CONFIG_SECRETS_H
#define MESHSWEEP_CONFIG_SECRETS_H

#include <stdbool.h>
#include <stddef.h>

struct sweep;

/* Whether a variable of that name holds a secret: it is listed in `listed` (NULL-terminated, may be NULL) or looks like
 * one: TOKEN, KEY, AUTH, PASS and the like as a word between underscores, any word that ends in TOKEN, or SECRET,
 * PASSWORD, PASSWD, CREDENTIAL or APIKEY anywhere. MAX_TOKENS and TOKENIZERS_PARALLELISM are none. `name` may be a
 * whole NAME=value. */
bool secrets_match_name(const char *name, char *const *listed);

/* Known values, longest first. */
struct secrets {
    char **values;
    size_t count;
};

#define SECRETS_INIT {NULL, 0}

/* Shorter values than this are everywhere in a text; they are not looked for. */
#define SECRET_BYTES_LEAST 6

void secrets_add(struct secrets *s, const char *value);

/* These two add values as they are and as TOML and JSON escape them: the values of NAME=value settings (NULL-terminated) whose names match. */
void secrets_add_settings(struct secrets *s, char *const *settings, char *const *listed);

/* What [job] env of a sweep file gives to names that match, and its parts around placeholders. */
void secrets_add_declared(struct secrets *s, const struct sweep *sweep);
void secrets_free(struct secrets *s);

/* `text` with "[redacted]" for each of them. The caller's; NULL for NULL. */
char *secrets_redact(const struct secrets *s, const char *text);

#endif
