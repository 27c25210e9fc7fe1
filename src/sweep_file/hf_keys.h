/* hf_config in [[model]] blocks: files in place of keys. */
#ifndef MESHSWEEP_SWEEP_FILE_HF_KEYS_H
#define MESHSWEEP_SWEEP_FILE_HF_KEYS_H

#include "config/sweep.h"
#include "sweep_file/reading.h"

#define HF_CONFIG_KEY "hf_config"

/* The keys that the file named by `node` has (hf_config.h) are added to the block, each an axis of one value; those
 * that the block has already, also by a [synonym], stand. The file is looked for beside the sweep file, and its text
 * counts towards what the sweep is. What is wrong with it is a problem at the node. */
void hf_keys_add(const struct reading *r, const struct toml_node *node, struct block *block);

/* Those of configs/knowledge/model_types.toml, which are read when they are first asked for. Static. */
const struct hf_type_table *model_types_carried(void);

#endif
