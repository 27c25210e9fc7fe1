/* report: CSV read back: what was written comes out equal, and what is malformed is refused with its line. */
#include "report/csv.h"
#include "report/text.h"
#include "report_fixture.h"
#include "unit_test.h"
#include "util/decimal.h"
#include "util/rng.h"

/* Records as text: "1:[a][~]" for a line with the text a and a NULL. */
static int show_record(void *context, const struct csv_record *record, struct error *e)
{
    struct buffer *out = context;
    (void)e;
    buffer_printf(out, "%zu:", record->line);
    for (size_t i = 0; i < record->count; i++) {
        const struct cell *c = &record->cells[i];
        buffer_add_char(out, '[');
        if (c->kind == CELL_NULL)
            buffer_add_char(out, '~');
        else
            buffer_add(out, c->text, c->length);
        buffer_add_char(out, ']');
    }
    return 0;
}

#define MISPLACED "a quote inside an unquoted cell, or text after a closing quote"

TEST_ROWS(csv_read__each_text__records_or_the_line_that_is_wrong, (const char *text, *records, *message),
          {"a,b,c\r\n\"\",,x\r\n", "1:[a][b][c]2:[][~][x]", NULL}, {"a, b ,c", "1:[a][b][c]", NULL},
          {"a , \"b,\" \n1\t, \" x \"\n", "1:[a][b,]2:[1][ x ]", NULL},
          {"\"a\"\"b\",\"c,\nd\"\n1,\"\n\"\n3,4\n", "1:[a\"b][c,\nd]3:[1][\n]5:[3][4]", NULL}, {"", "", NULL},
          {"a,b\rc,d\re,f", "1:[a][b]1:[c][d]1:[e][f]", NULL},
          {"\xEF\xBB\xBFname,n\nx,1\n", "1:[name][n]2:[x][1]", NULL},
          {"\"\xEF\xBB\xBFname\",n\n", "1:[\xEF\xBB\xBFname][n]", NULL},
          /* Empty lines are skipped, but NULL in one column. */
          {"\r\n\na,b\r\n\r\n1,2\r\n\r\n", "3:[a][b]5:[1][2]", NULL},
          {"a\r\n\r\nx\r\n\"\"\r\n\r\n", "1:[a]2:[~]3:[x]4:[]5:[~]", NULL},
          {"a\n\n\nx\n", "1:[a]2:[~]3:[~]4:[x]", NULL}, {"a,b\n1,x\"y\n", "1:[a][b]", "line 2: " MISPLACED},
          {"a,b\n1,\"x\" y\n", "1:[a][b]", "line 2: " MISPLACED},
          {"a,b\n1,2\n3,\"x\ny\n", "1:[a][b]2:[1][2]", "line 3: a quoted cell is not closed"},
          {"a,b\n\"1\n\",2\n3\n", "1:[a][b]2:[1\n][2]", "line 4: it has 1 cells, but the first line has 2"},
          {"a\n1,2", "1:[a]", "line 2: it has 2 cells, but the first line has 1"},
          {"a,b\n1,\xFFq\n", "1:[a][b]", "line 2: not UTF-8 text; make it so: iconv -f LATIN1 -t UTF-8"})
{
    struct error e = ERROR_INIT;
    OWNED_BUFFER out = BUFFER_INIT;
    int rc = csv_read_rows(row->text, strlen(row->text), show_record, &out, &e);
    assert_int_equal(rc, row->message ? -1 : 0);
    assert_string_equal(buffer_text(&out), row->records);
    assert_string_equal(e.text, row->message ? row->message : "");
    assert_int_equal(e.kind == ERROR_USAGE, rc < 0);
}

TEST(csv_read__nul_bytes__kept)
{
    OWNED_BUFFER out = BUFFER_INIT;
    static const char text[] = "a\0b,\"\0\"\n";
    FAIL_IF(csv_read_rows(text, sizeof text - 1, show_record, &out, &e));
    assert_int_equal(out.length, sizeof "1:[a\0b][\0]" - 1);
    assert_memory_equal(out.data, "1:[a\0b][\0]", out.length);
}

