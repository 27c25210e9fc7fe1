#include "ssh/hosts.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "device/hostfile.h"
#include "process/external_command.h"
#include "util/buffer.h"
#include "util/file.h"
#include "util/memory.h"
#include "util/parse.h"
#include "util/shell.h"

enum { ANSWER_MS = 90000, MOST_BYTES = 1 << 20 };

/* --- which there are --- */

static bool take_word(const char *word, char **directory, int64_t *slots)
{
    if (strncmp(word, "directory=/", 11) == 0) {
        text_replace(directory, xstrdup(word + 10));
        return true;
    }
    return strncmp(word, "slots=", 6) == 0 && parse_int64(word + 6, slots) && *slots >= 1 &&
           *slots <= HOSTFILE_SLOTS_MOST;
}

static void take_line(struct host_list *list, struct hostfile_line *line, struct error *problems)
{
    char *directory = NULL;
    int64_t slots = 0;
    const char *wrong = NULL;
    for (const char *word = hostfile_word(line); word && !wrong; word = hostfile_word(line))
        wrong = take_word(word, &directory, &slots) ? NULL : word;
    if (wrong || line->name[0] == '-' || strpbrk(line->name, ",:\"'"))
        error_add_line(problems, ERROR_USAGE,
                       "%s:%d: write each host as `HOST [slots=N] [directory=/PATH]`, with 1 to %d slots, not `%s`",
                       line->path, line->number, HOSTFILE_SLOTS_MOST, wrong ? wrong : line->name);
    host_list_add(list, line->name, wrong ? 0 : slots)->directory = directory;
}

int ssh_hosts_parse(const char *path, const char *text, struct host_list *out, struct error *e)
{
    return hostfile_read(path, text, take_line, out, e);
}

int ssh_hosts_read(const struct sweep *sweep, struct host_list *out, struct error *e)
{
    OWNED_BUFFER text = BUFFER_INIT;
    const struct ssh_config *c = &sweep->ssh;
    const char *hostfile = c->hostfile ? c->hostfile : sweep->local.hostfile;
    OWNED char *path = c->hosts || !hostfile ? xstrdup("[ssh] hosts") : path_beside(sweep->path, hostfile);
    int rc = 0;
    for (char *const *p = c->hosts; p && *p; p++)
        buffer_printf(&text, "%s\n", *p);
    if (!c->hosts && hostfile)
        rc = file_read(path, MOST_BYTES, &text, e);
    else if (!c->hosts)
        rc = error_set(e, ERROR_USAGE,
                       "--executor ssh: there are no hosts; name them in the sweep file: [ssh] hosts = [\"node1\", "
                       "\"node2 slots=4\"], or hostfile = \"FILE\"");
    if (rc == 0)
        rc = ssh_hosts_parse(path, buffer_text(&text), out, e);
    return rc;
}

/* --- asking --- */

void ssh_add_words(const struct ssh_config *config, struct string_list *words)
{
    static const char *const ours[] = {"-oBatchMode=yes", "-oConnectTimeout=20",       "-oConnectionAttempts=1",
                                       "-oForwardX11=no", "-oClearAllForwardings=yes", "-oEscapeChar=none",
                                       "-oRequestTTY=no"};
    string_list_add(words, xstrdup("ssh"));
    for (char *const *p = config->options; p && *p; p++)
        string_list_add(words, xstrdup(*p));
    for (size_t i = 0; i < LENGTH(ours); i++)
        string_list_add(words, xstrdup(ours[i]));
    string_list_add(words, xasprintf("-oServerAliveInterval=%" PRId64, config->lease_ms / 6000 + 1));
    string_list_add(words, xstrdup("-oServerAliveCountMax=3"));
}

bool ssh_is_refusal(const char *line)
{
    static const char *const known[] = {"Could not resolve hostname",
                                        "Permission denied",
                                        "Host key verification failed",
                                        "Bad configuration option",
                                        "Too many authentication failures",
                                        "Can't open user config file",
                                        "not accessible: No such file",
                                        "command-line",
                                        "no matching ",
                                        "there is no directory",
                                        "unknown option -- "};
    return ANY(i, LENGTH(known), strstr(line, known[i]));
}

