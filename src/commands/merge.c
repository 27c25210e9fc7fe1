#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/output.h"
#include "cli/result_output.h"
#include "cli/session.h"
#include "cli/written_file.h"
#include "commands/commands.h"
#include "database/backup.h"
#include "database/merge.h"
#include "database/open.h"
#include "measures/definitions.h"
#include "process/external_command.h"
#include "process/interrupts.h"
#include "process/process.h"
#include "results/json.h"
#include "results/views.h"
#include "store/jobs.h"
#include "util/buffer.h"
#include "util/file.h"
#include "util/memory.h"
#include "util/shell.h"

/* Brings what came from several databases under one definition; a job's value is that of all its attempts. */
static int unify(struct db *db, struct error *e)
{
    const struct renewal_request request = {.in_transaction = true};
    struct renewal renewal;
    if (measures_renew(db, &request, &renewal, e) < 0)
        return -1;
    renewal_free(&renewal);
    return jobs_choose_representatives(db, "temp.merged_job", e);
}

/* Adds what is new in the database at `source`, whose job files are in `directory` (NULL: beside it), to `counts`. */
static int merge_into(struct db *db, const char *source, const char *directory, struct merge_counts *counts,
                      struct error *e)
{
    const struct merge_steps steps = {definitions_check_source, unify, directory};
    return merge_database(db, source, &steps, counts, e) < 0 ? -1 : result_views_refresh(db, e);
}

static int merge_all(struct db *db, const char *output, const struct arguments *a, struct merge_counts *counts,
                     struct error *e)
{
    size_t i = FIRST(k, a->word_count, merge_into(db, a->words[k], NULL, counts, e) != 0);
    if (i > 0 && i < a->word_count)
        output_message("%s lacks %zu of %zu databases, from %s on; merging again adds nothing twice", output,
                       a->word_count - i, a->word_count, a->words[i]);
    return i < a->word_count ? -1 : 0;
}

/* A database must not be merged into itself, nor into a file that belongs to a source. */
static int check_sources(const struct arguments *a, const char *output, struct error *e)
{
    for (size_t i = 0; i < a->word_count; i++) {
        const struct kept_files kept = {.option = "-o", .db_path = a->words[i], .writes_database = true};
        if (path_is_same(a->words[i], output))
            return error_set(e, ERROR_USAGE,
                             "merge: %s is both a database to merge and the one to merge into; name another with -o",
                             a->words[i]);
        if (written_file_check(output, &kept, e) < 0)
            return -1;
    }
    return 0;
}

static int merge_print(const char *path, const struct merge_counts *counts, bool as_json, struct error *e)
{
    OWNED_JSON *root = json_document();
    JSON_ADD(root, JSON_TEXT("path", path), JSON_COUNT("new_jobs", counts->jobs),
             JSON_COUNT("attempts_added", counts->attempts));
    return output_answer(as_json, "sql/texts/merge.sql", root, NULL, e);
}

int command_merge(const struct merge_options *o, const struct arguments *a, struct error *e)
{
    struct merge_counts counts = {0, 0};
    struct db *db = NULL;
    if (!o->output)
        return error_set(e, ERROR_USAGE, "merge: name the database to merge into with -o FILE");
    if (a->word_count == 0)
        return error_set(e, ERROR_USAGE, "merge: name the databases to merge: meshsweep merge A.db B.db -o ALL.db");
    if (check_sources(a, o->output, e) < 0 || session_open_store(o->output, &db, e) < 0)
        return -1;
    int64_t others = 0;
    int rc = merge_all(db, o->output, a, &counts, e);
    if (rc == 0)
        rc = db_query_int(db, "SELECT count(*) FROM job WHERE sweep_id <> (SELECT id FROM current_sweep)", NO_VALUES, 0,
                          &others, e);
    if (rc < 0 && counts.jobs + counts.attempts == 0)
        store_discard(db);
    else
        store_close(db);
    if (rc < 0)
        return -1;
    OWNED char *output = shell_word(o->output);
    rc = merge_print(o->output, &counts, o->json, e);
    if (rc == 0 && others > 0 && !o->json)
        output_message("%" PRId64 " of its jobs %s to sweeps older than the newest, listed by: meshsweep results --all "
                       "-d %s",
                       others, others == 1 ? "belongs" : "belong", output);
    return rc < 0 ? -1 : STATUS_OK;
}

