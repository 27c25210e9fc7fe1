#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "join/formula_tree.h"
#include "util/memory.h"

/* SQLite's own limit is 1,000. */
#define DEEPEST 1200

/* Operands of a node before it is made. */
#define OPERANDS_MOST 1000

struct parser {
    const struct names *names;
    struct formula *f;
    const char *at;
    int depth;
    bool failed; /* SQLite works it out */
};

/* Binding powers, as in SQLite's grammar. */
enum {
    POWER_OR = 1,
    POWER_AND,
    POWER_NOT,
    POWER_EQUAL,
    POWER_LESS,
    POWER_BITS,
    POWER_ADD,
    POWER_MULTIPLY,
    POWER_JOIN,
    POWER_UNARY = 11
};

static uint32_t parse(struct parser *p, int power);

static uint32_t fail(struct parser *p)
{
    p->failed = true;
    return 0;
}

/* --- tokens --- */

static void skip_blanks(struct parser *p)
{
    while (isspace((unsigned char)*p->at))
        p->at++;
}

static bool is_word(char c)
{
    return isalnum((unsigned char)c) || c == '_' || (unsigned char)c >= 0x80;
}

/* Takes the word or symbol where it comes next. */
static bool take_token(struct parser *p, const char *token)
{
    size_t length = strlen(token);
    skip_blanks(p);
    if (strncasecmp(p->at, token, length) != 0 || (is_word(token[0]) && is_word(p->at[length])))
        return false;
    p->at += length;
    return true;
}

/* A text between quotes, undoubled; the caller's. NULL: there is none. */
static char *take_quoted(struct parser *p, char quote)
{
    struct buffer b = BUFFER_INIT;
    skip_blanks(p);
    if (*p->at != quote)
        return NULL;
    for (p->at++; *p->at && (*p->at != quote || p->at[1] == quote); p->at++) {
        p->at += *p->at == quote;
        buffer_add_char(&b, *p->at);
    }
    p->at += *p->at == quote;
    return buffer_take(&b);
}

/* --- nodes --- */

static uint32_t add_node(struct parser *p, struct formula_node node, const uint32_t *operands)
{
    struct formula *f = p->f;
    node.first = (uint32_t)f->operand_count;
    for (uint32_t i = 0; i < node.count; i++)
        *array_add(f->operands, f->operand_count) = operands[i];
    f->nodes = array_grow(f->nodes, f->node_count, sizeof *f->nodes);
    f->nodes[f->node_count] = node;
    return (uint32_t)f->node_count++;
}

static uint32_t add_one(struct parser *p, enum formula_op op, uint32_t a)
{
    return add_node(p, (struct formula_node){.op = op, .count = 1}, &a);
}

static uint32_t add_two(struct parser *p, enum formula_op op, uint32_t a, uint32_t b)
{
    const uint32_t operands[] = {a, b};
    return add_node(p, (struct formula_node){.op = op, .count = 2}, operands);
}

static uint32_t add_constant(struct parser *p, struct datum c)
{
    return add_node(p, (struct formula_node){.op = OP_CONSTANT, .constant = c}, NULL);
}

static uint32_t add_integer(struct parser *p, int64_t integer)
{
    return add_constant(p, (struct datum){DATUM_INT, {.integer = integer}});
}

static uint32_t add_text(struct parser *p, char *text)
{
    struct formula *f = p->f;
    *array_add(f->texts, f->text_count) = text;
    return add_constant(p, (struct datum){DATUM_TEXT, {.text = text}});
}

/* --- columns and parts --- */

/* "section"."key" */
static bool take_column(struct parser *p, size_t *key)
{
    const char *start = p->at;
    char *section = take_quoted(p, '"'), *name = section && *p->at == '.' ? (p->at++, take_quoted(p, '"')) : NULL;
    bool found = false;
    for (size_t i = 0; name && i < p->names->key_count && !found; i++) {
        found =
            strcmp(section_names[p->names->keys[i].section], section) == 0 && strcmp(p->names->keys[i].name, name) == 0;
        if (found)
            *key = i;
    }
    free_all(section, name);
    if (!found)
        p->at = start;
    return found;
}

/* Moves behind a quoted text, or one character. */
static void pass_token(struct parser *p)
{
    if (*p->at == '\'' || *p->at == '"')
        free(take_quoted(p, *p->at));
    else
        p->at++;
}

