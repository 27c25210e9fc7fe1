#include "metrics/proposals.h"

#include <assert.h>
#include <ctype.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "pattern/line_pattern.h"
#include "toml/known.h"
#include "util/buffer.h"
#include "util/memory.h"
#include "util/parse.h"

/* A number in a line and what stands around it; all within the line. */
struct log_field {
    const char *name, *name_end; /* empty: none */
    const char *between;         /* from the name's end to the number: ": " */
    const char *number, *number_end;
    const char *unit, *unit_end; /* empty: none */
    const char *behind_end; /* of a name behind the unit, which it follows: "46.9% bf16 MFU"; the unit's end: none */
};

enum bare { BARE_NONE, BARE_FRACTIONS, BARE_ALL };

enum { KINDS_MOST = 32, LINE_BYTES_MOST = 16384 /* longer ones are taken in pieces */ };

/* One of [[log.quantities]] in configs/knowledge/words.toml, which says what its fields are. */
struct kind {
    const char *metric;
    const struct toml_node *names, *not_names, *units; /* lists; NULL: none */
    const char *take;
    bool higher_is_better, unit_needed, name_optional, positive;
    size_t own_units;
    double bare_from;
    const char *bare_unit;
    enum bare bare;
};

/* In the order in which they are asked: "tokens per second" is no time. Made once, as known() makes its words. */
static struct kind kinds[KINDS_MOST];
static size_t kind_count;

static const char *text_at(const struct toml_node *table, const char *key, const char *otherwise)
{
    const struct toml_node *node = toml_child(table, key);
    return node ? node->text : otherwise;
}

static int64_t number_at(const struct toml_node *table, const char *key)
{
    const struct toml_node *node = toml_child(table, key);
    return node ? node->integer : 0;
}

static void read_kinds(void)
{
    const struct toml_node *all = known("log", "quantities");
    assert(all && all->child_count <= KINDS_MOST);
    for (const struct toml_node *q = all->children; q < all->children + all->child_count; q++)
        kinds[kind_count++] = (struct kind){.metric = text_at(q, "metric", ""),
                                            .names = toml_child(q, "names"),
                                            .not_names = toml_child(q, "not_names"),
                                            .units = toml_child(q, "units"),
                                            .take = text_at(q, "take", "median"),
                                            .higher_is_better = strcmp(text_at(q, "better", "min"), "max") == 0,
                                            .unit_needed = number_at(q, "unit_needed") != 0,
                                            .name_optional = number_at(q, "name_optional") != 0,
                                            .positive = number_at(q, "positive") != 0,
                                            .own_units = (size_t)number_at(q, "own_units"),
                                            .bare_from = (double)number_at(q, "bare_from"),
                                            .bare_unit = text_at(q, "bare_unit", NULL),
                                            .bare = strcmp(text_at(q, "bare", ""), "all") == 0         ? BARE_ALL
                                                    : strcmp(text_at(q, "bare", ""), "fractions") == 0 ? BARE_FRACTIONS
                                                                                                       : BARE_NONE};
}

/* Returns whether a word may begin here: not within one, but "CrossEntropyLoss" is three. */
static bool is_boundary(const char *text, const char *at, const char *end)
{
    return at == text || at == end || !isalpha((unsigned char)at[-1]) || !isalpha((unsigned char)*at) ||
           (islower((unsigned char)at[-1]) && isupper((unsigned char)*at));
}

/* Returns where the words that begin at `at` end, whatever stands between them and in capitals or not; NULL: they do
 * not. */
static const char *words_end(const char *text, const char *at, const char *end, const char *words)
{
    const char *p = at;
    for (const char *w = words; *w; w++)
        if (p < end && (*w == ' ' ? strchr("_- ", *p) != NULL : tolower((unsigned char)*p) == *w))
            p++;
        else if (*w != ' ' || !is_boundary(text, p, end))
            return NULL;
    return is_boundary(text, at, end) && is_boundary(text, p, end) ? p : NULL;
}

static bool has_words(const char *text, const char *end, const char *words)
{
    for (const char *p = text; p < end; p++)
        if (words_end(text, p, end, words))
            return true;
    return false;
}

static bool has_any(const char *text, const char *end, const struct toml_node *words)
{
    return words && ANY(i, words->child_count, has_words(text, end, words->children[i].text));
}

