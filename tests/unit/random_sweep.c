#include "random_sweep.h"

#include <stdbool.h>
#include <string.h>

static const char *const sections[] = {"cluster_spec", "model", "training_spec", "parallel_spec"};
static const char *const section_keys[][4] = {{"ca", "cb", "cc"},
                                              {"ma", "mb", "text_m", "mc"},
                                              {"ta", "tb"},
                                              {"pa", "pb", "pc", "text_p"}};

static bool is_text(const char *key)
{
    return strncmp(key, "text", 4) == 0;
}

/* --- expressions --- */

static void add_number(struct rng *d, const char *const *keys, size_t key_count, int depth, struct buffer *out);

static void add_operand(struct rng *d, const char *const *keys, size_t key_count, struct buffer *out)
{
    static const char *const constants[] = {"0", "1", "2", "3", "7", "12", "2.5", "-1", "NULL"};
    if (key_count > 0 && rng_below(d, 5) > 0)
        buffer_add_text(out, keys[rng_below(d, key_count)]);
    else
        buffer_add_text(out, constants[rng_below(d, sizeof constants / sizeof *constants)]);
}

static void add_two_numbers(struct rng *d, const char *const *keys, size_t key_count, int depth, const char *before,
                            struct buffer *out)
{
    buffer_add_text(out, before);
    add_number(d, keys, key_count, depth + 1, out);
    buffer_add_text(out, ", ");
    add_number(d, keys, key_count, depth + 1, out);
    buffer_add_char(out, ')');
}

static void add_number(struct rng *d, const char *const *keys, size_t key_count, int depth, struct buffer *out)
{
    static const char *const signs[] = {" + ", " - ", " * ", " / ", " % ", " & ", " | ", " << ", " >> "};
    static const char *const calls[] = {"coalesce(", "min(", "max(", "nullif(", "ifnull("};
    uint64_t kind = rng_below(d, 20);
    if (depth > 2 || kind < 8) {
        add_operand(d, keys, key_count, out);
    } else if (kind < 14) {
        buffer_add_char(out, '(');
        add_number(d, keys, key_count, depth + 1, out);
        buffer_add_text(out, signs[rng_below(d, sizeof signs / sizeof *signs)]);
        add_number(d, keys, key_count, depth + 1, out);
        buffer_add_char(out, ')');
    } else if (kind < 17) {
        add_two_numbers(d, keys, key_count, depth, calls[rng_below(d, 5)], out);
    } else if (kind < 18) {
        buffer_add_text(out, "CASE WHEN ");
        draw_predicate(d, keys, key_count, depth + 1, out);
        buffer_add_text(out, " THEN ");
        add_number(d, keys, key_count, depth + 1, out);
        buffer_add_text(out, rng_below(d, 2) ? " ELSE -3 END" : " END");
    } else {
        buffer_add_text(out, rng_below(d, 2) ? "abs(" : "round(");
        add_number(d, keys, key_count, depth + 1, out);
        buffer_add_char(out, ')');
    }
}

static void add_suffix(struct rng *d, const char *const *keys, size_t key_count, struct buffer *out)
{
    static const char *const suffixes[] = {" IS NULL",      " IS NOT NULL",      " IS TRUE",
                                           " IS NOT FALSE", " NOTNULL",          " BETWEEN 1 AND 6",
                                           " IN (1, 2, 8)", " NOT IN (3, NULL)", " NOT BETWEEN 2 AND 4",
                                           " IS NOT TRUE",  " IS FALSE"};
    add_operand(d, keys, key_count, out);
    buffer_add_text(out, suffixes[rng_below(d, sizeof suffixes / sizeof *suffixes)]);
}