/* The text between `start` and here, and the keys that it reads. */
static struct sql_part part_of(struct parser *p, const char *start)
{
    const char *end = p->at;
    struct sql_part part = {.sql = xstrndup(start, (size_t)(end - start))};
    size_t key;
    for (p->at = start; p->at < end;)
        if (*p->at == '"' && take_column(p, &key))
            array_add_once(part.keys, part.key_count, key);
        else
            pass_token(p);
    return part;
}

/* Adds the text between `start` and here as a part. */
static uint32_t add_slice(struct parser *p, const char *start)
{
    struct formula *f = p->f;
    if (p->failed)
        return 0;
    f->parts = array_grow(f->parts, f->part_count, sizeof *f->parts);
    f->parts[f->part_count] = part_of(p, start);
    return add_node(p, (struct formula_node){.op = OP_PART, .part = f->part_count++}, NULL);
}

/* A call of another function: `p` stands behind its opening parenthesis. */
static uint32_t take_foreign_call(struct parser *p, const char *start)
{
    for (int depth = 1; depth > 0 && *p->at; pass_token(p))
        depth += (*p->at == '(') - (*p->at == ')');
    return add_slice(p, start);
}

/* CAST gives its value an affinity, by which what is compared with it is converted. */
static bool is_cast(const struct parser *p, uint32_t node)
{
    const struct formula_node *n = &p->f->nodes[node];
    return !p->failed && n->op == OP_PART && strncasecmp(p->f->parts[n->part].sql, "cast", 4) == 0 &&
           !is_word(p->f->parts[n->part].sql[4]);
}

/* --- primaries --- */

static uint32_t take_number(struct parser *p)
{
    const char *start = p->at;
    char *end;
    errno = 0;
    long long integer = strtoll(start, &end, 10);
    if (errno == 0 && !is_word(*end) && *end != '.') {
        p->at = end;
        return add_integer(p, integer);
    }
    /* A sign before the least integer belongs to it. */
    if (errno == ERANGE && !is_word(*end) && *end != '.')
        return fail(p);
    /* SQLite's reading of decimal fractions is its own. */
    while (is_word(*p->at) || *p->at == '.' || ((*p->at == '+' || *p->at == '-') && strchr("eE", p->at[-1])))
        p->at++;
    return add_slice(p, start);
}

static uint32_t take_case(struct parser *p)
{
    uint32_t operands[OPERANDS_MOST], count = 0, base = 0;
    bool has_base = !take_token(p, "WHEN");
    if (has_base) {
        base = parse(p, POWER_OR);
        if (!take_token(p, "WHEN"))
            return fail(p);
    }
    do {
        uint32_t when = parse(p, POWER_OR);
        if (count + 3 > OPERANDS_MOST || (has_base && (is_cast(p, base) || is_cast(p, when))) || !take_token(p, "THEN"))
            return fail(p);
        operands[count++] = has_base ? add_two(p, OP_EQUAL, base, when) : when;
        operands[count++] = parse(p, POWER_OR);
    } while (!p->failed && take_token(p, "WHEN"));
    operands[count++] = take_token(p, "ELSE") ? parse(p, POWER_OR) : add_constant(p, (struct datum){DATUM_NULL, {0}});
    if (!take_token(p, "END"))
        return fail(p);
    return add_node(p, (struct formula_node){.op = OP_CASE, .count = count}, operands);
}

static const struct {
    const char *name;
    enum formula_op op;
    uint32_t least, most;
} functions[] = {
    {"coalesce", OP_COALESCE, 2, OPERANDS_MOST},
    {"ifnull", OP_COALESCE, 2, 2},
    {"nullif", OP_EQUAL, 2, 2},
    {"iif", OP_CASE, 3, 3},
    {"min", OP_MIN, 2, OPERANDS_MOST},
    {"max", OP_MAX, 2, OPERANDS_MOST},
};

/* Operands up to the closing parenthesis. */
static uint32_t take_operands(struct parser *p, uint32_t *operands)
{
    uint32_t count = 0;
    do {
        if (count == OPERANDS_MOST)
            return fail(p);
        operands[count++] = parse(p, POWER_OR);
    } while (!p->failed && take_token(p, ","));
    if (!take_token(p, ")"))
        fail(p);
    return count;
}

