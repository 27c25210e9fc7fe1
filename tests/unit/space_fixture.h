/* A space built from a sweep file's text, for tests of space and what stands upon it. */
#pragma once

#include "plan/plan.h"
#include "space/build.h"
#include "space/match.h"
#include "sweep_file/reader.h"
#include "unit_test.h"
#include "util/buffer.h"

struct built {
    struct sweep *sweep;
    struct space *space;
};

/* "tp=2 recompute=full targets='q v' parts=['a']" as lines of TOML, where words are texts. The caller's. */
static inline char *toml_of(const char *pairs)
{
    HELD(buffer) b = BUFFER_INIT;
    for (pairs += strspn(pairs, " "); *pairs; pairs += strspn(pairs, " ")) {
        const char *value = strchr(pairs, '=') + 1, *quote = strchr("''\"\"[]", *value);
        const char *end = quote ? strchr(value + 1, quote[1]) + 1 : value + strcspn(value, " ");
        buffer_add(&b, pairs, (size_t)(value - pairs));
        if (quote)
            buffer_add(&b, value, (size_t)(end - value));
        else
            buffer_add_toml_value(&b, value, (size_t)(end - value));
        buffer_add_char(&b, '\n');
        pairs = end;
    }
    return buffer_take(&b);
}

static inline struct built build_text(const char *text)
{
    struct built b = {NULL, NULL};
    const struct space_options options = {0};
    FAIL_IF(sweep_parse("test.toml", text, strlen(text), &b.sweep, &e) < 0 ||
            space_build(b.sweep, &options, &b.space, &e) < 0);
    return b;
}

/* The error that building ends with. */
static inline struct error build_error(const char *text)
{
    struct error e = ERROR_INIT;
    struct sweep *sweep = NULL;
    struct space *space = NULL;
    const struct space_options options = {0};
    if (sweep_parse("test.toml", text, strlen(text), &sweep, &e) == 0) {
        assert_int_equal(space_build(sweep, &options, &space, &e), -1);
        sweep_free(sweep);
    }
    return e;
}

static inline void built_free(struct built *b)
{
    space_free(b->space);
    sweep_free(b->sweep);
}

static inline struct plan plan_of(struct built *b)
{
    struct plan plan;
    const struct plan_request request = {.space = b->space, .policy = &b->sweep->retry};
    FAIL_IF(plan_make(&request, &plan, &e) < 0);
    return plan;
}

/* How many combinations the rule of that name is the first to exclude; -1 when there is no such rule. */
static inline int64_t excluded_by(const struct built *b, const struct plan *p, const char *rule)
{
    for (size_t i = 0; i < b->space->rule_count; i++)
        if (strcmp(b->space->rules[i].name, rule) == 0)
            return p->match.rules[i].excluded;
    return -1;
}
