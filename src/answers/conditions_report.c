#include "answers/conditions_report.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

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

void conditions_add_nearest(const cJSON *document, const cJSON *beside, struct buffer *out)
{
    const cJSON *nearest = conditions_nearest(document, beside);
    const double value = json_real_of(nearest, "value"), bound = json_real_of(nearest, "bound");
    if (!nearest)
        return;
    const char *note = cJSON_GetStringValue(
        cJSON_GetArrayItem(cJSON_GetObjectItemCaseSensitive(beside, "notes"), (int)json_count_of(beside, "nearest")));
    buffer_printf(out, "no job meets all conditions of [sweep] subject_to; the nearest is job %lld: %s",
                  (long long)json_count_of(nearest, "job"), json_text_of(nearest, "condition"));
    if (note) {
        buffer_printf(out, " unknown: %s", note);
        return;
    }
    buffer_add_text(out, " is missed");
    add_excess(json_real_of(beside, "excess"), value > bound, out);
    if (!isnan(value) && !isnan(bound))
        buffer_printf(out, " (%.6g, the bound is %.6g)", value, bound);
}
