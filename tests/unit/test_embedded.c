/* util: files carried in the program. */
#include "unit_test.h"
#include "util/embedded.h"

TEST(embedded_text__known_profile__its_text)
{
    const char *text = embedded_text("profiles/torch.toml");
    assert_non_null(text);
    assert_non_null(strstr(text, "\n[derive]\n"));
    assert_int_equal(text[strlen(text) - 1], '\n');
}

TEST(embedded_text__unknown_name__null)
{
    assert_null(embedded_text("profiles/torch"));
    assert_null(embedded_text(""));
}

TEST(embedded_next__prefix__each_once_in_order)
{
    size_t count = 0;
    const char *last = "";
    const struct embedded_file *f = NULL;
    while ((f = embedded_next("profiles/", f))) {
        assert_true(strcmp(last, f->name) < 0);
        assert_ptr_equal(embedded_text(f->name), f->text);
        last = f->name;
        count++;
    }
    assert_true(count >= 1);
    assert_null(embedded_next("no such prefix", NULL));
}
