/* The space of a sweep: its specs as tables of a private database, its rules and derived keys as SQL over them.
 * Specs are tables, matching is a join, rules are predicates. */
#pragma once

#include "config/sweep.h"
#include "config/template.h"
#include "database/db.h"
#include "expression/expression.h"
#include "expression/names.h"
#include "join/solver.h"
#include "space/prediction.h"
#include "store/changes.h"
#include "util/memory.h"

/* A rule in force, resolved. */
struct space_rule {
    char *name, *require, *reason, *source; /* `require` as written */
    bool warning;
    bool is_costly;            /* a microsecond per combination: not counted by itself */
    struct expression accepts; /* true or NULL: accepted. `when` is folded in */
};

/* A name that the job's command, environment or directory uses. */
struct placeholder {
    char *name;   /* as written between the braces */
    size_t index; /* into names.keys or names.derived */
    bool is_derived;
    bool is_bool;
    bool has_list;    /* as in struct key */
    bool is_optional; /* no text needs it: where it has no value, what has it is left out */
};

/* A key that does not count towards identity where a condition holds, or that of another entry of it. */
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
    RUNTIME_MASTER_PORT,
    RUNTIME_DEVICES,   /* those of this machine that it was given: "4,5"; not known before it starts */
    RUNTIME_HOSTS,     /* whose devices these are: "n1,n2" */
    RUNTIME_DS_CONFIG, /* with [deepspeed] only: the job's ds_config.json */
    RUNTIME_DS_CONFIG_BASE64,
    RUNTIME_COUNT
};

/* The slot of an optional name that nothing has. */
#define SLOT_ABSENT (-(int)RUNTIME_COUNT)
/* Behind them, the path of a file that jobs are given, by its index in space->files. */
#define RUNTIME_FILE(index) (RUNTIME_COUNT + 1 + (index))

/* The words of a command, or the values of settings in their order. The slot of a placeholder is an index into
 * placeholders, -(enum runtime_name), -RUNTIME_FILE(…) or SLOT_ABSENT. */
struct job_texts {
    struct template *items;
    size_t count;
    const struct setting *settings; /* NULL: they are words */
};

/* Commands of a fixture. */
enum fixture_act { FIXTURE_START, FIXTURE_READY, FIXTURE_BETWEEN, FIXTURE_STOP, FIXTURE_ACTS };

/* A fixture with its texts resolved. What only a start of it has is rendered as runtime names are, after those
 * and files: RUNTIME_FIXTURE of its number is {fixture.NAME.port}, the next is {fixture.NAME.dir}. */
#define RUNTIME_FIXTURE(space, number) (RUNTIME_FILE((space)->sweep->job.file_count) + 2 * (number))
struct space_fixture {
    const struct fixture *config; /* borrowed from the sweep */
    struct job_texts words[FIXTURE_ACTS];
    struct job_texts environment; /* of config->environment */
    struct template directory;    /* empty when there is none */
    int *per;                     /* into placeholders, as many as config->per */
};

/* A limit of the job in milliseconds. */
struct space_limit {
    struct expression expression; /* SQL in milliseconds; of a job's first attempt. NULL: there is none */
    const char *later; /* SQL over the job's specs (launch.c), of the attempt to be made; NULL: it is the same */
};

enum limit_kind { LIMIT_TOTAL, LIMIT_IDLE, LIMIT_STARTUP, LIMIT_COUNT };

/* An expression as it was written, so that the one that fails can be named. */
struct written_expression {
    const char *what; /* borrowed from the code: "rule" */
    char *name;
    struct position at; /* no file: it has no place in one */
    struct expression expression;
};

/* Jobs of the database whose results are to stand for jobs of the sweep from its next enumeration on. */
struct space_moves {
    const struct job_move *items;
    size_t count;
    struct change change;
};

struct formulas;
struct space_file;
struct space_order;

/* The SQL of a fact (space/build.h) that nobody knows yet. */
#define FACT_UNKNOWN "NULL"

struct space {
    const struct sweep *sweep; /* borrowed */
    struct db *db;             /* the spec tables */
    struct names names;
    struct specs *specs[SECTION_COUNT];
    int64_t counts[SECTION_COUNT]; /* specs per section; 0: the section is absent */
    bool of_rows;                  /* its specs were given one by one (row_space.h) */
    bool of_jobs;                  /* its combinations are not the product but those of `job_ranks` (row_space.h) */
    int64_t *job_ranks;            /* ascending */
    int64_t job_count;
    struct relation relations[SECTION_COUNT];
    struct evaluator *evaluator;
    struct formulas *formulas; /* space/compile.h */
    struct space_rule *rules;  /* in the order in which they are tried */
    size_t rule_count;
    struct space_inert *inert; /* one per entry of [inert] and key that it names */
    size_t inert_count;
    struct placeholder *placeholders;
    size_t placeholder_count;
    struct job_texts command;     /* without words: the sweep has none */
    struct job_texts environment; /* of sweep->job.environment */
    struct job_texts profile;     /* words that go before the command of the winner */
    struct template directory;    /* empty when there is none */
    struct space_file *files;     /* space/job_texts.c, in the order of sweep->job.files */
    size_t file_count;
    struct space_fixture *fixtures;
    size_t fixture_count;
    struct space_limit limits[LIMIT_COUNT];
    const char *memory;        /* as `later`, of [slurm] memory, in MiB; NULL: it is the same for all attempts */
    struct expression devices; /* gpus */
    struct space_prediction prediction;
    struct written_expression *written; /* all that were compiled, in that order: derived keys before what uses them */
    size_t written_count;
    struct space_order *order; /* of device memory (space/memory_order.h); NULL: none that excludes anything */
    bool has_base;
    struct hash128 base_hash;
    const struct match_watch *watch; /* of counts and walks: rules of `rules`; their number: none. Borrowed; NULL */
    const struct space_moves *moves; /* borrowed; NULL: none */
    struct arena arena;              /* texts of the above */
    bool needs_job_dir;              /* some text names {job_dir} or MESHSWEEP_JOB_DIR */
};

/* All combinations before any rule: the product of the sections that are there, or the jobs that it is limited to.
 * Overflow is an error of space_build. */
int64_t space_combinations(const struct space *space);

/* Appends "FROM … WHERE true" over the tables of the sections in `sections` (bits): " AND …" may follow. */
void space_add_from(const struct space *space, unsigned sections, struct buffer *sql);

/* Reads the values of a combination's keys, one per names.keys. */
void space_read_keys(const struct space *space, int64_t rank, struct datum *keys);
