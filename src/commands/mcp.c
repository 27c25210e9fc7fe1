#include <errno.h>
#include <limits.h>
#include <math.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cjson/cJSON.h>

#include "cli/output.h"
#include "commands/commands.h"
#include "process/external_command.h"
#include "process/interrupts.h"
#include "report/saying.h"
#include "report/text.h"
#include "results/json.h"
#include "util/clock.h"
#include "util/memory.h"
#include "util/parse.h"
#include "util/string_list.h"
#include "util/suggest.h"
#include "util/utf8.h"

extern char **environ;

/* The Model Context Protocol (modelcontextprotocol.io): JSON-RPC 2.0, a message a line. A tool is a command of this
 * program, started with --json; while it runs, messages are read on. */

#define MESSAGE_BYTES (1u << 20)
#define BLOCK_BYTES 8192
#define ROUNDS_MOST 64 /* of reading and writing at once: a flood must not keep a command's time from passing */
#define UNREAD_BYTES (256u << 10) /* of answers: until the client takes them, nothing more is read from it */
#define WAITING_MOST 16           /* calls */
#define LAST_MS 5000              /* for what was asked before the client closed its end */
#define GRACE_MS 15000            /* of a command that is to end: `run` ends its jobs meanwhile */
#define NOTES_BYTES 4096
#define BLANKS 4 /* times as long as without them JSON is at most, indented */

/* --- the tools --- */

/* A member of one: what a client is told of it, "tool", and how it is called (sql/texts/tools.sql). */
static const cJSON *member(const cJSON *object, const char *name)
{
    return cJSON_GetObjectItemCaseSensitive(object, name);
}

static const char *name_of(const cJSON *tool)
{
    return json_text_of(member(tool, "tool"), "name");
}

static bool has_right(const cJSON *tool, const char *right)
{
    return strcmp(json_text_of(tool, "rights"), right) == 0;
}

/* --- the server --- */

struct mcp_server {
    const struct mcp_options *options;
    cJSON *tools;
    bool initialized;
    struct buffer line, out;
    size_t sent;                  /* bytes of `out` */
    bool overlong;                /* the line is, and is left out up to its end */
    bool closing, ended;          /* the client closed its end; all of it is read */
    bool gone;                    /* nobody reads any more */
    int write_error;              /* errno */
    int64_t last_ms;              /* once closing */
    cJSON *waiting[WAITING_MOST]; /* calls */
    size_t waiting_count;
    int64_t runs; /* calls of run so far */
    struct call *call;
};

/* The one that is being answered. */
struct call {
    struct mcp_server *server;
    const cJSON *tool;
    const cJSON *request;
    struct interrupts interrupts;
    int64_t until_ms;
    bool cancelled, late;
    int signal;
};

static bool is_over(const struct mcp_server *s)
{
    return s->gone || (s->closing && clock_monotonic_ms() >= s->last_ms);
}

/* --- messages --- */

#define LATEST versions[0]

/* The newest first. Up to 2025-11-25 a session begins with `initialize`; since then each request says its version.
 * 2025-03-26 is left out: it has batches, which no other revision has. */
static const char *const versions[] = {"2026-07-28", "2025-11-25", "2025-06-18", "2024-11-05", NULL};

#define META_VERSION "io.modelcontextprotocol/protocolVersion"
#define META_CAPABILITIES "io.modelcontextprotocol/clientCapabilities"
#define META_SERVER "io.modelcontextprotocol/serverInfo"

enum error_code {
    NOT_JSON = -32700,
    NO_REQUEST = -32600,
    NO_METHOD = -32601,
    WRONG_PARAMETERS = -32602,
    WRONG_VERSION = -32022,
};

static const cJSON *parameter(const cJSON *request, const char *name)
{
    return member(member(request, "params"), name);
}