/* --- what is pulled --- */

struct pulled_database {
    const char *given;
    char *host; /* NULL: this machine */
    const char *path;
};

/* As scp has it: a colon before any slash ends a host; brackets are around an address that has colons. */
static int read_source(const char *given, struct pulled_database *out, struct error *e)
{
    const char *end = given[0] == '[' ? strstr(given, "]:") : strchr(given, ':');
    const char *slash = strchr(given, '/');
    *out = (struct pulled_database){given, NULL, given};
    if (!end || (slash && slash < end))
        return 0;
    const bool in_brackets = given[0] == '[';
    out->host = xstrndup(given + in_brackets, (size_t)(end - given) - in_brackets);
    out->path = end + 1 + in_brackets;
    if (out->host[0] && out->host[0] != '-' && out->path[0])
        return 0;
    return error_set(e, ERROR_USAGE,
                     "pull: %s: must be HOST:PATH, such as node1:sweeps/results.db, or the path of a database here",
                     given);
}

/* Returns where its job files are, as far as that can be known here; the caller's. */
static char *directory_of(const struct pulled_database *s)
{
    if (!s->host)
        return store_directory(s->path);
    return s->path[0] == '/' ? xasprintf("%s.d", s->path) : xasprintf("%s:%s.d", s->host, s->path);
}

/* --- the copy --- */

/* Returns the commands for the far side's shell: a copy as of one instant, which is written to standard output and is
 * gone then. */
static char *far_script(const char *path)
{
    struct buffer script = BUFFER_INIT, name = BUFFER_INIT;
    const bool at_home = strncmp(path, "~/", 2) == 0;
    buffer_add_text(&name, at_home ? "~/" : path[0] == '-' ? "./" : "");
    shell_add_word(&name, path + (at_home ? 2 : 0));
    buffer_printf(&script,
                  "umask 077; [ -e %s ] || { echo no such file >&2; exit 1; }; d=$(mktemp -d) || exit 1;"
                  " trap 'rm -rf \"$d\"' EXIT; trap 'exit 1' HUP INT TERM PIPE;"
                  " if command -v meshsweep >/dev/null; then meshsweep backup -d %s \"$d/copy.db\" >/dev/null;"
                  " elif command -v sqlite3 >/dev/null; then sqlite3 -readonly -bail %s \".backup '$d/copy.db'\";"
                  " else echo neither meshsweep nor sqlite3 is in PATH >&2; exit 127; fi && cat \"$d/copy.db\"",
                  buffer_text(&name), buffer_text(&name), buffer_text(&name));
    buffer_free(&name);
    return buffer_take(&script);
}

extern char **environ;

static int run_far(const struct pulled_database *s, const char *ssh, const int fds[2],
                   const struct interrupts *interrupts, int *signal_number, struct error *e)
{
    OWNED char *script = far_script(s->path), *line = xasprintf("exec %s \"$@\"", ssh);
    char *const argv[] = {(char *)"/bin/sh", (char *)"-c", line, (char *)"ssh", s->host, script, NULL};
    const struct external_command command = {.argv = argv, .environment = environ};
    int exit_code = -1;
    int rc = external_command_pour(&command, fds, &interrupts->watched, &exit_code, signal_number, e);
    if (rc == 0 && *signal_number == 0 && exit_code != 0)
        rc = error_set(e, ERROR_FAILED,
                       "pull: %s: no copy could be made there (`%s` ended with status %d); nothing was merged",
                       s->given, ssh, exit_code);
    return rc;
}

