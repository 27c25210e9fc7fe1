#include <stdlib.h>

#include "cli/command.h"
#include "cli/output.h"
#include "cli/written_file.h"
#include "database/open.h"
#include "page/page.h"
#include "util/clock.h"
#include "util/file.h"

#include <string.h>

struct report_options {
    const char *db, *file;
};

static const struct option options[] = {
    {.name = "db",
     .letter = 'd',
     .kind = OPTION_STRING,
     .offset = offsetof(struct report_options, db),
     .value = "FILE",
     .help = "the database",
     .fallback = "results.db"},
    {.name = "output",
     .letter = 'o',
     .kind = OPTION_STRING,
     .offset = offsetof(struct report_options, file),
     .value = "FILE",
     .help = "into this file; - for standard output",
     .fallback = "report.html"},
    {.name = NULL},
};

static int write_to_file(void *context, const void *bytes, size_t length, struct error *e)
{
    return atomic_file_write(context, bytes, length, e);
}

static int report_to_file(struct db *db, const struct report_options *o, struct error *e)
{
    const char *path = o->file;
    struct atomic_file file = ATOMIC_FILE_INIT;
    const struct kept_files kept = {.option = "-o", .db_path = o->db, .db = db};
    if (written_file_check(path, &kept, e) < 0 || atomic_file_open(path, &file, e) < 0)
        return -1;
    const struct report_sink sink = {write_to_file, &file};
    char *directory = store_directory(o->db);
    int rc = html_report(db, directory, clock_wall_ms(), &sink, e);
    free(directory);
    if (rc == 0)
        rc = atomic_file_commit(&file, e);
    atomic_file_close(&file);
    if (rc == 0)
        output_message("report in %s", path);
    return rc;
}

static int report(const struct arguments *a, struct error *e)
{
    const struct report_options *o = a->options;
    struct db *db = NULL;
    if (store_open_read_only(o->db, &db, e) < 0)
        return -1;
    char *directory = store_directory(o->db);
    int rc = strcmp(o->file, "-") == 0 ? html_report(db, directory, clock_wall_ms(), &output_sink, e)
                                       : report_to_file(db, o, e);
    free(directory);
    store_close(db);
    return rc;
}

const struct command report_command = {
    .name = "report",
    .summary = "Write the sweep as one self-contained HTML page with plots",
    .usage = "[OPTIONS]",
    .example = "meshsweep report -o report.html",
    .options = options,
    .options_bytes = sizeof(struct report_options),
    .run = report,
};