static uint32_t take_call(struct parser *p, const char *start, size_t length)
{
    uint32_t operands[OPERANDS_MOST];
    size_t i = 0, most = LENGTH(functions);
    while (i < most && (strlen(functions[i].name) != length || strncasecmp(functions[i].name, start, length) != 0))
        i++;
    if (i == most)
        return take_foreign_call(p, start);
    uint32_t count = take_operands(p, operands);
    if (count < functions[i].least || count > functions[i].most)
        return fail(p);
    if (functions[i].op == OP_EQUAL) {
        operands[2] = operands[0];
        operands[0] = add_two(p, OP_EQUAL, operands[0], operands[1]);
        operands[1] = add_constant(p, (struct datum){DATUM_NULL, {0}});
        return add_node(p, (struct formula_node){.op = OP_CASE, .count = 3}, operands);
    }
    return add_node(p, (struct formula_node){.op = functions[i].op, .count = count}, operands);
}

static uint32_t take_word(struct parser *p)
{
    const char *start = p->at;
    if (take_token(p, "NULL"))
        return add_constant(p, (struct datum){DATUM_NULL, {0}});
    if (take_token(p, "TRUE"))
        return add_integer(p, 1);
    if (take_token(p, "FALSE"))
        return add_integer(p, 0);
    if (take_token(p, "CASE"))
        return take_case(p);
    while (is_word(*p->at))
        p->at++;
    size_t length = (size_t)(p->at - start);
    if (length == 0 || !take_token(p, "("))
        return fail(p);
    uint32_t call = take_call(p, start, length);
    /* A datum is no blob. */
    return is_cast(p, call) && strcasestr(p->f->parts[p->f->nodes[call].part].sql, "blob") ? fail(p) : call;
}

/* Takes an affinity away, and nothing else. */
static uint32_t take_plus(struct parser *p)
{
    uint32_t operand = parse(p, POWER_UNARY);
    return is_cast(p, operand) ? fail(p) : operand;
}

/* The operators on bits are SQLite's, as those that join are. */
static uint32_t take_complement(struct parser *p, const char *start)
{
    parse(p, POWER_UNARY);
    return add_slice(p, start);
}

static uint32_t take_primary(struct parser *p)
{
    size_t key;
    skip_blanks(p);
    const char *start = p->at;
    if (take_token(p, "(")) {
        uint32_t inner = parse(p, POWER_OR);
        return take_token(p, ")") ? inner : fail(p);
    }
    if (take_token(p, "NOT"))
        return add_one(p, OP_NOT, parse(p, POWER_NOT));
    if (take_token(p, "-"))
        return add_two(p, OP_SUBTRACT, add_integer(p, 0), parse(p, POWER_UNARY));
    if (take_token(p, "+"))
        return take_plus(p);
    if (take_token(p, "~"))
        return take_complement(p, start);
    if (*p->at == '"')
        return take_column(p, &key) ? add_node(p, (struct formula_node){.op = OP_KEY, .key = key}, NULL) : fail(p);
    if (*p->at == '\'')
        return add_text(p, take_quoted(p, '\''));
    return isdigit((unsigned char)*p->at) || *p->at == '.' ? take_number(p) : take_word(p);
}

/* --- what follows an operand --- */

static bool is_constant(const struct parser *p, uint32_t node, int64_t integer)
{
    const struct formula_node *n = &p->f->nodes[node];
    return n->op == OP_CONSTANT && n->constant.kind == DATUM_INT && n->constant.integer == integer;
}

/* IS TRUE asks for truth where the word itself stands; none of them is ever NULL. */
static uint32_t take_is(struct parser *p, const char *start, uint32_t left)
{
    bool negated = take_token(p, "NOT");
    if (take_token(p, "DISTINCT")) {
        negated = !negated;
        if (!take_token(p, "FROM"))
            return fail(p);
    }
    skip_blanks(p);
    const char *word = p->at;
    const bool truth = strncasecmp(word, "true", 4) == 0 || strncasecmp(word, "false", 5) == 0;
    if (*word == '(')
        return fail(p);
    const uint32_t right = parse(p, POWER_EQUAL + 1);
    const bool is_true = truth && is_constant(p, right, 1), is_false = truth && is_constant(p, right, 0);
    if (!is_true && !is_false && (is_cast(p, left) || is_cast(p, right)))
        return add_slice(p, start);
    left = is_false ? add_one(p, OP_NOT, left) : left;
    left = is_true || is_false ? add_one(p, OP_IS_TRUE, left) : add_two(p, OP_IS, left, right);
    return negated ? add_one(p, OP_NOT, left) : left;
}

