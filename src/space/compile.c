#include "space/compile.h"

#include "space/join.h"
#include "store/guard.h"
#include "util/buffer.h"

/* A profile speaks of keys that a sweep need not have. */
enum unknown_names unknown_at(const struct space *space, const struct position *at)
{
    return sweep_in_profile(space->sweep, at) ? UNKNOWN_IS_NULL : UNKNOWN_IS_ERROR;
}

static int add_problem(const struct source_text *source, const char *why, struct error *problems)
{
    const struct position *at = source->at;
    if (!at || !at->file)
        return error_add_line(problems, ERROR_USAGE, "%s `%s`: %s", source->what, source->name, why);
    return error_add_line(problems, ERROR_USAGE, "%s:%d:%d: %s `%s`: %s", at->file, at->line, at->column, source->what,
                          source->name, why);
}

int compile_expression(struct space *space, const struct source_text *source, struct expression *out,
                  struct error *problems)
{
    struct expression x = EXPRESSION_INIT;
    struct error why = ERROR_INIT;
    struct stmt *probe = NULL;
    if (expression_resolve(&space->names, source->text, source->unknown, &x, &why) < 0)
        return add_problem(source, why.text, problems);
    struct buffer sql = BUFFER_INIT;
    buffer_printf(&sql, "SELECT %s", x.sql);
    join_add(space, x.sections, 0, &sql);
    int rc = guard_prepare(space->db, buffer_text(&sql), &probe, &why);
    stmt_free(probe);
    buffer_free(&sql);
    if (rc < 0) {
        expression_free(&x);
        return add_problem(source, why.text, problems);
    }
    *out = x;
    return 0;
}
