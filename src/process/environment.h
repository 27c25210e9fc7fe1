/* A job's environment, built afresh: nothing leaks from one job to the next or from the shell that started the runner,
 * save what is named here. Pure: the runner's own environment is handed in. */
#ifndef MESHSWEEP_PROCESS_ENVIRONMENT_H
#define MESHSWEEP_PROCESS_ENVIRONMENT_H

#include <stdbool.h>

/* NAME=value of what every program expects (PATH, HOME, USER, LOGNAME, SHELL, LANG, LC_*, TZ, TMPDIR, TERM,
 * LD_LIBRARY_PATH, PYTHONPATH, VIRTUAL_ENV, CONDA_PREFIX, XDG_RUNTIME_DIR, CUDA_*, NCCL_*) and the names in `pass`,
 * which may be patterns as of a shell ("HF_*"; NULL-terminated, may be NULL). The result is NULL-terminated and the
 * caller's. */
char **environment_base(char *const *runner, char *const *pass);

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

#endif
