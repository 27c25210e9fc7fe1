/* The job's command, environment and directory as templates whose placeholders are resolved to columns. */
#pragma once

#include <cjson/cJSON.h>

#include "space/space.h"
#include "store/attempts.h"
#include "util/string_list.h"

/* Fills command, environment, profile, directory, files, fixtures, placeholders and needs_job_dir of `space`, after the
 * derived keys: an expression of a file becomes one of them. `command` replaces the file's when not NULL; `is_line`
 * says of it what job.command.is_line says of the file's. Problems: an unknown placeholder, with a near match; a base,
 * path or expression of a file that does not resolve; a key in `per` of a fixture that there is none of or that nothing
 * of its start uses, and one with several values that the start uses and `per` lacks. */
void job_texts_compile(struct space *space, char *const *command, bool is_line, struct problems *problems);

/* The words of the command as they are written, NULL-terminated; the caller's. */
char **job_texts_command(const struct space *space);

/* Appends the text with `values` (one per space->placeholders) put in. Runtime names come from `runtime` (indexed by
 * enum runtime_name, then the paths of files, then as struct space_fixture says); where it is NULL they stay as
 * "{name}", which is how the identity wants them. What is optional and has no value is left out together with the
 * blank beside it. */
void job_text_render(const struct template *t, const struct value *values, const char *const *runtime,
                     struct buffer *out);

/* Returns whether the text is nothing but optional placeholders none of which has a value: the word or setting is not
 * there. */
bool job_text_is_left_out(const struct template *t, const struct value *values, const char *const *runtime);

/* The text so, the caller's; NULL of an empty template. */
char *job_text_text(const struct template *t, const struct value *values, const char *const *runtime);

/* Appends the words that each word becomes, with a NUL behind each of them: one; none where it is left out; one per
 * element where it is one optional placeholder whose value is a list. Of settings "NAME=value" of each, and of those
 * that are left out the name is added to `unset` (NULL: nowhere). */
void job_texts_add(const struct job_texts *texts, const struct value *values, const char *const *runtime,
                   struct buffer *out, struct string_list *unset);

/* The same as a NULL-terminated list, the caller's. */
char **job_texts_list(const struct job_texts *texts, const struct value *values, const char *const *runtime,
                      struct string_list *unset);

/* --- fixtures --- */

/* Appends all that makes a start of it another one: its name, the values of `per`, and its start, between, env and cwd
 * as rendered without runtime names (see job_text_render), each with a NUL behind it. */
void fixture_texts_add(const struct space_fixture *f, const struct value *values, struct buffer *out);

/* The values of `per`: {"tp":2}, and after its name for people: "server (tp=2)". The caller's. */
char *fixture_texts_given(const struct space_fixture *f, const struct value *values);
char *fixture_texts_label(const struct space_fixture *f, const struct value *values);

/* A query of the jobs of sweep ?1, as a table with the columns of job that tell whether one is due, and `place`: a text
 * by which jobs stand together that have the fixtures' values in common, earlier fixtures first, as the first of them
 * stands in the declared order. The caller's; NULL where there are no fixtures. */
char *fixture_texts_order(const struct space *space);

/* Appends the column that has its value in a query over JOB_SPECS_FROM_SQL. */
void placeholder_add_column(const struct space *space, const struct placeholder *p, struct buffer *sql);

/* --- [[job.file]]: the files of the jobs, with the values that are set resolved to columns --- */

/* Appends what counts to a job's identity: values, not layout. `values`: one per space->placeholders. */
void job_files_add_identity(const struct space *space, const struct value *values, struct buffer *out);

/* Adds what the files of all jobs have in common, for space_identity(). */
void job_files_add_common(const struct space *space, struct buffer *out);

/* {"config.yaml": "base.yaml <hash>", "config.yaml: data.batch_size": "{micro_batch}", …}: for identity_parts(). */
void job_files_add_parts(const struct space *space, cJSON *parts);

/* Appends the files of one attempt to `out`. `runtime` as launch_texts_render(). */
int job_files_render(const struct space *space, const struct value *values, const char *const *runtime,
                     struct given_files *out, struct error *e);
