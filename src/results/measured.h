/* The measurements that may win. */
#pragma once

/* SQL: whether the attempt with this alias has measured all that was asked of it, and meets what [sweep] subject_to
 * asks for, and is not excluded. It ran to its end, or a search had it ended after the steps that the trial was to
 * have; what was ended because it could not win any more has not. */
#define MEASURED_AS_ASKED(attempt)                                                                                     \
    "(NOT EXISTS (SELECT 1 FROM breach WHERE breach.attempt_id = " attempt ".id) AND NOT EXISTS"                       \
    " (SELECT 1 FROM excluded_attempt AS x WHERE x.attempt_id = " attempt ".id) AND " MEASURED_TO_ITS_END(attempt) ")"

/* The same without regard to [sweep] subject_to. */
#define MEASURED_TO_ITS_END(attempt)                                                                                   \
    "(" attempt ".stopped_steps IS NULL OR EXISTS (SELECT 1 FROM trial AS asked WHERE asked.job_id = " attempt         \
    ".job_id AND asked.attempt_id = " attempt ".id AND asked.resource > 0 AND " attempt                                \
    ".stopped_steps >= asked.resource))"
