#include "draft/table_columns.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "toml/known.h"
#include "util/memory.h"
#include "util/parse.h"
#include "util/unit.h"

enum { UNIT_BYTES_MOST = 16, SETTINGS_MOST = 50, CELLS_MOST = 200000 };

/* --- columns --- */

/* Prefixes of names in exports of MLflow, Optuna and Weights & Biases. */
static const struct {
    const char *text;
    bool is_measured;
} prefixes[] = {{"params.", false}, {"params_", false}, {"config.", false},    {"config/", false},
                {"metrics.", true}, {"metrics/", true}, {"user_attrs_", true}, {"values_", true}};

static size_t prefix_of(const char *name)
{
    size_t i = 0;
    while (i < LENGTH(prefixes) && strncasecmp(name, prefixes[i].text, strlen(prefixes[i].text)) != 0)
        i++;
    return i;
}

static char *key_of(const char *name)
{
    struct buffer key = BUFFER_INIT;
    size_t prefix = prefix_of(name);
    name += prefix < LENGTH(prefixes) ? strlen(prefixes[prefix].text) : 0;
    for (; *name; name++)
        if (isalnum((unsigned char)*name))
            buffer_add_char(&key, (char)tolower((unsigned char)*name));
        else if (key.length && key.data[key.length - 1] != '_')
            buffer_add_char(&key, '_');
    while (key.length && key.data[key.length - 1] == '_')
        key.data[--key.length] = '\0';
    if (!key.length || isdigit((unsigned char)key.data[0])) {
        char *text = xasprintf("column_%s", buffer_text(&key));
        buffer_free(&key);
        return text;
    }
    return buffer_take(&key);
}

/* Whether the name has the word `word`. */
static bool has_word(const char *key, const char *word)
{
    for (const char *at = key; (at = strstr(at, word)); at++) {
        const char after = at[strlen(word)];
        if ((at == key || at[-1] == '_') && (after == '\0' || after == '_'))
            return true;
    }
    return false;
}

/* Whether the column's name has one of these words: "settings", "gains", … (configs/knowledge/words.toml). */
static bool is_told(const struct draft_column *c, const char *words)
{
    const struct toml_node *list = toml_child(known("table", "words"), words);
    for (size_t i = 0; list && i < list->child_count; i++)
        if (has_word(c->key, list->children[i].text))
            return true;
    return false;
}

struct import_draft *import_draft_create(const char *const *columns, size_t count)
{
    struct import_draft *d = xcalloc(1, sizeof *d);
    d->columns = xcalloc(count + 1, sizeof *d->columns);
    d->count = count;
    for (size_t i = 0; i < count; i++) {
        d->columns[i].name = xstrdup(columns[i] ? columns[i] : "");
        char *key = key_of(d->columns[i].name);
        d->columns[i].rate = proposals_rate_of(d->columns[i].name);
        size_t same = 0;
        for (size_t j = 0; j < i; j++)
            same += strcmp(d->columns[j].key, key) == 0;
        d->columns[i].key = same ? xasprintf("%s_%zu", key, i + 1) : xstrdup(key);
        free(key);
    }
    return d;
}

void import_draft_free(struct import_draft *d)
{
    for (size_t i = 0; d && i < d->count; i++) {
        struct draft_column *c = &d->columns[i];
        free(c->name);
        free(c->key);
        free(c->rate);
        free(c->marked);
        string_list_free(&c->units);
        string_list_free(&c->words);
        hash_set_free(&c->seen);
    }
    for (size_t i = 0; d && i < d->cell_count; i++)
        free(d->cells[i]);
    if (d) {
        free(d->cells);
        free(d->columns);
    }
    free(d);
}

/* --- cells --- */

/* What may follow a number: " GB", "%", "". */
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

/* Whether the cell is a number with a unit in that notation. Sets what follows the number. */
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
    const bool has_comma = memchr(cell, ',', length), is_marked = has_comma || memchr(cell, '.', length);
    c->numbers++;
    c->has_commas |= has_comma;
    c->has_fraction |= is_marked || memchr(cell, 'e', length);
    if (is_marked && !c->marked)
        c->marked = xstrndup(cell, length);
    add_once(&c->units, unit, UNITS_MOST);
}

