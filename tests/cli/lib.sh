# shellcheck shell=bash
# Black-box tests: sourced by tests/cli/test_*.sh. No test of its own.
#
# A test file defines cases, functions named thing__condition__result, and ends with `run_cases "$@"`. Each case runs in
# a shell, so that it needs no `local`, and an empty directory of its own, for at most CASE_SECONDS (200; more on a slow
# machine), and what it leaves running is ended. The shell is in `set -e`. Output is TAP; the status is 0, 1 when a case
# failed, 77 when all were skipped.
#
#     version__asked__printed()
#     {
#         run_meshsweep --version
#         expect_status 0
#         expect_stdout "meshsweep 1.2.3"
#         expect_no_stderr
#     }
#
# A run of the tool of which a case does not state all three (status, standard output, standard error) fails the case.
# By hand: tests/cli/test_x.sh [CASE...] runs the tool in build/ (or of BUILD=DIR); KEEP=1 keeps the directories.
# CASES="CASE..." in the environment names them too; CASES_DRAWN=SEED/N runs about one in N of them, drawn by the seed,
# and none of CASES_SPARED. One that takes over a second of a processor is told.
#
# Running:   run_meshsweep ARGS            run_command COMMAND ARGS
#            start_meshsweep ARGS          start_command COMMAND ARGS: in the background, one at a time, then
#            signal_command NAME           wait_command [KIND ...]          end_command NAME [KIND ...]: both,
#            and then expect_KIND ..., where it is said; start_until CONDITION SECONDS ARGS: start_meshsweep, wait_until
#            run_killed POINT ARGS         the tool, which dies at that point of src/util/fault.h (need_fault_points)
#            need_module MODULE            of Debian's Python
# Stating:   expect_status N               expect_sql TEXT QUERY [DATABASE]   expect_json VALUES [FILE.json] PATH...
#            expect_stdout TEXT            expect_stdout_contains TEXT...     expect_stdout_matches REGEX...
#            expect_stdout_lacks TEXT...   expect_no_stdout                   expect_any_stdout
#            and the same for stderr; the status with both, nothing on the other one: expect_only_stdout N [TEXT],
#            expect_only_stdout_contains N TEXT..., expect_only_stdout_matches N REGEX..., the same for stderr;
#            with anything on the other one: expect_among_stdout N TEXT..., expect_among_stderr N TEXT...;
#            expect_silent N: nothing on either; expect_only_status N: whatever is said
#            expect_run KIND N ARGS: run_meshsweep ARGS, then expect_KIND N of those that need no text;
#            expect_command KIND N COMMAND ARGS: the same of run_command; expect_after KIND N HELPER ARGS: of a helper
#            expect_said KIND N TEXT ARGS: with the text; expect_said_by KIND N TEXT HELPER ARGS: of a helper;
#            expect_each KIND N: the same of each row of standard input, ARGS|TEXT
#            expect_file_contains FILE TEXT...   expect_file FILE...          expect_no_file FILE...
#            expect CONDITION...: shell commands that must succeed; fail MESSAGE; skip REASON
# Waiting:   wait_until CONDITION SECONDS     hurry PID: of a server that gives way to others
# Making:    small_sweep [FILE]: a sweep of 4 jobs by /bin/sh; see there
#            small_run: the same, and its jobs are ok
#            toml WORD...: prints a sweep file, as toml job: command=true model:: layers=2,4; see there
#            stand_in FILE: writes a program, of the lines of standard input
#            draw_lines N: every N-th of standard input, by SEED
# Looking:   sql QUERY [DATABASE]

set -eu

