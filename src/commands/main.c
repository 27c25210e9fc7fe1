#include <locale.h>
#include <malloc.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cjson/cJSON.h>
#include <csv.h>
#include <xxhash.h>
#include <zlib.h>

#include "cli/command.h"
#include "cli/output.h"
#include "database/db.h"
#include "files/document.h"
#include "pattern/engine.h"
#include "serve/server.h"
#include "toml/reader.h"
#include "util/fault.h"
#include "util/memory.h"

static int print_version(struct error *e)
{
    OWNED_BUFFER text = BUFFER_INIT;
    unsigned xxhash = XXH_versionNumber();
    buffer_printf(&text,
                  "meshsweep " MESHSWEEP_VERSION "\nSQLite %s\ncJSON %s\nlibcsv %d.%d.%d\nxxHash %u.%u.%u\ntoml++ %s\n"
                  "libfyaml %s\nlibmicrohttpd %s\nRE2 %s\nzlib %s\n",
                  db_library_version(), cJSON_Version(), CSV_MAJOR, CSV_MINOR, CSV_RELEASE, xxhash / 10000,
                  xxhash / 100 % 100, xxhash % 100, toml_library_version(), yaml_library_version(),
                  server_library_version(), engine_library_name(), zlibVersion());
    return output_text(buffer_text(&text), e);
}

/* Runs the command with its arguments; `named` says whether the command line has its name. An exit status. */
static int run_command_line(const struct command *c, char *const *argv, bool named)
{
    struct error e = ERROR_INIT;
    struct option_words words = {0};
    OWNED void *options = xcalloc(1, c->options_bytes);
    const struct option_rules rules = {c->options, c->words_most, c->takes_program, c->first_word_is_program};
    int status = STATUS_OK;
    if (options_parse(&rules, argv, options, &words, &e) < 0) {
        OWNED char *hint = xasprintf("; see meshsweep %s --help", c->name);
        output_error(c->name, &e, hint);
        return STATUS_USAGE;
    }
    const struct arguments arguments = {words.items, words.count, words.program};
    output_set_colour((enum colour_choice)words.color);
    output_set_paging((c->pages || words.help) && !words.no_pager);
    if (words.help)
        status = commands_print("sql/texts/help.sql", named ? c : NULL, false, &e);
    else if (words.version)
        status = print_version(&e);
    else
        status = c->run(options, &arguments, &e);
    if (status < 0) {
        output_error(NULL, &e, NULL);
        status = output_status(&e);
    }
    free_all(words.items, words.joined);
    return status;
}

/* The arguments without word `at`, NULL-terminated. */
static char **without_word(char *const *argv, size_t at, size_t count)
{
    char **rest = xcalloc(count + 1, sizeof *rest);
    size_t n = 0;
    for (size_t i = 0; i < count; i++)
        if (i != at)
            rest[n++] = argv[i];
    return rest;
}

#ifdef MESHSWEEP_FAULTS
/* MESHSWEEP_FAULT=list prints the points. An exit status, or -1 to go on. */
static int heed_fault(void)
{
    const char *text = getenv("MESHSWEEP_FAULT");
    struct error e = ERROR_INIT;
    if (!text)
        return -1;
    if (strcmp(text, "list") == 0) {
        for (int i = FAULT_NONE + 1; i < FAULT_COUNT; i++)
            printf("%s\n", fault_names[i]);
        return STATUS_OK;
    }
    if (fault_arm(text, &e) == 0)
        return -1;
    output_error(NULL, &e, NULL);
    return STATUS_USAGE;
}
#endif

int main(int argc, char **argv)
{
    struct error e = ERROR_INIT;
    size_t at, count = argc > 0 ? (size_t)argc - 1 : 0;
    char *none[] = {NULL};
    char *const *words = argc > 0 ? argv + 1 : none;
    /* Keep freed memory: the next job needs it again. */
    mallopt(M_TRIM_THRESHOLD, 16 << 20);
    mallopt(M_TOP_PAD, 1 << 20);
    /* Out of memory must abort instead of losing parts of a document. */
    cJSON_InitHooks(&(cJSON_Hooks){xmalloc, free});
    /* A closed pipe comes back as EPIPE, see output_write. Children get the default again. */
    signal(SIGPIPE, SIG_IGN);
    signal(SIGXFSZ, SIG_IGN); /* a file that may not grow any further is an error like a full disk */
    /* LC_NUMERIC stays "C". */
    setlocale(LC_CTYPE, "");
#ifdef MESHSWEEP_FAULTS
    int faulty = heed_fault();
    if (faulty >= 0)
        return faulty;
#endif
    const struct command *c = command_find(words, &at, &e);
    if (!c) {
        output_error(NULL, &e, NULL);
        return STATUS_USAGE;
    }
    OWNED char **rest = without_word(words, at, count);
    int status = run_command_line(c, rest, at < count);
    if (output_flush_all(&e) < 0) {
        output_error(NULL, &e, NULL);
        status = STATUS_FAILED;
    }
    output_end_paging();
    return status;
}
