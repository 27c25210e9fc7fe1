#include "util/utf8.h"

#include <string.h>

/* Lead byte range, range allowed for the second byte, length: table 3-7 of the Unicode standard. */
static const struct {
    unsigned char lead_low, lead_high, second_low, second_high, length;
} sequences[] = {
    {0x00, 0x7F, 0x00, 0x00, 1}, {0xC2, 0xDF, 0x80, 0xBF, 2}, {0xE0, 0xE0, 0xA0, 0xBF, 3},
    {0xE1, 0xEC, 0x80, 0xBF, 3}, {0xED, 0xED, 0x80, 0x9F, 3}, {0xEE, 0xEF, 0x80, 0xBF, 3},
    {0xF0, 0xF0, 0x90, 0xBF, 4}, {0xF1, 0xF3, 0x80, 0xBF, 4}, {0xF4, 0xF4, 0x80, 0x8F, 4},
};

size_t utf8_sequence_length(const char *text, size_t length)
{
    const unsigned char *s = (const unsigned char *)text;
    if (length == 0)
        return 0;
    for (size_t i = 0; i < sizeof sequences / sizeof *sequences; i++) {
        if (s[0] < sequences[i].lead_low || s[0] > sequences[i].lead_high)
            continue;
        size_t n = sequences[i].length;
        if (n > length)
            return 0;
        if (n > 1 && (s[1] < sequences[i].second_low || s[1] > sequences[i].second_high))
            return 0;
        for (size_t k = 2; k < n; k++)
            if ((s[k] & 0xC0) != 0x80)
                return 0;
        return n;
    }
    return 0;
}

size_t utf8_first_invalid(const char *text, size_t length)
{
    size_t i = 0;
    while (i < length) {
        size_t n = utf8_sequence_length(text + i, length - i);
        if (n == 0)
            break;
        i += n;
    }
    return i;
}

size_t utf8_cut(const char *text, size_t length, size_t most)
{
    if (length <= most)
        return length;
    /* A character has three bytes at most behind its first; more of that kind are no characters. */
    size_t n = most;
    while (n > 0 && most - n < 4 && (text[n] & 0xC0) == 0x80)
        n--;
    return n > 0 && (text[n] & 0xC0) == 0x80 ? most : n;
}

size_t utf8_mark_length(const char *text, size_t length)
{
    static const char mark[] = "\xEF\xBB\xBF";
    return length >= strlen(mark) && memcmp(text, mark, strlen(mark)) == 0 ? strlen(mark) : 0;
}