/* A whole number that a double holds with all its digits. */
static bool is_whole(const cJSON *value)
{
    return cJSON_IsNumber(value) && fabs(value->valuedouble) <= 9007199254740991.0 &&
           value->valuedouble == floor(value->valuedouble);
}

static void add_versions(cJSON *object, const char *name)
{
    cJSON *list = cJSON_AddArrayToObject(object, name);
    for (size_t i = 0; versions[i]; i++)
        cJSON_AddItemToArray(list, cJSON_CreateString(versions[i]));
}

/* Returns the version that a request without a session states, as the revisions since 2026-07-28 want. */
static const cJSON *version_of(const cJSON *request)
{
    return member(parameter(request, "_meta"), META_VERSION);
}

static cJSON *new_message(const cJSON *id)
{
    cJSON *message = cJSON_CreateObject();
    cJSON_AddStringToObject(message, "jsonrpc", "2.0");
    if (id)
        cJSON_AddItemToObject(message, "id", cJSON_Duplicate(id, true));
    return message;
}

/* Takes the message. */
static void send_message(struct mcp_server *s, cJSON *message)
{
    OWNED char *text = json_print(message, false);
    buffer_add_text(&s->out, text);
    buffer_add_char(&s->out, '\n');
    cJSON_Delete(message);
}

/* Takes `data` (NULL: none). */
static void answer_error(struct mcp_server *s, const cJSON *id, enum error_code code, const char *text, cJSON *data)
{
    cJSON *message = new_message(id), *error = cJSON_AddObjectToObject(message, "error");
    JSON_ADD(error, JSON_REAL("code", code), JSON_STRING("message", text));
    if (data)
        cJSON_AddItemToObject(error, "data", data);
    send_message(s, message);
}

static void add_name(cJSON *object, const char *member_name)
{
    JSON_ADD(cJSON_AddObjectToObject(object, member_name), JSON_STRING("name", "meshsweep"),
             JSON_STRING("version", MESHSWEEP_VERSION));
}

/* Takes the result. */
static void answer_result(struct mcp_server *s, const cJSON *request, cJSON *result)
{
    cJSON *message = new_message(member(request, "id"));
    if (version_of(request)) {
        cJSON_AddStringToObject(result, "resultType", "complete");
        add_name(cJSON_AddObjectToObject(result, "_meta"), META_SERVER);
    }
    cJSON_AddItemToObject(message, "result", result);
    send_message(s, message);
}

/* --- what is asked of the server itself --- */

#define INSTRUCTIONS                                                                                                   \
    "meshsweep tries configurations of a training and keeps the results in a database. Ask status and plan first, "    \
    "why "                                                                                                             \
    "before you propose a configuration, and results, compare and best for what came out. Conditions (only, where) "   \
    "are SQL over the keys of the sweep and the columns of results. In JSON, sizes are bytes, durations are "          \
    "milliseconds, and null is unknown."

static cJSON *new_introduction(void)
{
    cJSON *result = cJSON_CreateObject();
    cJSON_AddObjectToObject(cJSON_AddObjectToObject(result, "capabilities"), "tools");
    cJSON_AddStringToObject(result, "instructions", INSTRUCTIONS);
    return result;
}

/* The version that is wanted, else the newest before it: dates compare as text. */
static void initialize(struct mcp_server *s, const cJSON *request)
{
    const char *wanted = cJSON_GetStringValue(parameter(request, "protocolVersion"));
    cJSON *result = new_introduction();
    size_t chosen = 1;
    for (size_t i = 1; wanted && versions[i]; i++)
        if (strcmp(versions[i], wanted) <= 0) {
            chosen = i;
            break;
        }
    cJSON_AddStringToObject(result, "protocolVersion", versions[chosen]);
    add_name(result, "serverInfo");
    s->initialized = true;
    answer_result(s, request, result);
}

static void ping(struct mcp_server *s, const cJSON *request)
{
    answer_result(s, request, cJSON_CreateObject());
}

