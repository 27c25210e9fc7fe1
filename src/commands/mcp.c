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

enum right {
    READS, /* neither starts a job nor changes anything */
    WRITES,
    RUNS, /* starts jobs, and is counted */
};

/* An operand, which a caller may give beside options: a number, a list of numbers or an object becomes words of the
 * command; the command reads a document from its input. */
struct operand {
    const char *name, *type, *items, *description; /* of JSON Schema; `items`: the type of a list's */
    bool is_document;
};

static const struct operand job = {"job", "integer", NULL, "number of a job", false};
static const struct operand jobs = {"jobs", "array", "integer", "numbers of two jobs, in place of `by`", false};
static const struct operand keys = {"keys", "object", NULL, "in place of a job: {\"micro_batch\": 8}", false};
static const struct operand proposals =
    {"proposals", "array", "object",
     "without it, the next jobs: {\"keys\": {\"micro_batch\": 8}, \"why\": \"memory is left\"}", true};
static const struct operand results =
    {"results", "array", "object",
     "of jobs that ask gave: {\"job\": 7, \"metrics\": {\"loss\": 2.5}} or {\"job\": 7, \"failure\": \"oom\"}", true};

/* How much a search may cost is said by the sweep file, not by the caller. */
#define SELECTION "only limit retry-failed search-model"
static const struct tool {
    const struct command *command;
    enum right right;
    const char *more;              /* said of it beside the command's summary */
    const char *options;           /* that a caller may give, of the command's, with blanks between */
    const char *given, *given_too; /* options that it always has, the caller's after them; NULL: none */
    const struct operand *operands[3];
    bool wants_operand;
} tools[] = {
    {&check_command, READS, "It is the sweep file that the server was started with.", "", "--json", NULL, {0}, false},
    {&plan_command, READS, "It bounds the cost, too.", SELECTION " all", "--json", NULL, {0}, false},
    {&predict_command,
     READS,
     "",
     "only limit where sort columns accuracy frontier scale-to",
     "--json",
     NULL,
     {0},
     false},
    {&status_command, READS, "", "", "--json", NULL, {0}, false},
    {&results_command,
     READS,
     "At most 50 rows without `limit`.",
     "where sort limit columns all",
     "--json",
     "--limit=50",
     {0},
     false},
    {&best_command, READS, "", "of group subject-to", "--json", NULL, {0}, false},
    {&compare_command,
     READS,
     "Give `by`, `rank`, `scaling` or two `jobs`.",
     "by rank scaling metric free",
     "--json",
     NULL,
     {&jobs},
     false},
    {&why_command, READS, "Give a `job` or `keys`.", "search-model", "--json", NULL, {&job, &keys}, false},
    {&show_command, READS, "", "", "--json", NULL, {&job}, true},
    {&run_command, RUNS, "Then ask status and best.", SELECTION " max-fail", "--progress=none", NULL, {0}, false},
    {&ask_command, WRITES, "", "number by why open", NULL, NULL, {&proposals}, false},
    {&tell_command, WRITES, "", "", NULL, NULL, {&results}, true},
};
#undef SELECTION
#define TOOL_COUNT LENGTH(tools)

/* --- the server --- */

