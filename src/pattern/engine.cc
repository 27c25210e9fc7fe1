/* The only file that knows RE2. */
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <new>

#include <link.h>

#include <re2/re2.h>

extern "C" {
#include "pattern/engine.h"
#include "util/memory.h"
}

namespace
{

/* The memory of one pattern, compiled and while it is matched; RE2's own measure is 8 MiB. */
constexpr int64_t MEMORY_MOST = 4 << 20;
constexpr size_t GROUPS_MOST = 16;

RE2::Options options()
{
    RE2::Options o;
    o.set_longest_match(true);
    o.set_dot_nl(true);
    o.set_log_errors(false);
    o.set_max_mem(MEMORY_MOST);
    return o;
}

/* Ends at the library: `found` gets the name of its file, which lives as long as the program. */
int find_library(struct dl_phdr_info *info, size_t size, void *found)
{
    const char *slash = strrchr(info->dlpi_name, '/');
    const char *name = slash ? slash + 1 : info->dlpi_name;
    (void)size;
    if (strncmp(name, "libre2.so", strlen("libre2.so")) != 0)
        return 0;
    *static_cast<const char **>(found) = name;
    return 1;
}

} // namespace

struct engine {
    RE2 pattern;
};

extern "C" int engine_create(const char *text, struct engine **out, char why[256])
{
    try {
        engine *n = new engine{RE2(text, options())};
        if (n->pattern.ok()) {
            *out = n;
            return 0;
        }
        snprintf(why, 256, "%s", n->pattern.error().c_str());
        delete n;
    } catch (const std::bad_alloc &) {
        out_of_memory();
    }
    return -1;
}

extern "C" void engine_free(struct engine *n)
{
    delete n;
}

extern "C" size_t engine_group_count(const struct engine *n)
{
    return static_cast<size_t>(n->pattern.NumberOfCapturingGroups());
}

static bool find(const struct engine *n, const re2::StringPiece &whole, const struct text_range &within,
                 re2::StringPiece *found, size_t count)
{
    try {
        return n->pattern.Match(whole, static_cast<size_t>(within.begin), static_cast<size_t>(within.end),
                                RE2::UNANCHORED, found, static_cast<int>(count));
    } catch (const std::bad_alloc &) {
        out_of_memory();
    }
}

extern "C" bool engine_match(const struct engine *n, const char *text, struct text_range within, size_t count,
                             struct text_range *groups)
{
    re2::StringPiece found[GROUPS_MOST];
    const size_t all = engine_group_count(n) + 1;
    const size_t asked = count < all ? count : all;
    const size_t caught = asked < GROUPS_MOST ? asked : GROUPS_MOST;
    const re2::StringPiece whole(text, static_cast<size_t>(within.end) + (text[within.end] != '\0'));
    if (!find(n, whole, within, found, caught))
        return false;
    for (size_t i = 0; i < count; i++) {
        groups[i] = {-1, -1};
        if (i < caught && found[i].data())
            groups[i] = {found[i].data() - text, found[i].data() - text + static_cast<ptrdiff_t>(found[i].size())};
    }
    return true;
}

extern "C" const char *engine_library_name(void)
{
    const char *name = "in the program";
    dl_iterate_phdr(find_library, &name);
    return name;
}
