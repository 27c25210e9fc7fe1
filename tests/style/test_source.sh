#!/usr/bin/env bash
# The source keeps its structure, and the checker that says so catches each breach.
. "$(dirname "$0")/../cli/lib.sh"

checker=$tests_source_dir/style/check_source.sh

# A tree with one clean file; cases plant a breach in it.
clean_tree()
{
    mkdir -p tree/src/util tree/src/database tree/src/run tree/src/commands tree/src/trainer tree/tests/unit
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
    touch tree/tests/unit/sources.am
}

# FILE TEXT MESSAGE: the text appended to the file is refused with the message.
expect_refused()
{
    clean_tree
    printf '%s\n' "$2" >>"tree/$1"
    run_command bash "$checker" tree
    expect_only_stdout_contains 1 "$3" ' 1 breaches'
    rm -r tree
}

source__as_it_stands__no_breach()
{
    run_command bash "$checker" "$source_dir"
    expect_only_stdout_matches 0 '^[0-9]+ files, 0 breaches$'
}

tree__clean__no_breach()
{
    clean_tree
    run_command bash "$checker" tree
    expect_only_stdout_contains 0 '2 files, 0 breaches'
}

include__upwards__refused()
{
    expect_refused src/util/thing.c '#include "database/db.h"' \
        'src/util/thing.c:4: util may not include "database/db.h": database is above it'
    expect_refused src/database/db.h '#  include "cli/x.h" /* why */' \
        'src/database/db.h:1: database may not include "cli/x.h"'
}

include__without_floor_or_unknown__refused()
{
    expect_refused src/util/thing.c '#include "thing.h"' 'src/util/thing.c:4: the include does not name its floor'
    expect_refused src/util/thing.c '#include "attic/x.h"' 'src/util/thing.c:4: no such floor'
}

include__between_tool_and_trainer__refused()
{
    expect_refused src/trainer/main.c '#include "util/thing.h"' 'the trainer shares no code with the tool'
    expect_refused src/commands/main.c '#include "trainer/x.h"' 'the trainer shares no code with the tool'
}

headers__in_a_circle__refused()
{
    clean_tree
    echo '#include "util/b.h"' >tree/src/util/a.h
    echo '#include "util/c.h"' >tree/src/util/b.h
    echo '#include "util/a.h"' >tree/src/util/c.h
    run_command bash "$checker" tree
    expect_only_stdout_contains 1 'headers include each other in a circle: util/'
}

type__defined_in_two_files__refused()
{
    clean_tree
    printf 'struct place {\n    int x;\n};\nenum place { HERE };\n' >tree/src/run/r.c
    printf '/* A thing. */\nenum place { THERE };\n' >tree/src/util/place.h
    run_command bash "$checker" tree
    expect_only_stdout_contains 1 'src/util/place.h:2: place is also defined in src/run/r.c' ' 1 breaches'
}

type__used_elsewhere_or_defined_in_the_trainer__allowed()
{
    clean_tree
    echo 'struct place { int x; };' >tree/src/util/place.h
    echo 'const struct place *p = &(struct place){1};' >tree/src/run/r.c
    echo 'struct place { int x; };' >tree/src/trainer/main.c
    run_command bash "$checker" tree
    expect_only_stdout_contains 0 '5 files, 0 breaches'
}

owned_local__array_or_without_a_value__refused()
{
    local line
    for line in 'OWNED char *a = NULL, why[256];' 'OWNED_STMT *s;'; do
        expect_refused src/util/thing.c "    $line" 'src/util/thing.c:4: an array, or nothing yet, would be released'
    done
}

