/* ssh: hosts, what comes back from them, where paths are on them. */

#include "batch/frame.h"
#include "ssh/executor.h"
#include "ssh/hosts.h"
#include "ssh/script.h"
#include "unit_test.h"
#include "util/buffer.h"

TEST(ssh_hosts_parse__slots_and_directory__kept)
{
    HELD(host_list) l = HOST_LIST_INIT;
    FAIL_IF(ssh_hosts_parse("f", "\xef\xbb\xbf# two\nme@a slots=4\n\nb\tdirectory=/x/y # old\r\n", &l, &e));
    assert_int_equal(l.count, 2);
    assert_null(l.hosts[0].directory);
    SAYS("me@a 4, 0 /x/y", "%s %d, %d %s", l.hosts[0].name, (int)l.hosts[0].device_count, (int)l.hosts[1].device_count,
         l.hosts[1].directory);
}

TEST(ssh_hosts_parse__wrong_lines__all_reported)
{
    struct host_list l = HOST_LIST_INIT;
    struct error e = ERROR_INIT;
    assert_int_equal(ssh_hosts_parse("f", "a\na slots=1\nb slots=0\nc directory=x\n-x\n", &l, &e), -1);
    assert_int_equal(e.kind, ERROR_USAGE);
    assert_non_null(strstr(e.text, "f:2: host a is listed twice"));
    assert_non_null(strstr(e.text, "f:3: write each host as"));
    assert_non_null(strstr(e.text, "f:4: "));
    assert_non_null(strstr(e.text, "f:5: "));
    assert_int_equal(ssh_hosts_parse("f", "# none\n", &l, &e), -1);
    assert_string_equal(e.text, "f: it lists no hosts");
}

/* The sums are those that cksum(1) prints. */
TEST(frame_checksum__texts__as_cksum)
{
    assert_true(frame_checksum("", 0) == 4294967295U);
    assert_true(frame_checksum("123456789", 9) == 930766865U);
    char zeros[300] = {0};
    assert_true(frame_checksum(zeros, sizeof zeros) == 351385237U);
}

TEST(ssh_report_read__in_pieces__what_is_cut_is_left)
{
    static const char text[] = "Warning: new key\nmeshsweep:begun\nmeshsweep:metrics 9 930766865\n123456789"
                               "meshsweep:end 139 0 2 1 1000 3500 1m1.50s 0m0.25s\n";
    struct ssh_report r = {.user_ms = -1};
    OWNED_BUFFER metrics = BUFFER_INIT;
    size_t done = 0;
    for (size_t length = 1; length < sizeof text; length++)
        done += ssh_report_read(text + done, length - done, &r, &metrics);
    assert_int_equal(done, sizeof text - 1);
    assert_string_equal(buffer_text(&metrics), "123456789");
    assert_string_equal(r.said, "Warning: new key");
    assert_true(r.begun && r.ended && r.oom && !r.stopped && !r.damaged);
    SAYS("139 2 2500 61500 250", "%d %d %d %d %d", r.exit_code, (int)r.leftovers, (int)r.duration_ms, (int)r.user_ms,
         (int)r.system_ms);
}

TEST(ssh_report_read__wrong_checksum__damaged)
{
    static const char text[] =
        "meshsweep:begun\nmeshsweep:metrics 3 7\nabcmeshsweep:end 0 0 0 0 12%3N 13%3N 0m0s 0m0s\n";
    struct ssh_report r = {.user_ms = -1};
    OWNED_BUFFER metrics = BUFFER_INIT;
    ssh_report_read(text, sizeof text - 1, &r, &metrics);
    assert_true(r.ended && r.damaged);
    assert_int_equal(r.duration_ms, -1);
}

static const struct host same = {.name = (char *)"a"}, other = {.name = (char *)"b", .directory = (char *)"/x"};

TEST_ROWS(ssh_path_there__directory_of_the_host__in_place_of_here, (const struct host *host; const char *path, *there),
          {&same, "/w/p/q", "/w/p/q"}, {&other, "/w/p/q", "/x/q"}, {&other, "/w/p", "/x"}, {&other, "/w/pq", "/w/pq"},
          {&other, "rel", "rel"})
{
    OWNED char *there = ssh_path_there(row->host, "/w/p", row->path);
    assert_string_equal(there, row->there);
}

TEST(ssh_is_refusal__lines_of_ssh__told_from_silence)
{
    assert_true(ssh_is_refusal("ssh: Could not resolve hostname x: Name or service not known"));
    assert_true(ssh_is_refusal("me@a: Permission denied (publickey)."));
    assert_false(ssh_is_refusal("ssh: connect to host a port 22: Connection refused"));
    assert_false(ssh_is_refusal("Connection to a closed by remote host."));
}
