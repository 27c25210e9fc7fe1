#include "batch/frame.h"

#include <fts.h>
#include <stdlib.h>
#include <string.h>

#include "process/job_file.h"
#include "util/memory.h"
#include "util/shell.h"

enum { FILE_BYTES_MOST = 16 << 20 };

uint32_t frame_checksum(const char *bytes, size_t length)
{
    const uint32_t polynomial = 0x04C11DB7;
    uint32_t sum = 0;
    size_t rest = length;
    for (size_t i = 0; i < length || rest > 0; i++) {
        sum ^= (uint32_t)(unsigned char)(i < length ? bytes[i] : (char)rest) << 24;
        rest = i < length ? rest : rest >> 8;
        for (int bit = 0; bit < 8; bit++)
            sum = sum & 0x80000000 ? sum << 1 ^ polynomial : sum << 1;
    }
    return ~sum;
}

bool frame_read(const char *sizes, const char *body, size_t left, struct frame *out)
{
    char *at;
    const unsigned long long length = strtoull(sizes, &at, 10), sum = strtoull(at, NULL, 10);
    if (length > left)
        return false;
    *out = (struct frame){body, length, frame_checksum(body, length) != sum};
    return true;
}

void frame_add_files(const char *directory, const char *there, struct buffer *b)
{
    char *paths[] = {(char *)directory, NULL};
    FTS *tree = fts_open(paths, FTS_PHYSICAL | FTS_NOCHDIR, NULL);
    for (FTSENT *f; tree && (f = fts_read(tree));) {
        OWNED char *path = xasprintf("%s%s", there, f->fts_path + strlen(directory));
        const bool is_own =
            f->fts_level == 1 && (strcmp(f->fts_name, "output.log") == 0 || strcmp(f->fts_name, "metrics.jsonl") == 0);
        OWNED char *text = f->fts_info == FTS_F && !is_own ? job_file_text(f->fts_path, FILE_BYTES_MOST) : NULL;
        buffer_add_text(b, f->fts_info == FTS_D ? "mkdir -p -- " : text ? "printf %s " : "");
        if (text) {
            shell_add_word(b, text);
            buffer_add_text(b, " >");
        }
        if (text || f->fts_info == FTS_D) {
            shell_add_word(b, path);
            buffer_add_text(b, " || return 1\n");
        }
    }
    if (tree)
        fts_close(tree);
}