/* How long the answer stays true. */
static void add_validity(cJSON *result)
{
    JSON_ADD(result, JSON_REAL("ttlMs", 3600000), JSON_STRING("cacheScope", "private"));
}

static void discover(struct mcp_server *s, const cJSON *request)
{
    cJSON *result = new_introduction();
    add_versions(result, "supportedVersions");
    add_validity(result);
    answer_result(s, request, result);
}

/* --- the list of tools --- */

static bool is_offered(const struct mcp_server *s, const cJSON *tool)
{
    return has_right(tool, "reads") || s->options->allow_run;
}

static void list_tools(struct mcp_server *s, const cJSON *request)
{
    cJSON *result = cJSON_CreateObject(), *list = cJSON_AddArrayToObject(result, "tools");
    const cJSON *tool;
    cJSON_ArrayForEach(tool, s->tools) if (is_offered(s, tool))
        cJSON_AddItemToArray(list, cJSON_Duplicate(member(tool, "tool"), true));
    if (version_of(request))
        add_validity(result);
    answer_result(s, request, result);
}

/* --- the command line of a call --- */

struct command_line {
    struct string_list words;
    char *input; /* JSON for the command to read; NULL: none */
};

static void command_line_free(struct command_line *l)
{
    string_list_free(&l->words);
    free(l->input);
}

static int refuse_argument(const cJSON *tool, const char *name, struct error *e)
{
    struct suggestion meant = suggest_for(name);
    const cJSON *argument;
    cJSON_ArrayForEach(argument, member(member(member(tool, "tool"), "inputSchema"), "properties"))
        suggest_try(&meant, argument->string);
    return error_set(e, ERROR_USAGE, "%s has no argument `%s`%s", name_of(tool), name, suggest_hint(&meant));
}

/* An option's value stands in the same word as its name, so it is never another option. */
static int make_command_line(const struct mcp_options *o, const cJSON *tool, const cJSON *arguments,
                             struct command_line *l, struct error *e)
{
    OWNED_JSON *given = cJSON_Duplicate(arguments, true), *answer = NULL;
    OWNED char *called = cJSON_PrintUnformatted(tool), *asked = given ? json_print(given, false) : NULL;
    OWNED_BUFFER said = BUFFER_INIT;
    const cJSON *word;
    if (saying_add_answer("sql/texts/tool_words.sql",
                          VALUES(sql_text(called), sql_text(asked), sql_text(o->config), sql_text(o->db)), &said,
                          e) < 0)
        return -1;
    answer = cJSON_Parse(buffer_text(&said));
    if (json_text_of(answer, "unknown"))
        return refuse_argument(tool, json_text_of(answer, "unknown"), e);
    if (json_text_of(answer, "wrong"))
        return error_set(e, ERROR_USAGE, "%s", json_text_of(answer, "wrong"));
    string_list_add(&l->words, xstrdup("/proc/self/exe"));
    cJSON_ArrayForEach(word, member(answer, "words")) string_list_add(&l->words, xstrdup(word->valuestring));
    l->input = json_text_of(answer, "input") ? xstrdup(json_text_of(answer, "input")) : NULL;
    return 0;
}

/* --- what a call answers --- */

static void add_text(cJSON *content, const char *text, size_t length)
{
    OWNED_BUFFER valid = BUFFER_INIT;
    cJSON *item = cJSON_CreateObject();
    text_add_valid(&valid, text, length);
    JSON_ADD(item, JSON_STRING("type", "text"), JSON_STRING("text", buffer_text(&valid)));
    cJSON_AddItemToArray(content, item);
}

static void add_note(cJSON *content, char *text) /* takes it */
{
    add_text(content, text, strlen(text));
    free(text);
}

