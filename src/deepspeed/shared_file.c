#include "deepspeed/shared_file.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "process/external_command.h"
#include "util/buffer.h"
#include "util/memory.h"
#include "util/shell_words.h"

enum { HOSTS_MOST = 8, ANSWER_MS = 15000, ANSWER_BYTES = 256 };

/* Marks the line of the answer: some shells print a greeting before it. */
#define ANSWER "meshsweep "

static char *question(const char *path)
{
    struct buffer b = BUFFER_INIT;
    buffer_add_text(&b, "stat -L -c '" ANSWER "%i %s %Y' ");
    shell_add_word(&b, path);
    buffer_add_text(&b, " 2>/dev/null || echo '" ANSWER "none'");
    return buffer_take(&b);
}

static bool says_another(const char *host, const char *asked, const char *expected, char *const *environment)
{
    const char *argv[] = {"ssh", "-o", "BatchMode=yes", "-o", "ConnectTimeout=10", host, asked, NULL};
    const struct external_command command = {(char *const *)argv, environment, NULL, ANSWER_MS, ANSWER_BYTES};
    struct external_command_result answer = EXTERNAL_COMMAND_RESULT_INIT;
    bool ran = external_command_run(&command, &answer, NULL) == 0;
    bool another = ran && strstr(answer.output, ANSWER) && !strstr(answer.output, expected);
    external_command_result_free(&answer);
    return another;
}

const char *shared_file_lacking_host(const struct host_list *hosts, const char *path, char *const *environment)
{
    struct stat here;
    const char *lacking = NULL;
    if (stat(path, &here) < 0)
        return NULL;
    char *asked = question(path);
    char *expected = xasprintf(ANSWER "%llu %lld %lld\n", (unsigned long long)here.st_ino, (long long)here.st_size,
                               (long long)here.st_mtime);
    for (size_t i = 0; i < hosts->count && i < HOSTS_MOST && !lacking; i++)
        if (says_another(hosts->hosts[i].name, asked, expected, environment))
            lacking = hosts->hosts[i].name;
    free(expected);
    free(asked);
    return lacking;
}
