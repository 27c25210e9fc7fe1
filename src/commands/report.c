
#include "cli/output.h"
#include "cli/written_file.h"
#include "commands/commands.h"
#include "database/open.h"
#include "page/page.h"
#include "serve/serve.h"
#include "util/clock.h"
#include "util/file.h"
#include "util/memory.h"

#include <string.h>

static size_t directory_length(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? (size_t)(slash - path) + 1 : 0;
}

/* The files of attempts as a page beside the database links to them; NULL where it lies elsewhere, by its name. */
static const char *files_beside(const struct report_options *o, const char *job_files)
{
    size_t page = directory_length(o->file), database = directory_length(o->db);
    bool beside = strcmp(o->file, "-") != 0 && page == database && strncmp(o->file, o->db, page) == 0;
    return beside ? job_files + directory_length(job_files) : NULL;
}

static int make_page(struct db *db, const struct report_options *o, const struct report_sink *sink, struct error *e)
{
    OWNED char *job_files = store_directory_of(db);
    const struct html_request request = {job_files, files_beside(o, job_files), clock_wall_ms(), false, NULL};
    return html_report(db, &request, sink, e);
}

static int report_to_file(struct db *db, const struct report_options *o, struct error *e)
{
    const char *path = o->file;
    struct atomic_file file = ATOMIC_FILE_INIT;
    const struct kept_files kept = {.option = "-o", .db_path = o->db, .db = db};
    if (written_file_check(path, &kept, e) < 0 || atomic_file_open(path, o->db, &file, e) < 0)
        return -1;
    const struct report_sink sink = report_sink_of_file(&file);
    int rc = make_page(db, o, &sink, e);
    if (rc == 0)
        rc = atomic_file_commit(&file, e);
    atomic_file_close(&file);
    if (rc == 0)
        output_message("report in %s", path);
    return rc;
}

/* --- served --- */

static void print_url(const char *url)
{
    struct error e = ERROR_INIT;
    if (output_text(url, &e) < 0 || output_text("\n", &e) < 0 || output_flush_all(&e) < 0)
        output_error("report", &e, NULL);
}

static void tell_reader(void *context, const char *text)
{
    (void)context;
    output_message("%s", text);
}

static int serve(const struct report_options *o, struct error *e)
{
    const struct serve_options how = {o->db, o->serve, o->token, print_url, tell_reader};
    int signal_number = 0;
    return serve_report(&how, &signal_number, e) < 0 ? -1 : STATUS_SIGNAL + signal_number;
}

int command_report(const struct report_options *o, struct error *e)
{
    OWNED_DB *db = NULL;
    if (o->serve)
        return serve(o, e);
    if (o->token)
        return error_set(e, ERROR_USAGE, "report: --token needs --serve");
    if (store_open_read_only(o->db, &db, e) < 0)
        return -1;
    return strcmp(o->file, "-") == 0 ? make_page(db, o, &output_sink, e) : report_to_file(db, o, e);
}
