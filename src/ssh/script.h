/* The texts that are sent to hosts: settings, what ssh/remote.sh is told by them, and that itself. */
#pragma once

#include "process/supervisor.h"
#include "ssh/hosts.h"
#include "util/buffer.h"

/* The command that ssh has the host run: it reads a line with the length of what follows, and obeys that. Others on the
 * host see no more of it. */
#define SSH_REMOTE_COMMAND "exec sh -c 'IFS= read -r n && eval \"$(head -c \"$n\")\"'"

/* The facts of a connection; texts are borrowed. */
struct ssh_place {
    const struct host *host;
    const char *state, *run;
    const char *here; /* the runner's working directory */
    const char *probe, *proof;
    int64_t grace_ms, lease_ms;
};

/* Appends the text that a connection begins with. */
void ssh_host_script_add(const struct ssh_place *place, struct buffer *out);

/* The facts of a job. */
struct ssh_job {
    const struct launch *launch;
    const char *hosts, *devices; /* "a,b", "a:0,b:0" */
    const char *metrics;         /* its metrics file, as here */
    bool shared;                 /* the host sees the files of this machine */
};

/* Appends the text that its ssh begins with; where files are not shared, with those in its directory. */
void ssh_job_script_add(const struct ssh_place *place, const struct ssh_job *job, struct buffer *out);

/* Returns where a path of this machine is on the host; the caller's. Pure. */
char *ssh_path_there(const struct host *host, const char *here, const char *path);
