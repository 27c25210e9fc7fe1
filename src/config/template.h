/* Text with placeholders: "{name}" or "{section.name}". "{name?}" is its value or nothing, and "{name?TEXT}" is TEXT,
 * in which "{}" stands for the value and other braces come in pairs, or nothing. "{{" is a literal brace, "${…}" is the
 * shell's and left alone, any other brace stands for itself: "{1..8}", "{}" and "{ print }" are plain text. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "util/buffer.h"
#include "util/memory.h"
#include "util/shell.h"

enum template_option {
    PART_ALWAYS = 0,
    PART_OPTIONAL, /* "{name?}" */
    PART_OPENS,    /* "{name?": the name; what is within follows, then what closes it */
    PART_WITHIN,   /* literal text, or "{}" with the name of what opens it */
    PART_CLOSES,   /* "}" */
};

struct template_part {
    char *text; /* literal text, or a placeholder's name without braces */
    int is_placeholder;
    int is_raw; /* "{name!r}" of a line for the shell */
    enum template_option option;
    int slot;               /* of a placeholder: what it stands for, to those who resolve it */
    struct shell_spot spot; /* of a placeholder in a line for the shell: where its value stands */
};

struct template
{
    struct template_part *parts;
    size_t count;
    bool is_line;     /* for the shell */
    bool has_options; /* some part is optional */
};

/* Never fails: every text is a template. What it has is the arena's. `is_line`: of a line for the shell, where
 * "{name!r}" is a placeholder whose value is not quoted. */
struct template template_parse(struct arena *p, const char *text, bool is_line);

/* Appends a part as it is written. */
void template_add_part(const struct template_part *part, struct buffer *out);

/* Bytes of the name that begins `text`: words of letters, digits, "_" and "-" that begin with a letter or "_", joined
 * by dots ("layers", "model.layers", "zero_optimization.stage"); 0 when there is none. Keys of a sweep file have the
 * same form. */
size_t template_name_length(const char *text);
bool template_is_name(const char *text); /* all of it */

/* The first "{section.}" or "{.key}" in `text`: written as a placeholder, but half of its name is missing. The
 * caller's; NULL when there is none. */
char *template_misspelt(const char *text);