static int copy_far(const struct pulled_database *s, const char *ssh, const char *copy,
                    const struct interrupts *interrupts, int *signal_number, struct error *e)
{
    int fds[2] = {descriptor_above_standard(open(copy, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600)),
                  descriptor_above_standard(dup(STDERR_FILENO))};
    int rc = fds[0] < 0 || fds[1] < 0 ? error_errno(e, errno, "pull: %s", copy)
                                      : run_far(s, ssh, fds, interrupts, signal_number, e);
    descriptor_close(&fds[0]);
    descriptor_close(&fds[1]);
    return rc;
}

static int copy_here(const char *path, const char *copy, struct error *e)
{
    struct backup_counts counts;
    OWNED_DB *db = NULL;
    return store_open_reading(path, STORE_READ_AS_IT_IS, &db, e) < 0 ? -1 : database_backup(db, copy, &counts, e);
}

/* Brings a copy that an older version wrote up to date. */
static int upgrade_copy_of(const struct pulled_database *s, const char *copy, struct error *e)
{
    int64_t version, newest;
    OWNED_DB *db = NULL;
    int rc = store_read_versions(copy, &version, &newest, e);
    if (rc == 0 && version != newest)
        rc = session_open_store(copy, &db, e);
    return rc < 0 ? error_context(e, "pull: %s: the copy", s->given) : 0;
}

static int merge_copy(const struct pulled_database *s, const char *copy, const char *db_path,
                      struct merge_counts *counts, struct error *e)
{
    OWNED_DB *db = NULL;
    OWNED char *directory = directory_of(s);
    if (upgrade_copy_of(s, copy, e) < 0 || session_open_store(db_path, &db, e) < 0)
        return -1;
    return merge_into(db, copy, directory, counts, e);
}

/* --- pulling it --- */

/* The copy stands beside the database, since it may be as large, in a directory with what SQLite puts beside it. Until
 * it is gone, signals wait: what was copied so far is of no use to anybody. */
static int pull(const struct pulled_database *s, const struct pull_options *o, struct merge_counts *counts,
                int *signal_number, struct error *e)
{
    const char *given = o->ssh ? o->ssh : getenv("MESHSWEEP_SSH"), *ssh = given && *given ? given : "ssh";
    struct interrupts interrupts;
    OWNED char *directory = xasprintf("%s.pull-XXXXXX", o->db);
    if (!mkdtemp(directory))
        return error_errno(e, errno, "pull: cannot make a directory beside %s", o->db);
    OWNED char *copy = xasprintf("%s/copy.db", directory);
    interrupts_begin(&interrupts);
    int rc = s->host ? copy_far(s, ssh, copy, &interrupts, signal_number, e) : copy_here(s->path, copy, e);
    if (rc == 0 && *signal_number == 0)
        rc = merge_copy(s, copy, o->db, counts, e);
    file_tree_bytes(directory, true, NULL);
    interrupts_end(&interrupts);
    return rc;
}

int command_pull(const struct pull_options *o, const struct arguments *a, struct error *e)
{
    struct merge_counts counts = {0, 0};
    struct pulled_database s;
    int signal_number = 0;
    if (a->word_count != 1)
        return error_set(e, ERROR_USAGE, "pull: name one database: meshsweep pull node1:sweeps/results.db");
    int rc = read_source(a->words[0], &s, e);
    if (rc == 0 && !s.host && path_is_same(s.path, o->db))
        rc = error_set(e, ERROR_USAGE, "pull: %s is the database to merge into; name another with -d", s.path);
    if (rc == 0)
        rc = pull(&s, o, &counts, &signal_number, e);
    free(s.host);
    if (rc == 0 && signal_number)
        return STATUS_SIGNAL + signal_number;
    return rc < 0 ? -1 : merge_print(o->db, &counts, o->json, e);
}