static bool text_is(const char *text, const char *begin, const char *end)
{
    return strlen(text) == (size_t)(end - begin) && strncasecmp(text, begin, (size_t)(end - begin)) == 0;
}

/* Its place in the kind's units; SIZE_MAX: it is none. */
static size_t unit_place(const struct kind *k, const char *unit, const char *end)
{
    for (size_t i = 0; k->units && i < k->units->child_count; i++)
        if (text_is(k->units->children[i].text, unit, end))
            return i;
    return SIZE_MAX;
}

static bool is_unit(const struct kind *k, const char *unit, const char *end)
{
    return unit_place(k, unit, end) < SIZE_MAX;
}

/* "52.3K", of which the next may be "987": no unit, but a part of the number. */
static bool is_prefix(const struct kind *k, const struct log_field *f)
{
    return f->unit + 1 == f->unit_end && f->unit == f->number_end && strchr("kKMGT", *f->unit) &&
           !is_unit(k, f->unit, f->unit_end);
}

static bool is_any_unit(const char *unit, const char *end)
{
    return ANY(i, kind_count, is_unit(&kinds[i], unit, end));
}

/* --- fields --- */

static bool is_name_char(char c)
{
    return isalnum((unsigned char)c) || strchr("_/().-", c) != NULL;
}

/* Returns the length of the "nan" or "inf" that stands in a number's place; 0: none. */
static size_t no_number(const char *text, const char *at, const char *end)
{
    const bool is = end - at >= 3 && (strncasecmp(at, "nan", 3) == 0 || strncasecmp(at, "inf", 3) == 0) &&
                    (at == text || !is_name_char(at[-1]) || at[-1] == '-') && (end - at == 3 || !is_name_char(at[3]));
    return is ? 3 : 0;
}

/* The name before `at`: words with single blanks between them, of which none begins with a digit. `f` has the field
 * before. */
static void find_name(const char *line, const char *at, struct log_field *f)
{
    const char *end = at;
    end -= end > line && end[-1] == '"' && *f->number_end == '"';
    while (end > line && end[-1] == ' ')
        end--;
    if (end > line && strchr(":=", end[-1]))
        end--;
    while (end > line && strchr(" '\"", end[-1]))
        end--;
    const char *begin = end;
    for (const char *p = end; p > line;) {
        const char *word = p;
        while (word > line && is_name_char(word[-1]))
            word--;
        if (word == p || isdigit((unsigned char)word[*word == '(']) || *word == '-' || *word == '/')
            break;
        if (no_number(line, word, p))
            break;
        if (word == f->unit)
            break;
        begin = word;
        if (word == line || word[-1] != ' ' || word - 1 == line)
            break;
        p = word - 1;
    }
    f->name = begin;
    f->name_end = end;
    f->between = end;
}

/* The unit that ends the name: "step_time_ms: 3", "timing in s: 3", "time (ms): 3", "seconds: 3", but for a word such
 * as that of "step_time_ms_mean: 3", or stands before "per step" there; empty: none. */
static void find_unit_in_name(struct log_field *f)
{
    const char *end = f->name_end, *begin;
    if (f->name == end)
        return;
    bool parentheses = end[-1] == ')';
    end -= parentheses ? 1 : 0;
    for (const char *p = f->name + 1; p < f->name_end; p++)
        if (strchr("_ ", p[-1]) && words_end(f->name, p, end, "per"))
            end = p - 1;
    for (begin = end; begin > f->name && !strchr(parentheses ? "(" : "_ ", begin[-1]); begin--)
        ;
    if (!parentheses && begin > f->name && has_any(begin, end, known("log", "summaries")))
        for (end = --begin; begin > f->name && !strchr("_ ", begin[-1]); begin--)
            ;
    if (!parentheses && !is_any_unit(begin, end))
        return;
    f->unit = begin;
    f->unit_end = end;
}

static bool is_last_word(const struct log_field *f, const struct toml_node *words)
{
    for (const char *at = f->name; at < f->name_end; at++)
        if (ANY(i, words->child_count, words_end(f->name, at, f->name_end, words->children[i].text) == f->name_end))
            return true;
    return false;
}

