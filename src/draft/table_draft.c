#include "draft/table_draft.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "database/db.h"
#include "draft/table_columns.h"
#include "predict/input_table.h"
#include "util/memory.h"

static void add_quoted(struct buffer *sql, const char *text, char quote)
{
    buffer_add_char(sql, quote);
    for (; *text; text++) {
        buffer_add_char(sql, *text);
        if (*text == quote)
            buffer_add_char(sql, quote);
    }
    buffer_add_char(sql, quote);
}

/* In quotes unless it is a plain word. */
static void add_column_name(struct buffer *sql, const char *name)
{
    bool plain = isalpha((unsigned char)*name) || *name == '_';
    for (const char *p = name; *p; p++)
        plain = plain && (isalnum((unsigned char)*p) || *p == '_');
    if (plain && !db_is_keyword(name))
        buffer_add_text(sql, name);
    else
        add_quoted(sql, name, '"');
}

/* `sql`, which it takes, where that is a number: NULL for a word. */
static char *unless_word(const struct draft_column *c, char *sql)
{
    struct buffer out = BUFFER_INIT;
    buffer_add_text(&out, "iif(");
    add_column_name(&out, c->name);
    if (c->words.count > WORDS_MOST)
        buffer_add_text(&out, " NOT GLOB '[-+.0-9]*'");
    for (size_t i = 0; i < c->words.count && c->words.count <= WORDS_MOST; i++) {
        buffer_add_text(&out, i ? ", " : " IN (");
        add_quoted(&out, c->words.items[i], '\'');
    }
    buffer_printf(&out, "%s, NULL, %s)", c->words.count > WORDS_MOST ? "" : ")", sql);
    free(sql);
    return buffer_take(&out);
}

