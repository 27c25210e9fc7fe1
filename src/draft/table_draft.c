#include "draft/table_draft.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "config/sweep.h"
#include "database/db.h"
#include "draft/table_shape.h"
#include "predict/input_table.h"
#include "sweep_file/devices.h"
#include "toml/known.h"
#include "util/memory.h"
#include "util/parse.h"
#include "util/unit.h"

enum { WORDS_MOST = 12, UNITS_MOST = 6, UNIT_BYTES_MOST = 16, SETTINGS_MOST = 50, CELLS_MOST = 200000 };

/* The columns of devices, whose product counts, and of hosts. */
struct device_columns {
    const struct draft_column *devices[4];
    size_t count;
    const struct draft_column *hosts;
};

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
    for (size_t i = 0; list && i < list->child_count; i++)
        if (has_word(c->key, list->children[i].text))
            return true;
    return false;
}

struct import_draft *import_draft_create(const char *const *columns, size_t count, struct error *e)
{
    if (table_shape_check_names(columns, count, e) < 0)
        return NULL;
    struct import_draft *d = xcalloc(1, sizeof *d);
    d->columns = xcalloc(count + 1, sizeof *d->columns);
    d->count = d->sum_column = count;
    for (size_t i = 0; i < count; i++) {
        d->columns[i].name = xstrdup(columns[i] ? columns[i] : "");
        d->is_export |= strcmp(d->columns[i].name, "in_sweep") == 0;
        OWNED char *key = key_of(d->columns[i].name);
        d->columns[i].sql = name_sql(d->columns[i].name);
        d->columns[i].rate = proposals_rate_of(d->columns[i].name);
        size_t same = 0;
        for (size_t j = 0; j < i; j++)
            same += strcmp(d->columns[j].key, key) == 0;
        d->columns[i].key = same ? xasprintf("%s_%zu", key, i + 1) : xstrdup(key);
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
    table_shape_add(d, cells);
    d->rows++;
    for (size_t i = 0; i < d->count && d->cell_count + d->count - i <= CELLS_MOST; i++)
        *array_add(d->cells, d->cell_count) = cells[i] ? xstrdup(cells[i]) : NULL;
    for (size_t i = 0; i < d->count; i++) {
        struct draft_column *c = &d->columns[i];
        if (!cells[i])
            continue;
        const struct hash128 hash = hash_bytes(cells[i], strlen(cells[i]));
        hash_index_takes(&c->seen, &hash);
        const char *unit = NULL;
        bool is_number = false;
        for (enum notation n = 0; n < NOTATION_COUNT; n++)
            is_number |= read_cell(c, cells[i], n, &unit);
        c->filled++;
        c->absent += !is_number && known_has(known("table", "absent"), cells[i]);
        if (is_number)
            take_number(c, cells[i], unit);
        else
            add_once(&c->words, cells[i], WORDS_MOST);
    }
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

/* What knowledge of tables says of a word: of "states", "seconds"; NULL: nothing. */
static const struct toml_node *known_word(const char *table, const char *word)
{
    const struct toml_node *words = known("table", table);
    return FIND(i, words->child_count, strcasecmp(words->children[i].key, word) == 0, &words->children[i]);
}

/* The outcome that a table's word means: "ok" or a failure class, "" if not ended; NULL: a person has to say. */
static const char *outcome_of_word(const char *word)
{
    const struct toml_node *state = known_word("states", word);
    return state ? state->text : NULL;
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
            states += outcome_of_word(c->words.items[w]) != NULL;
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

/* The column of an export of meshsweep with that name, if some rows have it; NULL: none, or the table is another's. */
static const struct draft_column *own_column(const struct import_draft *d, const char *name)
{
    const struct draft_column *found = NULL;
    for (size_t i = 0; d->is_export && i < d->count; i++)
        found = strcmp(d->columns[i].name, name) == 0 && d->columns[i].filled ? &d->columns[i] : found;
    return found;
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

/* `sql`, which it takes, where that is a number: NULL for a word. */
static char *unless_word(const struct draft_column *c, char *sql)
{
    struct buffer out = BUFFER_INIT;
    buffer_printf(&out, "iif(%s", c->sql);
    if (c->words.count > WORDS_MOST)
        buffer_add_text(&out, " NOT GLOB '[-+.0-9]*'");
    for (size_t i = 0; i < c->words.count && c->words.count <= WORDS_MOST; i++) {
        buffer_add_text(&out, i ? ", " : " IN (");
        buffer_add_quoted(&out, c->words.items[i], '\'');
    }
    buffer_printf(&out, "%s, NULL, %s)", c->words.count > WORDS_MOST ? "" : ")", sql);
    free(sql);
    return buffer_take(&out);
}

/* SQL that converts a number to the column's unit: " * CASE …". */
static void add_unit_factors(const struct draft_column *c, struct buffer *sql)
{
    buffer_printf(sql, " * CASE ltrim(%s, '+-.,0123456789eE')", c->sql);
    for (size_t i = 1; i < c->units.count; i++) {
        double factor = 1;
        column_unit_factor(c, c->units.items[i], &factor);
        buffer_add_text(sql, " WHEN ");
        buffer_add_quoted(sql, c->units.items[i], '\'');
        buffer_printf(sql, " THEN %.15g", factor);
    }
    buffer_add_text(sql, " ELSE 1 END");
}

/* The column's number as SQL: without unit and commas between thousands, NULL for a word. Where some cells are numbers
 * only with a decimal comma in a column of points, they stay what they are, and the import refuses their rows. */
static char *number_sql(const struct draft_column *c)
{
    struct buffer sql = BUFFER_INIT;
    const bool has_comma = c->has_commas && c->notation == DECIMAL_POINT;
    const bool is_mixed = has_comma && c->in[DECIMAL_POINT].count < c->numbers;
    const char *unit = c->units.count == 1 ? column_unit(c) : "";
    if (is_mixed)
        buffer_printf(&sql, "iif(instr(%s, ','), %s, ", c->sql, c->sql);
    buffer_printf(&sql, "%s%s%s%s%s", c->units.count > 1 ? "(" : "", unit[0] ? "replace(" : "",
                  has_comma ? "replace(" : "", c->sql, has_comma ? ", ',', '')" : "");
    if (unit[0]) {
        buffer_add_text(&sql, ", ");
        buffer_add_quoted(&sql, unit, '\'');
        buffer_add_text(&sql, ", '')");
    }
    buffer_add_text(&sql, unit[0] || has_comma || c->units.count > 1 ? " + 0.0" : "");
    if (c->units.count > 1) {
        buffer_add_char(&sql, ')');
        add_unit_factors(c, &sql);
    }
    buffer_add_text(&sql, is_mixed ? ")" : "");
    return c->words.count ? unless_word(c, buffer_take(&sql)) : buffer_take(&sql);
}

/* "ZeRO-1", "stage 2": a ZeRO stage and its name. */
static bool is_named_stage(const struct draft_column *c)
{
    bool is = c->numbers == 0 && c->words.count > 0 && c->words.count <= WORDS_MOST;
    for (size_t i = 0; i < c->words.count && is; i++) {
        const char *word = c->words.items[i], *digit = word + strcspn(word, "0123456789");
        is = (strcasestr(word, "zero") == word || strcasestr(word, "stage") == word) && *digit && digit[1] == '\0';
    }
    return is;
}

static char *value_sql(const struct draft_column *c)
{
    return column_is_numeric(c) && !column_unit(c)[0] ? number_sql(c)
           : is_named_stage(c)                        ? xasprintf("substr(%s, -1) + 0", c->sql)
                                                      : xstrdup(c->sql);
}

/* NAME = "SQL"; `sql` is freed. */
static void add_expression(struct buffer *out, const char *name, char *sql)
{
    buffer_printf(out, "%s = ", name);
    buffer_add_toml_string(out, "", sql, "\n");
    free(sql);
}

/* The word after the last "_" of its key: "runtime_min". */
static const char *last_word(const struct draft_column *c)
{
    const char *word = strrchr(c->key, '_');
    return word ? word + 1 : "";
}

/* The column's unit, from its cells or its name. */
static const char *unit_of(const struct draft_column *c, const struct proposal *p)
{
    const struct toml_node *rate = toml_child(known("table", "rates"), c->key);
    const struct toml_node *units = known("table", "units");
    const char *unit = column_unit(c) + strspn(column_unit(c), " ");
    if (unit[0])
        return unit;
    if (!p && (rate || c->rate))
        return rate ? rate->text : c->rate;
    if (!p)
        return known_has(units, last_word(c)) && !column_is_gain(c) ? last_word(c) : "";
    return strcmp(p->metric, "mfu") == 0 && c->in[c->notation].largest > 1 ? "%" : p->unit;
}

/* Its class, or a guess that is marked as one. */
static void add_states(struct buffer *out, const struct draft_column *c)
{
    bool has_any = false;
    for (size_t i = 0; i < c->words.count; i++) {
        const char *word = c->words.items[i], *outcome = outcome_of_word(word);
        const char *guess = strcasestr(word, "oom") || strcasestr(word, "memory") ? "oom" : "exit";
        if (outcome && (!*outcome || strcmp(outcome, c->words.items[i]) == 0))
            continue;
        buffer_add_text(out, has_any ? "" : "[import.states]\n");
        has_any = true;
        buffer_add_toml_string(out, "", c->words.items[i], "");
        buffer_printf(out, " = \"%s\"%s\n", outcome ? outcome : guess,
                      outcome ? "" : "   # a guess: ok, or a failure class");
    }
}

static void add_refusals(struct buffer *out, const struct draft_column *c, const char *sql)
{
    for (size_t i = 0; i < c->words.count; i++) {
        const char *outcome = outcome_of_word(c->words.items[i]);
        if (!outcome || *outcome)
            continue;
        OWNED_BUFFER when = BUFFER_INIT;
        buffer_printf(&when, "%s = ", sql);
        buffer_add_quoted(&when, c->words.items[i], '\'');
        buffer_add_toml_string(out, "[[import.refuse]]\nwhen = ", buffer_text(&when), "\nwhy = ");
        OWNED char *why = xasprintf("it was %s", c->words.items[i]);
        buffer_add_toml_string(out, "", why, "\n");
    }
}

/* If no column says how a row ended, a word in place of a number may: "OOM". */
static char *state_sql_of_numbers(const struct import_draft *d)
{
    for (size_t i = 0; i < d->count; i++) {
        const struct draft_column *c = &d->columns[i];
        for (size_t w = 0; column_is_numeric(c) && w < c->words.count; w++) {
            const char *outcome = outcome_of_word(c->words.items[w]);
            if (!outcome || !*outcome || strcmp(outcome, "ok") == 0)
                continue;
            struct buffer sql = BUFFER_INIT;
            buffer_printf(&sql, "iif(%s = ", c->sql);
            buffer_add_quoted(&sql, c->words.items[w], '\'');
            buffer_printf(&sql, ", '%s', 'ok')", outcome);
            return buffer_take(&sql);
        }
    }
    return NULL;
}

static void add_duration(struct buffer *out, const struct draft_column *c)
{
    const struct toml_node *unit =
        known_word("seconds", column_unit(c)[0] ? column_unit(c) + strspn(column_unit(c), " ") : last_word(c));
    const double factor = unit ? unit->real : 1;
    OWNED char *number = number_sql(c), *sql = factor == 1 ? xstrdup(number) : xasprintf("%g * (%s)", factor, number);
    buffer_add_toml_string(out, "duration = ", sql, "");
    buffer_add_text(out, factor == 1 ? "   # in seconds\n" : "\n");
}

/* The objective is the first of some metrics, else the one that most rows have; NULL: there is none. */
static const struct draft_column *objective_of(const struct import_draft *d)
{
    const struct toml_node *aims = known("table", "aims");
    const struct draft_column *fullest = NULL, *end = d->columns + d->count;
    for (size_t aim = 0; aim < aims->child_count; aim++)
        for (const struct draft_column *c = d->columns; c < end; c++)
            if (c->by_name.count && strcmp(c->by_name.items[0].metric, aims->children[aim].text) == 0)
                return c;
    for (const struct draft_column *c = d->columns; c < end; c++)
        if (c->role == ROLE_METRIC && (!fullest || c->numbers > fullest->numbers))
            fullest = c;
    return fullest;
}

static void add_metric_table(struct buffer *out, const struct draft_column *c)
{
    const struct proposal *p = c->by_name.count ? &c->by_name.items[0] : NULL;
    const char *unit = unit_of(c, p);
    buffer_printf(out, "[job.metrics.%s]\n", c->metric);
    if (unit[0]) {
        buffer_add_toml_string(out, "unit = ", unit, "\n");
    } else if (p && (strcmp(p->metric, "step_time") == 0 || strcmp(p->metric, "peak_memory") == 0))
        buffer_add_text(out, "means = \"other\"   # to compare it with predictions, give its unit instead, such as "
                             "unit = \"s\" or \"GiB\"\n");
    buffer_printf(out, "better = \"%s\"%s\n", c->higher_is_better ? "max" : "min", p ? "" : "   # a guess");
}

/* --- the whole --- */

static bool is_taken(const struct import_draft *d, const char *metric)
{
    return ANY(i, d->count, d->columns[i].metric && strcmp(d->columns[i].metric, metric) == 0);
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
    for (size_t i = 0; i < d->count; i++) {
        struct draft_column *c = &d->columns[i];
        c->role = column_role(d, i, &c->by_name);
        if (c->role != ROLE_METRIC)
            continue;
        const struct proposal *by_name = c->by_name.count ? &c->by_name.items[0] : NULL;
        c->metric = xstrdup(by_name && !is_taken(d, by_name->metric) ? by_name->metric : c->key);
        c->higher_is_better = by_name ? by_name->higher_is_better : column_is_gain(c);
    }
    d->has_repeats = columns_tell_rows_apart(d);
    for (size_t i = 0; i < d->count; i++)
        d->columns[i].called = own_key(d, &d->columns[i]);
    name_devices_per_host(d);
}

static void add_state(const struct import_draft *d, struct buffer *out)
{
    const bool has_state = d->state < d->count;
    OWNED char *sql = has_state ? value_sql(&d->columns[d->state]) : state_sql_of_numbers(d);
    if (sql) /* an export has the class of a failure beside it */
        add_expression(out, "state", own_column(d, "failure") ? xasprintf("coalesce(failure, %s)", sql) : xstrdup(sql));
    for (size_t i = 0; i < d->count; i++)
        if (d->columns[i].role == ROLE_DURATION) {
            add_duration(out, &d->columns[i]);
            break;
        }
    if (has_state) {
        add_states(out, &d->columns[d->state]);
        add_refusals(out, &d->columns[d->state], sql);
    }
    if (own_column(d, "excluded"))
        buffer_add_text(out, "[[import.refuse]]\nwhen = \"excluded IS NOT NULL\"\nwhy = \"it was excluded\"\n");
}

/* "" if there are none. The caller frees it. */
static char *product_of(const struct device_columns *c)
{
    struct buffer sql = BUFFER_INIT;
    for (size_t i = 0; i < c->count; i++) {
        OWNED char *number = number_sql(c->devices[i]);
        buffer_printf(&sql, "%s%s", i ? " * " : "", number);
    }
    return buffer_take(&sql);
}

/* Whole numbers in SQL are divided without a rest: rows that have one are refused. If the table has such rows, there
 * are at least so many devices per host. */
static char *devices_per_host(const struct import_draft *d, const struct device_columns *c, const char *devices,
                              struct buffer *out, struct buffer *refusal)
{
    OWNED char *hosts = number_sql(c->hosts);
    if (!columns_divide(d, c)) {
        buffer_add_text(out, "# A guess: the degrees are no multiple of the hosts in all rows.\n");
        return xasprintf("max(1, (%s + %s - 1) / (%s))", devices, hosts, hosts);
    }
    OWNED char *when = xasprintf("(%s) %% (%s) <> 0", devices, hosts);
    buffer_add_toml_string(refusal, "[[import.refuse]]\nwhen = ", when,
                           "\nwhy = \"its hosts would not have the same number of devices\"\n");
    return xasprintf("(%s) / (%s)", devices, hosts);
}

/* A row's number of devices if no column gives it per host: all devices, or the product of its degrees. */
static void add_devices(const struct import_draft *d, struct buffer *out, struct buffer *refusal)
{
    static const char *const degrees[] = {"dp", "tp", "pp", "cp"};
    const struct draft_column *sum = column_of_devices(d);
    struct device_columns c = {.hosts = column_of(d, "num_hosts")};
    if (column_of(d, "num_devices_per_host"))
        return;
    for (size_t i = 0; i < (sum ? 1 : LENGTH(degrees)); i++) {
        c.devices[c.count] = sum ? sum : column_of(d, degrees[i]);
        c.count += c.devices[c.count] != NULL;
    }
    OWNED char *devices = product_of(&c);
    if (devices[0] && !sum)
        buffer_add_text(out,
                        "# The table does not give the number of devices; it follows from the parallel degrees.\n");
    long long node = 0;
    for (size_t i = 0; i < d->count && sum && !c.hosts; i++)
        if (d->columns[i].role == ROLE_KEY && strcmp(d->columns[i].called, "device") == 0)
            node = device_usual_node(&d->columns[i].words, sum->in[sum->notation].largest);
    if (node > 0) {
        buffer_printf(out, "# A guess: no column has the hosts; %lld of these devices are usual in one.\n", node);
        add_expression(out, "num_hosts", xasprintf("(%s + %lld) / %lld", devices, node - 1, node));
        add_expression(out, "num_devices_per_host",
                       xasprintf("%s / ((%s + %lld) / %lld)", devices, devices, node - 1, node));
    } else if (devices[0])
        add_expression(out, "num_devices_per_host",
                       c.hosts ? devices_per_host(d, &c, devices, out, refusal) : xstrdup(devices));
}

static void add_sections(const struct import_draft *d, struct buffer *out)
{
    OWNED_BUFFER devices = BUFFER_INIT, refusal = BUFFER_INIT;
    add_devices(d, &devices, &refusal);
    for (enum section_kind s = 0; s < SECTION_COUNT; s++) {
        bool has_any = s == SECTION_CLUSTER && devices.length > 0;
        if (has_any)
            buffer_printf(out, "[import.%s]\n%s", section_names[s], buffer_text(&devices));
        for (size_t i = 0; i < d->count; i++) {
            if (d->columns[i].role != ROLE_KEY || column_section(&d->columns[i]) != s)
                continue;
            if (!has_any)
                buffer_printf(out, "[import.%s]\n", section_names[s]);
            has_any = true;
            if (d->columns[i].is_promoted)
                buffer_add_text(out, "# A guess: nothing else tells these rows apart.\n");
            if (has_mixed_numbers(&d->columns[i]))
                buffer_add_text(out,
                                "# A guess: named as a measurement, but not all of its cells are numbers of a kind.\n");
            if (i == d->guessed)
                buffer_add_text(out, "# A guess: not all rows have a multiple of their hosts.\n");
            add_expression(out, d->columns[i].called, value_sql(&d->columns[i]));
        }
    }
    const char *head = "[import.metrics]\n";
    for (size_t i = 0; i < d->count; i++)
        if (d->columns[i].role == ROLE_METRIC) {
            buffer_add_text(out, head);
            add_expression(out, d->columns[i].metric, number_sql(&d->columns[i]));
            head = "";
        }
    buffer_add_text(out, refusal.length ? refusal.data : "");
}

/* Returns whether the table has a column for `input`, under any of its names. */
static bool has_input(const struct import_draft *d, const char *input)
{
    for (const char *const *name = inputs[input_find(input)].names; *name; name++)
        if (ANY(i, d->count, d->columns[i].role == ROLE_KEY && strcmp(d->columns[i].called, *name) == 0))
            return true;
    return false;
}

/* If rows have devices and degrees but no dp, dp is the rest of the devices. */
static void add_derived(const struct import_draft *d, struct buffer *out)
{
    static const char *const degrees[] = {"tp", "pp", "cp"};
    OWNED_BUFFER product = BUFFER_INIT;
    size_t count = 0;
    for (size_t i = 0; i < LENGTH(degrees); i++)
        if (has_input(d, degrees[i]))
            buffer_printf(&product, "%s%s", count++ ? " * " : "", degrees[i]);
    if (count && !has_input(d, "dp") &&
        (column_of(d, "num_devices_per_host") || column_of_devices(d) || column_of(d, "num_hosts")))
        buffer_printf(out, "[derive]\ndp = \"gpus / %s%s%s\"   # data parallelism takes the other devices\n",
                      count > 1 ? "(" : "", buffer_text(&product), count > 1 ? ")" : "");
}

static void add_left_out(const struct import_draft *d, struct buffer *out)
{
    static const char *const reasons[ROLE_COUNT] = {
        [ROLE_LABEL] = "every row has its own value or all have the same",
        [ROLE_OWN] = "an export has them beside keys and metrics",
        [ROLE_EMPTY] = "they are empty",
    };
    for (size_t role = 0; role < ROLE_COUNT; role++) {
        size_t count = 0;
        for (size_t i = 0; i < d->count && reasons[role]; i++)
            if (d->columns[i].role == role) {
                buffer_printf(out, count ? ", " : "# Left out, because %s: ", reasons[role]);
                buffer_add_text(out, d->columns[i].name);
                count++;
            }
        buffer_add_text(out, count ? "\n" : "");
        if (role == ROLE_LABEL && count && d->has_repeats)
            buffer_add_text(out, "# Rows that differ in these alone are repeats of one job.\n");
    }
}

/* The columns with decimal commas; a guess where their cells are numbers without them as well. */
static void add_decimal_commas(const struct import_draft *d, struct buffer *out)
{
    OWNED_BUFFER list = BUFFER_INIT;
    for (size_t i = 0; i < d->count; i++) {
        const struct draft_column *c = &d->columns[i];
        const bool has_decimal_comma = c->notation == DECIMAL_COMMA;
        if (!column_is_numeric(c))
            continue;
        if (c->is_guess)
            buffer_printf(out, "# a guess: %s of %s is a number with %s\n", c->marked, c->name,
                          has_decimal_comma ? "a decimal comma or points between thousands"
                                            : "commas between thousands");
        if (has_decimal_comma)
            buffer_add_toml_string(&list, list.length ? ", " : "decimal_comma = [", c->name, "");
    }
    if (list.length)
        buffer_printf(out, "%s]\n", buffer_text(&list));
}

int import_draft_write(struct import_draft *d, const char *name, const char *table, struct buffer *out, struct error *e)
{
    import_draft_settle(d);
    plan_columns(d);
    const struct draft_column *aim = objective_of(d);
    buffer_printf(out,
                  "# Written by meshsweep init from %s. Check it, then: meshsweep import -c FILE %s\n# All keys of "
                  "[import]: man 5 meshsweep.\n\n[sweep]\nname = ",
                  table, table);
    buffer_add_toml_string(out, "", name, "");
    if (aim)
        buffer_printf(out, "\nobjective = \"%s:%s\"%s\n\n", aim->higher_is_better ? "max" : "min", aim->metric,
                      aim->by_name.count ? "" : "   # a guess");
    else
        buffer_add_text(out, "\n# objective = \"min:NAME\": no column of the table looks like a measurement\n\n");
    for (size_t i = 0; i < d->count; i++)
        if (d->columns[i].role == ROLE_METRIC)
            add_metric_table(out, &d->columns[i]);
    buffer_add_text(out, "\n# Each value is an SQL expression over the table's columns.\n[import]\n");
    add_decimal_commas(d, out);
    add_state(d, out);
    add_sections(d, out);
    add_derived(d, out);
    add_left_out(d, out);
    return table_shape_finish(d, out, e);
}
