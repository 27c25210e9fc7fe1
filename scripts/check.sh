#!/usr/bin/env bash
# Builds and runs every test: scripts/check.sh [--full] [--sanitize] [--no-setup]
#
#   (none)      in five minutes: warnings as errors, unit and style tests, one in five of the black-box cases (drawn by
#               the commit, or by SEED), the map of the source, shellcheck, clang-format, half of the unit tests under
#               valgrind
#   --full      all black-box cases, with a kill at every fault point, and clang's warnings, under ASan and UBSan every
#               unit test and one in seven of the other cases (drawn likewise), clang-tidy, a run from a clean directory,
#               a selftest of 1,000 jobs and 100 kills, real PyTorch jobs, a real Slurm, a real browser, kills where
#               system calls are refused, 14 seconds of each fuzz target, a static program in an empty root and one for
#               64-bit ARM, the Debian packages and `make distcheck`; a part whose tool is missing then counts as failed,
#               else as skipped
#   --sanitize  only the build under ASan and UBSan and every test in it
#   --no-setup  installs nothing
#
# Each part builds in a directory of its own, build-*, so that what is built stays. What failed is said once more at the
# end, in few lines each. The last line counts test programs; the status is 0 when none failed and at least one ran.
set -eu

root=$(cd "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")/.." && pwd)
cd "$root"
jobs=$(nproc)
tests_at_once=$((3 * jobs)) # most of them wait for clocks
passed=0 failed=0 skipped=0
beside='' # process groups

# --- counting ---

pass()
{
    passed=$((passed + 1))
    echo "PASS $1"
}

# Keeps what is to be said at the end.
note_failure() # WHAT [LOG]
{
    echo "$1"
    if [ -n "${2-}" ] && [ -f "$2" ]; then
        awk -f scripts/what_failed.awk "$2" | sed 's/^/    /'
    fi
} >>build-logs/failures

# Shows the end of what the part printed.
fail() # NAME [LOG]
{
    failed=$((failed + 1))
    echo "FAIL $1"
    if [ -n "${2-}" ] && [ -f "$2" ]; then
        tail -n 200 "$2" | sed 's/^/    /'
    fi
    note_failure "$@"
}

skip() # NAME REASON
{
    skipped=$((skipped + 1))
    echo "SKIP $1: $2"
}

# Seconds of processor time of what a shell has waited for, of its `times`.
processor_time() # FILE
{
    awk 'NR == 2 { split($0, t, "[ms]"); print int(60 * t[1] + t[2] + 60 * t[3] + t[4]) }' "$1"
}

log_of() { echo "$root/build-logs/${1//[ \/]/-}.log"; } # NAME

# In a shell of its own, whose processor time is the part's and not that of what ends beside it. What it says is in its
# log; once it has ended, its status and seconds are beside that.
perform() # NAME COMMAND...
{
    local log rc=0 start=$SECONDS
    log=$(log_of "$1")
    (
        trap 'exit 130' INT
        "${@:2}" || rc=$?
        times >"$log.times"
        exit "$rc"
    ) >"$log" 2>&1 || rc=$?
    echo "$rc $((SECONDS - start)) $(processor_time "$log.times")" >"$log.part"
    mv "$log.part" "$log.status"
}

# What has been performed counts only when it failed.
ended() # NAME
{
    local log rc=1 took=0 spent=0
    log=$(log_of "$1")
    read -r rc took spent <"$log.status" || true
    if [ "$rc" -ne 0 ]; then
        fail "$1" "$log"
        return 1
    fi
    echo "done $1 ($took s, $spent s of processor time)"
}

# Runs what the tests need, a build: it counts only when it fails.
need() # NAME COMMAND...
{
    perform "$@"
    ended "$1"
}

# Runs one part that counts as one test.
step() # NAME COMMAND...
{
    if need "$@"; then
        pass "$1"
    fi
}

# In a process group of its own, which ends with this shell.
start_beside() # FUNCTION
{
    # Before it starts: whoever interrupts at once leaves none behind. That it has ended already is no failure.
    trap 'kill -- $beside ${!:+"-$!"} 2>/dev/null || true' EXIT
    trap 'exit 130' INT # even if what it interrupts ends in its own way
    set -m
    "$1" </dev/null &
    beside+=" -$!"
    set +m
}

# Waits for what runs there.
wait_beside() # NAME
{
    local log
    log=$(log_of "$1")
    until [ -e "$log.status" ] || [ -z "$(jobs -rp)" ]; do
        sleep 0.5
    done
    ended "$1"
}

