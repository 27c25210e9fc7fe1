#include "store/job_specs.h"

const char *const job_spec_columns[JOB_SPECS] = {"c.json", "m.json", "t.json", "p.json"};

void job_specs_read(const struct stmt *s, struct job_specs *out)
{
    *out = (struct job_specs){.job_id = stmt_int(s, 0), .key = stmt_hash(s, 1)};
    for (int i = 0; i < JOB_SPECS; i++) {
        out->json[i] = stmt_text(s, 2 + i);
        out->hash[i] = stmt_is_null(s, 2 + JOB_SPECS + i) ? NULL : stmt_hash(s, 2 + JOB_SPECS + i);
    }
}
