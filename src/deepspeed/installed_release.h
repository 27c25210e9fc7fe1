/* Which release of DeepSpeed a launcher would start. */
#ifndef MESHSWEEP_DEEPSPEED_INSTALLED_RELEASE_H
#define MESHSWEEP_DEEPSPEED_INSTALLED_RELEASE_H

/* Asks the Python of a launcher, once, for the metadata of its package: "0.14.5", without what else a version may have
 * ("+local", ".dev0"); NULL where it has none, or does not answer within 20 s. `launcher`: its words; its Python is a
 * word "python…", else that of the script that its first word is along the PATH of `environment`, else python3.
 * `*python` is the one that was asked. Both are the caller's. */
char *installed_release(const char *launcher, char *const *environment, char **python);

#endif
