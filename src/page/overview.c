/* The overview: what was swept and how it ended. */
#include "page/sections.h"
#include "report/hint.h"
#include "results/status.h"
#include "util/memory.h"

/* "Search by random: 5 trials, 5 ok, 0 stopped early, 0 failed. It ended: max_trials: 5 trials were made." */
void html_add_search(struct buffer *out, const struct cJSON *search, long long pending, const char *file,
                     const char *database)
{
    static const char *const names[] = {"ok", "stopped_early", "failed"}, *const titles[] = {"ok", "stopped early",
                                                                                             "failed"};
    const char *ended = json_text_of(search, "why_it_ended");
    const int64_t trials = json_count_of(search, "trials_made");
    int64_t open = trials, to_come = json_count_of(search, "trials_to_come");
    if (!search)
        return;
    html_name(out, "Search by ", json_text_of(search, "strategy"), ": ");
    buffer_add_count(out, trials, "trial");
    for (size_t i = 0; i < LENGTH(names); i++) {
        buffer_printf(out, ", %lld %s", (long long)json_count_of(search, names[i]), titles[i]);
        open -= json_count_of(search, names[i]);
    }
    if (open > 0)
        buffer_printf(out, ", %lld open", (long long)open);
    buffer_add_text(out, ". ");
    if (ended) {
        html_text(out, "It ended: ", ended, ".");
        if (pending > 0) {
            OWNED_BUFFER command = BUFFER_INIT;
            buffer_add_char(out, ' ');
            buffer_add_count(out, pending, "pending job");
            buffer_add_text(out, " will not run: <code>");
            hint_add_rest_of_search(&command, json_text_of(search, "lifting"), file, database);
            html_text(out, "", buffer_text(&command), "</code> " HINT_REST_OF_SEARCH ".");
        }
    } else if (to_come >= 0) {
        buffer_printf(out, "At most %lld more to come, of %lld pending.",
                      to_come < pending ? (long long)to_come : pending, pending);
    }
}

int html_overview(struct html_page *p, struct error *e)
{
    const struct html_data *d = p->data;
    OWNED_JSON *search = NULL;
    if (html_add_document(&p->out, p->db, "sought", VALUES(sql_text(d->file)), e) < 0 ||
        status_search_read(p->db, d->sweep_id, &search, e) < 0)
        return -1;
    if (search) {
        buffer_add_text(&p->out, "<p id=search>");
        html_add_search(&p->out, search, d->counts[HTML_PENDING], d->file, p->database);
        buffer_add_text(&p->out, "</p>\n");
    }
    const bool ended = json_text_of(search, "why_it_ended");
    return html_add_document(&p->out, p->db, "cards", VALUES(sql_int(ended)), e) < 0
               ? -1
               : html_add_document(&p->out, p->db, "remarks", NO_VALUES, e);
}
