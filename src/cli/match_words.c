#include "cli/match_words.h"

#include <inttypes.h>
#include <math.h>

#include "util/parse.h"

void match_add_prediction(const struct match *m, struct buffer *out)
{
    static const char *const words[] =
        {[OOM_FITS] = "", [OOM_RISK] = " (may not fit)", [OOM_CERTAIN] = " (does not fit)"};
    const char *of = m->predicted_memory_of;
    char size[32];
    if (!isnan(m->predicted_memory))
        buffer_printf(out, "  predicted %s%s%s%s%s", format_size_bytes((int64_t)m->predicted_memory, size, sizeof size),
                      *of ? " " : "", of, words[m->risk] ? words[m->risk] : "", m->is_audit ? " run as an audit" : "");
    if (!isnan(m->predicted_time))
        buffer_printf(out, "%s %.3g s a step", isnan(m->predicted_memory) ? "  predicted" : ",", m->predicted_time);
}
