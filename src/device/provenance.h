/* The record of where a runner ran. */
#pragma once

/* A JSON object: host, kernel, machine, cpu (model), cpus (online), cpus_usable (those the runner may use),
 * memory_bytes, gpus (device/models.h), tool, directory (absolute), git (commit and dirty of `directory`'s repository,
 * files that git does not know left out; null where there is no git, no repository or no answer within seconds),
 * environment (see environment_context_json), versions (`versions`, see provenance/versions.h; NULL: null). Unknown
 * things are null. `directory` NULL: the current one. `runner` is the environment to look at, of which jobs are
 * given what `pass` names (NULL: nothing but the usual). The caller's. */
char *provenance_json(const char *directory, char *const *runner, char *const *pass, char *const *secrets,
                      const char *versions);