/* "loss 2.5 tok/s 310": what a loss has behind it, or a number of steps that no time is, is the name of the next. */
static bool is_next_name(const struct log_field *f)
{
    return *f->unit != '%' && (is_last_word(f, known("log", "unitless")) ||
                               (is_unit(&kinds[0], f->unit, f->unit_end) && is_last_word(f, known("log", "steps"))));
}

/* The unit behind a number, or in its name. */
static void find_unit(const char *end, struct log_field *f)
{
    const char *p = f->number_end;
    bool apart = p < end && *p == ' ';
    f->unit = p + (apart ? 1 : 0);
    for (p = f->unit; p < end && (isalpha((unsigned char)*p) || strchr("/%", *p)); p++)
        ;
    f->unit_end = p;
    if (apart && (!is_any_unit(f->unit, f->unit_end) || is_next_name(f)))
        f->unit_end = f->unit = f->number_end;
    if (f->unit == f->unit_end)
        find_unit_in_name(f);
}

/* A name of a share stands behind it as well as before it, perhaps after a word. */
static void find_name_behind(const char *end, struct log_field *f)
{
    f->behind_end = f->unit_end;
    if (f->unit != f->number_end || f->unit + 1 != f->unit_end || *f->unit != '%')
        return;
    const char *p = f->unit_end;
    for (int word = 0; word < 2 && p < end && *p == ' '; word++) {
        const char *begin = ++p;
        while (p < end && isalnum((unsigned char)*p))
            p++;
        if (has_any(begin, p, known("log", "shares")))
            f->behind_end = p;
    }
}

/* The next number from `p` on that begins a word; false: none. */
static bool next_field(const char *line, const char **p, const char *end, struct log_field *f)
{
    const char *at = *p;
    while (at < end &&
           !(isdigit((unsigned char)*at) && (at == line || !(isalnum((unsigned char)at[-1]) || strchr("._", at[-1])))))
        at++;
    if (at == end)
        return false;
    f->number = at > line && strchr("-+", at[-1]) ? at - 1 : at;
    while (at < end &&
           (isdigit((unsigned char)*at) || (strchr(".,", *at) && at + 1 < end && isdigit((unsigned char)at[1]))))
        at++;
    if (at + 1 < end && strchr("eE", *at) && (isdigit((unsigned char)at[1]) || strchr("-+", at[1])))
        for (at += 2; at < end && isdigit((unsigned char)*at); at++)
            ;
    f->number_end = at;
    find_name(line, f->number, f);
    find_unit(end, f);
    find_name_behind(end, f);
    *p = at;
    return true;
}

static double number_of(const struct log_field *f)
{
    char text[64];
    size_t n = 0;
    for (const char *p = f->number; p < f->number_end && n + 1 < sizeof text; p++)
        if (*p != ',')
            text[n++] = *p;
    text[n] = '\0';
    return strtod(text, NULL);
}

static bool has_comma(const struct log_field *f)
{
    return memchr(f->number, ',', (size_t)(f->number_end - f->number)) != NULL;
}

/* --- regular expressions --- */

#define WITH_COMMAS "([0-9.,]+)"

static void add_escaped(struct buffer *out, const char *text, const char *end)
{
    for (; text < end; text++) {
        if (*text == ' ') {
            if (text + 1 == end || text[1] != ' ')
                buffer_add_text(out, " *");
            continue;
        }
        if (strchr("\\^.$|()[]{}*+?", *text))
            buffer_add_char(out, '\\');
        buffer_add_char(out, *text);
    }
}

/* Matches tabs as well as blanks. */
static char *with_tabs(char *regex)
{
    struct buffer b = BUFFER_INIT;
    for (const char *p = regex; *p; p++)
        if (strncmp(p, " *", 2) == 0)
            buffer_add_text(&b, "\\s");
        else
            buffer_add_char(&b, *p);
    free(regex);
    return buffer_take(&b);
}

/* Returns whether the unit begins a longer one before: "45.2 img/sec/GPU, 361.6 img/sec". */
static bool is_begun_before(const char *line, const struct log_field *f)
{
    const size_t length = (size_t)(f->unit_end - f->unit);
    for (const char *p = line; (p = memmem(p, (size_t)(f->number - p), f->unit, length)); p++)
        if (isalpha((unsigned char)p[length]) || p[length] == '/')
            return true;
    return false;
}

