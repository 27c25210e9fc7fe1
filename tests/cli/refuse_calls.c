/* Runs a program whose system calls are refused as old kernels and the profiles of containers refuse them:
 * refuse_calls PROFILE COMMAND [ARGUMENT...]. Without arguments the profiles are printed, one per line. */
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { ANY = -1, WAIT_FOR_PIDFD = 3, PER_REFUSAL = 5 };

/* The calls from `first` to `last`; where `argument` is not ANY, only those whose first argument it is. */
struct refusal {
    const char *profile;
    int first, last, argument, error;
};

#define ONE(call) (call), (call)
/* Numbers from that of pidfd_send_signal on are the same on every processor, and in the order of kernels. */
#define NEWER_THAN(call) (call) + 1, 1000

static const struct refusal refusals[] = {
    /* Kernel 4.18, of RHEL 8, and 5.4, of Ubuntu 20.04. */
    {"linux-4.18", SYS_pidfd_send_signal, 1000, ANY, ENOSYS},
    {"linux-4.18", ONE(SYS_waitid), WAIT_FOR_PIDFD, EINVAL},
    {"linux-5.4", NEWER_THAN(SYS_clone3), ANY, ENOSYS},
    /* libseccomp before 2.5 and Docker before 20.10 refuse what they do not know as if it were forbidden. */
    {"docker-19", ONE(SYS_clone3), ANY, ENOSYS},
    {"docker-19", SYS_pidfd_send_signal, 1000, ANY, EPERM},
    {"no-pidfd-open", ONE(SYS_pidfd_open), ANY, EPERM},
    {"no-pidfd-signal", ONE(SYS_pidfd_send_signal), ANY, EPERM},
    {"old-pidfd-signal", ONE(SYS_pidfd_send_signal), ANY, ENOSYS},
    {"no-close-range", ONE(SYS_close_range), ANY, EPERM},
    /* gVisor before 2021. */
    {"no-subreaper", ONE(SYS_prctl), PR_SET_CHILD_SUBREAPER, EINVAL},
    /* A profile of a careful administrator. */
    {"strict", ONE(SYS_pidfd_open), ANY, EPERM},
    {"strict", ONE(SYS_pidfd_getfd), ANY, EPERM},
    {"strict", ONE(SYS_pidfd_send_signal), ANY, EPERM},
    {"strict", ONE(SYS_clone3), ANY, ENOSYS},
    {"strict", ONE(SYS_close_range), ANY, EPERM},
    {"strict", SYS_io_uring_setup, SYS_io_uring_register, ANY, EPERM},
    {"strict", ONE(SYS_unshare), ANY, EPERM},
    {"strict", ONE(SYS_mount), ANY, EPERM},
    {"strict", ONE(SYS_name_to_handle_at), ANY, EPERM},
    {"strict", ONE(SYS_kcmp), ANY, EPERM},
};

enum { REFUSALS = sizeof refusals / sizeof *refusals };

static void print_profiles(void)
{
    for (size_t i = 0; i < REFUSALS; i++)
        if (i == 0 || strcmp(refusals[i].profile, refusals[i - 1].profile) != 0)
            puts(refusals[i].profile);
}

static size_t add_refusal(struct sock_filter *out, const struct refusal *r)
{
    const __u32 number = offsetof(struct seccomp_data, nr), argument = offsetof(struct seccomp_data, args[0]);
    const __u8 checks = r->argument == ANY ? 0 : 2;
    size_t n = 0;
    out[n++] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, number);
    out[n++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, (__u32)r->first, 0, (__u8)(checks + 2));
    out[n++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JGT | BPF_K, (__u32)r->last, (__u8)(checks + 1), 0);
    if (checks) {
        out[n++] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, argument);
        out[n++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (__u32)r->argument, 0, 1);
    }
    out[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | (__u32)r->error);
    return n;
}

int main(int count, char **words)
{
    struct sock_filter filter[(PER_REFUSAL + 1) * REFUSALS + 1];
    size_t n = 0;
    if (count < 3) {
        print_profiles();
        return count == 1 ? 0 : 2;
    }
    for (size_t i = 0; i < REFUSALS; i++)
        if (strcmp(refusals[i].profile, words[1]) == 0)
            n += add_refusal(filter + n, &refusals[i]);
    if (n == 0) {
        fprintf(stderr, "refuse_calls: there is no profile %s\n", words[1]);
        return 2;
    }
    filter[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
    const struct sock_fprog program = {(unsigned short)n, filter};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) < 0) {
        perror("refuse_calls: a filter cannot be set");
        return 77;
    }
    execvp(words[2], words + 2);
    perror(words[2]);
    return 127;
}
