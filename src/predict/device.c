#include "predict/device.h"

#include <stddef.h>
#include <string.h>
#include <strings.h>

#include "predict/bounds.h"

#define GIB 1073741824.0
#define UNMEASURED_ATTENTION 0.35

/* The best of FlashAttention-4 on B200 is 1613 TFLOP/s forward, 1.3 times cuDNN's (arXiv 2603.05451); forward and
 * backward are 0.9 of forward, as FlashAttention-2's on H100. Exponentials bound it, of which GB200 has no more. */
#define BLACKWELL_ATTENTION (0.9 * 1613e12 / 1.3)

#define UNMEASURED(peak) .peak_flops = (peak), .attention_flops = UNMEASURED_ATTENTION * (peak)

static const struct device devices[] = {
    {.name = "V100-16GB",
     .others = "V100-SXM2-16GB",
     .source = "NVIDIA V100 datasheet",
     .measured = true,
     UNMEASURED(125e12),
     .fp8_factor = 1,
     .fp4_factor = 1,
     .fp32_factor = 0.125,
     .vector_flops = 15.7e12,
     .memory_bytes_per_s = 900e9,
     .usable_bytes = 15.78 * GIB,
     .adapter_bytes_per_s = 6.25e9,
     .link_bytes_per_s = 150e9},
    {.name = "V100-32GB",
     .others = "V100-SXM2-32GB|V100-SXM3-32GB",
     .source = "NVIDIA V100 datasheet",
     UNMEASURED(125e12),
     .fp8_factor = 1,
     .fp4_factor = 1,
     .fp32_factor = 0.125,
     .vector_flops = 15.7e12,
     .memory_bytes_per_s = 900e9,
     .usable_bytes = 31.74 * GIB,
     .adapter_bytes_per_s = 6.25e9,
     .link_bytes_per_s = 150e9},
    {.name = "T4",
     .others = "Tesla-T4",
     .source = "NVIDIA T4 datasheet",
     UNMEASURED(65e12),
     .fp8_factor = 1,
     .fp4_factor = 1,
     .fp32_factor = 0.125,
     .memory_bytes_per_s = 320e9,
     .usable_bytes = 14.6 * GIB,
     .link_bytes_per_s = 12.5e9},
    {.name = "A10G",
     .source = "NVIDIA A10G, as Amazon EC2 G5 has it",
     UNMEASURED(70e12),
     .fp8_factor = 1,
     .fp4_factor = 1,
     .fp32_factor = 0.5,
     .memory_bytes_per_s = 600e9,
     .usable_bytes = 22.2 * GIB,
     .link_bytes_per_s = 25e9},
    {.name = "A100-40GB",
     .others = "A100-SXM4-40GB",
     .source = "NVIDIA A100 datasheet",
     .measured = true,
     .peak_flops = 312e12,
     .attention_flops = 225e12,
     .fp8_factor = 1,
     .fp4_factor = 1,
     .fp32_factor = 0.5,
     .vector_flops = 19.5e12,
     .memory_bytes_per_s = 1555e9,
     .usable_bytes = 39.4 * GIB,
     .link_bytes_per_s = 300e9},
    {.name = "A100-80GB",
     .others = "A100-SXM4-80GB",
     .source = "NVIDIA A100 datasheet",
     .measured = true,
     .peak_flops = 312e12,
     .attention_flops = 225e12,
     .fp8_factor = 1,
     .fp4_factor = 1,
     .fp32_factor = 0.5,
     .vector_flops = 19.5e12,
     .memory_bytes_per_s = 2039e9,
     .usable_bytes = 79.1 * GIB,
     .link_bytes_per_s = 300e9},
    {.name = "L40S",
     .source = "NVIDIA L40S datasheet",
     UNMEASURED(362e12),
     .fp8_factor = 2,
     .fp4_factor = 2,
     .fp32_factor = 0.5,
     .memory_bytes_per_s = 864e9,
     .usable_bytes = 44.5 * GIB,
     .link_bytes_per_s = 25e9},
    {.name = "RTX-PRO-6000",
     .others = "RTX 6000 Blackwell|RTX-6000-Blackwell|RTX PRO 6000 Blackwell",
     .source = "NVIDIA RTX Blackwell PRO architecture whitepaper",
     UNMEASURED(503.8e12),
     .fp8_factor = 2,
     .fp4_factor = 4,
     .fp32_factor = 0.5,
     .memory_bytes_per_s = 1792e9,
     .usable_bytes = 94.9 * GIB,
     .link_bytes_per_s = 50e9},
    {.name = "H20",
     .others = "H20-96GB",
     .source = "NVIDIA H20, HGX product brief",
     UNMEASURED(148e12),
     .fp8_factor = 2,
     .fp4_factor = 2,
     .fp32_factor = 0.5,
     .memory_bytes_per_s = 4000e9,
     .usable_bytes = 94.9 * GIB,
     .adapter_bytes_per_s = 50e9,
     .link_bytes_per_s = 450e9},
    {.name = "H100-PCIe",
     .others = "H100-80GB-PCIe",
     .source = "NVIDIA H100 datasheet",
     .peak_flops = 756e12,
     .attention_flops = 335e12 * 756 / 989.5,
     .fp8_factor = 2,
     .fp4_factor = 2,
     .fp32_factor = 0.5,
     .memory_bytes_per_s = 2000e9,
     .usable_bytes = 79.1 * GIB,
     .link_bytes_per_s = 50e9},
    {.name = "H100",
     .others = "H100-80GB|H100-SXM|H100-SXM5|H100-SXM5-80GB|H100-80GB-HBM3",
     .source = "NVIDIA H100 datasheet",
     .measured = true,
     .peak_flops = 989.5e12,
     .attention_flops = 335e12,
     .fp8_factor = 2,
     .fp4_factor = 2,
     .fp32_factor = 0.5,
     .product_share = 0.803,
     .fp8_share = 0.709,
     .vector_flops = 66.9e12,
     .memory_bytes_per_s = 3350e9,
     .usable_bytes = 79.1 * GIB,
     .adapter_bytes_per_s = 50e9,
     .link_bytes_per_s = 450e9},
    {.name = "H100-96GB",
     .source = "NVIDIA H100 datasheet, with its HBM2e of 96 GB",
     .peak_flops = 989.5e12,
     .attention_flops = 335e12,
     .fp8_factor = 2,
     .fp4_factor = 2,
     .fp32_factor = 0.5,
     .product_share = 0.803 * 912 / 989.5, /* 500 W: between SXM and NVL, torchtitan benchmarks/llama3_h100_202412 */
     .fp8_share = 0.709 * 912 / 989.5,
     .vector_flops = 66.9e12,
     .memory_bytes_per_s = 2400e9,
     .usable_bytes = 94.5 * GIB,
     .adapter_bytes_per_s = 50e9,
     .link_bytes_per_s = 450e9},
    {.name = "H800",
     .source = "NVIDIA H800, HGX product brief",
     .peak_flops = 989.5e12,
     .attention_flops = 335e12,
     .fp8_factor = 2,
     .fp4_factor = 2,
     .fp32_factor = 0.5,
     .product_share = 0.803,
     .fp8_share = 0.709,
     .vector_flops = 66.9e12,
     .memory_bytes_per_s = 3350e9,
     .usable_bytes = 79.1 * GIB,
     .adapter_bytes_per_s = 50e9,
     .link_bytes_per_s = 200e9},
    {.name = "H200",
     .others = "H200-SXM|H200-141GB",
     .source = "NVIDIA H200 datasheet",
     .peak_flops = 989.5e12,
     .attention_flops = 335e12,
     .fp8_factor = 2,
     .fp4_factor = 2,
     .fp32_factor = 0.5,
     .product_share = 0.803,
     .fp8_share = 0.734,
     .vector_flops = 66.9e12,
     .memory_bytes_per_s = 4800e9,
     .usable_bytes = 139.0 * GIB,
     .adapter_bytes_per_s = 50e9,
     .link_bytes_per_s = 450e9},
    {.name = "B200",
     .others = "B200-180GB",
     .source = "NVIDIA HGX B200 datasheet; memory by nvidia-smi, 183,359 MiB",
     .peak_flops = 2250e12,
     .attention_flops = BLACKWELL_ATTENTION,
     .fp8_factor = 2,
     .fp4_factor = 4,
     .fp32_factor = 0.5,
     .product_share = 0.776,
     .fp8_share = 0.763,
     .memory_bytes_per_s = 7700e9,
     .usable_bytes = 178.0 * GIB,
     .adapter_bytes_per_s = 50e9,
     .link_bytes_per_s = 900e9},
    {.name = "GB200",
     .source = "NVIDIA GB200 NVL72 datasheet; memory by nvidia-smi, 189,471 MiB",
     .peak_flops = 2500e12,
     .attention_flops = BLACKWELL_ATTENTION,
     .fp8_factor = 2,
     .fp4_factor = 4,
     .fp32_factor = 0.5,
     .product_share = 0.729,
     .fp8_share = 0.723,
     .memory_bytes_per_s = 8000e9,
     .usable_bytes = 184.3 * GIB,
     .adapter_bytes_per_s = 50e9,
     .link_bytes_per_s = 900e9,
     .link_domain = 72},
    {.name = "B300",
     .others = "B300-SXM6",
     .source = "NVIDIA HGX B300 datasheet; memory by nvidia-smi, 275,040 MiB",
     .peak_flops = 2250e12,
     .attention_flops = BLACKWELL_ATTENTION,
     .fp8_factor = 2,
     .fp4_factor = 6,
     .fp32_factor = 0.5,
     .product_share = 0.786,
     .fp8_share = 0.745,
     .memory_bytes_per_s = 7700e9,
     .usable_bytes = 267.9 * GIB,
     .adapter_bytes_per_s = 100e9,
     .link_bytes_per_s = 900e9},
    {.name = "GB300",
     .source = "NVIDIA GB300 NVL72 datasheet; memory by nvidia-smi, 284,208 MiB",
     .peak_flops = 2500e12,
     .attention_flops = BLACKWELL_ATTENTION,
     .fp8_factor = 2,
     .fp4_factor = 6,
     .fp32_factor = 0.5,
     .memory_bytes_per_s = 8000e9,
     .usable_bytes = 276.8 * GIB,
     .adapter_bytes_per_s = 100e9,
     .link_bytes_per_s = 900e9,
     .link_domain = 72},
    {.name = "MI300X",
     .source = "AMD Instinct MI300X datasheet",
     UNMEASURED(1307e12),
     .fp8_factor = 2,
     .fp4_factor = 2,
     .fp32_factor = 0.5,
     .product_share = 0.514,
     .memory_bytes_per_s = 5300e9,
     .usable_bytes = 191.5 * GIB,
     .adapter_bytes_per_s = 50e9,
     .link_bytes_per_s = 448e9},
    {.name = "MI325X",
     .source = "AMD Instinct MI325X datasheet",
     UNMEASURED(1307e12),
     .fp8_factor = 2,
     .fp4_factor = 2,
     .fp32_factor = 0.5,
     .product_share = 0.604,
     .memory_bytes_per_s = 6000e9,
     .usable_bytes = 255.5 * GIB,
     .adapter_bytes_per_s = 50e9,
     .link_bytes_per_s = 448e9},
    {.name = "MI355X",
     .source = "AMD Instinct MI355X datasheet",
     UNMEASURED(2500e12),
     .fp8_factor = 2,
     .fp4_factor = 4,
     .fp32_factor = 0.0625,
     .product_share = 0.626,
     .memory_bytes_per_s = 8000e9,
     .usable_bytes = 287.5 * GIB,
     .adapter_bytes_per_s = 50e9,
     .link_bytes_per_s = 537e9},
    {.name = "TPU-v5p",
     .others = "TPU v5p|v5p",
     .source = "Google Cloud TPU v5p documentation",
     UNMEASURED(459e12),
     .fp8_factor = 1,
     .fp4_factor = 1,
     .fp32_factor = 0.5,
     .memory_bytes_per_s = 2765e9,
     .usable_bytes = 95 * GIB,
     .link_bytes_per_s = 600e9,
     .link_domain = 8960},
    {.name = "TPU-v6e",
     .others = "TPU v6e|v6e|Trillium",
     .source = "Google Cloud TPU v6e documentation",
     UNMEASURED(918e12),
     .fp8_factor = 1,
     .fp4_factor = 1,
     .fp32_factor = 0.5,
     .memory_bytes_per_s = 1638e9,
     .usable_bytes = 31.25 * GIB,
     .link_bytes_per_s = 400e9,
     .link_domain = 256},
    {.name = "Trainium2",
     .others = "Trainium 2|Trn2",
     .source = "AWS Neuron documentation, Trainium2 architecture",
     UNMEASURED(667e12),
     .fp8_factor = 1299.0 / 667,
     .fp4_factor = 1299.0 / 667,
     .fp32_factor = 181.0 / 667,
     .memory_bytes_per_s = 2900e9,
     .usable_bytes = 95 * GIB,
     .link_bytes_per_s = 640e9,
     .link_domain = 16},
};

