/* config: text with placeholders. */
#include "config/template.h"
#include "unit_test.h"

/* Literals as they are, placeholders as <name>. */
static char *show(const char *text)
{
    HELD(arena) p = {0};
    struct template t = template_parse(&p, text, false);
    struct buffer b = BUFFER_INIT;
    for (size_t i = 0; i < t.count; i++)
        buffer_printf(&b, t.parts[i].is_placeholder ? "<%s>" : "%s", t.parts[i].text);
    return buffer_take(&b);
}

TEST_ROWS(template_parse__braces__placeholder_or_text, (const char *text, *expected), {"", ""}, {"plain", "plain"},
          {"{tp}", "<tp>"}, {"--tp={tp} --pp={parallel_spec.pp}", "--tp=<tp> --pp=<parallel_spec.pp>"},
          {"{a}{b}", "<a><b>"}, {"{zero_optimization.stage}", "<zero_optimization.stage>"}, {"{_a-1}", "<_a-1>"},
          {"{{tp}", "{tp}"}, {"{{{tp}", "{<tp>"}, {"{\"a\": {tp}}", "{\"a\": <tp>}"},
          {"${HOME} $x {x}", "${HOME} $x <x>"}, {"${A:-{tp}}", "${A:-<tp>}"}, {"{}", "{}"}, {"{1..8}", "{1..8}"},
          {"{a..z}", "{a..z}"}, {"{2,3}", "{2,3}"}, {"{ print }", "{ print }"}, {"{tp", "{tp"}, {"tp}", "tp}"},
          {"{", "{"}, {"$", "$"}, {"{model.}", "{model.}"}, {"{é}", "{é}"})
{
    OWNED char *shown = show(row->text);
    assert_string_equal(shown, row->expected);
}

TEST_ROWS(template_parse__optional__text_with_its_value_or_nothing, (const char *text, *expected), {"{m?}", "<1 m>"},
          {"{m?--m={}}", "<2 m><3 --m=><3 m><4 }>"}, {"a {m?{} {}} b", "<0 a ><2 m><3 m><3  ><3 m><4 }><0  b>"},
          {"{m?--flag}", "<2 m><3 --flag><4 }>"}, {"{a.b?{\"x\": {}}}", "<2 a.b><3 {\"x\": ><3 a.b><3 }><4 }>"},
          {"{m?--m", "<0 {m?--m>"}, {"{m?{}", "<0 {m?{}>"}, {"${m?--m}", "<0 ${m?--m}>"}, {"{{m?--m}", "<0 {m?--m}>"},
          {"{m ?}{?x}", "<0 {m ?}{?x}>"})
{
    /* Parts as <kind text>, kinds by enum template_option. */
    HELD(arena) p = {0};
    struct template t = template_parse(&p, row->text, false);
    OWNED_BUFFER parts = BUFFER_INIT, written = BUFFER_INIT;
    for (size_t k = 0; k < t.count; k++) {
        buffer_printf(&parts, "<%d %s>", (int)t.parts[k].option, t.parts[k].text);
        template_add_part(&t.parts[k], &written);
    }
    assert_string_equal(buffer_text(&parts), row->expected);
    if (t.count > 1 || t.parts[0].is_placeholder)
        assert_string_equal(buffer_text(&written), row->text);
}

TEST(template_parse_line__raw__a_placeholder_in_a_line_alone)
{
    HELD(arena) p = {0};
    struct template t = template_parse(&p, "a {x!r}{y} {z!s}{!r}", true);
    struct buffer b = BUFFER_INIT;
    assert_int_equal(t.count, 4);
    assert_true(t.parts[1].is_placeholder && t.parts[1].is_raw);
    assert_true(t.parts[2].is_placeholder && !t.parts[2].is_raw);
    for (size_t i = 0; i < t.count; i++)
        template_add_part(&t.parts[i], &b);
    assert_string_equal(buffer_text(&b), "a {x!r}{y} {z!s}{!r}");
    buffer_free(&b);
    t = template_parse(&p, "{x!r}", false);
    assert_int_equal(t.count, 1);
    assert_false(t.parts[0].is_placeholder);
}

TEST(template_parse__literals__joined)
{
    HELD(arena) p = {0};
    struct template t = template_parse(&p, "a{1}{{b${c}{d}", false);
    assert_int_equal(t.count, 2);
    assert_string_equal(t.parts[0].text, "a{1}{b${c}");
    assert_false(t.parts[0].is_placeholder);
    assert_string_equal(t.parts[1].text, "d");
    assert_true(t.parts[1].is_placeholder);
}

TEST_ROWS(template_name_length__prefix__longest_name, (const char *text; size_t length), {"tp", 2},
          {"model.layers}", 12}, {"a-b_2 c", 5}, {"a..b", 1}, {"a.", 1}, {"a.1", 1}, {".a", 0}, {"1a", 0}, {"-a", 0},
          {"", 0})
{
    assert_int_equal(template_name_length(row->text), row->length);
}

TEST(template_misspelt__half_a_name__told)
{
    static const char *const good[] = {"{tp}", "{model.layers}", "{a..z}", "{}", "${.x}", "{{model.}", "x.}", "{."};
    for (size_t i = 0; i < LENGTH(good); i++)
        assert_null(template_misspelt(good[i]));
    OWNED char *half = template_misspelt("a {tp} {model.} {.b}");
    assert_string_equal(half, "{model.}");
    free(half);
    half = template_misspelt("{.layers}");
    assert_string_equal(half, "{.layers}");
}
