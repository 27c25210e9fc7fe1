#include "trainer/corpus.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "trainer/random.h"

enum { GENERATED_BYTES = 256 * 1024, WORDS = 256, FOLLOWERS = 4, SYLLABLES_MAX = 3, WORD_BYTES = 16 };

struct language {
    char word[WORDS][WORD_BYTES];
    unsigned char follower[WORDS][FOLLOWERS];
};

static void invent_word(char *word, uint64_t *random)
{
    static const char consonants[] = "bdfgklmnprstvz", vowels[] = "aeiou";
    uint64_t syllables = 1 + random_below(random, SYLLABLES_MAX);

    for (uint64_t i = 0; i < syllables; i++) {
        *word++ = consonants[random_below(random, sizeof consonants - 1)];
        *word++ = vowels[random_below(random, sizeof vowels - 1)];
    }
    *word = '\0';
}

static void invent_language(struct language *language, uint64_t *random)
{
    for (int i = 0; i < WORDS; i++) {
        invent_word(language->word[i], random);
        for (int j = 0; j < FOLLOWERS; j++)
            language->follower[i][j] = (unsigned char)random_below(random, WORDS);
    }
}

int corpus_generate(struct corpus *corpus, uint64_t seed, struct error *e)
{
    struct language language;
    uint64_t random = seed;
    int word = 0;
    unsigned char *bytes = malloc(GENERATED_BYTES + WORD_BYTES);

    if (!bytes)
        return error_set(e, STATUS_FAILED, "no host memory for %d bytes of text", GENERATED_BYTES);
    invent_language(&language, &random);
    for (size_t at = 0; at < GENERATED_BYTES;) {
        size_t length = strlen(language.word[word]);
        memcpy(bytes + at, language.word[word], length);
        bytes[at + length] = ' ';
        at += length + 1;
        word = language.follower[word][random_below(&random, FOLLOWERS)];
    }
    *corpus = (struct corpus){bytes, GENERATED_BYTES};
    return 0;
}

static int read_all(struct corpus *corpus, FILE *file, struct error *e)
{
    size_t room = 65536, length = 0, got;
    unsigned char *bytes = malloc(room);

    while (bytes && (got = fread(bytes + length, 1, room - length, file)) > 0) {
        length += got;
        if (length < room)
            continue;
        room *= 2;
        unsigned char *larger = realloc(bytes, room);
        if (!larger)
            free(bytes);
        bytes = larger;
    }
    if (!bytes)
        return error_set(e, STATUS_FAILED, "no host memory for the text");
    *corpus = (struct corpus){bytes, length};
    return 0;
}

int corpus_read(struct corpus *corpus, const char *path, size_t least, struct error *e)
{
    FILE *file = fopen(path, "rbe");
    int result = -1;

    *corpus = (struct corpus){0};
    if (!file)
        return error_set(e, STATUS_USAGE, "--data %s: %s", path, strerror(errno));
    if (read_all(corpus, file, e) < 0)
        goto out;
    if (ferror(file))
        error_set(e, STATUS_FAILED, "--data %s: it cannot be read: %s", path, strerror(errno));
    else if (corpus->length < least)
        error_set(e, STATUS_USAGE, "--data %s: it has %zu bytes and a sample needs %zu", path, corpus->length, least);
    else
        result = 0;
out:
    fclose(file);
    if (result < 0)
        corpus_free(corpus);
    return result;
}

void corpus_free(struct corpus *corpus)
{
    free(corpus->bytes);
    *corpus = (struct corpus){0};
}

const unsigned char *corpus_sample(const struct corpus *corpus, uint64_t seed, uint64_t number, size_t seq)
{
    uint64_t random = seed ^ (number * 0xd1b54a32d192ed03u);

    assert(corpus->length > seq);
    return corpus->bytes + random_below(&random, corpus->length - seq);
}
