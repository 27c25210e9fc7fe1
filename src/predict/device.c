#include "predict/device.h"

#include <ctype.h>
#include <stddef.h>
#include <string.h>
#include <strings.h>

#include "predict/bounds.h"

#define GIB 1073741824.0
#define UNMEASURED_ATTENTION 0.35

/* The best of FlashAttention-4 on B200 is 1613 TFLOP/s forward, 1.3 times cuDNN's (arXiv 2603.05451); forward and
 * backward are 0.9 of forward, as FlashAttention-2's on H100. Exponentials bound it, of which GB200 has no more. */
#define BLACKWELL_ATTENTION (0.9 * 1613e12 / 1.3)

#define HOPPER_ATTENTION (3.5 / (1 / 609e12 + 2.5 / 499e12)) /* cuDNN's: device.h */

#define TPU_PRODUCT (89.3 / 94.1) /* device.h */

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
    {.name = "V100-PCIe-16GB",
     .source = "NVIDIA V100 datasheet",
     UNMEASURED(112e12),
     .fp8_factor = 1,
     .fp4_factor = 1,
     .fp32_factor = 0.125,
     .memory_bytes_per_s = 900e9,
     .usable_bytes = 15.78 * GIB,
     .link_bytes_per_s = 12.5e9},
    {.name = "V100-PCIe-32GB",
     .source = "NVIDIA V100 datasheet",
     UNMEASURED(112e12),
     .fp8_factor = 1,
     .fp4_factor = 1,
     .fp32_factor = 0.125,
     .memory_bytes_per_s = 900e9,
     .usable_bytes = 31.74 * GIB,
     .link_bytes_per_s = 12.5e9},
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
    {.name = "A10",
     .others = "A10-PCIe",
     .source = "NVIDIA A10 datasheet",
     UNMEASURED(125e12),
     .fp8_factor = 1,
     .fp4_factor = 1,
     .fp32_factor = 0.5,
     .memory_bytes_per_s = 600e9,
     .usable_bytes = 22.2 * GIB,
     .link_bytes_per_s = 25e9},
    {.name = "A30",
     .source = "NVIDIA A30 datasheet",
     UNMEASURED(165e12),
     .fp8_factor = 1,
     .fp4_factor = 1,
     .fp32_factor = 0.5,
     .memory_bytes_per_s = 933e9,
     .usable_bytes = 23.6 * GIB,
     .link_bytes_per_s = 100e9},
    {.name = "A40",
     .source = "NVIDIA A40 datasheet",
     UNMEASURED(149.7e12),
     .fp8_factor = 1,
     .fp4_factor = 1,
     .fp32_factor = 0.5,
     .memory_bytes_per_s = 696e9,
     .usable_bytes = 44.4 * GIB,
     .link_bytes_per_s = 56.25e9},
    {.name = "RTX-A6000",
     .others = "A6000",
     .source = "NVIDIA RTX A6000 datasheet",
     UNMEASURED(154.8e12),
     .fp8_factor = 1,
     .fp4_factor = 1,
     .fp32_factor = 0.5,
     .memory_bytes_per_s = 768e9,
     .usable_bytes = 47.4 * GIB,
     .link_bytes_per_s = 56.25e9},
    {.name = "RTX-3090",
     .others = "3090",
     .source = "NVIDIA Ampere GA102 architecture whitepaper; half rate where sums are in fp32",
     UNMEASURED(71e12),
     .fp8_factor = 1,
     .fp4_factor = 1,
     .fp32_factor = 0.5,
     .memory_bytes_per_s = 936e9,
     .usable_bytes = 23.6 * GIB,
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
    {.name = "A100-PCIe-40GB",
     .others = "A100-40GB-PCIe",
     .source = "NVIDIA A100 datasheet; a bridge joins two",
     UNMEASURED(312e12),
     .fp8_factor = 1,
     .fp4_factor = 1,
     .fp32_factor = 0.5,
     .memory_bytes_per_s = 1555e9,
     .usable_bytes = 39.4 * GIB,
     .link_bytes_per_s = 25e9},
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
    {.name = "A100-PCIe-80GB",
     .others = "A100 80GB PCIe|A100-80GB-PCIe",
     .source = "NVIDIA A100 datasheet; a bridge joins two",
     UNMEASURED(312e12),
     .fp8_factor = 1,
     .fp4_factor = 1,
     .fp32_factor = 0.5,
     .memory_bytes_per_s = 1935e9,
     .usable_bytes = 79.1 * GIB,
     .link_bytes_per_s = 25e9},
    {.name = "A800-80GB",
     .others = "A800|A800-SXM4-80GB",
     .source = "NVIDIA A800 datasheet: an A100 of 400 GB/s of NVLink",
     UNMEASURED(312e12),
     .fp8_factor = 1,
     .fp4_factor = 1,
     .fp32_factor = 0.5,
     .memory_bytes_per_s = 2039e9,
     .usable_bytes = 79.1 * GIB,
     .link_bytes_per_s = 200e9},
    {.name = "L40S",
     .source = "NVIDIA L40S datasheet",
     UNMEASURED(362e12),
     .fp8_factor = 2,
     .fp4_factor = 2,
     .fp32_factor = 0.5,
     .memory_bytes_per_s = 864e9,
     .usable_bytes = 44.5 * GIB,
     .link_bytes_per_s = 25e9},
    {.name = "L40",
     .source = "NVIDIA L40 datasheet",
     UNMEASURED(181e12),
     .fp8_factor = 2,
     .fp4_factor = 2,
     .fp32_factor = 0.5,
     .memory_bytes_per_s = 864e9,
     .usable_bytes = 44.5 * GIB,
     .link_bytes_per_s = 25e9},
    {.name = "L4",
     .source = "NVIDIA L4 datasheet",
     UNMEASURED(121e12),
     .fp8_factor = 2,
     .fp4_factor = 2,
     .fp32_factor = 0.5,
     .memory_bytes_per_s = 300e9,
     .usable_bytes = 22.0 * GIB,
     .link_bytes_per_s = 25e9},
    {.name = "RTX-6000-Ada",
     .others = "RTX 6000 Ada Generation",
     .source = "NVIDIA RTX 6000 Ada datasheet",
     UNMEASURED(364e12),
     .fp8_factor = 2,
     .fp4_factor = 2,
     .fp32_factor = 0.25,
     .memory_bytes_per_s = 960e9,
     .usable_bytes = 47.4 * GIB,
     .link_bytes_per_s = 25e9},
    {.name = "RTX-4090",
     .others = "4090",
     .source = "NVIDIA Ada GPU architecture whitepaper; half rate where sums are in fp32",
     UNMEASURED(165.2e12),
     .fp8_factor = 2,
     .fp4_factor = 2,
     .fp32_factor = 0.5,
     .memory_bytes_per_s = 1008e9,
     .usable_bytes = 23.5 * GIB,
     .link_bytes_per_s = 25e9},
    {.name = "RTX-5090",
     .others = "5090",
     .source = "NVIDIA RTX Blackwell GPU architecture whitepaper; half rate where sums are in fp32",
     UNMEASURED(209.5e12),
     .fp8_factor = 2,
     .fp4_factor = 8,
     .fp32_factor = 0.5,
     .memory_bytes_per_s = 1792e9,
     .usable_bytes = 31.3 * GIB,
     .link_bytes_per_s = 50e9},
    {.name = "RTX-PRO-6000",
     .others = "RTX PRO 6000 Blackwell Server Edition|RTX PRO 6000 Blackwell Workstation Edition|RTX 6000 "
               "Blackwell|RTX-6000-Blackwell|RTX PRO 6000 Blackwell",
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
     .latest_attention_flops = HOPPER_ATTENTION * 756 / 989.5,
     .fp8_factor = 2,
     .fp4_factor = 2,
     .fp32_factor = 0.5,
     .memory_bytes_per_s = 2000e9,
     .usable_bytes = 79.1 * GIB,
     .link_bytes_per_s = 50e9},
    {.name = "H100-NVL",
     .others = "H100-94GB|H100-NVL-94GB",
     .source = "NVIDIA H100 NVL datasheet; a bridge joins two",
     UNMEASURED(835.5e12),
     .fp8_factor = 2,
     .fp4_factor = 2,
     .fp32_factor = 0.5,
     .memory_bytes_per_s = 3900e9,
     .usable_bytes = 93.1 * GIB,
     .link_bytes_per_s = 50e9},
    {.name = "H100",
     .others = "H100-80GB|H100-SXM|H100-SXM5|H100-SXM5-80GB|H100-80GB-HBM3",
     .source = "NVIDIA H100 datasheet",
     .measured = true,
     .peak_flops = 989.5e12,
     .attention_flops = 335e12,
     .latest_attention_flops = HOPPER_ATTENTION,
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
     .latest_attention_flops = HOPPER_ATTENTION,
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
     .latest_attention_flops = HOPPER_ATTENTION,
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
     .latest_attention_flops = HOPPER_ATTENTION,
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
    {.name = "H200-NVL",
     .source = "NVIDIA H200 datasheet; bridges join two or four",
     UNMEASURED(835.5e12),
     .fp8_factor = 2,
     .fp4_factor = 2,
     .fp32_factor = 0.5,
     .memory_bytes_per_s = 4800e9,
     .usable_bytes = 139.0 * GIB,
     .link_bytes_per_s = 50e9},
    {.name = "GH200",
     .others = "GH200-96GB|GH200-480GB",
     .source = "NVIDIA GH200 datasheet, with 96 GB of HBM3",
     UNMEASURED(989.5e12),
     .fp8_factor = 2,
     .fp4_factor = 2,
     .fp32_factor = 0.5,
     .memory_bytes_per_s = 4000e9,
     .usable_bytes = 94.5 * GIB,
     .adapter_bytes_per_s = 50e9,
     .link_bytes_per_s = 450e9},
    {.name = "GH200-144GB",
     .others = "GH200-141GB",
     .source = "NVIDIA GH200 datasheet, with 144 GB of HBM3e",
     UNMEASURED(989.5e12),
     .fp8_factor = 2,
     .fp4_factor = 2,
     .fp32_factor = 0.5,
     .product_share = 0.838,
     .fp8_share = 0.776,
     .memory_bytes_per_s = 4900e9,
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
    {.name = "MI250",
     .source =
         "AMD Instinct MI250 datasheet, a half of a card, which is a device to PyTorch; rocm.docs.amd.com, MI250: "
         "four links of 50 GB/s to the other half, three to other cards",
     UNMEASURED(181e12),
     .fp8_factor = 1,
     .fp4_factor = 1,
     .fp32_factor = 0.25,
     .memory_bytes_per_s = 1638e9,
     .usable_bytes = 63.9 * GIB,
     .adapter_bytes_per_s = 12.5e9,
     .link_bytes_per_s = 150e9},
    {.name = "MI250X",
     .source =
         "AMD Instinct MI250X datasheet, a half of a card, which is a device to PyTorch; rocm.docs.amd.com, MI250: "
         "four links of 50 GB/s to the other half, three to other cards",
     UNMEASURED(191.5e12),
     .fp8_factor = 1,
     .fp4_factor = 1,
     .fp32_factor = 0.25,
     .memory_bytes_per_s = 1638e9,
     .usable_bytes = 63.9 * GIB,
     .adapter_bytes_per_s = 12.5e9,
     .link_bytes_per_s = 150e9},
    {.name = "MI300X",
     .source = "AMD Instinct MI300X datasheet",
     UNMEASURED(1307e12),
     .fp8_factor = 2,
     .fp4_factor = 2,
     .fp32_factor = 0.5,
     .product_share = 668.4 / 1307,
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
     .product_share = 784.9 / 1307,
     .memory_bytes_per_s = 6000e9,
     .usable_bytes = 255.5 * GIB,
     .adapter_bytes_per_s = 50e9,
     .link_bytes_per_s = 448e9},
    {.name = "MI350X",
     .source = "AMD Instinct MI350X datasheet",
     UNMEASURED(2300e12),
     .fp8_factor = 2,
     .fp4_factor = 4,
     .fp32_factor = 0.0625,
     .memory_bytes_per_s = 8000e9,
     .usable_bytes = 287.5 * GIB,
     .adapter_bytes_per_s = 50e9,
     .link_bytes_per_s = 537e9},
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
    {.name = "TPU-v4",
     .others = "TPU v4|v4",
     .source = "Google Cloud TPU v4 documentation",
     UNMEASURED(275e12),
     .fp8_factor = 1,
     .fp4_factor = 1,
     .fp32_factor = 0.5,
     .product_share = TPU_PRODUCT,
     .memory_bytes_per_s = 1200e9,
     .usable_bytes = 32 * GIB,
     .adapter_bytes_per_s = 6.25e9,
     .link_bytes_per_s = 300e9,
     .collective_engines = true,
     .link_domain = 4096},
    {.name = "TPU-v5e",
     .others = "TPU v5e|v5e|v5litepod|TPU v5 lite",
     .source = "Google Cloud TPU v5e documentation",
     UNMEASURED(197e12),
     .fp8_factor = 1,
     .fp4_factor = 1,
     .fp32_factor = 0.5,
     .product_share = TPU_PRODUCT,
     .memory_bytes_per_s = 819e9,
     .usable_bytes = 15.75 * GIB,
     .adapter_bytes_per_s = 3.125e9,
     .link_bytes_per_s = 200e9,
     .collective_engines = true,
     .link_domain = 256},
    {.name = "TPU-v5p",
     .others = "TPU v5p|v5p",
     .source = "Google Cloud TPU v5p documentation",
     UNMEASURED(459e12),
     .fp8_factor = 1,
     .fp4_factor = 1,
     .fp32_factor = 0.5,
     .product_share = TPU_PRODUCT,
     .memory_bytes_per_s = 2765e9,
     .usable_bytes = 95 * GIB,
     .adapter_bytes_per_s = 6.25e9,
     .link_bytes_per_s = 600e9,
     .collective_engines = true,
     .link_domain = 8960},
    {.name = "TPU-v6e",
     .others = "TPU v6e|v6e|Trillium",
     .source = "Google Cloud TPU v6e documentation",
     UNMEASURED(918e12),
     .fp8_factor = 1,
     .fp4_factor = 1,
     .fp32_factor = 0.5,
     .product_share = TPU_PRODUCT,
     .memory_bytes_per_s = 1638e9,
     .usable_bytes = 31.25 * GIB,
     .adapter_bytes_per_s = 12.5e9,
     .link_bytes_per_s = 400e9,
     .collective_engines = true,
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
     .collective_engines = true,
     .link_domain = 16},
};

const struct device *device_table(int64_t *count)
{
    *count = sizeof devices / sizeof *devices;
    return devices;
}

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

/* What drivers and shops write before a name. */
static const char *const makers[] = {"nvidia", "tesla", "geforce", "amd", "instinct", "google", "cloud", "aws", NULL};

static bool is_between(char c)
{
    return c == ' ' || c == '-' || c == '_';
}

/* The name at `*at` up to `end` without its makers. */
static void skip_makers(const char **at, const char *end)
{
    for (size_t i = 0; makers[i];) {
        size_t length = tolower((unsigned char)**at) == makers[i][0] ? strlen(makers[i]) : 0;
        if (length && (size_t)(end - *at) > length && strncasecmp(*at, makers[i], length) == 0 &&
            is_between((*at)[length])) {
            *at += length + 1;
            i = 0;
        } else {
            i++;
        }
    }
}

/* "NVIDIA A100-SXM4-80GB" is "a100 sxm4 80gb": blanks, dashes and case do not count. */
static bool is_same(const char *a, const char *a_end, const char *b, const char *b_end)
{
    skip_makers(&a, a_end);
    skip_makers(&b, b_end);
    for (;; a++, b++) {
        while (a < a_end && is_between(*a))
            a++;
        while (b < b_end && is_between(*b))
            b++;
        if (a == a_end || b == b_end || tolower((unsigned char)*a) != tolower((unsigned char)*b))
            return a == a_end && b == b_end;
    }
}

/* Whether `list`, whose names are separated by bars, has it. */
static bool has_name(const char *list, const char *name)
{
    const char *name_end = name + strlen(name);
    for (const char *at = list; at;) {
        const char *bar = strchr(at, '|');
        if (is_same(at, bar ? bar : at + strlen(at), name, name_end))
            return true;
        at = bar ? bar + 1 : NULL;
    }
    return false;
}

/* Asked for each combination, nearly always by the table's own name. */
const struct device *device_find(const char *name)
{
    const size_t count = sizeof devices / sizeof *devices;
    if (strspn(name, " -_") == strlen(name))
        return NULL;
    for (size_t i = 0; i < count; i++)
        if (strcmp(devices[i].name, name) == 0)
            return &devices[i];
    for (size_t i = 0; i < count; i++)
        if (has_name(devices[i].name, name) || (devices[i].others && has_name(devices[i].others, name)))
            return &devices[i];
    return NULL;
}

bool device_is_kind(const char *name)
{
    static const char *const kinds[] = {"cuda", "gpu", "cpu", "hip", "xpu", "tpu", "npu", "mps", "xla"};
    size_t length = strcspn(name, ":");
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (strlen(kinds[i]) == length && strncasecmp(kinds[i], name, length) == 0)
            return true;
    return false;
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
