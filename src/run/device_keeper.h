/* A runner's record of this machine's devices: which attempt has which, which can be used, and how much of
 * their memory is in use. Nothing is ever killed by its device. */
#pragma once

#include "config/sweep.h"
#include "device/devices.h"
#include "measures/place_watch.h"
#include "run/claims.h"

/* The devices that the runner is given, and how it may use them. */
struct device_options {
    const struct device_list *devices; /* borrowed; none: jobs are not given any */
    int64_t most;                      /* in use at once; 0: all */
};

struct device_keeper;

/* NULL where there are no devices: the functions below take that, and let everything pass. `places`, borrowed, says
 * which are not to be given to whom. `notice` tells of devices
 * that are passed over. */
struct device_keeper *device_keeper_create(const struct device_options *options, const struct sweep *sweep,
                                           char *const *environment, struct place_watch *places,
                                           void (*notice)(void *context, const char *text), void *context);
void device_keeper_free(struct device_keeper *k);

/* Chooses which of the waiting claims may start now (see devices_choose): its attempt; 0: none. */
int64_t device_keeper_choose(struct device_keeper *k, struct claims *claims);

/* Gives the attempt its devices: sets `devices` and `cpus`. False when they are not to be had: the attempt waits. */
bool device_keeper_give(struct device_keeper *k, struct running_attempt *f);

/* The attempt has ended: sets `conditions`. Returns the most memory that was seen in use on one of its devices, in
 * bytes; -1: not known. */
int64_t device_keeper_take_back(struct device_keeper *k, struct running_attempt *f);

/* Returns whether the attempt, which has ended, could have run on devices other than those that it had. */
bool device_keeper_has_elsewhere(struct device_keeper *k, struct running_attempt *f);

/* These nodes ("n1,n2") have failed: none of their devices is given any more. */
void device_keeper_lose(struct device_keeper *k, const char *nodes);

/* They answer again. */
void device_keeper_regain(struct device_keeper *k, const char *nodes);

/* Returns whether what waits is not to be had: nothing runs, and the devices that it needs have failed or have not been
 * clean for [local] give_up. A notice has been given then. */
bool device_keeper_gives_up(struct device_keeper *k);

/* Looks at the devices' memory and condition when that is due: so seldom that it takes a twentieth of the time at
 * most. */
void device_keeper_sample(struct device_keeper *k);

/* Until the next look, or until a device that was passed over is looked at again; -1: none is due. */
int64_t device_keeper_due_ms(const struct device_keeper *k);
