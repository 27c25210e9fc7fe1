/* config: names that tell of secrets, and texts without their values. */
#include "config/sweep.h"
#include "secrets/secrets.h"
#include "sweep_fixture.h"

#define LIST(...) ((char *const[]){__VA_ARGS__, NULL})

TEST_ROWS(secrets_match_name__names__by_word_and_part, (const char *name; bool is_secret), {"HF_TOKEN", true},
          {"HFTOKEN", true}, {"github_token", true}, {"AWS_SECRET_ACCESS_KEY", true}, {"PGPASSWORD", true},
          {"DB_PASS", true}, {"OPENAI_APIKEY", true}, {"WANDB_API_KEY", true}, {"MY_CREDENTIALS", true},
          {"BASIC_AUTH", true}, {"TOKEN=abc", true}, {"CLIENTSECRETS", true}, {"SSH_PASSPHRASE", true},
          {"SESSION_COOKIE", true}, {"MYSQL_PWD", true}, {"SENTRY_DSN", true}, {"SLACK_WEBHOOK_URL", true},
          {"SSHPASS", true}, {"PATH", false}, {"MAX_TOKENS", false}, {"TOKENIZERS_PARALLELISM", false},
          {"MONKEY", false}, {"KEYBOARD", false}, {"AUTHOR", false}, {"MASTER_PORT", false}, {"PASSES", false},
          {"OMP_NUM_THREADS=8", false}, {"COMPASS", false}, {"X=MY_TOKEN", false}, {"PWD", false}, {"OLDPWD", false},
          {"PWDS", false})
{
    assert_int_equal(secrets_match_name(row->name, NULL), row->is_secret);
}

TEST(secrets_match_name__list__whole_names)
{
    assert_true(secrets_match_name("LICENSE=1", LIST("LICENSE")));
    assert_false(secrets_match_name("LICENSE_FILE", LIST("LICENSE")));
}

static void assert_redacted(const struct secrets *s, const char *text, const char *expected)
{
    OWNED char *got = secrets_redact(s, text);
    assert_string_equal(got, expected);
}

