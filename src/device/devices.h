/* The devices of this machine: which there are, and which job gets which. Pure but for devices_discover. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "util/error.h"

/* --- which there are --- */

/* The variables that tell a process which of them are its own; NULL-terminated. */
extern char *const device_variables[];

/* Names as CUDA_VISIBLE_DEVICES takes them: "0", "GPU-5ff6…", "MIG-…". */
struct device_list {
    char **names;
    size_t count;
    const char *source; /* who said so, static: "[local] devices", "CUDA_VISIBLE_DEVICES", "nvidia-smi", … */
    uint16_t *nodes;    /* by device, from 0, ascending; NULL: all are of this machine */
    bool hosts;         /* the nodes are hosts: a job of several has them whole, and one that fails may come back */
};
#define DEVICE_LIST_INIT ((struct device_list){NULL, 0, "nothing", NULL, false})
void device_list_free(struct device_list *l);
/* Returns how many a job may have at once: one MIG instance, since CUDA shows a process no more
 * (https://docs.nvidia.com/datacenter/tesla/mig-user-guide/). */
size_t device_list_most(const struct device_list *l);

/* "0,2,GPU-1": at most the first that is none (-1, "NoDevFiles"), as CUDA reads it; "" hides all. The names are added,
 * each once. */
void device_list_add_names(struct device_list *l, const char *text);
/* Adds "NODE:0" … of a node of an allocation. */
void device_list_add_node(struct device_list *l, uint16_t node, const char *name, int64_t count);
/* Adds "0" … count - 1. */
void device_list_add_count(struct device_list *l, int64_t count);
/* One device for each line of `nvidia-smi -L`: "GPU 0: …" by its number, and in its place the MIG instances below it
 * ("  MIG 1g.10gb  Device  0: (UUID: MIG-…)") by their names, where there are any. */
void device_list_add_smi(struct device_list *l, const char *text);

/* Asks, in this order, and takes the first that answers: CUDA_VISIBLE_DEVICES, ROCR_VISIBLE_DEVICES or
 * HIP_VISIBLE_DEVICES of `environment`; `nvidia-smi -L`; the driver's files below `root`/proc/driver/nvidia/gpus; the
 * GPU nodes of `root`/sys/class/kfd (ROCm). No device is an answer, and no error. `root` is "" but in tests. */
void devices_discover(char *const *environment, const char *root, struct device_list *out);

/* --- which job gets which --- */

#define DEVICES_MOST 1024

/* A device shared by several is counted in parts. */
enum { DEVICE_PARTS = 1000000 };

enum { DEVICE_FREE = 0, DEVICE_BUSY, DEVICE_SKIPPED };

struct device_pool {
    size_t count;
    size_t node_count;
    uint16_t node[DEVICES_MOST]; /* that each belongs to */
    size_t most;                 /* used at once; at most `count` */
    size_t used;
    bool gives_whole; /* to what wants several nodes: nodes of which nobody has any, with all that they have */
    unsigned char state[DEVICES_MOST]; /* DEVICE_; busy: somebody has it, or a part of it */
    uint32_t room[DEVICES_MOST];       /* parts of a busy one that are to be had */
    bool is_closed[DEVICES_MOST];      /* it has room, and is skipped */
};

struct device_set {
    size_t count;
    uint16_t items[DEVICES_MOST]; /* ascending */
    uint32_t parts;               /* of the one that is shared; 0: whole devices */
};

/* `most` 0: all. `nodes`: see device_list. */
void device_pool_init(struct device_pool *p, size_t count, size_t most, const uint16_t *nodes);

/* Devices that belong together: so many on each of so many nodes, or parts of one. */
struct device_gang {
    size_t nodes, each;
    uint32_t parts; /* of a single device; 0: all of it, or of them */
};

/* A share from 0 to 1 in parts: 0 where it is the whole. 1/n always makes n. */
uint32_t device_parts(double share);

/* Returns whether they are to be had now. */
bool device_pool_fits(const struct device_pool *p, struct device_gang wanted);

/* Returns whether they ever will be, unless a skipped device comes back. */
bool device_pool_can_ever(const struct device_pool *p, struct device_gang wanted);

/* Takes free devices, all or none; a share where most is taken already and it still fits. On a node neighbours where
 * possible (they share links), in the smallest gap that holds them; nodes with the fewest free ones first, so that
 * whole nodes stay free for large jobs; those of `avoid` (NULL: none) only where there is no other way. */
bool device_pool_take(struct device_pool *p, struct device_gang wanted, const struct device_set *avoid,
                      struct device_set *out);
void device_pool_give(struct device_pool *p, const struct device_set *set);

/* Takes a free device, or one that has room, out of the pool, and puts it back. Whether it was in it. */
bool device_pool_skip(struct device_pool *p, size_t device);
void device_pool_restore(struct device_pool *p, size_t device);

/* A job that waits for devices, in the order in which it is to run. */
struct device_wish {
    struct device_gang devices;
    int64_t passed_over; /* how often another that waits behind it was started before it */
};

/* The one to start now: the largest that fits, the earliest of these; but once the first has been passed over
 * `patience` times, it alone, so that a large job is not kept waiting by small ones for ever. -1: none now. */
int64_t devices_choose(const struct device_pool *p, const struct device_wish *wishes, size_t count, int64_t patience);

/* "0,2,3" for a set; the caller's. */
char *device_set_names(const struct device_set *set, const struct device_list *names);
