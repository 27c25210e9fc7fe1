/* UTF-8 as RFC 3629 has it: no overlong forms, no surrogates, nothing above U+10FFFF. */
#pragma once

#include <stddef.h>

/* Bytes of the well-formed sequence that begins `text` (1 to 4), 0 when there is none in `length` bytes. */
size_t utf8_sequence_length(const char *text, size_t length);

/* Offset of the first byte that is not well-formed, or `length` when all is. */
size_t utf8_first_invalid(const char *text, size_t length);

/* Bytes of `text` that are left of `length` when it is cut to `most` of them and not within a character. */
size_t utf8_cut(const char *text, size_t length, size_t most);

/* Bytes of the byte order mark that `text` begins with: 3 or 0. */
size_t utf8_mark_length(const char *text, size_t length);
