/* Fuzzing: any text as an expression of a sweep file, and after --where. */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "database/guard.h"
#include "space/build.h"
#include "space/compile.h"
#include "sweep_file/reader.h"
#include "util/memory.h"

static const char sweep_text[] = "[sweep]\nname = \"f\"\n[job]\ncommand = [\"true\"]\n"
                                 "[[model]]\nlayers = [2, 4]\nname = \"m\"\n"
                                 "[[parallel_spec]]\ntp = [1, 2]\npp = 1\n\"a.b\" = 1.5\n"
                                 "[derive]\ntwice = \"2 * layers\"\n";

static struct space *the_space(void)
{
    static struct space *space;
    struct error e = ERROR_INIT;
    struct sweep *sweep = NULL;
    const struct space_options options = {0};
    if (!space && (sweep_parse("fuzz.toml", sweep_text, strlen(sweep_text), &sweep, &e) < 0 ||
                   space_build(sweep, &options, &space, &e) < 0))
        abort();
    return space;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char *const columns[] = {"state", "score", "tp"};
    struct error e = ERROR_INIT;
    struct expression x = {.sql = NULL};
    char *text = xstrndup((const char *)data, size);
    const struct source_text source = {text, UNKNOWN_IS_ERROR, NULL, "--only", text};
    compile_alone(the_space(), &source, &x, &e);
    guard_check_where(text, columns, LENGTH(columns), &e);
    free(text);
    return 0;
}
