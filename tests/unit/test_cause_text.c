/* results/cause_text: what is one cause. */
#include "results/failure_causes.h"
#include "unit_test.h"

TEST_ROWS(cause_text__what_differs_from_job_to_job__folded, (const char *message, *cause), {"", ""},
          {"no numbers", "no numbers"}, {"shard 17 of 128 is empty", "shard # of # is empty"},
          {"[rank3]: ValueError: x", "ValueError: x"},
          {"exit status 1: [default12]:ValueError: x", "exit status #: ValueError: x"}, {"[ranks]: x", "[ranks]: x"},
          {"[rank]: x", "[rank]: x"}, {"at 0x7f21ab00 and 0X1F", "at # and #"},
          {"key 6f1a2b3c-0d4e-4f5a-8b6c-7d8e9f0a1b2c gone", "key # gone"},
          {"commit c0ffee1234ab of facade and deadbeef", "commit # of facade and deadbeef"},
          {"2025-03-20 20:31:29,269 x", "# x"}, {"2025-03-20T20:31:29Z", "#Z"},
          {"size [7, 9, 4096] at entry 0", "size [#] at entry #"}, {"peer [127.0.0.1]:2959", "peer [#]:#"},
          {"127.0.0.1:2959", "#"}, {"Tried to allocate 2.00 GiB. GPU 0", "Tried to allocate #. GPU #"},
          {"Tried to allocate 512.00 MiB. GPU 7", "Tried to allocate #. GPU #"},
          {"no output for 30s", "no output for #"}, {"no output for 1m30s", "no output for #"},
          {"after 601 seconds", "after #"}, {"lost 1.5e-07, 2E+3", "lost #"}, {"1e, 2e5x", "#e, #e#x"},
          {"node3: fp16", "node#: fp#"}, {"'/tmp/tmpa8k_q/model.pt' is missing", "'/tmp/#/model.pt' is missing"},
          {"\xc3\xa9\xe2\x80\xae 5", "\xc3\xa9\xe2\x80\xae #"})
{
    OWNED char *cause = cause_text(row->message);
    assert_string_equal(cause, row->cause);
}

TEST(cause_text__long_message__bounded)
{
    OWNED char *message = malloc(100001);
    memset(message, 'x', 100000);
    message[100000] = '\0';
    OWNED char *cause = cause_text(message);
    assert_int_equal(strlen(cause), CAUSE_BYTES);
    free(cause);
    memset(message, '7', 100000);
    cause = cause_text(message);
    assert_string_equal(cause, "#");
}
