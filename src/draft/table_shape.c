#include "draft/table_shape.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "toml/known.h"
#include "util/memory.h"
#include "util/parse.h"
#include "util/string_list.h"

struct seen_column {
    char *name, *first; /* `first`: its cell of the first row; NULL: empty */
    size_t filled, numbers, fractions;
};

struct table_shape {
    struct seen_column *columns;
    size_t count, rows;
    struct string_list sums; /* words such as "mean" in the last rows */
    size_t sum_column;       /* where they stand; as many as there are columns: there are none */
    bool has_sums_within;    /* rows of such words stand above others too */
};

#define MELT "make a row of each value first, in pandas df.melt(id_vars=[...], var_name=\"KEY\", value_name=\"METRIC\")"

static bool is_number(const char *cell)
{
    char digits[NUMBER_BYTES];
    return cell && (parse_written_number(cell, '.', digits) || parse_written_number(cell, ',', digits));
}

/* A column for each value of a key holds what others have in rows. */
static int check_names(const char *const *columns, size_t count, struct error *e)
{
    size_t numbers = 0, first = count, second = count;
    double number;
    for (size_t i = 0; i < count; i++) {
        if (!columns[i] || !parse_double(columns[i], &number))
            continue;
        second = first < count && second == count ? i : second;
        first = first < count ? first : i;
        numbers++;
    }
    if (numbers == count)
        return error_set(e, ERROR_USAGE, "the first line must name the columns, and has `%s`", columns[0]);
    return second == count ? 0
                           : error_set(e, ERROR_USAGE, "columns `%s` and `%s` are named by values; " MELT,
                                       columns[first], columns[second]);
}

struct table_shape *table_shape_create(const char *const *columns, size_t count, struct error *e)
{
    if (count == 0 || check_names(columns, count, e) < 0)
        return NULL;
    if (count == 1 && columns[0] && strchr(columns[0], ' ')) {
        error_set(e, ERROR_USAGE,
                  "no comma, tab, semicolon or bar stands between the columns; in pandas "
                  "pd.read_fwf(FILE).to_csv(\"table.csv\", index=False)");
        return NULL;
    }
    struct table_shape *s = xcalloc(1, sizeof *s);
    s->columns = xcalloc(count + 1, sizeof *s->columns);
    s->count = s->sum_column = count;
    for (size_t i = 0; i < count; i++)
        s->columns[i].name = xstrdup(columns[i] ? columns[i] : "");
    return s;
}

void table_shape_free(struct table_shape *s)
{
    for (size_t i = 0; s && i < s->count; i++)
        free_all(s->columns[i].name, s->columns[i].first);
    if (s)
        string_list_free(&s->sums);
    free_all(s ? s->columns : NULL, s);
}

static void take_sum(struct table_shape *s, const char *const *cells)
{
    size_t first = FIRST(k, s->count, cells[k]);
    char *word = first < s->count ? xstrdup(cells[first]) : NULL;
    for (char *c = word; c && *c; c++)
        *c = (char)tolower((unsigned char)*c);
    if (word && known_has(known("table", "sums"), word)) {
        s->has_sums_within |= s->sum_column < s->count && s->sum_column != first;
        s->sum_column = first;
        string_list_add(&s->sums, word);
        return;
    }
    s->has_sums_within |= s->sums.count > 0;
    free(word);
}

void table_shape_add(struct table_shape *s, const char *const *cells)
{
    for (size_t i = 0; i < s->count; i++) {
        struct seen_column *c = &s->columns[i];
        if (!cells[i])
            continue;
        const bool is = is_number(cells[i]);
        c->first = s->rows == 0 ? xstrdup(cells[i]) : c->first;
        c->filled++;
        c->numbers += is;
        c->fractions += is && strpbrk(cells[i], ".,") != NULL;
    }
    if (!s->has_sums_within)
        take_sum(s, cells);
    s->rows++;
}

/* Returns whether the word may stand where a number is missing. */
static bool is_outcome(const char *word)
{
    const struct toml_node *states = known("table", "states");
    bool is = known_has(known("table", "absent"), word);
    for (size_t i = 0; i < states->child_count && !is; i++)
        is = strcasecmp(states->children[i].key, word) == 0;
    return is;
}

/* A first row that has words alone, some of them above numbers, belongs to the header. */
static int check_first_row(const struct table_shape *s, struct error *e)
{
    const struct seen_column *found = NULL;
    for (const struct seen_column *c = s->columns; c < s->columns + s->count; c++) {
        if (is_number(c->first) || (c->first && is_outcome(c->first)))
            return 0;
        if (!found && c->first && c->numbers > 0 && c->numbers + 1 == c->filled)
            found = c;
    }
    return found ? error_set(e, ERROR_USAGE,
                             "the line below the columns' names has `%s` under `%s`, and numbers come below: make one "
                             "line of the header, in pandas pd.read_csv(FILE, header=[0, 1])",
                             found->first, found->name)
                 : 0;
}

/* The name without its digits, "seq" of "seq_512": empty if it has none. The caller's. */
static char *stem_of(const char *name)
{
    char *stem = xstrdup(name), *to = stem;
    for (const char *p = name; *p; p++)
        if (!strchr("0123456789_- .", *p))
            *to++ = (char)tolower((unsigned char)*p);
    *to = '\0';
    if (strcspn(name, "0123456789") == strlen(name))
        *stem = '\0';
    return stem;
}

/* If all that looks measured stands in columns whose names differ in a number alone, that is a value of a key. */
static int check_wide(const struct table_shape *s, struct error *e)
{
    const struct seen_column *first = NULL, *second = NULL;
    char *stem = NULL;
    bool is_wide = true;
    for (const struct seen_column *c = s->columns; c < s->columns + s->count; c++) {
        if (c->fractions == 0)
            continue;
        char *own = stem_of(c->name);
        is_wide &= *own && (!stem || strcmp(stem, own) == 0);
        second = first && !second ? c : second;
        first = first ? first : c;
        free(stem);
        stem = own;
    }
    is_wide = is_wide && second && !known_has(known("table", "numbered"), stem);
    free(stem);
    return is_wide ? error_set(e, ERROR_USAGE,
                               "columns `%s` and `%s` differ in a value alone; " MELT
                               ", or give them names without numbers",
                               first->name, second->name)
                   : 0;
}

int table_shape_finish(const struct table_shape *s, struct buffer *out, struct error *e)
{
    if (check_first_row(s, e) < 0 || check_wide(s, e) < 0)
        return -1;
    if (s->has_sums_within || !s->sums.count || s->rows < s->sums.count + 2)
        return 0;
    OWNED_BUFFER when = BUFFER_INIT;
    buffer_add_text(&when, "lower(");
    buffer_add_quoted(&when, s->columns[s->sum_column].name, '"');
    for (size_t i = 0; i < s->sums.count; i++) {
        buffer_add_text(&when, i ? ", " : ") IN (");
        buffer_add_quoted(&when, s->sums.items[i], '\'');
    }
    buffer_add_text(&when, ")");
    buffer_add_toml_string(out, "[[import.refuse]]\nwhen = ", buffer_text(&when),
                           "\nwhy = \"it sums up the rows above\"\n");
    return 0;
}
