/* The acts that record_disk.c writes down and cut_disk.c reads. */
#pragma once

#include <stdint.h>

enum disk_act_kind {
    DISK_CREATE = 1, /* a file */
    DISK_UNLINK,
    DISK_WRITE,    /* `bytes` at `offset` */
    DISK_TRUNCATE, /* to `offset` bytes */
    DISK_SYNC,     /* of a file, or of a directory with its entries */
    DISK_SAID,     /* on standard error: what is announced must survive from here on */
};

struct disk_act {
    uint32_t kind;
    uint32_t name_bytes; /* the name below the directory that is recorded, which is "" itself */
    int64_t offset;
    int64_t bytes;
};