#define FIELD(name, least, most)                                                                                       \
    {                                                                                                                  \
#name, offsetof(struct cluster, name), least, most                                                             \
    }
static const struct bound integer_bounds[] = {FIELD(devices_per_node, 0, 1e5), FIELD(link_domain, 0, 1e6)};
static const struct bound double_bounds[] = {
    FIELD(intra_bytes_per_s, 0, 1e15), FIELD(inter_bytes_per_s, 0, 1e15), FIELD(usable_bytes, 0, 1e15),
    FIELD(pcie_bytes_per_s, 0, 1e15),  FIELD(host_bytes_per_s, 0, 1e15),  FIELD(inter_latency_s, 0, 1),
};
#undef FIELD

const struct device *device_table(int64_t *count)
{
    *count = sizeof devices / sizeof *devices;
    return devices;
}

/* Whether `list`, whose names are separated by bars, has it. */
static bool has_name(const char *list, const char *name)
{
    size_t length = strlen(name);
    for (const char *at = strchr(name, '|') ? NULL : list; at; at = strchr(at, '|') ? strchr(at, '|') + 1 : NULL)
        if (strncasecmp(at, name, length) == 0 && (at[length] == '|' || at[length] == '\0'))
            return length > 0;
    return false;
}

const struct device *device_find(const char *name)
{
    for (size_t i = 0; i < sizeof devices / sizeof *devices; i++)
        if (strcasecmp(name, devices[i].name) == 0 || has_name(devices[i].others, name))
            return &devices[i];
    return NULL;
}

static void fill(double *field, double value)
{
    if (*field == 0)
        *field = value;
}

int cluster_complete(struct cluster *c, struct error *e)
{
    if (!c->device)
        return error_set(e, ERROR_USAGE, "the device of the cluster is not known");
    if (bounds_check_integers(c, integer_bounds, sizeof integer_bounds / sizeof *integer_bounds, e) ||
        bounds_check_doubles(c, double_bounds, sizeof double_bounds / sizeof *double_bounds, e))
        return -1;
    if (c->devices_per_node == 0)
        c->devices_per_node = 8;
    if (c->link_domain == 0)
        c->link_domain = c->device->link_domain;
    if (c->link_domain < c->devices_per_node)
        c->link_domain = c->devices_per_node;
    fill(&c->intra_bytes_per_s, c->device->link_bytes_per_s);
    fill(&c->inter_bytes_per_s, c->device->adapter_bytes_per_s);
    fill(&c->inter_bytes_per_s, 25e9);
    fill(&c->usable_bytes, c->device->usable_bytes);
    fill(&c->pcie_bytes_per_s, 20e9);
    fill(&c->host_bytes_per_s, 150e9);
    return 0;
}
