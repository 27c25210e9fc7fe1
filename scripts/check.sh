#!/usr/bin/env bash
# Builds and runs every test: scripts/check.sh [--full] [--sanitize] [--no-setup]
#
#   (none)      in five minutes: warnings as errors, unit and style tests, one in three of the black-box cases (drawn by
#               the commit, or by SEED), the map of the source, shellcheck, clang-format, unit tests under valgrind
#   --full      all black-box cases, with a kill at every fault point, and clang's warnings, under ASan and UBSan every
#               unit test and as many cases of the others as nine minutes hold (drawn likewise), clang-tidy, a run from a
#               clean directory, a selftest of 1,000 jobs and 100 kills, real PyTorch jobs, a real Slurm, a real browser,
#               kills where system calls are refused, ten seconds of each fuzz target, a static program in an empty root
#               and one for 64-bit ARM, the Debian packages and `make distcheck`; a part whose tool is missing then counts
#               as failed, else as skipped
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
plain_took=0 # seconds of the tests in the plain build

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

# Seconds of processor time of all that has ended so far, in `spent`.
count_spent()
{
    times >build-logs/times
    spent=$(awk 'NR == 2 { split($0, t, "[ms]"); print int(60 * t[1] + t[2] + 60 * t[3] + t[4]) }' build-logs/times)
}

begin_part() { count_spent; part_start=$SECONDS part_spent=$spent; }
end_part()
{
    count_spent
    part_took=$((SECONDS - part_start))
    echo "done $1 ($part_took s, $((spent - part_spent)) s of processor time)"
}

