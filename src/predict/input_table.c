#include "predict/input_table.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>

#include "predict/architecture.h"
#include "predict/plan.h"

/* The first that is out of range, at that offset or behind it; NULL: none is. */
static const struct input_place *next_wrong(enum input_target target, const char *base, size_t offset, int64_t *value)
{
    const struct input_place *found = NULL;
    for (size_t i = 0; i < INPUT_COUNT; i++) {
        const struct input_place *p = &inputs[i].place;
        int64_t whole;
        if (p->target != target || p->most == 0 || p->offset < offset || (found && p->offset > found->offset))
            continue;
        memcpy(&whole, base + p->offset, sizeof whole);
        if ((double)whole < p->least || (double)whole > p->most) {
            found = p;
            *value = whole;
        }
    }
    return found;
}

int inputs_check(enum input_target target, const void *base, struct error *e)
{
    int rc = 0;
    int64_t value;
    for (const struct input_place *p = NULL; (p = next_wrong(target, base, p ? p->offset + 1 : 0, &value));)
        rc = error_add_line(e, ERROR_USAGE, "%s = %.17g is not between %.17g and %.17g", p->name, (double)value,
                            p->least, p->most);
    return rc;
}

size_t input_find(const char *name)
{
    size_t i = 0;
    while (i < INPUT_COUNT && strcmp(inputs[i].name, name) != 0)
        i++;
    return i;
}

bool input_takes_names(size_t input)
{
    return input == AT_RECOMPUTE_MODULES || input == AT_LORA_TARGETS || input == AT_MODULES_TO_SAVE;
}

size_t input_words(size_t input, const char **out, size_t most)
{
    size_t count = 0;
    for (const struct input_word *w = inputs[input].place.words; w && w->text && count < most; w++)
        out[count++] = w->text;
    return count;
}

int input_word_value(const struct input_word *words, const char *text)
{
    for (; words->text; words++)
        if (strcasecmp(words->text, text) == 0)
            return words->value;
    return -1;
}

/* Up to where a class goes on with what it is for. */
static size_t class_length(const char *text)
{
    static const char *const ends[] = {"For", "LMHead", "Model"};
    size_t length = strlen(text);
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
        const char *end = strstr(text, ends[i]);
        if (end && end > text && (size_t)(end - text) < length)
            length = (size_t)(end - text);
    }
    return length;
}

/* "Qwen2Moe" is "qwen2_moe". */
static bool is_type(const char *word, const char *text, size_t length)
{
    const char *end = text + length;
    for (; *word && text < end; word++) {
        if (*word == '_' && *text != '_')
            continue;
        if (tolower((unsigned char)*word) != tolower((unsigned char)*text++))
            return false;
    }
    return !*word && text == end;
}

int input_family(const char *text)
{
    size_t length = class_length(text);
    if (length == 4 && strncmp(text, "Auto", 4) == 0)
        return ARCHITECTURE_NONE;
    for (const struct input_word *w = inputs[AT_FAMILY].place.words; w->text; w++)
        if (is_type(w->text, text, length))
            return w->value;
    return -1;
}

static void keep_name(char name[INPUT_NAME_MOST], const char *text, size_t length)
{
    size_t kept = length < INPUT_NAME_MOST ? length : INPUT_NAME_MOST - 1;
    memcpy(name, text, kept);
    name[kept] = '\0';
}

/* Returns where the last group of a regular expression begins behind which nothing but a suffix comes, and before which
 * others say where modules are but do not choose among layers; NULL where it is none such. */
static const char *last_group(const char *text)
{
    const char *group = NULL;
    for (; *text; text++) {
        bool is_inside = group && !memchr(group, ')', (size_t)(text - group));
        if ((*text == '(' && (is_inside || isdigit((unsigned char)text[1]))) || (*text == '|' && !is_inside))
            return NULL;
        if (*text == '(')
            group = text;
    }
    const char *end = group ? strchr(group, ')') : NULL;
    return end && end[1 + strspn(end + 1, "abcdefghijklmnopqrstuvwxyz_")] == '\0' ? group : NULL;
}

/* The next of "q|k)_proj". */
static bool next_alternative(const char **text, char name[INPUT_NAME_MOST])
{
    const char *end = strchr(*text, ')');
    size_t length = strcspn(*text, "|)"), suffix = strlen(end + 1);
    char all[2 * INPUT_NAME_MOST];
    if (length + suffix >= sizeof all)
        length = suffix = 0;
    memcpy(all, *text, length);
    memcpy(all + length, end + 1, suffix);
    keep_name(name, all, length + suffix);
    *text = (*text)[length] == '|' ? *text + length + 1 : end + 1 + suffix;
    return true;
}

/* "self_attn.q_proj" is q_proj. Other paths count, because experts have modules of the same names. */
static void drop_place(char name[INPUT_NAME_MOST])
{
    static const char *const places[] = {"self_attn.", "attn.", "attention.", "mlp."};
    for (size_t i = 0; i < sizeof places / sizeof *places; i++)
        if (strncmp(name, places[i], strlen(places[i])) == 0) {
            memmove(name, name + strlen(places[i]), strlen(name + strlen(places[i])) + 1);
            return;
        }
}

bool input_next_name(const char **text, char name[INPUT_NAME_MOST])
{
    static const char between[] = " ,+/[]\"'";
    const char *group = last_group(*text);
    if (group)
        *text = group + 1;
    if (!strchr(*text, '(') && strchr(*text, ')'))
        return next_alternative(text, name);
    *text += strspn(*text, between);
    size_t length = strcspn(*text, between);
    keep_name(name, *text, length);
    drop_place(name);
    *text += length;
    return length > 0;
}

bool input_is_of_model(size_t input)
{
    return input == AT_FAMILY || inputs[input].place.target == TO_ARCHITECTURE;
}

bool input_means_adapters(const char *text)
{
    return input_word_value(inputs[AT_PEFT].place.words, text) > (int)TUNING_FULL;
}
