#include "predict/bounds.h"

#include <string.h>

static int refuse(const struct bound *b, double value, struct error *e)
{
    return error_add_line(e, ERROR_USAGE, "%s = %.17g is not between %.17g and %.17g", b->name, value, b->least,
                          b->most);
}

int bounds_check_integers(const void *base, const struct bound *bounds, size_t count, struct error *e)
{
    int rc = 0;
    for (const struct bound *b = bounds; b < bounds + count; b++) {
        int64_t value;
        memcpy(&value, (const char *)base + b->offset, sizeof value);
        if ((double)value < b->least || (double)value > b->most)
            rc = refuse(b, (double)value, e);
    }
    return rc;
}

int bounds_check_doubles(const void *base, const struct bound *bounds, size_t count, struct error *e)
{
    int rc = 0;
    for (const struct bound *b = bounds; b < bounds + count; b++) {
        double value;
        memcpy(&value, (const char *)base + b->offset, sizeof value);
        /* Written so that NaN is refused. */
        if (!(value >= b->least && value <= b->most))
            rc = refuse(b, value, e);
    }
    return rc;
}