# Runs what the tests need, a build: it counts only when it fails.
need() # NAME COMMAND...
{
    local name=$1 log=$root/build-logs/${1//[ \/]/-}.log
    shift
    begin_part
    if ! "$@" >"$log" 2>&1; then
        fail "$name" "$log"
        return 1
    fi
    end_part "$name"
}

# Runs one part that counts as one test.
step() # NAME COMMAND...
{
    if need "$@"; then
        pass "$1"
    fi
}

# What mostly compiles, one after another, beside tests that wait for clocks half of their time. What is there first is
# wanted first.
start_compilers()
{
    rm -f build-logs/beside-*
    # Before they start: whoever interrupts at once leaves none behind. That they have ended already is no failure.
    trap 'kill -- "-${compilers:-$!}" 2>/dev/null || true' EXIT
    trap 'exit 130' INT # even if what it interrupts ends in its own way
    set -m              # in a process group of its own
    {
        if type -P clang >/dev/null; then
            compile "warnings of clang" make -s -C build-check -k -j "$jobs" syntax WERROR=-Werror
        fi
        compile "build with sanitizers" build_sanitized
        if type -P clang-tidy >/dev/null; then
            compile "clang-tidy" make -s -C build-check -k -j "$jobs" tidy
        fi
        compile "static program in an empty root" scripts/static.sh --try
        if type -P aarch64-linux-gnu-g++ >/dev/null; then
            compile "static program for 64-bit ARM" scripts/static.sh --try --host aarch64-linux-gnu
        fi
        if type -P dh >/dev/null; then
            compile "Debian packages" env DEB_BUILD_OPTIONS="nocheck noopt" scripts/package.sh
        fi
        compile "make distcheck" check_distribution
    } </dev/null &
    compilers=$!
    set +m
}

compile() # NAME COMMAND...
{
    local of=build-logs/beside-${1// /-} rc=0 start=$SECONDS
    (
        renice -n 10 "$BASHPID"
        "${@:2}"
    ) >"$of" 2>&1 || rc=$?
    echo "$rc $((SECONDS - start))" >"$of.part"
    mv "$of.part" "$of.status"
}

# Waits for it, prints what it said and returns its status. The part took as long as it did, not as it was waited for.
compiled() # NAME
{
    local of=build-logs/beside-${1// /-} rc=1 took=0
    until [ -e "$of.status" ] || [ -z "$(jobs -rp)" ]; do
        sleep 0.5
    done
    cat "$of"
    read -r rc took <"$of.status" || true
    part_start=$((SECONDS - took))
    return "$rc"
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
    done < <(find "$1" -name '*.trs' | sort)
}

# --- parts ---

# The programs and the tests, without running these. What tests do themselves is little: half of the time of compiling
# them went into making it fast.
build_all() # BUILD-DIRECTORY CONFIGURE-ARGUMENTS -- NAME=VALUE...
{
    scripts/build.sh "$@" all && scripts/build.sh "$@" check TESTS= CFLAGS='-g1 -O0'
}

# The programs that failed in the last `make check`, relative to the build directory, with how the harness names them.
failed_programs() # BUILD-DIRECTORY
{
    local results
    find "$1" -name '*.trs' | sort | while read -r results; do
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
    local directory=$1 label=$2 log=$root/build-logs/tests.log
    shift 2
    begin_part
    find "$directory" -name '*.trs' -delete
    make -s -C "$directory" -j "$tests_at_once" "$@" check 2>&1 | tee "$log" |
        sed -un 's/^[A-Z]*: tests/ended &/p' || true
    retry_alone "$directory" "$label" "$@"
    if [ -z "$(find "$directory" -name '*.trs' -print -quit)" ]; then
        fail "$label tests: none ran" "$log"
    fi
    count_programs "$directory" "$label"
    end_part "$label tests"
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
    run_tests build-check valgrind TESTS="${programs[*]}" LOG_COMPILER="$root/scripts/memcheck.sh 0.1"
    skip "valgrind $unfit" "valgrind has no vfork that shares memory"
}

# About one in N of the black-box cases runs.
draw_cases() # N
{
    [ "$1" -gt 1 ] || return 0
    export CASES_DRAWN=${SEED:-$(git rev-parse --short HEAD 2>/dev/null || echo 1)}/$1
    echo "one in $1 of the black-box cases runs: CASES_DRAWN=$CASES_DRAWN"
}

# At a fixed address a program need not be relocated at each start, of which there are ten thousand. A report names lines
# by -g1.
build_sanitized()
{
    build_all build-sanitize --enable-sanitizers CFLAGS='-g1 -O1 -fno-pie' CXXFLAGS='-g1 -O1 -fno-pie' LDFLAGS=-no-pie --
}

# A report ends the program with a status that no test expects.
sanitized() # COMMAND... that builds it
{
    local tests_at_once=$((2 * jobs)) # with less time to wait in
    export ASAN_OPTIONS=exitcode=99:detect_leaks=1:strict_string_checks=1
    export UBSAN_OPTIONS=exitcode=99:print_stacktrace=1
    if need "build with sanitizers" "$@"; then
        # All cases take three times as long as in the plain build: of the black-box tests, which run for what no unit
        # test reaches, so many are drawn as fit into five minutes.
        draw_cases $(((3 * plain_took + 299) / 300))
        # Without those in which the program is not at work.
        run_tests build-sanitize sanitize "TESTS=\$(filter-out tests/style/% tests/cli/test_check_sh.sh tests/cli/test_harness.sh \
            tests/cli/test_run_sh.sh tests/cli/test_sbom.sh tests/cli/test_setup_sh.sh,\$(script_tests) \$(unit_tests))"
    fi
    unset ASAN_OPTIONS UBSAN_OPTIONS CASES_DRAWN
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
real_tests="tests/cli/test_torch.sh tests/cli/test_slurm_cluster.sh tests/cli/test_gridengine.sh tests/cli/test_engines.sh \
    tests/cli/test_torque.sh tests/cli/test_report_browser.sh tests/cli/test_selftest.sh tests/cli/test_failed_calls.sh \
    tests/cli/test_power_cuts.sh tests/cli/test_faults.sh tests/cli/test_migrations.sh tests/cli/test_ssh.sh"
real_surroundings()
{
    local tests_at_once=$((jobs + 1))
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
# were tested above: here, as in the package's build, no further test is built than what reads installed and shipped files.
check_distribution()
{
    local missing
    make -s -C build-check -j "$jobs" distcheck DISTCHECK_CONFIGURE_FLAGS='CFLAGS=-O0 CXXFLAGS=-O0' \
        check_PROGRAMS="tests/unit/test_util tests/cli/refresh_views" \
        TESTS="tests/unit/test_util tests/cli/test_command_line.sh tests/cli/test_configurations.sh \
            tests/cli/test_install.sh tests/cli/test_run_sh.sh" || return
    missing=$(comm -23 <(git ls-files | grep -vE '^(debian/|\.gitignore$)' | sort) \
        <(tar -tf build-check/meshsweep-*.tar.xz | sed 's,^[^/]*/,,' | sort))
    [ -z "$missing" ] || { printf 'not distributed:\n%s\n' "$missing"; return 1; }
}

plain_parts()
{
    if need "build" build_all build-check --enable-faults -- WERROR=-Werror; then
        # Under --full those follow, with all that they try here and more.
        [ "$full" ] || draw_cases 3
        run_tests build-check check WERROR=-Werror \
            "TESTS=\$(filter-out ${full:+$real_tests},\$(script_tests) \$(unit_tests))"
        plain_took=$part_took
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

full_parts()
{
    start_compilers
    real_surroundings
    newest_engine
    if [ -n "${MESHSWEEP_DEEPSPEED_HISTORY-}" ]; then
        step "keys of DeepSpeed's releases" python3 tests/standin/engine/keys_by_release.py "$MESHSWEEP_DEEPSPEED_HISTORY"
    else
        skip "keys of DeepSpeed's releases" "MESHSWEEP_DEEPSPEED_HISTORY names no repository of DeepSpeed"
    fi
    step "run.sh from elsewhere" run_from_elsewhere
    sanitized compiled "build with sanitizers"
    step "selftest, 100 kills" build-check/meshsweep selftest --kills 100 --jobs 1000 --seed 1
    step "kills where calls are refused" refused_calls
    if have clang "warnings of clang"; then
        step "warnings of clang" compiled "warnings of clang"
    fi
    if have clang-tidy "clang-tidy"; then
        step "clang-tidy" compiled "clang-tidy"
    fi
    step "static program in an empty root" compiled "static program in an empty root"
    if have aarch64-linux-gnu-g++ "static program for 64-bit ARM"; then
        step "static program for 64-bit ARM" compiled "static program for 64-bit ARM"
    fi
    if have dh "Debian packages"; then
        step "Debian packages" compiled "Debian packages"
    fi
    step "make distcheck" compiled "make distcheck"
    if have clang "fuzzing"; then
        step "fuzzing" scripts/fuzz.sh 10
    fi
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
    sanitized build_sanitized
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
count_spent
echo "took $SECONDS s, $spent s of processor time"
echo "$passed passed, $failed failed, $skipped skipped"
[ "$failed" -eq 0 ] && [ "$passed" -gt 0 ]
