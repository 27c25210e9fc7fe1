#!/usr/bin/env bash
# Databases merged by content: each job and each attempt once, however often and in whatever order.
. "${0%/*}/lib.sh"

shared_sweep()
{
    toml sweep: objective=max:score job: command="[\"/bin/sh\", \"-c\", \
'[ {n} -ne 3 ] || exit 1; [ \"{n}\$FAIL\" != 2yes ] || exit 1; echo \"score: {n}\"']" pass_env='["FAIL"]' \
        job.metrics.score: regex='score: ([0-9]+)' training_spec: n=1,2,3,4,5,6 >sweep.toml
}

part() { expect_run silent "$3" run -d "$1" --only "$2" --progress none; } # DATABASE CONDITION STATUS

parts()
{
    shared_sweep
    part a.db 'n <= 3' 3
    FAIL=yes part b.db 'n = 2 OR n >= 4' 3
}

# Commands look at the newest sweep of a database, to which a job of both belongs, whichever comes first.
two_sweeps__merged__jobs_of_the_newest_in_it_and_the_others_told()
{
    shared_sweep
    part a.db 'n <= 2 OR n = 4' 0
    # What cannot be made is not left half made.
    echo text >c.db
    expect_run only_stderr 1 merge c.db a.db -o none.db
    expect_command only_stderr 1 bash -c 'ulimit -f 16; exec "$@"' merge "$meshsweep" merge a.db -o none.db
    expect "[ \"\$(echo none*)\" = 'none*' ]"
    sed 's/^n = .*/n = [1]/' sweep.toml >one.toml
    expect_run silent 0 run -c one.toml -d one.db --progress none
    sed -i 's/^n = .*/n = [2]/' one.toml
    expect_said only_stderr_contains 0 'all jobs are new' run -c one.toml -d one.db --progress none
    expect_run status 0 merge one.db -o of-one.db
    expect_stdout 'of-one.db: 2 new jobs, 2 new attempts'
    expect_stderr_contains 'meshsweep: 1 of its jobs belongs to sweeps older than the newest, listed by: meshsweep '
    sed -i 's/^n = .*/n = [4, 5]/; s/^objective/name = "later"\nobjective/' sweep.toml
    part b.db true 0
    for first in a b; do
        second=$([ "$first" = a ] && echo b || echo a)
        expect_run status 0 merge "$first.db" "$second.db" -o "from-$first.db"
        expect_stdout "from-$first.db: 6 new jobs, 5 new attempts"
        expect_stderr "meshsweep: 4 of its jobs belong to sweeps older than the newest, listed by: meshsweep results \
--all -d from-$first.db"
        expect_sql '4|2
5|1' "SELECT n, attempts FROM results WHERE in_sweep ORDER BY n" "from-$first.db"
    done
}

merged="SELECT n, state, failure, score, attempts FROM results ORDER BY n"
expected="1|ok||1.0|1
2|ok||2.0|2
3|failed|exit||1
4|ok||4.0|1
5|ok||5.0|1
6|ok||6.0|1"

parts__merged__each_job_and_attempt_once()
{
    parts
    expect_said only_stdout 0 'all.db: 6 new jobs, 7 new attempts' merge a.db b.db -o all.db
    expect_sql "$expected" "$merged" all.db
    expect_said only_stdout 0 'all.db: 0 new jobs, 0 new attempts' merge b.db a.db b.db -o all.db
    expect_sql "$expected" "$merged" all.db
    expect_said only_stdout 0 'all.db: all well' check -d all.db
}

# 6 scores highest and costs most; 1 costs least.
parts__several_objectives__merged_with_their_pareto_set()
{
    shared_sweep
    sed -i -e 's/^objective.*/objective = ["max:score", "min:cost"]/' \
        -e 's/echo "score: {n}"/echo "score: {n} cost: {n}"/' \
        -e "\$a [job.metrics.cost]\nregex = 'cost: ([0-9]+)'" sweep.toml
    part a.db 'n <= 2' 0
    part b.db 'n >= 5' 0
    expect_said only_stdout 0 'all.db: 6 new jobs, 4 new attempts' merge a.db b.db -o all.db
    expect_sql "1|cost|0" "SELECT position, metric, maximise FROM further_objective" all.db
    expect_run only_stdout 0 best -d all.db --json
    expect_json 4 pareto.#
}

