#include "draft/table_shape.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "toml/known.h"
#include "util/memory.h"
#include "util/parse.h"

#define MELT "make a row of each value first, in pandas df.melt(id_vars=[...], var_name=\"KEY\", value_name=\"METRIC\")"

static bool is_number(const char *cell)
{
    char digits[NUMBER_BYTES];
    return cell && (parse_written_number(cell, '.', digits) || parse_written_number(cell, ',', digits));
}

/* A column for each value of a key holds what others have in rows. */
static int check_values(const char *const *columns, size_t count, struct error *e)
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

int table_shape_check_names(const char *const *columns, size_t count, struct error *e)
{
    if (count == 0)
        return -1;
    if (count == 1 && columns[0] && strchr(columns[0], ' '))
        return error_set(e, ERROR_USAGE,
                         "no comma, tab, semicolon or bar stands between the columns; in pandas "
                         "pd.read_fwf(FILE).to_csv(\"table.csv\", index=False)");
    return check_values(columns, count, e);
}

static void take_sum(struct import_draft *d, const char *const *cells)
{
    size_t first = FIRST(k, d->count, cells[k]);
    char *word = first < d->count ? xstrdup(cells[first]) : NULL;
    for (char *c = word; c && *c; c++)
        *c = (char)tolower((unsigned char)*c);
    if (word && known_has(known("table", "sums"), word)) {
        d->has_sums_within |= d->sum_column < d->count && d->sum_column != first;
        d->sum_column = first;
        string_list_add(&d->sums, word);
        return;
    }
    d->has_sums_within |= d->sums.count > 0;
    free(word);
}

void table_shape_add(struct import_draft *d, const char *const *cells)
{
    for (size_t i = 0; i < d->count; i++) {
        struct draft_column *c = &d->columns[i];
        if (!cells[i])
            continue;
        const bool is = is_number(cells[i]);
        c->first = d->rows == 0 ? xstrdup(cells[i]) : c->first;
        c->begun += is;
        c->fractions += is && strpbrk(cells[i], ".,") != NULL;
    }
    if (!d->has_sums_within)
        take_sum(d, cells);
}

const struct toml_node *table_word(const char *table, const char *word)
{
    const struct toml_node *words = known("table", table);
    return FIND(i, words->child_count, strcasecmp(words->children[i].key, word) == 0, &words->children[i]);
}

/* Returns whether the word may stand where a number is missing. */
static bool is_outcome(const char *word)
{
    return known_has(known("table", "absent"), word) || table_word("states", word);
}

/* A first row that has words alone, some of them above numbers, belongs to the header. */
static int check_first_row(const struct import_draft *d, struct error *e)
{
    const struct draft_column *found = NULL;
    for (const struct draft_column *c = d->columns; c < d->columns + d->count; c++) {
        if (is_number(c->first) || (c->first && is_outcome(c->first)))
            return 0;
        if (!found && c->first && c->begun > 0 && c->begun + 1 == c->filled)
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
static int check_wide(const struct import_draft *d, struct error *e)
{
    const struct draft_column *first = NULL, *second = NULL;
    char *stem = NULL;
    bool is_wide = true;
    for (const struct draft_column *c = d->columns; c < d->columns + d->count; c++) {
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

int table_shape_check(const struct import_draft *d, struct error *e)
{
    return check_first_row(d, e) < 0 || check_wide(d, e) < 0 ? -1 : 0;
}

bool table_shape_has_sums(const struct import_draft *d)
{
    return !d->has_sums_within && d->sums.count && d->rows >= d->sums.count + 2;
}
