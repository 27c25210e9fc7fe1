#!/usr/bin/env bash
# The source keeps its structure, and the checker that says so catches each breach.
. "$(dirname "$0")/../cli/lib.sh"

checker=$tests_source_dir/style/check_source.sh

# A tree with one clean file; cases plant a breach in it.
clean_tree()
{
    mkdir -p tree/src/util tree/src/store tree/src/run tree/src/cli tree/src/trainer tree/tests/unit
    cat >tree/src/util/thing.h <<'END'
#include <stddef.h>
/* Calls like sqlite3_step(x), exit(1) and printf("") in a comment are no breach,
 * nor is fork() on a second line. */
END
    cat >tree/src/util/thing.c <<'END'
#include "util/thing.h"
static const char *const text = "printf(\"exit(1)\")"; // getenv("HOME")
static int f(struct s *s) { return s->time(1) + my_exit(2) + s.kill('"', 3); }
END
    touch tree/Makefile.am
}

# FILE TEXT MESSAGE: the text appended to the file is refused with the message.
expect_refused()
{
    clean_tree
    printf '%s\n' "$2" >>"tree/$1"
    run_command bash "$checker" tree
    expect_status 1
    expect_stdout_contains "$3"
    expect_stdout_contains ' 1 breaches'
    expect_no_stderr
    rm -r tree
}

source__as_it_stands__no_breach()
{
    run_command bash "$checker" "$source_dir"
    expect_stdout_matches '^[0-9]+ files, 0 breaches$'
    expect_status 0
    expect_no_stderr
}

tree__clean__no_breach()
{
    clean_tree
    run_command bash "$checker" tree
    expect_status 0
    expect_stdout_contains '2 files, 0 breaches'
    expect_no_stderr
}

include__upwards__refused()
{
    expect_refused src/util/thing.c '#include "store/db.h"' \
        'src/util/thing.c:4: util may not include "store/db.h": store is above it'
    expect_refused src/store/db.h '#  include "cli/x.h" /* why */' 'src/store/db.h:1: store may not include "cli/x.h"'
}

include__without_floor_or_unknown__refused()
{
    expect_refused src/util/thing.c '#include "thing.h"' 'src/util/thing.c:4: the include does not name its floor'
    expect_refused src/util/thing.c '#include "attic/x.h"' 'src/util/thing.c:4: no such floor'
}

include__between_tool_and_trainer__refused()
{
    expect_refused src/trainer/main.c '#include "util/thing.h"' 'the trainer shares no code with the tool'
    expect_refused src/cli/main.c '#include "trainer/x.h"' 'the trainer shares no code with the tool'
}

headers__in_a_circle__refused()
{
    clean_tree
    echo '#include "util/b.h"' >tree/src/util/a.h
    echo '#include "util/c.h"' >tree/src/util/b.h
    echo '#include "util/a.h"' >tree/src/util/c.h
    run_command bash "$checker" tree
    expect_status 1
    expect_stdout_contains 'headers include each other in a circle: util/'
    expect_no_stderr
}

owned_verb__elsewhere__refused()
{
    expect_refused src/util/thing.c 'int x = sqlite3_step(s);' \
        'src/util/thing.c:4: belongs to src/store/ alone: int x = sqlite3_step(s);'
    expect_refused src/run/r.c '#include <sqlite3.h>' 'src/run/r.c:1: belongs to src/store/ alone'
    expect_refused src/store/db.c 'int p = fork();' 'src/store/db.c:1: belongs to src/run/ alone'
    expect_refused src/store/db.c 'if (!kill(p, 0)) {' 'src/store/db.c:1: belongs to src/run/ alone'
    expect_refused src/run/r.c 'x = "//"; system(y);' 'src/run/r.c:1: belongs to nobody alone'
    expect_refused src/run/r.c 'printf("%d", 1);' 'src/run/r.c:1: belongs to src/cli/ alone'
    expect_refused src/run/r.c '/* note */ fprintf(stderr, "");' 'src/run/r.c:1: belongs to src/cli/ alone'
    expect_refused src/run/r.c 'exit(1);' 'src/run/r.c:1: belongs to src/cli/ alone'
    expect_refused src/run/r.c "c = '\"'; p = getenv(x);" 'src/run/r.c:1: belongs to src/cli/ alone'
    expect_refused src/cli/main.c 'toml::parse(x);' 'src/cli/main.c:1: belongs to src/config/toml_reader.cc alone'
    expect_refused src/cli/main.c 'clock_gettime(a, b);' 'src/cli/main.c:1: belongs to src/util/clock.c alone'
}

owned_verb__in_the_trainer__allowed()
{
    clean_tree
    echo 'printf(""); fork(); exit(0); clock_gettime(a, b);' >tree/src/trainer/main.c
    run_command bash "$checker" tree
    expect_status 0
    expect_stdout_contains '3 files, 0 breaches'
    expect_no_stderr
}

file__over_seven_hundred_lines__refused()
{
    clean_tree
    yes ';' | head -n 601 >tree/src/util/long.c
    yes ';' | head -n 701 >tree/src/util/longer.c
    run_command bash "$checker" tree
    expect_status 1
    expect_stdout_contains 'warning: src/util/long.c has 601 lines'
    expect_stdout_contains 'src/util/longer.c:1: 701 lines (at most 700)'
    expect_stdout_contains ' 1 breaches'
    expect_no_stderr
}

function__too_long_or_with_many_parameters__refused()
{
    ctags --version 2>/dev/null | grep -q Universal || skip "universal-ctags is not installed"
    expect_refused src/util/thing.c "$(
        echo 'int many(int a, int (*b)(int, int), int c, int d, int e, int f, int g)'
        echo '{ return 0; }'
    )" 'src/util/thing.c:4: many has 7 parameters (at most 6)'
    expect_refused src/util/thing.c "$(
        echo 'int long_one(int a, int (*b)(int, int), int c, int d, int e, int f)'
        echo '{'
        yes '    f(0);' | head -n 58
        echo '}'
    )" 'src/util/thing.c:4: long_one has 61 lines (at most 60)'
}

test__not_in_the_makefile__refused()
{
    expect_refused tests/unit/test_new.c 'int main(void) {}' 'tests/unit/test_new.c:1: not named in Makefile.am'
}

run_cases "$@"
