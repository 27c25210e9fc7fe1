#include "cli/batch_notice.h"

#include "cli/output.h"

void batch_notice_say(const struct batch_spread *s)
{
    if (s->others == 1)
        output_message("the winner's global batch is %lld, but other jobs have %lld; to compare at an equal one, use "
                       "meshsweep results --where",
                       (long long)s->winner, (long long)s->least);
    else if (s->others > 1)
        output_message("the winner's global batch is %lld, but other jobs have %lld others, from %lld to %lld; to "
                       "compare at an equal one, use meshsweep results --where",
                       (long long)s->winner, (long long)s->others, (long long)s->least, (long long)s->most);
}