parts__in_another_order__the_same_results()
{
    parts
    expect_run only_stdout 0 merge b.db -o first.db
    expect_said only_stdout 0 'all.db: 6 new jobs, 7 new attempts' merge first.db a.db -o all.db
    expect_sql "$expected" "$merged" all.db
    # Jobs that came by another way are not new.
    expect_said only_stdout 0 'all.db: 0 new jobs, 0 new attempts' merge b.db -o all.db
}

merged__run_goes_on_where_the_parts_are()
{
    parts
    expect_run only_stdout 0 merge a.db b.db -o all.db
    expect_run silent 3 run -d all.db --progress none
    expect_sql 7 "SELECT count(*) FROM attempt" all.db
    expect_run only_stdout 0 best -d all.db
    # Its own are new elsewhere, and those of the parts are not.
    expect_run silent 3 run -d all.db --progress none --retry-failed
    expect_said only_stdout 0 'a.db: 0 new jobs, 5 new attempts' merge all.db -o a.db
}

# Milliseconds of processor time.
spent_merging() # DATABASE OUTPUT
{
    local TIMEFORMAT='%3U %3S' spent
    spent=$( { time "$meshsweep" merge "$1" -o "$2" >>merged 2>&1; } 2>&1)
    awk '{ print int(1000 * ($1 + $2)) + 1 }' <<<"$spent"
}

# A job already there is looked up, not looked through: 6,000 jobs again took a hundred times as long as at first.
merged_again__many_jobs__no_longer_than_the_first_time()
{
    toml sweep: objective=max:score job: command='["/bin/echo", "score: {x}"]' \
        job.metrics.score: regex='score: ([0-9]+)' training_spec: x="[$(seq -s , 6000)]" >sweep.toml
    expect_run only_stdout 0 run --progress none -d a.db --limit 1
    sqlite3 a.db "UPDATE job SET state = 'running' WHERE state = 'pending';
        INSERT INTO attempt (job_id, number, runner_id, state, started, ended, duration_ms)
            SELECT id, 1, 1, 'ok', 1, 2, 1 FROM job WHERE state = 'running';
        UPDATE job SET state = 'ok', attempt_id = (SELECT id FROM attempt WHERE job_id = job.id)
            WHERE state = 'running'"
    first=$(spent_merging a.db all.db)
    again=$(spent_merging a.db all.db)
    expect_file_contains merged 'all.db: 6000 new jobs, 6000 new attempts' 'all.db: 0 new jobs, 0 new attempts'
    [ "$again" -lt $((2 * first)) ] || fail "merged in $first ms, and again in $again ms"
    expect_sql "6000|6000" "SELECT count(*), sum(job.state = 'ok')
        FROM job JOIN attempt ON attempt.id = attempt_id" all.db
}

# An attempt that a database got from another and gives back is known there by its id.
merged_back__own_attempts__none_twice()
{
    parts
    expect_run only_stdout 0 merge a.db -o all.db
    expect_said only_stdout 0 'a.db: 0 new jobs, 0 new attempts' merge all.db -o a.db
    # The job was reopened meanwhile: its own attempt stands for it again.
    sqlite3 a.db "UPDATE job SET state = 'pending', attempt_id = NULL WHERE id = 1"
    expect_said only_stdout 0 'a.db: 0 new jobs, 0 new attempts' merge all.db -o a.db
    expect_sql "ok|1" "SELECT state, attempt_id = (SELECT id FROM attempt WHERE job_id = 1) FROM job WHERE id = 1" a.db
}

table() # FILE LINE...
{
    [ -f import.toml ] || toml sweep: name=measured objective=max:score job.metrics.score: better=max \
        import.parallel_spec: n=n import.metrics: score=score >import.toml
    printf '%s\n' n,score "${@:2}" >"$1"
}

imports() { expect_run only_status 0 import -c import.toml -d "$1" "$2"; } # DATABASE TABLE

rows="SELECT n, value, line, sweep_id = (SELECT id FROM current_sweep) FROM (SELECT p.json ->> '$.n' AS n, s.value,
    a.line, j.sweep_id FROM attempt AS a JOIN job AS j ON j.id = a.job_id JOIN summary AS s ON s.attempt_id = a.id
    JOIN spec AS p ON p.id = j.parallel_id) ORDER BY 1, 2, 3"