static void add_output(cJSON *content, const struct call *c, char *output)
{
    const size_t most = (size_t)c->server->options->answer_bytes, length = strlen(output);
    const char *options = json_text_of(c->tool, "options");
    if (strspn(output, "{["))
        cJSON_Minify(output);
    const size_t left = strlen(output), cut = utf8_cut(output, left, most);
    if (left)
        add_text(content, output, cut);
    if (cut < left || length >= most * BLANKS)
        add_note(content, xasprintf("Cut: this server answers at most %zu bytes. Ask for less%s%s.", most,
                                    options ? ", with " : "", options ? options : ""));
}

static void add_messages(cJSON *content, const char *errors)
{
    const size_t length = strlen(errors);
    if (length)
        add_text(content, errors, utf8_cut(errors, length, NOTES_BYTES));
}

static const char *meaning_of(int exit_code)
{
    for (const struct exit_status_text *t = exit_status_texts; t->status; t++)
        if (strcmp(t->status, (char[]){(char)('0' + exit_code), '\0'}) == 0)
            return t->meaning;
    return "it was ended by a signal";
}

static int64_t timeout_of(const struct call *c)
{
    const struct mcp_options *o = c->server->options;
    return has_right(c->tool, "runs") ? o->run_timeout_ms : o->call_timeout_ms;
}

/* Adds what the limits and the exit status make of it. True: it is an error. */
static bool add_outcome(cJSON *content, const struct call *c, int exit_code)
{
    char limit[32];
    if (has_right(c->tool, "runs"))
        add_note(content, xasprintf("Call %lld of run; this server allows %lld.", (long long)c->server->runs,
                                    (long long)c->server->options->run_calls));
    if (c->late)
        add_note(content, xasprintf("Ended: this server gives %s at most %s.", name_of(c->tool),
                                    format_duration_ms(timeout_of(c), limit, sizeof limit)));
    else if (is_over(c->server))
        add_note(content, xstrdup("Ended: the client closed its end."));
    else if (exit_code != STATUS_OK)
        add_note(content, xasprintf("Exit status %d: %s.", exit_code, meaning_of(exit_code)));
    return c->late || (exit_code != STATUS_OK && exit_code != STATUS_JOBS_FAILED);
}

/* --- reading and writing --- */

static void begin_end(struct mcp_server *s)
{
    if (!s->closing)
        s->last_ms = clock_monotonic_ms() + LAST_MS;
    s->closing = true;
}

static void write_some(struct mcp_server *s)
{
    /* A pipe that has room at all has room for so much: the write does not block. */
    const size_t left = s->out.length - s->sent;
    ssize_t n = write(STDOUT_FILENO, s->out.data + s->sent, left < PIPE_BUF ? left : PIPE_BUF);
    if (n < 0 && errno != EINTR && errno != EAGAIN) {
        s->gone = true;
        s->write_error = errno == EPIPE ? 0 : errno;
    }
    s->sent += n > 0 ? (size_t)n : 0;
    if (s->sent == s->out.length) {
        buffer_free(&s->out);
        s->sent = 0;
    }
}

static void handle_line(struct mcp_server *s, const char *line, size_t length);

static void end_line(struct mcp_server *s)
{
    if (s->overlong)
        answer_error(s, NULL, NO_REQUEST, "a message of more than 1 MiB, which is left out", NULL);
    else
        handle_line(s, buffer_text(&s->line), s->line.length);
    s->overlong = false;
    buffer_clear(&s->line);
}

static void take_bytes(struct mcp_server *s, const char *bytes, size_t length)
{
    while (length) {
        const char *newline = memchr(bytes, '\n', length);
        const size_t part = newline ? (size_t)(newline - bytes) : length;
        s->overlong = s->overlong || s->line.length + part > MESSAGE_BYTES;
        if (s->overlong)
            buffer_free(&s->line);
        else
            buffer_add(&s->line, bytes, part);
        if (newline)
            end_line(s);
        bytes += part + (newline != NULL);
        length -= part + (newline != NULL);
    }
}

