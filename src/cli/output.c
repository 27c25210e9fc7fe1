#include "cli/output.h"

#include <errno.h>
#include <fcntl.h>
#include <langinfo.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <cjson/cJSON.h>

#include "cli/command.h"
#include "process/external_command.h"
#include "process/process.h"
#include "report/progress.h"
#include "report/text.h"
#include "results/json.h"
#include "util/memory.h"
#include "util/parse.h"

extern char **environ;

/* A closed pipe (`meshsweep results | head`) or a pager that was left early is not an error: exit silently. */
static int write_failed(struct error *e)
{
    if (errno == EPIPE) {
        pager_end();
        _Exit(STATUS_SIGNAL + SIGPIPE);
    }
    return error_errno(e, errno, "standard output");
}

static enum colour_choice colour_wanted;

void output_set_colour(enum colour_choice choice)
{
    colour_wanted = choice;
}

static bool messages_are_events;

void output_set_events(void)
{
    messages_are_events = true;
}

/* The pager between the program and its terminal. */
static struct {
    bool wanted;
    bool errors_too; /* standard error goes to the pager too */
    int terminal;    /* descriptor of the terminal; 0: no pager started */
} paging;

void output_set_paging(bool yes)
{
    paging.wanted = yes;
}

/* NULL: no pager. Borrowed. */
static const char *pager_command(void)
{
    static const char *const variables[] = {"MESHSWEEP_PAGER", "PAGER"};
    const char *command = NULL;
    for (size_t i = 0; !command && i < LENGTH(variables); i++)
        command = getenv(variables[i]);
    if (command)
        return command[0] && strcmp(command, "cat") != 0 ? command : NULL;
    int error_number;
    OWNED char *less = process_find_program("less", environ, ".", &error_number);
    return less ? "less" : NULL;
}

/* To be called before the first byte is written. Without a pager, output goes straight to the terminal. */
static void start_paging(void)
{
    struct error ignored = ERROR_INIT;
    if (!paging.wanted)
        return;
    paging.wanted = false;
    const char *command = output_has_cursor(stdout) ? pager_command() : NULL;
    int terminal = command ? fcntl(fileno(stdout), F_DUPFD_CLOEXEC, 3) : -1;
    bool errors_too = output_is_terminal(stderr);
    if (terminal < 0)
        return;
    if (pager_start(command, errors_too, &ignored) < 0) {
        close(terminal);
        return;
    }
    paging.terminal = terminal;
    paging.errors_too = errors_too;
}

void output_end_paging(void)
{
    pager_end();
}

/* The descriptor that the stream finally goes to. */
static int descriptor_of(FILE *stream)
{
    bool paged = paging.terminal && (stream == stdout || (stream == stderr && paging.errors_too));
    return paged ? paging.terminal : fileno(stream);
}

static struct text_terminal terminal_behind(FILE *stream)
{
    return (struct text_terminal){output_is_terminal(stream) && !output_has_utf8(), output_has_colour(stream)};
}

static int write_bytes(const void *bytes, size_t length, struct error *e)
{
    start_paging();
    if (length && fwrite(bytes, 1, length, stdout) != length)
        return write_failed(e);
    return 0;
}

static int write_shown(const char *text, size_t length, struct error *e)
{
    OWNED_BUFFER shown = BUFFER_INIT;
    text_add_terminal(&shown, text, length, terminal_behind(stdout));
    return write_bytes(shown.data, shown.length, e);
}

int output_people(const struct buffer *text, struct error *e)
{
    return write_shown(buffer_text(text), text->length, e);
}

int output_write(const void *bytes, size_t length, struct error *e)
{
    return output_is_terminal(stdout) ? write_shown(bytes, length, e) : write_bytes(bytes, length, e);
}

int output_text(const char *text, struct error *e)
{
    return output_write(text, strlen(text), e);
}

static int sink_write(void *context, const void *bytes, size_t length, struct error *e)
{
    (void)context;
    return output_write(bytes, length, e);
}

const struct report_sink output_sink = {sink_write, NULL};

int output_json(struct cJSON *value, struct error *e)
{
    char *text = json_print(value, true);
    OWNED_BUFFER valid = BUFFER_INIT;
    text_add_valid(&valid, text, strlen(text));
    buffer_add_char(&valid, '\n');
    cJSON_free(text);
    return output_write(valid.data, valid.length, e);
}

