#!/usr/bin/env bash
# scripts/check.sh: how it tells of what failed. Its parts are stand-ins here, in a tree of their own.
. "${0%/*}/lib.sh"

# The map of the source is wrong; of three test programs one is sound, one broken, and one fails the first time.
tree_with_failures()
{
    mkdir -p tree/scripts bin
    cp "$source_dir/scripts/check.sh" "$source_dir/scripts/what_failed.awk" tree/scripts
    stand_in bin/shellcheck </dev/null
    stand_in bin/valgrind </dev/null
    stand_in bin/clang-format <<<'echo version 14.0'
    stand_in tree/scripts/architecture.sh <<<'seq 20; echo "the map is old" >&2; exit 1'
    stand_in tree/scripts/build.sh </dev/null
    stand_in tree/build-check/tests/unit/test_sound <<<'echo "[       OK ] all"'
    stand_in tree/build-check/tests/unit/test_broken <<'END'
echo "[==========] Running 2 test(s)."
echo "[ RUN      ] addition"
echo "[       OK ] addition"
echo "[ RUN      ] division"
echo "[  ERROR   ] --- 0x1 != 0x2"
echo "[  FAILED  ] division"
echo "[==========] 2 test(s) run."
echo "[  FAILED  ] 1 test(s), listed below:"
echo "[  FAILED  ] division"
exit 1
END
    stand_in tree/build-check/tests/cli/test_crowded.sh <<'END'
[ ! -e again ] || { echo "$CASES" >cases; exit 0; }
touch again
echo "ok 1 - before"
echo "# waited in vain"
echo "#   at test_crowded.sh:7"
seq 20
echo "not ok 2 - patience"
exit 1
END
    cat >tree/build-check/Makefile <<'END'
script_tests = tests/unit/test_sound tests/unit/test_broken tests/cli/test_crowded.sh
check:
	@for test in $(if $(LOG_COMPILER),tests/unit/test_sound,$(TESTS)); do \
	    result=PASS; ./$$test >$${test%.sh}.log || result=FAIL; \
	    echo ":global-test-result: $$result" >$${test%.sh}.trs; \
	done
END
}

failures__of_all_kinds__said_at_the_end_in_few_lines()
{
    tree_with_failures
    run_command env PATH="$PWD/bin:$PATH" tree/scripts/check.sh --no-setup
    expect_only_stdout_contains 1 'FAIL check tests/unit/test_broken' 'PASS check tests/cli/test_crowded'
    expect_stdout_contains 'PASS shellcheck'
    expect "[ \"\$(cat tree/build-check/cases)\" = patience ]"
    sed -n '/^what failed:$/,$ p' .stdout | sed 's/^took [0-9]* s, [0-9]* s of processor time$/took some time/' >end
    cat >expected <<END
what failed:
check tests/cli/test_crowded: beside others only; alone it passed
    not ok 2 - patience
    # waited in vain
    #   at test_crowded.sh:7
$(seq 10 | sed 's/^/    /')
    ...
check tests/unit/test_broken
    [  FAILED  ] division
    [  ERROR   ] --- 0x1 != 0x2
map of the source
$(seq 10 20 | sed 's/^/    /')
    the map is old
took some time
5 passed, 2 failed, 1 skipped
END
    diff -u expected end >difference || fail "$(cat difference)"
}

no_failure__ends_with_the_count()
{
    tree_with_failures
    stand_in tree/scripts/architecture.sh </dev/null
    stand_in tree/build-check/tests/unit/test_broken </dev/null
    touch tree/build-check/again
    run_command env PATH="$PWD/bin:$PATH" tree/scripts/check.sh --no-setup
    expect_only_stdout_matches 0 '^7 passed, 0 failed, 1 skipped$'
    expect_stdout_lacks 'what failed'
}

