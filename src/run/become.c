#include "run/become.h"

#include <errno.h>
#include <signal.h>
#include <unistd.h>

int become(char *const *command, struct error *e)
{
    /* What is ignored stays so across exec. */
    signal(SIGPIPE, SIG_DFL);
    execvp(command[0], command);
    return error_errno(e, errno, "cannot start %s", command[0]);
}
