/* serve/gate: who gets in, and what is told to others. */
#include "serve/gate.h"
#include "unit_test.h"

static const struct gate closed = {"0123456789abcdef", "node1"};
static const struct gate open_gate = {"", "node1"};

struct answer {
    int status;
    const char *rest; /* NULL: not looked at */
    bool wrong_token;
};

static void expect(const struct gate *g, struct gate_request r, struct answer expected)
{
    const char *rest = NULL;
    bool wrong_token;
    r.method = r.method ? r.method : "GET";
    r.host = r.host ? r.host : "localhost:8080";
    r.path = r.path ? r.path : "/0123456789abcdef/";
    int status = gate_check(g, &r, &rest, &wrong_token);
    if (status != expected.status || wrong_token != expected.wrong_token)
        fail_msg("%s %s of %s: %d, wrong token %d", r.method, r.path, r.host, status, wrong_token);
    if (expected.rest)
        assert_string_equal(rest, expected.rest);
}

TEST(gate_check__token__all_of_it_and_no_more)
{
    static const char *const wrong[] =
        {"/0123456789abcdee/", "/1123456789abcdef/", "/0123456789abcde/", "/", "/0123456789abcdef0/", "//", "/page",
         "/0123456789ABCDEF/"};
    expect(&closed, (struct gate_request){.path = "/0123456789abcdef/"}, (struct answer){200, "", false});
    expect(&closed, (struct gate_request){.path = "/0123456789abcdef/a/b"}, (struct answer){200, "a/b", false});
    expect(&closed, (struct gate_request){.path = "/0123456789abcdef"}, (struct answer){301, NULL, false});
    for (size_t i = 0; i < LENGTH(wrong); i++)
        expect(&closed, (struct gate_request){.path = wrong[i]}, (struct answer){403, NULL, true});
    expect(&closed, (struct gate_request){.path = "0123456789abcdef/"}, (struct answer){403, NULL, false});
    expect(&open_gate, (struct gate_request){.path = "/"}, (struct answer){200, "", false});
    expect(&open_gate, (struct gate_request){.path = "/a/b"}, (struct answer){200, "a/b", false});
}

TEST_ROWS(gate_check__method__only_those_that_read, (const char *text), {"POST"}, {"PUT"}, {"DELETE"}, {"OPTIONS"},
          {"get"}, {"GETS"}, {""})
{
    expect(&closed, (struct gate_request){.method = "HEAD"}, (struct answer){200, "", false});
    expect(&closed, (struct gate_request){.method = row->text}, (struct answer){405, NULL, false});
}

TEST(gate_check__host__numbers_localhost_and_the_one_that_is_allowed)
{
    static const char *const good[] = {"localhost", "LocalHost:1",  "127.0.0.1", "10.1.2.3:9",
                                       "[::1]",     "[fe80::1]:80", "node1",     "NODE1:8080"};
    static const char *const bad[] = {"evil.example", "localhost.evil.example:80",
                                      "node1.evil",   "",
                                      ":80",          "[::1",
                                      "[::1]x",       "127.0.0.1.evil",
                                      "[]:80",        "node11",
                                      "1.2.3"};
    for (size_t i = 0; i < LENGTH(good); i++)
        expect(&closed, (struct gate_request){.host = good[i]}, (struct answer){200, "", false});
    for (size_t i = 0; i < LENGTH(bad); i++)
        expect(&closed, (struct gate_request){.host = bad[i]}, (struct answer){403, NULL, false});
    const struct gate_request none = {"GET", "/0123456789abcdef/", NULL, NULL, NULL, NULL};
    const char *rest;
    bool wrong_token;
    assert_int_equal(gate_check(&closed, &none, &rest, &wrong_token), 403);
}

TEST_ROWS(gate_check__asked_for_by_another_site__only_a_link_that_is_followed,
          (struct gate_request request; int status), {{.site = "none"}, 200}, {{.site = "same-origin"}, 200},
          {{.site = "same-site"}, 403}, {{.site = "cross-site"}, 403},
          {{.site = "cross-site", .fetched = "navigate"}, 200}, {{.site = "cross-site", .fetched = "cors"}, 403},
          {{.origin = "http://localhost:8080"}, 200}, {{.origin = "http://LOCALHOST:8080"}, 200},
          {{.origin = "http://localhost:8081"}, 403}, {{.origin = "http://localhost"}, 403},
          {{.origin = "https://localhost:8080"}, 403}, {{.origin = "null"}, 403},
          {{.origin = "http://evil.example", .site = "same-origin"}, 403},
          {{.origin = "http://evil.example", .fetched = "navigate"}, 403})
{
    expect(&closed, row->request, (struct answer){row->status, row->status == 200 ? "" : NULL, false});
}
