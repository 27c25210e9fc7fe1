/* Fuzzing: any bytes as a job's output and as its metrics file, through every kind of reader. */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <unistd.h>

#include "metrics/classify.h"
#include "metrics/reading.h"
#include "process/job_file.h"

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
    const struct job_config job = {.metrics = metrics, .metric_count = sizeof metrics / sizeof *metrics};
    if (!set && reader_set_create(&job, &set, &e) < 0)
        abort();
    return set;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct sample_list samples = SAMPLE_LIST_INIT;
    char path[] = "/dev/shm/meshsweep-fuzz-XXXXXX"; /* no link, as those of /proc/self/fd are */
    int fd = mkstemp(path);
    if (fd < 0 || write(fd, data, size) != (ssize_t)size)
        abort();
    readers_read(the_readers(), path, path, NULL, &samples);
    struct output_reading *reading = output_reading_create(the_readers());
    do
        output_reading_attach(reading, job_file_open(path));
    while (output_reading_follow(reading, NULL, 1000));
    output_reading_free(reading);
    for (size_t i = 0; i < samples.name_count; i++)
        sample_list_summarise(&samples, i, TAKE_MEDIAN);
    sample_list_free(&samples);
    free(log_tail(path, 4096));
    close(fd);
    unlink(path);
    return 0;
}