/* LIKE and GLOB, with NOT before them or without. */
static uint32_t take_pattern(struct parser *p, const char *start, uint32_t left)
{
    (void)left;
    parse(p, POWER_EQUAL + 1);
    if (take_token(p, "ESCAPE"))
        parse(p, POWER_EQUAL + 1);
    return add_slice(p, start);
}

static uint32_t take_between(struct parser *p, const char *start, uint32_t left)
{
    uint32_t low = parse(p, POWER_EQUAL + 1);
    if (!take_token(p, "AND"))
        return fail(p);
    uint32_t high = parse(p, POWER_EQUAL + 1);
    if (is_cast(p, left) || is_cast(p, low) || is_cast(p, high))
        return add_slice(p, start);
    return add_two(p, OP_AND, add_two(p, OP_LESS_EQUAL, low, left), add_two(p, OP_LESS_EQUAL, left, high));
}

static uint32_t take_in(struct parser *p, const char *start, uint32_t left)
{
    if (!take_token(p, "("))
        return fail(p);
    if (take_token(p, ")"))
        return add_integer(p, 0);
    uint32_t operands[OPERANDS_MOST], count = take_operands(p, operands);
    bool any_cast = is_cast(p, left);
    for (uint32_t i = 0; i < count && !p->failed; i++)
        any_cast |= is_cast(p, operands[i]);
    if (any_cast)
        return add_slice(p, start);
    uint32_t any = p->failed ? 0 : add_two(p, OP_EQUAL, left, operands[0]);
    for (uint32_t i = 1; i < count && !p->failed; i++)
        any = add_two(p, OP_OR, any, add_two(p, OP_EQUAL, left, operands[i]));
    return any;
}

/* A slice's text has the NOT in it. */
static uint32_t negate(struct parser *p, uint32_t node)
{
    return p->failed || p->f->nodes[node].op == OP_PART ? node : add_one(p, OP_NOT, node);
}

static uint32_t take_is_null(struct parser *p, const char *start, uint32_t left)
{
    (void)start;
    return add_two(p, OP_IS, left, add_constant(p, (struct datum){DATUM_NULL, {0}}));
}

static uint32_t take_not_null(struct parser *p, const char *start, uint32_t left)
{
    return add_one(p, OP_NOT, take_is_null(p, start, left));
}

static uint32_t take_not(struct parser *p, const char *start, uint32_t left)
{
    if (take_token(p, "NULL"))
        return take_not_null(p, start, left);
    if (take_token(p, "LIKE") || take_token(p, "GLOB"))
        return take_pattern(p, start, left);
    if (take_token(p, "BETWEEN"))
        return negate(p, take_between(p, start, left));
    return take_token(p, "IN") ? negate(p, take_in(p, start, left)) : fail(p);
}

static const struct {
    const char *symbol;
    int power;
    enum formula_op op;
    bool swaps;
} operators[] = {
    {"<>", POWER_EQUAL, OP_NOT_EQUAL, false}, {"<=", POWER_LESS, OP_LESS_EQUAL, false},
    {"<<", POWER_BITS, OP_PART, false},       {"<", POWER_LESS, OP_LESS, false},
    {">=", POWER_LESS, OP_LESS_EQUAL, true},  {">>", POWER_BITS, OP_PART, false},
    {">", POWER_LESS, OP_LESS, true},         {"==", POWER_EQUAL, OP_EQUAL, false},
    {"=", POWER_EQUAL, OP_EQUAL, false},      {"!=", POWER_EQUAL, OP_NOT_EQUAL, false},
    {"&", POWER_BITS, OP_PART, false},        {"||", POWER_JOIN, OP_PART, false},
    {"|", POWER_BITS, OP_PART, false},        {"+", POWER_ADD, OP_ADD, false},
    {"->>", POWER_JOIN, OP_PART, false},      {"->", POWER_JOIN, OP_PART, false},
    {"-", POWER_ADD, OP_SUBTRACT, false},     {"*", POWER_MULTIPLY, OP_MULTIPLY, false},
    {"/", POWER_MULTIPLY, OP_DIVIDE, false},  {"%", POWER_MULTIPLY, OP_REMAINDER, false},
    {"AND", POWER_AND, OP_AND, false},        {"OR", POWER_OR, OP_OR, false},
};

/* Those that bind like "=" and are no plain operators. */
static const struct {
    const char *word;
    uint32_t (*take)(struct parser *p, const char *start, uint32_t left);
} suffixes[] = {{"IS", take_is},          {"BETWEEN", take_between}, {"IN", take_in},
                {"NOT", take_not},        {"LIKE", take_pattern},    {"GLOB", take_pattern},
                {"ISNULL", take_is_null}, {"NOTNULL", take_not_null}};