TEST(csv_read__too_many_cells__refused)
{
    size_t length = CSV_CELLS_MAX + 1;
    OWNED char *text = xmalloc(length + 1);
    memset(text, ',', length);
    text[length] = '\0';
    OWNED_BUFFER out = BUFFER_INIT;
    FAILS_WITH(csv_read_rows(text, length, show_record, &out, &e), "line 1: too many cells");
}

TEST(csv_read__cell_without_end__refused_at_the_limit)
{
    const size_t length = CSV_CELL_BYTES_MAX + (1 << 20);
    OWNED char *text = xmalloc(length);
    memset(text, 'x', length);
    text[0] = '"';
    FAILS_WITH(csv_read_rows(text, length, show_record, NULL, &e),
               "line 1: a cell is larger than 64 MiB; is a closing quote missing?");
}

static int count_record(void *context, const struct csv_record *record, struct error *e)
{
    (void)record;
    (void)e;
    ++*(size_t *)context;
    return 0;
}

TEST(csv_read__text_longer_than_a_cell_may_be__read)
{
    const size_t length = CSV_CELL_BYTES_MAX + (1 << 20), cell = 1 << 18;
    OWNED char *text = xmalloc(length);
    for (int empty_lines = 0; empty_lines < 2; empty_lines++) {
        size_t records = 0;
        memset(text, empty_lines ? '\n' : 'x', length);
        for (size_t i = cell - 1; i < length; i += cell)
            text[i] = '\n';
        FAIL_IF(csv_read_rows(text, length, count_record, &records, &e));
        assert_int_equal(records, empty_lines ? 0 : length / cell);
    }
}

static int refuse_second(void *context, const struct csv_record *record, struct error *e)
{
    size_t *seen = context;
    ++*seen;
    return record->line == 2 ? error_set(e, ERROR_FAILED, "no such column") : 0;
}

TEST(csv_read__callback_error__passed_through)
{
    size_t seen = 0;
    FAILS_WITH(csv_read_rows("a\nb\nc\nd\n", 8, refuse_second, &seen, &e), "no such column");
    assert_int_equal(seen, 2);
}

TEST(csv_formula__guards__undone_exactly_once)
{
    ROWS(cases, const char *text; bool formula) = {
        {"=1+1", true},   {"+1", true},  {"-1", true},       {"@SUM(A1)", true}, {"\tx", true},
        {"\rx", true},    {"\nx", true}, {"'=x", true},      {"''-x", true},     {"  =x", true},
        {"\x01=x", true}, {"＝x", true}, {"＠x", true},      {"a=b", false},     {"'quoted'", false},
        {"", false},      {"'", false},  {"  plain", false}, {"5-3", false},
    };
    for (size_t i = 0; i < LENGTH(cases); i++) {
        size_t length = strlen(cases[i].text);
        assert_int_equal(csv_formula_like(cases[i].text, length), cases[i].formula);
        OWNED char *guarded = xasprintf("'%s", cases[i].text);
        struct cell cell = {.kind = CELL_TEXT, .text = guarded, .length = length + 1};
        struct cell back = csv_unescape_formula(cell);
        assert_int_equal(back.length, cases[i].formula ? length : length + 1);
        assert_memory_equal(back.text, cases[i].formula ? cases[i].text : guarded, back.length);
    }
    assert_int_equal(csv_unescape_formula((struct cell)NONE).kind, CELL_NULL);
}

/* --- round trip --- */

#define COLUMNS 5
#define MANY 2000