/* The per cent of a progress bar, "Steps:  10%|##", behind what describes it; NULL: the line is none. */
static const char *find_bar(const char *line, const char *end)
{
    const char *percent = memmem(line, (size_t)(end - line), "%|", 2);
    while (percent && percent > line && isdigit((unsigned char)percent[-1]))
        percent--;
    return percent;
}

/* Steps begin behind the bars of what is prepared for them: "Map: 10%|", "Loading checkpoint shards: 25%|". */
static bool is_preparation(const char *line, const char *end)
{
    const struct toml_node *words = known("log", "preparations");
    const char *bar = find_bar(line, end), *begin = line + strspn(line, " ");
    return bar && ANY(i, words->child_count, words_end(begin, begin, bar, words->children[i].text));
}

/* Tells a bar from others by its description, unless that has numbers, which change. */
static void add_bar(struct buffer *out, const char *line, const struct log_field *f)
{
    const char *bar = find_bar(line, f->number);
    if (!bar || ANY(i, (size_t)(bar - line), isdigit((unsigned char)line[i])))
        return;
    buffer_add_text(out, "^ *");
    add_escaped(out, line + strspn(line, " "), bar);
    buffer_add_text(out, "[0-9]+%.*[ ,]");
}

/* The text before it finds "loss: 3" and not "train loss: 3". */
static char *regex_of(const char *line, const struct log_field *f, const struct kind *k)
{
    struct buffer b = BUFFER_INIT;
    const char *before = f->name;
    while (before > line && before[-1] == ' ')
        before--;
    if (f->name < f->name_end && before == line)
        buffer_add_text(&b, "^ *");
    else if (f->name < f->name_end && ispunct((unsigned char)before[-1])) {
        add_escaped(&b, before - 1, before);
        add_escaped(&b, before, f->name);
    } else if (f->name < f->name_end && isalnum((unsigned char)*f->name))
        buffer_add_text(&b, "\\b");
    else if (f->name == f->name_end)
        add_bar(&b, line, f);
    add_escaped(&b, f->name, f->number);
    buffer_add_text(&b, has_comma(f)                     ? WITH_COMMAS
                        : strcmp(k->metric, "loss") == 0 ? "([-+0-9.eEnaif]+)"
                        : k->positive                    ? "([0-9.]+)"
                                                         : "([0-9.eE+-]+)");
    if (is_prefix(k, f))
        buffer_add_text(&b, "([kKMGT]?)");
    else if (f->unit >= f->number_end && f->unit < f->unit_end) {
        buffer_add_text(&b, f->unit > f->number_end ? " *" : "");
        add_escaped(&b, f->unit, f->behind_end);
        if (f->name == f->name_end && is_begun_before(line, f))
            buffer_add_text(&b, "(?:[^a-zA-Z/]|$)");
    }
    return buffer_take(&b);
}

/* --- what a field is --- */

/* Returns whether it is told without a unit: bytes by their size, others in a unit that the log does not say. */
static bool may_be_bare(const struct kind *k, const struct log_field *f)
{
    bool is_clock = *f->number_end == ':'; /* of "10:00:05" */
    bool is_fraction = memchr(f->number, '.', (size_t)(f->number_end - f->number)) != NULL;
    return (k->bare_unit && number_of(f) >= k->bare_from) ||
           (!is_clock && (k->bare == BARE_ALL || (k->bare == BARE_FRACTIONS && is_fraction)));
}

static const char *word_begin(const char *text, const char *end)
{
    while (end > text && isalpha((unsigned char)end[-1]))
        end--;
    return end;
}

/* Finds in the name what is counted by the second: "tokens" of "tokens_per_sec", "Tokens/s" and "avg_tokens_s". After a
 * "_" an "s" alone means that only behind what is counted in numbers: "step_s" are seconds. */
static bool find_rate(const struct log_field *f, const char **begin, const char **end)
{
    const struct toml_node *seconds = known("log", "seconds"), *counted = known("log", "counted");
    for (const char *p = f->name; p < f->name_end; p++) {
        bool is_rate = false;
        *end = p > f->name && strchr("_- ", p[-1]) ? p - 1 : p;
        for (size_t i = 0; i < seconds->child_count; i++)
            is_rate |= words_end(f->name, p, f->name_end, seconds->children[i].text) != NULL;
        for (size_t i = 0; i < counted->child_count && !is_rate; i++) {
            is_rate = words_end(f->name, p, f->name_end, counted->children[i].text) != NULL;
            *end = is_rate ? p + strcspn(p, "_- ") : *end;
        }
        for (*begin = word_begin(f->name, *end);
             is_rate && *begin > f->name && has_any(*begin, *end, known("log", "between"));
             *begin = word_begin(f->name, *end))
            *end = *begin - 1;
        if (is_rate && *begin < *end)
            return true;
    }
    return false;
}

