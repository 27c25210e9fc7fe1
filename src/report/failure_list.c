#include "report/failure_list.h"

#include <math.h>
#include <string.h>

#include "report/text.h"
#include "results/json.h"

static void add_line(const struct failure_list *list, const char *text, size_t taken, struct buffer *out)
{
    size_t limit = list->columns > taken + 20 ? list->columns - taken : list->columns ? 20 : TEXT_LINE_COLUMNS;
    text_add_printable(out, text, strlen(text), limit, list->ascii);
}

static void add_matches(const struct failure_list *list, const struct cause_matches *m, size_t indent,
                        struct buffer *out)
{
    for (size_t i = 0; i < m->count; i++) {
        struct buffer said = BUFFER_INIT;
        cause_match_describe(m, &m->items[i], &said);
        buffer_printf(out, "%*s", (int)indent, "");
        add_line(list, said.data, indent, out);
        buffer_add_char(out, '\n');
        buffer_free(&said);
    }
}

static void add_cause(const struct failure_list *list, const struct failure_cause *c, int digits, struct buffer *out)
{
    size_t start = out->length;
    buffer_printf(out, "  %*lld x ", digits, (long long)c->jobs);
    text_add_styled(out, STYLE_RED, c->class);
    buffer_printf(out, ", as job %lld%s", (long long)c->example_job, c->message[0] ? ": " : "");
    add_line(list, c->message, out->length - start, out);
    buffer_add_char(out, '\n');
    add_matches(list, &c->matches, (size_t)digits + 5, out);
}

void failure_list_add(const struct failure_list *list, struct buffer *out)
{
    const struct failure_causes *causes = list->causes;
    if (causes->count && list->failed > list->looked_at)
        buffer_printf(out, "\nfailures, of the newest %lld\n", (long long)list->looked_at);
    else if (causes->count)
        buffer_add_text(out, "\nfailures\n");
    for (size_t i = 0; i < causes->count && i < FAILURE_LIST_MOST; i++) /* the first is the most frequent */
        add_cause(list, &causes->items[i], text_digits(causes->items[0].jobs), out);
    if (causes->count > FAILURE_LIST_MOST)
        buffer_printf(out, "  and %zu%s other kinds\n", causes->count - FAILURE_LIST_MOST,
                      causes->others ? " and more" : "");
}

/* --- as JSON --- */

static cJSON *term_json(const struct cause_term *t)
{
    cJSON *item = cJSON_CreateObject();
    cJSON_AddStringToObject(item, "name", t->key);
    cJSON_AddStringToObject(item, "relation", cause_relation_signs[t->relation]);
    cJSON_AddItemToObject(item, "term_value",
                          isfinite(t->number) ? cJSON_CreateNumber(t->number) : cJSON_CreateString(t->value));
    return item;
}

static cJSON *matches_json(const struct cause_matches *m)
{
    cJSON *list = cJSON_CreateArray();
    for (size_t i = 0; i < m->count; i++) {
        cJSON *item = cJSON_CreateObject(), *terms = cJSON_AddArrayToObject(item, "terms");
        for (size_t t = 0; t < m->items[i].term_count; t++)
            cJSON_AddItemToArray(terms, term_json(&m->items[i].terms[t]));
        cJSON_AddNumberToObject(item, "jobs", (double)m->items[i].jobs);
        cJSON_AddNumberToObject(item, "ended_jobs", (double)m->items[i].ended);
        cJSON_AddItemToArray(list, item);
    }
    return list;
}

cJSON *failure_list_json(const struct failure_causes *causes)
{
    cJSON *list = cJSON_CreateArray();
    for (size_t i = 0; i < causes->count && i < FAILURE_LIST_MOST; i++) {
        const struct failure_cause *c = &causes->items[i];
        cJSON *item = cJSON_CreateObject(), *compared = cJSON_CreateObject();
        cJSON_AddStringToObject(item, "class", c->class);
        json_add_text(item, "message", c->message);
        json_add_text(item, "consequence", c->consequence);
        json_add_text(item, "cause", c->cause);
        cJSON_AddNumberToObject(item, "jobs", (double)c->jobs);
        cJSON_AddNumberToObject(item, "example_job", (double)c->example_job);
        cJSON_AddItemToObject(item, "where", matches_json(&c->matches));
        cJSON_AddNumberToObject(compared, "jobs", (double)c->matches.jobs);
        cJSON_AddNumberToObject(compared, "ended_jobs", (double)c->matches.ended);
        cJSON_AddItemToObject(item, "compared", compared);
        cJSON_AddItemToArray(list, item);
    }
    return list;
}
