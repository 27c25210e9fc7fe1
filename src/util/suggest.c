#include "util/suggest.h"

#include <ctype.h>
#include <stdbool.h>
#include <string.h>

#include "util/memory.h"

#define LONGEST_WORD 64

static bool same(char a, char b)
{
    return tolower((unsigned char)a) == tolower((unsigned char)b);
}

static size_t smallest(size_t a, size_t b, size_t c)
{
    size_t ab = a < b ? a : b;
    return ab < c ? ab : c;
}

/* Optimal string alignment: insert, delete, replace, swap two neighbours. */
static size_t distance(const char *a, const char *b)
{
    size_t rows = strlen(a), columns = strlen(b);
    if (rows > LONGEST_WORD || columns > LONGEST_WORD)
        return LONGEST_WORD;
    size_t d[LONGEST_WORD + 1][LONGEST_WORD + 1];
    for (size_t i = 0; i <= rows; i++)
        d[i][0] = i;
    for (size_t j = 0; j <= columns; j++)
        d[0][j] = j;
    for (size_t i = 1; i <= rows; i++) {
        for (size_t j = 1; j <= columns; j++) {
            size_t replaced = d[i - 1][j - 1] + !same(a[i - 1], b[j - 1]);
            d[i][j] = smallest(d[i - 1][j] + 1, d[i][j - 1] + 1, replaced);
            if (i > 1 && j > 1 && same(a[i - 1], b[j - 2]) && same(a[i - 2], b[j - 1]) && d[i - 2][j - 2] + 1 < d[i][j])
                d[i][j] = d[i - 2][j - 2] + 1;
        }
    }
    return d[rows][columns];
}

const char *suggest_nearest(const char *word, const char *const *candidates, size_t count)
{
    size_t limit = strlen(word) / 3;
    limit = limit < 1 ? 1 : limit > 3 ? 3 : limit;
    const char *best = NULL;
    for (size_t i = 0; i < count; i++) {
        size_t d = distance(word, candidates[i]);
        if (d <= limit && d < strlen(word)) {
            best = candidates[i];
            limit = d ? d - 1 : 0;
            if (d == 0)
                break;
        }
    }
    return best;
}

char *suggest_hint(const char *word, const char *const *candidates, size_t count)
{
    const char *near = suggest_nearest(word, candidates, count);
    return near ? xasprintf("; did you mean \"%s\"?", near) : xstrdup("");
}
