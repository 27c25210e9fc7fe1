/* The space of a sweep: its specs as tables of a private database, its rules and derived keys as SQL over them.
 * Specs are tables, matching is a join, rules are predicates. */
#ifndef MESHSWEEP_SPACE_SPACE_H
#define MESHSWEEP_SPACE_SPACE_H

#include "config/sweep.h"
#include "config/template.h"
#include "space/expression.h"
#include "space/names.h"
#include "space/prediction.h"
#include "store/db.h"

/* A rule in force, resolved. */
struct space_rule {
    char *name, *require, *reason, *source; /* `require` as written */
    bool warning;
    bool is_costly; /* a microsecond per combination: not counted by itself */
    struct expression accepts; /* true or NULL: accepted. `when` is folded in */
};

/* A name that the job's command, environment or directory uses. */
struct placeholder {
    char *name;          /* as written between the braces */
    size_t index;        /* into names.keys or names.derived */
    bool is_derived;
    bool is_bool;
};

/* A key that does not count towards identity where a condition holds. */
struct space_inert {
    size_t key;      /* into names.keys */
    char *condition; /* SQL that is never NULL */
};

/* Names that only a started attempt has: rendered at the start, left as they are in the identity. */
enum runtime_name {
    RUNTIME_NONE = 0,
    RUNTIME_JOB_DIR,
    RUNTIME_JOB_KEY,
    RUNTIME_ATTEMPT,
    RUNTIME_CONFIG_DIR,
    RUNTIME_DS_CONFIG, /* with [deepspeed] only: the job's ds_config.json */
    RUNTIME_DS_CONFIG_BASE64,
    RUNTIME_COUNT
};
extern const char *const runtime_names[RUNTIME_COUNT]; /* "", "job_dir", "job_key", "attempt", "config_dir", … */

/* One text of the job with its placeholders resolved. */
struct job_text {
    struct template template;
    int *slots; /* per part: index into placeholders, or -(enum runtime_name) */
};

/* A limit of the job in milliseconds. */
struct space_limit {
    bool given;
    struct expression expression; /* SQL in milliseconds */
};

enum limit_kind { LIMIT_TOTAL, LIMIT_IDLE, LIMIT_STARTUP, LIMIT_COUNT };

struct space {
    const struct sweep *sweep; /* borrowed */
    struct db *db;             /* the spec tables */
    struct names names;
    int64_t counts[SECTION_COUNT]; /* specs per section; 0: the section is absent */
    struct space_rule *rules;      /* in the order in which they are tried */
    size_t rule_count;
    struct space_inert *inert; /* one per key that [inert] names, by section and name */
    size_t inert_count;
    struct placeholder *placeholders;
    size_t placeholder_count;
    struct job_text *command; /* command_count texts; 0: the sweep has no command */
    size_t command_count;
    struct job_text *environment; /* values, in the order of sweep->job.environment */
    struct job_text directory;    /* empty template when there is none */
    struct space_limit limits[LIMIT_COUNT];
    struct expression devices; /* gpus */
    struct space_prediction prediction;
    bool has_base;
    struct hash128 base_hash;
    bool needs_job_dir;        /* some text names {job_dir} or MESHSWEEP_JOB_DIR */
};

/* What a file beside the sweep file says of every job: a key that no spec has, or that a spec lacks, has this value
 * in expressions. */
struct space_constant {
    char *name;
    char *sql; /* literal */
};

struct space_base {
    struct space_constant *constants;
    size_t count;
    struct hash128 hash; /* of all that the file's content does to a job; counts towards identity */
};

struct space_options {
    int64_t manual_timeout_ms;  /* for combinations that bind a parallel plan; 0: 600 s where the file says nothing */
    char *const *command;       /* replaces [job] command when not NULL; NULL-terminated, borrowed */
    const struct space_base *base; /* NULL: none; only needed while the space is built */
};

/* Builds. Every expression and placeholder that does not resolve is reported at once, with its place. ERROR_USAGE. */
int space_build(const struct sweep *s, const struct space_options *options, struct space **out, struct error *e);
void space_free(struct space *space);

/* All combinations before any rule: the product of the sections that are there. Overflow is an error of space_build. */
int64_t space_combinations(const struct space *space);

/* An expression as somebody wrote it. */
struct source_text {
    const char *text;
    enum unknown_names unknown;
    const struct position *at; /* NULL: no place */
    const char *what, *name;   /* for messages: "rule", "batch-divides" */
};

/* Resolves it and has SQLite compile it under the guard. A problem is added to `problems` as
 * "file:line:column: WHAT `NAME`: …"; returns -1 then. */
int space_compile(struct space *space, const struct source_text *source, struct expression *out,
                  struct error *problems);

/* What unknown names are in an expression written there. */
enum unknown_names unknown_at(const struct space *space, const struct position *at);

/* Appends "FROM … " over the sections in `sections` (bits), joined in an order in which `rules[0..count)` cut early,
 * then "WHERE …" with those rules: " AND …" may follow. Warnings are left out. */
void space_add_join(const struct space *space, unsigned sections, size_t rule_count, struct buffer *sql);

/* The same for counting: each section is reduced to the distinct values of the columns in `keys` (one bool per
 * names.keys), with their number as "SECTION"."#count". */
void space_add_counting_join(const struct space *space, unsigned sections, size_t rule_count, const bool *keys,
                             struct buffer *sql);

#endif