# A case is called with whole paths.
tests_source_dir=${0%/*/*}
[ "${1-}" = --case ] || tests_source_dir=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd -P)
source_dir=${tests_source_dir%/*}
never=${PWD%/*}/never
build_dir=${abs_top_builddir:-${BUILD:-$source_dir/build}}
[ "${1-}" = --case ] || build_dir=$(cd "$build_dir" 2>/dev/null && pwd -P) || build_dir=/nonexistent
meshsweep=$build_dir/meshsweep
: "${CASE_SECONDS:=200}"
: "${SLOW_MACHINE:=4}" # how many times as long as on an idle one things may take
# On a terminal of a test nobody leaves a pager.
export MESHSWEEP_PAGER=cat

# --- stating ---

# Ends the case. What the last run printed helps to see why.
fail()
{
    echo "# $*"
    echo "#   at $(caller_line)"
    if [ -f .stdout ]; then
        echo "# last run: ${last_command-}, status ${status-none}"
        sed 's/^/#   stdout: /' .stdout | head -n 40
        sed 's/^/#   stderr: /' .stderr | head -n 40
    fi
    exit 1
}

# The line of the test file where things are.
caller_line()
{
    local i
    for ((i = 1; i < ${#BASH_SOURCE[@]}; i++)); do
        if [ "${BASH_SOURCE[i]}" != "${BASH_SOURCE[0]}" ]; then
            echo "${BASH_SOURCE[i]##*/}:${BASH_LINENO[i - 1]}"
            return
        fi
    done
    echo "?"
}

# A case, or before the first one the whole file.
skip()
{
    case " ${FUNCNAME[*]} " in
    *" run_one_case "*) echo "$*" >.skipped ;;
    *) echo "1..0 # SKIP $*" ;;
    esac
    exit 77
}

