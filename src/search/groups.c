#include <stdlib.h>
#include <string.h>

#include "search/candidates.h"
#include "search/surrogate_parts.h"
#include "util/buffer.h"
#include "util/memory.h"

/* By group: its first candidate and the number of candidates. The caller frees it. */
struct members {
    size_t first, count;
};

static struct members *members_of(const struct search_space *s)
{
    struct members *m = xcalloc(s->group_count + 1, sizeof *m);
    for (size_t i = 0; i < s->count; i++) {
        struct members *own = &m[s->candidates[i].group];
        if (own->count++ == 0)
            own->first = i;
    }
    return m;
}

/* Whether the key differs between groups but never within one. */
static bool tells_apart(const struct search_space *s, const struct members *m, size_t key)
{
    bool differs = false;
    for (size_t i = 0; i < s->count; i++) {
        const struct candidate *first = &s->candidates[m[s->candidates[i].group].first];
        if (!surrogate_same(s->candidates[i].values[key], first->values[key]))
            return false;
    }
    for (size_t g = 1; g < s->group_count && !differs; g++)
        differs = !surrogate_same(s->candidates[m[g].first].values[key], s->candidates[m[0].first].values[key]);
    return differs;
}

/* Sections whose keys separate jobs if there is no group_by. People seldom want a winner for each value of a
 * training_spec key; they may want one for each model or cluster. */
static const struct {
    const char *section;
    bool is_kept;
} sections[] = {{"model", true}, {"cluster_spec", true}, {"training_spec", false}};

static void add_keys(const struct search_space *s, const struct members *m, bool kept, const char *quote,
                     struct buffer *out)
{
    for (size_t k = 0; k < s->key_count; k++)
        for (size_t i = 0; i < sizeof sections / sizeof *sections; i++)
            if (sections[i].is_kept == kept && strcmp(s->sections[k], sections[i].section) == 0 && tells_apart(s, m, k))
                buffer_printf(out, "%s%s%s.%s%s", out->length ? ", " : "", quote, s->sections[k], s->keys[k], quote);
}

char *candidate_set_groups(const struct candidate_set *set)
{
    const struct search_space *s = &set->space;
    struct buffer kept = BUFFER_INIT, others = BUFFER_INIT, quoted = BUFFER_INIT;
    size_t least = SIZE_MAX, most = 0;
    char *text;
    if (s->group_count < 2)
        return NULL;
    struct members *m = members_of(s);
    for (size_t g = 0; g < s->group_count; g++) {
        least = m[g].count < least ? m[g].count : least;
        most = m[g].count > most ? m[g].count : most;
    }
    add_keys(s, m, true, "", &kept);
    add_keys(s, m, false, "", &others);
    add_keys(s, m, true, "\"", &quoted);
    char *size = least == most ? xasprintf("%zu", most) : xasprintf("%zu to %zu", least, most);
    const char *both = kept.length && others.length ? ", " : "";
    const char *by = kept.length + others.length == 0 ? "their global batch" : "";
    text = xasprintf("%zu groups of %s jobs compete separately, by %s%s%s%s; with [sweep] group_by = [%s] %s",
                     s->group_count, size, by, buffer_text(&kept), both, buffer_text(&others),
                     others.length ? buffer_text(&quoted) : "",
                     kept.length && others.length ? "they are separated only by model, cluster and global batch"
                                                  : "all jobs compete with each other");
    free(size);
    free(m);
    buffer_free(&kept);
    buffer_free(&others);
    buffer_free(&quoted);
    return text;
}
