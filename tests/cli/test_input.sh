#!/usr/bin/env bash
# Sweep files that cannot be used, and the exit statuses: one sentence, the right number, nothing touched.
. "${0%/*}/lib.sh"

# A sweep file that is refused by run and by plan, which make nothing.
expect_refused() # FILE SENTENCE
{
    local command
    for command in run plan; do
        expect_said only_stderr 2 "meshsweep: $2" "$command" -c "$1"
    done
    expect "! ls -d results* 2>/dev/null"
}

file__absent_or_a_directory__said()
{
    mkdir place.toml
    expect_refused absent.toml 'absent.toml: no such file; name the sweep file with -c FILE, or write one with '\
'meshsweep init'
    expect_refused place.toml 'place.toml: cannot read: Is a directory'
    expect_refused place.toml/x.toml 'place.toml/x.toml: no such file; name the sweep file with -c FILE, or write '\
'one with meshsweep init'
    run_meshsweep
    expect_only_stderr 2 'meshsweep: sweep.toml: no such file; name the sweep file with -c FILE, or write one with '\
'meshsweep init'
}

# The database knows which file its jobs come from.
file__not_named_and_none_here__that_of_the_database()
{
    printf '%s\n' '[job]' 'command = ["true"]' '[parallel_spec]' 'lr = [1, 2, 3]' >rates.toml
    expect_run only_stderr 0 run -c rates.toml -d rates.db --progress none --limit 1
    expect_run status 0 plan -d rates.db
    expect_stdout_contains 'rates: 3 combinations, 3 matched'
    expect_stderr 'meshsweep: there is no sweep.toml here; using rates.toml, which is recorded in rates.db'
    expect_said only_stderr_contains 0 'using rates.toml, which is recorded in rates.db' run -d rates.db --progress none
    expect_sql 3 "SELECT count(*) FROM job WHERE state = 'ok'" rates.db
    sed 's/3/4/' rates.toml >sweep.toml
    expect_said only_stdout_contains 0 'sweep: 3 combinations, 3 matched' plan -d rates.db
}

# Root reads everything: nobody takes its place.
file__unreadable__said()
{
    local as=()
    small_sweep sweep.toml
    chmod 000 sweep.toml
    if [ -r sweep.toml ]; then
        type -P setpriv >/dev/null || skip "setpriv is not installed"
        # Nobody may not write a build's counters, and LeakSanitizer needs rights that it has not.
        as=(env GCOV_PREFIX="$PWD/counters" ASAN_OPTIONS="${ASAN_OPTIONS-}:detect_leaks=0"
            setpriv --reuid=65534 --regid=65534 --clear-groups)
        chmod 777 . && chmod 755 ..
        "${as[@]}" test -x "$meshsweep" || skip "nobody may not run $meshsweep"
        "${as[@]}" test -w . || skip "nobody may not write here"
    fi
    run_command "${as[@]}" "$meshsweep" run
    expect_only_stderr 2 'meshsweep: sweep.toml: cannot open: Permission denied'
    run_command "${as[@]}" "$meshsweep" check sweep.toml
    expect_only_stderr 2 'meshsweep: sweep.toml: cannot open: Permission denied'
    expect "! ls -d results* 2>/dev/null"
}

rule__hostile__refused_or_stopped_with_a_sentence()
{
    small_sweep sweep.toml
    cp sweep.toml plain.toml
    printf '[[rule]]\nname = "r"\nrequire = "%s"\n' \
        'EXISTS (WITH RECURSIVE n AS (SELECT 1 UNION ALL SELECT x FROM n) SELECT 1)' >>sweep.toml
    expect_said only_stderr_matches 2 '^meshsweep: sweep.toml:[0-9]+:[0-9]+: rule .r.: ' plan
    cp plain.toml sweep.toml
    printf '[[rule]]\nname = "r"\nrequire = "%s"\n' "x GLOB printf('%*d', 2000, y)" >>sweep.toml
    expect_run only_stderr 2 plan
    expect_stderr 'meshsweep: sweep.toml:17:1: rule `r` fails for a combination: LIKE or GLOB pattern too complex'
    cp plain.toml sweep.toml
    printf '[derive]\nlong = "%s"\n' "replace(printf('%*d', 1000, y), ' ', printf('%*d', 1000, x)) || ''" >>sweep.toml
    sed -i 's/"{y}"/"{y}", "{long}"/' sweep.toml
    expect_said only_stderr 2 'meshsweep: sweep.toml:18:1: derived key `long` fails for a combination: string or blob '\
'too big: an expression works on texts of 64 KiB at most' plan
}