/* "tokens/s", "tokens/s/gpu" where it says that it is of one; NULL: it says no rate. */
static char *rate_of_name(const struct log_field *f)
{
    const char *begin, *end;
    if (!find_rate(f, &begin, &end))
        return NULL;
    bool is_of_one = has_any(f->name, f->name_end, known("log", "of_one"));
    char *rate = xasprintf("%.*s/s%s", (int)(end - begin), begin, is_of_one ? "/gpu" : "");
    for (char *c = rate; *c; c++)
        *c = (char)tolower((unsigned char)*c);
    return rate;
}

char *proposals_rate_of(const char *name)
{
    const struct log_field f = {.name = name, .name_end = name + strlen(name)};
    return rate_of_name(&f);
}

/* By the words from `name` on, which are the field's or its last ones. */
static const struct kind *kind_by(const struct log_field *f, const char *name, enum proposal_confidence *confidence)
{
    const char *begin, *end;
    const bool is_rate = find_rate(f, &begin, &end);
    for (size_t i = 0; i < kind_count; i++) {
        const struct kind *k = &kinds[i];
        bool named = has_any(name, f->name_end, k->names) || has_any(f->unit_end, f->behind_end, k->names);
        bool unit = f->unit < f->unit_end && is_unit(k, f->unit, f->unit_end);
        /* "| 971.22 ms/batch |", and "ms/batch 971.22", whose name is its unit. */
        bool nameless =
            (f->name == f->name_end || f->unit == f->name) && unit_place(k, f->unit, f->unit_end) < k->own_units;
        bool of_step = f->unit_end - f->unit > 2 && memchr(f->unit, '/', (size_t)(f->unit_end - f->unit)) &&
                       unit_place(k, f->unit, f->unit_end) < k->own_units;
        bool bare = f->unit == f->unit_end && may_be_bare(k, f);
        if (has_any(f->name, f->name_end, k->not_names))
            continue;
        if (is_rate && strcmp(k->metric, "step_time") == 0)
            continue;
        if (!(named && (unit || bare || !k->unit_needed)) && !(unit && (k->name_optional || nameless || of_step)))
            continue;
        *confidence = (named || of_step) && (unit || !k->units) ? PROPOSAL_SURE : PROPOSAL_LIKELY;
        return k;
    }
    return NULL;
}

/* "throughput/mfu" is what its last word says; where that says nothing, as of "tokens/s/device", all do. */
static const struct kind *kind_of(const struct log_field *f, enum proposal_confidence *confidence)
{
    const char *last = f->name_end;
    while (last > f->name && last[-1] != '/')
        last--;
    const struct kind *k = kind_by(f, last, confidence);
    return k ? k : kind_by(f, f->name, confidence);
}

/* As it is written where it is known: "GiB" of "gpu_mem_gib"; the "s" of "throughput_tok_s" is a rate's, and the "c4"
 * of "ppl(c4)" no unit. */
static char *unit_of(const struct log_field *f, const struct kind *k)
{
    bool is_of_name =
        f->unit < f->number && (!k->units || is_any_unit(f->unit, f->unit_end)) && !is_unit(k, f->unit, f->unit_end);
    bool is_written = f->unit < f->unit_end && !is_prefix(k, f) && !is_of_name;
    char *unit = is_written ? xstrndup(f->unit, (size_t)(f->unit_end - f->unit)) : rate_of_name(f);
    if (!unit)
        return xstrdup(k->bare_unit && number_of(f) >= k->bare_from ? k->bare_unit : "");
    size_t n = strlen(unit);
    if (k->bare_unit && unit[n - 1] == 'b') {
        unit[0] = (char)toupper((unsigned char)unit[0]);
        unit[n - 1] = 'B';
    }
    return unit;
}

/* Hashes what stands before a field, by its letters alone: lines that one place of a program prints have it in
 * common. */
