#include "deepspeed/tuning_cluster.h"

#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>

#include "device/devices.h"
#include "process/external_command.h"
#include "util/buffer.h"
#include "util/file.h"
#include "util/memory.h"
#include "util/parse.h"
#include "util/shell.h"

bool tuning_cluster_is_one_host(const struct tuning_cluster *c, const struct autotuning *knobs)
{
    const struct json *j = knobs->num_nodes;
    const bool is_list = j && j->kind == JSON_LIST; /* of different numbers */
    long long nodes = c->nodes;
    if (j)
        json_text_integer(is_list ? j->children : j, &nodes);
    return nodes == 1 && (!is_list || j->count == 1);
}

#define LARGEST_HOSTFILE (16u << 20)

long long tuning_hosts_own_devices(char *const *environment)
{
    struct device_list found = DEVICE_LIST_INIT;
    devices_discover(environment, "", &found);
    size_t count = found.count;
    device_list_free(&found);
    return (long long)count;
}

/* Adds this machine as a host with its device numbers. */
static int add_own_host(const struct device_list *found, struct host_list *out, struct error *e)
{
    struct host *host = out->hosts = xcalloc(1, sizeof *out->hosts);
    out->count = 1;
    *host = (struct host){.name = xstrdup("localhost"), .devices = xcalloc(found->count + 1, sizeof *host->devices)};
    for (size_t i = 0; i < found->count; i++) {
        int64_t number;
        if (!parse_int64(found->names[i], &number) || number < 0 || number >= DEVICES_MOST)
            return error_set(e, ERROR_USAGE, "--include and --exclude choose devices by number, but %s names them %s",
                             found->source, found->names[i]);
        host->devices[host->device_count++] = (int)number;
    }
    if (found->count > 0)
        return 0;
    return error_set(e, ERROR_USAGE,
                     "--include and --exclude choose hosts of a hostfile (--hostfile FILE) or devices of this machine "
                     "(localhost:0,1), but this machine has none");
}

/* Without a hostfile, filters apply to this machine, named localhost. Even without filters, DeepSpeed's launcher is
 * told the device numbers if there are any, because it ignores CUDA_VISIBLE_DEVICES when it is given a count
 * (launcher/runner.py). */
static int read_own_host(char *const *environment, bool filtered, struct host_list *out, struct error *e)
{
    struct device_list found = DEVICE_LIST_INIT;
    struct error ignored = ERROR_INIT;
    devices_discover(environment, "", &found);
    int rc = add_own_host(&found, out, filtered ? e : &ignored);
    device_list_free(&found);
    if (rc < 0)
        host_list_free(out);
    return filtered ? rc : 0;
}

static int read_hostfile(const char *path, struct host_list *out, struct error *e)
{
    OWNED_BUFFER text = BUFFER_INIT;
    int rc = file_read(path, LARGEST_HOSTFILE, &text, e);
    if (rc < 0 && e)
        e->kind = ERROR_USAGE;
    return rc < 0 ? rc : hosts_parse(path, buffer_text(&text), out, e);
}

int tuning_hosts_read(const struct tuning_hosts_request *r, char *const *environment, struct host_list *out,
                      struct error *e)
{
    const bool filtered = r->include || r->exclude;
    int rc = 0;
    if (r->hostfile)
        rc = read_hostfile(r->hostfile, out, e);
    else if (filtered || r->own)
        rc = read_own_host(environment, filtered, out, e);
    return rc < 0 ? rc : hosts_filter(out, r->include, r->exclude, e);
}

long long tuning_hosts_least_devices(const struct host_list *l)
{
    size_t least = l->count ? l->hosts[0].device_count : 0;
    for (size_t i = 1; i < l->count; i++)
        least = l->hosts[i].device_count < least ? l->hosts[i].device_count : least;
    return (long long)least;
}

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
    const struct external_command command = {(char *const *)argv, environment, NULL, ANSWER_MS, ANSWER_BYTES, NULL};
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
    OWNED char *asked = question(path);
    OWNED char *expected = xasprintf(ANSWER "%llu %lld %lld\n", (unsigned long long)here.st_ino,
                                     (long long)here.st_size, (long long)here.st_mtime);
    for (size_t i = 0; i < hosts->count && i < HOSTS_MOST && !lacking; i++)
        if (says_another(hosts->hosts[i].name, asked, expected, environment))
            lacking = hosts->hosts[i].name;
    return lacking;
}
