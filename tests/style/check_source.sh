#!/usr/bin/env bash
# Refuses what breaks the structure of the source: tests/style/check_source.sh [TREE]
#
#   floors  #include "floor/x.h" names a floor that is the file's own or a lower one; the trainer stands apart
#   cycles  headers do not include each other in a circle
#   owners  some verbs belong to one floor or one file: the table `owners`
#   sizes   functions of at most 60 lines and 6 parameters (where universal-ctags is installed), files of at most
#           700 lines, with a warning above 600
#   tests   every tests/unit/test_*.c and tests/*/test_*.sh is named in Makefile.am
#
# Prints one line per breach, "file:line: what". Status 1 when there is any.
set -eu

floors="util config store predict space run search deepspeed report cli"
function_lines_most=60
parameters_most=6
file_lines_most=700
file_lines_warning=600

# Who may, as the start of a path ("nobody": none); then what, as an extended regular expression over code without
# comments and strings. The trainer is a program of its own and may all of it.
owners()
{
    cat <<'END'
src/store/                sqlite3_step\b
src/store/                #include <sqlite3\.h>
src/run/                  v?fork\(|posix_spawnp?\(|exec(v|ve|vp|vpe|l|lp|le)\(
src/run/                  (waitpid|waitid|wait3|wait4|kill|killpg)\(
nobody                    (system|popen)\(
src/cli/                  v?printf\(|puts\(|putchar\(|perror\(|(stdout|stderr)\b
src/cli/                  exit\(|(secure_)?getenv\(|isatty\(
src/run/                  _exit\(
src/config/toml_reader.cc toml::|#include <toml\+\+
src/util/clock.c          (clock_gettime|gettimeofday|time)\(
END
}

breaches=0
breach()
{
    echo "$*"
    breaches=$((breaches + 1))
}

# "file:line:code" for every line, without comments and without what is in strings and character constants; an
# #include keeps its name.
code_lines() # FILE...
{
    awk '
    FNR == 1 { in_comment = 0 }
    !in_comment && /^[ \t]*#[ \t]*include/ {
        sub(/^[ \t]*#[ \t]*include[ \t]*/, "#include ")
        print FILENAME ":" FNR ":" $0
        next
    }
    {
        line = $0
        code = ""
        while (line != "") {
            if (in_comment) {
                at = index(line, "*/")
                if (!at)
                    break
                line = substr(line, at + 2)
                in_comment = 0
            } else if (match(line, /\/\*|\/\/|["\047]/)) {
                code = code substr(line, 1, RSTART - 1)
                token = substr(line, RSTART, RLENGTH)
                line = substr(line, RSTART + RLENGTH)
                if (token == "//")
                    break
                if (token == "/*") {
                    in_comment = 1
                    continue
                }
                while (line != "" && substr(line, 1, 1) != token)
                    line = substr(line, substr(line, 1, 1) == "\\" ? 3 : 2)
                line = substr(line, 2)
                code = code token token
            } else {
                code = code line
                line = ""
            }
        }
        print FILENAME ":" FNR ":" code
    }' "$@"
}

floor_number() # FLOOR: nothing for what is no floor
{
    local number=0 floor
    for floor in $floors; do
        if [ "$floor" = "$1" ]; then
            echo "$number"
            return
        fi
        number=$((number + 1))
    done
}

check_include() # FILE LINE NAME
{
    local own other own_number other_number
    own=${1#src/}
    own=${own%%/*}
    other=${3%%/*}
    own_number=$(floor_number "$own")
    other_number=$(floor_number "$other")
    if [ "$3" = "$other" ]; then
        breach "$1:$2: the include does not name its floor: \"$3\""
    elif [ "$own" = trainer ] || [ "$other" = trainer ]; then
        [ "$own" = "$other" ] || breach "$1:$2: the trainer shares no code with the tool: \"$3\""
    elif [ -z "$own_number" ] || [ -z "$other_number" ]; then
        breach "$1:$2: no such floor: $own includes \"$3\""
    elif [ "$other_number" -gt "$own_number" ]; then
        breach "$1:$2: $own may not include \"$3\": $other is above it"
    fi
}

check_floors()
{
    local file line name
    while IFS=' ' read -r file line name; do
        check_include "$file" "$line" "$name"
    done < <(sed -n 's/^\([^:]*\):\([0-9]*\):#include "\([^"]*\)".*/\1 \2 \3/p' "$code")
}

# tsort names the members of a circle on standard error.
check_cycles()
{
    local circle
    circle=$(sed -n 's/^src\/\([^:]*\.h\):[0-9]*:#include "\([^"]*\)".*/\1 \2/p' "$code" | tsort 2>&1 >/dev/null |
        sed -e 's/^tsort: //' -e '/input contains a loop/d' | tr '\n' ' ') || true
    [ -z "$circle" ] || breach "headers include each other in a circle: $circle"
}

check_owners()
{
    local owner pattern file line text
    while read -r owner pattern; do
        while IFS=: read -r file line text; do
            case $file in
            "$owner"* | src/trainer/*) ;;
            *) breach "$file:$line: belongs to $owner alone: ${text#"${text%%[! ]*}"}" ;;
            esac
        done < <(grep -E "^[^:]*:[0-9]*:(.*[^A-Za-z0-9_.>])?($pattern)" "$code")
    done < <(owners)
}

# ctags gives "first last signature name file"; parameters are the commas outside inner parentheses.
check_functions()
{
    if ! ctags --version 2>/dev/null | grep -q Universal; then
        echo "warning: no universal-ctags, so that the sizes of functions are not checked"
        return
    fi
    local file line lines parameters name
    while read -r file line lines parameters name; do
        [ "$lines" -le "$function_lines_most" ] ||
            breach "$file:$line: $name has $lines lines (at most $function_lines_most)"
        [ "$parameters" -le "$parameters_most" ] ||
            breach "$file:$line: $name has $parameters parameters (at most $parameters_most)"
    done < <(printf '%s\n' "${sources[@]}" |
        ctags -x --fields=+neS --_xformat='%F	%n	%{end}	%N	%S' --kinds-C=f --kinds-C++=f --languages=C,C++ -L - |
        awk -F '\t' '{
            inner = substr($5, 2, length($5) - 2)
            while (gsub(/\([^()]*\)/, "", inner))
                ;
            parameters = inner ~ /^(void)?$/ ? 0 : gsub(/,/, "", inner) + 1
            print $1, $2, $3 - $2 + 1, parameters, $4
        }')
}

check_files()
{
    local lines file
    while read -r lines file; do
        [ "$lines" -le "$file_lines_most" ] || breach "$file:1: $lines lines (at most $file_lines_most)"
        [ "$lines" -le "$file_lines_warning" ] || echo "warning: $file has $lines lines; has it one job?"
    done < <(find src tests -type f \( -name '*.[ch]' -o -name '*.cc' -o -name '*.sh' \) -exec wc -l {} + |
        awk '$2 != "total"')
}

check_tests_named()
{
    local file
    while read -r file; do
        grep -qF "$file" Makefile.am || breach "$file:1: not named in Makefile.am, so that nothing runs it"
    done < <(find tests -type f \( -path 'tests/unit/test_*.c' -o -name 'test_*.sh' \) | sort)
}

cd "${1:-$(dirname "${BASH_SOURCE[0]}")/../..}"
mapfile -t sources < <(find src -type f \( -name '*.[ch]' -o -name '*.cc' \) | sort)
[ ${#sources[@]} -gt 0 ] || { echo "no source here: $PWD" >&2; exit 1; }
code=$(mktemp)
trap 'rm -f "$code"' EXIT
code_lines "${sources[@]}" >"$code"
check_floors
check_cycles
check_owners
check_functions
check_files
check_tests_named
echo "${#sources[@]} files, $breaches breaches"
[ "$breaches" -eq 0 ]