# Waits for one that counts as one test.
step_beside() # NAME
{
    if wait_beside "$1"; then
        pass "$1"
    fi
}

# True when the tool is there; else the part is counted as skipped, or under --full as failed.
have() # TOOL NAME
{
    type -P "$1" >/dev/null && return
    if [ "$full" ]; then
        fail "$2: $1 is not installed"
    else
        skip "$2" "$1 is not installed"
    fi
    return 1
}

# Counts the test programs of the last `make check`, each by the result that the harness wrote beside its log.
count_programs() # BUILD-DIRECTORY LABEL
{
    local results name
    while read -r results; do
        name="$2 ${results#"$1"/}"
        name=${name%.trs}
        case $(sed -n 's/^:global-test-result: //p' "$results") in
        PASS) pass "$name" ;;
        SKIP) skip "$name" "$(sed -n 's/.*# SKIP //p' "${results%.trs}.log" | head -n 1)" ;;
        *) fail "$name" "${results%.trs}.log" ;;
        esac
    done < <(find "$1/tests" -name '*.trs' | sort)
}

# --- parts ---

# The programs and the tests, without running these. What tests do themselves is little: half of the time of compiling
# them went into making it fast; 120 of them are linked by what links fastest.
build_all() # BUILD-DIRECTORY CONFIGURE-ARGUMENTS -- NAME=VALUE...
{
    local linker=''
    ! type -P ld.gold >/dev/null || linker=-fuse-ld=gold
    scripts/build.sh "$@" all && scripts/build.sh "$@" check TESTS= CFLAGS="-g1 -O0 $linker"
}

