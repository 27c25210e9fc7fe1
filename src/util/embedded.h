/* Text files that the program carries with it: profiles and SQL, made into C by scripts/embed.awk at build time.
 * Makefile.am says which folders these are in. */
#pragma once

struct embedded_file {
    const char *name; /* "profiles/zhen.toml", "sql/rules.sql", "migrations/0001_first.sql" */
    const char *text; /* NUL-terminated; every line, the last one too, ends with a newline */
};

/* All of them in byte order of their names; the last one has a NULL name. */
extern const struct embedded_file embedded_files[];

/* What --executor takes but for files: "local", then "ssh" and the built-in batch systems by name; NULL at the end. */
extern const char *const executor_names[];

/* The text of that name, NULL when there is none. Lives as long as the program. */
const char *embedded_text(const char *name);

/* The files whose names begin with `prefix`, in byte order of their names: the one after `previous`, or the first
 * when that is NULL. NULL when there is no further one. */
const struct embedded_file *embedded_next(const char *prefix, const struct embedded_file *previous);

/* "zhen" of "profiles/zhen.toml"; the caller's. */
char *embedded_stem(const struct embedded_file *file);