void import_draft_add(struct import_draft *d, const char *const *cells)
{
    d->rows++;
    for (size_t i = 0; i < d->count && d->cell_count + d->count - i <= CELLS_MOST; i++) {
        d->cells = array_grow(d->cells, d->cell_count, sizeof *d->cells);
        d->cells[d->cell_count++] = cells[i] ? xstrdup(cells[i]) : NULL;
    }
    for (size_t i = 0; i < d->count; i++) {
        struct draft_column *c = &d->columns[i];
        if (!cells[i])
            continue;
        const struct hash128 hash = hash_bytes(cells[i], strlen(cells[i]));
        hash_set_add(&c->seen, &hash);
        const char *unit = NULL;
        bool is_number = false;
        for (enum notation n = 0; n < NOTATION_COUNT; n++)
            is_number |= read_cell(c, cells[i], n, &unit);
        c->filled++;
        if (is_number)
            take_number(c, cells[i], unit);
        else
            add_once(&c->words, cells[i], WORDS_MOST);
    }
}

void import_draft_settle(struct import_draft *d)
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

/* Units of bytes and of seconds exclude each other; nothing is known of other units. */
static bool is_known_unit(const char *unit)
{
    double value;
    return !unit_convert(1, unit, "s", &value) || !unit_convert(1, unit, "B", &value);
}

const char *column_unit(const struct draft_column *c)
{
    return c->units.count ? c->units.items[0] : "";
}

bool column_unit_factor(const struct draft_column *c, const char *unit, double *out)
{
    const char *own = column_unit(c) + strspn(column_unit(c), " ");
    unit += strspn(unit, " ");
    *out = 1;
    return strcmp(unit, own) == 0 || (is_known_unit(unit) && is_known_unit(own) && unit_convert(1, unit, own, out));
}

bool column_is_numeric(const struct draft_column *c)
{
    bool has_one_kind = c->units.count <= UNITS_MOST;
    double factor;
    for (size_t i = 1; i < c->units.count && has_one_kind; i++)
        has_one_kind = column_unit_factor(c, c->units.items[i], &factor);
    return c->numbers > 0 && has_one_kind && 2 * c->numbers >= c->filled;
}

const char *outcome_of_word(const char *word)
{
    const struct toml_node *states = known("table", "states");
    for (size_t i = 0; i < states->child_count; i++)
        if (strcasecmp(states->children[i].key, word) == 0)
            return states->children[i].text;
    return NULL;
}

static bool has_state(const struct draft_column *c)
{
    for (size_t i = 0; i < c->words.count; i++)
        if (outcome_of_word(c->words.items[i]))
            return true;
    return false;
}

size_t state_column(const struct import_draft *d)
{
    size_t found = d->count;
    for (size_t i = d->count; i-- > 0;) {
        const struct draft_column *c = &d->columns[i];
        bool has_words = c->numbers == 0 && c->words.count > 0 && c->words.count <= WORDS_MOST;
        if (has_words && (is_told(c, "outcome") || (has_state(c) && found == d->count)))
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
        char *line = xasprintf("%s: %.15g%s\n", names[i], c->in[c->notation].last, column_unit(c));
        proposals_from_log(line, strlen(line), out);
        free(line);
    }
    return out->count ? &out->items[0] : NULL;
}

/* Numbers that hardly repeat, or more of them than anybody sets, under a name that is not a setting's. */
static bool is_measured(const struct import_draft *d, const struct draft_column *c)
{
    const size_t prefix = prefix_of(c->name);
    if (prefix < LENGTH(prefixes))
        return prefixes[prefix].is_measured;
    return c->has_fraction && c->seen.count > 1 &&
           (3 * c->seen.count >= 2 * c->filled || c->seen.count > SETTINGS_MOST) && !is_told(c, "settings") &&
           d->rows > 1;
}

bool column_is_gain(const struct draft_column *c)
{
    return c->rate || is_told(c, "gains");
}