# Each of what is said must be so.
each() # FUNCTION STREAM|FILE TEXT...
{
    local function=$1 of=$2
    shift 2
    while [ $# -gt 0 ]; do
        "$function" "$of" "$1"
        shift
    done
}

expect()
{
    while [ $# -gt 0 ]; do
        eval "$1" || fail "expected: $1"
        shift
    done
}

expect_status()
{
    stated_status=1
    [ "$status" = "$1" ] || fail "expected status $1, got $status"
}

# A file's text without its last newlines, as $(cat FILE) says it, but without a process.
read_text() # FILE; sets `text`
{
    local parts
    mapfile -d '' -t parts <"$1"
    printf -v text %s "${parts[@]}"
    while [[ $text = *$'\n' ]]; do text=${text%?}; done
}

# What the shell finds in a file needs no grep, which has the last word.
has() # FILE TEXT
{
    local text
    read_text "$1"
    [[ $text = *"$2"* ]] || grep -qF -e "$2" "$1"
}

has_line_like() # FILE REGEX
{
    local lines line
    mapfile -t -n 40 lines <"$1"
    for line in "${lines[@]}"; do
        if [[ $line =~ $2 ]]; then return 0; fi
    done
    grep -qE -e "$2" "$1"
}

expect_text() # stdout|stderr TEXT
{
    local text
    read_text ".$1"
    [ "$text" = "$2" ] || fail "expected on $1 exactly:"$'\n'"$2"
}

expect_contains() { has ".$1" "$2" || fail "expected on $1: $2"; } # stdout|stderr TEXT
expect_matches() { has_line_like ".$1" "$2" || fail "expected on $1 a line that matches: $2"; } # stdout|stderr REGEX
expect_lacks() { ! has ".$1" "$2" || fail "expected not on $1: $2"; } # stdout|stderr TEXT

expect_stdout() { stated_stdout=1; expect_text stdout "$1"; }
expect_stdout_contains() { stated_stdout=1; each expect_contains stdout "$@"; }
expect_stdout_matches() { stated_stdout=1; each expect_matches stdout "$@"; }
expect_stdout_lacks() { stated_stdout=1; each expect_lacks stdout "$@"; }
expect_no_stdout() { stated_stdout=1; expect_text stdout ""; }
expect_any_stdout() { stated_stdout=1; }
expect_stderr() { stated_stderr=1; expect_text stderr "$1"; }
expect_stderr_contains() { stated_stderr=1; each expect_contains stderr "$@"; }
expect_stderr_matches() { stated_stderr=1; each expect_matches stderr "$@"; }
expect_stderr_lacks() { stated_stderr=1; each expect_lacks stderr "$@"; }
expect_no_stderr() { stated_stderr=1; expect_text stderr ""; }
expect_any_stderr() { stated_stderr=1; }

# The status, and all that is said.
expect_silent() { expect_status "$1"; expect_no_stdout; expect_no_stderr; }
expect_only_status() { expect_status "$1"; expect_any_stdout; expect_any_stderr; }

expect_only_stdout()
{
    expect_status "$1"
    expect_no_stderr
    stated_stdout=1
    [ $# -eq 1 ] || expect_stdout "$2"
}

expect_only_stderr()
{
    expect_status "$1"
    expect_no_stdout
    stated_stderr=1
    [ $# -eq 1 ] || expect_stderr "$2"
}

expect_among_stdout() { expect_status "$1"; expect_stdout_contains "${@:2}"; expect_any_stderr; }
expect_among_stderr() { expect_status "$1"; expect_stderr_contains "${@:2}"; expect_any_stdout; }
expect_only_stdout_contains() { expect_only_stdout "$1"; expect_stdout_contains "${@:2}"; }
expect_only_stdout_matches() { expect_only_stdout "$1"; expect_stdout_matches "${@:2}"; }
expect_only_stderr_contains() { expect_only_stderr "$1"; expect_stderr_contains "${@:2}"; }
expect_only_stderr_matches() { expect_only_stderr "$1"; expect_stderr_matches "${@:2}"; }

is_there() { [ -e "$2" ] || fail "expected a file: $2"; }
is_absent() { [ ! -e "$2" ] || fail "expected no file: $2"; }
has_text() { has "$1" "$2" || fail "expected in $1: $2"; }
expect_file() { each is_there . "$@"; }
expect_no_file() { each is_absent . "$@"; }
expect_file_contains() { each has_text "$@"; }

# Rows one per line, columns apart by "|". Waits for a writer rather than fail.
sql()
{
    sqlite3 -batch -noheader -cmd ".timeout 5000" "${2:-results.db}" "$1"
}

expect_sql()
{
    local got
    got=$(sqlite3 -batch -noheader -cmd ".timeout 5000" "${3:-results.db}" "$2" 2>&1) || true
    [ "$got" = "$1" ] || fail "got (+) instead of (-) from: $2
$(diff -U 1 <(echo "$1") <(echo "$got") | tail -n +3)"
}

# Values of the JSON document that the last run printed, or that FILE.json has, with "|" between them: each at a path,
# "states.ok" or "jobs[0].x"; "jobs.#" is how many there are, and what has a blank or a parenthesis is SQL about `j`.
expect_json() # VALUES [FILE.json] PATH...
{
    local file=.stdout path said=''
    [[ $2 != *.json ]] || file=$2
    for path in "${@:2}"; do
        case $path in
        "$file") ;;
        *[\ \(]*) said+=", $path" ;;
        *.\#) said+=", json_array_length(j, '\$.${path%.#}')" ;;
        *) said+=", j ->> '\$.$path'" ;;
        esac
    done
    expect_sql "$1" "SELECT ${said#, } FROM (SELECT CAST(readfile('$file') AS TEXT) AS j)" :memory:
}

# --- running ---

check_all_stated()
{
    [ -z "${last_command-}" ] || [ "$stated_status$stated_stdout$stated_stderr" = 111 ] ||
        fail "this case does not state status, stdout and stderr of: $last_command"
}

begin_run()
{
    check_all_stated
    last_command=$*
    stated_status='' stated_stdout='' stated_stderr=''
}

run_command()
{
    begin_run "$@"
    status=0
    "$@" >.stdout 2>.stderr </dev/null || status=$?
}

run_meshsweep()
{
    run_command "$meshsweep" "$@"
}

# Skips where Debian's Python has no such module, which is looked for and not loaded.
need_module() # MODULE
{
    /usr/bin/python3 -c 'import importlib.util as u, sys; sys.exit(not u.find_spec(sys.argv[1]))' "$1" 2>/dev/null ||
        skip "/usr/bin/python3 has no $1"
}

need_fault_points()
{
    [ "$(MESHSWEEP_FAULT=list "$meshsweep" 2>/dev/null | head -n 1)" = locked ] ||
        skip "this build has no fault points (configure --enable-faults)"
}

# The shell between keeps "Killed" out of the test's own output.
run_killed()
{
    local point=$1
    shift
    run_command env MESHSWEEP_FAULT="$point" bash -c '"$@"; exit $?' run "$meshsweep" "$@"
}

# Every process whose id is in the file pids is gone, or is about to be reaped.
all_are_gone()
{
    local pid
    [ -s pids ] || return 1
    while read -r pid; do
        case $(ps -o stat= -p "$pid") in
        '' | Z*) ;;
        *) return 1 ;;
        esac
    done <pids
}

