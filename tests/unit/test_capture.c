/* process/capture: slot files, and the bound of a log. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>

#include "process/capture.h"
#include "process/log_cap.h"
#include "unit_test.h"
#include "util/buffer.h"
#include "util/file.h"

static char directory[64], job_dir[96]; /* with all names from the root, as a runner has them */
static struct capture capture;

static int set_up(void **state)
{
    const int rc = unit_test_enter(state);
    assert_non_null(getcwd(directory, sizeof directory));
    snprintf(job_dir, sizeof job_dir, "%s/job", directory);
    capture_init(&capture, directory, 3, 0);
    return rc;
}

static int tear_down(void **state)
{
    capture_free(&capture);
    return unit_test_leave(state);
}

#define CAPTURE_TEST(name) TEST_WITHIN(name, set_up, tear_down)

static void captured_free(struct captured *c)
{
    free(c->log_path);
    free(c->metrics_path);
}

static ino_t inode_of(const char *path)
{
    struct stat status;
    return stat(path, &status) == 0 ? status.st_ino : 0;
}

/* Begins an attempt and returns what its job is given to write to: one file. */
static int begin(int64_t attempt)
{
    int child[STREAM_COUNT];
    assert_int_equal(capture_begin(&capture, attempt, NULL, child), 0);
    assert_int_equal(child[0], child[1]);
    return child[0];
}

/* Plays a job that writes `text`, with nobody left behind. */
static struct captured play(int64_t attempt, const char *text)
{
    int fd = begin(attempt);
    assert_true(fd > 2);
    assert_int_equal(write(fd, text, strlen(text)), strlen(text));
    close(fd);
    return capture_end(&capture, attempt, job_dir, capture_hold(&capture) == CAPTURE_RELEASED);
}

static void assert_played(int64_t attempt, const char *text)
{
    HELD(captured) c = play(attempt, text);
    assert_file(c.log_path, text);
    assert_int_equal(c.log_bytes, strlen(text));
}

CAPTURE_TEST(capture__silent_jobs__one_file_for_all)
{
    struct captured c = play(1, "");
    ino_t inode = inode_of("slot-3.log");
    assert_int_not_equal(inode, 0);
    assert_null(c.log_path);
    c = play(2, "");
    assert_int_equal(inode_of("slot-3.log"), inode);
    assert_null(c.log_path);
    assert_int_equal(inode_of("job"), 0);
}

CAPTURE_TEST(capture__output__moved_and_the_next_begins_empty)
{
    assert_played(1, "one");
    assert_played(2, "two");
}

/* The heart of it: the kernel tells that somebody still has the file, and nobody gets it again. */
CAPTURE_TEST(capture__somebody_holds_the_log__not_used_again)
{
    int straggler = begin(1);
    assert_int_equal(capture_hold(&capture), CAPTURE_HELD);
    HELD(captured) c = capture_end(&capture, 1, job_dir, capture_hold(&capture) == CAPTURE_RELEASED);
    assert_null(c.log_path);
    int fd = begin(2);
    assert_int_equal(write(straggler, "late", 4), 4);
    assert_int_equal(write(fd, "mine", 4), 4);
    close(fd);
    close(straggler);
    assert_int_equal(capture_hold(&capture), CAPTURE_RELEASED);
    c = capture_end(&capture, 2, job_dir, true);
    assert_file(c.log_path, "mine");
}

CAPTURE_TEST(capture__slot_file_removed_between_jobs__made_anew)
{
    HELD(captured) c = play(1, "");
    assert_null(c.log_path);
    assert_int_equal(unlink("slot-3.log"), 0);
    assert_played(2, "kept");
}

CAPTURE_TEST(capture__slot_file_removed_under_the_job__output_saved)
{
    int fd = begin(1);
    assert_int_equal(write(fd, "saved", 5), 5);
    assert_int_equal(unlink("slot-3.log"), 0);
    close(fd);
    HELD(captured) c = capture_end(&capture, 1, job_dir, true);
    assert_file(c.log_path, "saved");
}

