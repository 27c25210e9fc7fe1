/* What a prediction is made from: a combination's values, by the names that sweep files use (input_table.h), become an
 * architecture, a plan and a cluster.
 *
 * Needed: layers, hidden, heads, vocab and seq (ViT: image, patch), or else params and activation_memory, as a short
 * run of the model shows them (struct measured_model); and micro_batch or global_batch. All others have the defaults of
 * architecture.h and plan.h. Further:
 *   family               vit with `image`; llama with one of kv_heads, gated_mlp, rms_norm; else gpt
 *   dp                   devices / (tp · pp · cp), when it is not given and divides
 *   gradient_accumulation, micro_batch, global_batch: the third follows from two; 1 when only one is given
 *   sequence_parallel, flash_attention, recompute_allgather: not, yes, yes
 *   recompute_modules, lora_targets    names with blanks, commas or plus signs between them; what is not known is
 *                        refused
 *   quantization         nf4 with peft = qlora
 *   precision            fp32 where bf16 or fp16 is given and neither is on; else bf16
 * Pure. */
#ifndef MESHSWEEP_PREDICT_INPUTS_H
#define MESHSWEEP_PREDICT_INPUTS_H

#include <stdbool.h>
#include <stddef.h>

#include "predict/architecture.h"
#include "predict/input_table.h"
#include "predict/memory.h"
#include "predict/plan.h"
#include "util/buffer.h"
#include "util/error.h"

/* How an error begins that refuses a value because no input takes it. */
#define INPUT_NOT_KNOWN "the predictor does not know "

enum input_kind { INPUT_ABSENT = 0, INPUT_NUMBER, INPUT_TEXT };

struct input_value {
    enum input_kind kind;
    double number; /* true is 1 */
    const char *text;
};

struct subject {
    /* Completed; of `is_measured` only a stand-in that the plan can be completed for. */
    struct architecture architecture;
    bool is_measured; /* the architecture is not known: `measured` stands in its place */
    struct measured_model measured;
    struct training_plan plan;                   /* completed */
    bool says_recompute;                         /* some key does */
    bool says_gathered;                          /* whether gathered inputs are kept */
    double nodes, devices_per_node, link_domain; /* link_domain 0: the device's */
    double usable_bytes, steps;                  /* 0: not given */
    const char *framework, *device, *cluster;    /* borrowed from the values; NULL: not given */
};

/* Appends the names of needed inputs that are not `present` (INPUT_COUNT flags), ", " between them. Nothing: all
 * there. */
void inputs_add_missing(const bool *present, struct buffer *out);

/* From INPUT_COUNT values. -1 (ERROR_USAGE), `out` untouched, when a needed one is absent, a number is not a whole one
 * or of no possible size, a word is unknown, or the degrees do not go with the devices. */
int inputs_decode(const struct input_value *values, struct subject *out, struct error *e);

#endif
