#include "draft/table_draft.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "config/sweep.h"
#include "database/db.h"
#include "draft/new_sweep.h"
#include "metrics/proposals.h"
#include "predict/input_table.h"
#include "report/saying.h"
#include "results/json.h"
#include "sweep_file/devices.h"
#include "toml/known.h"
#include "util/hash.h"
#include "util/memory.h"
#include "util/parse.h"
#include "util/string_list.h"
#include "util/unit.h"

enum { WORDS_MOST = 12, UNITS_MOST = 6, UNIT_BYTES_MOST = 16, SETTINGS_MOST = 50, CELLS_MOST = 200000 };

/* How numbers are written: "1,234.5" or "1.234,5". */
enum notation { DECIMAL_POINT, DECIMAL_COMMA, NOTATION_COUNT };

/* The cells of a column that can be read as numbers in one notation. */
struct read_cells {
    size_t count;
    double last, largest;
};

enum column_role { ROLE_KEY, ROLE_METRIC, ROLE_DURATION, ROLE_STATE, ROLE_LABEL, ROLE_OWN, ROLE_EMPTY, ROLE_COUNT };

struct draft_column {
    char *name;
    char *sql;               /* the name in SQL: in quotes unless it is a plain word */
    char *key;               /* the name as a key, without a tracker's prefix */
    char *rate;              /* the unit of one that the name says: "tokens/s"; NULL: none */
    size_t filled;           /* number of cells that are not empty */
    size_t numbers;          /* those of them that are numbers in either notation */
    size_t absent;           /* those that stand for a missing one */
    char *first;             /* its cell of the first row; NULL: empty */
    size_t begun, fractions; /* cells that begin with a number, and those of them with a point or comma */
    struct read_cells in[NOTATION_COUNT];
    bool has_commas, has_fraction;
    char *marked;                 /* a number with a point or comma, without unit; NULL: there is none */
    enum notation notation;       /* the column's; set by import_draft_settle */
    bool is_guess;                /* all its numbers are valid in both notations; set by import_draft_settle */
    struct string_list units;     /* distinct units of its numbers (" GB", ""), at most UNITS_MOST + 1 */
    struct string_list words;     /* distinct other cells, at most WORDS_MOST + 1 */
    struct hash_index seen;       /* all cells */
    enum column_role role;        /* this and all below: set by plan_columns */
    bool is_promoted;             /* a label that is a key, because nothing else tells rows apart */
    const char *called;           /* its own key, or the tool's name for it */
    char *metric;                 /* ROLE_METRIC: its name */
    struct proposal_list by_name; /* ROLE_METRIC: what name or unit say of it; empty: nothing */
    bool higher_is_better;
};

struct import_draft {
    struct draft_column *columns;
    size_t count, rows;
    bool is_export;   /* of meshsweep */
    size_t state;     /* the column that says how rows ended; none: `count`, as of the next */
    size_t guessed;   /* devices of a row that are taken for those of a host */
    bool has_repeats; /* rows differ in labels alone */
    char **cells;     /* of the first rows, one after the other; NULL: empty */
    size_t cell_count;
    struct string_list sums; /* words such as "mean" in the last rows */
    size_t sum_column;       /* where they stand; as many as there are columns: there are none */
    bool has_sums_within;    /* rows of such words stand above others too */
};

/* The columns of devices, whose product counts, and of hosts. */
struct device_columns {
    const struct draft_column *devices[4];
    size_t count;
    const struct draft_column *hosts;
};

/* --- its shape, from rows that are no measurements: further lines of a header, sums below the rest --- */

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

/* The columns are named by values, or not at all; says what to do. */
static int check_names(const char *const *columns, size_t count, struct error *e)
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

/* What the table of that name in [table] of configs/knowledge/words.toml ("states") says of a word, however
 * capitalised; NULL: nothing. */
static const struct toml_node *table_word(const char *table, const char *word)
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

/* --- columns --- */

/* Of its name, in exports of MLflow, Optuna and Weights & Biases; NULL: none. */
static const struct toml_node *prefix_of(const char *name)
{
    const struct toml_node *prefixes = known("table", "prefixes");
    return FIND(i, prefixes->child_count,
                strncasecmp(name, prefixes->children[i].key, strlen(prefixes->children[i].key)) == 0,
                &prefixes->children[i]);
}

