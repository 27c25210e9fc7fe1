/* The words that inputs of predictions take. Each list ends with an entry without text. */
#pragma once

/* A word and its value; numbers are taken as they are. */
struct input_word {
    const char *text;
    int value;
};

extern const struct input_word family_words[];
extern const struct input_word schedule_words[];
extern const struct input_word split_words[];
extern const struct input_word recompute_words[];
extern const struct input_word loss_words[];
extern const struct input_word held_words[];
extern const struct input_word qk_norm_words[];
extern const struct input_word mixer_words[];
extern const struct input_word module_words[];
extern const struct input_word tuning_words[];
extern const struct input_word quantization_words[];
extern const struct input_word saved_words[];
extern const struct input_word norm_words[];
extern const struct input_word adapter_words[];
extern const struct input_word expert_kernel_words[];
extern const struct input_word quantization_kernel_words[];
extern const struct input_word target_words[];
extern const struct input_word offload_words[];
extern const struct input_word precision_words[];
extern const struct input_word weights_words[];
extern const struct input_word optimizer_words[];
extern const struct input_word optimizer_kernel_words[];
extern const struct input_word attention_words[];
extern const struct input_word recompute_method_words[];
extern const struct input_word dispatcher_words[];