static void read_some(struct mcp_server *s)
{
    char block[BLOCK_BYTES];
    ssize_t n = read(STDIN_FILENO, block, sizeof block);
    if (n > 0)
        take_bytes(s, block, (size_t)n);
    else if (n == 0 || (errno != EINTR && errno != EAGAIN)) {
        if (s->line.length || s->overlong)
            end_line(s);
        s->ended = true;
        begin_end(s);
    }
}

/* One round. False: nothing moved. */
static bool exchange(struct mcp_server *s, int wait_ms)
{
    const size_t left = s->out.length - s->sent;
    const bool takes = !s->ended && left < UNREAD_BYTES;
    struct pollfd fds[] = {{takes || !s->closing ? STDIN_FILENO : -1, takes ? POLLIN : 0, 0},
                           {STDOUT_FILENO, left ? POLLOUT : 0, 0}};
    if (s->gone || poll(fds, 2, wait_ms) <= 0)
        return false;
    if (fds[1].revents & (POLLERR | POLLHUP | POLLNVAL))
        s->gone = true;
    else if (fds[1].revents)
        write_some(s);
    if (fds[0].revents && takes)
        read_some(s);
    else if (fds[0].revents)
        begin_end(s);
    return true;
}

static void exchange_all(struct mcp_server *s, int wait_ms)
{
    bool moved = exchange(s, wait_ms);
    for (int i = 1; moved && i < ROUNDS_MOST; i++)
        moved = exchange(s, 0);
}

/* --- calls --- */

static const cJSON *tool_named(const struct mcp_server *s, const char *name)
{
    const cJSON *tool;
    cJSON_ArrayForEach(tool, s->tools) if (strcmp(name_of(tool), name) == 0) return tool;
    return NULL;
}

static bool goes_on(void *context)
{
    struct call *c = context;
    struct wake wake = {0};
    exchange_all(c->server, 0);
    interrupts_wait(&c->interrupts, 0, &wake);
    c->signal = wake.signal ? wake.signal : c->signal;
    c->late = c->late || clock_monotonic_ms() >= c->until_ms;
    return !c->cancelled && !c->late && !c->signal && !is_over(c->server);
}

/* Returns whether the answer is an error. */
static bool run_command_line(struct call *c, const struct command_line *l, cJSON *content)
{
    struct external_command_result r = EXTERNAL_COMMAND_RESULT_INIT;
    struct error e = ERROR_INIT;
    const struct external_command command = {.argv = l->words.items,
                                             .environment = environ,
                                             .timeout_ms = INT64_MAX / 2,
                                             .bytes_most = (size_t)c->server->options->answer_bytes * BLANKS,
                                             .input = l->input};
    const struct external_command_watch watch = {goes_on, c, GRACE_MS};
    c->until_ms = clock_monotonic_ms() + timeout_of(c);
    c->server->call = c;
    interrupts_begin(&c->interrupts);
    if (external_command_run_watched(&command, &watch, &r, &e) == 0) {
        add_output(content, c, r.output);
        add_messages(content, r.errors);
    } else if (!c->late && !is_over(c->server)) {
        add_messages(content, e.text);
        r.exit_code = STATUS_FAILED;
    }
    interrupts_end(&c->interrupts);
    c->server->call = NULL;
    const bool failed = add_outcome(content, c, r.exit_code);
    external_command_result_free(&r);
    return failed;
}

/* ERROR_USAGE: it may not be called. */
static int check_rights(const struct mcp_server *s, const cJSON *tool, struct error *e)
{
    const bool runs = has_right(tool, "runs");
    if (!is_offered(s, tool))
        return error_set(e, ERROR_USAGE, "%s %s, and this server was started without --allow-run", name_of(tool),
                         runs ? "starts jobs" : "writes to the database");
    if (runs && s->runs >= s->options->run_calls)
        return error_set(e, ERROR_USAGE, "this server allows %lld calls of run (--run-calls), and none is left",
                         (long long)s->options->run_calls);
    return 0;
}