static char *key_of(const char *name)
{
    OWNED_BUFFER key = BUFFER_INIT;
    const struct toml_node *prefix = prefix_of(name);
    for (name += prefix ? strlen(prefix->key) : 0; *name; name++)
        if (isalnum((unsigned char)*name))
            buffer_add_char(&key, (char)tolower((unsigned char)*name));
        else if (key.length && key.data[key.length - 1] != '_')
            buffer_add_char(&key, '_');
    while (key.length && key.data[key.length - 1] == '_')
        key.data[--key.length] = '\0';
    return xasprintf("%s%s", !key.length || isdigit((unsigned char)key.data[0]) ? "column_" : "", buffer_text(&key));
}

static char *name_sql(const char *name)
{
    struct buffer sql = BUFFER_INIT;
    bool plain = isalpha((unsigned char)*name) || *name == '_';
    for (const char *p = name; *p; p++)
        plain = plain && (isalnum((unsigned char)*p) || *p == '_');
    if (plain && !db_is_keyword(name))
        buffer_add_text(&sql, name);
    else
        buffer_add_quoted(&sql, name, '"');
    return buffer_take(&sql);
}

/* Returns whether the name has the word `word`. */
static bool has_word(const char *key, const char *word)
{
    for (const char *at = key; (at = strstr(at, word)); at++) {
        const char after = at[strlen(word)];
        if ((at == key || at[-1] == '_') && (after == '\0' || after == '_'))
            return true;
    }
    return false;
}

/* Returns whether the column's name has one of these words: "settings", "gains", … (configs/knowledge/words.toml). */
static bool is_told(const struct draft_column *c, const char *words)
{
    const struct toml_node *list = toml_child(known("table", "words"), words);
    return list && ANY(i, list->child_count, has_word(c->key, list->children[i].text));
}

struct import_draft *import_draft_create(const char *const *columns, size_t count, struct error *e)
{
    if (check_names(columns, count, e) < 0)
        return NULL;
    struct import_draft *d = xcalloc(1, sizeof *d);
    d->columns = xcalloc(count + 1, sizeof *d->columns);
    d->count = d->sum_column = count;
    for (size_t i = 0; i < count; i++) {
        struct draft_column *c = &d->columns[i];
        c->name = xstrdup(columns[i] ? columns[i] : "");
        d->is_export |= strcmp(c->name, "in_sweep") == 0;
        c->sql = name_sql(c->name);
        c->rate = proposals_rate_of(c->name);
        c->key = key_of(c->name);
        if (ANY(j, i, strcmp(d->columns[j].key, c->key) == 0))
            text_replace(&c->key, xasprintf("%s_%zu", c->key, i + 1));
    }
    return d;
}

void import_draft_free(struct import_draft *d)
{
    if (!d)
        return;
    for (size_t i = 0; i < d->count; i++) {
        struct draft_column *c = &d->columns[i];
        free_all(c->name, c->first, c->sql, c->key, c->rate, c->marked, c->metric);
        proposal_list_free(&c->by_name);
        string_list_free(&c->units);
        string_list_free(&c->words);
        hash_index_free(&c->seen);
    }
    for (size_t i = 0; i < d->cell_count; i++)
        free(d->cells[i]);
    string_list_free(&d->sums);
    free_all(d->cells, d->columns, d);
}

/* --- cells --- */

/* Text that may follow a number: " GB", "%", "". */
static bool is_unit(const char *text)
{
    size_t length = 0;
    while (isalpha((unsigned char)text[length]) || (text[length] && strchr(" %/", text[length])))
        length++;
    return text[length] == '\0' && length <= UNIT_BYTES_MOST;
}

static void add_once(struct string_list *list, const char *text, size_t most)
{
    if (list->count <= most && string_list_find(list, text) == list->count)
        string_list_add(list, xstrdup(text));
}

/* Returns whether the cell is a number with a unit in that notation. Sets what follows the number. */
static bool read_cell(struct draft_column *c, const char *cell, enum notation notation, const char **unit)
{
    char digits[NUMBER_BYTES];
    struct read_cells *in = &c->in[notation];
    const size_t length = parse_written_number(cell, notation == DECIMAL_COMMA ? ',' : '.', digits);
    if (!length || !is_unit(cell + length) || !parse_double(digits, &in->last))
        return false;
    in->largest = in->last > in->largest ? in->last : in->largest;
    in->count++;
    *unit = cell + length;
    return true;
}