merges() # ROWS DATABASE...
{
    expect_run only_stdout 0 merge "${@:2}" -o all.db
    expect_sql "$1" "$rows" all.db
    expect_said only_stdout 0 'all.db: all well' check -d all.db
}

# A table's rows are those of whoever read it last, wherever it was first.
tables__corrected_and_undone__merged_as_they_are_now()
{
    table 1.csv 1,10 2,20
    table 2.csv 2,5 3,30
    imports a.db 1.csv
    imports b.db 2.csv
    merges '1|10.0|2|1
2|5.0|2|1
2|20.0|3|1
3|30.0|3|1' a.db b.db
    table 1.csv 1,11 4,40
    imports a.db 1.csv
    all='1|11.0|2|1
2|5.0|2|1
3|30.0|3|1
4|40.0|3|1'
    merges "$all" a.db
    # The older state of the other does not come back, by whatever way.
    cp all.db older.db
    expect_run only_stdout 0 import --undo 2.csv -d b.db
    merges '1|11.0|2|1
4|40.0|3|1' b.db
    merges '1|11.0|2|1
4|40.0|3|1' older.db a.db b.db
    expect_run only_stdout 0 merge older.db -o b.db
    expect_sql '1|11.0|2|1
4|40.0|3|1' "$rows" b.db
    # Numbers of rows that are gone are given again.
    table 2.csv 7,70
    imports b.db 2.csv
    merges '1|11.0|2|1
4|40.0|3|1
7|70.0|2|1' b.db
    expect_said only_stdout_contains 0 'highest score 70, ' best -d all.db
}

# One file's rows in two databases are rows once.
tables__imported_in_both__merged_once()
{
    table 1.csv 1,10 2,20
    imports a.db 1.csv
    imports b.db 1.csv
    merges '1|10.0|2|1
2|20.0|3|1' a.db b.db
    # Tables that say something else are both there.
    table 1.csv 1,10 2,21
    imports c.db 1.csv
    merges '1|10.0|2|1
1|10.0|2|1
2|20.0|3|1
2|21.0|3|1' c.db
}

tables__imported_undone_and_merged_at_random__recounted()
{
    python3 -c '' 2>/dev/null || skip "Python is not installed"
    for seed in 4 ${MESHSWEEP_FULL:+5 6}; do
        mkdir "$seed"
        cd "$seed" || return
        expect_command silent 0 python3 "$source_dir/tests/cli/merge_steps.py" "$meshsweep" "$seed" 60
        cd ..
    done
}

# Combinations that a machine excludes for want of devices do not make its part another sweep.
parts__of_machines_with_other_devices__one_sweep()
{
    toml sweep: objective=max:score local: devices=0 hostfile=hosts several_hosts=true \
        job: command='["/bin/echo", "score: {num_devices_per_host}"]' job.metrics.score: key=score \
        cluster_spec: num_devices_per_host=1,2,4 >sweep.toml
    echo 'small slots=2' >hosts
    part a.db true 0
    echo 'large slots=4' >hosts
    part b.db 'num_devices_per_host = 4' 0
    for first in a b; do
        second=$([ "$first" = a ] && echo b || echo a)
        run_meshsweep merge "$first.db" "$second.db" -o "from-$first.db"
        expect_only_stdout 0 "from-$first.db: 3 new jobs, 3 new attempts"
        expect_sql '1|1|ok|1.0
2|1|ok|2.0
4|1|ok|4.0' "SELECT num_devices_per_host, in_sweep, state, score FROM results ORDER BY 1" "from-$first.db"
        # Whoever goes on with it looks at its own machine.
        expect_run silent 0 run -d "from-$first.db" --progress none
        expect_sql 3 "SELECT count(*) FROM attempt" "from-$first.db"
        expect_said only_stdout 0 "from-$first.db: all well" check -d "from-$first.db"
    done
}

# A table that one database reads otherwise cannot stand beside the other's, until that is imported by the same file.
tables__read_otherwise__refused_until_imported_again()
{
    table 1.csv 1,10 2,20
    imports a.db 1.csv
    sed -i 's/^score = "score"/score = "-1 * score"/; s/max:score/min:score/; s/"max"/"min"/' import.toml
    table 2.csv 2,7 3,8
    imports b.db 2.csv
    run_meshsweep merge b.db a.db -o all.db
    expect_only_stderr_contains 2 'merging a.db: a.db has metric `score` with better = "max", and here it is "min"'
    rm -f all.db*
    imports a.db 1.csv
    merges '1|-10.0|2|1
2|-20.0|3|1
2|-7.0|2|1
3|-8.0|3|1' b.db a.db
    expect_said only_stdout_contains 0 'lowest score -13.5, ' best -d all.db
}

