#include "toml/known.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "toml/parse.h"
#include "util/embedded.h"
#include "util/memory.h"

static struct toml_node *words;

static void read_words(void)
{
    const char *text = embedded_text("knowledge/words.toml");
    struct toml_fault fault;
    if (toml_parse(text, strlen(text), &words, &fault) < 0)
        abort();
}

const struct toml_node *known(const char *table, const char *key)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, read_words);
    const struct toml_node *t = toml_child(words, table);
    return t ? toml_child(t, key) : NULL;
}

bool known_has(const struct toml_node *list, const char *text)
{
    return ANY(i, list->child_count, strcmp(list->children[i].text, text) == 0);
}

bool known_within(const struct toml_node *list, const char *text)
{
    return ANY(i, list->child_count, strstr(text, list->children[i].text));
}

const char *known_text(const struct toml_node *row, const char *key)
{
    const struct toml_node *found = row ? toml_child(row, key) : NULL;
    return found ? found->text : NULL;
}

bool known_says(const struct toml_node *row, const char *key, const char *text)
{
    const char *said = known_text(row, key);
    return said && strcmp(said, text) == 0;
}