TEST(secrets_redact__values__all_of_them_the_longest_first)
{
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

TEST(secrets_add_settings__environment__only_names_that_match)
{
    HELD(secrets) s = SECRETS_INIT;
    secrets_add_settings(&s, LIST("PATH=/usr/bin", "HF_TOKEN=abcdefg", "OWN=mine-alone", "broken", "X_KEY="),
                         LIST("OWN"));
    assert_int_equal(s.count, 2);
    assert_redacted(&s, "/usr/bin abcdefg mine-alone", "/usr/bin [redacted] [redacted]");
}

TEST(declared_secrets_add__sweep_file__values_as_written_and_around_placeholders)
{
    static const char text[] =
        "[job]\ncommand = \"x\"\n"
        "env = { API_TOKEN = \"quote\\\"inside\", USER_KEY = \"before-{x}-behind\", PLAIN = \"visible\" }\n"
        "[training_spec]\nx = 1\n";
    HELD_AT(sweep) *sweep = sweep_of(text);
    HELD(secrets) s = SECRETS_INIT;
    declared_secrets_add(&s, sweep);
    assert_redacted(&s, text,
                    "[job]\ncommand = \"x\"\n"
                    "env = { API_TOKEN = \"[redacted]\", USER_KEY = \"[redacted]\", PLAIN = \"visible\" }\n"
                    "[training_spec]\nx = 1\n");
    assert_redacted(&s, "quote\"inside before-7-behind visible", "[redacted] [redacted]7[redacted] visible");
}

static const struct secrets none = SECRETS_INIT;

TEST_ROWS(secrets_redact__text__named_values_and_forms, (const char *text, *expected),
          {"api_key=hunter2 x", "api_key=[redacted] x"}, {"{\"password\": \"a b\"}", "{\"password\": \"[redacted]\"}"},
          {"{'api_key': 'x1', 'n': 1}", "{'api_key': '[redacted]', 'n': 1}"},
          {"wandb.api_key=abc", "wandb.api_key=[redacted]"}, {"HF_TOKEN=abcdef python", "HF_TOKEN=[redacted] python"},
          {"token: abcd1234", "token: [redacted]"}, {"https://me:pa:ss@host/x?y", "https://me:[redacted]@host/x?y"},
          {"https://me:p@s@s@host:80/x", "https://me:[redacted]@host:80/x"}, /* to the last "@" */
          {"see postgres://u:p@h and http://host:80/a@b", "see postgres://u:[redacted]@h and http://host:80/a@b"},
          {"Authorization: Bearer abcdef123456", "Authorization: Bearer [redacted]"},
          {"\"sk-abcdef1234567890\"", "\"[redacted]\""}, {"key sk-proj-abc_def-1234567890.", "key [redacted]."},
          {"ghp_abcdefghij1234567890 hf_abcdefghij123456", "[redacted] [redacted]"},
          {"AKIAIOSFODNN7EXAMPLE", "[redacted]"}, {"eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.abc-123", "[redacted]"},
          {"api_key=a1 api_key=b2", "api_key=[redacted] api_key=[redacted]"},
          {"MYSQL_PWD=hunter2 mysql", "MYSQL_PWD=[redacted] mysql"}, {"glpat-ABCDEFGHIJKLMNOPQRST.", "[redacted]."},
          {"glpat-abc_DEF-ghijklmnop.01.0z1abcdef x", "[redacted] x"}, {"gldt-abcdefghijkl", "[redacted]"},
          {"https://hooks.slack.com/services/T0AB/B0CD/abcDEF123456", "https://hooks.slack.com/services/[redacted]"},
          {"'https://discord.com/api/webhooks/123456/abc_DEF-123456'", "'https://discord.com/api/webhooks/[redacted]'"},
          {"https://api.telegram.org/bot12345678:AAbbCC1122ddEE/sendMessage",
           "https://api.telegram.org/bot[redacted]/sendMessage"},
          {"https://0123456789abcdef0123456789abcdef@o1.ingest.sentry.io/42",
           "https://[redacted]@o1.ingest.sentry.io/42"},
          {"SENTRY_DSN=https://x/1", "SENTRY_DSN=[redacted]"},
          {"me:p/w:1@tcp(db:3306)/runs", "me:[redacted]@tcp(db:3306)/runs"},
          {"Server=db;Uid=me;Password=pw;", "Server=db;Uid=me;Password=[redacted];"},
          {"+ curl -u me:pw https://h", "+ curl -u me:[redacted] https://h"},
          {"curl -ume:pw -s --user=you:'p'", "curl -ume:[redacted] -s --user=you:'p'"},
          {"curl --user \"me:p w\" h", "curl --user \"me:[redacted]\" h"},
          {"sshpass -p hunter2 ssh h; mysql -u root -phunter2",
           "sshpass -p [redacted] ssh h; mysql -u root -p[redacted]"},
          {"-----BEGIN RSA PRIVATE KEY-----\nMIIE\nabc=\n-----END RSA PRIVATE KEY-----\nx",
           "-----BEGIN RSA PRIVATE KEY-----[redacted]-----END RSA PRIVATE KEY-----\nx"},
          {"\"-----BEGIN PRIVATE KEY-----\\nMIIE\\n\"", "\"-----BEGIN PRIVATE KEY-----[redacted]\""},
          {"https://a.blob.core.windows.net/c?sv=2020&sig=aB3%2Fd9eF&se=1",
           "https://a.blob.core.windows.net/c?sv=2020&sig=[redacted]&se=1"},
          {"https://b.s3.amazonaws.com/k?X-Amz-Date=20260101&X-Amz-Signature=0a1b2c3d4e5f",
           "https://b.s3.amazonaws.com/k?X-Amz-Date=20260101&X-Amz-Signature=[redacted]"},
          {"h?X-Amz-Security-Token=IQoJb3Jp1", "h?X-Amz-Security-Token=[redacted]"},
          {"https://qyapi.weixin.qq.com/cgi-bin/webhook/send?key=693a91f6-7xxx",
           "https://qyapi.weixin.qq.com/cgi-bin/webhook/send?key=[redacted]"})
{
    assert_redacted(&none, row->text, row->expected);
}

TEST_ROWS(secrets_redact__text_without_secrets__untouched, (const char *text),
          {"pad_token=0 eos_token=2 num_key_value_heads=8"}, {"KeyError: 'api_key'"}, {"--api-key is required"},
          {"token: missing"}, {"password: required"}, {"https://host:8080/path"},
          {"hf_transformers task-force risk-averse"}, {"use_auth_token=True"}, {"--token=$HF_TOKEN"},
          {"api_key=${KEY}"}, {"key=loss sort_key=time"}, {"the bearer of news"}, {"secret-file=/run/x"},
          {"credentials.json: gone"}, {"https://$USER@host"}, {"api_key=[redacted] password=\"[redacted]\""},
          {"tokens: 4096"}, {"max_tokens=4096"}, {"a==b"}, {"password="}, {"sk-learn-is-a-library"},
          {"PWD=/home/me OLDPWD=/"}, {"sig=SIGTERM signature=abc123456 key=abc12345"},
          {"https://h/list?key=loss&sort=1"}, {"https://h/webhook/docs https://h/hooks/post-merge"},
          {"https://host@h/x git@github.com:a/b.git"}, {"docker run -u me:group x; ls -u a:b"}, {"curl -u 1000:1000 h"},
          {"train -p 8 --user me"}, {"mysql -p -u root"},
          {"-----BEGIN PUBLIC KEY-----\nMIIE\n-----END PUBLIC KEY-----"}, {"at 12:30@tcp port"})
{
    assert_redacted(&none, row->text, row->text);
}

TEST_ROWS(secrets_redact_words__command__values_behind_options, (const char *text, *expected),
          {"--api-key|V|x", "--api-key|[redacted]|x"}, {"--api-key=V|x", "--api-key=[redacted]|x"},
          {"--password=a b,c|--token|secret7", "--password=[redacted]|--token|[redacted]"},
          {"--hf_token|abc|--lr|3", "--hf_token|[redacted]|--lr|3"},
          {"--token|7|--pad-token|<pad>|--use-auth-token|true", "--token|7|--pad-token|<pad>|--use-auth-token|true"},
          {"--num-key-value-heads|8|--key|loss|--auth|none", "--num-key-value-heads|8|--key|loss|--auth|none"},
          {"--api-key|--lr|3", "--api-key|--lr|3"},
          {"--api-key-file|/run/key|--api-key|", "--api-key-file|/run/key|--api-key|"},
          {"sh|-c|train --api-key V --lr 3 --password \"a b\"",
           "sh|-c|train --api-key [redacted] --lr 3 --password \"[redacted]\""},
          {"sh|-c|HF_TOKEN=abc train --token 'x y' # --token",
           "sh|-c|HF_TOKEN=[redacted] train --token '[redacted]' # --token"},
          {"env|HF_TOKEN=a,b|train", "env|HF_TOKEN=[redacted]|train"},
          {"git|clone|https://u:pw@h/r.git", "git|clone|https://u:[redacted]@h/r.git"},
          {"x|{\"api_key\": \"V\"}", "x|{\"api_key\": \"[redacted]\"}"},
          {"--licence|V|--OWN|W", "--licence|[redacted]|--OWN|[redacted]"},
          {"curl|-s|-u|me:p w|h", "curl|-s|-u|me:[redacted]|h"},
          {"/usr/bin/curl|-ume:pw|h", "/usr/bin/curl|-ume:[redacted]|h"},
          {"sh|-c|curl --user me:pw h", "sh|-c|curl --user me:[redacted] h"},
          {"docker|run|-u|me:group|x", "docker|run|-u|me:group|x"},
          {"sshpass|-p|pw|ssh|h", "sshpass|-p|[redacted]|ssh|h"}, {"mysql|-ppw|-p|db", "mysql|-p[redacted]|-p|db"})
{
    struct secrets s = SECRETS_INIT;
    char *words[16] = {NULL}, *rest = NULL, *line = strdup(row->text), joined[256] = "";
    size_t n = 0;
    for (char *p = line; (rest = strchr(p, '|')); p = rest + 1) {
        *rest = '\0';
        words[n++] = p;
    }
    words[n] = strrchr(row->text, '|') + 1 - row->text + line;
    s.names = LIST("LICENCE", "OWN");
    char **got = secrets_redact_words(&s, words);
    for (size_t k = 0; got[k]; k++)
        strcat(strcat(joined, k ? "|" : ""), got[k]);
    assert_string_equal(joined, row->expected);
    strings_free(got);
    free(line);
}

TEST(secrets_add_command__words__their_values_are_known_everywhere)
{
    HELD(secrets) s = SECRETS_INIT;
    secrets_add_command(&s,
                        LIST("train", "--api-key", "first-one", "--password=second,one", "--short", "--token", "abc"));
    secrets_add_command(&s, LIST("sh", "-c", "train --api-key third-one; curl ftp://u:fourth-one@h"));
    assert_redacted(&s, "first-one: second,one third-one\nfourth-one abc",
                    "[redacted]: [redacted] [redacted]\n[redacted] abc");
}

/* Also where a value is no text. */
TEST(secrets_redact_sweep__file__still_one)
{
    static const char text[] =
        "[job]\ncommand = [\"train\", \"--api-key\",\n    \"V\", \"--pin=1\"]\n"
        "versions = { a = \"curl --token xyz1 -H 'Authorization: Bearer abc123456'\" }\n"
        "[training_spec]\napi_key = 5\npassword = \"p\"\ntoken = [12345678, 2]\nauth = { secret = 123456 }\n";
    OWNED char *got = secrets_redact_sweep(&none, text);
    assert_string_equal(got, "[job]\ncommand = [\"train\", \"--api-key\",\n    \"[redacted]\", \"--pin=1\"]\n"
                             "versions = { a = \"curl --token [redacted] -H 'Authorization: Bearer [redacted]'\" }\n"
                             "[training_spec]\napi_key = 5\npassword = \"[redacted]\"\ntoken = [12345678, 2]\nauth = { "
                             "secret = 123456 }\n");
    HELD_AT(sweep) *sweep = sweep_of(got);
    assert_non_null(sweep);
}