# The programs that failed in the last `make check`, relative to the build directory, with how the harness names them.
failed_programs() # BUILD-DIRECTORY
{
    local results
    find "$1/tests" -name '*.trs' | sort | while read -r results; do
        if ! grep -qE '^:global-test-result: (PASS|SKIP)' "$results"; then
            results=${results#"$1"/}
            results=${results%.trs}
            [ -x "$1/$results" ] && [ ! -d "$1/$results" ] || results=$results.sh
            echo "$results"
        fi
    done
}

# A test that failed beside others is tried once more alone, a script with the cases that did, and told: a job's time
# limit on a machine that stalls is no defect, and what is one fails again.
retry_alone() # BUILD-DIRECTORY LABEL [NAME=VALUE for make]
{
    local directory=$1 label=$2 program log first=$root/build-logs/first.log cases
    shift 2
    while read -r program; do
        log=$directory/${program%.sh}
        cp "$log.log" "$first" 2>/dev/null || echo "it left no log" >"$first"
        echo "AGAIN $label ${program%.sh}: failed; what it said:"
        awk -f scripts/what_failed.awk "$first" | sed 's/^/    /'
        cases=$(sed -n 's/^not ok [0-9]* - //p' "$first")
        CASES=$cases CASES_DRAWN='' make -s -C "$directory" "$@" "TESTS=$program" check >>"$root/build-logs/tests.log" 2>&1 </dev/null || true
        if grep -q '^:global-test-result: PASS' "$log.trs"; then
            note_failure "$label ${program%.sh}: beside others only; alone it passed" "$first"
        fi
    done < <(failed_programs "$directory")
}

run_tests() # BUILD-DIRECTORY LABEL [NAME=VALUE for make]
{
    local directory=$1 label=$2 log=$root/build-logs/tests.log start=$SECONDS
    shift 2
    find "$directory/tests" -name '*.trs' -delete
    (
        trap 'exit 130' INT
        make -s -C "$directory" -j "$tests_at_once" "$@" check 2>&1 | tee "$log" |
            sed -un 's/^[A-Z]*: tests/ended &/p' || true
        retry_alone "$directory" "$label" "$@"
        times >"$log.times"
    )
    if [ -z "$(find "$directory/tests" -name '*.trs' -print -quit)" ]; then
        fail "$label tests: none ran" "$log"
    fi
    count_programs "$directory" "$label"
    echo "done $label tests ($((SECONDS - start)) s, $(processor_time "$log.times") s of processor time)"
}

# Of tests/cli/lib.sh, which takes four times as long as the test that includes it, only the names of its variables.
check_scripts()
{
    local scripts=() library=$root/build-logs/shellcheck names
    mkdir -p "$library"
    names=$(grep -oE '\b[A-Za-z_]+=' tests/cli/lib.sh | sort -u | tr '=\n' '  ')
    # shellcheck disable=SC2086 # words
    printf 'set -eu\nread -r %s\n: %s\n' "$names" "$(printf '"$%s" ' $names)" >"$library/lib.sh"
    mapfile -t scripts < <(find run.sh .ci scripts tests configs -type f \( -name '*.sh' -o -path '.ci/*' \))
    printf '%s\0' "${scripts[@]}" | xargs -0 -n 4 -P "$jobs" shellcheck -P "$library:SCRIPTDIR"
}

# Formatters of other versions break lines elsewhere: only Debian's has a say.
check_format()
{
    local sources=()
    mapfile -t sources < <(find src tests -type f \( -name '*.[ch]' -o -name '*.cc' \))
    printf '%s\0' "${sources[@]}" | xargs -0 -n 40 -P "$jobs" clang-format --dry-run -Werror
}

# The unit tests alone: the black-box tests start a process per case, and what they reach the unit tests reach too. Those
# that take over 0.1 s by themselves are left out: with --full all run under the sanitizers. valgrind runs vfork as fork,
# so that the supervisor's test cannot pass; the sanitizers see to it.
run_under_valgrind()
{
    local programs=() unfit=tests/unit/test_supervisor tests_at_once=$jobs
    mapfile -t programs < <(cd build-check && find tests/unit -type f -executable -name 'test_*' ! -path "$unfit" | sort)
    [ ${#programs[@]} -gt 0 ] || return 0
    # Without --full half of them, drawn as the cases are.
    [ "$full" ] || mapfile -t programs < <(printf '%s\n' "${programs[@]}" |
        shuf -n $(((${#programs[@]} + 1) / 2)) --random-source=<(yes "$(draw)"))
    run_tests build-check valgrind TESTS="${programs[*]}" LOG_COMPILER="$root/scripts/memcheck.sh 0.1"
    skip "valgrind $unfit" "valgrind has no vfork that shares memory"
}

# What is drawn by.
draw() { echo "${SEED:-$(git rev-parse --short HEAD 2>/dev/null || echo 1)}"; }

# About one in N of the black-box cases runs.
draw_cases() # N
{
    [ "$1" -gt 1 ] || return 0
    CASES_DRAWN=$(draw)/$1
    export CASES_DRAWN
    echo "one in $1 of the black-box cases runs: CASES_DRAWN=$CASES_DRAWN"
}

# At a fixed address a program need not be relocated at each start, of which there are ten thousand. A report names lines
# by -g1. Optimizing takes half of the time of compiling, and is worth it where tests compute.
build_sanitized()
{
    local flags='-g1 -fno-pie' computing
    computing=$(printf '%s\n' src/{expression,join,models,predict,search,trainer,util}/*.c | sed 's/c$/o/')
    # shellcheck disable=SC2086 # words
    scripts/build.sh build-sanitize --enable-sanitizers CFLAGS="-O0 $flags" CXXFLAGS="-O0 $flags" LDFLAGS=-no-pie \
        -- $computing CFLAGS="-O1 $flags" && build_all build-sanitize --
}

# A report ends the program with a status that no test expects.
run_sanitized()
{
    local tests_at_once=$((2 * jobs)) # with less time to wait in
    export ASAN_OPTIONS=exitcode=99:detect_leaks=1:strict_string_checks=1
    export UBSAN_OPTIONS=exitcode=99:print_stacktrace=1
    # Cases take three times as long as in the plain build: of the black-box tests, which run for what no unit test
    # reaches, so many are drawn as fit into five minutes. Of the rounds that prove a law in the plain build a tenth.
    # None is drawn that took over a second in the plain build: what takes long is much of the same, many jobs or
    # rounds, and took half of the time here.
    if [ "$full" ]; then
        draw_cases 7
        CASES_SPARED=$(sed -n 's/^# \([a-z_0-9]*\) took [0-9]* ms of a processor$/\1/p' build-check/tests/cli/*.log | tr '\n' ' ')
        export CASES_SPARED
        MESHSWEEP_FEW_ROUNDS=$(draw | cksum | cut -d ' ' -f 1)
        export MESHSWEEP_FEW_ROUNDS
    fi
    # Without those in which the program is not at work.
    run_tests build-sanitize sanitize "TESTS=\$(filter-out tests/style/% tests/cli/test_check_sh.sh tests/cli/test_harness.sh \
        tests/cli/test_run_sh.sh tests/cli/test_sbom.sh tests/cli/test_setup_sh.sh,\$(script_tests) \$(unit_tests))"
    unset ASAN_OPTIONS UBSAN_OPTIONS CASES_DRAWN CASES_SPARED MESHSWEEP_FEW_ROUNDS
}

# As a newcomer: from an empty directory, through a link. What is built is there, by the same script; all jobs of the
# quickstart, shorter ones, run in tests/cli/test_configs.sh.
run_from_elsewhere()
{
    local directory rc=0 linked=''
    directory=$(mktemp -d)
    ln -s "$root/run.sh" "$directory/run"
    [ -e build ] || { ln -s build-check build && linked=build; }
    (cd "$directory" && timeout 900 ./run --limit 12 </dev/null) || rc=$?
    rm -rf "$directory" ${linked:+"$linked"}
    return "$rc"
}

# Jobs under PyTorch, a Slurm of several nodes, a Grid Engine, the report in a browser, 100 kills, and whole what else
# is drawn of kills and old databases: once, in the plain build, since each takes minutes or waits for clocks of its own,
# for which another can use the processor.
real_tests="tests/cli/test_slurm_cluster.sh tests/cli/test_gridengine.sh tests/cli/test_ssh.sh tests/cli/test_engines.sh \
    tests/cli/test_power_cuts.sh tests/cli/test_torch.sh tests/cli/test_report_browser.sh tests/cli/test_faults.sh \
    tests/cli/test_failed_calls.sh tests/cli/test_migrations.sh tests/cli/test_selftest.sh tests/cli/test_torque.sh"
real_surroundings()
{
    local tests_at_once=$((2 * jobs))
    export MESHSWEEP_FULL=1 MESHSWEEP_BROWSER_TEST=1
    run_tests build-check real TESTS="$real_tests"
    unset MESHSWEEP_FULL MESHSWEEP_BROWSER_TEST
}

# DeepSpeed's newest engine needs pydantic 2, which Debian 13 has.
newest_engine()
{
    if [ -z "${MESHSWEEP_DEEPSPEED_SOURCE-}" ]; then
        skip "DeepSpeed's engine" "MESHSWEEP_DEEPSPEED_SOURCE names no source of DeepSpeed"
    elif [ ! -x build-engine/python ] && ! scripts/engine_python.sh build-engine >build-logs/engine.log 2>&1; then
        skip "DeepSpeed's engine" "Debian 13's Python cannot be had (build-logs/engine.log)"
    else
        export MESHSWEEP_DEEPSPEED_PYTHON=$root/build-engine/python
        run_tests build-check engine TESTS=tests/cli/test_deepspeed_engine.sh
        unset MESHSWEEP_DEEPSPEED_PYTHON
    fi
}

# Kills, and children that are hard to end, where kernels are old or containers refuse calls.
refused_calls()
{
    local refuse=$root/build-check/tests/cli/refuse_calls
    (cd build-check && "$refuse" | xargs -P "$jobs" -I PROFILE sh -ec '
        for words in tests/unit/test_process_tree tests/unit/test_supervisor \
            "./meshsweep selftest --kills 8 --jobs 40 --seed 1"; do
            timeout -k 10 100 "$0" PROFILE $words || { echo "FAILED under PROFILE: $words"; exit 1; }
        done' "$refuse")
}

# The tarball builds, installs and holds every file but those of the repository and of Debian. Its programs are those that
# were tested above, of which it takes the objects (the package compiles it): here, as in the package's build, no further
# test is built than what reads installed and shipped files.
check_distribution()
{
    local missing take="$root/scripts/compiled_before.sh $root/build-check"
    make -s -C build-check -j "$jobs" distcheck XZ_OPT=-1 \
        DISTCHECK_CONFIGURE_FLAGS="CFLAGS=-O0 CXXFLAGS=-O0 CC='$take gcc' CXX='$take g++'" \
        check_PROGRAMS="tests/unit/test_util tests/cli/refresh_views" \
        TESTS="tests/unit/test_util tests/cli/test_command_line.sh tests/cli/test_configurations.sh \
            tests/cli/test_install.sh tests/cli/test_run_sh.sh" || return
    missing=$(comm -23 <(git ls-files | grep -vE '^(debian/|\.gitignore$)' | sort) \
        <(tar -tf build-check/meshsweep-*.tar.xz | sed 's,^[^/]*/,,' | sort))
    [ -z "$missing" ] || { printf 'not distributed:\n%s\n' "$missing"; return 1; }
}

plain_parts()
{
    if need "build" build_all build-check --enable-faults CFLAGS='-g1 -O2' CXXFLAGS='-g1 -O2' -- WERROR=-Werror; then
        [ -z "$full" ] || start_beside compile
        # Under --full those follow, with all that they try here and more.
        [ "$full" ] || draw_cases 5
        run_tests build-check check WERROR=-Werror \
            "TESTS=\$(filter-out ${full:+$real_tests},\$(script_tests) \$(unit_tests))"
        unset CASES_DRAWN
    fi
    step "map of the source" scripts/architecture.sh
    if have shellcheck "shellcheck"; then
        step "shellcheck" check_scripts
    fi
    if ! have clang-format "format"; then
        :
    elif clang-format --version | grep -q 'version 14\.'; then
        step "format" check_format
    else
        skip "format" "clang-format is not version 14, which the format is by"
    fi
    if have valgrind "unit tests under valgrind"; then
        run_under_valgrind
    fi
}

# What mostly compiles takes what the tests leave: they wait for clocks part of their time. Of two rows, in each of which
# one follows another, one waits for the network too.
compile()
{
    renice -n 10 "$BASHPID" >/dev/null
    compile_of_the_tree &
    perform "static program for 64-bit ARM" scripts/static.sh --try --noopt --host aarch64-linux-gnu
    perform "static program in an empty root" scripts/static.sh --try --noopt --take build-check
    perform "Debian packages" env XZ_OPT=-1 DEB_CFLAGS_STRIP=-g DEB_CXXFLAGS_STRIP=-g \
        DEB_BUILD_OPTIONS="nocheck noopt noautodbgsym" scripts/package.sh
    perform "make distcheck" check_distribution
    wait
}

compile_of_the_tree()
{
    perform "build with sanitizers" build_sanitized
    perform "clang-tidy" make -s -C build-check -k -j "$jobs" tidy
    perform "warnings of clang" make -s -C build-check -k -j "$jobs" syntax WERROR=-Werror
}

# Those that wait for clocks of their own.
short_parts()
{
    perform "selftest, 100 kills" build-check/meshsweep selftest --kills 100 --jobs 1000 --seed 1
    perform "kills where calls are refused" refused_calls
    perform "run.sh from elsewhere" run_from_elsewhere
}

full_parts()
{
    start_beside short_parts
    real_surroundings
    newest_engine
    if [ -n "${MESHSWEEP_DEEPSPEED_HISTORY-}" ]; then
        step "keys of DeepSpeed's releases" python3 tests/standin/engine/keys_by_release.py "$MESHSWEEP_DEEPSPEED_HISTORY"
    else
        skip "keys of DeepSpeed's releases" "MESHSWEEP_DEEPSPEED_HISTORY names no repository of DeepSpeed"
    fi
    if wait_beside "build with sanitizers"; then
        run_sanitized
    fi
    step_beside "run.sh from elsewhere"
    step_beside "selftest, 100 kills"
    step_beside "kills where calls are refused"
    if have clang "fuzzing"; then
        step "fuzzing" scripts/fuzz.sh 14
    fi
    if have clang "warnings of clang"; then
        step_beside "warnings of clang"
    fi
    if have clang-tidy "clang-tidy"; then
        step_beside "clang-tidy"
    fi
    step_beside "static program in an empty root"
    if have aarch64-linux-gnu-g++ "static program for 64-bit ARM"; then
        step_beside "static program for 64-bit ARM"
    fi
    if have dh "Debian packages"; then
        step_beside "Debian packages"
    fi
    step_beside "make distcheck"
    wait # for their processor time
}

# --- the whole ---

full='' sanitize='' setup=1
for argument; do
    case $argument in
    --full) full=1 ;;
    --sanitize) sanitize=1 ;;
    --no-setup) setup='' ;;
    *)
        echo "usage: scripts/check.sh [--full] [--sanitize] [--no-setup]" >&2
        exit 2
        ;;
    esac
done

mkdir -p build-logs
rm -f build-logs/*.status
: >build-logs/failures
if [ "$setup" ]; then
    # Without the tests' own tools a part is skipped; without those of the build nothing can be said.
    scripts/setup.sh build
    if [ "$full" ]; then
        scripts/setup.sh full || true
    else
        scripts/setup.sh check || true
    fi
fi
if [ "$sanitize" ] && [ -z "$full" ]; then
    if need "build with sanitizers" build_sanitized; then
        run_sanitized
    fi
else
    plain_parts
    if [ "$full" ]; then
        full_parts
    fi
fi
if [ -s build-logs/failures ]; then
    echo "what failed:"
    cat build-logs/failures
fi
times >build-logs/times
echo "took $SECONDS s, $(processor_time build-logs/times) s of processor time"
echo "$passed passed, $failed failed, $skipped skipped"
[ "$failed" -eq 0 ] && [ "$passed" -gt 0 ]
