#!/usr/bin/env bash
# Refuses what breaks the structure of the source: tests/style/check_source.sh [TREE]
#
#   floors  #include "floor/x.h" names a floor that is the file's own or a lower one; the trainer stands apart
#   cycles  headers do not include each other in a circle
#   types   no two files define a struct, union or enum of the same name; the trainer is a program of its own
#   owners  some verbs belong to one floor or one file: the table `owners`
#           what a header declares is defined in its floor
#   opens   where files of jobs are handled nothing is opened by its path: process/job_file.h does
#   uses    what a header declares is used by a file other than the one that defines it, be it a test
#   sizes   functions of at most 60 lines and 6 parameters (where universal-ctags is installed), files of at most
#           1,000 lines, folders of at most 45 files; lines of at most 120 columns, in the page's style and script too
#   budget  the whole is no larger than tests/style/budget says, where that file is
#   tests   every tests/unit/test_*.c and tests/*/test_*.sh is named in a sources.am
#   names   every path that docs/*.md and CONTRIBUTING.md name is there, and so is every `function()` and
#           `struct x`, but for the documents that name functions of SQL
#   things  where CONTRIBUTING.md says where a change goes, "| a strategy (`asha`) |", each file of the row is there
#           (NAME: asha) and mentions the example
#   links   every link of README.md, CONTRIBUTING.md and docs/*.md leads to a file and a heading that are there
#
# Prints one line per breach, "file:line: what". Status 1 when there is any.
set -eu

floors="util secrets toml pattern process config database files sweep_file device expression join store \
results metrics predict space measures models plan import fixture run batch ssh search ask deepspeed compare report \
page serve cli answers draft commands"
function_lines_most=60
parameters_most=6
foreign_signatures="handle_request" # a library calls them: libmicrohttpd
file_lines_most=1000
folder_files_most=45
columns_most=120

