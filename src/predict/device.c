#include "predict/device.h"

#include <math.h>
#include <stddef.h>

#include "util/memory.h"

#define NETWORK_STEP 14e-6 /* seconds, NCCL's protocol for large messages: to another node, */
#define TREE_STEP 4e-6     /* over NVLink in a tree, */
#define RING_STEP 3.4e-6   /* and over NVLink in a ring */
#define SLOT_LEAST 12.5e9  /* PCIe of the third generation */
#define SLOT_MOST 50e9     /* and of the fifth */

static void fill_real(double *field, double value)
{
    if (*field == 0)
        *field = value;
}

bool cluster_is_partial(const struct cluster *c)
{
    return c->devices_per_node < c->device->node;
}

static int check_bounds(const struct cluster *c, struct error *e)
{
    const struct {
        const char *name;
        double value, most;
    } bounds[] = {{"devices_per_node", (double)c->devices_per_node, 1e5},
                  {"link_domain", (double)c->link_domain, 1e6},
                  {"intra_bytes_per_s", c->intra_bytes_per_s, 1e15},
                  {"inter_bytes_per_s", c->inter_bytes_per_s, 1e15},
                  {"usable_bytes", c->usable_bytes, 1e15},
                  {"pcie_bytes_per_s", c->pcie_bytes_per_s, 1e15},
                  {"host_bytes_per_s", c->host_bytes_per_s, 1e15},
                  {"inter_latency_s", c->inter_latency_s, 1}};
    int rc = 0;
    /* Where one of the two integers is wrong, no other is looked at. */
    for (size_t i = 0; i < LENGTH(bounds) && (rc == 0 || i != 2); i++)
        /* Written so that NaN is refused. */
        if (!(bounds[i].value >= 0 && bounds[i].value <= bounds[i].most))
            rc = error_add_line(e, ERROR_USAGE, "%s = %.17g is not between 0 and %.17g", bounds[i].name,
                                bounds[i].value, bounds[i].most);
    return rc;
}

int cluster_complete(struct cluster *c, struct error *e)
{
    if (check_bounds(c, e) < 0)
        return -1;
    if (c->devices_per_node == 0)
        c->devices_per_node = 8;
    if (c->link_domain == 0)
        c->link_domain = c->device->link_domain;
    if (c->link_domain < c->devices_per_node)
        c->link_domain = c->devices_per_node;
    fill_real(&c->intra_bytes_per_s, c->device->link_bytes_per_s);
    double adapter = c->device->adapter_bytes_per_s > 0 ? c->device->adapter_bytes_per_s : 25e9;
    fill_real(&c->inter_bytes_per_s, adapter / sqrt(cluster_is_partial(c) ? (double)c->devices_per_node : 1));
    fill_real(&c->usable_bytes, c->device->usable_bytes);
    fill_real(&c->pcie_bytes_per_s, c->device->host_link_bytes_per_s);
    fill_real(&c->pcie_bytes_per_s,
              fmin(fmax(c->device->link_bytes_per_s <= SLOT_MOST ? c->device->link_bytes_per_s : adapter, SLOT_LEAST),
                   SLOT_MOST));
    fill_real(&c->host_bytes_per_s, c->device->host_memory_bytes_per_s * (double)c->devices_per_node);
    fill_real(&c->host_bytes_per_s, 75e9);
    return 0;
}

static double crossing_latency(const struct cluster *c)
{
    return NETWORK_STEP + CLUSTER_TRIPS * c->inter_latency_s;
}

double cluster_ring_latency(const struct cluster *c, double ranks, double nodes)
{
    return (ranks - nodes) * RING_STEP + (nodes - 1) * crossing_latency(c);
}

double cluster_all_reduce_latency(const struct cluster *c, double ranks, double apart)
{
    double nodes = ceil(ranks * apart / (double)c->link_domain);
    if (nodes <= 1)
        return 0;
    double tree = (ranks / nodes - 1) * TREE_STEP + log2(nodes) * crossing_latency(c);
    return 2 * fmin(cluster_ring_latency(c, ranks, nodes), tree);
}
