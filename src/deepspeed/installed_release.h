/* Finds the release of DeepSpeed that a launcher would start. */
#ifndef MESHSWEEP_DEEPSPEED_INSTALLED_RELEASE_H
#define MESHSWEEP_DEEPSPEED_INSTALLED_RELEASE_H

/* Asks the launcher's Python, once, for the version of its package deepspeed: "0.14.5", without suffixes ("+local",
 * ".dev0"). NULL if it is not installed or there is no answer within 20 s. The Python is a word "python…" of
 * `launcher`, else that of the script that its first word names on the PATH of `environment`, else python3; `*python`
 * is set to it. The caller frees both. */
char *installed_release(const char *launcher, char *const *environment, char **python);

#endif