static void answer_content(struct mcp_server *s, const cJSON *request, cJSON *content, bool failed)
{
    cJSON *result = cJSON_CreateObject();
    cJSON_AddItemToObject(result, "content", content);
    cJSON_AddBoolToObject(result, "isError", failed);
    answer_result(s, request, result);
}

/* Returns the signal that ended it, 0: none. */
static int answer_call(struct mcp_server *s, const cJSON *request)
{
    struct call c = {.server = s, .request = request};
    struct command_line line = {STRING_LIST_INIT, NULL};
    struct error e = ERROR_INIT;
    cJSON *content = cJSON_CreateArray();
    bool failed = true;
    c.tool = tool_named(s, cJSON_GetStringValue(parameter(request, "name")));
    int rc = check_rights(s, c.tool, &e);
    if (rc == 0)
        rc = make_command_line(s->options, c.tool, parameter(request, "arguments"), &line, &e);
    if (rc < 0)
        add_messages(content, e.text);
    s->runs += rc == 0 && has_right(c.tool, "runs");
    if (rc == 0)
        failed = run_command_line(&c, &line, content);
    if (c.cancelled || c.signal)
        cJSON_Delete(content);
    else
        answer_content(s, request, content, failed);
    command_line_free(&line);
    return c.signal;
}

static int answer_next_call(struct mcp_server *s)
{
    OWNED_JSON *request = s->waiting[0];
    memmove(s->waiting, s->waiting + 1, --s->waiting_count * sizeof *s->waiting);
    return answer_call(s, request);
}

/* Tools are called one after the other: the request is kept. */
static void call_tool(struct mcp_server *s, const cJSON *request)
{
    const char *name = cJSON_GetStringValue(parameter(request, "name"));
    const cJSON *arguments = parameter(request, "arguments");
    if (!name || !tool_named(s, name))
        answer_error(s, member(request, "id"), WRONG_PARAMETERS, "no such tool; tools/list names them", NULL);
    else if (arguments && !cJSON_IsObject(arguments))
        answer_error(s, member(request, "id"), WRONG_PARAMETERS, "`arguments` is an object", NULL);
    else if (s->waiting_count < WAITING_MOST)
        s->waiting[s->waiting_count++] = cJSON_Duplicate(request, true);
    else {
        cJSON *content = cJSON_CreateArray();
        add_note(content, xstrdup("Too many calls at once: wait for an answer before the next call."));
        answer_content(s, request, content, true);
    }
}

static void cancel(struct mcp_server *s, const cJSON *id)
{
    if (s->call && id && cJSON_Compare(member(s->call->request, "id"), id, true))
        s->call->cancelled = true;
    for (size_t i = 0; id && i < s->waiting_count; i++)
        if (cJSON_Compare(member(s->waiting[i], "id"), id, true)) {
            cJSON_Delete(s->waiting[i]);
            memmove(s->waiting + i, s->waiting + i + 1, (--s->waiting_count - i) * sizeof *s->waiting);
            return;
        }
}

/* --- requests --- */

static const struct mcp_method {
    const char *name;
    void (*answer)(struct mcp_server *s, const cJSON *request);
    bool opens; /* may come before everything else */
} methods[] = {
    {"initialize", initialize, true},     {"ping", ping, true},
    {"server/discover", discover, false}, {"tools/list", list_tools, false},
    {"tools/call", call_tool, false},
};

/* Returns whether the request says its version, or comes in a session; else the error is sent. */
static bool has_version(struct mcp_server *s, const cJSON *request, bool opens)
{
    const cJSON *id = member(request, "id"), *version = version_of(request);
    if (!version && (opens || s->initialized))
        return true;
    if (!version || !cJSON_IsObject(member(parameter(request, "_meta"), META_CAPABILITIES))) {
        answer_error(s, id, WRONG_PARAMETERS,
                     "send `initialize` first, or " META_VERSION " and " META_CAPABILITIES " in `_meta`", NULL);
        return false;
    }
    if (cJSON_IsString(version) && strcmp(version->valuestring, LATEST) == 0)
        return true;
    cJSON *data = cJSON_CreateObject();
    add_versions(data, "supported");
    cJSON_AddItemToObject(data, "requested", cJSON_Duplicate(version, true));
    answer_error(s, id, WRONG_VERSION, "Unsupported protocol version", data);
    return false;
}

