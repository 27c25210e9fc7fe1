#include <ctype.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "database/db.h"
#include "database/guard.h"
#include "expression/rewrite.h"
#include "measures/compiled.h"
#include "space/compile.h"
#include "space/elasticity.h"
#include "util/buffer.h"
#include "util/error.h"
#include "util/memory.h"
#include "util/suggest.h"
#include "util/unit.h"

/* --- quantities --- */

/* The text of a condition on what was measured: numbers with units, and the comparison that it is. Pure. */

/* The unit of a name; NULL: it is not a metric. */
typedef const char *(*unit_of)(void *context, const char *name);

#define LETTERS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
#define DIGITS "0123456789"
#define SIGNS "<>=!" /* of comparisons */

static bool begins_name(char c)
{
    return isalpha((unsigned char)c) || c == '_';
}

static bool begins_number(const char *p)
{
    return isdigit((unsigned char)p[*p == '.']);
}

static size_t number_length(const char *p)
{
    const size_t n = strspn(p, DIGITS "."), e = n + (p[n] == 'e' || p[n] == 'E'), sign = p[e] == '+' || p[e] == '-';
    const size_t exponent = e > n ? strspn(p + e + sign, DIGITS) : 0;
    return exponent ? e + sign + exponent : n;
}

/* A unit is letters, % and a slash between two of them: "tokens/s". */
static size_t unit_length(const char *p)
{
    size_t n = 0;
    while (isalpha((unsigned char)p[n]) || p[n] == '%' || (p[n] == '/' && isalpha((unsigned char)p[n + 1])))
        n++;
    return n;
}

/* What stands at `p`, before the end of the text: a quoted text, a name, a number, signs of a comparison, or one other
 * character. */
static size_t token_length(const char *p)
{
    if (*p == '\'' || *p == '"') {
        const char *end = strchr(p + 1, *p);
        return end ? (size_t)(end + 1 - p) : strlen(p);
    }
    if (begins_name(*p))
        return strspn(p, LETTERS DIGITS "_.");
    return begins_number(p) ? number_length(p) : strchr(SIGNS, *p) ? strspn(p, SIGNS) : 1;
}

/* The unit that follows a number, the caller's, and where it ends; NULL: none does. */
static char *unit_behind(const char *number_end, const char **end)
{
    const char *p = number_end + strspn(number_end, " \t");
    char *unit = xstrndup(p, unit_length(p));
    bool is_percent_operator = strcmp(unit, "%") == 0 && p > number_end;
    if (*unit && !is_percent_operator && !db_is_keyword(unit)) {
        *end = p + strlen(unit);
        return unit;
    }
    free(unit);
    return NULL;
}

/* In the unit of the first metric of the text that measures the same. */
static bool convert(double value, const char *unit, const char *text, unit_of unit_of_name, void *context, double *out)
{
    for (const char *p = text; *p;) {
        const size_t length = token_length(p);
        OWNED char *name = begins_name(*p) ? xstrndup(p, length) : NULL;
        const char *own = name ? unit_of_name(context, name) : NULL;
        p += length + (begins_number(p) ? unit_length(p + length) : 0);
        if (own && (strcmp(own, unit) == 0 || (*own && unit_is_known(unit) && unit_is_known(own))) &&
            unit_convert(value, unit, own, out))
            return true;
    }
    return false;
}

static int add_quantity(const char **p, const char *text, unit_of unit, void *context, struct buffer *out,
                        struct error *e)
{
    const char *number_end = *p + number_length(*p), *end = number_end;
    OWNED char *word = unit_behind(number_end, &end), *number = xstrndup(*p, (size_t)(number_end - *p));
    double value = strtod(number, NULL);
    int rc = 0;
    if (!word)
        buffer_add_text(out, number);
    else if (convert(value, word, text, unit, context, &value))
        buffer_add_double(out, value);
    else
        rc = error_set(e, ERROR_USAGE,
                       "%s %s: no metric of this condition has a unit that %s can be converted to; set unit in the "
                       "metric's table",
                       number, word, word);
    *p = end;
    return rc;
}

