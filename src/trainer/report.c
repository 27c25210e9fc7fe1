#include "trainer/report.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

int report_open(struct report *report, const char *metrics_path, struct error *e)
{
    report->metrics = NULL;
    report->step_seconds = calloc((size_t)report->steps, sizeof *report->step_seconds);
    if (!report->step_seconds)
        return error_set(e, STATUS_FAILED, "no host memory for %d step times", report->steps);
    if (metrics_path && !(report->metrics = fopen(metrics_path, "ae"))) {
        report_close(report);
        return error_set(e, STATUS_FAILED, "--metrics %s: %s", metrics_path, strerror(errno));
    }
    return 0;
}

void report_close(struct report *report)
{
    if (report->metrics)
        fclose(report->metrics);
    free(report->step_seconds);
    report->metrics = NULL;
    report->step_seconds = NULL;
}

/* Flushes at once, because somebody may be following the output. */
static int flush(struct report *report, struct error *e)
{
    if (fflush(stdout) != 0 || ferror(stdout))
        return error_set(e, STATUS_FAILED, "standard output: %s", strerror(errno));
    if (report->metrics && (fflush(report->metrics) != 0 || ferror(report->metrics)))
        return error_set(e, STATUS_FAILED, "the metrics file: %s", strerror(errno));
    return 0;
}

int report_step(struct report *report, const struct report_step *step, struct error *e)
{
    double samples_per_second = report->samples_per_step / step->seconds;

    if (!isfinite(step->loss))
        return error_set(e, STATUS_FAILED, "the loss of step %d is not finite; a lower --lr may help", step->step);
    report->step_seconds[step->step - 1] = step->seconds;
    printf("step %d loss %.4f step_time %.6f s samples/s %.1f\n", step->step, step->loss, step->seconds,
           samples_per_second);
    if (report->metrics)
        fprintf(report->metrics, "{\"step\": %d, \"loss\": %.9g, \"step_time\": %.9g, \"throughput\": %.9g}\n",
                step->step, step->loss, step->seconds, samples_per_second);
    return flush(report, e);
}

static int compare_doubles(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

static double median_seconds(struct report *report)
{
    double *measured = report->step_seconds + report->warmup_steps;
    int count = report->steps - report->warmup_steps;

    qsort(measured, (size_t)count, sizeof *measured, compare_doubles);
    return (measured[(count - 1) / 2] + measured[count / 2]) / 2;
}

static void write_summary_metrics(FILE *metrics, const struct report_summary *summary)
{
    fprintf(metrics, "{\"parameters\": %" PRIu64 ", \"peak_memory_bytes\": %" PRIu64, summary->parameters,
            summary->peak_bytes);
    for (int i = 0; i < DEVICE_USES; i++)
        fprintf(metrics, ", \"peak_memory_%s_bytes\": %" PRIu64, device_use_name((enum device_use)i),
                summary->peak_by[i]);
    fputs("}\n", metrics);
}

int report_summary(struct report *report, const struct report_summary *summary, struct error *e)
{
    double seconds = median_seconds(report);
    double throughput = report->samples_per_step / seconds;

    printf("parameters %" PRIu64 "\n", summary->parameters);
    printf("step_time %.6f s\nthroughput %.1f samples/s\n", seconds, throughput);
    printf("tokens/s %.1f\npeak_memory_bytes %" PRIu64 "\n", throughput * report->tokens_per_sample,
           summary->peak_bytes);
    for (int i = 0; i < DEVICE_USES; i++)
        printf("peak_memory_%s_bytes %" PRIu64 "\n", device_use_name((enum device_use)i), summary->peak_by[i]);
    if (report->metrics)
        write_summary_metrics(report->metrics, summary);
    return flush(report, e);
}