# Prints what sweeps for the largest throughput begin with; `job.sh` is given the keys.
throughput_sweep() # NAME KEY...
{
    local keys
    printf -v keys ', "{%s}"' "${@:2}"
    toml sweep: "name = \"$1\"" objective=max:throughput job: command='["/bin/sh", "./job.sh"'"$keys]" \
        job.metrics.throughput: regex='throughput: ([0-9.]+)' unit=samples/s better=max
}

# A job of it, whose throughput is EXPRESSION: one that finds kill-the-runner does so; 16 is too large a micro-batch.
throughput_job() # EXPRESSION
{
    cat >job.sh <<END
if [ -e kill-the-runner ]; then
    rm kill-the-runner
    kill -KILL "\$PPID"
fi
if [ "\$1" -ge 16 ]; then
    echo "CUDA out of memory. Tried to allocate 20.00 GiB"
    exit 1
fi
echo "throughput: \$(($1))"
END
}

# A search of such jobs; the draw decides whether some of them failed.
search_ended() # ARGS OF run
{
    run_meshsweep run --progress none "$@"
    [ "$status" -eq 0 ] || expect_status 3
    expect_only_stderr "$status"
}

runner_killed() # DATABASE
{
    touch kill-the-runner
    run_command bash -c '"$@"; exit $?' run "$meshsweep" run -j 1 --progress none -d "$1"
    expect_only_status 137
}

decisions() # [DATABASE]
{
    sql "SELECT t.asked, t.told, hex(j.key), t.resource, t.lineage, t.draw, t.reason, t.outcome, t.failure, t.objective
         FROM trial AS t JOIN job AS j ON j.id = t.job_id ORDER BY t.id" "${1:-results.db}"
}

# Calls what runs something, and states what expect_KIND does of its end.
expect_after() # silent|status|only_status|only_stdout|only_stderr STATUS HELPER ARGS
{
    "${@:3}"
    "expect_$1" "$2"
}

expect_command() { expect_after "$1" "$2" run_command "${@:3}"; } # KIND STATUS COMMAND ARGS
expect_run() { expect_command "$1" "$2" "$meshsweep" "${@:3}"; }  # KIND STATUS ARGS

# The same with a text, for what is said in a few words.
expect_said_by() # only_stdout|only_stderr|only_stdout_contains|… STATUS TEXT HELPER ARGS
{
    "${@:4}"
    "expect_$1" "$2" "$3"
}

expect_said() { expect_said_by "${@:1:3}" run_meshsweep "${@:4}"; } # KIND STATUS TEXT ARGS

# The same of rows, ARGS|TEXT: the words are the shell's, the text stands as it is. A failure says which run it was.
expect_each() # KIND STATUS
{
    local words text
    while IFS='|' read -r words text; do
        eval "run_meshsweep $words"
        "expect_$1" "$2" "$text"
    done
}

# One run of jobs, which says nothing or whatever on standard error.
run_silently() { expect_run silent "$1" run --progress none "${@:2}"; } # STATUS ARGS
run_ended() { expect_run only_stderr "$1" run --progress none "${@:2}"; } # STATUS ARGS

