/* Fuzzing: any text as what Slurm prints, as a job's report of itself, as a hostfile and as names of devices. */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "batch/state.h"
#include "batch/steps.h"
#include "batch/system.h"
#include "device/devices.h"
#include "device/hostfile.h"
#include "util/memory.h"

static void look(void *context, const struct batch_entry *entry)
{
    size_t *bytes = context;
    *bytes += strlen(entry->reason) + strlen(entry->nodes) + strlen(entry->comment);
}

static void read_hosts(const char *text)
{
    struct host_list hosts = {0};
    struct error e = ERROR_INIT;
    if (hosts_parse("hostfile", text, &hosts, &e) == 0)
        hosts_filter(&hosts, text, NULL, &e);
    host_list_free(&hosts);
}

static void read_devices(const char *text)
{
    struct device_list devices = DEVICE_LIST_INIT;
    device_list_add_names(&devices, text);
    device_list_add_smi(&devices, text);
    device_list_free(&devices);
}

static void read_answers(const char *text, size_t *bytes)
{
    static struct batch_system *slurm;
    struct error e = ERROR_INIT;
    size_t entries;
    if (!slurm && batch_system_load("slurm", NULL, &slurm, &e) < 0)
        abort();
    const struct batch_question *const questions[] = {&slurm->queue, slurm->queue.fallback, &slurm->accounting,
                                                      slurm->accounting.fallback, &slurm->end};
    for (size_t i = 0; i < LENGTH(questions); i++)
        batch_answer_read(slurm, questions[i], text, look, bytes, &entries);
    batch_system_refusal(slurm, text);
    free(batch_system_refusal_text(slurm, text));
    free(batch_system_id(slurm, text, text, true));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    size_t bytes = 0;
    struct batch_report report;
    struct allocation allocation;
    char *node;
    char *text = xstrndup((const char *)data, size);
    read_answers(text, &bytes);
    allocation_parse(text, &allocation);
    allocation_free(&allocation);
    step_word_of(text, &node, &(int){0});
    free(node);
    batch_report_parse(text, &report);
    read_hosts(text);
    read_devices(text);
    free(text);
    return 0;
}
