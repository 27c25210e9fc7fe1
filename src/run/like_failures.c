#include "run/like_failures.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "util/buffer.h"

/* The failures that depend on what was tried, or on the machine. */
static const bool is_of_its_own[FAILURE_COUNT] = {
    [FAILURE_OOM] = true,
    [FAILURE_TIMEOUT] = true,
    [FAILURE_LOST] = true,
    [FAILURE_CANCELLED] = true,
};

/* Times, ports and process numbers differ where the cause is one. */
static char *without_digits(const char *message)
{
    struct buffer b = BUFFER_INIT;
    for (; message && *message; message++)
        if (!isdigit((unsigned char)*message))
            buffer_add_char(&b, *message);
    return buffer_take(&b);
}

bool like_failures_note(struct like_failures *l, enum failure failure, const char *message, int64_t most)
{
    l->went_well |= failure == FAILURE_NONE;
    if (l->went_well || most == 0 || is_of_its_own[failure])
        return false;
    char *cause = without_digits(message);
    bool alike = l->count > 0 && l->failure == failure && strcmp(l->cause, cause) == 0;
    free(l->cause);
    l->cause = cause;
    l->failure = failure;
    l->count = alike ? l->count + 1 : 1;
    return l->count >= most || failure_is_of_command(message);
}

void like_failures_free(struct like_failures *l)
{
    free(l->cause);
    l->cause = NULL;
}