sources__wrong__refused_and_nothing_changed()
{
    parts
    echo nonsense >text.db
    expect_said only_stderr_matches 1 '^meshsweep: merging text.db: ' merge a.db text.db -o all.db
    expect_said only_stderr 2 'meshsweep: merge: name the database to merge into with -o FILE' merge a.db
    expect_said only_stderr_matches 1 'missing.db: it does not exist yet' merge a.db missing.db -o all.db
    expect_stderr_contains 'meshsweep: all.db lacks 1 of 2 databases, from missing.db on; '
}

# --- shards ---

shards__merged__as_one_run()
{
    shared_sweep
    sed -i 's/^n = .*/n = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16]/' sweep.toml
    expect_run only_status 3 run -d one.db --progress none
    for k in 1 2 3 4; do
        run_meshsweep run --shard "$k/4" -d "s$k.db" --progress none
        expect_only_status "$(sql "SELECT iif(count(*), 3, 0) FROM job WHERE state = 'failed'" "s$k.db")"
    done
    expect_said only_stdout 0 'all.db: 16 new jobs, 16 new attempts' merge s1.db s2.db s3.db s4.db -o all.db
    merged="SELECT key, n, state, failure, score, attempts FROM results ORDER BY n"
    expect_sql "$(sql "$merged" one.db)" "$merged" all.db
    expect_run only_status 0 export -d one.db -o -
    cut -d , -f 1-10 .stdout >one.csv
    expect_run only_status 0 export -d all.db -o -
    cut -d , -f 1-10 .stdout | diff one.csv - || fail "the merged shards export something else"
}

# Groups, replicates and conditions are those of the sweep that ran last.
shards_of_groups__merged__winners_as_of_one_run()
{
    toml sweep: objective=max:a subject_to='a <= 2' replicate='["y"]' group_by='["z"]' job: command='echo a: {x}' \
        job.metrics.a: key=a better=max parallel_spec: x=1,2,3 y=1,2 z=1,2 >sweep.toml
    for one in one.db "s1.db --shard 1/2" "s2.db --shard 2/2"; do
        # shellcheck disable=SC2086 # words
        expect_run only_status 0 run -d $one
    done
    expect_run only_status 0 merge s2.db s1.db -o all.db
    expect_run only_stdout 0 best -d one.db
    mv .stdout one.txt
    expect_said only_stdout 0 "$(cat one.txt)" best -d all.db
}

keys_of() # K/N
{
    expect_run only_status 0 plan --shard "$1" --json --all
    mv .stdout planned.json
    sqlite3 :memory: "SELECT value ->> 'key' FROM json_each(readfile('planned.json'), '$.planned') ORDER BY 1"
}

# The new shard takes its part of each; nothing goes from one of the old ones to another.
one_shard_more__only_its_jobs_change_place()
{
    local k kept=0
    small_sweep
    sed -i "s/^x = .*/x = [$(seq -s , 1 100)]/" sweep.toml
    for k in 1 2 3; do
        keys_of "$k/3" >old
        keys_of "$k/4" >new
        [ -z "$(comm -13 old new)" ] || fail "shard $k of 4 has jobs that shard $k of 3 had not"
        kept=$((kept + $(wc -l <new)))
    done
    expect "[ $kept -ge 120 ]" "[ $kept -le 180 ]"
}

shard__status_and_plan__tell_how_many_are_others()
{
    small_sweep
    run_meshsweep run --shard 2/3 --only 'x = 1' --progress none
    expect_only_stderr_matches 0 '^meshsweep: shard 2/3: [0-2] jobs belong to other shards$'
    run_silently 0 --only 'x = 1'
    expect_sql 0 "SELECT count(*) FROM meta WHERE name = 'shard'"
    run_meshsweep run --shard 1/3 --progress none
    expect_only_stderr_matches 0 '^meshsweep: shard 1/3: [0-4] jobs belong to other shards$'
    others=$(sed 's/.*3: \([0-9]*\) jobs.*/\1/' .stderr)
    expect_said only_stdout_contains 0 "the last run was of shard 1/3: $others jobs belong to other shards" status
    expect_said only_stdout_contains 0 "shard 1/3: $others matches belong to other shards" plan --shard 1/3
}