static void take_number(struct draft_column *c, const char *cell, const char *unit)
{
    const size_t length = (size_t)(unit - cell);
    const bool is_marked = memchr(cell, ',', length) || memchr(cell, '.', length);
    c->numbers++;
    c->has_commas |= memchr(cell, ',', length) != NULL;
    c->has_fraction |= is_marked || memchr(cell, 'e', length);
    if (is_marked && !c->marked)
        c->marked = xstrndup(cell, length);
    add_once(&c->units, unit, UNITS_MOST);
}

void import_draft_add(struct import_draft *d, const char *const *cells)
{
    if (!d->has_sums_within)
        take_sum(d, cells);
    for (size_t i = 0; i < d->count && d->cell_count + d->count - i <= CELLS_MOST; i++)
        *array_add(d->cells, d->cell_count) = cells[i] ? xstrdup(cells[i]) : NULL;
    for (size_t i = 0; i < d->count; i++) {
        struct draft_column *c = &d->columns[i];
        if (!cells[i])
            continue;
        const struct hash128 hash = hash_bytes(cells[i], strlen(cells[i]));
        hash_index_takes(&c->seen, &hash);
        const char *unit = NULL;
        const bool begins = is_number(cells[i]);
        bool is_whole = false;
        for (enum notation n = 0; n < NOTATION_COUNT; n++)
            is_whole |= read_cell(c, cells[i], n, &unit);
        c->first = d->rows == 0 ? xstrdup(cells[i]) : c->first;
        c->begun += begins;
        c->fractions += begins && strpbrk(cells[i], ".,") != NULL;
        c->filled++;
        c->absent += !is_whole && known_has(known("table", "absent"), cells[i]);
        if (is_whole)
            take_number(c, cells[i], unit);
        else
            add_once(&c->words, cells[i], WORDS_MOST);
    }
    d->rows++;
}

/* Decides the notation of each column, after all rows were added. */
static void import_draft_settle(struct import_draft *d)
{
    bool has[NOTATION_COUNT] = {false};
    for (size_t i = 0; i < d->count; i++) {
        struct draft_column *c = &d->columns[i];
        c->notation = c->in[DECIMAL_COMMA].count > c->in[DECIMAL_POINT].count ? DECIMAL_COMMA : DECIMAL_POINT;
        c->is_guess = c->marked && c->in[DECIMAL_COMMA].count == c->in[DECIMAL_POINT].count;
        has[c->notation] |= c->marked && !c->is_guess;
    }
    for (size_t i = 0; i < d->count; i++) {
        struct draft_column *c = &d->columns[i];
        if (c->is_guess && has[DECIMAL_COMMA] && (c->has_commas || !has[DECIMAL_POINT]))
            c->notation = DECIMAL_COMMA;
        c->is_guess &= c->has_commas || c->notation == DECIMAL_COMMA;
    }
}

/* --- what a column is --- */

/* The column's unit: the first of its units, "" for none. */
static const char *column_unit(const struct draft_column *c)
{
    return c->units.count ? c->units.items[0] : "";
}

/* The factor from `unit` to the column's unit; false if they are not of one kind. */
static bool column_unit_factor(const struct draft_column *c, const char *unit, double *out)
{
    const char *own = column_unit(c) + strspn(column_unit(c), " ");
    unit += strspn(unit, " ");
    *out = 1;
    return strcmp(unit, own) == 0 || (unit_is_known(unit) && unit_is_known(own) && unit_convert(1, unit, own, out));
}

/* Returns whether the column has numbers in one unit or in units of one kind; words may stand for missing numbers. */
static bool column_is_numeric(const struct draft_column *c)
{
    bool has_one_kind = c->units.count <= UNITS_MOST;
    double factor;
    for (size_t i = 1; i < c->units.count && has_one_kind; i++)
        has_one_kind = column_unit_factor(c, c->units.items[i], &factor);
    return c->numbers > 0 && has_one_kind && 2 * c->numbers >= c->filled - c->absent;
}

/* The column of words that says how each row ended: by its name, else by words, at least half of which say that. */
static size_t state_column(const struct import_draft *d)
{
    size_t found = d->count;
    for (size_t i = d->count; i-- > 0;) {
        const struct draft_column *c = &d->columns[i];
        bool has_words = c->numbers == 0 && c->words.count > 0 && c->words.count <= WORDS_MOST;
        size_t states = 0;
        for (size_t w = 0; w < c->words.count; w++)
            states += table_word("states", c->words.items[w]) != NULL;
        if (has_words && (is_told(c, "outcome") || (2 * states >= c->words.count && found == d->count)))
            found = i;
    }
    return found;
}

