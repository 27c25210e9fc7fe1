/* A job's environment, built afresh: nothing leaks from one job to the next or from the shell that started the runner,
 * save what is named here. Pure: the runner's own environment is handed in. */
#pragma once

#include <stdbool.h>

/* The part of the runner's environment that a job gets beside the usual: all NULL or NULL-terminated. */
struct environment_passing {
    char *const *names;   /* patterns as of a shell: "HF_HOME", "HF_*"; "*": all but secrets and MESHSWEEP_* */
    char *const *secrets; /* names of secrets beside those that tell it (secrets/secrets.h) */
};

/* NAME=value of what every program expects (PATH, HOME, USER, LOGNAME, SHELL, LANG, LC_*, TZ, TMPDIR, TERM,
 * LD_LIBRARY_PATH, PYTHONPATH, VIRTUAL_ENV, CONDA_PREFIX, XDG_RUNTIME_DIR, CUDA_*, NCCL_*) and what `pass` names. The
 * result is NULL-terminated and the caller's. */
char **environment_base(char *const *runner, struct environment_passing pass);

/* Names of secrets that "*" does not pass, and that nothing else in `pass` names. As environment_base. */
char **environment_kept_out(char *const *runner, struct environment_passing pass);

/* Names of variables that programs are known to read ([[environment.readers]] of knowledge/words.toml) and that jobs
 * would not get. With `text`, a command and its script, only of readers that it names. As environment_base. */
char **environment_not_passed(char *const *runner, struct environment_passing pass, const char *text);

/* A copy of `base` with `declared`, then `own` (NULL-terminated, may be NULL); a later one of the same name
 * replaces. */
char **environment_with(char *const *base, char *const *declared, char *const *own);

/* Removes what `names` (NULL-terminated) name. */
void environment_drop(char **settings, char *const *names);

/* {"NAME":"value",…} with secrets (see secrets/secrets.h) as "[redacted]"; NULL for an empty list. The caller's. */
char *environment_declared_json(char *const *settings, char *const *secrets);

/* The part of `runner` that tells where a job ran (devices, threads, collectives, libraries) and what `pass` passes on,
 * but for what is of a terminal or a session, redacted likewise and by what values look like. */
char *environment_context_json(char *const *runner, char *const *pass, char *const *secrets);
