#include <errno.h>
#include <ftw.h>
#include <inttypes.h>
#include <stdlib.h>
#include <unistd.h>

#include "cli/command.h"
#include "cli/output.h"
#include "selftest/selftest.h"
#include "util/buffer.h"
#include "util/file.h"
#include "util/memory.h"

extern char **environ;

struct selftest_command_options {
    int64_t kills, seed, jobs;
    const char *directory;
};

#define AT(member) offsetof(struct selftest_command_options, member)

static const struct option options[] = {
    {.name = "kills",
     .kind = OPTION_INT,
     .offset = AT(kills),
     .value = "N",
     .help = "kill the runner N times",
     .fallback = "20",
     .least = 0,
     .most = 1e6},
    {.name = "seed",
     .kind = OPTION_INT,
     .offset = AT(seed),
     .value = "N",
     .help = "seed of the random instants",
     .fallback = "1",
     .least = 0,
     .most = 1e15},
    {.name = "jobs",
     .kind = OPTION_INT,
     .offset = AT(jobs),
     .value = "N",
     .help = "jobs in each sweep",
     .fallback = "100",
     .least = 1,
     .most = 1e5},
    {.name = "dir",
     .kind = OPTION_STRING,
     .offset = AT(directory),
     .value = "DIR",
     .help = "directory for the test, on the file system to test (default: $TMPDIR or /tmp)"},
    {.name = NULL},
};

/* Absolute: runners have another working directory. */
static char *make_directory(const char *where, struct error *e)
{
    if (!where)
        where = getenv("TMPDIR");
    char *path = xasprintf("%s/meshsweep-selftest.XXXXXX", where && where[0] ? where : "/tmp");
    char *made = mkdtemp(path) ? path_absolute(path) : NULL;
    if (!made)
        error_errno(e, errno, "%s: cannot make the directory", path);
    free(path);
    return made;
}

static int remove_one(const char *path, const struct stat *status, int type, struct FTW *position)
{
    (void)status, (void)type, (void)position;
    return remove(path);
}

static void report_kill(void *context, int64_t kills)
{
    const struct selftest_command_options *o = context;
    int64_t step = o->kills >= 100 ? o->kills / 10 : 10;
    if (kills % step == 0)
        output_message("%" PRId64 " of %" PRId64 " kills", kills, o->kills);
}

static int print_report(const struct selftest_command_options *o, const struct selftest_report *r, struct error *e)
{
    struct buffer b = BUFFER_INIT;
    buffer_printf(&b,
                  "%" PRId64 " kills survived in %" PRId64 " sweep%s of %" PRId64 " jobs (seed %" PRId64 ", %.1f s):\n"
                  "%" PRId64 " jobs, each in one final state with its own number; %" PRId64
                  " attempts, of which %" PRId64 " were lost and made again;\n"
                  "nothing missing, nothing recorded twice, no two attempts of a job at once, no process left"
                  " (the last one gone %.2f s after a kill)\n",
                  r->kills, r->sweeps, r->sweeps == 1 ? "" : "s", o->jobs, o->seed, (double)r->duration_ms / 1000,
                  r->jobs, r->attempts, r->lost, (double)r->longest_orphan_ms / 1000);
    return output_people_take(&b, e);
}

static int selftest(const struct arguments *a, struct error *e)
{
    struct selftest_command_options o = *(const struct selftest_command_options *)a->options;
    struct selftest_report report;
    char *directory = make_directory(o.directory, e);
    if (!directory)
        return -1;
    const struct selftest_options test = {
        .program = "/proc/self/exe",
        .directory = directory,
        .environment = environ,
        .kills = o.kills,
        .jobs = o.jobs,
        .seed = (uint64_t)o.seed,
        .on_kill = report_kill,
        .context = &o,
    };
    int rc = selftest_run(&test, &report, e);
    if (rc == 0)
        nftw(directory, remove_one, 16, FTW_DEPTH | FTW_PHYS);
    else
        output_message("the files of the test are kept in %s", directory);
    free(directory);
    return rc == 0 ? print_report(&o, &report, e) : -1;
}

const struct command selftest_command = {
    .name = "selftest",
    .summary = "Kill a runner at random instants and check that nothing is lost",
    .usage = "[OPTIONS]",
    .example = "meshsweep selftest --kills 1000 --dir /scratch",
    .options = options,
    .options_bytes = sizeof(struct selftest_command_options),
    .run = selftest,
};