/* The metric that the name (or the key) and the unit say, as of a line of a log; NULL: none. `*out` is filled when
 * there is one. */
static const struct proposal *metric_by_name(const struct draft_column *c, struct proposal_list *out)
{
    const char *const names[] = {c->name, c->key};
    for (size_t i = 0; i < LENGTH(names) && !out->count; i++) {
        OWNED char *line = xasprintf("%s: %.15g%s\n", names[i], c->in[c->notation].last, column_unit(c));
        for (char *p = line; (p = strpbrk(p, "[]"));)
            *p = *p == '[' ? '(' : ')';
        proposals_from_log(line, strlen(line), out);
    }
    /* An average of whatever the table has is no time; "avg: 5.2" of a log may be. */
    if (out->count && !*out->items[0].unit && strcmp(out->items[0].metric, "step_time") == 0 &&
        has_word(c->key, "avg") && !is_told(c, "times"))
        proposal_list_free(out);
    return out->count ? &out->items[0] : NULL;
}

/* Numbers that hardly repeat, or more of them than anybody sets, under a name that is not a setting's. */
static bool is_measured(const struct import_draft *d, const struct draft_column *c)
{
    const struct toml_node *prefix = prefix_of(c->name);
    if (prefix)
        return prefix->integer;
    return c->has_fraction && c->seen.count > 1 &&
           (3 * c->seen.count >= 2 * c->filled || c->seen.count > SETTINGS_MOST) && !is_told(c, "settings") &&
           d->rows > 1;
}

/* Returns whether its name says that higher is better. */
static bool column_is_gain(const struct draft_column *c)
{
    return c->rate || is_told(c, "gains");
}

/* Whole numbers whose name says that higher is better. */
static bool is_measured_gain(const struct draft_column *c)
{
    return !prefix_of(c->name) && c->seen.count > 2 && column_is_gain(c) && !is_told(c, "settings");
}

/* "2025-01-02 10:00:00", or a time of day. */
static bool is_date(const struct draft_column *c)
{
    const char *text = c->words.count ? c->words.items[0] : "";
    const size_t digits = strspn(text, "0123456789");
    return (digits == 4 && text[4] == '-' && strspn(text + 5, "0123456789") == 2) ||
           (digits > 0 && digits < 3 && text[digits] == ':');
}

/* The section that it belongs to as a key. */
static enum section_kind column_section(const struct draft_column *c)
{
    for (enum section_kind s = 0; s < SECTION_COUNT; s++)
        if (is_told(c, section_names[s]))
            return s;
    return SECTION_TRAINING;
}

static bool has_mixed_numbers(const struct draft_column *c)
{
    struct proposal_list metric = {.items = NULL};
    const bool is = c->numbers > 0 && !column_is_numeric(c) && metric_by_name(c, &metric);
    proposal_list_free(&metric);
    return is;
}

/* The role of column `i`. If name or unit identify a metric, `*metric` describes it
 * as for a line of a log; else it is empty. proposal_list_free frees it. */
static enum column_role column_role(const struct import_draft *d, size_t i, struct proposal_list *metric)
{
    const struct draft_column *c = &d->columns[i];
    const bool is_setting = prefix_of(c->name) && !prefix_of(c->name)->integer;
    *metric = (struct proposal_list){.items = NULL};
    if (c->filled == c->absent)
        return ROLE_EMPTY;
    if (d->is_export && known_has(known("table", "own"), c->name))
        return ROLE_OWN;
    if (i == d->state)
        return ROLE_STATE;
    if (is_told(c, "durations"))
        return column_is_numeric(c) ? ROLE_DURATION : ROLE_LABEL;
    if (column_is_numeric(c) && !is_setting && metric_by_name(c, metric))
        return ROLE_METRIC;
    if (column_is_numeric(c) && (is_measured(d, c) || is_measured_gain(c)))
        return ROLE_METRIC;
    const bool tells_nothing = (c->seen.count == 1 || c->seen.count == c->filled) && !has_mixed_numbers(c);
    bool is_label = is_told(c, "labels") && tells_nothing && column_section(c) == SECTION_TRAINING;
    return !is_setting && (is_label || is_date(c)) ? ROLE_LABEL : ROLE_KEY;
}

/* --- rows --- */

