#include "space/compile.h"

#include <stdlib.h>
#include <string.h>

#include "database/guard.h"
#include "util/buffer.h"
#include "util/memory.h"

/* A profile speaks of keys that a sweep need not have. */
enum unknown_names unknown_at(const struct space *space, const struct position *at)
{
    return sweep_in_profile(space->sweep, at) ? UNKNOWN_IS_NULL : UNKNOWN_IS_ERROR;
}

static int add_problem(const struct source_text *source, const char *why, struct problems *problems)
{
    const struct position nowhere = {NULL, 0, 0};
    const bool unknown = source->otherwise && strncmp(why, "unknown key", 11) == 0 && !strstr(why, "did you mean");
    problems_add(problems, source->at ? *source->at : nowhere, "%s `%s`: %s%s", source->what, source->name, why,
                 unknown ? source->otherwise : "");
    return -1;
}

static struct expression copy(const struct expression *x)
{
    struct expression c = *x;
    c.sql = xstrdup(x->sql);
    c.keys = xcalloc(x->key_count + 1, sizeof *c.keys);
    for (size_t i = 0; i < x->key_count; i++)
        c.keys[i] = x->keys[i];
    return c;
}

static void note_written(struct space *space, const struct source_text *source, const struct expression *x)
{
    *array_add(space->written, space->written_count) =
        (struct written_expression){source->what, xstrdup(source->name),
                                    source->at ? *source->at : (struct position){NULL, 0, 0}, copy(x)};
}

void compile_free(struct space *space)
{
    for (size_t i = 0; i < space->written_count; i++) {
        free(space->written[i].name);
        expression_free(&space->written[i].expression);
    }
    free(space->written);
}

int compile_expression(struct space *space, const struct source_text *source, struct expression *out,
                       struct problems *problems)
{
    struct expression x = EXPRESSION_INIT;
    struct error why = ERROR_INIT;
    struct stmt *probe = NULL;
    if (expression_resolve(&space->names, source->text, source->unknown, &x, &why) < 0)
        return add_problem(source, why.text, problems);
    struct buffer sql = BUFFER_INIT;
    /* As a condition, where an aggregate has no place. */
    buffer_add_text(&sql, "SELECT 1");
    space_add_from(space, x.sections, &sql);
    buffer_printf(&sql, " AND %s", x.sql);
    int rc = guard_prepare(space->db, buffer_text(&sql), &probe, &why);
    stmt_free(probe);
    buffer_free(&sql);
    if (rc < 0) {
        expression_free(&x);
        return add_problem(source, why.text, problems);
    }
    note_written(space, source, &x);
    *out = x;
    return 0;
}

/* Returns advice on what a person can do about the error. */
static const char *advice_on(const char *why)
{
    return strcmp(why, "malformed JSON") == 0 ? "; CASE WHEN json_valid(X) THEN … END reads only what is JSON" : "";
}

int compile_blame(struct space *space, struct error *e)
{
    struct error why = ERROR_INIT;
    bool found = false;
    /* Others have said what is wrong already. */
    for (size_t i = 0; e->kind == ERROR_FAILED && !found && i < space->written_count; i++) {
        const struct written_expression *w = &space->written[i];
        found = evaluator_fails(space->evaluator, &w->expression, &why);
        if (!found)
            continue;
        error_set(e, ERROR_USAGE, "%s `%s` fails for a combination: %s%s", w->what, w->name, why.text,
                  advice_on(why.text));
        if (w->at.file)
            error_context(e, "%s:%d:%d", w->at.file, w->at.line, w->at.column);
    }
    return -1;
}

int compile_alone(struct space *space, const struct source_text *source, struct expression *out, struct error *e)
{
    struct problems problems = PROBLEMS_INIT;
    int rc = compile_expression(space, source, out, &problems);
    if (rc < 0)
        problems_report(&problems, NULL, e);
    problems_free(&problems);
    return rc;
}
