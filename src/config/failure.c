#include "config/failure.h"

#include <string.h>

#define NAME(id, name, attempts) name,
const char *const failure_names[FAILURE_COUNT + 1] = {"", FAILURES_DECLARABLE(NAME) "cancelled", NULL};

enum failure failure_by_name(const char *name)
{
    for (int i = 1; i < FAILURE_COUNT; i++)
        if (strcmp(failure_names[i], name) == 0)
            return (enum failure)i;
    return FAILURE_NONE;
}

bool failure_is_of_command(const char *message)
{
    /* Python's argparse, Transformers' parser, click, getopt, the interpreter. A value that is refused ("invalid
     * choice") is not among them: a job may have it from its spec. */
    static const char *const words[] = {
        "error: unrecognized arguments:",
        "error: the following arguments are required:",
        ": expected one argument",
        "are not used by the HfArgumentParser",
        "Error: No such option",
        ": unrecognized option",
        ": can't open file",
        "ModuleNotFoundError: No module named",
        "SyntaxError: ",
    };
    for (size_t i = 0; message && i < sizeof words / sizeof *words; i++)
        if (strstr(message, words[i]))
            return true;
    return false;
}
