/* Turns the values of a combination, under the names that sweep files use (input_table.h), into an architecture, a plan
 * and a cluster.
 *
 * Required: layers, hidden, heads, vocab and seq (ViT: image, patch), or else params and activation_memory, as measured
 * in a short run of the model (struct measured_model); and micro_batch or global_batch. All others have the defaults of
 * architecture.h and plan.h, and these:
 *   family               vit with `image`; llama with one of kv_heads, gated_mlp, rms_norm; else gpt
 *   dp                   devices / (tp · pp · cp), if not given and whole
 *   gradient_accumulation, micro_batch, global_batch: the third follows from two; 1 if only one is given
 *   sequence_parallel, flash_attention, recompute_allgather, chunked_loss, backward_prefetch: no, yes, yes, no,
 *                        yes
 *   recompute_modules, lora_targets    names separated by blanks, commas or plus signs; unknown names are rejected
 *   packing              not known; no with padding_free, unless mean_tokens is seq
 *   quantization         nf4 with peft = qlora
 *   precision            fp32 if bf16 or fp16 is given and neither is on; else bf16
 * Pure. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "predict/architecture.h"
#include "predict/input_table.h"
#include "predict/memory.h"
#include "predict/plan.h"
#include "util/buffer.h"
#include "util/error.h"

/* Start of an error that rejects a value because no input takes it. */
#define INPUT_NOT_KNOWN "the predictor does not know "

enum input_kind { INPUT_ABSENT = 0, INPUT_NUMBER, INPUT_TEXT };

struct input_value {
    enum input_kind kind;
    double number; /* true is 1 */
    const char *text;
};

struct subject {
    /* Completed. With `is_measured`, only a placeholder for completing the plan. */
    struct architecture architecture;
    bool is_measured; /* the architecture is not known; `measured` replaces it */
    struct measured_model measured;
    struct training_plan plan;                   /* completed */
    bool says[INPUT_COUNT];                      /* some key gives the input */
    double nodes, devices_per_node, link_domain; /* link_domain 0: the device's */
    double usable_bytes, steps;                  /* 0: not given */
    double device_share;                         /* of its device; 0 or 1: all of it */
    double server_share;                         /* of the device's memory, that a server beside it keeps */
    double power_limit;                          /* watts of a device; 0: its own */
    const char *framework, *device, *cluster;    /* borrowed from the values; NULL: not given */
};

/* Appends the names of required inputs that are missing, separated by ", ". `present` has INPUT_COUNT flags. Appends
 * nothing if none is missing. */
void inputs_add_missing(const bool *present, struct buffer *out);

/* `values` has INPUT_COUNT entries. -1 (ERROR_USAGE), `out` untouched, if a required one is missing, a number is not
 * whole or out of range, a word is unknown, or the degrees do not match the devices. */
int inputs_decode(const struct input_value *values, struct subject *out, struct error *e);