/* A line of shell for each host that is to be asked: "NUMBER STATUS LAST-LINE". */
static char *questions(const struct ssh_config *config, const struct host_list *hosts)
{
    static const char question[] =
        "exec sh -c 'n=$(nvidia-smi -L 2>/dev/null | grep -c ^GPU); [ \"$n\" != 0 ] || "
        "n=$(cat /sys/class/kfd/kfd/topology/nodes/*/gpu_id 2>/dev/null | grep -vc \"^0$\"); echo \"$n\"'";
    struct buffer b = BUFFER_INIT;
    for (size_t i = 0; i < hosts->count; i++) {
        struct string_list words = STRING_LIST_INIT;
        if (hosts->hosts[i].device_count)
            continue;
        ssh_add_words(config, &words);
        string_list_add(&words, xstrdup(hosts->hosts[i].name));
        string_list_add(&words, xstrdup(question));
        buffer_add_text(&b, "( said=$(");
        for (size_t k = 0; k < words.count; k++) {
            shell_add_word(&b, words.items[k]);
            buffer_add_char(&b, ' ');
        }
        buffer_printf(
            &b, "2>&1 </dev/null); printf '%%s %%s %%s\\n' %zu $? \"$(printf '%%s' \"$said\" | tail -n 1)\" ) &\n", i);
        string_list_free(&words);
    }
    if (b.length)
        buffer_add_text(&b, "wait\n");
    return b.length ? buffer_take(&b) : NULL;
}

/* One that does not answer may do so later, and gets one job then. */
static int take_answer(const char *line, struct host_list *hosts, struct error *e)
{
    char *end;
    const long i = strtol(line, &end, 10), status = strtol(end, &end, 10);
    if (i < 0 || (size_t)i >= hosts->count || *end != ' ')
        return 0;
    struct host *h = &hosts->hosts[i];
    int64_t devices;
    if (status != 0 && ssh_is_refusal(end + 1))
        return error_set(e, ERROR_USAGE, "host %s: %s", h->name, end + 1);
    const bool are_told = status == 0 && parse_int64(end + 1, &devices) && devices > 0;
    host_give(h, !are_told ? 1 : devices < HOSTFILE_SLOTS_MOST ? devices : HOSTFILE_SLOTS_MOST);
    return 0;
}

static int ask_hosts(const struct ssh_config *config, char *const *environment, struct host_list *hosts,
                     struct error *e)
{
    char *text = questions(config, hosts), *rest = NULL;
    char *argv[] = {(char *)"sh", (char *)"-c", text, NULL};
    const struct external_command command = {argv, environment, NULL, ANSWER_MS, MOST_BYTES, NULL};
    OWNED_RESULT result = EXTERNAL_COMMAND_RESULT_INIT;
    int rc = text ? external_command_run(&command, &result, e) : 0;
    if (text && rc == 0)
        for (char *line = strtok_r(result.output, "\n", &rest); rc == 0 && line; line = strtok_r(NULL, "\n", &rest))
            rc = take_answer(line, hosts, e);
    free(text);
    return rc;
}

static int filter(const struct sweep *sweep, struct host_list *hosts, struct device_list *out, struct error *e)
{
    for (size_t i = 0; i < hosts->count; i++)
        if (hosts->hosts[i].device_count == 0)
            host_give(&hosts->hosts[i], 1);
    int rc = hosts_filter(hosts, sweep->local.include, sweep->local.exclude, e);
    *out = (struct device_list){.source = "hosts of [ssh]", .hosts = true};
    for (size_t i = 0; rc == 0 && i < hosts->count; i++)
        for (size_t k = 0; k < hosts->hosts[i].device_count && out->count < DEVICES_MOST; k++) {
            out->nodes = array_grow(out->nodes, out->count, sizeof *out->nodes);
            out->nodes[out->count] = (uint16_t)i;
            *array_add(out->names, out->count) = xasprintf("%s:%d", hosts->hosts[i].name, hosts->hosts[i].devices[k]);
        }
    return rc;
}

int ssh_hosts_devices(const struct sweep *sweep, char *const *environment, struct device_list *out, struct error *e)
{
    struct host_list hosts = HOST_LIST_INIT;
    int rc = ssh_hosts_read(sweep, &hosts, e);
    if (rc == 0)
        rc = ask_hosts(&sweep->ssh, environment, &hosts, e);
    if (rc == 0)
        rc = filter(sweep, &hosts, out, e);
    host_list_free(&hosts);
    return rc;
}