owned_verb__elsewhere__refused()
{
    expect_refused src/util/thing.c 'int x = sqlite3_step(s);' \
        'src/util/thing.c:4: belongs to src/database/ alone: int x = sqlite3_step(s);'
    expect_refused src/run/r.c '#include <sqlite3.h>' 'src/run/r.c:1: belongs to src/database/ alone'
    expect_refused src/database/db.c 'int p = fork();' 'src/database/db.c:1: belongs to src/process/ alone'
    expect_refused src/database/db.c 'if (!kill(p, 0)) {' 'src/database/db.c:1: belongs to src/process/ alone'
    expect_refused src/run/r.c 'x = "//"; system(y);' 'src/run/r.c:1: belongs to nobody alone'
    expect_refused src/run/r.c 'printf("%d", 1);' 'src/run/r.c:1: belongs to src/cli/ and src/commands/ alone'
    expect_refused src/run/r.c '/* note */ fprintf(stderr, "");' \
        'src/run/r.c:1: belongs to src/cli/ and src/commands/ alone'
    expect_refused src/run/r.c 'exit(1);' 'src/run/r.c:1: belongs to src/cli/ and src/commands/ alone'
    expect_refused src/run/r.c "c = '\"'; p = getenv(x);" 'src/run/r.c:1: belongs to src/cli/ and src/commands/ alone'
    expect_refused src/commands/main.c 'toml::parse(x);' 'src/commands/main.c:1: belongs to src/toml/reader.cc alone'
    expect_refused src/commands/main.c 'clock_gettime(a, b);' 'src/commands/main.c:1: belongs to src/util/clock.c alone'
}

job_file__opened_by_its_path__refused()
{
    expect_refused src/run/readings.c 'int fd = open(path, O_RDONLY);' \
        'src/run/readings.c:1: a job may have left a link there (process/job_file.h): int fd = open('
    expect_refused src/commands/tail.c 'f = fopen(path, "r");' 'src/commands/tail.c:1: a job may have left a link'
    clean_tree
    printf 'int fd = openat(directory, name, 0); job_file_open(path);\n' >tree/src/run/readings.c
    printf 'int fd = open(path, 0);\n' >tree/src/run/other.c
    run_command bash "$checker" tree
    expect_only_stdout_contains 0 '4 files, 0 breaches'
}

owned_verb__in_the_trainer__allowed()
{
    clean_tree
    echo 'printf(""); fork(); exit(0); clock_gettime(a, b);' >tree/src/trainer/main.c
    run_command bash "$checker" tree
    expect_only_stdout_contains 0 '3 files, 0 breaches'
}

file__over_a_thousand_lines__refused()
{
    clean_tree
    yes ';' | head -n 1000 >tree/src/util/long.c
    yes ';' | head -n 1001 >tree/src/util/longer.c
    run_command bash "$checker" tree
    expect_only_stdout_contains 1 'src/util/longer.c:1: 1001 lines (at most 1000)' ' 1 breaches'
}

whole__larger_than_its_budget__refused()
{
    clean_tree
    mkdir -p tree/tests/style tree/docs
    touch tree/README.md tree/CONTRIBUTING.md
    echo 'three plain words' >tree/docs/page.md
    yes ';' | head -n 50 >tree/src/util/long.c
    printf '%s\n' '# Only ever lowered.' 'source_lines 40' 'test_lines 0' 'document_words 3' 'floors 100' \
        >tree/tests/style/budget
    run_command bash "$checker" tree
    expect_only_stdout_matches 1 'tests/style/budget: source_lines: [0-9]+ \(at most 40\)'
    expect_stdout_contains ' 1 breaches'
}

folder__over_forty_five_files__refused()
{
    clean_tree
    local i
    for ((i = 3; i <= 46; i++)); do
        echo ';' >"tree/src/util/file$i.c"
    done
    run_command bash "$checker" tree
    expect_only_stdout_contains 1 'src/util:1: 46 files (at most 45)' ' 1 breaches'
}

line__over_120_columns__refused()
{
    local fits wide
    fits=$(printf '%0117d' 0)
    wide=${fits}0000
    clean_tree
    echo "// $fits" >tree/src/util/fits.h
    # The measure is characters, not bytes.
    echo "// ${fits//0/·}" >tree/src/util/fits.c
    run_command bash "$checker" tree
    expect_only_stdout_contains 0 '4 files, 0 breaches'
    rm -r tree
    expect_refused src/util/thing.c "$wide" 'src/util/thing.c:4: 121 columns (at most 120)'
    expect_refused tests/unit/lib.sh "${wide//0/·}" 'tests/unit/lib.sh:1: 121 columns (at most 120)'
}