/* `start` … is left op right. */
static uint32_t add_operation(struct parser *p, const char *start, size_t operator, uint32_t left, uint32_t right)
{
    enum formula_op op = operators[operator].op;
    bool compares = operators[operator].power == POWER_EQUAL || operators[operator].power == POWER_LESS;
    if (op == OP_PART || (compares && (is_cast(p, left) || is_cast(p, right))))
        return add_slice(p, start);
    return operators[operator].swaps ? add_two(p, op, right, left) : add_two(p, op, left, right);
}

/* Takes one operator and its right side, where the left one begins at `start`; false: none follows that binds as
 * tightly. */
static bool take_operator(struct parser *p, int power, const char *start, uint32_t *left)
{
    const char *before = p->at;
    for (size_t i = 0; i < LENGTH(operators); i++) {
        if (!take_token(p, operators[i].symbol))
            continue;
        if (operators[i].power < power) {
            p->at = before;
            return false;
        }
        *left = add_operation(p, start, i, *left, parse(p, operators[i].power + 1));
        return true;
    }
    for (size_t i = 0; i < LENGTH(suffixes) && power <= POWER_EQUAL; i++)
        if (take_token(p, suffixes[i].word)) {
            *left = suffixes[i].take(p, start, *left);
            return true;
        }
    return false;
}

static void note_text(struct parser *p, uint32_t node, const char *start)
{
    const char *text = p->f->parts[0].sql;
    if (p->failed || p->f->nodes[node].end)
        return;
    p->f->nodes[node].start = (uint32_t)(start - text);
    p->f->nodes[node].end = (uint32_t)(p->at - text);
}

static uint32_t parse(struct parser *p, int power)
{
    if (p->failed || ++p->depth > DEEPEST)
        return fail(p);
    skip_blanks(p);
    const char *start = p->at;
    uint32_t left = take_primary(p);
    do
        note_text(p, left, start);
    while (!p->failed && take_operator(p, power, start, &left));
    p->depth--;
    return left;
}

struct formula *formula_compile(const struct names *n, const char *sql)
{
    struct formula *f = xcalloc(1, sizeof *f);
    struct parser p = {n, f, sql + strlen(sql), 0, false};
    *array_add(f->parts, f->part_count) = part_of(&p, sql);
    p.at = f->parts[0].sql;
    f->root = parse(&p, POWER_OR);
    skip_blanks(&p);
    if (p.failed || *p.at)
        f->root = add_node(&p, (struct formula_node){.op = OP_PART, .part = 0}, NULL);
    for (size_t i = 0; i < f->node_count; i++)
        f->decides_early |= f->nodes[i].op >= OP_AND && f->nodes[i].op <= OP_COALESCE;
    return f;
}

/* The text that a node was read from, as an expression of its own. */
static struct formula *compile_slice(const struct names *n, const struct formula *f, uint32_t node)
{
    const struct formula_node *from = &f->nodes[node];
    OWNED char *sql = xasprintf("(%.*s)", (int)(from->end - from->start), f->parts[0].sql + from->start);
    return formula_compile(n, sql);
}

/* Takes `f` over. */
static void add_conjuncts(const struct names *n, struct formula *f, struct formula ***list, size_t *count)
{
    const struct formula_node *root = &f->nodes[f->root];
    const uint32_t *operands = f->operands + root->first;
    /* The comparisons that BETWEEN is made of stand nowhere in the text. */
    if (root->op == OP_AND && f->nodes[operands[0]].end && f->nodes[operands[1]].end) {
        for (int i = 0; i < 2; i++)
            add_conjuncts(n, compile_slice(n, f, operands[i]), list, count);
        formula_free(f);
        return;
    }
    *list = array_grow(*list, *count, sizeof **list);
    (*list)[(*count)++] = f;
}

struct formula **formula_split(const struct names *n, const char *sql, size_t *count)
{
    struct formula **list = NULL;
    *count = 0;
    add_conjuncts(n, formula_compile(n, sql), &list, count);
    return list;
}

void formula_free(struct formula *f)
{
    if (!f)
        return;
    for (size_t i = 0; i < f->part_count; i++)
        sql_part_free(&f->parts[i]);
    for (size_t i = 0; i < f->text_count; i++)
        free(f->texts[i]);
    free_all(f->parts, f->texts, f->nodes, f->operands, f);
}