/* How many different rows there are by these columns and `further` (d->count: no further one). */
static size_t count_different(const struct import_draft *d, size_t further)
{
    struct hash_index seen = HASH_INDEX_INIT;
    OWNED_BUFFER row = BUFFER_INIT;
    for (size_t first = 0; first + d->count <= d->cell_count; first += d->count) {
        buffer_clear(&row);
        for (size_t i = 0; i < d->count; i++)
            if (d->columns[i].role == ROLE_KEY || i == further)
                buffer_printf(&row, "%s\n", d->cells[first + i] ? d->cells[first + i] : "");
        const struct hash128 hash = hash_bytes(row.data, row.length);
        hash_index_takes(&seen, &hash);
    }
    const size_t count = seen.count;
    hash_index_free(&seen);
    return count;
}

/* Makes labels keys (ROLE_KEY) as long as they tell rows apart that no key does. */
static bool columns_tell_rows_apart(struct import_draft *d)
{
    const size_t rows = d->count ? d->cell_count / d->count : 0;
    size_t different = count_different(d, d->count);
    while (different < rows) {
        size_t best = d->count, most = different;
        for (int ids = 0; ids < 2 && best == d->count && (ids == 0 || different == 1); ids++)
            for (size_t i = 0; i < d->count; i++) {
                const struct draft_column *c = &d->columns[i];
                const bool is_id = is_date(c) || is_told(c, "labels");
                const size_t with = c->role == ROLE_LABEL && is_id == (ids == 1) ? count_different(d, i) : 0;
                best = with > most ? i : best;
                most = with > most ? with : most;
            }
        if (best == d->count)
            return true;
        d->columns[best].role = ROLE_KEY;
        d->columns[best].is_promoted = true;
        different = most;
    }
    return false;
}

static bool number_at(const struct import_draft *d, size_t first, const struct draft_column *c, double *out)
{
    char digits[NUMBER_BYTES];
    const char *cell = d->cells[first + (size_t)(c - d->columns)];
    return cell && parse_written_number(cell, c->notation == DECIMAL_COMMA ? ',' : '.', digits) &&
           parse_double(digits, out);
}

/* Returns whether each of the first rows gives a whole number of devices per host, at least one. */
static bool columns_divide(const struct import_draft *d, const struct device_columns *c)
{
    for (size_t first = 0; first + d->count <= d->cell_count; first += d->count) {
        double hosts, devices = 1, number;
        bool is_known = number_at(d, first, c->hosts, &hosts);
        for (size_t i = 0; i < c->count && is_known; i++) {
            is_known = number_at(d, first, c->devices[i], &number);
            devices *= is_known ? number : 1;
        }
        if (is_known && (hosts < 1 || devices < hosts || fmod(devices, hosts) != 0))
            return false;
    }
    return true;
}

/* --- the whole --- */

/* How much of a metric's name, "step_time", the column's has: all of it, its words, "step", or nothing. */
static int likeness(const struct draft_column *c, const char *metric)
{
    OWNED char *first = xstrndup(metric, strcspn(metric, "_"));
    return strcmp(c->key, metric) == 0 ? 3 : has_word(c->key, metric) ? 2 : has_word(c->key, first);
}

/* Returns whether of all columns that are taken for its metric, this one is the likest, and the first of such. */
static bool is_named_by_metric(const struct import_draft *d, const struct draft_column *c)
{
    const char *metric = c->by_name.count ? c->by_name.items[0].metric : NULL;
    for (const struct draft_column *o = d->columns; o < d->columns + d->count && metric; o++)
        if (o->by_name.count && strcmp(o->by_name.items[0].metric, metric) == 0 &&
            likeness(o, metric) + (o < c) > likeness(c, metric))
            return false;
    return metric;
}

/* Keys of the cluster have many names; rules and predictions read one. */
static const char *own_key(const struct import_draft *d, const struct draft_column *c)
{
    const struct toml_node *keys = known("table", "cluster_keys");
    for (size_t k = 0; k < keys->child_count; k++) {
        const char *key = keys->children[k].key;
        bool is_meant = c->role == ROLE_KEY && column_is_numeric(c) == (strncmp(key, "num_", 4) == 0) &&
                        known_has(&keys->children[k], c->key);
        for (const struct draft_column *before = d->columns; before < c && is_meant; before++)
            is_meant = strcmp(before->called, key) != 0;
        if (is_meant)
            return key;
    }
    return c->key;
}