struct mcp_server {
    const struct mcp_options *options;
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
    const struct tool *tool;
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

static const cJSON *member(const cJSON *object, const char *name)
{
    return cJSON_GetObjectItemCaseSensitive(object, name);
}

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
    char *text = json_print(message, false);
    buffer_add_text(&s->out, text);
    buffer_add_char(&s->out, '\n');
    cJSON_free(text);
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

static const struct option *option_named(const struct command *c, const char *name, size_t length)
{
    for (const struct option *o = c->options; o->name; o++)
        if (strlen(o->name) == length && strncmp(o->name, name, length) == 0)
            return o;
    return NULL;
}

/* The next of a tool's options, NULL behind the last one. */
static const struct option *next_option(const struct tool *t, const char **names)
{
    *names += strspn(*names, " ");
    const size_t length = strcspn(*names, " ");
    const struct option *o = length ? option_named(t->command, *names, length) : NULL;
    *names += length;
    return o;
}

static void add_property(cJSON *properties, const struct option *o)
{
    static const char *const types[] =
        {[OPTION_FLAG] = "boolean",  [OPTION_INT] = "integer",   [OPTION_DOUBLE] = "number",
         [OPTION_STRING] = "string", [OPTION_CHOICE] = "string", [OPTION_DURATION] = "string"};
    cJSON *property = cJSON_AddObjectToObject(properties, o->name);
    cJSON_AddStringToObject(property, "type", types[o->kind]);
    if (o->kind == OPTION_INT && (o->least != 0 || o->most != 0))
        cJSON_AddNumberToObject(property, "minimum", o->least);
    OWNED char *text = o->value ? xasprintf("%s: %s", o->value, o->help) : xstrdup(o->help);
    cJSON_AddStringToObject(property, "description", text);
}

static void add_operand(cJSON *properties, const struct operand *o)
{
    cJSON *property = cJSON_AddObjectToObject(properties, o->name);
    cJSON_AddStringToObject(property, "type", o->type);
    if (o->items)
        cJSON_AddStringToObject(cJSON_AddObjectToObject(property, "items"), "type", o->items);
    cJSON_AddStringToObject(property, "description", o->description);
}

static cJSON *new_schema(const struct tool *t)
{
    cJSON *schema = cJSON_CreateObject();
    cJSON_AddStringToObject(schema, "type", "object");
    cJSON *properties = cJSON_AddObjectToObject(schema, "properties");
    const char *names = t->options;
    for (const struct option *o; (o = next_option(t, &names));)
        add_property(properties, o);
    for (const struct operand *const *o = t->operands; *o; o++)
        add_operand(properties, *o);
    if (t->wants_operand && t->operands[0])
        cJSON_AddItemToArray(cJSON_AddArrayToObject(schema, "required"), cJSON_CreateString(t->operands[0]->name));
    cJSON_AddFalseToObject(schema, "additionalProperties");
    return schema;
}

static bool is_offered(const struct mcp_server *s, const struct tool *t)
{
    return t->right == READS || s->options->allow_run;
}

static cJSON *new_tool(const struct tool *t)
{
    cJSON *tool = cJSON_CreateObject();
    OWNED char *text = xasprintf("%s.%s%s", t->command->summary, *t->more ? " " : "", t->more);
    JSON_ADD(tool, JSON_STRING("name", t->command->name), JSON_STRING("description", text));
    cJSON_AddItemToObject(tool, "inputSchema", new_schema(t));
    JSON_ADD(cJSON_AddObjectToObject(tool, "annotations"), JSON_TRUTH("readOnlyHint", t->right == READS),
             JSON_TRUTH("destructiveHint", false), JSON_TRUTH("openWorldHint", t->right == RUNS));
    return tool;
}

static void list_tools(struct mcp_server *s, const cJSON *request)
{
    cJSON *result = cJSON_CreateObject();
    cJSON *list = cJSON_AddArrayToObject(result, "tools");
    for (size_t i = 0; i < TOOL_COUNT; i++)
        if (is_offered(s, &tools[i]))
            cJSON_AddItemToArray(list, new_tool(&tools[i]));
    if (version_of(request))
        add_validity(result);
    answer_result(s, request, result);
}

/* --- the command line of a call --- */

struct command_line {
    struct string_list options, words;
    char *input; /* JSON for the command to read; NULL: none */
};

static void command_line_free(struct command_line *l)
{
    string_list_free(&l->options);
    string_list_free(&l->words);
    cJSON_free(l->input);
}

/* The caller's; NULL: it is neither text nor a number nor true or false. */
static char *scalar_text(const cJSON *value)
{
    struct buffer b = BUFFER_INIT;
    if (is_whole(value))
        buffer_printf(&b, "%.0f", value->valuedouble);
    else if (cJSON_IsNumber(value))
        buffer_add_double(&b, value->valuedouble);
    else if (cJSON_IsString(value))
        buffer_add_text(&b, value->valuestring);
    else if (cJSON_IsBool(value))
        buffer_add_text(&b, cJSON_IsTrue(value) ? "true" : "false");
    else
        return NULL;
    return buffer_take(&b);
}

/* The value stands in the same word as the option's name, so it is never another option. */
static int add_option(struct command_line *l, const struct option *o, const cJSON *value, struct error *e)
{
    OWNED char *text = scalar_text(value);
    if (o->kind == OPTION_FLAG ? !cJSON_IsBool(value) : !text) {
        return error_set(e, ERROR_USAGE, "`%s` is %s", o->name,
                         o->kind == OPTION_FLAG ? "true or false" : "one value: text or a number");
    }
    if (o->kind != OPTION_FLAG)
        string_list_add(&l->options, xasprintf("--%s=%s", o->name, text));
    else if (cJSON_IsTrue(value))
        string_list_add(&l->options, xasprintf("--%s", o->name));
    return 0;
}

static int add_number(struct command_line *l, const struct operand *o, const cJSON *value, struct error *e)
{
    const double number = is_whole(value) ? value->valuedouble : 0;
    if (number < 1)
        return error_set(e, ERROR_USAGE, "`%s`: a job is given by its number, such as 7", o->name);
    string_list_add(&l->words, xasprintf("%.0f", number));
    return 0;
}

static void add_key(struct command_line *l, const cJSON *value)
{
    OWNED char *plain = scalar_text(value), *json = plain ? NULL : cJSON_PrintUnformatted(value);
    string_list_add(&l->words, xasprintf("%s=%s", value->string, plain ? plain : json));
}

static int add_operand_words(struct command_line *l, const struct operand *o, const cJSON *value, struct error *e)
{
    const cJSON *item;
    int rc = 0;
    if (o->is_document) {
        cJSON_free(l->input);
        l->input = cJSON_PrintUnformatted(value);
    } else if (strcmp(o->type, "object") == 0) {
        cJSON_ArrayForEach(item, value) add_key(l, item);
    } else if (o->items && cJSON_IsArray(value)) {
        cJSON_ArrayForEach(item, value) rc = rc < 0 ? rc : add_number(l, o, item, e);
    } else
        rc = add_number(l, o, value, e);
    return rc;
}

static int refuse_argument(const struct tool *t, const char *name, struct error *e)
{
    const char *known[32];
    size_t count = 0;
    const char *names = t->options;
    for (const struct option *o; (o = next_option(t, &names));)
        known[count++] = o->name;
    for (const struct operand *const *o = t->operands; *o; o++)
        known[count++] = (*o)->name;
    OWNED char *hint = suggest_hint(name, known, count);
    error_set(e, ERROR_USAGE, "%s has no argument `%s`%s", t->command->name, name, hint);
    return -1;
}

static int add_argument(const struct tool *t, struct command_line *l, const cJSON *value, struct error *e)
{
    const char *names = t->options;
    for (const struct option *o; (o = next_option(t, &names));)
        if (strcmp(o->name, value->string) == 0)
            return add_option(l, o, value, e);
    for (const struct operand *const *o = t->operands; *o; o++)
        if (strcmp((*o)->name, value->string) == 0)
            return add_operand_words(l, *o, value, e);
    return refuse_argument(t, value->string, e);
}

static void add_file(const struct tool *t, struct command_line *l, const char *name, const char *file)
{
    if (file && option_named(t->command, name, strlen(name)))
        string_list_add(&l->options, xasprintf("--%s=%s", name, file));
}

static int make_command_line(const struct mcp_options *o, const struct tool *t, const cJSON *arguments,
                             struct command_line *l, struct error *e)
{
    const cJSON *value;
    string_list_add(&l->options, xstrdup("/proc/self/exe"));
    string_list_add(&l->options, xstrdup(t->command->name));
    if (t->given)
        string_list_add(&l->options, xstrdup(t->given));
    if (t->given_too)
        string_list_add(&l->options, xstrdup(t->given_too));
    add_file(t, l, "config", o->config);
    if (t->command != &check_command) /* of the two it is the sweep file that is checked */
        add_file(t, l, "db", o->db);
    cJSON_ArrayForEach(value, arguments) if (!cJSON_IsNull(value) && add_argument(t, l, value, e) < 0) return -1;
    if (t->wants_operand && !l->words.count && !l->input)
        return error_set(e, ERROR_USAGE, "%s wants `%s`", t->command->name, t->operands[0]->name);
    if (l->words.count || l->input)
        string_list_add(&l->options, xstrdup("--"));
    for (size_t i = 0; i < l->words.count; i++)
        string_list_add(&l->options, xstrdup(l->words.items[i]));
    if (l->input)
        string_list_add(&l->options, xstrdup("-"));
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
    if (strspn(output, "{["))
        cJSON_Minify(output);
    const size_t left = strlen(output), cut = utf8_cut(output, left, most);
    if (left)
        add_text(content, output, cut);
    if (cut < left || length >= most * BLANKS)
        add_note(content, xasprintf("Cut: this server answers at most %zu bytes. Ask for less%s%s.", most,
                                    *c->tool->options ? ", with " : "", c->tool->options));
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
    return c->tool->right == RUNS ? o->run_timeout_ms : o->call_timeout_ms;
}

/* Adds what the limits and the exit status make of it. True: it is an error. */
static bool add_outcome(cJSON *content, const struct call *c, int exit_code)
{
    char limit[32];
    if (c->tool->right == RUNS)
        add_note(content, xasprintf("Call %lld of run; this server allows %lld.", (long long)c->server->runs,
                                    (long long)c->server->options->run_calls));
    if (c->late)
        add_note(content, xasprintf("Ended: this server gives %s at most %s.", c->tool->command->name,
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

static const struct tool *tool_named(const char *name)
{
    return FIND(i, TOOL_COUNT, strcmp(tools[i].command->name, name) == 0, &tools[i]);
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
    const struct external_command command = {.argv = l->options.items,
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
static int check_rights(const struct mcp_server *s, const struct tool *t, struct error *e)
{
    if (!is_offered(s, t))
        return error_set(e, ERROR_USAGE, "%s %s, and this server was started without --allow-run", t->command->name,
                         t->right == RUNS ? "starts jobs" : "writes to the database");
    if (t->right == RUNS && s->runs >= s->options->run_calls)
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
    struct command_line line = {STRING_LIST_INIT, STRING_LIST_INIT, NULL};
    struct error e = ERROR_INIT;
    cJSON *content = cJSON_CreateArray();
    bool failed = true;
    c.tool = tool_named(cJSON_GetStringValue(parameter(request, "name")));
    int rc = check_rights(s, c.tool, &e);
    if (rc == 0)
        rc = make_command_line(s->options, c.tool, parameter(request, "arguments"), &line, &e);
    if (rc < 0)
        add_messages(content, e.text);
    s->runs += rc == 0 && c.tool->right == RUNS;
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
    if (!name || !tool_named(name))
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