expression__fails_for_some_combination__named_with_its_place()
{
    small_sweep sweep.toml
    cp sweep.toml plain.toml
    toml derive: fine='x + 1' shape='"json_extract(iif(x = 2, '\''no'\'', '\''[1]'\''), '\''$[0]'\'')"' \
        rule:: name=r require='fine > 0 AND shape > 0' >>sweep.toml
    expect_said only_stderr 2 'meshsweep: sweep.toml:19:1: derived key `shape` fails for a combination: malformed '\
'JSON; CASE WHEN json_valid(X) THEN … END reads only what is JSON' plan
    sed 's/^command.*/&\ntimeout = "iif(x = 2, '\''soon'\'', 5)"/' plain.toml >sweep.toml
    expect_said only_stderr_matches 2 '^meshsweep: sweep.toml:[0-9]+:[0-9]+: \[job\] .timeout. fails for a '\
'combination: .soon. is not a duration' plan
    run_meshsweep plan -c plain.toml --only "json_extract(x || 'no', '$')"
    expect_only_stderr_matches 2 '^meshsweep: --only .* fails for a combination: malformed JSON'
    cp plain.toml sweep.toml
    printf '[[rule]]\nname = "r"\nrequire = "max(x) > 1"\n' >>sweep.toml
    expect_refused sweep.toml 'sweep.toml:17:1: rule `r`: misuse of aggregate function max()'
}

run__refused_after_the_database_was_opened__leaves_none_behind()
{
    small_sweep plain.toml
    sed 's/^command.*/&\ntimeout = "iif(x = 2, '\''soon'\'', 5)"/' plain.toml >limit.toml
    : >before
    ls >before
    run_ended 2 -c limit.toml
    expect "ls | cmp -s - before"
    run_ended 2 -c plain.toml --only "json_extract(x || 'no', '\$')"
    expect "ls | cmp -s - before"
    run_ended 2 -c plain.toml --strategy binary
    expect_stderr_contains 'strategy binary bisects the micro-batch, but no spec has one'
    expect "ls | cmp -s - before"
    # One that was there stays, whatever is in it.
    : >results.db
    run_ended 2 -c limit.toml
    expect_sql 0 "SELECT count(*) FROM job"
    expect_run silent 0 run -c plain.toml --progress none --limit 1
    run_ended 2 -c limit.toml
    expect_sql 1 "SELECT count(*) FROM attempt"
    # A link to nothing yet stays, and so does nothing.
    ln -s later.db link.db
    run_ended 2 -c limit.toml -d link.db
    expect "[ -L link.db ] && [ ! -e later.db ] && [ ! -e later.db.lock ]"
}

text__longer_than_expressions_take__refused_with_its_place()
{
    local long too_long='a value of 78 KiB is larger than 64 KiB; put it into a file and sweep over file names'
    long=$(printf '%*s' 40000 '' | tr ' ' x)
    small_sweep plain.toml
    sed "s/^x = .*/x = ['a', '$long$long']/" plain.toml >sweep.toml
    expect_refused sweep.toml "sweep.toml:13:11: x: $too_long"
    sed "s/^x = .*/x = {a = '$long', b = '$long'}/" plain.toml >sweep.toml
    expect_refused sweep.toml "sweep.toml:13:5: x: $too_long"
    sed "s/^x = .*/x = '$long'\nz = '$long'/" plain.toml >sweep.toml
    expect_refused sweep.toml 'sweep.toml:12:1: a spec of 78 KiB, more than 64 KiB'
}