CAPTURE_TEST(capture_tidy__metrics_of_a_dead_runner__not_taken_for_new_ones)
{
    put("attempt-7.metrics.jsonl", "{}\n");
    capture_tidy(directory);
    struct captured c = play(7, "");
    assert_null(c.metrics_path);
}

CAPTURE_TEST(capture__abandoned__file_kept_for_the_next)
{
    int fd = begin(1);
    close(fd);
    ino_t inode = inode_of("slot-3.log");
    capture_abandon(&capture);
    struct captured c = play(2, "");
    assert_int_equal(inode_of("slot-3.log"), inode);
    assert_null(c.log_path);
}

CAPTURE_TEST(capture_look__any_writing__seen)
{
    int fd = begin(1);
    struct capture_activity before = capture_look(&capture);
    assert_int_equal(before.metrics_changed_ns, 0);
    assert_int_equal(write(fd, "x", 1), 1);
    assert_int_equal(capture_look(&capture).log_bytes, before.log_bytes + 1);
    put(capture.metrics_path, "{}\n");
    assert_int_equal(capture_look(&capture).metrics_bytes, 3);
    assert_true(capture_look(&capture).metrics_changed_ns > 0);
    close(fd);
    HELD(captured) c = capture_end(&capture, 1, job_dir, true);
    assert_int_equal(c.log_bytes, before.log_bytes + 1);
}

/* --- streams apart --- */

static void say(int fd, const char *text)
{
    assert_int_equal(write(fd, text, strlen(text)), strlen(text));
}

/* Waits until the log has grown to that size. */
static void await_log(int64_t bytes)
{
    for (int i = 0; i < 10000 && capture_look(&capture).log_bytes < bytes; i++)
        usleep(1000);
    assert_int_equal(capture_look(&capture).log_bytes, bytes);
}

static int child[STREAM_COUNT];

static void begin_apart(void)
{
    capture.keeps_apart = true;
    assert_int_equal(capture_begin(&capture, 1, job_dir, child), 0);
    assert_int_not_equal(child[0], child[1]);
}

CAPTURE_TEST(capture__kept_apart__each_in_its_file_and_the_log_in_order)
{
    begin_apart();
    say(child[0], "one\n");
    await_log(4);
    say(child[1], "two\n");
    await_log(8);
    say(child[0], "three\n");
    await_log(14);
    assert_int_equal(capture_hold(&capture), CAPTURE_HELD);
    capture_close_child(child);
    for (int i = 0; i < 10000 && capture_hold(&capture) == CAPTURE_HELD; i++)
        usleep(1000);
    assert_int_equal(capture_hold(&capture), CAPTURE_RELEASED);
    HELD(captured) c = capture_end(&capture, 1, job_dir, true);
    assert_int_equal(c.log_bytes, 14);
    assert_file(c.log_path, "one\ntwo\nthree\n");
    assert_file("job/stdout.log", "one\nthree\n");
    assert_file("job/stderr.log", "two\n");
}

/* All output until then counts, however late it is looked at; what a straggler writes later goes nowhere. */
CAPTURE_TEST(capture__kept_apart_and_held__all_that_was_written_is_there)
{
    begin_apart();
    signal(SIGPIPE, SIG_IGN);
    for (int i = 0; i < 5000; i++)
        say(child[1], "warning\n");
    HELD(captured) c = capture_end(&capture, 1, job_dir, false);
    assert_int_equal(c.log_bytes, 5000 * 8);
    assert_int_equal(write(child[1], "late", 4), -1);
    assert_int_equal(errno, EPIPE);
    capture_close_child(child);
    assert_int_not_equal(access("job/stdout.log", F_OK), 0);
}

