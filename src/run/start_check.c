#include "run/start_check.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "database/db.h"
#include "process/environment.h"
#include "process/process.h"
#include "store/jobs.h"
#include "util/memory.h"

/* The text where it is the same for every job, the caller's; else NULL. */
static char *text_of_all(const struct space *space, const struct job_text *t)
{
    const char *path = space->sweep->path, *slash = strrchr(path, '/');
    struct buffer b = BUFFER_INIT;
    for (size_t i = 0; i < t->template.count; i++) {
        if (!t->template.parts[i].is_placeholder) {
            buffer_add_text(&b, t->template.parts[i].text);
        } else if (t->slots[i] == -(int)RUNTIME_CONFIG_DIR && !t->template.parts[i].option) {
            buffer_add(&b, slash ? path : ".", slash ? (size_t)(slash - path) : 1);
        } else {
            buffer_free(&b);
            return NULL;
        }
    }
    return buffer_take(&b);
}

static int not_there(const struct start_check *c, const char *what, int number, struct error *e)
{
    const struct position *at = &c->space->sweep->job.command.at;
    return error_set(e, ERROR_USAGE, "%s:%d: no job can be started: %s: %s",
                     at->file ? at->file : c->space->sweep->path, at->line, what, strerror(number));
}

static int check_directory(const struct start_check *c, const char *directory, struct error *e)
{
    struct stat status;
    int number = stat(directory, &status) < 0 ? errno : S_ISDIR(status.st_mode) ? 0 : ENOTDIR;
    if (number == 0)
        return 0;
    OWNED char *what = xasprintf("the working directory %s", directory);
    not_there(c, what, number, e);
    return -1;
}

/* 0, or why it cannot be run. */
static int find_program(const struct start_check *c, const char *program, const char *directory)
{
    int number = 0;
    if (strchr(program, '/')) {
        OWNED char *path = program[0] == '/' || !directory ? xstrdup(program) : xasprintf("%s/%s", directory, program);
        number = access(path, X_OK) < 0 ? errno : 0;
        return number;
    }
    OWNED_STRINGS environment = environment_base(c->environment, job_passing(&c->space->sweep->job));
    OWNED char *found = process_find_program(program, environment, directory, &number);
    const struct job_config *job = &c->space->sweep->job;
    return found || ANY(i, job->environment_count, strcmp(job->environment[i].name, "PATH") == 0) ? 0 : number;
}

static int check_program(const struct start_check *c, const char *program, const char *directory, struct error *e)
{
    int number = find_program(c, program, directory);
    if (number == 0)
        return 0;
    OWNED char *what = xasprintf("the program %s", program);
    not_there(c, what, number, e);
    return -1;
}

/* One that is declared and another for each job has its relative programs elsewhere. */
static int check_here(const struct start_check *c, struct error *e)
{
    const struct space *space = c->space;
    bool is_declared = space->sweep->job.directory != NULL;
    OWNED char *directory = is_declared ? text_of_all(space, &space->directory) : NULL;
    OWNED char *program = space->command.count > 0 ? text_of_all(space, &space->command.items[0]) : NULL;
    int rc = directory ? check_directory(c, directory, e) : 0;
    if (rc == 0 && program && (directory || !is_declared))
        rc = check_program(c, program, directory, e);
    return rc;
}

static int check_launcher(const struct start_check *c, struct error *e)
{
    int number = 0;
    OWNED char *found = process_find_program(c->launcher, c->environment, NULL, &number);
    return found ? 0
                 : error_set(e, ERROR_USAGE, "no job can be started: %s was not found here: %s", c->launcher,
                             strerror(number));
}

int start_check(const struct start_check *c, struct error *e)
{
    bool due = false;
    int rc = jobs_any_pending(c->db, c->sweep_id, &due, e);
    if (rc < 0 || !due)
        return rc;
    return c->launcher ? check_launcher(c, e) : check_here(c, e);
}