shard__wrong__told_with_an_example()
{
    small_sweep
    for wrong in 0/8 9/8 3/0 third 3 3/8/1 -1/8 / 3/; do
        expect_said only_stderr 2 "meshsweep: --shard $wrong: must be K/N, part K of N parts, with 1 <= K <= N <= \
10000; the third of eight is --shard 3/8" plan --shard="$wrong"
    done
}

# --- pull ---

# An ssh that runs the command here, in the "home directory" far/.
stand_in_ssh()
{
    mkdir -p far/tmp
    printf '%s\n' '#!/bin/sh' 'echo "$1" >>hosts' 'cd far && TMPDIR=$PWD/tmp exec sh -c "$2"' >ssh
    chmod +x ssh
    export MESHSWEEP_SSH="$PWD/ssh"
}

parts_by_ssh() { parts; stand_in_ssh; }

nothing_left()
{
    [ -z "$(ls far/tmp)" ] || fail "left on the far side: $(ls far/tmp)"
    [ -z "$(ls -d ./*.pull-* 2>/dev/null)" ] || fail "left here: $(ls -d ./*.pull-*)"
}

far_database__pulled__as_merged()
{
    parts_by_ssh
    mv b.db "far/b's.db"
    expect_said only_stdout 0 'a.db: 0 new jobs, 4 new attempts' pull "me@node1:b's.db" -d a.db
    expect_sql "$expected" "$merged" a.db
    expect_sql 3 "SELECT count(*) FROM attempt WHERE directory GLOB 'me@node1:b''s.db.d/*'" a.db
    expect_said only_stdout 0 'a.db: 0 new jobs, 0 new attempts' pull --ssh "$PWD/ssh" "[::1]:$PWD/far/b's.db" -d a.db
    [ "$(cat hosts)" = 'me@node1
::1' ] || fail "asked: $(cat hosts)"
    cp "far/b's.db" here.db
    expect_said only_stdout 0 'new.db: 6 new jobs, 4 new attempts' pull here.db -d new.db
    nothing_left
}

# By what is on the far side.
far_side__without_meshsweep__copied_by_sqlite3()
{
    parts_by_ssh
    mv b.db far/
    mkdir bin
    ln -s "$(command -v sqlite3)" "$(command -v sh)" "$(command -v mktemp)" "$(command -v cat)" "$(command -v rm)" bin/
    sed -i "s|exec sh|PATH=$PWD/bin exec sh|" ssh
    expect_said only_stdout 0 'a.db: 0 new jobs, 4 new attempts' pull node1:b.db -d a.db
    expect_sql "$expected" "$merged" a.db
    nothing_left
}

pull__wrong__told_and_nothing_changed()
{
    parts_by_ssh
    for wrong in -oProxyCommand=x:b.db :b.db node1:; do
        run_meshsweep pull -d a.db -- "$wrong" || true
        expect_among_stderr 2 'meshsweep'
    done
    run_meshsweep pull node1:missing.db -d a.db
    expect_only_stderr 1 "no such file
meshsweep: pull: node1:missing.db: no copy could be made there (\`$PWD/ssh\` ended with status 1); nothing was merged"
    expect_said only_stderr 1 "meshsweep: pull: node1:b.db: no copy could be made there (\`false\` ended with status \
1); nothing was merged" pull --ssh false node1:b.db -d a.db
    expect_said only_stderr 2 'meshsweep: pull: a.db is the database to merge into; name another with -d' \
        pull a.db -d a.db
    expect_sql 3 "SELECT count(*) FROM attempt" a.db
    nothing_left
}

pull__interrupted__nothing_left()
{
    parts_by_ssh
    sed -i 's|^cd far.*|sleep 1000 \& echo $! >sleeping; wait|' ssh
    start_until '[ -s sleeping ]' 20 pull node1:b.db -d a.db
    end_command INT only_status 130
    expect_sql 3 "SELECT count(*) FROM attempt" a.db
    nothing_left
    wait_until '! kill -0 "$(cat sleeping)" 2>/dev/null' 10
}

run_cases "$@"