/* Whole numbers whose name says that higher is better. */
static bool is_measured_gain(const struct draft_column *c)
{
    return prefix_of(c->name) == LENGTH(prefixes) && c->seen.count > 2 && column_is_gain(c) && !is_told(c, "settings");
}

/* "2025-01-02 10:00:00", or a time of day. */
static bool is_date(const struct draft_column *c)
{
    const char *text = c->words.count ? c->words.items[0] : "";
    const size_t digits = strspn(text, "0123456789");
    return (digits == 4 && text[4] == '-' && strspn(text + 5, "0123456789") == 2) ||
           (digits > 0 && digits < 3 && text[digits] == ':');
}

enum section_kind column_section(const struct draft_column *c)
{
    for (enum section_kind s = 0; s < SECTION_COUNT; s++)
        if (is_told(c, section_names[s]))
            return s;
    return SECTION_TRAINING;
}

enum column_role column_role(const struct import_draft *d, size_t i, size_t state, struct proposal_list *metric)
{
    const struct draft_column *c = &d->columns[i];
    const bool is_setting = prefix_of(c->name) < LENGTH(prefixes) && !prefixes[prefix_of(c->name)].is_measured;
    *metric = (struct proposal_list){NULL, 0};
    if (c->filled == 0 || (c->numbers == 0 && c->words.count == 1 && !isalnum((unsigned char)*c->words.items[0])))
        return ROLE_EMPTY;
    if (i == state)
        return ROLE_STATE;
    if (is_told(c, "durations"))
        return column_is_numeric(c) ? ROLE_DURATION : ROLE_LABEL;
    if (column_is_numeric(c) && !is_setting && metric_by_name(c, metric))
        return ROLE_METRIC;
    if (column_is_numeric(c) && (is_measured(d, c) || is_measured_gain(c)))
        return ROLE_METRIC;
    const bool tells_nothing = c->seen.count == 1 || c->seen.count == c->filled;
    bool is_label = is_told(c, "labels") && tells_nothing && column_section(c) == SECTION_TRAINING;
    bool is_text_of_each_row = !column_is_numeric(c) && d->rows > 3 && c->seen.count == d->rows;
    return !is_setting && (is_label || is_date(c) || is_text_of_each_row) ? ROLE_LABEL : ROLE_KEY;
}

/* --- rows --- */

static bool is_id(const struct draft_column *c)
{
    return is_date(c) || is_told(c, "labels");
}

/* How many different rows there are by these columns and `further` (d->count: no further one). */
static size_t count_different(const struct import_draft *d, const enum column_role *roles, size_t further)
{
    struct hash_set seen = HASH_SET_INIT;
    struct buffer row = BUFFER_INIT;
    for (size_t first = 0; first + d->count <= d->cell_count; first += d->count) {
        buffer_clear(&row);
        for (size_t i = 0; i < d->count; i++)
            if (roles[i] == ROLE_KEY || i == further)
                buffer_printf(&row, "%s\n", d->cells[first + i] ? d->cells[first + i] : "");
        const struct hash128 hash = hash_bytes(row.data, row.length);
        hash_set_add(&seen, &hash);
    }
    const size_t count = seen.count + seen.has_zero;
    buffer_free(&row);
    hash_set_free(&seen);
    return count;
}

bool columns_tell_rows_apart(const struct import_draft *d, enum column_role *roles, bool *promoted)
{
    const size_t rows = d->count ? d->cell_count / d->count : 0;
    size_t different = count_different(d, roles, d->count);
    while (different < rows) {
        size_t best = d->count, most = different;
        for (int ids = 0; ids < 2 && best == d->count && (ids == 0 || different == 1); ids++)
            for (size_t i = 0; i < d->count; i++) {
                if (roles[i] != ROLE_LABEL || is_id(&d->columns[i]) != (ids == 1))
                    continue;
                const size_t with = count_different(d, roles, i);
                best = with > most ? i : best;
                most = with > most ? with : most;
            }
        if (best == d->count)
            return true;
        roles[best] = ROLE_KEY;
        promoted[best] = true;
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

bool columns_divide(const struct import_draft *d, const struct device_columns *c)
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