static uint32_t head_of(const char *line, const struct log_field *f)
{
    uint32_t hash = 2166136261U; /* FNV-1a */
    for (const char *p = line; (p += no_number(line, p, f->name)) < f->name; p++)
        if (isalpha((unsigned char)*p))
            hash = (hash ^ (uint32_t)tolower((unsigned char)*p)) * 16777619U;
    return hash;
}

static void note_head(struct proposal *p, uint32_t head)
{
    size_t i = FIRST(k, p->head_count, p->heads[k].hash == head);
    if (i == p->head_count && i < PROPOSAL_HEADS_MOST)
        p->heads[p->head_count++] = (struct proposal_head){head, 0};
    if (i < p->head_count)
        p->heads[i].lines++;
}

static void note_value(struct proposal *p, double value)
{
    const double rise = p->lines ? value - p->last : 0;
    if (p->lines < PROPOSAL_VALUES_MOST)
        p->values[p->lines] = value;
    if (p->lines == 1 || (p->lines > 1 && rise < p->least_rise))
        p->least_rise = rise;
    if (p->lines == 1 || (p->lines > 1 && rise > p->most_rise))
        p->most_rise = rise;
    p->last = value;
    p->lines++;
    p->least = value < p->least ? value : p->least;
    p->most = value > p->most ? value : p->most;
}

/* "9800/10000": a count of a whole. */
static bool is_part(const char *line, const struct log_field *f)
{
    return (*f->number_end == '/' && isdigit((unsigned char)f->number_end[1])) ||
           (f->number > line && f->number[-1] == '/');
}

/* A time in the line of an epoch, and of no step in it, is a sum. */
static bool is_of_epoch(const char *line, const struct log_field *f)
{
    bool counts = false;
    for (const char *p = line; p + 1 < f->number; p++)
        counts |= *p == '/' && (isdigit((unsigned char)p[1]) || p[1] == ' ');
    return has_words(line, f->name, "epoch") && !has_any(line, f->behind_end, known("log", "steps")) && !counts;
}

/* The kind of that metric. */
static const struct kind *kind_named(const char *metric)
{
    size_t i = 0;
    while (strcmp(kinds[i].metric, metric) != 0)
        i++;
    return &kinds[i];
}

static void add_field(struct proposal_list *l, const char *line, const struct log_field *f)
{
    enum proposal_confidence confidence;
    const struct kind *k = is_part(line, f) ? NULL : kind_of(f, &confidence);
    if (k && strcmp(k->metric, "step_time") == 0 &&
        (has_words(line, f->name, "end of epoch") || is_of_epoch(line, f))) {
        k = kind_named("epoch_time");
        confidence = PROPOSAL_LIKELY;
    }
    double value = number_of(f), written;
    if (!k || (k->positive && value < 0))
        return;
    if (has_comma(f) && !parse_number(f->number, (size_t)(f->number_end - f->number), &written)) {
        l->has_decimal_commas = true;
        return;
    }
    OWNED char *regex = regex_of(line, f, k);
    regex = l->has_tabs ? with_tabs(regex) : regex;
    struct proposal *p = FIND(i, l->count, strcmp(l->items[i].regex, regex) == 0, &l->items[i]);
    if (p && k < kind_named(p->metric)) /* its lines are also those of steps */
        p->metric = k->metric;
    if (!p && l->count < PROPOSALS_MOST) {
        p = array_add(l->items, l->count);
        *p = (struct proposal){.metric = k->metric,
                               .regex = xstrdup(regex),
                               .unit = unit_of(f, k),
                               .has_prefix = is_prefix(k, f),
                               .take = k->take,
                               .higher_is_better = k->higher_is_better,
                               .confidence = confidence,
                               .least = value,
                               .most = value};
    }
    if (!p)
        return;
    note_head(p, head_of(line, f));
    note_value(p, value);
}

/* Without what colours a terminal ("\x1b[31m"), and progress bars' returns as line ends. */
static void add_plain(struct buffer *out, const char *log, size_t length)
{
    for (size_t i = 0; i < length; i++) {
        if (log[i] == '\x1b' && i + 1 < length && log[i + 1] == '[') {
            for (i += 2; i < length && !isalpha((unsigned char)log[i]); i++)
                ;
            continue;
        }
        buffer_add_char(out, log[i] == '\r' ? '\n' : log[i] == '\t' || log[i] == '\0' ? ' ' : log[i]);
    }
}