# Who may, as the starts of paths ("nobody": none); then what, as an extended regular expression over code without
# comments and strings. The trainer is a program of its own and may all of it.
owners()
{
    cat <<'END'
src/database/             sqlite3_step\b
src/database/             #include <sqlite3\.h>
src/process/              v?fork\(|posix_spawnp?\(|exec(v|ve|vp|vpe|l|lp|le)\(
src/process/              (waitpid|waitid|wait3|wait4|kill|killpg)\(
nobody                    (system|popen)\(
src/cli/,src/commands/    v?printf\(|puts\(|putchar\(|perror\(|(stdout|stderr)\b
src/cli/,src/commands/    exit\(|(secure_)?getenv\(|isatty\(
src/process/              _exit\(
src/toml/reader.cc        toml::|#include <toml\+\+
src/pattern/engine.cc     (re2|RE2)::|#include <re2/
src/files/yaml.c          fy_|#include <libfyaml\.h>
src/report/xlsx.c         lxw_|worksheet_|#include <xlsxwriter
src/serve/                MHD_|#include <microhttpd\.h>|\blisten\(
src/util/clock.c          (clock_gettime|gettimeofday|time)\(
END
}

# The files in which files of jobs are handled: a link or a pipe may be in their place.
files_of_jobs="src/metrics/ src/serve/ src/process/capture.c src/process/log_cap.c \
src/run/readings.c src/run/recording.c src/run/set_up.c src/run/ends.c src/batch/watch.c \
src/deepspeed/tuning_tree.c src/deepspeed/ds_preparation.c src/commands/tail.c src/commands/best.c"
opening="(open|open64|fopen|creat|truncate|file_read|file_text|line_reader_open)\\("

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

declare -A floor_number=()
for floor in $floors; do
    floor_number[$floor]=${#floor_number[@]}
done

check_include() # FILE LINE NAME
{
    local own other own_number other_number
    own=${1#src/}
    own=${own%%/*}
    other=${3%%/*}
    own_number=${floor_number[$own]-}
    other_number=${floor_number[$other]-}
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

# At the second file that defines it, with where the first does.
check_types()
{
    local file line name first
    while IFS=' ' read -r file line name first; do
        breach "$file:$line: $name is also defined in $first"
    done < <(grep -v '^src/trainer/' "$code" |
        sed -nE 's/^([^:]*):([0-9]*):(.*[^A-Za-z0-9_])?(struct|union|enum) ([A-Za-z0-9_]+) \{.*/\1 \2 \5/p' |
        awk '{
            if (!($3 in first))
                first[$3] = $1
            else if (first[$3] != $1)
                print $0, first[$3]
        }')
}

check_owners()
{
    local owners pattern file line text
    while read -r owners pattern; do
        while IFS=: read -r file line text; do
            is_among "$file" "$owners,src/trainer/" ||
                breach "$file:$line: belongs to ${owners//,/ and } alone: ${text#"${text%%[! ]*}"}"
        done < <(grep -E "^[^:]*:[0-9]*:(.*[^A-Za-z0-9_.>])?($pattern)" "$code")
    done < <(owners)
}

check_opens()
{
    local file line text
    while IFS=: read -r file line text; do
        ! is_among "$file" "${files_of_jobs// /,}" ||
            breach "$file:$line: a job may have left a link there (process/job_file.h): ${text#"${text%%[! ]*}"}"
    done < <(grep -E "^[^:]*:[0-9]*:(.*[^A-Za-z0-9_.>])?$opening" "$code")
}

is_among() # FILE PATHS
{
    local start
    for start in ${2//,/ }; do
        [[ $1 != "$start"* ]] || return 0
    done
    return 1
}

# What is released at the end of its scope has a value at first, and is no array: else what the memory held is released.
check_owned()
{
    local file line
    while IFS=: read -r file line _; do
        breach "$file:$line: an array, or nothing yet, would be released at the end of its scope"
    done < <(find src tests -name '*.c' -exec grep -nHE \
        '^ +OWNED[A-Z_]* ([^=]*;$|([^"(]|"[^"]*"|\([^()]*\))*, [a-z_]+\[[^]]*\](,|;| = ))' {} +)
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
        [ "$parameters" -le "$parameters_most" ] || [[ " $foreign_signatures " = *" $name "* ]] ||
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

# A floor defines what its headers declare. Namesakes that are static elsewhere do not count.
check_definitions()
{
    ctags --version 2>/dev/null | grep -q Universal || return 0
    local name header file definitions=$code.definitions
    printf '%s\n' "${sources[@]}" | grep '\.c$' | grep -v /trainer/ |
        ctags -x --fields=+f --_xformat='%{file} %N %F' --kinds-C=f -L - |
        sed -n 's/^- //p' | LC_ALL=C sort >"$definitions"
    while read -r name header file; do
        [ "${header%/*}" = "${file%/*}" ] || breach "$file:1: defines $name, which $header declares"
    done < <(printf '%s\n' "${sources[@]}" | grep '\.h$' | grep -v /trainer/ |
        ctags -x --langmap=C:.h --_xformat='%N %F' --kinds-C=p -L - | LC_ALL=C sort -u |
        LC_ALL=C join - "$definitions")
    rm -f "$definitions"
}

# A function that only its own file uses is static there; one that nothing uses is not there.
check_uses()
{
    ctags --version 2>/dev/null | grep -q Universal || return 0
    local name header tests
    mapfile -t tests < <(find tests -name '*.[ch]' -o -name '*.cc'; find src -name '*.toml')
    while read -r header name; do
        breach "$header:1: declares $name, which no file but its own uses"
    done < <(awk '
        FILENAME == ARGV[1] {
            header[$1] = $2
            next
        }
        {
            gsub(/[^A-Za-z0-9_]+/, " ")
            for (i = 1; i <= NF; i++)
                if ($i in header && ++seen[$i, FILENAME] == (FILENAME == header[$i] ? 2 : 1))
                    users[$i]++ # a macro beside the declaration uses it, too
        }
        END {
            for (name in header)
                if (users[name] < 2 && name != "embedded_files") # what the build makes defines it
                    print header[name], name
        }' <(printf '%s\n' "${sources[@]}" | grep '\.h$' |
            ctags -x --langmap=C:.h --_xformat='%N %F' --kinds-C=px -L -) "${sources[@]}" "${tests[@]}" | sort)
}

check_files()
{
    local lines file files folder
    while read -r files folder; do
        [ "$files" -le "$folder_files_most" ] || breach "$folder:1: $files files (at most $folder_files_most)"
    done < <(printf '%s\n' "${sources[@]%/*}" | sort | uniq -c)
    while read -r lines file; do
        [ "$lines" -le "$file_lines_most" ] || breach "$file:1: $lines lines (at most $file_lines_most)"
    done < <(find src tests -type f \( -name '*.[ch]' -o -name '*.cc' -o -name '*.sh' \) -exec wc -l {} + |
        awk '$2 != "total"')
}

# The counts have the names of the file: lines of code and of tests, words that people read, floors.
check_budget()
{
    local what most is
    [ -f tests/style/budget ] || return 0
    while read -r what most; do
        case $what in
        source_lines) is=$(cat "${sources[@]}" | wc -l) ;;
        test_lines)
            is=$(find tests -type f \( -name '*.[ch]' -o -name '*.sh' -o -name '*.py' \) -exec cat {} + | wc -l)
            ;;
        document_words) is=$(cat README.md CONTRIBUTING.md docs/*.md | wc -w) ;;
        floors) is=$(wc -w <<<"$floors") ;;
        *) breach "tests/style/budget: nothing counts $what" && continue ;;
        esac
        [ "$is" -le "$most" ] || breach "tests/style/budget: $what: $is (at most $most)"
    done < <(grep -v '^#' tests/style/budget)
}

# Every byte of UTF-8 but those that continue a character is a column: no locale has to be installed for that.
check_columns()
{
    local place columns
    while read -r place columns; do
        breach "$place: $columns columns (at most $columns_most)"
    done < <(find src tests -type f \( -name '*.[ch]' -o -name '*.cc' -o -name '*.sh' -o -path 'src/page/*.css' \
        -o -path 'src/page/*.js' -o -path 'src/*.sql' \) -exec env LC_ALL=C awk -v most="$columns_most" '
        length($0) > most {
            columns = gsub(/[^\200-\277]/, "")
            if (columns > most)
                print FILENAME ":" FNR, columns
        }' {} +)
}

check_tests_named()
{
    local file
    while read -r file; do
        grep -qFw -- "${file%.c}" tests/*/sources.am ||
            breach "$file:1: not named in a sources.am, so that nothing runs it"
        [ "${file##*.}" = c ] || [ -x "$file" ] || breach "$file:1: not executable"
    done < <(find tests -type f \( -path 'tests/unit/test_*.c' -o -name 'test_*.sh' \) | sort)
}

# "line:words" for each match in the document outside of fenced examples.
mentions() # DOCUMENT REGEX
{
    awk '/^```/ { fenced = !fenced } { print fenced ? "" : $0 }' "$1" |
        grep -noE "(^|[^A-Za-z0-9_./-])$2" | sed 's/^\([0-9]*:\)[^A-Za-z_]/\1/'
}

# True if there is such a file or folder, or the source of such a program; NAME and NNNN stand for anything.
is_there() # PATH
{
    local path=${1//NAME/*}
    path=${path//NNNN/*}
    compgen -G "$path" >/dev/null || compgen -G "$path.c" >/dev/null
}

check_names()
{
    local document line name path word='[A-Za-z_][A-Za-z0-9_]*'
    for document in docs/*.md CONTRIBUTING.md; do
        [ -f "$document" ] || continue
        while IFS=: read -r line name; do
            is_there "$name" || breach "$document:$line: there is no $name"
        done < <(mentions "$document" '(src|tests|scripts|sql|configs|docs)/[A-Za-z0-9_.*/-]*[A-Za-z0-9_*/]')
        # "`name()` in `path`"
        while IFS=: read -r line name; do
            path=${name##* \`}
            name=${name#\`} name=${name%%\`*}
            [ ! -f "${path%\`}" ] || grep -qwF -e "${name%()}" "${path%\`}" ||
                breach "$document:$line: ${path%\`} has no $name"
        done < <(mentions "$document" "\`$word([(][)])?\` (in|of) \`[A-Za-z0-9_./-]+\`")
        # Functions that documents for users name are those of the sweep file's expressions.
        [[ $document =~ /(reference|predictions|models).md$ ]] && continue
        while IFS=: read -r line name; do
            grep -qE "[^A-Za-z0-9_]${name%()}[(]" "$code" || breach "$document:$line: the source has no $name"
        done < <(mentions "$document" "${word}[(][)]")
        while IFS=: read -r line name; do
            grep -qE "[^A-Za-z0-9_]$name([^A-Za-z0-9_]|\$)" "$code" || breach "$document:$line: the source has no $name"
        done < <(mentions "$document" "struct $word")
    done
}

# The anchors that a page has for its headings.
anchors() # DOCUMENT
{
    sed -n 's/^#\{1,\} //p' "$1" | tr '[:upper:]' '[:lower:]' | sed 's/[^[:alnum:] _-]//g; s/ /-/g'
}

# "-", "_" and a blank are one: FAILURE_OOM_HOST mentions `oom-host`.
check_things()
{
    local line row example name
    [ -f CONTRIBUTING.md ] || return 0
    while IFS=: read -r line row; do
        example=$(sed -E 's/^\|[^|]*\(`([^`|]*)`\) \|.*/\1/' <<<"$row")
        while IFS= read -r name; do
            name=${name//NAME/$example}
            [ -f "$name" ] || { breach "CONTRIBUTING.md:$line: there is no $name" && continue; }
            grep -qiE -e "${example//[-_ ]/[-_ ]}" "$name" ||
                breach "CONTRIBUTING.md:$line: $name does not mention $example"
        done < <(grep -oE '`[A-Za-z_]+/[A-Za-z0-9_./-]+\.[a-z]+`' <<<"$row" | tr -d '`')
    done < <(grep -nE '^\| [^|]*\(`[^`|]*`\) \|' CONTRIBUTING.md)
}

check_links()
{
    local document line link target
    for document in README.md CONTRIBUTING.md docs/*.md; do
        [ -f "$document" ] || continue
        while IFS=: read -r line link; do
            target=$document
            [ -z "${link%%#*}" ] || target=$(dirname "$document")/${link%%#*}
            [ -e "$target" ] || { breach "$document:$line: there is no $link"; continue; }
            [[ $link != *#* ]] || anchors "$target" | grep -qxF -e "${link#*#}" ||
                breach "$document:$line: no heading for $link"
        done < <(grep -noE '\]\([^)]*\)' "$document" | sed -E 's/\]\((.*)\)/\1/' | grep -v '://')
    done
}

cd "${1:-$(dirname "${BASH_SOURCE[0]}")/../..}"
mapfile -t sources < <(find src -type f \( -name '*.[ch]' -o -name '*.cc' \) | sort)
[ ${#sources[@]} -gt 0 ] || { echo "no source here: $PWD" >&2; exit 1; }
code=$(mktemp)
trap 'rm -f "$code"' EXIT
code_lines "${sources[@]}" >"$code"
check_floors
check_cycles
check_types
check_owners
check_opens
check_owned
check_functions
check_definitions
check_uses
check_files
check_budget
check_columns
check_tests_named
check_names
check_things
check_links
echo "${#sources[@]} files, $breaches breaches"
[ "$breaches" -eq 0 ]
