#!/usr/bin/env bash
# The source keeps its structure, and the checker that says so catches each breach.
. "$(dirname "$0")/../cli/lib.sh"

checker=$tests_source_dir/style/check_source.sh

# A tree with one clean file; cases plant a breach in it.
clean_tree()
{
    mkdir -p tree/src/util tree/src/database tree/src/run tree/src/commands tree/src/trainer tree/src/page \
        tree/tests/unit
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

# The tree has nothing to refuse, or what each message says and so many breaches in all.
expect_clean() { run_command bash "$checker" tree; expect_only_stdout_contains 0 "$1, 0 breaches"; } # FILES
expect_breaches() # N TEXT...
{
    run_command bash "$checker" tree
    expect_only_stdout_contains 1 "${@:2}" " $1 breaches"
}

# FILE TEXT MESSAGE: the text appended to the file is refused with the message. Without these, of each row of standard
# input, FILE|TEXT|MESSAGE (which says again where it is).
expect_refused()
{
    local file text message
    if [ $# -eq 0 ]; then
        while IFS='|' read -r file text message; do
            expect_refused "$file" "$text" "$message"
        done
        return
    fi
    clean_tree
    printf '%s\n' "$2" >>"tree/$1"
    expect_breaches 1 "$3"
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
    expect_clean '2 files'
}

line__that_breaks_the_structure__refused()
{
    expect_refused <<'END'
src/util/thing.c|#include "run/r.h"|src/util/thing.c:4: util may not include "run/r.h": run is above it
src/database/db.h|#  include "cli/x.h" /* why */|src/database/db.h:1: database may not include "cli/x.h"
src/util/thing.c|#include "thing.h"|src/util/thing.c:4: the include does not name its floor
src/util/thing.c|#include "attic/x.h"|src/util/thing.c:4: no such floor
src/trainer/main.c|#include "util/thing.h"|the trainer shares no code with the tool
src/commands/main.c|#include "trainer/x.h"|the trainer shares no code with the tool
src/util/thing.c|    OWNED char *a = NULL, why[256];|src/util/thing.c:4: an array, or nothing yet, would be released
src/util/thing.c|    OWNED_STMT *s;|src/util/thing.c:4: an array, or nothing yet, would be released
src/util/thing.c|int x = sqlite3_step(s);|src/util/thing.c:4: belongs to src/database/ alone: int x = sqlite3_step(s);
src/run/r.c|#include <sqlite3.h>|src/run/r.c:1: belongs to src/database/ alone
src/database/db.c|int p = fork();|src/database/db.c:1: belongs to src/process/ alone
src/database/db.c|if (!kill(p, 0)) {|src/database/db.c:1: belongs to src/process/ alone
src/run/r.c|x = "//"; system(y);|src/run/r.c:1: belongs to nobody alone
src/run/r.c|printf("%d", 1);|src/run/r.c:1: belongs to src/cli/ and src/commands/ alone
src/run/r.c|/* note */ fprintf(stderr, "");|src/run/r.c:1: belongs to src/cli/ and src/commands/ alone
src/run/r.c|exit(1);|src/run/r.c:1: belongs to src/cli/ and src/commands/ alone
src/run/r.c|c = '"'; p = getenv(x);|src/run/r.c:1: belongs to src/cli/ and src/commands/ alone
src/commands/main.c|toml::parse(x);|src/commands/main.c:1: belongs to src/toml/reader.cc alone
src/commands/main.c|clock_gettime(a, b);|src/commands/main.c:1: belongs to src/util/clock.c alone
src/run/readings.c|i = open(p);|src/run/readings.c:1: a job may have left a link there (process/job_file.h): i = open(
src/commands/tail.c|f = fopen(path, "r");|src/commands/tail.c:1: a job may have left a link
tests/unit/test_new.c|int main(void) {}|tests/unit/test_new.c:1: not named in a sources.am
END
}

headers__in_a_circle__refused()
{
    clean_tree
    echo '#include "util/b.h"' >tree/src/util/a.h
    echo '#include "util/c.h"' >tree/src/util/b.h
    echo '#include "util/a.h"' >tree/src/util/c.h
    expect_breaches 1 'headers include each other in a circle: util/'
}

type__defined_in_two_files__refused()
{
    clean_tree
    printf 'struct place {\n    int x;\n};\nenum place { HERE };\n' >tree/src/run/r.c
    printf '/* A thing. */\nenum place { THERE };\n' >tree/src/util/place.h
    expect_breaches 1 'src/util/place.h:2: place is also defined in src/run/r.c'
}

# A type that is used elsewhere, or defined in the trainer, too; the trainer's verbs; a job's file opened as it should.
tree__near_a_breach__allowed()
{
    clean_tree
    echo 'struct place { int x; };' >tree/src/util/place.h
    echo 'const struct place *p = &(struct place){1};' >tree/src/run/r.c
    echo 'struct place { int x; }; printf(""); fork(); exit(0); clock_gettime(a, b);' >tree/src/trainer/main.c
    printf 'int fd = openat(directory, name, 0); job_file_open(path);\n' >tree/src/run/readings.c
    printf 'int fd = open(path, 0);\n' >tree/src/run/other.c
    expect_clean '7 files'
}

file__over_a_thousand_lines__refused()
{
    clean_tree
    yes ';' | head -n 1000 >tree/src/util/long.c
    yes ';' | head -n 1001 >tree/src/util/longer.c
    expect_breaches 1 'src/util/longer.c:1: 1001 lines (at most 1000)'
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
    expect_breaches 1 ' (at most 40)'
    expect_stdout_matches 'tests/style/budget: source_lines: [0-9]+ '
}

folder__over_forty_five_files__refused()
{
    clean_tree
    local i
    for ((i = 3; i <= 46; i++)); do
        echo ';' >"tree/src/util/file$i.c"
    done
    expect_breaches 1 'src/util:1: 46 files (at most 45)'
}

line__over_120_columns__refused()
{
    local fits wide name
    fits=$(printf '%0117d' 0)
    wide=${fits}0000
    clean_tree
    echo "// $fits" >tree/src/util/fits.h
    # The measure is characters, not bytes.
    echo "// ${fits//0/·}" >tree/src/util/fits.c
    expect_clean '4 files'
    rm -r tree
    expect_refused src/util/thing.c "$wide" 'src/util/thing.c:4: 121 columns (at most 120)'
    expect_refused tests/unit/lib.sh "${wide//0/·}" 'tests/unit/lib.sh:1: 121 columns (at most 120)'
    for name in report.css main.js; do
        expect_refused "src/page/$name" "$wide" "src/page/$name:1: 121 columns (at most 120)"
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
    expect_breaches 1 'src/util/thing.h:1: declares thing_do, which no file but its own uses'
}

function__defined_in_another_floor_than_its_header__refused()
{
    ctags --version 2>/dev/null | grep -q Universal || skip "universal-ctags is not installed"
    clean_tree
    echo 'int thing_do(int x);' >>tree/src/util/thing.h
    echo 'int thing_do(int x) { return x; }' >tree/src/database/db.c
    echo 'static int thing_do(int x) { return x; }' >tree/src/run/r.c
    expect_breaches 1 'src/database/db.c:1: defines thing_do, which src/util/thing.h declares'
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

document__names_what_is_there__no_breach()
{
    documented_tree '[here](#the-map-of-it), [there](../src/util/thing.c), [elsewhere](https://example.org/none)'
    printf '# The map of `it`!\n' >>tree/docs/map.md
    expect_clean '2 files'
}

document__names_what_is_not_there__refused()
{
    local text said
    while IFS='|' read -r text said; do
        documented_tree "$text"
        expect_breaches 1 "docs/map.md:6: $said"
        rm -r tree
    done <<'END'
It says src/util/none.c.|there is no src/util/none.c
It says tests/*/none_*.sh.|there is no tests/*/none_*.sh
It says none().|the source has no none()
It says struct thin.|the source has no struct thin
`struct` in `src/util/thing.h`, `none` in `src/util/thing.c`|src/util/thing.c has no none
[there](none.md)|there is no none.md
[there](#none)|no heading for #none
[there](map.md#none)|no heading for map.md#none
END
}

# The files of a row have the example of its thing.
contributing__row_with_an_example__its_files_have_it()
{
    clean_tree
    printf '%s\n' '/* FAILURE_OUT_OF_MEMORY */' >>tree/src/util/thing.c
    echo '| a class (`out-of-memory`) | `src/util/thing.c` | |' >tree/CONTRIBUTING.md
    expect_clean ' files'
    echo '| a class (`out-of-disk`) | `src/util/thing.c`, `src/util/NAME.c` | |' >tree/CONTRIBUTING.md
    expect_breaches 2 'CONTRIBUTING.md:1: src/util/thing.c does not mention out-of-disk' \
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
    local awk one made by=(-f "$source_dir/scripts/rows.awk" -f)
    mapped_tree
    mv tree/build-map drawn
    mkdir bin
    made=(manual_page:../docs/reference.md {commands:commands/commands,inputs:predict/inputs,keys:config/keys}.toml)
    for one in "${made[@]}"; do
        awk "${by[@]}" "$source_dir/scripts/${one%:*}.awk" -v what=source "$source_dir/src/${one#*:}" >"${one%:*}"
    done
    for awk in gawk 'gawk --posix' mawk 'busybox awk' original-awk; do
        type -P "${awk%% *}" >/dev/null || continue
        printf '#!/bin/sh\nexec %s "$@"\n' "$awk" >bin/awk
        chmod +x bin/awk
        rm -rf tree
        (PATH=$PWD/bin:$PATH mapped_tree)
        expect "diff -r drawn tree/build-map"
        for one in "${made[@]}"; do
            bin/awk "${by[@]}" "$source_dir/scripts/${one%:*}.awk" -v what=source "$source_dir/src/${one#*:}" >again
            expect "cmp ${one%:*} again"
        done
        echo 'int x = sqlite3_step(s); /* exit(1) */' >tree/src/run/a.c
        run_command env PATH="$PWD/bin:$PATH" bash "$checker" tree
        expect_only_stdout_contains 1 'src/run/a.c:1: belongs to src/database/ alone: int x = sqlite3_step(s);'
    done
}

# What it does not understand would be an option less.
tables__row_that_cannot_be_read__refused()
{
    local script table message by=(-f "$source_dir/scripts/rows.awk" -f)
    while IFS='|' read -r script table message; do
        printf '%b\n' "$table" >table.toml
        run_command awk "${by[@]}" "$source_dir/scripts/$script.awk" -v what=source table.toml
        expect_among_stderr 1 "table.toml: $message"
    done <<'END'
commands|[a]\nsummary = "x"\n[a.options]\nb = { help = "c", least 1 }|not the end of a row: , least 1 }
commands|[a]\nsummary: "x"|not a key: summary: "x"
keys|[tables]\na = { files = "EVERY" }\n[a]\nb = { text = true, lest = 1 }|not of a row: lest
inputs|[inputs]\na = { whole = "plan.tensor" }|nothing says what it means: a
inputs|[inputs]\na = { means = "b", whole = "plans.tensor" }|no such struct: plans.tensor
inputs|[words]\na = [\n    ["0", "x"],\n]|words of no input: a
inputs|[inputs]\na: "b"|not a row: a: "b"
END
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

run_cases "$@"