/* By metric in the order of `kinds`, then the surer, the more frequent, the larger one. */
static int compare_proposals(const void *left, const void *right)
{
    const struct proposal *a = left, *b = right;
    if (a->metric != b->metric)
        return kind_named(a->metric) < kind_named(b->metric) ? -1 : 1;
    if (a->is_mixed != b->is_mixed)
        return a->is_mixed ? 1 : -1;
    if (a->confidence != b->confidence)
        return a->confidence < b->confidence ? -1 : 1;
    if (a->lines != b->lines)
        return a->lines > b->lines ? -1 : 1;
    if (a->most != b->most) /* a peak before what is in use now, a step before its parts */
        return a->most > b->most ? -1 : 1;
    return strcmp(a->regex, b->regex);
}

static void free_proposal(struct proposal *p)
{
    free_all(p->regex, p->column, p->unit);
}

/* "Train loss 3 0.25": what grows by one from line to line is a number of the line. */
static bool is_count(const struct proposal *p)
{
    return strstr(p->metric, "loss") && p->lines > 2 && p->least_rise >= 1 && p->least_rise == p->most_rise;
}

/* A time that only grows, about as much from line to line or for long, is the time since a beginning. */
static bool is_clock(const struct proposal *p)
{
    return strstr(p->metric, "_time") && p->lines > 2 && p->least_rise > 0 && p->most >= 1.5 * p->least &&
           (p->most_rise <= 3 * p->least_rise || p->lines > 8);
}

/* Returns whether that many of ten of its lines, and more than one, are of one place of the program, or all are. */
static bool is_of_one_place(const struct proposal *p, size_t of_ten)
{
    for (size_t i = 0; i < p->head_count; i++)
        if (p->heads[i].lines * 10 >= p->lines * of_ten && p->heads[i].lines > 1)
            return true;
    return p->head_count == 1;
}

/* Returns whether another proposal differs in the unit alone: "took 980ms", "took 1.02s", of which each has some. */
static bool has_other_unit(const struct proposal_list *l, const struct proposal *p)
{
    const size_t same = (size_t)(strchr(strstr(p->regex, "(["), ')') - p->regex);
    for (const struct proposal *o = l->items; o < l->items + l->count; o++)
        if (!p->has_prefix && !o->has_prefix && strncmp(o->regex, p->regex, same) == 0 && strcmp(o->unit, p->unit) != 0)
            return true;
    return false;
}

/* A clock is left out, unless few lines say so, and "1,234" where "1234,5" says that it may be 1.234. Lines that name
 * different things are no samples of one. */
static void judge(struct proposal_list *l)
{
    size_t kept = 0;
    for (struct proposal *p = l->items; p < l->items + l->count; p++) {
        p->is_mixed = !is_of_one_place(p, 5);
        if (p->lines < 2 || is_clock(p) || !is_of_one_place(p, 8) || has_other_unit(l, p))
            p->confidence = PROPOSAL_LIKELY;
    }
    for (size_t i = 0; i < l->count; i++) {
        struct proposal p = l->items[i];
        if (is_count(&p) || (is_clock(&p) && p.lines > 4) || (l->has_decimal_commas && strstr(p.regex, WITH_COMMAS)))
            free_proposal(&p);
        else
            l->items[kept++] = p;
    }
    l->count = kept;
}

static void sort(struct proposal_list *l)
{
    array_sort(l->items, l->count, compare_proposals);
    for (size_t i = 0; i < l->count; i++)
        l->items[i].second = i > 0 && l->items[i].metric == l->items[i - 1].metric && !l->items[i - 1].is_mixed;
}

void proposals_from_log(const char *log, size_t length, struct proposal_list *out)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, read_kinds);
    OWNED_BUFFER plain = BUFFER_INIT;
    *out = (struct proposal_list){.items = NULL};
    out->has_tabs = memchr(log, '\t', length) != NULL;
    add_plain(&plain, log, length);
    const char *text = buffer_text(&plain), *all = text + plain.length;
    while (text < all) {
        const size_t left = (size_t)(all - text), length_most = left < LINE_BYTES_MOST ? left : LINE_BYTES_MOST;
        const char *end = memchr(text, '\n', length_most);
        end = end ? end : text + length_most;
        struct log_field f = {0};
        for (const char *p = text; !is_preparation(text, end) && next_field(text, &p, end, &f);)
            add_field(out, text, &f);
        text = end + 1;
    }
    judge(out);
    sort(out);
}

