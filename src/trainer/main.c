#include <stdio.h>
#include <stdlib.h>

#include "trainer/launch.h"
#include "trainer/options.h"
#include "trainer/train.h"

/* One write, so that the lines of several ranks do not mix. */
static int complain(const struct error *e)
{
    char line[ERROR_TEXT_MAX + 64];

    snprintf(line, sizeof line, "meshsweep-trainer: %s\n", e->text);
    fputs(line, stderr);
    return e->status;
}

static int rank_main(int rank, void *context)
{
    struct error e;

    return train_rank(context, rank, &e) < 0 ? complain(&e) : STATUS_OK;
}

static int load_corpus(struct corpus *corpus, const struct options *o, struct error *e)
{
    if (o->data_path)
        return corpus_read(corpus, o->data_path, (size_t)o->seq + 1, e);
    return corpus_generate(corpus, o->seed, e);
}

static int run(const struct options *o, struct error *e)
{
    struct corpus corpus = {0};
    struct train_job job = {.options = o, .corpus = &corpus};
    int result = -1;

    if (load_corpus(&corpus, o, e) < 0)
        goto out;
    if (collective_group_create(&job.group, o->ranks, e) < 0)
        goto out;
    result = launch_ranks(o->ranks, rank_main, &job, e);
out:
    collective_group_destroy(job.group);
    corpus_free(&corpus);
    return result;
}

int main(int argc, char **argv)
{
    struct options options;
    struct error e;

    if (options_parse(&options, argc, argv, &e) < 0)
        return complain(&e);
    if (options.help) {
        options_print_help(stdout);
        return STATUS_OK;
    }
    const char *metrics = getenv("MESHSWEEP_METRICS");
    if (!options.metrics_path && metrics && *metrics)
        options.metrics_path = metrics;
    return run(&options, &e) < 0 ? complain(&e) : STATUS_OK;
}
