/* util: files carried in the program. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "util/embedded.h"

static void embedded_text__known_profile__its_text(void **state)
{
    (void)state;
    const char *text = embedded_text("profiles/torch.toml");
    assert_non_null(text);
    assert_non_null(strstr(text, "\n[derive]\n"));
    assert_int_equal(text[strlen(text) - 1], '\n');
}

static void embedded_text__unknown_name__null(void **state)
{
    (void)state;
    assert_null(embedded_text("profiles/torch"));
    assert_null(embedded_text(""));
}

static void embedded_next__prefix__each_once_in_order(void **state)
{
    (void)state;
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(embedded_text__known_profile__its_text),
        cmocka_unit_test(embedded_text__unknown_name__null),
        cmocka_unit_test(embedded_next__prefix__each_once_in_order),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
