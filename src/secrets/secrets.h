/* Secrets must never be recorded: values of variables, options and keys whose names tell that they are secrets, and
 * what is one by how it is written (secrets/forms.h). */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* The text in place of a secret. */
#define SECRET_REDACTED "[redacted]"

/* Returns whether a variable of that name holds a secret: it is listed in `listed` (NULL-terminated, may be NULL) or
 * looks like one: TOKEN, KEY, AUTH, PASS and the like as a word between underscores, any word that ends in TOKEN, or
 * SECRET, PASSWORD, PASSWD, CREDENTIAL or APIKEY anywhere. MAX_TOKENS and TOKENIZERS_PARALLELISM are none. `name` may
 * be a whole NAME=value. */
bool secrets_match_name(const char *name, char *const *listed);

/* Known values, longest first. */
struct secrets {
    char **values;
    size_t count;
    char *const *names; /* borrowed: names of further secrets, NULL-terminated; may be NULL */
};

#define SECRETS_INIT ((struct secrets){NULL, 0, NULL})

/* Shorter values than this are everywhere in a text; they are not looked for. */
#define SECRET_BYTES_LEAST 6

void secrets_add(struct secrets *s, const char *value);

/* The value as it is and as TOML and JSON escape it. */
void secrets_add_escaped(struct secrets *s, const char *value);

/* The same for the values of NAME=value settings (NULL-terminated) whose names match. */
void secrets_add_settings(struct secrets *s, char *const *settings, char *const *listed);
void secrets_free(struct secrets *s);

/* The same for what a command has behind options that tell of secrets: "--api-key", "V"; "--password=V"; within a line
 * for the shell "--token V", "HF_TOKEN=V"; URLs with passwords, keys of services. */
void secrets_add_command(struct secrets *s, char *const *words);

/* `text` with "[redacted]" for each of them and for what it has itself that is one: "api_key=V", "password": "V", a
 * URL's password, keys of services. The caller's; NULL for NULL. */
char *secrets_redact(const struct secrets *s, const char *text);

/* The same for a sweep file, whose commands may have "--token V" too. What parses as TOML does so afterwards. */
char *secrets_redact_sweep(const struct secrets *s, const char *text);

/* Known values alone, for a text whose names are not those of values. */
char *secrets_redact_values(const struct secrets *s, const char *text);

/* The words of a command likewise, NULL-terminated; the caller's. */
char **secrets_redact_words(const struct secrets *s, char *const *words);

/* Puts back into `words`, which secrets_redact_words returned, what stands at the same place of `given`: after the same
 * word, and redacted to the same one. false: something is still left out. */
bool secrets_restore_words(const struct secrets *s, char **words, char *const *given);

/* Returns whether something of these words was redacted. */
bool secrets_are_left_out(char *const *words);
