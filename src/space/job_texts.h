/* The job's command, environment and directory as templates whose placeholders are resolved to columns. */
#ifndef MESHSWEEP_SPACE_JOB_TEXTS_H
#define MESHSWEEP_SPACE_JOB_TEXTS_H

#include "space/space.h"

/* Fills command, environment, directory, placeholders and needs_job_dir of `space`. `command` replaces the file's when
 * not NULL; `is_line` says of it what job.command_is_line says of the file's. An unknown placeholder is added to
 * `problems` with its place and a near match. */
void job_texts_compile(struct space *space, char *const *command, bool is_line, struct problems *problems);
void job_texts_free(struct space *space);

/* One more text of the job. job_text_free. */
struct job_text job_texts_compile_text(struct space *space, const char *text, const struct position *at,
                                       struct problems *problems);
void job_text_free(struct job_text *t);

/* The place in space->placeholders of a key or derived key. `is_optional`: it may be NULL there. */
int job_texts_add_placeholder(struct space *space, const char *name, bool is_derived, size_t index, bool is_optional);

/* The words of the command as they are written, NULL-terminated; the caller's. */
char **job_texts_command(const struct space *space);

/* Appends the text with `values` (one per space->placeholders) put in. Runtime names come from `runtime` (indexed by
 * enum runtime_name, then the paths of files); where it is NULL they stay as "{name}", which is how the identity wants
 * them. What is optional and has no value is left out together with the blank beside it. */
void job_text_render(const struct job_text *t, const struct value *values, const char *const *runtime,
                     struct buffer *out);

/* Whether the text is nothing but optional placeholders none of which has a value: the word or setting is not there. */
bool job_text_is_left_out(const struct job_text *t, const struct value *values, const char *const *runtime);

/* Appends the words that a word of the command becomes, each with a NUL behind it: one; none where it is left out; one
 * per element where it is one optional placeholder whose value is a list. */
void job_text_add_words(const struct job_text *t, const struct value *values, const char *const *runtime,
                        struct buffer *out);

#endif
