/* A snapshot of /proc, and the owner of each process. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* Whose a process is, besides the index of a root. */
enum {
    OWNER_UNSET = -1,
    OWNER_FOREIGN = -2, /* does not descend from the runner */
    OWNER_RUNNER = -3,  /* the runner itself */
    OWNER_ESCAPED = -4, /* descends from the runner; its token names an attempt that is over */
    OWNER_UNKNOWN = -5, /* descends from the runner; was orphaned and carries no token */
};

struct process_entry {
    pid_t pid, parent, group, session;
    int64_t start_ticks;
    bool of_kernel;  /* a thread of the kernel's own */
    bool live;       /* can still do something: neither a zombie nor past the point where it starts to become one */
    bool just_ended; /* is not live, and was live or not there at the table's reading before */
    bool unsure;     /* whose it is could not be found out, because it, or one above it, was just ending or becoming
                      * another program */
    int owner;       /* index of a root, or OWNER_ */
};

/* Reads one process; false when it does not exist. `owner` becomes OWNER_UNSET. */
bool process_read(pid_t pid, struct process_entry *out);

/* Sorted by pid. */
struct process_table {
    struct process_entry *entries;
    size_t count;
    bool unread;         /* /proc is there and could not be read just now: nothing is known */
    bool missed;         /* something had gone after it was listed and before it was read */
    bool without_reaper; /* set by the owner: the runner is no subreaper, so that orphans of jobs do not come to it, and
                          * are found by their tokens alone */
};

#define PROCESS_TABLE_INIT ((struct process_table){NULL, 0, false, false, false})

/* Replaces the contents with what runs now. Not atomic: a process that starts meanwhile may be missed. Then its
 * parent is there, perhaps no longer live (see process_table_state). All or nothing: empty when /proc cannot be read,
 * since with processes missing those below them would seem to be anybody's. */
void process_table_read(struct process_table *t);
void process_table_free(struct process_table *t);
/* Returns whether something may be missing whose parent is not in the table either. */
bool process_table_has_gaps(const struct process_table *t);
struct process_entry *process_table_find(const struct process_table *t, pid_t pid);

/* Leader of a job's tree. */
struct tree_root {
    pid_t leader;
    int64_t start_ticks;
    bool leader_gone; /* reaped: its pid may be anybody's */
    int64_t attempt;
};

/* Owns nothing. */
#define NO_ROOT ((struct tree_root){-1, -1, true, -1})

/* Sets every entry's owner: the leader itself; its session or process group; the parent's owner; for what has been
 * orphaned (its parent is the runner, a subreaper), the token "<token_prefix>:<attempt>" in its environment. */
void process_table_assign(struct process_table *t, pid_t runner, const struct tree_root *roots, size_t root_count,
                          const char *token_prefix);

enum tree_state {
    TREE_GONE = 1, /* certain, once the leader is reaped */
    TREE_UNSURE,   /* nothing live was seen, but something ended meanwhile that may have started another: look again */
    TREE_LIVE,
};

/* Returns the state of the tree of root `index` in the snapshot, its leader left out. TREE_GONE is certain: the topmost
 * process of a tree without its leader is a child of the runner, who alone can reap it. Had one been there when the
 * reading began, it would be in the table, live or not. Without a reaper, one that ended since the last reading may
 * have started what this one lacks: certain only once nobody has. */
enum tree_state process_table_state(const struct process_table *t, const struct tree_root *roots, size_t index);

enum { TOKEN_NONE = -1, TOKEN_UNSURE = -2 };

/* The attempt in a process's environment token ("MESHSWEEP_ATTEMPT=<token_prefix>:<attempt>"; a prefix may be shorter
 * than the one given at the start, by whole parts between colons); TOKEN_NONE when it carries none or its environment
 * may not be read, TOKEN_UNSURE when it has no environment just now: it is ending, or in the middle of execve. */
int64_t process_token(pid_t pid, const char *token_prefix);