/* Appends `text` with every number that a unit follows ("70 GiB", "2ms") as a number in the unit of a metric that the
 * text names and that measures the same. ERROR_USAGE: an unknown unit, or none of the metrics has one to go by. */
static int quantities_convert(const char *text, unit_of unit, void *context, struct buffer *out, struct error *e)
{
    for (const char *p = text; *p;) {
        if (!begins_number(p)) {
            const size_t length = token_length(p);
            buffer_add(out, p, length);
            p += length;
        } else if (add_quantity(&p, text, unit, context, out, e) < 0)
            return -1;
    }
    return 0;
}

/* AND, OR, NOT, BETWEEN, CASE and so on: more than one comparison. */
static bool joins(const char *name, size_t length)
{
    static const char *const words[] = {"and", "or", "not", "between", "in", "is", "like", "case", "glob"};
    return ANY(i, LENGTH(words), strlen(words[i]) == length && strncasecmp(words[i], name, length) == 0);
}

/* Finds the lengths of the left side and of the operator where the text is one comparison (<, <=, >, >=) and nothing
 * beside; false otherwise. */
static bool comparison_split(const char *text, size_t *left, size_t *operator_length)
{
    int depth = 0;
    size_t found = 0, length;
    for (const char *p = text; *p; p += length) {
        length = token_length(p);
        depth += (*p == '(') - (*p == ')');
        if (depth == 0 && begins_name(*p) && joins(p, length))
            return false;
        if (depth != 0 || !strchr(SIGNS, *p))
            continue;
        *left = (size_t)(p - text);
        *operator_length = length;
        bool orders = *p == '<' || *p == '>';
        if (found++ || !orders || length > 2 || (p[length - 1] != '=' && length == 2))
            return false;
    }
    return found == 1;
}

/* --- compile --- */

#define METRIC_PREFIX "metric."

/* An expression on its way. */
struct resolving {
    struct measures *measures;
    struct measure_sql *out;
    enum unknown_names unknown;
};

/* --- metrics --- */

static const struct metric *find_metric(const struct sweep *s, const char *name)
{
    return job_find_metric(&s->job, name);
}

static bool is_imported(const struct sweep *s, const char *name)
{
    return ANY(i, s->import.column_count,
               s->import.columns[i].is_metric && strcmp(s->import.columns[i].name, name) == 0);
}

static bool is_metric(const struct sweep *s, const char *name)
{
    return find_metric(s, name) || own_metric_by_name(name) || is_imported(s, name);
}

static size_t input_named(struct measures *m, const char *name)
{
    for (size_t i = 0; i < m->input_count; i++)
        if (strcmp(m->inputs[i].name, name) == 0)
            return i;
    *array_add(m->inputs, m->input_count) = (struct measure_input){xstrdup(name), own_metric_by_name(name),
                                                                   find_metric(m->sweep, name), measures_find(m, name)};
    return m->input_count - 1;
}

const struct derived_measure *measures_find(const struct measures *m, const char *name)
{
    return FIND(i, m->metric_count, strcmp(m->metrics[i].metric->name, name) == 0, &m->metrics[i]);
}

static int use_metric(struct resolving *r, const char *name, struct buffer *sql, struct error *e)
{
    const struct metric *metric = find_metric(r->measures->sweep, name);
    if (metric && metric->reader == READER_EXPRESSION && !measures_find(r->measures, name))
        return error_set(e, ERROR_USAGE,
                         "metric `%s` is defined later (an expression can use only metrics defined above it)", name);
    const size_t input = input_named(r->measures, name);
    buffer_printf(sql, "?%zu", FIRST_INPUT + input);
    array_add_once(r->out->inputs, r->out->input_count, input);
    return 0;
}

/* --- names --- */

