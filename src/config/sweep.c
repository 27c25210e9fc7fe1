#include "config/sweep.h"

#include <string.h>

bool sweep_is_label(const struct sweep *s, const char *key)
{
    for (char *const *label = s->labels; label && *label; label++)
        if (strcmp(*label, key) == 0)
            return true;
    return false;
}

bool word_list_has(const struct word_list *list, const char *text)
{
    for (size_t i = 0; i < list->count; i++)
        if (strcmp(list->items[i].text, text) == 0)
            return true;
    return false;
}

bool sweep_in_profile(const struct sweep *s, const struct position *at)
{
    size_t rank = 0;
    while (s->files && s->files[rank] && s->files[rank] != at->file)
        rank++;
    return s->files && s->files[rank] && rank >= s->profile_rank;
}
