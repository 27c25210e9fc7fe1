/* process: files where jobs write, whatever these leave there. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>

#include "process/job_file.h"
#include "unit_test.h"
#include "util/file.h"

static void run(const char *script)
{
    assert_int_equal(system(script), 0);
}

/* 0, and the descriptor is closed; else the errno. */
static int tried(int fd)
{
    if (fd < 0)
        return errno;
    close(fd);
    return 0;
}

TEST_APART(open__what_a_job_may_leave__only_regular_files)
{
    run("mkdir d; echo one >d/file; ln -s file d/link; mkfifo d/pipe; mkdir d/dir");
    ROWS(cases, const char *path; int error) = {{"d/file", 0},     {"d/link", ELOOP},     {"d/pipe", EINVAL},
                                                {"d/dir", EINVAL}, {"/dev/zero", EINVAL}, {"d/none", ENOENT}};
    for (size_t i = 0; i < LENGTH(cases); i++)
        FAIL_WHERE(tried(job_file_open(cases[i].path)) != cases[i].error, "%s", cases[i].path);
    assert_int_equal(tried(job_file_open_named("d/link")), 0);
    assert_int_equal(tried(job_file_open_named("d/pipe")), EINVAL);
}

TEST_APART(open_below__links_and_dots__refused)
{
    run("mkdir -p d/a; echo one >d/a/file; ln -s a d/link; ln -s a/file d/last; ln -s d user; echo >outside");
    assert_int_equal(tried(job_file_open_below("user", "a/file")), 0);
    assert_int_not_equal(tried(job_file_open_below("d", "link/file")), 0);
    static const char *const refused[] = {"last", "../outside", "a/../a/file", "./a/file", "a//file",    "",
                                          "/",    "a",          "a/",          "none",     "/etc/passwd"};
    for (size_t i = 0; i < LENGTH(refused); i++)
        assert_int_not_equal(tried(job_file_open_below("d", refused[i])), 0);
    OWNED char *longest = xcalloc(1, NAME_MAX + 2);
    memset(longest, 'x', NAME_MAX + 1);
    assert_int_equal(tried(job_file_open_below("d", longest)), ENAMETOOLONG);
}

/* Returns what the file holds, the caller's; NULL with errno: it cannot be read. */
static char *held(int fd)
{
    OWNED_BUFFER text = BUFFER_INIT;
    if (job_file_read(fd, 100000, &text) == 0)
        return buffer_take(&text);
    return NULL;
}

TEST_APART(open__compressed__what_it_held)
{
    run("mkdir -p d/k/1; echo one | gzip >d/k/1/output.log.gz; echo two | gzip >d/k/1/other.gz; echo text "
        ">d/k/1/stdout.log.gz; echo | gzip | head -c 15 >d/k/1/stderr.log.gz; ln -s output.log.gz "
        "d/k/1/metrics.jsonl.gz");
    char *texts[] = {held(job_file_open("d/k/1/output.log")), held(job_file_open_named("d/k/1/output.log")),
                     held(job_file_open_below("d", "k/1/output.log"))};
    for (size_t i = 0; i < LENGTH(texts); i++) {
        assert_string_equal(texts[i], "one\n");
        free(texts[i]);
    }
    assert_int_equal(job_file_size("d/k/1/output.log"), 4);
    assert_int_equal(job_file_size("d/k/1/none"), -1);
    assert_int_equal(tried(job_file_open("d/k/1/other")), ENOENT);
    assert_int_equal(tried(job_file_open("d/k/1/stdout.log")), EBADMSG);
    assert_int_equal(tried(job_file_open("d/k/1/stderr.log")), EBADMSG);
    assert_int_equal(tried(job_file_open("d/k/1/metrics.jsonl")), ELOOP);
    run("echo plain >d/k/1/output.log");
    OWNED char *plain = held(job_file_open("d/k/1/output.log"));
    assert_string_equal(plain, "plain\n");
}

TEST_APART(directory__two_names_of_the_job__no_links)
{
    run("mkdir real; ln -s real user; mkdir real/other; ln -s other real/key; mkdir -p real/good; ln -s .. "
        "real/good/7");
    assert_int_equal(tried(job_directory_make("user/new/1")), 0);
    assert_int_equal(tried(job_directory_make("user/new/1")), 0);
    assert_int_equal(tried(job_directory_open("user/new/1/")), 0);
    assert_int_equal(tried(job_directory_open("user/new/2")), ENOENT);
    assert_int_equal(tried(job_directory_make("user/key/1")), ENOTDIR);
    assert_int_equal(tried(job_directory_make("user/good/7")), ENOTDIR);
    assert_int_equal(tried(job_directory_make("deep/down/key/1")), 0);
    assert_int_not_equal(access("real/other/1", F_OK), 0);
    OWNED char *whole = job_directory_absolute("user/key/1"), *here = path_absolute(".");
    OWNED char *wanted = xasprintf("%s/real/key/1", here);
    assert_string_equal(whole, wanted);
}

TEST_APART(create__a_link_is_there__replaced)
{
    struct stat status;
    OWNED_BUFFER text = BUFFER_INIT;
    run("mkdir d; echo precious >precious; ln -s ../precious d/log; mkdir d/dir");
    int directory = open("d", O_PATH | O_DIRECTORY), fd = job_file_create(directory, "log", 0);
    assert_int_equal(write(fd, "mine", 4), 4);
    close(fd);
    assert_true(job_file_stat(directory, "log", &status));
    assert_int_equal(status.st_size, 4);
    assert_int_equal(tried(job_file_create(directory, "dir", 0)), EISDIR);
    close(directory);
    assert_int_equal(job_file_read(job_file_open("precious"), 100, &text), 0);
    assert_string_equal(buffer_text(&text), "precious\n");
    assert_int_equal(job_file_read(job_file_open("precious"), 3, &text), -1);
    assert_int_equal(errno, EFBIG);
}

TEST_APART(share__a_link__what_it_leads_to_stays_private)
{
    struct stat status;
    mode_t old = umask(022);
    run("mkdir d; echo >d/log; echo >secret; chmod 600 d/log secret; ln -s ../secret d/metrics");
    job_file_share("d/log");
    job_file_share("d/metrics");
    assert_int_equal(stat("d/log", &status), 0);
    assert_int_equal(status.st_mode & 0777, 0644);
    assert_int_equal(stat("secret", &status), 0);
    assert_int_equal(status.st_mode & 0777, 0600);
    umask(old);
}