void draw_predicate(struct rng *d, const char *const *keys, size_t key_count, int depth, struct buffer *out)
{
    static const char *const signs[] = {" < ", " <= ", " = ", " <> ", " >= ", " > ", " IS ", " IS NOT ", " == "};
    uint64_t kind = rng_below(d, 20);
    if (depth > 2 || kind < 10) {
        add_number(d, keys, key_count, depth + 1, out);
        buffer_add_text(out, signs[rng_below(d, sizeof signs / sizeof *signs)]);
        add_number(d, keys, key_count, depth + 1, out);
    } else if (kind < 15) {
        buffer_add_char(out, '(');
        draw_predicate(d, keys, key_count, depth + 1, out);
        buffer_add_text(out, rng_below(d, 2) ? " AND " : " OR ");
        draw_predicate(d, keys, key_count, depth + 1, out);
        buffer_add_char(out, ')');
    } else if (kind < 16) {
        buffer_add_text(out, "NOT ");
        draw_predicate(d, keys, key_count, depth + 1, out);
    } else if (kind < 19) {
        add_suffix(d, keys, key_count, out);
    } else {
        add_operand(d, keys, key_count, out);
        buffer_add_text(out, " LIKE '1%'");
    }
}

/* --- files --- */

static void add_value(struct rng *d, const char *key, uint64_t number, struct buffer *out)
{
    static const char *const texts[] = {"'a'", "'b'", "'3x'", "'12'", "'auto'", "''"};
    static const char *const odd[] = {"0", "-2", "0.5", "4.0", "16"};
    if (is_text(key))
        buffer_add_text(out, texts[number % 6]);
    else if (rng_below(d, 8) == 0)
        buffer_add_text(out, odd[number % 5]);
    else
        buffer_printf(out, "%d", (int)(number + 1));
}

static void add_axis(struct rng *d, const char *key, uint64_t longest, struct buffer *out)
{
    uint64_t count = 1 + rng_below(d, longest), first = rng_below(d, 4);
    buffer_printf(out, "%s = [", key);
    for (uint64_t i = 0; i < count && !(is_text(key) && i == 6); i++) {
        buffer_add_text(out, i ? ", " : "");
        /* Each value once: what the file repeats is refused. */
        if (is_text(key))
            add_value(d, key, i, out);
        else
            buffer_printf(out, rng_below(d, 8) ? "%d" : "%d.5", (int)(first + i));
    }
    buffer_add_text(out, "]\n");
}

static void add_tied(struct rng *d, const char *const *keys, struct buffer *out)
{
    uint64_t count = 2 + rng_below(d, 3);
    buffer_printf(out, "\"(%s, %s)\" = [", keys[0], keys[1]);
    for (uint64_t i = 0; i < count; i++) {
        buffer_printf(out, "%s[%d, ", i ? ", " : "", (int)i);
        add_value(d, keys[1], rng_below(d, 9), out);
        buffer_add_char(out, ']');
    }
    buffer_add_text(out, "]\n");
}

static void add_block(struct rng *d, int section, uint64_t longest, struct buffer *out)
{
    const char *const *keys = section_keys[section];
    size_t k = 0;
    buffer_printf(out, "[[%s]]\n", sections[section]);
    if (rng_below(d, 3) == 0) {
        add_tied(d, keys, out);
        k = 2;
    }
    for (bool any = k > 0; k < 4 && keys[k]; k++)
        if (!any || rng_below(d, 4) > 0) {
            add_axis(d, keys[k], longest, out);
            any = true;
        }
}

char *draw_sweep(uint64_t seed, uint64_t longest)
{
    struct rng d = rng_stream(seed, 0);
    struct buffer out = BUFFER_INIT;
    const char *keys[16];
    size_t key_count = 0;
    for (int s = 0; s < 4; s++) {
        if (s < 3 && rng_below(&d, 4) == 0)
            continue;
        for (uint64_t blocks = rng_below(&d, 4) ? 1 : 1 + rng_below(&d, 4), b = 0; b < blocks; b++)
            add_block(&d, s, longest, &out);
        /* Every block has the first key, so that rules may read it. */
        keys[key_count++] = section_keys[s][0];
        for (size_t k = 1; k < 4 && section_keys[s][k]; k++)
            if (strstr(buffer_text(&out), section_keys[s][k]))
                keys[key_count++] = section_keys[s][k];
    }
    for (uint64_t i = 0, rules = 1 + rng_below(&d, 5); i < rules; i++) {
        buffer_printf(&out, "[[rule]]\nname = \"r%d\"\n%srequire = \"", (int)i,
                      rng_below(&d, 6) == 0 ? "level = \"warn\"\n" : "");
        draw_predicate(&d, keys, key_count, 0, &out);
        buffer_add_text(&out, "\"\n");
    }
    return buffer_take(&out);
}