/* The column with that key; NULL if there is none. */
static const struct draft_column *column_of(const struct import_draft *d, const char *key)
{
    const struct draft_column *c = d->columns;
    return FIND(i, d->count, c[i].role == ROLE_KEY && column_is_numeric(&c[i]) && strcmp(c[i].called, key) == 0, &c[i]);
}

/* The column of all devices of a row; NULL: there is none. */
static const struct draft_column *column_of_devices(const struct import_draft *d)
{
    const struct toml_node *all = toml_child(known("table", "words"), "all_devices");
    const struct draft_column *sum = NULL;
    for (size_t i = 0; i < all->child_count && !sum; i++)
        sum = column_of(d, all->children[i].text);
    return sum;
}

/* Devices that are no multiple of the hosts in all rows are those of one host. */
static void name_devices_per_host(struct import_draft *d)
{
    const struct draft_column *sum = column_of_devices(d);
    const struct device_columns c = {{sum}, 1, column_of(d, "num_hosts")};
    if (sum && c.hosts && !column_of(d, "num_devices_per_host") && !columns_divide(d, &c))
        d->columns[d->guessed = (size_t)(sum - d->columns)].called = "num_devices_per_host";
}

static void plan_columns(struct import_draft *d)
{
    d->state = state_column(d);
    d->guessed = d->count;
    for (size_t i = 0; i < d->count; i++)
        d->columns[i].role = column_role(d, i, &d->columns[i].by_name);
    for (struct draft_column *c = d->columns; c < d->columns + d->count; c++) {
        const struct proposal *by_name = c->by_name.count ? &c->by_name.items[0] : NULL;
        if (c->role == ROLE_METRIC)
            c->metric = xstrdup(is_named_by_metric(d, c) ? by_name->metric : c->key);
        c->higher_is_better = by_name ? by_name->higher_is_better : column_is_gain(c);
    }
    d->has_repeats = columns_tell_rows_apart(d);
    for (size_t i = 0; i < d->count; i++)
        d->columns[i].called = own_key(d, &d->columns[i]);
    name_devices_per_host(d);
}

/* Returns whether the table has a column for `input`, under any of its names. */
static bool has_input(const struct import_draft *d, const char *input)
{
    for (const char *const *name = inputs[input_find(input)].names; *name; name++)
        if (ANY(i, d->count, d->columns[i].role == ROLE_KEY && strcmp(d->columns[i].called, *name) == 0))
            return true;
    return false;
}

/* dp from devices and degrees where the rows have these but no dp; NULL: they do not. The caller's. */
static char *derive_dp(const struct import_draft *d)
{
    static const char *const degrees[] = {DEGREES_BESIDE_DP};
    bool has[LENGTH(degrees)];
    for (size_t i = 0; i < LENGTH(degrees); i++)
        has[i] = has_input(d, degrees[i]);
    const bool may_be = column_of(d, "num_devices_per_host") || column_of_devices(d) || column_of(d, "num_hosts");
    return may_be && !has_input(d, "dp") ? new_sweep_derived(has) : NULL;
}

/* The columns by which a row's number of devices follows if none gives it per host: that of all devices, or those of
 * its degrees. */
static void describe_devices(const struct import_draft *d, cJSON *draft)
{
    static const char *const degrees[] = {"dp", "tp", "pp", "cp"};
    const struct draft_column *sum = column_of_devices(d);
    struct device_columns c = {.hosts = column_of(d, "num_hosts")};
    int64_t node = 0;
    if (column_of(d, "num_devices_per_host"))
        return;
    cJSON *devices = cJSON_AddArrayToObject(draft, "devices");
    for (size_t i = 0; i < (sum ? 1 : LENGTH(degrees)); i++) {
        c.devices[c.count] = sum ? sum : column_of(d, degrees[i]);
        if (c.devices[c.count])
            cJSON_AddItemToArray(devices, cJSON_CreateNumber((double)(c.devices[c.count++] - d->columns)));
    }
    for (size_t i = 0; i < d->count && sum && !c.hosts; i++)
        if (d->columns[i].role == ROLE_KEY && strcmp(d->columns[i].called, "device") == 0)
            node = device_usual_node(&d->columns[i].words, sum->in[sum->notation].largest);
    JSON_ADD(draft, JSON_TRUTH("is_sum", sum != NULL), JSON_COUNT("hosts", c.hosts ? c.hosts - d->columns : -1),
             JSON_TRUTH("divides", c.hosts && columns_divide(d, &c)), JSON_COUNT("node", node > 0 ? node : -1));
}

