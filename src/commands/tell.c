#include <sys/utsname.h>
#include <unistd.h>

#include "cli/output.h"
#include "commands/commands.h"
#include "commands/proposing.h"
#include "store/runners.h"
#include "util/memory.h"

int command_tell(const struct tell_options *o, const struct arguments *a, struct error *e)
{
    struct proposing p = {0};
    struct utsname machine;
    OWNED_JSON *results = NULL, *answer = NULL;
    if (a->word_count != 1)
        return error_set(e, ERROR_USAGE,
                         "tell: name the file of results: meshsweep tell RESULTS.json, or - for standard input");
    int rc = proposing_read(a->words[0], &results, e);
    if (rc == 0)
        rc = proposing_open(&p, o->config, o->db, e);
    uname(&machine);
    if (rc == 0) {
        p.place.runner = (struct runner_row){.host = machine.nodename,
                                             .boot_id = "",
                                             .provenance_json = "{\"told\": true}",
                                             .pid = getpid()};
        rc = proposing_end(&p, proposals_tell(&p.place, results, &answer, e), e);
    }
    proposing_close(&p);
    if (rc == 0)
        rc = output_json(answer, e);
    return rc;
}
