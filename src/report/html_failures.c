/* What failed, grouped by cause, and what was excluded, by rule. */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "report/html_page.h"
#include "report/html_text.h"
#include "util/memory.h"

#define GROUPS_MOST 40
#define LOG_LINES 30
#define LOG_BYTES 6000

struct group {
    char *class, *cause; /* the message with its numbers as # */
    char *message;       /* of the example */
    int64_t jobs, example, attempt;
};

struct groups {
    struct group *items;
    size_t count;
    int64_t others; /* jobs of further groups */
};

/* Messages that differ in numbers only have one cause. The caller's. */
static char *cause_of(const char *message)
{
    struct buffer b = BUFFER_INIT;
    for (const char *c = message; *c && b.length < 1000;) {
        if (!isdigit((unsigned char)*c)) {
            buffer_add_char(&b, *c++);
            continue;
        }
        while (isdigit((unsigned char)*c) || (*c == '.' && isdigit((unsigned char)c[1])))
            c++;
        buffer_add_char(&b, '#');
    }
    return buffer_take(&b);
}

static void count_failure(struct groups *g, const struct stmt *row)
{
    const char *class = stmt_text(row, 0), *message = stmt_text(row, 1);
    char *cause = cause_of(message);
    size_t i = 0;
    while (i < g->count && (strcmp(g->items[i].class, class) != 0 || strcmp(g->items[i].cause, cause) != 0))
        i++;
    if (i < g->count) {
        g->items[i].jobs++;
    } else if (g->count < 10 * GROUPS_MOST) {
        g->items = array_grow(g->items, g->count, sizeof *g->items);
        g->items[g->count++] = (struct group){xstrdup(class), cause,           xstrdup(message), 1,
                                              stmt_int(row, 2), stmt_int(row, 3)};
        return;
    } else {
        g->others++;
    }
    free(cause);
}

static int by_size(const void *a, const void *b)
{
    const struct group *x = a, *y = b;
    if (x->jobs != y->jobs)
        return (x->jobs < y->jobs) - (x->jobs > y->jobs);
    return (x->example > y->example) - (x->example < y->example);
}

static int read_groups(struct html_page *p, struct groups *g, struct error *e)
{
    struct stmt *s = NULL;
    int rc;
    if (db_prepare(p->db, "SELECT j.failure, substr(coalesce(a.message, ''), 1, 2000), j.id, coalesce(a.id, 0) FROM job AS j"
                          " LEFT JOIN attempt AS a ON a.id = j.attempt_id WHERE j.sweep_id = ?1 AND j.state = 'failed'"
                          " ORDER BY j.id", &s, e) < 0)
        return -1;
    stmt_bind_int(s, 1, p->data->sweep_id);
    while ((rc = stmt_next(s, e)) > 0)
        count_failure(g, s);
    stmt_free(s);
    if (g->count)
        qsort(g->items, g->count, sizeof *g->items, by_size);
    return rc;
}

/* The last lines of a text. */
static const char *last_lines(const char *text, int lines)
{
    size_t length = strlen(text);
    const char *begin = text + (length > LOG_BYTES ? length - LOG_BYTES : 0);
    for (const char *c = text + length; c > begin; c--)
        if (c[-1] == '\n' && c != text + length && --lines == 0)
            return c;
    return begin;
}

static int add_log(struct html_page *p, const struct group *g, struct error *e)
{
    struct stmt *s = NULL;
    if (db_prepare(p->db, "SELECT log_tail FROM attempt WHERE id = ?1 AND log_tail <> ''", &s, e) < 0)
        return -1;
    stmt_bind_int(s, 1, g->attempt);
    int rc = stmt_next(s, e);
    if (rc > 0) {
        buffer_printf(&p->out, "<details><summary>The end of the output of job %lld</summary><pre tabindex=0>",
                      (long long)g->example);
        html_add_lines(&p->out, last_lines(stmt_text(s, 0), LOG_LINES), HTML_TEXT_MOST);
        buffer_add_text(&p->out, "</pre></details>\n");
    }
    stmt_free(s);
    return rc < 0 ? -1 : 0;
}