int output_flush_all(struct error *e)
{
    if (fflush(stdout) != 0)
        return write_failed(e);
    return 0;
}

void output_clear_screen(void)
{
    fputs(output_has_cursor(stdout) ? "\x1b[H\x1b[2J" : "\n", stdout);
}

void output_to_stderr(const char *before, const struct buffer *text, const char *after)
{
    OWNED_BUFFER shown = BUFFER_INIT;
    text_add_terminal(&shown, buffer_text(text), text->length, terminal_behind(stderr));
    if (paging.terminal)
        fflush(stdout); /* keep the order, since both go to one pager */
    fprintf(stderr, "%s%s%s", before, buffer_text(&shown), after);
}

void output_clear_line(bool *on_line)
{
    if (*on_line)
        output_to_stderr("\r\x1b[K", &BUFFER_INIT, "");
    *on_line = false;
}

void output_message(const char *format, ...)
{
    OWNED_BUFFER line = BUFFER_INIT, text = BUFFER_INIT;
    va_list arguments;
    va_start(arguments, format);
    buffer_vprintf(&text, format, arguments);
    va_end(arguments);
    if (messages_are_events)
        progress_event_add_text(EVENT_NOTICE, buffer_text(&text), &line);
    else
        buffer_printf(&line, "meshsweep: %s", buffer_text(&text));
    output_to_stderr("", &line, "\n");
}

void output_error(const char *command, const struct error *e, const char *hint)
{
    const char *line = e->text;
    OWNED_BUFFER text = BUFFER_INIT;
    if (messages_are_events) {
        progress_event_add_text(EVENT_ERROR, line, &text);
        output_to_stderr("", &text, "\n");
        return;
    }
    do {
        size_t length = strcspn(line, "\n");
        const char *next = line[length] ? line + length + 1 : NULL;
        buffer_printf(&text, "meshsweep%s%s: %.*s%s\n", command ? " " : "", command ? command : "", (int)length, line,
                      hint && !next ? hint : "");
        line = next;
    } while (line);
    output_to_stderr("", &text, "");
}

int output_status(const struct error *e)
{
    static const int statuses[] = {
        [ERROR_NONE] = STATUS_FAILED,
        [ERROR_FAILED] = STATUS_FAILED,
        [ERROR_USAGE] = STATUS_USAGE,
        [ERROR_NOTHING] = STATUS_NOTHING,
    };
    return statuses[e->kind];
}

bool output_is_terminal(FILE *stream)
{
    return isatty(descriptor_of(stream));
}

bool output_question(const char *question, struct buffer *answer)
{
    OWNED char *line = NULL;
    size_t size = 0;
    if (!output_is_terminal(stdin) || !output_is_terminal(stderr))
        return false;
    fprintf(stderr, "meshsweep: %s ", question);
    fflush(stderr);
    bool any = getline(&line, &size, stdin) > 0;
    buffer_clear(answer);
    buffer_add(answer, any ? line : "", any ? strcspn(line, "\n") : 0);
    return any;
}

bool output_ask(const char *question)
{
    OWNED_BUFFER answer = BUFFER_INIT;
    OWNED char *text = xasprintf("%s [y/N]", question);
    return output_question(text, &answer) && answer.length && (answer.data[0] == 'y' || answer.data[0] == 'Y');
}

bool output_has_cursor(FILE *stream)
{
    const char *terminal = getenv("TERM");
    return output_is_terminal(stream) && terminal && terminal[0] && strcmp(terminal, "dumb") != 0;
}

bool output_has_colour(FILE *stream)
{
    const char *no_colour = getenv("NO_COLOR");
    if (colour_wanted != COLOUR_AUTO)
        return colour_wanted == COLOUR_ALWAYS;
    if (no_colour && no_colour[0])
        return false;
    return output_has_cursor(stream);
}

bool output_has_utf8(void)
{
    return strcmp(nl_langinfo(CODESET), "UTF-8") == 0;
}

size_t output_width(FILE *stream)
{
    struct winsize size;
    int64_t columns;
    const char *wanted = getenv("COLUMNS");
    if (wanted && parse_int64(wanted, &columns) && columns > 0 && columns < 10000)
        return (size_t)columns;
    if (!output_is_terminal(stream))
        return 0;
    return ioctl(descriptor_of(stream), TIOCGWINSZ, &size) == 0 && size.ws_col ? size.ws_col : 80;
}
