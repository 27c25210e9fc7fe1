#include "config/problems.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "util/memory.h"
#include "util/utf8.h"

#define LONGEST_TEXT 400
#define CUT_MARK "…"
/* Names are compared one by one; a file with more wrong entries than these has enough of them listed. */
#define MOST_EXCUSED 1000

/* One line for a terminal: keys and values come from the file and may hold anything. */
static void tidy(char *text)
{
    size_t length = strlen(text);
    if (length > LONGEST_TEXT) {
        length = utf8_cut(text, length, LONGEST_TEXT - strlen(CUT_MARK));
        memcpy(text + length, CUT_MARK, sizeof CUT_MARK);
    }
    for (char *p = text; *p; p++)
        if ((unsigned char)*p < 0x20 || *p == 0x7F)
            *p = '?';
}

void problems_add(struct problems *p, struct position at, const char *format, ...)
{
    size_t order = p->found++;
    if (p->kept == PROBLEMS_KEPT)
        return;
    char *text = NULL;
    va_list arguments;
    va_start(arguments, format);
    int n = vasprintf(&text, format, arguments);
    va_end(arguments);
    if (n < 0)
        text = xstrdup(format);
    tidy(text);
    p->items = array_grow(p->items, p->kept, sizeof *p->items);
    at.file = at.file ? xstrdup(at.file) : NULL;
    p->items[p->kept++] = (struct problem){.at = at, .order = order, .text = text};
}

void problems_excuse(struct problems *p, const char *name)
{
    if (p->excused.count == MOST_EXCUSED)
        p->all_excused = true;
    if (problems_excused(p, name))
        return;
    string_list_add(&p->excused, xstrdup(name));
}

void problems_excuse_all(struct problems *p)
{
    p->all_excused = true;
}

bool problems_excused(const struct problems *p, const char *name)
{
    return p->all_excused || strings_have(p->excused.items, name);
}

static size_t rank_of(const char *file, char *const *files)
{
    size_t rank = 0;
    while (file && files && files[rank] && strcmp(files[rank], file) != 0)
        rank++;
    return rank;
}

static int compare_problems(const void *a, const void *b, void *files)
{
    const struct problem *x = a, *y = b;
    size_t x_rank = rank_of(x->at.file, files), y_rank = rank_of(y->at.file, files);
    if (x_rank != y_rank)
        return x_rank < y_rank ? -1 : 1;
    int by_name = x->at.file && y->at.file ? strcmp(x->at.file, y->at.file) : 0;
    if (by_name != 0)
        return by_name;
    if (x->at.line != y->at.line)
        return x->at.line < y->at.line ? -1 : 1;
    if (x->at.column != y->at.column)
        return x->at.column < y->at.column ? -1 : 1;
    return x->order < y->order ? -1 : 1;
}

static void add_line(const struct problem *problem, struct error *e)
{
    const struct position *at = &problem->at;
    if (!at->file)
        error_add_line(e, ERROR_USAGE, "%s", problem->text);
    else if (at->line == 0)
        error_add_line(e, ERROR_USAGE, "%s: %s", at->file, problem->text);
    else
        error_add_line(e, ERROR_USAGE, "%s:%d:%d: %s", at->file, at->line, at->column, problem->text);
}

int problems_report(struct problems *p, char *const *files, struct error *e)
{
    if (p->found == 0)
        return 0;
    qsort_r(p->items, p->kept, sizeof *p->items, compare_problems, (void *)files);
    error_set(e, ERROR_USAGE, "%s", "");
    size_t shown = p->kept < PROBLEMS_SHOWN ? p->kept : PROBLEMS_SHOWN;
    for (size_t i = 0; i < shown; i++)
        add_line(&p->items[i], e);
    if (p->found > shown)
        error_add_line(e, ERROR_USAGE, "… and %zu more", p->found - shown);
    return -1;
}

void problems_free(struct problems *p)
{
    for (size_t i = 0; i < p->kept; i++) {
        free_all((char *)p->items[i].at.file, p->items[i].text);
    }
    string_list_free(&p->excused);
    free(p->items);
    *p = PROBLEMS_INIT;
}
