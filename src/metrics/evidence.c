#include "metrics/evidence.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "metrics/log_files.h"
#include "metrics/traceback.h"
#include "process/job_file.h"
#include "util/line_reader.h"

enum {
    SEARCHED_BYTES = 16 << 20, /* of the output: the first and the last half of that */
    SEARCHED_BESIDE = 1 << 20, /* of each log beside it */
    /* A job that wrote so many other lines after an exception had caught it. Those of the ranks that are left say
     * little before they notice. */
    LINES_SURVIVED = 25
};

/* How surely a line says why: the surer one counts, and of equal ones the first. */
enum weight {
    WEIGHT_NONE,
    WEIGHT_WORD,      /* a line known to say why a process ended */
    WEIGHT_EXCEPTION, /* may have been caught */
    WEIGHT_FATAL,     /* was not */
};

struct cause_search {
    const struct known_lines *known;
    struct evidence *found;
    enum weight weight; /* of the cause found so far */
    size_t process;     /* whose it is */
    int lines_since;    /* the last exception */
    bool lists;         /* the cause ends with a colon: what follows it may be a list */
    bool beside;        /* the output itself has been read, */
    bool output_spoke;  /* and has a last line */
};

static void copy_line(char out[EVIDENCE_BYTES + 1], const struct output_line *said)
{
    snprintf(out, EVIDENCE_BYTES + 1, "%s%s", said->mark, said->text);
}

static void keep_first(char out[EVIDENCE_BYTES + 1], const struct output_line *said)
{
    if (!out[0])
        copy_line(out, said);
}

static bool has_letter(const char *line)
{
    for (; *line; line++)
        if (isalpha((unsigned char)*line) || (*line & 0x80))
            return true;
    return false;
}

static bool means(const struct known_lines *known, enum line_meaning meaning, const char *text)
{
    for (size_t i = 0; i < known->count; i++)
        if (known->items[i].meaning == meaning && line_pattern_match(&known->items[i].pattern, text, 0, NULL))
            return true;
    return false;
}

/* 0: nothing that is known. An exception is a reason in itself; launchers know of some processes what ended them. */
static enum line_meaning meaning_of(const struct known_lines *known, const struct output_line *said)
{
    if (said->kind == LINE_USAGE)
        return MEANING_REASON;
    if (means(known, MEANING_HOST, said->text))
        return MEANING_REASON;
    if (means(known, MEANING_CONSEQUENCE, said->text))
        return MEANING_CONSEQUENCE;
    if (said->kind == LINE_OTHER && means(known, MEANING_REASON, said->text))
        return MEANING_REASON;
    if (means(known, MEANING_END, said->text))
        return MEANING_END;
    if (means(known, MEANING_LAUNCHER, said->text))
        return MEANING_LAUNCHER;
    return said->kind == LINE_EXCEPTION ? MEANING_REASON : 0;
}

/* Device memory is what a sweep asks about: it outranks what a runtime says besides while it goes down. */
static bool outranks(enum failure a, enum failure b)
{
    return b == FAILURE_NONE || (a == FAILURE_OOM && b != FAILURE_OOM);
}

static void look_for_failures(struct cause_search *s, const char *line)
{
    for (size_t i = 0; i < s->known->count; i++) {
        const struct known_line *known = &s->known->items[i];
        if (known->meaning != MEANING_FAILURE || !outranks(known->failure, s->found->failure) ||
            !line_pattern_match(&known->pattern, line, 0, NULL))
            continue;
        s->found->failure = known->failure;
        snprintf(s->found->line, sizeof s->found->line, "%s", line);
    }
}

static void take_cause(struct cause_search *s, const struct output_line *said, enum weight weight)
{
    bool first = weight > s->weight;
    bool instead = weight == s->weight && ((said->continues && said->process == s->process) ||
                                           (weight < WEIGHT_FATAL && s->lines_since > LINES_SURVIVED));
    if (!first && !instead)
        return;
    copy_line(s->found->cause, said);
    s->weight = weight;
    s->process = said->process;
    s->lists = said->text[0] && said->text[strlen(said->text) - 1] == ':';
}

/* "… mismatch:", then "- this" and "- that": without them the cause says nothing. */
static bool take_item(struct cause_search *s, const struct output_line *said)
{
    char *cause = s->found->cause;
    size_t length = strlen(cause);
    const char *item = said->text + strspn(said->text, " ");
    if (!s->lists || said->process != s->process || strncmp(item, "- ", 2) != 0) {
        s->lists = s->lists && said->process != s->process;
        return false;
    }
    snprintf(cause + length, EVIDENCE_BYTES + 1 - length, " %s", item);
    return true;
}

static enum weight weight_of(const struct output_line *said)
{
    if (said->kind == LINE_OTHER)
        return WEIGHT_WORD;
    return said->ended_it ? WEIGHT_FATAL : WEIGHT_EXCEPTION;
}

static void take_line(struct cause_search *s, const struct output_line *said)
{
    if (take_item(s, said))
        return;
    const enum line_meaning meaning = meaning_of(s->known, said);
    if (meaning == MEANING_REASON)
        take_cause(s, said, weight_of(said));
    else if (meaning == MEANING_CONSEQUENCE)
        keep_first(s->found->consequence, said);
    else if (meaning == MEANING_END)
        keep_first(s->found->end, said);
    else if (meaning == MEANING_LAUNCHER)
        keep_first(s->found->launcher, said);
    else if (has_letter(said->text) && !(s->beside && s->output_spoke))
        copy_line(s->found->last, said);
    s->lines_since = meaning ? 0 : s->lines_since + 1;
}

static void search_file(const char *path, void *context)
{
    struct cause_search *s = context;
    struct line_reader *lines = line_reader_of(job_file_open(path), s->beside ? SEARCHED_BESIDE : SEARCHED_BYTES);
    struct traceback_reader *reader = traceback_reader_create();
    const char *line;
    /* Other files are of other processes. */
    s->process = (size_t)-1;
    s->lines_since = 0;
    while (lines && (line = line_reader_next(lines))) {
        const struct output_line said = traceback_reader_take(reader, line);
        /* The source that a traceback shows may name what it looks for. */
        if (said.kind != LINE_FRAME)
            look_for_failures(s, line);
        if (said.kind != LINE_FRAME && said.kind != LINE_IGNORED)
            take_line(s, &said);
    }
    traceback_reader_free(reader);
    line_reader_close(lines);
}

struct evidence evidence_gather(const struct known_lines *known, const struct attempt_output *output)
{
    struct evidence found = {.failure = FAILURE_NONE};
    struct cause_search s = {.known = known, .found = &found};
    search_file(output->log, &s);
    s.beside = true;
    s.output_spoke = found.last[0] != '\0';
    log_files_each(output->directory, output->log, search_file, &s);
    found.of_host = means(known, MEANING_HOST, found.cause);
    return found;
}