rule__reads_more_keys_than_a_function_takes__says_their_values()
{
    small_sweep sweep.toml
    seq -f 'k%.0f = 1' 130 >>sweep.toml
    printf '[[rule]]\nname = "sum"\nrequire = "x + %s < 132"\n' "$(seq -s ' + ' -f 'k%.0f' 130)" >>sweep.toml
    run_silently 0
    expect_sql '2|131|2|130' 'SELECT count(*), (SELECT count(*) FROM json_each("values")), min("values"->>'"'x'"'),
        (SELECT sum(value) FROM json_each("values") WHERE key <> '"'x'"') FROM exclusion'
}

keys__too_many__refused()
{
    small_sweep sweep.toml
    seq -f 'k%.0f = 1' 1950 >>sweep.toml
    expect_refused sweep.toml 'sweep.toml:15:1: parallel_spec has 1951 keys, more than 1900'
}

exit_statuses__each_for_its_cause()
{
    small_run
    run_meshsweep status -d absent.db
    expect_only_stderr 1 'meshsweep: database absent.db: it does not exist yet; `meshsweep run` creates it'
    expect_said only_stderr_contains 2 'meshsweep run: --jobs none: must be a whole number' run --jobs none
    run_silently 3 --keep-going -d other.db -- false
    printf '[[rule]]\nname = "none"\nrequire = "x > 5"\nwhy = "no reason"\n' >>sweep.toml
    expect_said only_stderr_contains 4 '4 excluded by rules, 0 jobs' run
    expect_stderr_contains 'meshsweep: 4 combinations are excluded by none: no reason'
    sed -i '/^why = /d' sweep.toml
    run_meshsweep run --progress none -d reasonless.db
    expect_only_stderr 4 'meshsweep: 4 combinations are excluded by none: x > 5'
    echo 'why = "no reason"' >>sweep.toml
    expect_said only_stdout_contains 4 'excluded 4 by none: no reason' plan
}

product__too_large_to_count__said()
{
    {
        echo '[job]'
        echo 'command = ["true"]'
        for section in model training_spec parallel_spec cluster_spec; do
            echo "[[$section]]"
            for axis in a b; do
                echo "${section:0:1}_$axis = [$(seq -s , 1 300)]"
            done
        done
    } >sweep.toml
    run_meshsweep plan --json
    expect_only_stderr 2 'meshsweep: sweep.toml: the product of the sections exceeds 2^63 combinations; split the sweep'
}

# Nobody writes to them: who waits for what they say waits for ever.
pipes__where_files_are_named__refused_at_once()
{
    mkfifo pipe
    small_sweep sweep.toml
    cp sweep.toml plain.toml
    sed -i '1i include = "pipe"' sweep.toml
    run_command timeout 20 "$meshsweep" plan
    expect_only_stderr 2 'meshsweep: sweep.toml:1:11: pipe: cannot read: it is a pipe, not a file'
    run_command timeout 20 "$meshsweep" plan -c pipe
    expect_only_stderr 2 'meshsweep: pipe: cannot read: it is a pipe, not a file'
    # That of a shell has its writer.
    run_command bash -c '"$1" plan -c <(cat plain.toml)' plan "$meshsweep"
    expect_only_stdout_contains 0 '4 jobs: + 4 new'
    run_command bash -c 'cat plain.toml | "$1" plan -c /dev/stdin' plan "$meshsweep"
    expect_only_stdout_contains 0 '4 jobs: + 4 new'
}

# A job may leave one where a number is read from.
pipe__left_by_a_job__no_number_and_no_wait()
{
    small_sweep sweep.toml
    sed -i "s/^regex = .*/file = \"out.json\"\njson = \"score\"\nnumerator = \"pipe.json:batch\"/; s/^job_dir.*//" \
        sweep.toml
    cat >job.sh <<'END'
mkfifo "$MESHSWEEP_JOB_DIR/pipe.json"
echo '{"score": 5}' >"$MESHSWEEP_JOB_DIR/out.json"
END
    expect_command silent 3 timeout 20 "$meshsweep" run --progress none --keep-going
    expect_sql "no-metric|4" "SELECT failure, count(*) FROM job GROUP BY 1"
}

run_cases "$@"