/* --- programs --- */

/* Each line ends with NUL. */
struct line_list {
    const char *begin, *end;
};

static void compile(struct line_pattern *out, const char *regex)
{
    char why[256];
    if (line_pattern_compile(out, regex, why) < 0)
        abort(); /* a mistake in configs/knowledge/words.toml */
}

/* Reads what the program's pattern finds. */
static struct proposal read_metric(const struct toml_node *m, struct line_list lines)
{
    struct line_pattern pattern;
    struct text_range found[2];
    struct proposal p = {.metric = text_at(m, "metric", ""),
                         .regex = xstrdup(text_at(m, "regex", "")),
                         .unit = xstrdup(text_at(m, "unit", "")),
                         .has_prefix = number_at(m, "written_unit") != 0,
                         .take = text_at(m, "take", "median"),
                         .higher_is_better = strcmp(text_at(m, "better", "min"), "max") == 0,
                         .confidence = PROPOSAL_SURE,
                         .is_of_program = true};
    compile(&pattern, p.regex);
    for (const char *line = lines.begin; line < lines.end; line += strlen(line) + 1) {
        double value;
        if (!line_pattern_match(&pattern, line, 2, found) || found[1].begin < 0)
            continue;
        value = strtod(line + found[1].begin, NULL);
        p.least = p.lines == 0 ? value : p.least;
        p.most = p.lines == 0 ? value : p.most;
        note_value(&p, value);
    }
    line_pattern_free(&pattern);
    return p;
}

static bool has_mark(const struct toml_node *program, struct line_list lines)
{
    struct line_pattern mark;
    bool found = false;
    compile(&mark, text_at(program, "mark", ""));
    for (const char *line = lines.begin; line < lines.end && !found; line += strlen(line) + 1)
        found = line_pattern_match(&mark, line, 0, NULL);
    line_pattern_free(&mark);
    return found;
}

void proposals_of_program(const char *log, size_t length, struct proposal_list *out)
{
    const struct toml_node *all = known("log", "programs");
    OWNED_BUFFER plain = BUFFER_INIT;
    *out = (struct proposal_list){.items = NULL};
    add_plain(&plain, log, length);
    buffer_add_char(&plain, '\n');
    for (char *p = plain.data; p < plain.data + plain.length; p++)
        *p = *p == '\n' ? '\0' : *p;
    const struct line_list lines = {plain.data, plain.data + plain.length};
    for (size_t i = 0; i < all->child_count && !out->count; i++) {
        const struct toml_node *metrics = toml_child(&all->children[i], "metrics");
        const bool is_meant = has_mark(&all->children[i], lines);
        out->objective = is_meant ? text_at(&all->children[i], "objective", NULL) : NULL;
        for (size_t k = 0; k < metrics->child_count && is_meant; k++) {
            struct proposal p = read_metric(&metrics->children[k], lines);
            if (p.lines && !ANY(o, out->count, strcmp(out->items[o].metric, p.metric) == 0))
                *array_add(out->items, out->count) = p;
            else
                free_proposal(&p);
        }
    }
}

void proposals_from_columns(char *const *names, const struct buffer *numbers, size_t count, struct proposal_list *out)
{
    *out = (struct proposal_list){.items = NULL};
    for (size_t i = 0; i < count; i++) {
        struct proposal_list found;
        OWNED_BUFFER lines = BUFFER_INIT;
        for (const char *at = buffer_text(&numbers[i]); *at; at += strcspn(at, "\n") + 1)
            buffer_printf(&lines, "%s: %.*s\n", names[i], (int)strcspn(at, "\n"), at);
        proposals_from_log(buffer_text(&lines), lines.length, &found);
        if (found.count) {
            struct proposal *p = array_add(out->items, out->count);
            *p = found.items[0];
            p->column = xstrdup(names[i]);
            found.items[0] = (struct proposal){.metric = NULL};
        }
        proposal_list_free(&found);
    }
    sort(out);
}

void proposal_list_free(struct proposal_list *l)
{
    for (size_t i = 0; i < l->count; i++)
        free_proposal(&l->items[i]);
    free(l->items);
    *l = (struct proposal_list){.items = NULL};
}