# Runs the tool where PATHS cannot be written, whoever we are.
run_read_only() # PATHS -- ARGS
{
    local paths=''
    while [ "$1" != -- ]; do
        paths="$paths $1"
        shift
    done
    shift
    if [ "$(id -u)" != 0 ]; then
        # shellcheck disable=SC2086 # a list
        chmod a-w $paths
        run_meshsweep "$@"
        # shellcheck disable=SC2086
        chmod u+w $paths
        return
    fi
    unshare -m true 2>/dev/null || skip "nothing can be made read-only for root here"
    run_command unshare -m sh -c '
        for path in $1; do mount --bind "$path" "$path" && mount -o remount,bind,ro "$path" || exit 99; done
        shift
        exec "$@"' sh "$paths" "$meshsweep" "$@"
    [ "$status" != 99 ] || skip "nothing can be made read-only for root here"
}

# Its signal dispositions are those of a command started by hand: in the background SIGINT would be ignored. What the
# last one said is gone before it starts, so that nobody who waits for its words takes those.
start_command()
{
    begin_run "$@"
    status=running
    : >.stdout 2>.stderr
    (
        trap - INT
        exec "$@"
    ) >.stdout 2>.stderr </dev/null &
    command_pid=$!
}

start_meshsweep()
{
    start_command "$meshsweep" "$@"
}

# The tool in the background, once COMMAND succeeds.
start_until() # COMMAND SECONDS ARGS
{
    start_meshsweep "${@:3}"
    wait_until "$1" "$2"
}

signal_command()
{
    kill -s "$1" "$command_pid" || fail "it is not running any more: $last_command"
}