# What runs beside the tests of the full check counts as if it ran alone, and none of it is left when these are stopped.
compilers_beside_the_tests__fail_or_pass_in_their_turn()
{
    tree_with_failures
    for tool in clang clang-tidy aarch64-linux-gnu-g++ dh; do
        stand_in "bin/$tool" </dev/null
    done
    for tool in fuzz static package; do
        stand_in "tree/scripts/$tool.sh" </dev/null
    done
    stand_in tree/run.sh </dev/null
    stand_in tree/build-check/meshsweep </dev/null
    printf 'tidy:\n\t@echo "x.c:1: a leak"; exit 1\nsyntax distcheck:\n' >>tree/build-check/Makefile
    cp -r tree/build-check tree/build-sanitize
    run_command env PATH="$PWD/bin:$PATH" tree/scripts/check.sh --no-setup --full
    expect_only_stdout_contains 1 'PASS warnings of clang' 'FAIL clang-tidy' '    x.c:1: a leak' \
        'PASS sanitize tests/unit/test_sound' 'FAIL sanitize tests/unit/test_broken'
    for tool in tests/unit/test_broken $(grep -o 'tests/cli/test_[a-z_]*[.]sh' tree/scripts/check.sh); do
        stand_in "tree/build-check/$tool" </dev/null
    done
    cp tree/build-check/tests/unit/test_broken tree/build-sanitize/tests/unit
    stand_in tree/scripts/architecture.sh </dev/null
    printf 'tidy:\n\t@:\n' >>tree/build-check/Makefile
    run_command env PATH="$PWD/bin:$PATH" tree/scripts/check.sh --no-setup --full
    expect_only_stdout_matches 0 '^[0-9]+ passed, 0 failed, [0-9]+ skipped$'
    printf 'tidy:\n\t@echo $$$$ >../sleeper; exec sleep 500\n' >>tree/build-check/Makefile
    (trap - INT && PATH="$PWD/bin:$PATH" exec setsid tree/scripts/check.sh --no-setup --full) >/dev/null 2>&1 &
    wait_until '[ -s tree/sleeper ]' 30
    kill -INT -- "-$!"
    wait_until '! kill -0 "$(cat tree/sleeper)" 2>/dev/null' 30
}

# A draw takes about a third of forty cases, the same ones each time, others by another seed, and none that is spared;
# or those that are named.
cases__drawn_or_named__alone()
{
    { echo '. "$0.lib"'; seq -f 'case__%g() { :; }' 40; echo 'run_cases "$@"'; } >forty.sh
    cp "$tests_source_dir/cli/lib.sh" forty.sh.lib
    for seed in a b a; do
        run_command env CASES_DRAWN="$seed/3" bash ./forty.sh
        expect_only_stdout_contains 0 "# SKIP not drawn by CASES_DRAWN=$seed/3" 1..40
        grep -v SKIP .stdout >drawn
        if [ ! -e "drawn.$seed" ]; then
            mv drawn "drawn.$seed"
        fi
    done
    expect 'cmp drawn drawn.a' '! cmp -s drawn.a drawn.b'
    expect '[ "$(wc -l <drawn.a)" -gt 6 ] && [ "$(wc -l <drawn.a)" -lt 24 ]'
    read -r _ _ _ spared <drawn.a
    expect_command among_stdout 0 env CASES_DRAWN=a/3 CASES_SPARED="case $spared" bash ./forty.sh
    grep -v SKIP .stdout >drawn || true
    expect '[ "$(comm -3 <(sort drawn) <(sort drawn.a) | grep -o "case__.*")" = "$spared" ]'
    run_command env CASES='case__7 case__30' bash ./forty.sh
    expect_only_stdout 0 'ok 1 - case__7
ok 2 - case__30
1..2'
}

# The full check spares what takes long, by these words.
case__over_a_second_of_a_processor__told()
{
    cat >long.sh <<'END'
. "$0.lib"
a__b() { top=$PWD; until measure_used; [ "$used_ms" -gt 1000 ]; do for ((i = 0; i < 9999; i++)); do :; done; done; }
c__d() { :; }
run_cases "$@"
END
    cp "$tests_source_dir/cli/lib.sh" long.sh.lib
    run_command bash ./long.sh
    expect_only_stdout_matches 0 '^# a__b took [1-9][0-9]{3} ms of a processor$' '^ok 2 - c__d$'
    expect_stdout_lacks 'c__d took'
    grep -qF 'took [0-9]* ms of a processor' "$source_dir/scripts/check.sh" || fail "check.sh looks for other words"
}

# A log that names no case is told from the first error on, else by its last lines.
logs_without_cases__in_few_lines()
{
    { seq 30; echo "x.c:1:2: error: no"; seq 30; } >build.log
    run_command awk -f "$source_dir/scripts/what_failed.awk" build.log
    expect_only_stdout 0 "x.c:1:2: error: no
$(seq 11)"
    seq 30 >crash.log
    expect_said_by only_stdout 0 "$(seq 19 30)" run_command awk -f "$source_dir/scripts/what_failed.awk" crash.log
    : >empty.log
    expect_command silent 0 awk -f "$source_dir/scripts/what_failed.awk" empty.log
}

# What runs nowhere else is run there: nobody would see it fail.
cases_of_the_full_check_alone__named_in_it()
{
    local file found=0
    while read -r file; do
        found=$((found + 1))
        grep -q "tests/cli/${file##*/}" "$source_dir/scripts/check.sh" || fail "the full check does not run $file"
    done < <(grep -lE 'MESHSWEEP_FULL-\}" \] \|\| skip' "$source_dir"/tests/cli/test_*.sh)
    expect "[ $found -gt 3 ]"
}

run_cases "$@"
