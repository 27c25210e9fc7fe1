#include "util/fault.h"

#include <signal.h>
#include <stdint.h>
#include <string.h>

#include "util/parse.h"

const char *const fault_names[FAULT_COUNT] = {
#define FAULT_NAME(constant, name) [FAULT_##constant] = name,
    FAULT_POINTS(FAULT_NAME)
#undef FAULT_NAME
};

/* One per process, as its death is. */
static struct {
    enum fault_point point;
    int64_t passes_left;
} armed;

static enum fault_point find_point(const char *name, size_t length)
{
    for (int i = FAULT_NONE + 1; i < FAULT_COUNT; i++)
        if (strlen(fault_names[i]) == length && strncmp(fault_names[i], name, length) == 0)
            return (enum fault_point)i;
    return FAULT_NONE;
}

int fault_arm(const char *text, struct error *e)
{
    size_t length = strcspn(text, ":");
    int64_t passes = 1;
    enum fault_point point = find_point(text, length);
    if (point == FAULT_NONE)
        return error_set(e, ERROR_USAGE, "MESHSWEEP_FAULT: there is no fault point `%.*s`", (int)length, text);
    if (text[length] && (!parse_int64(text + length + 1, &passes) || passes < 1))
        return error_set(e, ERROR_USAGE, "MESHSWEEP_FAULT: `%s` is not a count from 1", text + length + 1);
    armed.point = point;
    armed.passes_left = passes;
    return 0;
}

#ifdef MESHSWEEP_FAULTS
void fault_pass(enum fault_point point)
{
    if (point == armed.point && --armed.passes_left == 0)
        raise(SIGKILL);
}
#endif
