/* device/hostfile: hostfiles, include and exclude. */

#include "device/hostfile.h"
#include "unit_test.h"
#include "util/buffer.h"

static const char uneven[] = "# two kinds\nworker-0 slots=4\n\nworker-1\tslots=2  # old\r\nworker-2 slots=4";

static struct host_list parsed(const char *text)
{
    struct host_list l = HOST_LIST_INIT;
    FAIL_IF(hosts_parse("hostfile", text, &l, &e));
    return l;
}

static void assert_hosts(const struct host_list *l, const char *expected)
{
    OWNED_BUFFER b = BUFFER_INIT;
    for (size_t i = 0; i < l->count; i++) {
        buffer_printf(&b, "%s%s:", i ? " " : "", l->hosts[i].name);
        for (size_t d = 0; d < l->hosts[i].device_count; d++)
            buffer_printf(&b, "%s%d", d ? "," : "", l->hosts[i].devices[d]);
    }
    assert_string_equal(buffer_text(&b), expected);
}

TEST(hosts_parse__comments_and_blanks__left_out)
{
    HELD(host_list) l = parsed(uneven);
    assert_hosts(&l, "worker-0:0,1,2,3 worker-1:0,1 worker-2:0,1,2,3");
    assert_int_equal(hosts_device_count(&l), 10);
}

TEST(hosts_parse__wrong_lines__all_reported)
{
    struct host_list l = HOST_LIST_INIT;
    struct error e = ERROR_INIT;
    assert_int_equal(hosts_parse("hf", "a slots=2\nb\nc slots=0\na slots=1\nd slots=2 x\ne slots=two\n", &l, &e), -1);
    assert_int_equal(e.kind, ERROR_USAGE);
    assert_string_equal(e.text, "hf:2: write each line as `HOST slots=N`\n"
                                "hf:3: a host has 1 to 1024 slots, not 0\n"
                                "hf:4: host a is listed twice\n"
                                "hf:5: write each line as `HOST slots=N`\n"
                                "hf:6: write each line as `HOST slots=N`");
    assert_int_equal(l.count, 0);
    assert_int_equal(hosts_parse("hf", "# none\n", &l, &e), -1);
    assert_string_equal(e.text, "hf: it lists no hosts");
}

TEST_ROWS(hosts_filter__as_deepspeed_spells_them__narrowed, (const char *include, *exclude, *left),
          {NULL, NULL, "worker-0:0,1,2,3 worker-1:0,1 worker-2:0,1,2,3"},
          {"worker-0@worker-1:0", NULL, "worker-0:0,1,2,3 worker-1:0"}, {"worker-2:3,1", "", "worker-2:1,3"},
          {"", "worker-1", "worker-0:0,1,2,3 worker-2:0,1,2,3"},
          {NULL, "worker-0:0,2@worker-1:0,1", "worker-0:1,3 worker-2:0,1,2,3"})
{
    HELD(host_list) l = parsed(uneven);
    FAIL_IF(hosts_filter(&l, row->include, row->exclude, &e));
    assert_hosts(&l, row->left);
}

TEST_ROWS(hosts_filter__what_is_not_there__refused_untouched, (const char *include, *exclude, *message),
          {"worker-9", NULL, "include: the hostfile has no host `worker-9`"},
          {NULL, "worker-1:2", "exclude: host worker-1 has no slot `2`"},
          {"worker-1:x", NULL, "include: host worker-1 has no slot `x`"},
          {"worker-1:", NULL, "include: no slot of host worker-1 is named after the colon"},
          {NULL, "worker-0@worker-1@worker-2", "exclude: no host is left"},
          {"worker-0", "worker-1", "include and exclude cannot be combined; give one of them"})
{
    HELD(host_list) l = parsed(uneven);
    FAILS_WITH(hosts_filter(&l, row->include, row->exclude, &e), row->message);
    assert_int_equal(hosts_device_count(&l), 10);
}
