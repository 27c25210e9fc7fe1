#include "util/unit.h"

#include <stddef.h>
#include <string.h>

#include "util/memory.h"

static const struct {
    const char *text;
    double factor;
} prefixes[] = {{"", 1},      {"n", 1e-9},     {"u", 1e-6},        {"\xc2\xb5", 1e-6},   {"m", 1e-3}, {"k", 1e3},
                {"K", 1e3},   {"M", 1e6},      {"G", 1e9},         {"B", 1e9},           {"T", 1e12}, {"P", 1e15},
                {"Ki", 1024}, {"Mi", 1048576}, {"Gi", 1073741824}, {"Ti", 1099511627776}};

static const char *const bases[] = {"s", "B", "FLOPS", "FLOPs", "FLOP", "MACs"};

static const struct {
    const char *word, *base;
    double factor;
} words[] = {
    {"sec", "s", 1},        {"secs", "s", 1},        {"second", "s", 1},       {"seconds", "s", 1},
    {"msec", "s", 1e-3},    {"msecs", "s", 1e-3},    {"usec", "s", 1e-6},      {"usecs", "s", 1e-6},
    {"min", "s", 60},       {"minute", "s", 60},     {"minutes", "s", 60},     {"h", "s", 3600},
    {"hour", "s", 3600},    {"hours", "s", 3600},    {"byte", "B", 1},         {"bytes", "B", 1},
    {"iter", "it", 1},      {"iters", "it", 1},      {"iteration", "it", 1},   {"iterations", "it", 1},
    {"it", "it", 1},        {"sample", "sample", 1}, {"samples", "sample", 1}, {"token", "token", 1},
    {"tokens", "token", 1}, {"step", "step", 1},     {"steps", "step", 1},     {"%", "%", 1},
    {"nsec", "s", 1e-9},
};

/* One side of a rate. `base` is NULL for what is not known; "" for a bare count. */
struct unit_part {
    const char *base;
    double factor;
};

static double prefix_of(const char *text, size_t n)
{
    for (size_t i = 0; i < LENGTH(prefixes); i++)
        if (strlen(prefixes[i].text) == n && memcmp(prefixes[i].text, text, n) == 0)
            return prefixes[i].factor;
    return 0;
}

static struct unit_part parse_part(const char *text, size_t n)
{
    for (size_t i = 0; i < LENGTH(words); i++)
        if (strlen(words[i].word) == n && memcmp(words[i].word, text, n) == 0)
            return (struct unit_part){words[i].base, words[i].factor};
    for (size_t i = 0; i < LENGTH(bases); i++) {
        size_t length = strlen(bases[i]);
        if (n < length || memcmp(text + n - length, bases[i], length) != 0)
            continue;
        double factor = prefix_of(text, n - length);
        if (factor > 0)
            return (struct unit_part){bases[i], factor};
    }
    double factor = prefix_of(text, n);
    return factor > 0 ? (struct unit_part){"", factor} : (struct unit_part){NULL, 1};
}

struct parsed_unit {
    struct unit_part above, below; /* below.base is NULL where there is no "/" or it is not known */
    bool known;
};

static struct parsed_unit parse_unit(const char *text)
{
    const char *slash = strchr(text, '/');
    size_t n = slash ? (size_t)(slash - text) : strlen(text);
    struct parsed_unit u = {.above = parse_part(text, n), .below = {NULL, 1}};
    if (slash)
        u.below = parse_part(slash + 1, strlen(slash + 1));
    u.known = u.above.base && (!slash || u.below.base);
    return u;
}

static bool same_base(const struct unit_part *a, const struct unit_part *b)
{
    return a->base == b->base || (a->base && b->base && strcmp(a->base, b->base) == 0);
}

bool unit_convert(double value, const char *from, const char *to, double *out)
{
    struct parsed_unit a = parse_unit(from), b = parse_unit(to);
    double count = prefix_of(from, strlen(from));
    if (!*to && count > 0)
        a.above = (struct unit_part){"", count}; /* "1.3 B" of parameters are no bytes */
    /* "1.2K" of whatever it is; a small letter would as well be a unit of its own, "5 m" are perhaps minutes. */
    if (a.known && !a.below.base && a.above.base[0] == '\0' && a.above.factor >= 1000 && strcmp(from, to) != 0) {
        *out = value * a.above.factor;
        return true;
    }
    if (!*from || strcmp(from, to) == 0 || !a.known || (*to && !b.known)) {
        *out = value;
        return true;
    }
    if (same_base(&a.above, &b.above) && same_base(&a.below, &b.below)) {
        *out = value * (a.above.factor / a.below.factor) / (b.above.factor / b.below.factor);
        return true;
    }
    if (!a.below.base || !same_base(&a.above, &b.below) || !same_base(&a.below, &b.above))
        return false;
    *out = 1 / (value * (a.above.factor / a.below.factor)) / (b.above.factor / b.below.factor);
    return true;
}

bool unit_is_known(const char *unit)
{
    double ignored;
    return !unit_convert(1, unit, "s", &ignored) || !unit_convert(1, unit, "B", &ignored);
}