static void handle_request(struct mcp_server *s, const cJSON *request, const char *name)
{
    for (size_t i = 0; i < LENGTH(methods); i++) {
        if (strcmp(methods[i].name, name) != 0)
            continue;
        if (has_version(s, request, methods[i].opens))
            methods[i].answer(s, request);
        return;
    }
    answer_error(s, member(request, "id"), NO_METHOD, "there is no such method", NULL);
}

static bool is_id(const cJSON *id)
{
    return cJSON_IsString(id) || is_whole(id);
}

static void handle_message(struct mcp_server *s, const cJSON *message)
{
    const cJSON *id = member(message, "id");
    const char *method = cJSON_GetStringValue(member(message, "method"));
    if (cJSON_IsArray(message))
        answer_error(s, NULL, NO_REQUEST, "batches are not part of the protocol: send one message a line", NULL);
    else if (cJSON_IsObject(message) && !member(message, "method") &&
             (member(message, "result") || member(message, "error")))
        return; /* an answer, although nothing is asked here */
    else if (!cJSON_IsObject(message) || !method || (id && !is_id(id)))
        answer_error(s, is_id(id) ? id : NULL, NO_REQUEST,
                     "a request is an object with `jsonrpc`, `method` and an `id` that is text or a whole number",
                     NULL);
    else if (id)
        handle_request(s, message, method);
    else if (strcmp(method, "notifications/cancelled") == 0)
        cancel(s, parameter(message, "requestId"));
}

static void handle_line(struct mcp_server *s, const char *line, size_t length)
{
    if (strspn(line, " \t\r") == length)
        return;
    const bool is_text = utf8_first_invalid(line, length) == length && !json_has_nul(line);
    OWNED_JSON *message = is_text ? cJSON_ParseWithOpts(line, NULL, true) : NULL;
    if (message)
        handle_message(s, message);
    else
        answer_error(s, NULL, NOT_JSON, "the line is no JSON value in UTF-8", NULL);
}

/* --- the command --- */

/* -1: until something comes. */
static int wait_ms_of(const struct mcp_server *s)
{
    const int64_t left = s->last_ms - clock_monotonic_ms();
    return !s->closing ? -1 : left < 0 ? 0 : (int)left;
}

int command_mcp(const struct mcp_options *o, struct error *e)
{
    struct mcp_server s = {.options = o, .line = BUFFER_INIT, .out = BUFFER_INIT};
    int signal = 0;
    OWNED_BUFFER tools = BUFFER_INIT;
    if (commands_add_text("sql/texts/tools.sql", NULL, false, &tools, e) < 0)
        return -1;
    OWNED_JSON *list = cJSON_Parse(buffer_text(&tools));
    s.tools = list;
    if (isatty(STDIN_FILENO))
        output_message("mcp: reads messages of the Model Context Protocol, one a line; it is for agents to start");
    while (!signal && !is_over(&s) && (!s.ended || s.waiting_count || s.out.length)) {
        if (s.waiting_count)
            signal = answer_next_call(&s);
        else
            exchange_all(&s, wait_ms_of(&s));
    }
    exchange_all(&s, 0); /* what it still takes */
    while (s.waiting_count)
        cJSON_Delete(s.waiting[--s.waiting_count]);
    buffer_free(&s.line);
    buffer_free(&s.out);
    if (s.write_error)
        return error_errno(e, s.write_error, "mcp: cannot write to standard output");
    return signal ? STATUS_SIGNAL + signal : STATUS_OK;
}