wait_command() # [KIND STATUS...]: of expect_KIND
{
    status=0
    wait "$command_pid" || status=$?
    [ $# -eq 0 ] || "expect_$1" "${@:2}"
}

end_command() # SIGNAL [KIND STATUS...]
{
    signal_command "$1"
    wait_command "${@:2}"
}

# Polls a shell command until it succeeds, at first often; the case fails when it has not after SECONDS of an idle
# machine: under sanitizers and beside other tests all takes SLOW_MACHINE times as long. A pause is a read of a pipe
# that nobody writes to, which is no process.
wait_until() # COMMAND SECONDS
{
    local deadline=$((${EPOCHREALTIME/./} + $2 * SLOW_MACHINE * 1000000)) pause=20
    until eval "$1"; do
        [ "${EPOCHREALTIME/./}" -lt "$deadline" ] || fail "waited $(($2 * SLOW_MACHINE)) s in vain for: $1"
        read -r -t "0.0$pause" <>"$never" || :
        pause=$((pause < 80 ? pause * 9 / 8 : 90))
    done
}

# A served page gives way to everything else on the machine, which here are other tests. No more of it, where allowed.
hurry() # PID
{
    # shellcheck disable=SC2046 # its threads
    renice -n 0 -p $(ls "/proc/$1/task") >/dev/null 2>&1 || true
}

# Draws every N-th of the lines of standard input, from a place by the seed (SEED=N); all under MESHSWEEP_FULL.
draw_lines() # N [SHIFT]
{
    local seed=${SEED:-$(od -An -N4 -tu4 /dev/urandom | tr -d ' ')}
    echo "# SEED=$seed" >&2
    if [ "${MESHSWEEP_FULL-}" ]; then
        cat
    else
        awk -v place="$((seed + ${2:-0}))" -v part="$1" '(NR + place) % part == 0'
    fi
}

# --- making ---

# Writes a program, which is a shell script of the lines of standard input.
stand_in() # FILE
{
    mkdir -p "${1%/*}"
    { echo '#!/bin/sh'; cat; } >"$1"
    chmod +x "$1"
}

# Writes FILE (sweep.toml) with 4 jobs, x in 1, 2 and y in 10, 20, that run ./job.sh X Y under /bin/sh; job.sh prints
# "score: X*Y". Cases append tables to the file or write a job.sh of their own before the run.
small_sweep()
{
    local file=${1:-sweep.toml}
    toml sweep: name=small objective=max:score '' job: command='["/bin/sh", "./job.sh", "{x}", "{y}"]' '' \
        job.metrics.score: regex='score: ([0-9.]+)' better=max '' training_spec:: x=1,2 '' \
        parallel_spec:: y=10,20 >"$file"
    cat >job.sh <<'END'
echo "score: $(($1 * $2))"
END
}

small_run() { small_sweep; run_silently 0; }

toml_number='^-?[0-9]+(\.[0-9]+)?(e[+-]?[0-9]+)?$'
toml_list='^[A-Za-z0-9._-]+(,[A-Za-z0-9._-]+)+$'

toml_value() # TEXT; sets `value`
{
    local part parts
    case $1 in
    '['* | '{'* | '"'* | "'"* | true | false) value=$1 ;;
    *[\"\\\(]*) value="'$1'" ;;
    *)
        if [[ $1 =~ $toml_number ]]; then
            value=$1
        elif [[ $1 =~ $toml_list ]]; then
            for part in ${1//,/ }; do
                toml_value "$part"
                parts=${parts+$parts, }$value
            done
            value=[$parts]
        else
            value="\"$1\""
        fi
        ;;
    esac
}

# Prints a sweep file of words: "job:" begins a table, "model::" one of several; key=value has a list where the value
# has commas, and quotes (single ones of a pattern) unless it is a number, a boolean or begins as a value does in TOML;
# other words are lines.
toml() # WORD...
{
    local word value
    for word; do
        if [[ $word =~ ^[A-Za-z0-9._-]+= ]]; then
            toml_value "${word#*=}"
            word="${word%%=*} = $value"
        elif [[ $word = *:: ]]; then
            word="[[${word%::}]]"
        elif [[ $word = *: ]]; then
            word="[${word%:}]"
        fi
        printf '%s\n' "$word"
    done
}

# --- cases ---

# In the order of the file, which the shell knows only of where it has defined them.
case_names()
{
    local name
    shopt -s extdebug
    for name in $(compgen -A function | grep __); do
        declare -F "$name"
    done | sort -n -k 2 | cut -d ' ' -f 1
}

# One case, in this shell: called through `run_cases --case NAME`. A command that fails where nobody looks at its
# status (a misspelt helper, a mkdir) fails the case.
run_one_case()
{
    trap end_case EXIT
    trap 'echo "# status $? of: $BASH_COMMAND, at $(caller_line)"' ERR
    set -E
    "$1"
    check_all_stated
}

end_case()
{
    local left
    left=$(jobs -p)
    # shellcheck disable=SC2086 # a list of process ids
    [ -z "$left" ] || kill -KILL $left 2>/dev/null || true
}

# The environment of a case: nothing of the caller's that could change what the tool does, and no device.
case_environment()
{
    local hidden=''
    ! type -P nvidia-smi >/dev/null || hidden=CUDA_VISIBLE_DEVICES=
    # shellcheck disable=SC2086 # one word or none
    exec env -i PATH="$build_dir:$PATH" HOME="$PWD" LC_ALL=C TMPDIR="$PWD" abs_top_builddir="$build_dir" \
        SLOW_MACHINE="$SLOW_MACHINE" \
        MESHSWEEP_FULL="${MESHSWEEP_FULL-}" $hidden ${SEED:+SEED="$SEED"} ${POINTS:+POINTS="$POINTS"} \
        ${MESHSWEEP_SHARED_DATA:+MESHSWEEP_SHARED_DATA="$MESHSWEEP_SHARED_DATA"} \
        ${MESHSWEEP_DEEPSPEED_SOURCE:+MESHSWEEP_DEEPSPEED_SOURCE="$MESHSWEEP_DEEPSPEED_SOURCE"} \
        ${MESHSWEEP_DEEPSPEED_PYTHON:+MESHSWEEP_DEEPSPEED_PYTHON="$MESHSWEEP_DEEPSPEED_PYTHON"} \
        ASAN_OPTIONS="${ASAN_OPTIONS-}" UBSAN_OPTIONS="${UBSAN_OPTIONS-}" LSAN_OPTIONS="${LSAN_OPTIONS-}" "$@"
}

# A python3 that is a script (pyenv's) looks for the right one at each start, which takes longer than the start, and has
# not the modules that scripts/setup.sh installs: Debian's goes before it.
find_python()
{
    local python
    python=$(type -P python3) || return 0
    [ ! -x /usr/bin/python3 ] || [ "$(head -c 2 "$python" | tr -d '\0')" != '#!' ] || PATH=/usr/bin:$PATH
}

# A machine that takes long to start a process, which is most of what a test does, may take as much longer for a test.
measure_slowness()
{
    local begun=${EPOCHREALTIME/./} each_us i
    for i in 1 2 3 4 5 6 7 8 9 10; do
        /bin/true
    done
    each_us=$(((${EPOCHREALTIME/./} - begun) / 10))
    [ "$each_us" -lt 2000 ] || SLOW_MACHINE=$((each_us / 500))
}

# Milliseconds of a processor that this shell and what it has waited for took; sets `used_ms`.
measure_used()
{
    local times time seconds
    times >"$top/times"
    read -r -d '' -a times <"$top/times" || :
    used_ms=0
    for time in "${times[@]%s}"; do
        seconds=${time#*m}
        used_ms=$((used_ms + ${time%m*} * 60000 + 10#${seconds/[.,]/}))
    done
}

# True for about one name in N of CASES_DRAWN=SEED/N, the same ones each time, but for those of CASES_SPARED.
drawn() # NAME
{
    [[ " ${CASES_SPARED-} " != *" $1 "* ]] || return 1
    local text=${CASES_DRAWN%/*}$1 hash=2166136261 i code
    for ((i = 0; i < ${#text}; i++)); do
        printf -v code %d "'${text:i:1}"
        hash=$((((hash ^ code) * 16777619) & 0xffffffff)) # FNV-1a
    done
    [ $(((hash >> 8) % ${CASES_DRAWN#*/})) -eq 0 ]
}

run_cases()
{
    local self directory top number=0 failed=0 skipped=0 name names rc used_ms before_ms
    if [ "${1-}" = --case ]; then
        run_one_case "$2"
        exit 0
    fi
    self=$(cd "$(dirname "$0")" && pwd -P)/${0##*/}
    [ -x "$meshsweep" ] || { echo "Bail out! there is no $meshsweep: build first"; exit 99; }
    find_python
    [ "$SLOW_MACHINE" -ne 4 ] || measure_slowness
    CASE_SECONDS=$((CASE_SECONDS * SLOW_MACHINE / 4))
    names=${*:-${CASES:-$(case_names)}}
    top=$(mktemp -d "${TMPDIR:-/tmp}/meshsweep-test.XXXXXX")
    mkfifo "$top/never"
    for name in $names; do
        number=$((number + 1))
        if [ "${CASES_DRAWN-}" ] && ! drawn "$name"; then
            skipped=$((skipped + 1))
            echo "ok $number - $name # SKIP not drawn by CASES_DRAWN=$CASES_DRAWN"
            continue
        fi
        directory=$top/$name
        mkdir "$directory"
        rc=0
        measure_used
        before_ms=$used_ms
        (
            cd "$directory" || exit 1
            case_environment timeout -k 5 "$CASE_SECONDS" bash "$self" --case "$name" </dev/null
        ) || rc=$?
        measure_used
        [ $((used_ms - before_ms)) -le 1000 ] || echo "# $name took $((used_ms - before_ms)) ms of a processor"
        case $rc in
        0) echo "ok $number - $name" ;;
        77)
            skipped=$((skipped + 1))
            echo "ok $number - $name # SKIP $(cat "$directory/.skipped")"
            ;;
        *)
            failed=$((failed + 1))
            [ "$rc" -ne 124 ] || echo "# still running after $CASE_SECONDS s"
            echo "not ok $number - $name"
            ;;
        esac
    done
    echo "1..$number"
    if [ "${KEEP-}" ]; then
        echo "# kept: $top"
    else
        rm -rf "$top"
    fi
    [ "$failed" -eq 0 ] || exit 1
    [ "$skipped" -lt "$number" ] || exit 77
    exit 0
}