/* Text made of what gives trouble. */
static struct cell random_text(struct rng *rng)
{
    static const char *const parts[] = {"=",  "+",    "-",    "@",    "'",
                                        "\"", ",",    "\r",   "\n",   "\r\n",
                                        "\t", " ",    "\xFF", "é",    "日本",
                                        "a",  "b",    "\\",   ";",    "\xE2\x80\xAE",
                                        "|",  "\xC3", "NULL", "\x01", "\xEF\xBB\xBF",
                                        "＝"};
    struct buffer text = BUFFER_INIT;
    for (uint64_t n = rng_below(rng, 7); n > 0; n--) {
        uint64_t k = rng_below(rng, LENGTH(parts) + 1);
        if (k == 0)
            buffer_add_char(&text, '\0');
        else
            buffer_add_text(&text, parts[k - 1]);
    }
    size_t length = text.length;
    return (struct cell){.kind = CELL_TEXT, .length = length, .text = buffer_take(&text)};
}

static struct cell random_cell(struct rng *rng)
{
    uint64_t bits = rng_next(rng);
    struct cell cell = {.kind = (enum cell_kind)rng_below(rng, 4)};
    cell.integer = (int64_t)bits;
    memcpy(&cell.real, &bits, sizeof cell.real);
    if (bits % 16 == 0)
        cell.real = bits % 32 ? NAN : -INFINITY;
    return cell.kind == CELL_TEXT ? random_text(rng) : cell;
}

struct comparison {
    const struct cell *cells;
    size_t records;
    size_t columns;
};

static void assert_reads_back(const struct cell *written, const struct cell *read)
{
    struct cell text = csv_unescape_formula(*read);
    OWNED_BUFFER expected = BUFFER_INIT;
    char number[DECIMAL_BYTES];
    assert_int_equal(text.kind, written->kind == CELL_NULL ? CELL_NULL : CELL_TEXT);
    if (written->kind == CELL_INT)
        buffer_add(&expected, number, decimal_from_int64(written->integer, number));
    else if (written->kind == CELL_FLOAT)
        buffer_add(&expected, number, decimal_from_double(written->real, number));
    else if (written->kind == CELL_TEXT)
        text_add_valid(&expected, written->text, written->length);
    assert_int_equal(text.length, expected.length);
    if (expected.length)
        assert_memory_equal(text.text, expected.data, expected.length);
    if (written->kind == CELL_FLOAT && isfinite(written->real))
        assert_true(strtod(buffer_text(&expected), NULL) == written->real);
}

static int compare_record(void *context, const struct csv_record *record, struct error *e)
{
    struct comparison *c = context;
    (void)e;
    assert_int_equal(record->count, c->columns);
    if (c->records++ == 0)
        return 0;
    for (size_t i = 0; i < c->columns; i++)
        assert_reads_back(&c->cells[(c->records - 2) * c->columns + i], &record->cells[i]);
    return 0;
}

static void round_trip(size_t columns, uint64_t seed, bool lf)
{
    static const char *const names[] = {"a", "b", "c", "d", "e"};
    struct rng rng = rng_stream(seed, 0);
    OWNED struct cell *cells = xcalloc(MANY * columns, sizeof *cells);
    for (size_t i = 0; i < MANY * columns; i++)
        cells[i] = random_cell(&rng);
    struct fixture_rows f = {cells, MANY, columns, NEVER, 0, 0};
    struct fixture_sink s = {BUFFER_INIT, NEVER, 0};
    struct row_source rows = fixture_source(columns, names, NULL, &f);
    struct error e = ERROR_INIT;
    assert_int_equal(render_csv(&rows, &(struct render_options){.lf = lf}, &(struct report_sink){fixture_write, &s},
                                &e),
                     0);

    struct comparison c = {.cells = cells, .columns = columns};
    FAIL_WHERE(csv_read_rows(s.text.data, s.text.length, compare_record, &c, &e) != 0, "%s", e.text);
    assert_int_equal(c.records, MANY + 1);
    for (size_t i = 0; i < MANY * columns; i++)
        if (cells[i].kind == CELL_TEXT)
            free((char *)cells[i].text);
    buffer_free(&s.text);
}

TEST(csv__random_hostile_rows__read_back_equal)
{
    round_trip(COLUMNS, 1, false);
    round_trip(COLUMNS, 2, true);
    round_trip(1, 3, false);
    round_trip(1, 4, true);
}
