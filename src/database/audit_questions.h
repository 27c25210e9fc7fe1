/* The faults that rows of a database can have, as a table of questions in SQL, each with its advice and, where it can
 * be put right without losing anything, how. */
#pragma once

#include <stddef.h>

enum audit_when { AUDIT_ALWAYS = 0, AUDIT_WITHOUT_RUNNER, AUDIT_WITH_RUNNER };

struct audit_question {
    const char *what, *advice; /* "%s" in it: the statements of the second column */
    const char *sql;           /* each row is something wrong; its first column says where */
    enum audit_when when;      /* it is only wrong while a runner is at work, or while none is */
    const char *repair_sql;    /* in a write transaction without a runner; NULL: nothing can be done without a person */
    const char *repaired;      /* what that does */
};

extern const struct audit_question audit_questions[];
extern const size_t audit_question_count;

/* The first questions, for each of which SQLite reads the whole database: no row of the other one answers them all. */
#define AUDIT_INTEGRITY_QUESTIONS 2

/* Rows of `PRAGMA integrity_check` that are worse than an index that has to be made again and than values that the
 * other questions see to. */
extern const char audit_damage_sql[];