/* Fails with the name that may have been meant. */
static int unknown_name(struct resolving *r, const char *name, struct error *e)
{
    const struct sweep *s = r->measures->sweep;
    size_t count = 0;
    const char **names = xcalloc(s->job.metric_count + s->import.column_count + OWN_METRIC_COUNT, sizeof *names);
    for (size_t i = 0; i < s->job.metric_count; i++)
        names[count++] = s->job.metrics[i].name;
    for (size_t i = 0; i < s->import.column_count; i++)
        if (s->import.columns[i].is_metric)
            names[count++] = s->import.columns[i].name;
    for (int i = OWN_NONE + 1; i < OWN_METRIC_COUNT; i++)
        names[count++] = own_metrics[i].name;
    bool is_qualified = strncmp(name, METRIC_PREFIX, strlen(METRIC_PREFIX)) == 0;
    const char *near = is_qualified ? SUGGEST(name + strlen(METRIC_PREFIX), i, count, names[i]).near : NULL;
    OWNED char *hint = near ? xasprintf(" (did you mean `" METRIC_PREFIX "%s`?)", near)
                            : names_hint(&r->measures->space->names, name, names, count);
    error_set(e, ERROR_USAGE, "unknown metric or key `%s`%s", name,
              *hint ? hint : "; for a metric that jobs write to $MESHSWEEP_METRICS, add a table [job.metrics.NAME]");
    free(names);
    return -1;
}

static int use_key(struct resolving *r, const char *name, struct buffer *sql, struct error *e)
{
    OWNED_BUFFER quoted = BUFFER_INIT;
    struct expression x = {.sql = NULL};
    struct arena scratch = {0};
    struct names names = r->measures->space->names;
    names.arena = &scratch;
    expression_add_name(&quoted, name);
    int rc = expression_resolve(&names, buffer_text(&quoted), r->unknown, &x, e);
    if (rc == 0)
        buffer_add_text(sql, x.sql);
    for (size_t i = 0; i < x.key_count; i++)
        array_add_once(r->out->keys, r->out->key_count, x.keys[i]);
    arena_free(&scratch);
    return rc;
}

static int use_name(void *context, const char *name, bool quoted, struct buffer *sql, struct error *e)
{
    struct resolving *r = context;
    const struct names *names = &r->measures->space->names;
    size_t index, prefix = strlen(METRIC_PREFIX);
    enum resolution found = names_resolve(names, name, &index);
    bool metric = is_metric(r->measures->sweep, name);
    if (found == RESOLVED_UNKNOWN && strncmp(name, METRIC_PREFIX, prefix) == 0 &&
        is_metric(r->measures->sweep, name + prefix))
        return use_metric(r, name + prefix, sql, e);
    if (metric && found != RESOLVED_UNKNOWN)
        return error_set(e, ERROR_USAGE,
                         "`%s` is a key and a metric (write " METRIC_PREFIX
                         "%s for the metric, SECTION.%s for the key)",
                         name, name, name);
    if (metric)
        return use_metric(r, name, sql, e);
    if (found == RESOLVED_UNKNOWN && own_metric_full_name(name) != name)
        return use_metric(r, own_metric_full_name(name), sql, e);
    if (found == RESOLVED_UNKNOWN && !quoted && rewrite_is_word_of_sql(name)) {
        buffer_add_text(sql, name);
        return 0;
    }
    if (found == RESOLVED_UNKNOWN && r->unknown == UNKNOWN_IS_ERROR && !names_excused(names, name))
        return unknown_name(r, name, e);
    return use_key(r, name, sql, e);
}

/* --- statements --- */

/* Compiled under the guard where the columns are those of tables: what it refuses is refused. */
static int vet(struct measures *m, struct measure_sql *x, struct error *e)
{
    OWNED_BUFFER sql = BUFFER_INIT;
    OWNED_STMT *probe = NULL;
    x->sections = expression_sections(&m->space->names, &(struct expression){NULL, x->keys, x->key_count});
    buffer_add_text(&sql, "SELECT 1");
    space_add_from(m->space, x->sections, &sql);
    buffer_printf(&sql, " AND %s", x->sql);
    return guard_prepare(m->space->db, buffer_text(&sql), &probe, e);
}

