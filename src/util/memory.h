/* Allocation that ends the program with one message when it runs out of memory: the only place that does so.
 * What these return is the caller's, released with free(). */
#pragma once

#include <stddef.h>

/* Says so and ends the program at once, with the status of what failed: its jobs end with it, and the next run goes
 * on. For what a library could not get. */
void out_of_memory(void) __attribute__((noreturn));

void *xmalloc(size_t bytes);
void *xcalloc(size_t count, size_t bytes); /* zeroed */
void *xrealloc(void *block, size_t bytes);
void *xreallocarray(void *block, size_t count, size_t bytes); /* an overflow counts as too much */
char *xstrdup(const char *text);
char *xstrndup(const char *text, size_t length);
char *xasprintf(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Elements of an array, which is no pointer. */
#define LENGTH(array) (sizeof(array) / sizeof *(array))

/* The first of the indices below `count` for which the condition, which names it `i`, holds; `count`: there is none.
 * Whether there is one; what is `found` with it, or NULL. */
#define FIRST(i, count, condition)                                                                                     \
    ({                                                                                                                 \
        size_t i = 0;                                                                                                  \
        while (i < (count) && !(condition))                                                                            \
            i++;                                                                                                       \
        i;                                                                                                             \
    })
#define ANY(i, count, condition) (FIRST(i, count, condition) < (count))
#define FIND(i, count, condition, found)                                                                               \
    ({                                                                                                                 \
        size_t i = 0;                                                                                                  \
        while (i < (count) && !(condition))                                                                            \
            i++;                                                                                                       \
        i < (count) ? (found) : NULL;                                                                                  \
    })

/* The first again, by halving: the condition holds from there on. */
#define FIRST_SORTED(i, count, condition)                                                                              \
    ({                                                                                                                 \
        size_t from_ = 0, to_ = (count);                                                                               \
        while (from_ < to_) {                                                                                          \
            const size_t i = from_ + (to_ - from_) / 2;                                                                \
            if (condition)                                                                                             \
                to_ = i;                                                                                               \
            else                                                                                                       \
                from_ = i + 1;                                                                                         \
        }                                                                                                              \
        from_;                                                                                                         \
    })

/* Releases the text that was there; `with` takes its place. */
void text_replace(char **text, char *with);

/* Makes room for one more element in a growing array: `array` holds `count` elements and was grown only through
 * this. Capacities are powers of two, so none needs to be stored. Returns the array, moved if need be. */
void *array_grow(void *array, size_t count, size_t element_bytes);

/* Sorts it; it may be NULL when it has none. */
#define array_sort(array, count, order) ((count) > 0 ? qsort(array, count, sizeof *(array), order) : (void)0)

/* Defines such an order, by a number or a text of each element: `->id`, or `[0]` of what is one. */
#define BY_NUMBER(name, type, of)                                                                                      \
    static int name(const void *a, const void *b)                                                                      \
    {                                                                                                                  \
        const typeof(type) *x = a, *y = b;                                                                             \
        return (x of > y of) - (x of < y of);                                                                          \
    }
#define BY_TEXT(name, type, of)                                                                                        \
    static int name(const void *a, const void *b)                                                                      \
    {                                                                                                                  \
        const typeof(type) *x = a, *y = b;                                                                             \
        return strcmp(x of, y of);                                                                                     \
    }

/* Such an array with room for one more element, which `count` then counts: where to put it. */
#define array_add(array, count) ((array) = array_grow(array, count, sizeof *(array)), &(array)[(count)++])

/* Adds a number that is not there yet. */
#define array_add_once(array, count, number)                                                                           \
    do {                                                                                                               \
        if (!ANY(at_, count, (array)[at_] == (number)))                                                                \
            *array_add(array, count) = (number);                                                                       \
    } while (0)

/* Blocks that are released together: {0} has none. */
struct arena {
    void **blocks;
    size_t count;
};

/* The block, from now on the arena's; a copy of the text. */
void *arena_keep(struct arena *p, void *block);
char *arena_text(struct arena *p, const char *text);

/* array_grow and array_add of an array that is the arena's, with zeros in the room for more. */
void *arena_grow(struct arena *p, void *array, size_t count, size_t element_bytes);
#define arena_add(p, array, count) ((array) = arena_grow(p, array, count, sizeof *(array)), &(array)[(count)++])

/* What `from` has is `to`'s from now on. */
void arena_take(struct arena *to, struct arena *from);

void arena_free(struct arena *p);

/* free() of each; NULL is fine. */
#define free_all(...) blocks_free((void *[]){__VA_ARGS__}, sizeof((void *[]){__VA_ARGS__}) / sizeof(void *))
void blocks_free(void *const *blocks, size_t count);

/* Before the declaration of a pointer: it is released with free() where its scope ends. */
#define OWNED __attribute__((cleanup(block_release)))
void block_release(void *at); /* a pointer */

/* Before a local struct: what releases it where its scope ends: `OWNED_BY(best_free) struct best best = {0};` */
#define OWNED_BY(release) __attribute__((cleanup(release)))

/* Releases a NULL-terminated array of texts, and the texts. NULL is fine. */
void strings_free(char **strings);
/* A local one, which is released where its scope ends: `OWNED_STRINGS words = …;` */
#define OWNED_STRINGS __attribute__((cleanup(strings_release))) char **
void strings_release(char ***at);

/* A JSON value, likewise: `OWNED_JSON *document = NULL;` */
#define OWNED_JSON __attribute__((cleanup(json_release))) struct cJSON
struct cJSON;
void json_release(struct cJSON **at);