CAPTURE_TEST(capture__kept_apart_and_large__each_within_its_bound)
{
    enum { CAP = 1 << 20, LINES = 500000 };
    struct stat status;
    capture.cap_bytes = CAP;
    begin_apart();
    say(child[1], "first\n");
    for (int i = 0; i < LINES; i++)
        say(child[1], "warning\n");
    say(child[1], "last\n");
    say(child[0], "short\n");
    capture_close_child(child);
    HELD(captured) c = capture_end(&capture, 1, job_dir, true);
    assert_int_equal(c.log_bytes, LINES * 8 + 17);
    assert_int_equal(c.cap_bytes, CAP);
    assert_int_equal(stat("job/stderr.log", &status), 0);
    assert_true(status.st_size <= CAP + 200);
    assert_true(log_cap_is_marked("job/stderr.log"));
    assert_file("job/stdout.log", "short\n");
}

CAPTURE_TEST(capture__kept_apart_and_abandoned__nothing_left)
{
    begin_apart();
    capture_close_child(child);
    capture_abandon(&capture);
    assert_int_not_equal(access("job/output.log", F_OK), 0);
    assert_int_not_equal(access("job/stdout.log", F_OK), 0);
    assert_int_not_equal(access("job/stderr.log", F_OK), 0);
}

/* --- what a job does to its directory --- */

/* Plays a job with a directory of its own, in which a shell then does something. */
static struct captured play_in_directory(const char *text, const char *script)
{
    assert_int_equal(capture_begin(&capture, 1, job_dir, child), 0);
    assert_int_equal(write(child[0], text, strlen(text)), strlen(text));
    OWNED char *command = xasprintf("cd job && { %s; }", script);
    assert_int_equal(system(command), 0);
    capture_close_child(child);
    return capture_end(&capture, 1, job_dir, true);
}

CAPTURE_TEST(capture__log_replaced__kept_from_the_open_file)
{
    static const char *const scripts[] = {"rm output.log", "mv output.log mine", "rm output.log; mkfifo output.log",
                                          "echo precious >precious; ln -sf precious output.log",
                                          "rm output.log; echo forged >output.log"};
    for (size_t i = 0; i < LENGTH(scripts); i++) {
        HELD(captured) c = play_in_directory("one\n", scripts[i]);
        struct stat status;
        assert_file(c.log_path, "one\n");
        assert_int_equal(lstat(c.log_path, &status), 0);
        assert_true(S_ISREG(status.st_mode));
        assert_false(c.directory_moved);
        assert_int_equal(c.log_error, 0);
    }
    assert_file("job/precious", "precious\n");
}

CAPTURE_TEST(capture__directory_moved__log_and_metrics_kept)
{
    HELD(captured) c = play_in_directory("one\n", "echo '{\"a\": 1}' >metrics.jsonl; cd ..; mv job elsewhere");
    assert_true(c.directory_moved);
    assert_file(c.log_path, "one\n");
    assert_file(c.metrics_path, "{\"a\": 1}\n");
    assert_file("job/output.log", "one\n");
}

CAPTURE_TEST(capture__directory_is_a_link__nothing_written_through_it)
{
    HELD(captured) c = play_in_directory("one\n", "cd ..; rm -r job; mkdir foreign; echo precious "
                                                  ">foreign/output.log; ln -s foreign job");
    assert_true(c.directory_moved);
    assert_file(c.log_path, "one\n");
    assert_file("foreign/output.log", "precious\n");
    assert_played(2, "two\n");
    assert_file("foreign/output.log", "precious\n");
}

CAPTURE_TEST(capture__log_moved_and_large__no_hole_in_what_a_link_leads_to)
{
    enum { CAP = 1 << 20, SIZE = 8 << 20 };
    OWNED char *block = xcalloc(1, SIZE);
    struct stat before, after;
    memset(block, 'x', SIZE);
    FAIL_IF(file_write_atomic("precious", block, SIZE, &e));
    assert_int_equal(stat("precious", &before), 0);
    capture.cap_bytes = CAP;
    assert_int_equal(capture_begin(&capture, 1, job_dir, child), 0);
    assert_int_equal(write(child[0], block, SIZE), SIZE);
    assert_int_equal(rename("job/output.log", "job/mine"), 0);
    assert_int_equal(symlink("../precious", "job/output.log"), 0);
    capture_bound(&capture, SIZE, SIZE);
    assert_int_equal(stat("precious", &after), 0);
    assert_int_equal(before.st_blocks, after.st_blocks);
    capture_close_child(child);
    HELD(captured) c = capture_end(&capture, 1, job_dir, true);
    assert_int_equal(log_cap_compact(c.log_path, c.log_bytes, CAP), 0);
    assert_int_equal(stat("precious", &after), 0);
    assert_int_equal(after.st_size, SIZE);
}