static cJSON *texts_of(const struct string_list *l)
{
    return cJSON_CreateStringArray((const char *const *)l->items, (int)l->count);
}

static void describe_column(const struct import_draft *d, size_t i, cJSON *columns)
{
    static const char *const roles[ROLE_COUNT] = {"key", "metric", "duration", "state", "label", "own", "empty"};
    const struct draft_column *c = &d->columns[i];
    const struct proposal *p = c->by_name.count ? &c->by_name.items[0] : NULL;
    const bool has_groups = c->has_commas && c->notation == DECIMAL_POINT;
    const char *last = strrchr(c->key, '_');
    cJSON *column =
        JSON_ITEM(columns, JSON_STRING("name", c->name), JSON_STRING("sql", c->sql),
                  JSON_STRING("role", roles[c->role]), JSON_STRING("key", c->key),
                  JSON_STRING("last_word", last ? last + 1 : ""), JSON_STRING("called", c->called),
                  JSON_INT("section", column_section(c)), JSON_TRUTH("is_promoted", c->is_promoted),
                  JSON_TRUTH("is_guessed", i == d->guessed), JSON_TRUTH("is_filled", c->filled > 0),
                  JSON_INT("numbers", c->numbers), JSON_TRUTH("is_numeric", column_is_numeric(c)),
                  JSON_TRUTH("has_mixed_numbers", has_mixed_numbers(c)),
                  JSON_TRUTH("is_above_1", c->in[c->notation].largest > 1),
                  JSON_TRUTH("has_decimal_commas", c->notation == DECIMAL_COMMA), JSON_TRUTH("is_guess", c->is_guess),
                  JSON_TEXT("marked", c->marked), JSON_TRUTH("has_groups", has_groups),
                  JSON_TRUTH("has_both", has_groups && c->in[DECIMAL_POINT].count < c->numbers),
                  JSON_TEXT("rate", c->rate), JSON_TEXT("metric", c->metric),
                  JSON_TRUTH("is_gain", c->higher_is_better), JSON_TEXT("by_name", p ? p->metric : NULL),
                  JSON_STRING("unit_by_name", p ? p->unit : ""));
    cJSON *units = cJSON_AddArrayToObject(column, "units");
    for (size_t u = 0; u < c->units.count; u++) {
        double factor;
        column_unit_factor(c, c->units.items[u], &factor);
        JSON_ITEM(units, JSON_STRING("text", c->units.items[u]), JSON_REAL("factor", factor));
    }
    cJSON_AddItemToObject(column, "words", texts_of(&c->words));
}

int import_draft_write(struct import_draft *d, const char *name, const char *table, struct buffer *out, struct error *e)
{
    /* Rows that are to be made others first. */
    if (check_first_row(d, e) < 0 || check_wide(d, e) < 0)
        return -1;
    import_draft_settle(d);
    plan_columns(d);
    OWNED_BUFFER words = BUFFER_INIT;
    toml_add_json(known("table", NULL), &words);
    OWNED_JSON *draft = cJSON_CreateObject();
    OWNED char *derived = derive_dp(d);
    JSON_ADD(draft, JSON_STRING("name", name), JSON_STRING("table", table), JSON_TRUTH("is_export", d->is_export),
             JSON_INT("state", d->state), JSON_TRUTH("has_repeats", d->has_repeats), JSON_TEXT("derived", derived));
    cJSON_AddItemToObject(draft, "sections", cJSON_CreateStringArray(section_names, SECTION_COUNT));
    cJSON *columns = cJSON_AddArrayToObject(draft, "columns");
    for (size_t i = 0; i < d->count; i++)
        describe_column(d, i, columns);
    describe_devices(d, draft);
    /* Rows that sum up the others: those with one of `sums` in `sum_column`. */
    if (!d->has_sums_within && d->sums.count && d->rows >= d->sums.count + 2) {
        JSON_ADD(draft, JSON_STRING("sum_column", d->columns[d->sum_column].name));
        cJSON_AddItemToObject(draft, "sums", texts_of(&d->sums));
    }
    OWNED char *said = cJSON_PrintUnformatted(draft);
    return saying_add_answer("sql/texts/table_draft.sql", VALUES(sql_text(said), sql_text(buffer_text(&words))), out,
                             e);
}