static int prepare(struct measures *m, struct measure_sql *x, struct error *e)
{
    static const char *const specs[SECTION_COUNT] = {"?1", "?2", "?3", "?4"}; /* parameters */
    struct buffer sql = BUFFER_INIT;
    buffer_printf(&sql, "SELECT %s", x->sql);
    expression_add_row(&m->space->names, x->keys, x->key_count, specs, &sql);
    return db_prepare_built(m->private, &sql, &x->value, e);
}

static int resolve(struct measures *m, const char *text, const struct position *at, struct measure_sql *out,
                   struct error *e)
{
    struct resolving r = {m, out, unknown_at(m->space, at)};
    struct buffer sql = BUFFER_INIT;
    const struct rewriter rewriter = {.name = use_name, .context = &r};
    int rc = rewrite_expression(text, &rewriter, &sql, e);
    out->sql = buffer_take(&sql);
    if (rc == 0)
        rc = vet(m, out, e);
    return rc < 0 ? -1 : prepare(m, out, e);
}

static const char *unit_of_metric(void *context, const char *name)
{
    const struct measures *m = context;
    size_t prefix = strlen(METRIC_PREFIX);
    name += strncmp(name, METRIC_PREFIX, prefix) == 0 ? prefix : 0;
    const struct metric *metric = find_metric(m->sweep, name);
    const enum own_metric own = own_metric_by_name(name);
    return metric ? metric->unit : own ? own_metrics[own].unit : is_imported(m->sweep, name) ? "" : NULL;
}

static int resolve_sides(struct measures *m, const char *text, struct derived_measure *c, struct error *e)
{
    size_t left, operator_length;
    if (!comparison_split(text, &left, &operator_length))
        return 0;
    OWNED char *before = xstrndup(text, left);
    c->wants_less = text[left] == '<';
    int rc = resolve(m, before, &c->at, &c->left, e);
    if (rc == 0)
        rc = resolve(m, text + left + operator_length, &c->at, &c->right, e);
    return rc;
}

static int resolve_constraint(struct measures *m, struct derived_measure *c, struct error *e)
{
    OWNED_BUFFER text = BUFFER_INIT;
    int rc = quantities_convert(c->text, unit_of_metric, m, &text, e);
    if (rc == 0)
        rc = resolve(m, buffer_text(&text), &c->at, &c->whole, e);
    if (rc == 0 && c->whole.input_count == 0)
        rc = error_set(e, ERROR_USAGE, "it reads no metric; write a condition on keys as a [[rule]]");
    if (rc == 0)
        rc = resolve_sides(m, buffer_text(&text), c, e);
    return rc;
}

/* --- making --- */

static void name_inputs(const struct measures *m, struct derived_measure *x)
{
    size_t count = 0;
    x->input_names = xcalloc(m->input_count + 1, sizeof *x->input_names);
    for (size_t i = 0; i < x->whole.input_count; i++) {
        const struct measure_input *input = &m->inputs[x->whole.inputs[i]];
        const char *const itself[] = {input->own ? NULL : input->name, NULL};
        for (const char *const *name = input->derived ? input->derived->input_names : itself; *name; name++)
            if (!ANY(k, count, x->input_names[k] == *name))
                x->input_names[count++] = *name;
    }
}

static void compile_metrics(struct measures *m, struct problems *problems)
{
    const struct job_config *job = &m->sweep->job;
    m->metrics = xcalloc(job->metric_count + 1, sizeof *m->metrics);
    for (size_t i = 0; i < job->metric_count; i++) {
        const struct metric *metric = &job->metrics[i];
        struct error why = ERROR_INIT;
        if (metric->reader != READER_EXPRESSION)
            continue;
        struct derived_measure x = {.text = metric->expression, .at = metric->at, .metric = metric};
        if (resolve(m, x.text, &x.at, &x.whole, &why) < 0)
            problems_add(problems, x.at, "metric `%s`: %s", metric->name, why.text);
        name_inputs(m, &x);
        m->metrics[m->metric_count++] = x;
        m->metrics[m->metric_count - 1].input = input_named(m, metric->name);
    }
}