page__over_120_columns__refused()
{
    local name
    for name in report.css main.js; do
        clean_tree
        mkdir tree/src/page
        printf '%0121d\n' 0 >"tree/src/page/$name"
        run_command bash "$checker" tree
        expect_only_stdout_contains 1 "src/page/$name:1: 121 columns (at most 120)" ' 1 breaches'
        rm -r tree
    done
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

declaration__that_no_other_file_uses__refused()
{
    ctags --version 2>/dev/null | grep -q Universal || skip "universal-ctags is not installed"
    clean_tree
    printf 'int thing_do(int x);\nint thing_use(int x);\nextern int thing_count;\n' >>tree/src/util/thing.h
    printf 'int thing_count;\nint thing_do(int x) { return x; }\nint thing_use(int x) { return thing_do(x); }\n' \
        >tree/src/util/thing.c
    echo 'static int use(void) { return thing_use(thing_count); }' >tree/src/util/other.c
    run_command bash "$checker" tree
    expect_only_stdout_contains 1 'src/util/thing.h:1: declares thing_do, which no file but its own uses' ' 1 breaches'
}

function__defined_in_another_floor_than_its_header__refused()
{
    ctags --version 2>/dev/null | grep -q Universal || skip "universal-ctags is not installed"
    clean_tree
    echo 'int thing_do(int x);' >>tree/src/util/thing.h
    echo 'int thing_do(int x) { return x; }' >tree/src/database/db.c
    echo 'static int thing_do(int x) { return x; }' >tree/src/run/r.c
    run_command bash "$checker" tree
    expect_only_stdout_contains 1 'src/database/db.c:1: defines thing_do, which src/util/thing.h declares' ' 1 breaches'
}

test__not_in_the_makefile__refused()
{
    expect_refused tests/unit/test_new.c 'int main(void) {}' 'tests/unit/test_new.c:1: not named in a sources.am'
}

# A document that names what the clean tree has; TEXT adds to it.
documented_tree() # TEXT
{
    clean_tree
    mkdir tree/docs
    echo 'struct thing { int x; };' >>tree/src/util/thing.h
    printf '%s\n' 'src/util/thing.c, `src/*/thing.h` and src/util/: `f()` takes a `struct thing`,' \
        'not https://example.org/src/none.c; as src/util/thing and src/util/NAME.c.' '```' 'struct past' '```' "$1" \
        >tree/docs/map.md
}

document__says_where_a_thing_is__must_be_there()
{
    documented_tree '`struct` in `src/util/thing.h`, `none` in `src/util/thing.c`'
    run_command bash "$checker" tree
    expect_only_stdout_contains 1 'docs/map.md:6: src/util/thing.c has no none'
}

document__names_what_is_there__no_breach()
{
    documented_tree ''
    run_command bash "$checker" tree
    expect_only_stdout_contains 0 '2 files, 0 breaches'
}

document__names_what_is_not_there__refused()
{
    local line
    for line in 'src/util/none.c' 'tests/*/none_*.sh' 'none()' 'struct thin'; do
        documented_tree "It says $line."
        run_command bash "$checker" tree
        expect_only_stdout_matches 1 "^docs/map.md:6: (there is|the source has) no "
        expect_stdout_contains "no $line" ' 1 breaches'
        rm -r tree
    done
}

# The files of a row have the example of its thing.
contributing__row_with_an_example__its_files_have_it()
{
    clean_tree
    printf '%s\n' '/* FAILURE_OUT_OF_MEMORY */' >>tree/src/util/thing.c
    echo '| a class (`out-of-memory`) | `src/util/thing.c` | |' >tree/CONTRIBUTING.md
    run_command bash "$checker" tree
    expect_only_stdout_contains 0 ', 0 breaches'
    echo '| a class (`out-of-disk`) | `src/util/thing.c`, `src/util/NAME.c` | |' >tree/CONTRIBUTING.md
    run_command bash "$checker" tree
    expect_only_stdout_contains 1 'CONTRIBUTING.md:1: src/util/thing.c does not mention out-of-disk' \
        'CONTRIBUTING.md:1: there is no src/util/out-of-disk.c'
}

# A tree of three floors with its map, drawn.
mapped_tree()
{
    mkdir -p tree/src/util tree/src/run tree/src/trainer tree/docs tree/tests/style
    echo 'floors="util run"' >tree/tests/style/check_source.sh
    echo 'int one;' >tree/src/util/thing.h
    printf '%s\n' '#include "util/thing.h"' '#include "run/own.h"' >tree/src/run/loop.c
    touch tree/src/trainer/main.c
    printf '%s\n' '### ground' '- **util**: Small & <old> things. More.' '### top' '- **run**: The loop.' \
        '- **trainer**: Apart.' >tree/docs/architecture.md
    draw_map
    expect_silent 0
}

draw_map()
{
    run_command bash "$source_dir/scripts/architecture.sh" tree
}

map__drawn__has_floors_and_includes()
{
    mapped_tree
    expect_file_contains tree/build-map/architecture.md '| `run` | 1 | 2 | util |' '| `util` | 1 | 1 | none |'
    expect_file_contains tree/build-map/architecture.svg '<title>run includes util</title>'
    expect_file_contains tree/build-map/architecture.svg '>Small &amp; &lt;old> things</text>'
}

# Debian has one, Fedora and Arch another, small systems a third.
scripts__with_each_awk__print_the_same()
{
    local awk
    mapped_tree
    mv tree/build-map drawn
    mkdir bin
    awk -f "$source_dir/scripts/manual_page.awk" -v version=1 "$source_dir/docs/reference.md" >page
    awk -f "$source_dir/scripts/commands.awk" -v what=source "$source_dir/src/commands/commands.toml" >commands
    for awk in gawk 'gawk --posix' mawk 'busybox awk' original-awk; do
        type -P "${awk%% *}" >/dev/null || continue
        printf '#!/bin/sh\nexec %s "$@"\n' "$awk" >bin/awk
        chmod +x bin/awk
        rm -rf tree
        (PATH=$PWD/bin:$PATH mapped_tree)
        expect "diff -r drawn tree/build-map"
        bin/awk -f "$source_dir/scripts/manual_page.awk" -v version=1 "$source_dir/docs/reference.md" >again
        expect "cmp page again"
        bin/awk -f "$source_dir/scripts/commands.awk" -v what=source "$source_dir/src/commands/commands.toml" >again
        expect "cmp commands again"
        echo 'int x = sqlite3_step(s); /* exit(1) */' >tree/src/run/a.c
        run_command env PATH="$PWD/bin:$PATH" bash "$checker" tree
        expect_only_stdout_contains 1 'src/run/a.c:1: belongs to src/database/ alone: int x = sqlite3_step(s);'
    done
}

# What it does not understand would be an option less.
commands__row_that_cannot_be_read__refused()
{
    printf '%s\n' '[a]' 'summary = "x"' '[a.options]' 'b = { help = "c", least 1 }' >commands.toml
    run_command awk -f "$source_dir/scripts/commands.awk" -v what=source commands.toml
    expect_among_stderr 1 'commands.toml: not the end of a row: , least 1 }'
    printf '%s\n' '[a]' 'summary: "x"' >commands.toml
    run_command awk -f "$source_dir/scripts/commands.awk" -v what=header commands.toml
    expect_only_stderr_contains 1 'commands.toml: not a key: summary: "x"'
}

map__of_other_floors_than_there_are__refused()
{
    local change
    for change in 'mkdir tree/src/attic' 'sed -i "s/util run/run util/" tree/tests/style/check_source.sh' \
        'sed -i "s/The/The words of more than the picture has room for in one row are/" tree/docs/architecture.md'; do
        mapped_tree
        eval "$change"
        draw_map
        expect_among_stderr 1 'architecture.sh: '
        rm -r tree
    done
}

link__to_a_heading_that_is_there__no_breach()
{
    documented_tree '[here](#the-map-of-it), [there](../src/util/thing.c), [elsewhere](https://example.org/none)'
    printf '# The map of `it`!\n' >>tree/docs/map.md
    run_command bash "$checker" tree
    expect_only_stdout_contains 0 '2 files, 0 breaches'
}

link__to_nothing__refused()
{
    local link
    for link in none.md '#none' 'map.md#none'; do
        rm -rf tree
        documented_tree "[there]($link)"
        run_command bash "$checker" tree
        expect_only_stdout_matches 1 "^docs/map.md:6: (there is no|no heading for) $link\$"
        expect_stdout_contains ' 1 breaches'
    done
}

run_cases "$@"
