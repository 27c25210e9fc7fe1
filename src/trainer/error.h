/*
 * Why something failed: a sentence for the person and the exit status that goes with it.
 *
 * Functions that can fail return 0, or -1 with the error set; nothing below main prints it.
 */
#ifndef TRAINER_ERROR_H
#define TRAINER_ERROR_H

enum exit_status {
    STATUS_OK = 0,
    STATUS_FAILED = 1,
    STATUS_USAGE = 2,
};

#define ERROR_TEXT_MAX 1024

struct error {
    int status; /* an exit_status, or 128 + n when signal n killed a rank */
    char text[ERROR_TEXT_MAX];
};

/* Sets *e from a printf format; always returns -1, so that a caller can `return error_set(...)`. */
int error_set(struct error *e, int status, const char *format, ...) __attribute__((format(printf, 3, 4)));

#endif