static void compile_constraints(struct measures *m, struct problems *problems)
{
    m->constraints = xcalloc(m->sweep->constraints.count + 1, sizeof *m->constraints);
    for (size_t i = 0; i < m->sweep->constraints.count; i++) {
        const struct listed_word *c = &m->sweep->constraints.items[i];
        struct error why = ERROR_INIT;
        struct derived_measure *x = &m->constraints[m->constraint_count++];
        *x = (struct derived_measure){.text = c->text, .at = c->at};
        if (resolve_constraint(m, x, &why) < 0)
            problems_add(problems, x->at, "subject_to `%s`: %s", c->text, why.text);
    }
}

static bool has_any(const struct sweep *s)
{
    bool any = s->constraints.count > 0;
    for (size_t i = 0; i < s->job.metric_count; i++)
        any |= s->job.metrics[i].reader == READER_EXPRESSION || s->job.metrics[i].per;
    return any && !s->model_info.is_job;
}

int measures_compile(struct space *space, struct problems *problems, struct measures **out, struct error *e)
{
    *out = NULL;
    if (!has_any(space->sweep))
        return 0;
    struct measures *m = xcalloc(1, sizeof *m);
    m->space = space;
    m->sweep = space->sweep;
    if (db_open(NULL, DB_TEMPORARY, &m->private, e) < 0 || elasticity_add_function(m->private, e) < 0 ||
        layouts_add_functions(m->private, e) < 0) {
        measures_free(m);
        return -1;
    }
    compile_metrics(m, problems);
    compile_constraints(m, problems);
    for (size_t i = 0; i < m->sweep->job.metric_count; i++)
        if (m->sweep->job.metrics[i].per)
            input_named(m, m->sweep->job.metrics[i].name);
    *out = m;
    return 0;
}

int measures_create(struct space *space, struct measures **out, struct error *e)
{
    OWNED_BY(problems_free) struct problems problems = PROBLEMS_INIT;
    int rc = measures_compile(space, &problems, out, e) < 0 ? -1 : problems_report(&problems, space->sweep->files, e);
    if (rc < 0) {
        measures_free(*out);
        *out = NULL;
    }
    return rc;
}

static void sql_free(struct measure_sql *x)
{
    stmt_free(x->value);
    free_all(x->sql, x->inputs, x->keys);
}

static void list_free(struct derived_measure *items, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        sql_free(&items[i].whole);
        sql_free(&items[i].left);
        sql_free(&items[i].right);
        free(items[i].input_names);
    }
    free(items);
}

void measures_free(struct measures *m)
{
    if (!m)
        return;
    list_free(m->metrics, m->metric_count);
    list_free(m->constraints, m->constraint_count);
    for (size_t i = 0; i < m->input_count; i++)
        free(m->inputs[i].name);
    free(m->inputs);
    db_close(m->private);
    free(m);
}

const char *const *measures_inputs(const struct measures *m, const char *metric)
{
    const struct derived_measure *x = m ? measures_find(m, metric) : NULL;
    return x ? x->input_names : NULL;
}

const char *measures_late_input(const struct measures *m, const char *metric)
{
    const struct derived_measure *x = m ? measures_find(m, metric) : NULL;
    const char *late = NULL;
    for (size_t i = 0; x && !late && i < x->whole.input_count; i++) {
        const struct measure_input *input = &m->inputs[x->whole.inputs[i]];
        late = input->own != OWN_NONE && !input->metric ? input->name : measures_late_input(m, input->name);
    }
    return late;
}
