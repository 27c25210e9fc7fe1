#include "run/device_usage.h"

#include <stdlib.h>
#include <string.h>

#include "run/command.h"
#include "util/memory.h"
#include "util/parse.h"

#define ANSWER_MS 20000

/* The next field of a line, without blanks around it. */
static char *field(char **rest)
{
    char *text = strsep(rest, ",");
    if (!text)
        return NULL;
    text += strspn(text, " \t");
    for (size_t n = strlen(text); n > 0 && strchr(" \t\r", text[n - 1]); n--)
        text[n - 1] = '\0';
    return text;
}

void device_usage_parse(const char *text, const struct device_list *names, int64_t *bytes)
{
    char *copy = xstrdup(text), *lines = copy;
    for (size_t i = 0; i < names->count; i++)
        bytes[i] = -1;
    for (char *line; (line = strsep(&lines, "\n"));) {
        const char *index = field(&line), *uuid = field(&line), *used = field(&line);
        int64_t mebibytes;
        if (!used || !parse_int64(used, &mebibytes) || mebibytes < 0 || mebibytes > INT64_MAX >> 20)
            continue;
        for (size_t i = 0; i < names->count; i++)
            if (strcmp(names->names[i], index) == 0 ||
                (strncmp(names->names[i], "GPU-", 4) == 0 && strncmp(uuid, names->names[i], strlen(names->names[i])) == 0))
                bytes[i] = mebibytes << 20;
    }
    free(copy);
}

int device_usage_read(char *const *environment, const struct device_list *names, int64_t *bytes)
{
    char *argv[] = {(char *)"nvidia-smi", (char *)"--query-gpu=index,uuid,memory.used",
                    (char *)"--format=csv,noheader,nounits", NULL};
    const struct command question = {argv, environment, NULL, ANSWER_MS, 1 << 16};
    struct command_result answer = COMMAND_RESULT_INIT;
    struct error none = ERROR_INIT;
    int rc = command_run(&question, &answer, &none);
    if (rc == 0 && answer.exit_code != 0)
        rc = -1;
    if (rc == 0)
        device_usage_parse(answer.output, names, bytes);
    command_result_free(&answer);
    return rc;
}