/* SQL that converts a number to the column's unit: " * CASE …". */
static void add_unit_factors(const struct draft_column *c, struct buffer *sql)
{
    buffer_add_text(sql, " * CASE ltrim(");
    add_column_name(sql, c->name);
    buffer_add_text(sql, ", '+-.,0123456789eE')");
    for (size_t i = 1; i < c->units.count; i++) {
        double factor = 1;
        column_unit_factor(c, c->units.items[i], &factor);
        buffer_add_text(sql, " WHEN ");
        add_quoted(sql, c->units.items[i], '\'');
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
    if (is_mixed) {
        buffer_add_text(&sql, "iif(instr(");
        add_column_name(&sql, c->name);
        buffer_add_text(&sql, ", ','), ");
        add_column_name(&sql, c->name);
        buffer_add_text(&sql, ", ");
    }
    buffer_add_text(&sql, c->units.count > 1 ? "(" : "");
    buffer_add_text(&sql, unit[0] ? "replace(" : "");
    buffer_add_text(&sql, has_comma ? "replace(" : "");
    add_column_name(&sql, c->name);
    buffer_add_text(&sql, has_comma ? ", ',', '')" : "");
    if (unit[0]) {
        buffer_add_text(&sql, ", ");
        add_quoted(&sql, unit, '\'');
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
    struct buffer name = BUFFER_INIT;
    if (column_is_numeric(c) && !column_unit(c)[0])
        return number_sql(c);
    buffer_add_text(&name, is_named_stage(c) ? "substr(" : "");
    add_column_name(&name, c->name);
    buffer_add_text(&name, is_named_stage(c) ? ", -1) + 0" : "");
    return buffer_take(&name);
}

/* NAME = "SQL"; `sql` is freed. */
static void add_expression(struct buffer *out, const char *name, char *sql)
{
    buffer_printf(out, "%s = ", name);
    buffer_add_toml_string(out, sql);
    buffer_add_char(out, '\n');
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
    static const struct {
        const char *key, *unit;
    } rates[] = {{"tok_s", "tokens/s"},
                 {"tok_s_gpu", "tokens/s/gpu"},
                 {"tokens_s_gpu", "tokens/s/gpu"},
                 {"tflops_gpu", "TFLOP/s/gpu"},
                 {"tgs", "tokens/s/gpu"}};
    static const char *const units[] = {"ms", "s", "sec", "min", "gb", "gib", "mb", "mib"};
    const char *unit = column_unit(c) + strspn(column_unit(c), " ");
    if (unit[0])
        return unit;
    for (size_t i = 0; i < LENGTH(rates) && !p; i++)
        if (strcmp(c->key, rates[i].key) == 0)
            return rates[i].unit;
    if (c->rate && !p)
        return c->rate;
    for (size_t i = 0; i < LENGTH(units) && !p && !column_is_gain(c); i++)
        if (strcmp(last_word(c), units[i]) == 0)
            return units[i];
    if (!p)
        return "";
    return strcmp(p->metric, "mfu") == 0 && c->in[c->notation].largest > 1 ? "%" : p->unit;
}

static const char *guess_of(const char *word)
{
    return strcasestr(word, "oom") || strcasestr(word, "memory") ? "oom" : "exit";
}

/* Its class, or a guess that is marked as one. */
static void add_states(struct buffer *out, const struct draft_column *c)
{
    bool has_any = false;
    for (size_t i = 0; i < c->words.count; i++) {
        const char *outcome = outcome_of_word(c->words.items[i]);
        if (outcome && (!*outcome || strcmp(outcome, c->words.items[i]) == 0))
            continue;
        buffer_add_text(out, has_any ? "" : "[import.states]\n");
        has_any = true;
        buffer_add_toml_string(out, c->words.items[i]);
        buffer_printf(out, " = \"%s\"%s\n", outcome ? outcome : guess_of(c->words.items[i]),
                      outcome ? "" : "   # a guess: ok, or a failure class");
    }
}

static void add_refusals(struct buffer *out, const struct draft_column *c, const char *sql)
{
    for (size_t i = 0; i < c->words.count; i++) {
        const char *outcome = outcome_of_word(c->words.items[i]);
        if (!outcome || *outcome)
            continue;
        struct buffer when = BUFFER_INIT;
        buffer_printf(&when, "%s = ", sql);
        add_quoted(&when, c->words.items[i], '\'');
        buffer_add_text(out, "[[import.refuse]]\nwhen = ");
        buffer_add_toml_string(out, buffer_text(&when));
        buffer_add_text(out, "\nwhy = ");
        char *why = xasprintf("it was %s", c->words.items[i]);
        buffer_add_toml_string(out, why);
        buffer_add_text(out, "\n");
        free(why);
        buffer_free(&when);
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
            buffer_add_text(&sql, "iif(");
            add_column_name(&sql, c->name);
            buffer_add_text(&sql, " = ");
            add_quoted(&sql, c->words.items[w], '\'');
            buffer_printf(&sql, ", '%s', 'ok')", outcome);
            return buffer_take(&sql);
        }
    }
    return NULL;
}

static double seconds_of(const char *unit)
{
    static const struct {
        const char *unit;
        double seconds;
    } units[] = {{"ms", 1e-3}, {"min", 60}, {"mins", 60}, {"minutes", 60}, {"h", 3600}, {"hours", 3600}};
    for (size_t i = 0; i < LENGTH(units); i++)
        if (strcasecmp(units[i].unit, unit) == 0)
            return units[i].seconds;
    return 1;
}

static void add_duration(struct buffer *out, const struct draft_column *c)
{
    double factor = seconds_of(column_unit(c)[0] ? column_unit(c) + strspn(column_unit(c), " ") : last_word(c));
    char *number = number_sql(c), *sql = factor == 1 ? xstrdup(number) : xasprintf("%g * (%s)", factor, number);
    buffer_add_text(out, "duration = ");
    buffer_add_toml_string(out, sql);
    buffer_add_text(out, factor == 1 ? "   # in seconds\n" : "\n");
    free(sql);
    free(number);
}

/* The objective is the first of these metrics, else the one that most rows have. */
static const char *const aims[] = {"throughput", "step_time", "mfu", "loss", "peak_memory"};

struct drafted_metric {
    const struct draft_column *column;
    struct proposal_list by_name;
    char *name;
    bool higher_is_better;
};

static const struct drafted_metric *objective_of(const struct drafted_metric *metrics, size_t count)
{
    for (size_t aim = 0; aim < LENGTH(aims); aim++)
        for (size_t i = 0; i < count; i++)
            if (metrics[i].by_name.count && strcmp(metrics[i].by_name.items[0].metric, aims[aim]) == 0)
                return &metrics[i];
    const struct drafted_metric *fullest = count ? &metrics[0] : NULL;
    for (size_t i = 1; i < count; i++)
        if (metrics[i].column->numbers > fullest->column->numbers)
            fullest = &metrics[i];
    return fullest;
}

static void add_metric_table(struct buffer *out, const struct drafted_metric *m)
{
    const struct proposal *p = m->by_name.count ? &m->by_name.items[0] : NULL;
    const char *unit = unit_of(m->column, p);
    buffer_printf(out, "[job.metrics.%s]\n", m->name);
    if (unit[0]) {
        buffer_add_text(out, "unit = ");
        buffer_add_toml_string(out, unit);
        buffer_add_char(out, '\n');
    } else if (p && (strcmp(p->metric, "step_time") == 0 || strcmp(p->metric, "peak_memory") == 0))
        buffer_add_text(out, "means = \"other\"   # to compare it with predictions, give its unit instead, such as "
                             "unit = \"s\" or \"GiB\"\n");
    buffer_printf(out, "better = \"%s\"%s\n", m->higher_is_better ? "max" : "min", p ? "" : "   # a guess");
}

/* --- the whole --- */

struct plan_of_columns {
    enum column_role *roles;
    bool *promoted;    /* labels that are keys, because nothing else tells rows apart */
    size_t guessed;    /* devices of a row that are taken for those of a host; as many as there are columns: none */
    bool has_repeats;  /* rows differ in labels alone */
    const char **keys; /* by column: its own key, or the tool's name for it */
    size_t state;
    struct drafted_metric *metrics;
    size_t metric_count;
};

static bool is_taken(const struct plan_of_columns *p, const char *name)
{
    for (size_t i = 0; i < p->metric_count; i++)
        if (strcmp(p->metrics[i].name, name) == 0)
            return true;
    return false;
}

/* Cluster keys that have many names and that rules and predictions read. */
static const struct {
    const char *key;
    bool is_number;
    const char *names[8];
} cluster_keys[] = {
    {"num_hosts", true, {"nodes", "hosts", "num_nodes", "n_nodes", "nnodes", "n_hosts"}},
    {"num_devices_per_host",
     true,
     {"gpus_per_node", "gpus_per_host", "devices_per_node", "devices_per_host", "nproc_per_node"}},
    {"device", false, {"gpu", "gpu_type", "gpu_name", "accelerator", "device_name", "device_type"}},
};

static const char *own_key(const struct plan_of_columns *p, size_t i, const struct draft_column *c)
{
    for (size_t k = 0; k < LENGTH(cluster_keys); k++)
        for (size_t n = 0; n < LENGTH(cluster_keys[k].names) && cluster_keys[k].names[n]; n++) {
            bool is_meant = p->roles[i] == ROLE_KEY && column_is_numeric(c) == cluster_keys[k].is_number &&
                            strcmp(c->key, cluster_keys[k].names[n]) == 0;
            for (size_t j = 0; j < i && is_meant; j++)
                is_meant = strcmp(p->keys[j], cluster_keys[k].key) != 0;
            if (is_meant)
                return cluster_keys[k].key;
        }
    return c->key;
}

/* The column with that key; NULL if there is none. */
static const struct draft_column *column_of(const struct import_draft *d, const struct plan_of_columns *p,
                                            const char *key)
{
    for (size_t i = 0; i < d->count; i++)
        if (p->roles[i] == ROLE_KEY && column_is_numeric(&d->columns[i]) && strcmp(p->keys[i], key) == 0)
            return &d->columns[i];
    return NULL;
}

/* The column of all devices of a row; NULL: there is none. */
static const struct draft_column *column_of_devices(const struct import_draft *d, const struct plan_of_columns *p)
{
    static const char *const all[] = {"gpus",    "num_gpus",    "n_gpus",     "ngpus",    "gpu_count",
                                      "devices", "num_devices", "world_size", "n_devices"};
    const struct draft_column *sum = NULL;
    for (size_t i = 0; i < LENGTH(all) && !sum; i++)
        sum = column_of(d, p, all[i]);
    return sum;
}

/* Devices that are no multiple of the hosts in all rows are those of one host. */
static void name_devices_per_host(const struct import_draft *d, struct plan_of_columns *p)
{
    const struct draft_column *sum = column_of_devices(d, p);
    const struct device_columns c = {{sum}, 1, column_of(d, p, "num_hosts")};
    if (sum && c.hosts && !column_of(d, p, "num_devices_per_host") && !columns_divide(d, &c))
        p->keys[p->guessed = (size_t)(sum - d->columns)] = "num_devices_per_host";
}

static struct plan_of_columns plan_columns(const struct import_draft *d)
{
    struct plan_of_columns p = {.roles = xcalloc(d->count + 1, sizeof *p.roles),
                                .promoted = xcalloc(d->count + 1, sizeof *p.promoted),
                                .keys = xcalloc(d->count + 1, sizeof *p.keys),
                                .state = state_column(d),
                                .guessed = d->count,
                                .metrics = xcalloc(d->count + 1, sizeof *p.metrics)};
    for (size_t i = 0; i < d->count; i++) {
        struct drafted_metric m = {.column = &d->columns[i]};
        p.roles[i] = column_role(d, i, p.state, &m.by_name);
        if (p.roles[i] != ROLE_METRIC)
            continue;
        const struct proposal *by_name = m.by_name.count ? &m.by_name.items[0] : NULL;
        m.name = xstrdup(by_name && !is_taken(&p, by_name->metric) ? by_name->metric : d->columns[i].key);
        m.higher_is_better = by_name ? by_name->higher_is_better : column_is_gain(&d->columns[i]);
        p.metrics[p.metric_count++] = m;
    }
    p.has_repeats = columns_tell_rows_apart(d, p.roles, p.promoted);
    for (size_t i = 0; i < d->count; i++)
        p.keys[i] = own_key(&p, i, &d->columns[i]);
    name_devices_per_host(d, &p);
    return p;
}

static void free_plan(struct plan_of_columns *p)
{
    for (size_t i = 0; i < p->metric_count; i++) {
        proposal_list_free(&p->metrics[i].by_name);
        free(p->metrics[i].name);
    }
    free(p->metrics);
    free(p->keys);
    free(p->promoted);
    free(p->roles);
}

static void add_state(const struct import_draft *d, const struct plan_of_columns *p, struct buffer *out)
{
    const bool has_state = p->state < d->count;
    char *sql = has_state ? value_sql(&d->columns[p->state]) : state_sql_of_numbers(d);
    if (sql)
        add_expression(out, "state", xstrdup(sql));
    for (size_t i = 0; i < d->count; i++)
        if (p->roles[i] == ROLE_DURATION) {
            add_duration(out, &d->columns[i]);
            break;
        }
    if (has_state) {
        add_states(out, &d->columns[p->state]);
        add_refusals(out, &d->columns[p->state], sql);
    }
    free(sql);
}

/* The product of those that the table has; "" if it has none. The caller frees it. */
static char *product_of(const struct import_draft *d, const struct plan_of_columns *p, const char *const *keys,
                        size_t count)
{
    struct buffer sql = BUFFER_INIT;
    for (size_t i = 0; i < count; i++) {
        const struct draft_column *c = column_of(d, p, keys[i]);
        char *number = c ? number_sql(c) : NULL;
        if (number)
            buffer_printf(&sql, "%s%s", sql.length ? " * " : "", number);
        free(number);
    }
    return buffer_take(&sql);
}

static bool gives_devices(const struct import_draft *d, const struct plan_of_columns *p)
{
    return column_of(d, p, "num_devices_per_host") || column_of_devices(d, p);
}

/* Whole numbers in SQL are divided without a rest: rows that have one are refused. If the table has such rows, there
 * are at least so many devices per host. */
static char *devices_per_host(const struct import_draft *d, const struct device_columns *c, const char *devices,
                              struct buffer *out, struct buffer *refusal)
{
    char *hosts = number_sql(c->hosts), *sql, *when;
    if (columns_divide(d, c)) {
        sql = xasprintf("(%s) / (%s)", devices, hosts);
        when = xasprintf("(%s) %% (%s) <> 0", devices, hosts);
        buffer_add_text(refusal, "[[import.refuse]]\nwhen = ");
        buffer_add_toml_string(refusal, when);
        buffer_add_text(refusal, "\nwhy = \"its hosts would not have the same number of devices\"\n");
        free(when);
    } else {
        buffer_add_text(out, "# A guess: the degrees are no multiple of the hosts in all rows.\n");
        sql = xasprintf("max(1, (%s + %s - 1) / (%s))", devices, hosts, hosts);
    }
    free(hosts);
    return sql;
}

/* A row's number of devices if no column gives it per host: all devices, or the product of its degrees. */
static void add_devices(const struct import_draft *d, const struct plan_of_columns *p, struct buffer *out,
                        struct buffer *refusal)
{
    static const char *const degrees[] = {"dp", "tp", "pp", "cp"};
    const struct draft_column *sum = column_of_devices(d, p);
    struct device_columns c = {.hosts = column_of(d, p, "num_hosts")};
    if (column_of(d, p, "num_devices_per_host"))
        return;
    for (size_t i = 0; i < (sum ? 1 : LENGTH(degrees)); i++) {
        c.devices[c.count] = sum ? sum : column_of(d, p, degrees[i]);
        c.count += c.devices[c.count] != NULL;
    }
    char *devices = sum ? number_sql(sum) : product_of(d, p, degrees, LENGTH(degrees));
    if (devices[0] && !sum)
        buffer_add_text(out,
                        "# The table does not give the number of devices; it follows from the parallel degrees.\n");
    if (devices[0])
        add_expression(out, "num_devices_per_host",
                       c.hosts ? devices_per_host(d, &c, devices, out, refusal) : xstrdup(devices));
    free(devices);
}

static void add_sections(const struct import_draft *d, const struct plan_of_columns *p, struct buffer *out)
{
    struct buffer devices = BUFFER_INIT, refusal = BUFFER_INIT;
    add_devices(d, p, &devices, &refusal);
    for (enum section_kind s = 0; s < SECTION_COUNT; s++) {
        bool has_any = s == SECTION_CLUSTER && devices.length > 0;
        if (has_any)
            buffer_printf(out, "[import.%s]\n%s", section_names[s], buffer_text(&devices));
        for (size_t i = 0; i < d->count; i++) {
            if (p->roles[i] != ROLE_KEY || column_section(&d->columns[i]) != s)
                continue;
            if (!has_any)
                buffer_printf(out, "[import.%s]\n", section_names[s]);
            has_any = true;
            if (p->promoted[i])
                buffer_add_text(out, "# A guess: nothing else tells these rows apart.\n");
            if (i == p->guessed)
                buffer_add_text(out, "# A guess: not all rows have a multiple of their hosts.\n");
            add_expression(out, p->keys[i], value_sql(&d->columns[i]));
        }
    }
    buffer_free(&devices);
    buffer_add_text(out, p->metric_count ? "[import.metrics]\n" : "");
    for (size_t i = 0; i < p->metric_count; i++)
        add_expression(out, p->metrics[i].name, number_sql(p->metrics[i].column));
    buffer_add_text(out, refusal.length ? refusal.data : "");
    buffer_free(&refusal);
}

static bool is_input(const char *key, const char *input)
{
    const char *synonyms = inputs[input_find(input)].synonyms;
    char name[INPUT_NAME_MOST];
    bool is = strcmp(key, input) == 0;
    while (!is && input_next_name(&synonyms, name))
        is = strcmp(key, name) == 0;
    return is;
}

/* Whether the table has a column for `input`. */
static bool has_input(const struct import_draft *d, const struct plan_of_columns *p, const char *input)
{
    for (size_t i = 0; i < d->count; i++)
        if (p->roles[i] == ROLE_KEY && is_input(p->keys[i], input))
            return true;
    return false;
}

/* If rows have devices and degrees but no dp, dp is the rest of the devices. */
static void add_derived(const struct import_draft *d, const struct plan_of_columns *p, struct buffer *out)
{
    static const char *const degrees[] = {"tp", "pp", "cp"};
    struct buffer product = BUFFER_INIT;
    size_t count = 0;
    for (size_t i = 0; i < LENGTH(degrees); i++)
        if (has_input(d, p, degrees[i]))
            buffer_printf(&product, "%s%s", count++ ? " * " : "", degrees[i]);
    if (count && !has_input(d, p, "dp") && (gives_devices(d, p) || column_of(d, p, "num_hosts")))
        buffer_printf(out, "[derive]\ndp = \"gpus / %s%s%s\"   # data parallelism takes the other devices\n",
                      count > 1 ? "(" : "", buffer_text(&product), count > 1 ? ")" : "");
    buffer_free(&product);
}

static void add_left_out(const struct import_draft *d, const struct plan_of_columns *p, struct buffer *out)
{
    size_t count = 0;
    for (size_t i = 0; i < d->count; i++)
        if (p->roles[i] == ROLE_LABEL)
            buffer_printf(out, "%s%s",
                          count++ ? ", " : "# Left out, because every row has its own value or all have the same: ",
                          d->columns[i].name);
    buffer_add_text(out, count ? "\n" : "");
    if (count && p->has_repeats)
        buffer_add_text(out, "# Rows that differ in these alone are repeats of one job.\n");
}

/* Which columns have decimal commas; a guess where their cells are numbers without them as well. */
static void add_decimal_commas(const struct import_draft *d, struct buffer *out)
{
    size_t count = 0;
    for (size_t i = 0; i < d->count; i++)
        if (d->columns[i].is_guess && column_is_numeric(&d->columns[i]))
            buffer_printf(out, "# a guess: %s of %s is a number with %s\n", d->columns[i].marked, d->columns[i].name,
                          d->columns[i].notation == DECIMAL_COMMA ? "a decimal comma or points between thousands"
                                                                  : "commas between thousands");
    for (size_t i = 0; i < d->count; i++)
        if (d->columns[i].notation == DECIMAL_COMMA && column_is_numeric(&d->columns[i])) {
            buffer_add_text(out, count++ ? ", " : "decimal_comma = [");
            buffer_add_toml_string(out, d->columns[i].name);
        }
    buffer_add_text(out, count ? "]\n" : "");
}

void import_draft_write(struct import_draft *d, const char *name, const char *table, struct buffer *out)
{
    import_draft_settle(d);
    struct plan_of_columns p = plan_columns(d);
    const struct drafted_metric *aim = objective_of(p.metrics, p.metric_count);
    buffer_printf(out,
                  "# Written by meshsweep init from %s. Check it, then: meshsweep import -c FILE %s\n# All keys of "
                  "[import]: man 5 meshsweep.\n\n[sweep]\nname = ",
                  table, table);
    buffer_add_toml_string(out, name);
    if (aim)
        buffer_printf(out, "\nobjective = \"%s:%s\"%s\n\n", aim->higher_is_better ? "max" : "min", aim->name,
                      aim->by_name.count ? "" : "   # a guess");
    else
        buffer_add_text(out, "\n# objective = \"min:NAME\": no column of the table looks like a measurement\n\n");
    for (size_t i = 0; i < p.metric_count; i++)
        add_metric_table(out, &p.metrics[i]);
    buffer_add_text(out, "\n# Each value is an SQL expression over the table's columns.\n[import]\n");
    add_decimal_commas(d, out);
    add_state(d, &p, out);
    add_sections(d, &p, out);
    add_derived(d, &p, out);
    add_left_out(d, &p, out);
    free_plan(&p);
}
