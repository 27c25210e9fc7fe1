#include "process/inherited_mark.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "util/buffer.h"
#include "util/file.h"
#include "util/hash.h"

/* All marks are above: 2^62 microseconds. A runner that is another one's job bears a mark itself. */
#define LOWEST (UINT64_C(1) << 62)

enum { PART_BITS = 31 };

static uint64_t hash_part(const char *text, size_t length)
{
    struct hash128 hash = hash_bytes(text, length);
    uint64_t bits = 0;
    for (size_t i = 0; i < sizeof bits; i++)
        bits = bits << 8 | hash.bytes[i];
    return bits >> (64 - PART_BITS);
}

uint64_t inherited_mark(const char *token)
{
    size_t first = strcspn(token, ":");
    const char *second = token[first] ? token + first + 1 : "";
    return LOWEST | hash_part(token, first) << PART_BITS | hash_part(second, strlen(second));
}

void inherited_mark_set(uint64_t mark)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_RTTIME, &limit) < 0 || (limit.rlim_cur != RLIM_INFINITY && limit.rlim_cur < LOWEST))
        return;
    /* The hard limit stays: what it is lowered to, a runner below could not raise for its own mark. */
    limit.rlim_cur = mark;
    setrlimit(RLIMIT_RTTIME, &limit);
}

/* 0: none. */
static uint64_t mark_of(pid_t pid)
{
    static const char name[] = "\nMax realtime timeout ";
    char path[40];
    uint64_t mark = 0;
    OWNED_BUFFER limits = BUFFER_INIT;
    snprintf(path, sizeof path, "/proc/%d/limits", (int)pid);
    if (file_read(path, 1 << 16, &limits, NULL) == 0) {
        const char *line = strstr(buffer_text(&limits), name);
        mark = line ? strtoull(line + strlen(name), NULL, 10) : 0; /* "unlimited" is 0 */
    }
    return mark >= LOWEST ? mark : 0;
}

bool inherited_mark_borne(pid_t pid, const char *token)
{
    uint64_t borne = mark_of(pid), wanted = inherited_mark(token);
    return strchr(token, ':') ? borne == wanted : borne >> PART_BITS == wanted >> PART_BITS;
}