static int add_group(struct html_page *p, const struct group *g, struct error *e)
{
    buffer_printf(&p->out, "<li><p><b><i class=\"x-%s\"></i> ", g->class);
    html_add_count(&p->out, (long long)g->jobs, "job");
    buffer_printf(&p->out, "</b> %s, as <a href=\"#j%lld\">job %lld</a>: <code>", g->class, (long long)g->example,
                  (long long)g->example);
    html_add(&p->out, g->message[0] ? g->message : "(no message)", HTML_TEXT_MOST);
    buffer_add_text(&p->out, "</code></p>\n");
    return add_log(p, g, e);
}

int html_failures(struct html_page *p, struct error *e)
{
    struct groups g = {NULL, 0, 0};
    int rc = read_groups(p, &g, e);
    if (rc == 0 && g.count == 0)
        html_add_none(&p->out, "No job failed.");
    if (rc == 0 && g.count)
        buffer_add_text(&p->out, "<p class=note>Failures whose messages differ in numbers only are one cause.</p>\n<ol "
                                 "class=causes>\n");
    for (size_t i = 0; rc == 0 && i < g.count && i < GROUPS_MOST; i++)
        rc = add_group(p, &g.items[i], e);
    if (g.count)
        buffer_add_text(&p->out, "</ol>\n");
    if (g.count > GROUPS_MOST || g.others)
        html_add_none(&p->out, "There are further causes; meshsweep status and sql/queries/failures_grouped.sql have them.");
    for (size_t i = 0; i < g.count; i++) {
        free(g.items[i].class);
        free(g.items[i].cause);
        free(g.items[i].message);
    }
    free(g.items);
    return rc;
}

/* --- excluded combinations --- */

static void add_rule(struct html_page *p, const struct stmt *s)
{
    buffer_add_text(&p->out, "<tr><th scope=row>");
    html_add(&p->out, stmt_text(s, 0), HTML_NAME_MOST);
    if (strcmp(stmt_text(s, 1), "warn") == 0)
        buffer_add_text(&p->out, " (only a warning)");
    buffer_printf(&p->out, "<td class=n>%lld<td class=n>", (long long)stmt_int(s, 2));
    if (!stmt_is_null(s, 3))
        buffer_printf(&p->out, "%lld", (long long)stmt_int(s, 3));
    for (int i = 4; i < 7; i++) {
        buffer_add_text(&p->out, "<td>");
        html_add(&p->out, stmt_text(s, i), HTML_TEXT_MOST);
    }
    buffer_add_char(&p->out, '\n');
}

int html_excluded(struct html_page *p, struct error *e)
{
    struct stmt *s = NULL;
    size_t rows = 0;
    int rc;
    if (db_prepare(p->db, "SELECT rule, level, excluded, alone, reason, source, example FROM excluded WHERE excluded > 0"
                          " ORDER BY excluded DESC LIMIT 500", &s, e) < 0)
        return -1;
    while ((rc = stmt_next(s, e)) > 0) {
        if (rows++ == 0)
            buffer_add_text(&p->out, "<div class=scroll tabindex=0><table class=plain><thead><tr><th scope=col>rule<th "
                                     "scope=col>excluded<th scope=col>false for<th scope=col>reason<th scope=col>source<th "
                                     "scope=col>for example</thead><tbody>\n");
        add_rule(p, s);
    }
    stmt_free(s);
    if (rows)
        buffer_add_text(&p->out, "</tbody></table></div>\n<p class=note>\"Excluded\" counts a combination at the first rule that it "
                                 "breaks, \"false for\" at each.</p>\n");
    else if (rc == 0)
        html_add_none(&p->out, "No rule excluded a combination.");
    return rc;
}
