#include "answers/conditions_report.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "report/text.h"

/* Returns why a condition cannot be judged for its job; NULL: it can. */
static const char *note_of(const struct conditions *c, const cJSON *condition)
{
    const cJSON *note = cJSON_GetObjectItemCaseSensitive(c->beside, "notes")->child;
    for (const cJSON *i = c->list->child; i != condition; i = i->next)
        note = note->next;
    return cJSON_GetStringValue(note);
}

static void add_first(const struct conditions *c, const cJSON *condition, struct buffer *out)
{
    const int64_t better = json_count_of(condition, "better_jobs");
    const double value = json_real_of(condition, "value"), bound = json_real_of(condition, "bound");
    buffer_printf(out, "excludes %lld better job%s", (long long)better, better == 1 ? "" : "s");
    buffer_printf(out, ", the best of them job %lld with ", (long long)json_count_of(condition, "job"));
    text_add_rounded(out, json_real_of(condition, "objective_value"));
    if (note_of(c, condition)) {
        buffer_printf(out, " (unknown: %s)", note_of(c, condition));
    } else if (!isnan(value) && !isnan(bound)) {
        buffer_add_text(out, " (");
        text_add_rounded(out, value);
        buffer_add_text(out, ", the bound is ");
        text_add_rounded(out, bound);
        buffer_add_char(out, ')');
    }
}

void conditions_add_text(const struct conditions *c, struct buffer *out)
{
    const cJSON *item;
    if (c->list && c->list->child)
        buffer_add_text(out, "\nsubject to\n");
    cJSON_ArrayForEach(item, c->list)
    {
        buffer_add_text(out, "  ");
        text_add_line(out, json_text_of(item, "condition"));
        if (json_count_of(item, "better_jobs") > 0) {
            buffer_add_text(out, ": binds, ");
            add_first(c, item, out);
        } else {
            buffer_printf(out, ": not binding, %s",
                          json_count_of(item, "broken") ? "the jobs that do not meet it are no better"
                                                        : "every job meets it");
        }
        buffer_add_char(out, '\n');
    }
    if (c->unranked.jobs + c->unranked.excluded > 0)
        buffer_add_char(out, '\n');
    unranked_add_text(&c->unranked, out);
}

void conditions_add_binding(const struct conditions *c, struct buffer *out)
{
    const cJSON *item;
    cJSON_ArrayForEach(item, c->list)
    {
        const int64_t better = json_count_of(item, "better_jobs");
        if (better == 0)
            continue;
        buffer_add_text(out, "bound by ");
        text_add_line(out, json_text_of(item, "condition"));
        buffer_printf(out, ", which excludes %lld better job%s (see meshsweep best)\n", (long long)better,
                      better == 1 ? "" : "s");
    }
    unranked_add_text(&c->unranked, out);
}

/* 9,800: to two digits, with a comma every three. */
static void add_times(double times, struct buffer *out)
{
    double digit = pow(10, floor(log10(times)) - 1);
    char text[400];
    snprintf(text, sizeof text, "%.*f", digit < 1 ? 1 : 0, digit * round(times / digit));
    const size_t whole = strcspn(text, ".");
    for (size_t i = 0; text[i]; i++)
        buffer_printf(out, "%s%c", i > 0 && i < whole && (whole - i) % 3 == 0 ? "," : "", text[i]);
}

/* By a share where it is missed by less than as much again, else in times. */
static void add_excess(double excess, bool is_over, struct buffer *out)
{
    if (isnan(excess))
        return;
    if (excess < 1) {
        buffer_printf(out, excess < 0.1 ? " by %.2g %%" : " by %.0f %%", 100 * excess);
        return;
    }
    buffer_add_text(out, is_over ? ": " : ": the bound is ");
    add_times(1 + excess, out);
    buffer_add_text(out, is_over ? " times the bound" : " times as much");
}

void conditions_add_nearest(const struct conditions *c, struct buffer *out)
{
    const double value = json_real_of(c->nearest, "value"), bound = json_real_of(c->nearest, "bound");
    buffer_printf(out, "no job meets all conditions of [sweep] subject_to; the nearest is job %lld: %s",
                  (long long)json_count_of(c->nearest, "job"), json_text_of(c->nearest, "condition"));
    if (note_of(c, c->nearest)) {
        buffer_printf(out, " unknown: %s", note_of(c, c->nearest));
        return;
    }
    buffer_add_text(out, " is missed");
    add_excess(json_real_of(c->beside, "excess"), value > bound, out);
    if (!isnan(value) && !isnan(bound))
        buffer_printf(out, " (%.6g, the bound is %.6g)", value, bound);
}
