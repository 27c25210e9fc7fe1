/* What the section "Failures" asks of elsewhere (sql/page/failures.sql). */
#include <cjson/cJSON.h>

#include "page/sections.h"
#include "results/failure_causes.h"
#include "util/memory.h"

int html_failures(struct html_page *p, struct error *e)
{
    struct failure_causes causes;
    if (failure_causes_read(p->db, p->data->sweep_id, 0, &causes, e) < 0)
        return -1;
    OWNED char *list = cJSON_PrintUnformatted(causes.list), *words = cJSON_PrintUnformatted(causes.words);
    failure_causes_free(&causes);
    return html_add_document(&p->out, p->db, "failures",
                             VALUES(sql_text(list), sql_text(words), sql_int(causes.others)), e);
}
