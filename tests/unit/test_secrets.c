/* config: names that tell of secrets, and texts without their values. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "config/secrets.h"
#include "config/sweep_reader.h"

#define LIST(...) ((char *const[]){__VA_ARGS__, NULL})

static void secrets_match_name__names__by_word_part_and_list(void **state)
{
    (void)state;
    static const char *const secret[] = {"HF_TOKEN",  "HFTOKEN",       "github_token",   "AWS_SECRET_ACCESS_KEY", "PGPASSWORD",
                                         "DB_PASS",   "OPENAI_APIKEY", "WANDB_API_KEY",  "MY_CREDENTIALS",        "BASIC_AUTH",
                                         "TOKEN=abc", "CLIENTSECRETS", "SSH_PASSPHRASE", "SESSION_COOKIE"};
    static const char *const plain[] = {"PATH", "MAX_TOKENS", "TOKENIZERS_PARALLELISM", "MONKEY", "KEYBOARD", "AUTHOR",
                                        "MASTER_PORT", "PASSES", "OMP_NUM_THREADS=8", "COMPASS", "X=MY_TOKEN"};
    for (size_t i = 0; i < sizeof secret / sizeof *secret; i++)
        if (!secrets_match_name(secret[i], NULL))
            fail_msg("%s is told", secret[i]);
    for (size_t i = 0; i < sizeof plain / sizeof *plain; i++)
        if (secrets_match_name(plain[i], NULL))
            fail_msg("%s is hidden", plain[i]);
    assert_true(secrets_match_name("LICENSE=1", LIST("LICENSE")));
    assert_false(secrets_match_name("LICENSE_FILE", LIST("LICENSE")));
}

static void assert_redacted(const struct secrets *s, const char *text, const char *expected)
{
    char *got = secrets_redact(s, text);
    assert_string_equal(got, expected);
    free(got);
}

static void secrets_redact__values__all_of_them_the_longest_first(void **state)
{
    (void)state;
    struct secrets s = SECRETS_INIT;
    secrets_add(&s, "hunter");
    secrets_add(&s, "hunter22");
    secrets_add(&s, "hunter");
    secrets_add(&s, "short");
    assert_int_equal(s.count, 2);
    assert_redacted(&s, "hunter22 hunterhunter22\nshort hunte", "[redacted] [redacted][redacted]\nshort hunte");
    assert_redacted(&s, "", "");
    assert_null(secrets_redact(&s, NULL));
    secrets_free(&s);
    assert_redacted(&s, "hunter22", "hunter22");
}

static void secrets_add_settings__environment__only_names_that_match(void **state)
{
    (void)state;
    struct secrets s = SECRETS_INIT;
    secrets_add_settings(&s, LIST("PATH=/usr/bin", "HF_TOKEN=abcdefg", "OWN=mine-alone", "broken", "X_KEY="), LIST("OWN"));
    assert_int_equal(s.count, 2);
    assert_redacted(&s, "/usr/bin abcdefg mine-alone", "/usr/bin [redacted] [redacted]");
    secrets_free(&s);
}

static void secrets_add_declared__sweep_file__values_as_written_and_around_placeholders(void **state)
{
    (void)state;
    static const char text[] = "[job]\ncommand = \"x\"\n"
                               "env = { API_TOKEN = \"quote\\\"inside\", USER_KEY = \"before-{x}-behind\", PLAIN = \"visible\" }\n"
                               "[training_spec]\nx = 1\n";
    struct sweep *sweep = NULL;
    struct error e = ERROR_INIT;
    struct secrets s = SECRETS_INIT;
    if (sweep_parse("s.toml", text, strlen(text), &sweep, &e) < 0)
        fail_msg("%s", e.text);
    secrets_add_declared(&s, sweep);
    assert_redacted(&s, text, "[job]\ncommand = \"x\"\n"
                              "env = { API_TOKEN = \"[redacted]\", USER_KEY = \"[redacted]\", PLAIN = \"visible\" }\n"
                              "[training_spec]\nx = 1\n");
    assert_redacted(&s, "quote\"inside before-7-behind visible", "[redacted] [redacted]7[redacted] visible");
    secrets_free(&s);
    sweep_free(sweep);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(secrets_match_name__names__by_word_part_and_list),
        cmocka_unit_test(secrets_redact__values__all_of_them_the_longest_first),
        cmocka_unit_test(secrets_add_settings__environment__only_names_that_match),
        cmocka_unit_test(secrets_add_declared__sweep_file__values_as_written_and_around_placeholders),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
