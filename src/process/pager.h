/* A program that shows standard output page by page on the terminal, such as less: one at a time, as in git. */
#pragma once

#include <stdbool.h>

#include "util/error.h"

/* Starts `command` by /bin/sh, with LESS=FRX and LV=-c in its environment where these are not set: less ends by itself
 * when all fits on the screen, and shows colours. Descriptor 1, and with `with_errors` 2, lead to it from now on. What
 * ends this process by SIGINT, SIGTERM, SIGHUP or SIGQUIT lets the pager, which has the terminal, end first. */
int pager_start(const char *command, bool with_errors, struct error *e);

/* Closes descriptors 1 and 2 and waits until the reader has seen enough; nothing where no pager was started. Ctrl-C is
 * the pager's meanwhile. What streams still hold is to be flushed before. */
void pager_end(void);