/* --- the bound of a log --- */

enum { LINE_CAP = 200000, LINE_SIZE = 1000000 };

static void put_endless_line(void)
{
    OWNED char *line = xmalloc(LINE_SIZE);
    memset(line, 'z', LINE_SIZE);
    FAIL_IF(file_write_atomic("log", line, LINE_SIZE, &e));
}

CAPTURE_TEST(log_cap__a_link_is_in_the_way__replaced_and_not_followed)
{
    put_endless_line();
    put("precious", "precious");
    assert_int_equal(symlink("precious", "log.cut"), 0);
    assert_int_equal(log_cap_compact("log", LINE_SIZE, LINE_CAP), 0);
    assert_true(log_cap_is_marked("log"));
    assert_file("precious", "precious");
    assert_int_equal(unlink("log"), 0);
    assert_int_equal(symlink("precious", "log"), 0);
    assert_int_equal(log_cap_compact("log", 8, 4), -1);
    assert_file("precious", "precious");
}

static void write_lines(int fd, int lines)
{
    for (int i = 0; i < lines; i++)
        dprintf(fd, "%09d\n", i);
}

CAPTURE_TEST(log_cap__growing_log__space_given_back_and_appending_goes_on)
{
    enum { CAP = 1 << 20, LINES = 800000 };
    int fd = open("log", O_WRONLY | O_CREAT | O_APPEND, 0600);
    write_lines(fd, LINES);
    struct stat status;
    assert_int_equal(fstat(fd, &status), 0);
    assert_int_equal(status.st_size, 10 * LINES);
    log_cap_release_middle(fd, status.st_size, CAP, 1 << 20);
    assert_int_equal(fstat(fd, &status), 0);
    assert_true(status.st_blocks * 512 > 4 * CAP); /* what has not been read stays */
    log_cap_release_middle(fd, status.st_size, CAP, status.st_size);
    dprintf(fd, "the end\n");
    assert_int_equal(fstat(fd, &status), 0);
    assert_int_equal(status.st_size, 10 * LINES + 8);
    /* A file system without holes keeps the bytes, which is no fault of ours: ask it first. */
    if (fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 4 << 20, 65536) == 0)
        assert_true(status.st_blocks * 512 <= 2 * CAP);
    close(fd);
    assert_int_equal(log_cap_compact("log", status.st_size, CAP), 0);
    OWNED_BUFFER text = BUFFER_INIT;
    FAIL_IF(file_read("log", 2 * CAP, &text, &e));
    assert_memory_equal(text.data, "000000000\n000000001\n", 20);
    assert_memory_equal(text.data + text.length - 18, "000799999\nthe end\n", 18);
    assert_null(memchr(text.data, '\0', text.length)); /* nothing of the hole */
}

CAPTURE_TEST(log_cap__one_endless_line__cut_all_the_same)
{
    put_endless_line();
    assert_int_equal(log_cap_compact("log", LINE_SIZE, LINE_CAP), 0);
    OWNED_BUFFER text = BUFFER_INIT;
    FAIL_IF(file_read("log", LINE_SIZE, &text, &e));
    assert_true(text.length > LINE_CAP && text.length < LINE_CAP + 100);
    assert_non_null(strstr(text.data, "\n[… 800000 bytes cut by meshsweep …]\n"));
}

TEST(log_cap__not_there__said)
{
    assert_int_equal(log_cap_compact("/no/such/log", 100, 10), -1);
}
