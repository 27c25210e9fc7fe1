/* The message of a failure without the parts that differ between jobs with the same cause. */
#pragma once

#define CAUSE_BYTES 1000

/* "#" stands for numbers, lists of them, dates, times, durations, amounts of memory, addresses, identifiers (UUIDs and
 * hashes of eight hexadecimal digits and more) and the names that programs make up below /tmp. The mark that PyTorch
 * and torchrun put before the lines of a rank ("[rank3]: ", "[default3]:") goes: whether there was more than one rank
 * makes no other cause. At most CAUSE_BYTES of it are kept. The caller's. */
char *cause_text(const char *message);
