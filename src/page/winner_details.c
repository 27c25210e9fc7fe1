/* Details of a winner: its lead, its keys and its command. */
#include <stdlib.h>

#include "page/sections.h"
#include "page/text.h"
#include "report/job_command.h"
#include "results/contenders.h"

/* With groups, only the keys that vary, since there are many winners. */
static void add_winner_keys(struct html_page *p, size_t row)
{
    const struct html_data *d = p->data;
    buffer_add_text(&p->out, "<dl class=keys>");
    for (size_t i = 0; i < d->column_count; i++) {
        const struct html_column *c = &d->columns[i];
        if (c->role != HTML_KEY || !c->values[row].text || (d->best < 0 && !html_column_varies(c)))
            continue;
        buffer_printf(&p->out, "<div%s><dt>", html_column_varies(c) ? " class=varies" : "");
        html_name(&p->out, "", c->title, "</dt><dd>");
        html_add_key_value(&p->out, c, c->values[row].text);
        buffer_add_text(&p->out, "</dd></div>\n");
    }
    buffer_add_text(&p->out, "</dl>\n");
}

static void add_command(struct html_page *p, int64_t job, const struct job_launch *l)
{
    char *line = l->command[0] ? job_command_line(l, false) : NULL, *redacted = job_command_redacted(l);
    if (line) {
        buffer_printf(&p->out, "<p>To run it again:</p>\n<div class=command><pre id=command%lld tabindex=0>",
                      (long long)job);
        html_add_lines(&p->out, line, 0);
        buffer_printf(&p->out, "</pre><button type=button data-copy=command%lld hidden>copy</button></div>\n",
                      (long long)job);
    }
    if (l->measured_elsewhere) {
        html_text(&p->out, "<p class=note>It has no command, because it was measured elsewhere (",
                  l->measured_elsewhere, ").</p>\n");
    }
    if (redacted[0]) {
        html_text(&p->out, "<p class=note>Secrets are left out; fill them in before you run it: ", redacted, "</p>\n");
    }
    free(line);
    free(redacted);
}

int html_add_winner_details(struct html_page *p, size_t row, const struct lead *l, struct error *e)
{
    const int64_t job = p->data->jobs[row].id;
    struct job_launch launch;
    if (html_add_lead(p, row, l, e) < 0 || job_launch_read(p->db, job, &launch, e) < 0)
        return -1;
    add_winner_keys(p, row);
    job_command_train(&launch);
    add_command(p, job, &launch);
    job_launch_free(&launch);
    return 0;
}
