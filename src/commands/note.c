#include <ctype.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "cli/output.h"
#include "cli/session.h"
#include "commands/commands.h"
#include "results/job_record.h"
#include "results/views.h"
#include "store/changes.h"
#include "util/buffer.h"
#include "util/memory.h"
#include "util/parse.h"
#include "util/utf8.h"

#define TEXT_MOST 4000 /* bytes */

/* A note, and what it is of. */
struct note_target {
    struct db *db;
    int64_t job_id, attempt_id, number;
};

static int check_text(const char *what, const char *text, struct error *e)
{
    const size_t length = text ? strlen(text) : 0;
    if (!text)
        return 0;
    if (text[strspn(text, " \t")] == '\0')
        return error_set(e, ERROR_USAGE, "note: %s is empty; say it in words", what);
    if (length > TEXT_MOST)
        return error_set(e, ERROR_USAGE, "note: %s has %zu bytes; at most %d are kept", what, length, TEXT_MOST);
    for (size_t i = 0; i < length; i++)
        if (iscntrl((unsigned char)text[i]))
            return error_set(e, ERROR_USAGE, "note: %s has a control character; write it in one line", what);
    return utf8_first_invalid(text, length) < length ? error_set(e, ERROR_USAGE, "note: %s is not UTF-8", what) : 0;
}

/* "7" or "7/2". */
static int find_target(struct note_target *n, const char *word, struct error *e)
{
    const size_t length = strcspn(word, "/");
    OWNED char *job = xstrndup(word, length);
    int rc = job_named(n->db, job, &n->job_id, e);
    if (rc < 0 || !word[length])
        return rc;
    if (!parse_int64(word + length + 1, &n->number) || n->number < 1)
        return error_set(e, ERROR_USAGE, "%s: what follows the / must be the number of an attempt, as in 7/2", word);
    rc = db_query_int(n->db, "SELECT id FROM attempt WHERE job_id = ? AND number = ?",
                      VALUES(sql_int(n->job_id), sql_int(n->number)), 0, &n->attempt_id, e);
    if (rc == 0 && n->attempt_id == 0)
        return error_set(e, ERROR_NOTHING,
                         "job %" PRId64 " has no attempt %" PRId64 "; `meshsweep show %" PRId64 "` lists them",
                         n->job_id, n->number, n->job_id);
    return rc;
}

/* Counts in the job's attempts, or in the one; these are ?1 and ?2 in `sql`. */
static int count(const struct note_target *n, const char *sql, int64_t attempt_id, int64_t *out, struct error *e)
{
    return db_query_int(n->db, sql, VALUES(sql_int(n->job_id), sql_positive(attempt_id)), 0, out, e);
}

static const char excluded_sql[] =
    "SELECT count(*) FROM excluded_attempt WHERE job_id = ?1 AND attempt_id = ifnull(?2, attempt_id)";

/* Fails unless there is something to exclude, or to take back. */
static int check_target(const struct note_target *n, const struct note_options *o, struct error *e)
{
    int64_t attempts, excluded;
    if (count(n, "SELECT count(*) FROM attempt WHERE job_id = ?1 AND kind = 'trial' AND id = ifnull(?2, id)",
              n->attempt_id, &attempts, e) < 0 ||
        count(n, excluded_sql, n->attempt_id, &excluded, e) < 0)
        return -1;
    if (o->exclude && attempts == 0)
        return error_set(e, ERROR_NOTHING,
                         "job %" PRId64 " has no result to exclude; a rule excludes what is not to run", n->job_id);
    if (o->include && excluded == 0)
        return error_set(e, ERROR_NOTHING,
                         "job %" PRId64 " is not excluded; `meshsweep show %" PRId64 "` lists what is", n->job_id,
                         n->job_id);
    return 0;
}

static int record(const struct note_target *n, const char *kind, const char *text, struct error *e)
{
    const struct note_row row = {n->job_id, n->attempt_id, kind, text};
    return note_record(n->db, &row, e);
}

static int record_all(const struct note_target *n, const struct note_options *o, const char *text, struct error *e)
{
    if ((text && record(n, "note", text, e) < 0) || (o->tag && record(n, "tag", o->tag, e) < 0) ||
        (o->exclude && record(n, "exclude", o->exclude, e) < 0) || (o->include && record(n, "include", NULL, e) < 0))
        return -1;
    return result_views_refresh(n->db, e);
}

static int say(const struct note_target *n, const struct note_options *o, struct error *e)
{
    OWNED_BUFFER out = BUFFER_INIT;
    int64_t counted, excluded;
    if (count(n, "SELECT count(*) FROM counted_attempt WHERE job_id = ?1 AND id = ifnull(?2, id)", 0, &counted, e) <
            0 ||
        count(n, excluded_sql, 0, &excluded, e) < 0)
        return -1;
    buffer_printf(&out, "job %" PRId64, n->job_id);
    if (n->number)
        buffer_printf(&out, " attempt %" PRId64, n->number);
    buffer_add_text(&out, o->exclude ? ": excluded" : o->include ? ": included" : o->tag ? ": tagged" : ": noted");
    if ((o->exclude || o->include) && counted) {
        buffer_add_text(&out, "; its values come from ");
        buffer_add_count(&out, counted, "attempt");
    } else if (o->exclude && excluded) {
        buffer_add_text(&out, "; it has no value");
    }
    buffer_add_char(&out, '\n');
    return output_people(&out, e);
}

int command_note(const struct note_options *o, const struct arguments *a, struct error *e)
{
    OWNED_BUFFER text = BUFFER_INIT;
    OWNED_DB *db = NULL;
    for (size_t i = 1; i < a->word_count; i++)
        buffer_printf(&text, "%s%s", i > 1 ? " " : "", a->words[i]);
    const char *said = a->word_count > 1 ? buffer_text(&text) : NULL;
    if (a->word_count == 0)
        return error_set(e, ERROR_USAGE,
                         "note: name a job by its number, or by the beginning of its key, or an attempt of it "
                         "(7/2); meshsweep results lists them");
    if (!said && !o->exclude && !o->include && !o->tag)
        return error_set(e, ERROR_USAGE,
                         "note: say what: meshsweep note %s TEXT, or --exclude REASON, --include, --tag TAG",
                         a->words[0]);
    if (o->exclude && o->include)
        return error_set(e, ERROR_USAGE, "note: --exclude and --include contradict each other; give one");
    if (!store_exists(o->db))
        return error_set(e, ERROR_FAILED, "database %s: it does not exist yet; `meshsweep run` creates it", o->db);
    if (check_text("the text", said, e) < 0 || check_text("--exclude", o->exclude, e) < 0 ||
        check_text("--tag", o->tag, e) < 0 || session_open_store(o->db, &db, e) < 0 || db_begin(db, e) < 0)
        return -1;
    struct note_target n = {.db = db};
    const bool is_target = find_target(&n, a->words[0], e) == 0 && check_target(&n, o, e) == 0;
    return db_end(db, is_target ? record_all(&n, o, said, e) : -1, e) < 0 ? -1 : say(&n, o, e);
}
