#include "util/shell_words.h"

#include <ctype.h>
#include <stdbool.h>
#include <string.h>

static bool is_plain(const char *word)
{
    return *word && word[strspn(word, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_@%+=:,./-")] == 0;
}

static void add_quoted(struct buffer *out, const char *word)
{
    buffer_add_char(out, '\'');
    for (; *word; word++) {
        if (*word == '\'')
            buffer_add_text(out, "'\\''");
        else
            buffer_add_char(out, *word);
    }
    buffer_add_char(out, '\'');
}

void shell_add_word(struct buffer *out, const char *word)
{
    if (is_plain(word))
        buffer_add_text(out, word);
    else
        add_quoted(out, word);
}

char *shell_fill_file(const char *text, const char *path)
{
    static const char word[] = "FILE";
    struct buffer b = BUFFER_INIT;
    for (const char *at; (at = strstr(text, word)); text = at + strlen(word)) {
        buffer_add(&b, text, (size_t)(at - text));
        shell_add_word(&b, path);
    }
    buffer_add_text(&b, text);
    return buffer_take(&b);
}

/* Bytes of the name that a shell can assign to, 0 when "NAME=" is none. */
static size_t name_length(const char *setting)
{
    size_t n = 0;
    while (isalpha((unsigned char)setting[n]) || setting[n] == '_' || (n && isdigit((unsigned char)setting[n])))
        n++;
    return setting[n] == '=' ? n : 0;
}

void shell_add_command(struct buffer *out, char *const *environment, char *const *command)
{
    bool through_env = false;
    for (char *const *s = environment; *s; s++)
        through_env = through_env || !name_length(*s);
    if (through_env)
        buffer_add_text(out, "env ");
    for (char *const *s = environment; *s; s++) {
        size_t name = through_env ? 0 : name_length(*s) + 1;
        buffer_add(out, *s, name);
        shell_add_word(out, *s + name);
        buffer_add_char(out, ' ');
    }
    for (char *const *word = command; *word; word++) {
        if (word != command)
            buffer_add_char(out, ' ');
        /* A first word NAME=value would be a setting. */
        if (word == command && name_length(*word))
            add_quoted(out, *word);
        else
            shell_add_word(out, *word);
    }
}

/* Appends what stands between quotes, or from `c` to the end of the word; the place behind it, NULL where the line ends
 * within quotes. Within double quotes a backslash is one unless a shell would take it. */
static const char *add_part(const char *c, struct buffer *word)
{
    char quote = *c == '\'' || *c == '"' ? *c++ : '\0';
    for (; quote ? *c != quote : *c && !strchr(" \t\n'\"", *c); c++) {
        if (*c == '\0')
            return NULL;
        if (*c == '\\' && quote != '\'' && c[1] && (!quote || strchr("$`\"\\", c[1])))
            c++;
        buffer_add_char(word, *c);
    }
    return quote ? c + 1 : c;
}

int shell_split(const char *line, struct string_list *out, struct error *e)
{
    for (const char *c = line + strspn(line, " \t\n"); *c; c += strspn(c, " \t\n")) {
        struct buffer word = BUFFER_INIT;
        while (c && *c && !strchr(" \t\n", *c))
            c = add_part(c, &word);
        if (!c) {
            buffer_free(&word);
            return error_set(e, ERROR_USAGE, "%s: a quote is not closed", line);
        }
        string_list_add(out, buffer_take(&word));
    }
    return 0;
}
