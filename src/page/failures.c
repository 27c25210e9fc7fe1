/* Failures by cause. */
#include <string.h>

#include "page/sections.h"
#include "results/failure_causes.h"
#include "util/utf8.h"

#define CAUSES_SHOWN 40
#define LOG_LINES 30
#define LOG_BYTES 6000

/* The last lines of a text. */
static const char *last_lines(const char *text, int lines)
{
    size_t length = strlen(text);
    const char *begin = text + (length > LOG_BYTES ? utf8_cut(text, length, length - LOG_BYTES) : 0);
    for (const char *c = text + length; c > begin; c--)
        if (c[-1] == '\n' && c != text + length && --lines == 0)
            return c;
    return begin;
}

static int add_log(struct html_page *p, int64_t job, struct error *e)
{
    OWNED_STMT *s = NULL;
    int rc = db_next(p->db,
                     "SELECT log_tail FROM attempt WHERE id = (SELECT attempt_id FROM job WHERE id = ?1)"
                     " AND log_tail <> ''",
                     VALUES(sql_int(job)), &s, e);
    if (rc > 0) {
        buffer_printf(&p->out, "<details><summary>The end of the output of job %lld</summary><pre tabindex=0>",
                      (long long)job);
        html_add_lines(&p->out, last_lines(stmt_text(s, 0), LOG_LINES), HTML_TEXT_MOST);
        buffer_add_text(&p->out, "</pre></details>\n");
    }
    return rc < 0 ? -1 : 0;
}

static int add_cause(struct html_page *p, const cJSON *cause, const cJSON *words, struct error *e)
{
    const long long job = json_count_of(cause, "example_job");
    const char *class = json_text_of(cause, "class"), *consequence = json_text_of(cause, "consequence");
    const cJSON *said;
    buffer_printf(&p->out, "<li><p><b><i class=\"x-%s\"></i> ", class);
    buffer_add_count(&p->out, json_count_of(cause, "jobs"), "job");
    buffer_printf(&p->out, "</b> %s, as <a href=\"#j%lld\">job %lld</a>: <code>", class, job, job);
    html_text(&p->out, "", json_text_or(cause, "message", "(no message)"), "</code>");
    if (consequence)
        html_text(&p->out, "; then: <code>", consequence, "</code>");
    buffer_add_text(&p->out, "</p>\n");
    cJSON_ArrayForEach(said, words)
        html_text(&p->out, said == words->child ? "<p class=where><b>" : "; <b>", said->valuestring, "</b>");
    if (words->child)
        buffer_add_text(&p->out, "</p>\n");
    return add_log(p, job, e);
}

int html_failures(struct html_page *p, struct error *e)
{
    struct failure_causes causes;
    int rc = 0;
    if (failure_causes_read(p->db, p->data->sweep_id, 0, &causes, e) < 0)
        return -1;
    const int count = cJSON_GetArraySize(causes.list);
    if (count == 0)
        html_add_none(&p->out, "No job failed.");
    else
        buffer_add_text(&p->out, "<p class=note>Failures whose messages differ only in numbers, ranks, times, "
                                 "addresses and the like count as one cause. Key values are named if the cause is more "
                                 "frequent with them than chance explains, among the jobs that ended.</p>\n<ol "
                                 "class=causes>\n");
    for (int i = 0; rc == 0 && i < count && i < CAUSES_SHOWN; i++)
        rc = add_cause(p, cJSON_GetArrayItem(causes.list, i), cJSON_GetArrayItem(causes.words, i), e);
    if (count)
        buffer_add_text(&p->out, "</ol>\n");
    if (count > CAUSES_SHOWN || causes.others)
        html_add_none(&p->out,
                      "There are further causes; meshsweep status and sql/queries/failures_grouped.sql list them.");
    failure_causes_free(&causes);
    return rc;
}
