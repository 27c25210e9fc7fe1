/* Fuzzing: any bytes as a job's output and as its metrics file, through every kind of reader. */
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "run/classify.h"
#include "run/readers.h"

static struct reader_set *the_readers(void)
{
    static struct metric metrics[] = {
        {.name = (char *)"r", .reader = READER_REGEX, .pattern = (char *)"score: ([0-9.eE+-]+)", .unit = (char *)""},
        {.name = (char *)"j", .reader = READER_JSON, .path = (char *)"a.0.b", .unit = (char *)""},
        {.name = (char *)"l", .reader = READER_JSONL, .path = (char *)"loss", .unit = (char *)""},
        {.name = (char *)"f", .reader = READER_FILE, .unit = (char *)""},
    };
    static struct reader_set *set;
    struct error e = ERROR_INIT;
    if (!set && reader_set_create(metrics, sizeof metrics / sizeof *metrics, &set, &e) < 0)
        abort();
    return set;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct sample_list samples = SAMPLE_LIST_INIT;
    char path[64];
    int fd = memfd_create("fuzz", 0);
    if (fd < 0 || write(fd, data, size) != (ssize_t)size)
        abort();
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    readers_read(the_readers(), path, path, NULL, &samples);
    readers_any(the_readers(), path);
    if (samples.count > 0) {
        double *values = malloc(samples.count * sizeof *values);
        for (size_t i = 0; i < samples.count; i++)
            values[i] = samples.samples[i].value;
        summarise(values, samples.count, 1, TAKE_MEDIAN);
        free(values);
    }
    sample_list_free(&samples);
    free(log_tail(path, 4096));
    close(fd);
    return 0;
}
