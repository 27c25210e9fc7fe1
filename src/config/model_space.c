#include "config/model_space.h"

#include <string.h>

const char *const dhen_key_names[DHEN_KEY_COUNT] = {
    [DHEN_KEY_FEATURES] = "num_features",
    [DHEN_KEY_EMB_DIM] = "emb_dim",
    [DHEN_KEY_OUTPUTS] = "output_per_emb",
    [DHEN_KEY_TOKENS] = "tokens",
};

const struct base_key *model_space_base_key(const struct model_space_table *m, const char *name)
{
    for (size_t i = 0; i < m->base_count; i++)
        if (strcmp(m->base[i].name, name) == 0)
            return &m->base[i];
    return NULL;
}
