#include "predict/layout.h"

#include <string.h>

#define LAYERS_MOST 65535
#define REPEATS_MOST 4096
#define NESTING_MOST 8
#define STEPS_MOST 100000 /* repeated empty groups must end, too */

struct layout_reader {
    const char *at;
    struct pipeline_layout *out;
    int depth, steps;
};

static bool add_letter(struct pipeline_layout *out, char letter)
{
    if (letter == 't' && out->layers++ < LAYERS_MOST) {
        out->layers_of[out->parts - 1]++;
        return true;
    }
    if (letter == '|' && out->parts < LAYOUT_PARTS_MOST) {
        out->layers_of[out->parts++] = 0;
        return true;
    }
    out->mtp += letter == 'm';
    out->embeddings += letter == 'E';
    out->heads += letter == 'L';
    return letter == 'm' || letter == 'E' || letter == 'L';
}

/* The count after a letter or a group: 1 without "*N"; -1 if the number is not valid. */
static int read_repeats(struct layout_reader *r)
{
    if (*r->at != '*')
        return 1;
    int n = 0;
    const char *digits = ++r->at;
    for (; *r->at >= '0' && *r->at <= '9' && n <= REPEATS_MOST; r->at++)
        n = 10 * n + (*r->at - '0');
    return r->at > digits && n > 0 && n <= REPEATS_MOST ? n : -1;
}

static bool read_sequence(struct layout_reader *r);

/* The group again for each time: its parts follow from where the layout stands. */
static bool read_group(struct layout_reader *r)
{
    const char *start = r->at;
    int times = 1;
    if (r->depth >= NESTING_MOST)
        return false;
    r->depth++;
    for (int i = 0; i < times; i++) {
        r->at = start;
        if (++r->steps > STEPS_MOST || !read_sequence(r) || *r->at != ')')
            return false;
        r->at++;
        times = read_repeats(r);
    }
    r->depth--;
    return times > 0;
}

static bool read_one(struct layout_reader *r)
{
    if (++r->steps > STEPS_MOST)
        return false;
    char letter = *r->at++;
    if (letter == '(')
        return read_group(r);
    int times = read_repeats(r);
    for (int i = 0; i < times; i++)
        if (!add_letter(r->out, letter))
            return false;
    return times > 0;
}

static bool read_sequence(struct layout_reader *r)
{
    while (*r->at && *r->at != ')')
        if (*r->at == ',' || *r->at == ' ')
            r->at++;
        else if (!read_one(r))
            return false;
    return true;
}

bool layout_read(const char *text, struct pipeline_layout *out)
{
    struct layout_reader r = {text, out, 0, 0};
    out->parts = 1;
    out->layers = out->mtp = out->embeddings = out->heads = 0;
    out->layers_of[0] = 0;
    return read_sequence(&r) && *r.at == '\0';
}

bool layout_is_whole(const char *text)
{
    struct pipeline_layout layout;
    size_t length = strlen(text);
    return layout_read(text, &layout) && layout.embeddings == 1 && layout.heads == 1 && text[0] == 'E' &&
           text[length - 1] == 'L';
}
