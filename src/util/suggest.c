#include "util/suggest.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

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
    if (rows > SUGGEST_BYTES || columns > SUGGEST_BYTES)
        return SUGGEST_BYTES;
    size_t d[SUGGEST_BYTES + 1][SUGGEST_BYTES + 1];
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

struct suggestion suggest_for(const char *word)
{
    const size_t length = strlen(word), third = length / 3, most = third < 1 ? 1 : third > 3 ? 3 : third;
    return (struct suggestion){.word = word, .below = most < length ? most + 1 : length};
}

void suggest_try(struct suggestion *s, const char *name)
{
    if (s->is_same)
        return;
    s->is_same = strcmp(s->word, name) == 0;
    const size_t d = s->is_same || s->below == 0 ? 0 : distance(s->word, name);
    if (s->is_same || d < s->below) {
        s->near = name;
        s->below = d;
    }
}

const char *suggest_between(struct suggestion *s, const char *before, const char *after)
{
    if (s->near)
        snprintf(s->hint, sizeof s->hint, "%s%s%s", before, s->near, after);
    return s->hint;
}

const char *suggest_hint(struct suggestion *s)
{
    return suggest_between(s, "; did you mean \"", "\"?");
}
