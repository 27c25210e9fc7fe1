#!/usr/bin/env bash
# The program dies as if by `kill -9` at every fault point (src/util/fault.h); the next start must go on as if nothing
# had been. Needs a build configured with --enable-faults.
CASE_SECONDS=280
export SEED="${SEED:-$RANDOM}"
. "${0%/*}/lib.sh"
. "${0%/*}/slurm_stand_ins.sh"

# 6 jobs: four ok, one of which leaves a process behind; one fails, one runs into its time limit.
fault_sweep()
{
    toml sweep: name=faults objective=max:score job: command='["/bin/sh", "./job.sh", "{x}", "{y}"]' \
        timeout='CASE WHEN x = 2 AND y = 20 THEN 0.15 ELSE 30 END' grace=100ms \
        job.metrics.score: regex='score: ([0-9.]+)' better=max training_spec:: x=1,2,3 \
        parallel_spec:: y=10,20 rule:: name=not-4 require='x <> 4' why='there is no 4' >sweep.toml
    cat >job.sh <<'END'
case $1-$2 in
1-10) echo "cannot do that"; exit 3 ;;
1-20) setsid sleep 300 >/dev/null 2>&1 & ;;
2-20) echo slow; sleep 300 ;;
esac
echo "{\"loss\": $1.5, \"step\": 1}" >>"$MESHSWEEP_METRICS"
echo "score: $(($1 * $2))"
END
}

# Prints what must come out the same however often the runner died: all but times, process ids and attempt numbers.
final_results()
{
    sql "SELECT hex(j.key), j.state, j.failure, x.exit_code, x.state, x.log_tail,
            (SELECT group_concat(name || '=' || value || '*' || count) FROM (SELECT * FROM summary
                WHERE attempt_id = x.id ORDER BY name)),
            (SELECT count(*) FROM metric WHERE attempt_id = x.id),
            (SELECT count(*) FROM attempt WHERE job_id = j.id AND state = 'ok'),
            (SELECT count(*) FROM attempt WHERE job_id = j.id AND failure NOT IN ('lost')),
            (SELECT count(*) FROM attempt WHERE job_id = j.id AND state IN ('claimed', 'running'))
         FROM job AS j LEFT JOIN attempt AS x ON x.id = j.attempt_id ORDER BY j.key;
         SELECT x, y, state, failure, score, loss FROM results ORDER BY x, y;
         SELECT rule, excluded FROM excluded; SELECT combinations, matched, jobs, enumerated FROM sweep;
         SELECT type, name, sql FROM sqlite_schema ORDER BY 1, 2"
}

# Processes of this case's database that are still there.
processes_left()
{
    local identity
    identity=$(sql "SELECT value FROM meta WHERE name = 'identity'")
    grep -lsa "MESHSWEEP_ATTEMPT=$identity:" /proc/[0-9]*/environ || true
}

finish()
{
    expect_run only_stderr 3 run -j 2 --progress none
    expect_run silent 0 export -o out.csv
}

# Runs the commands of a sweep's life until one dies at the point. True when one did.
dies_at() # POINT[:N]
{
    local command
    for command in 'run -j 1 --max-fail 1 --progress none' 'run -j 2 --progress none' 'export -o out.csv' \
        'export -o out.csv'; do
        # shellcheck disable=SC2086 # words
        run_killed "$1" $command
        stated_status=1 stated_stdout=1 stated_stderr=1
        [ "$status" -ne 137 ] || return 0
        [ "$status" -eq 0 ] || [ "$status" -eq 3 ] || fail "status $status of $command under $1"
    done
    return 1
}

expect_as_undisturbed() # WHAT
{
    final_results >final
    diff -u ../undisturbed/final final >difference || fail "after $1 the results differ: $(cat difference)"
    [ "$(processes_left)" = "" ] || fail "after $1 processes are left: $(processes_left)"
    expect_said only_stdout 0 'results.db: all well' check -d results.db
    [ "$(echo out.csv*)" = out.csv ] || fail "after $1 an export left: $(echo out.csv*)"
    cmp -s <(cut -d , -f 1 out.csv | sort) <(cut -d , -f 1 ../undisturbed/out.csv | sort) ||
        fail "$1: the export differs"
}

undisturbed()
{
    MESHSWEEP_FAULT=list "$meshsweep" >points
    mkdir undisturbed
    cd undisturbed
    fault_sweep
    finish
    final_results >final
    cd ..
}

# False when the point is not passed.
visit() # PREPARE POINT
{
    local died=1
    mkdir disturbed
    cd disturbed
    fault_sweep
    $1
    if dies_at "$2"; then
        finish
        expect_as_undisturbed "$2"
        died=0
    fi
    cd ..
    rm -rf disturbed
    return "$died"
}

# Visits points in a directory that PREPARE made, dying at the TIMES-th pass where there are that many: all under
# MESHSWEEP_FULL, every other one by a seed otherwise, those that another number of TIMES leaves out.
visit_all() # PREPARE TIMES [POINTS THAT ARE NOT PASSED]
{
    local point visited=0 left_out=0
    undisturbed
    # Points of Slurm, searches, fixtures, archives and frames alone: see below, and the tests of these.
    grep -v -e '^submi' -e '^trial-' -e '^fixture-' -e '^archive-' -e '^frame' -e '-fetched$' points |
        draw_lines 2 "$2" >passed
    while read -r point; do
        case " ${3-} " in
        *" $point "*)
            left_out=$((left_out + 1))
            continue
            ;;
        esac
        visit "$1" "$point:$2" || visit "$1" "$point" || fail "no command passes the fault point $point"
        visited=$((visited + 1))
    done <passed
    expect "[ $visited -eq $(($(wc -l <passed) - left_out)) ]" "[ $visited -gt 10 ]"
    echo "# $visited fault points visited"
}

nothing_yet() { :; }

dead_runner()
{
    expect_after only_stderr 137 run_killed spawned:3 run -j 2 --progress none
}

every_point__first_pass_in_a_fresh_database__as_undisturbed()
{
    need_fault_points
    visit_all nothing_yet 1
}

every_point__after_a_runner_that_died__as_undisturbed()
{
    need_fault_points
    visit_all dead_runner 2 "migration-applied migrated sweep-recorded job-enumerated enumerated"
}

# More jobs than are indexed one by one, all of which are there or none is. With `same`, another 150 of them are jobs of
# the first list once more; with `one` all keys are of one section, so that each job has a spec of its own.
many_sweep() # [same|one]
{
    toml sweep: name=many job: command='["/bin/true", "{x}", "{y}"]' \
        "[[$([ "${1-}" = one ] && echo parallel_spec || echo training_spec)]]" "x = [$(seq -s ', ' 150)]" \
        "$([ "${1-}" = one ] || echo '[[parallel_spec]]')" "y = [$(seq -s ', ' 150)]" >sweep.toml
    [ "${1-}" != same ] || printf '[[training_spec]]\nx = 150\n' >>sweep.toml
}

schema_and_jobs()
{
    sql "SELECT type, name, tbl_name, sql FROM sqlite_schema WHERE name NOT LIKE 'sqlite_%' ORDER BY 1, 2;
         SELECT combinations, matched, duplicates, jobs, enumerated FROM sweep;
         SELECT min(id), max(id), count(DISTINCT key), min(rank), max(rank) FROM job;
         SELECT count(*), count(DISTINCT kind || hex(hash)), max(id), count(DISTINCT json) FROM spec;
         PRAGMA foreign_key_check; PRAGMA integrity_check"
}

many_jobs__dying_while_they_are_listed__all_are_there_once()
{
    local point listed middle=job-enumerated:22000
    need_fault_points
    for listed in "22500 22500 0 " "22500 22500 0 one" "22650 22500 150 same"; do
        read -r matched jobs duplicates same <<<"$listed"
        rm -rf results.db*
        many_sweep "$same"
        run_silently 0 --limit 1
        schema_and_jobs >whole
        grep -qx "$matched|$matched|$duplicates|$jobs|1" whole || fail "$(tail -n 3 whole)"
        grep -q "^index|job_key|job|CREATE UNIQUE INDEX" whole || fail "there is no index of keys"
        grep -q "^index|spec_hash|spec|CREATE UNIQUE INDEX" whole || fail "there is no index of specs"
        for point in $middle $([ -n "$same" ] || echo enumerated enumeration-committed); do
            rm -rf results.db*
            expect_after only_stderr 137 run_killed "$point" run --progress none --limit 1
            run_silently 0 --limit 1
            schema_and_jobs >resumed
            diff -u whole resumed >difference || fail "after $point: $(cat difference)"
        done
    done
}

# So many that the first run while the others are listed. The first job that runs does as it is told.
sweep_in_parts() # [SHELL-COMMAND]
{
    toml sweep: name=parts job: "command = [\"/bin/sh\", \"-c\", \"[ {x}.{y} != 1.1 ] || ${1-true}\"]" \
        "[[${2-training_spec}]]" "x = [$(seq -s ', ' 160)]" "$([ -n "${2-}" ] || echo '[[parallel_spec]]')" \
        "y = [$(seq -s ', ' 160)]" >sweep.toml
}

expect_all_parts()
{
    expect_sql "25600|25600|0|25600|1
25600|25600|25600|0|25599
2
ok" "SELECT combinations, matched, duplicates, jobs, enumerated FROM sweep;
     SELECT count(*), count(DISTINCT key), count(DISTINCT rank), min(rank), max(rank) FROM job;
     SELECT count(*) FROM sqlite_schema WHERE name IN ('job_key', 'spec_hash');
     PRAGMA foreign_key_check; PRAGMA integrity_check"
}

first_part__before_the_rest_is_listed__runs()
{
    need_fault_points
    for section in '' parallel_spec; do
        rm -rf results.db*
        sweep_in_parts true ${section:+"$section"}
        expect_after only_stderr 137 run_killed job-enumerated:20000 run --progress none -j 2
        expect_sql "4096|0|1" "SELECT jobs, enumerated, (SELECT count(*) > 100 FROM attempt) FROM sweep"
        run_silently 0 --limit 2
        expect_all_parts
    done
}

second_part__dying_around_it__all_are_there_once()
{
    need_fault_points
    for point in enumeration-committed enumerated:2 batch-written:2 batch-committed:2; do
        rm -rf results.db*
        sweep_in_parts true
        expect_after only_stderr 137 run_killed "$point" run --progress none -j 2
        run_silently 0 --limit 2
        expect_all_parts
        # Some of the first part may have been recorded before.
        expect_sql "1|1|1" "SELECT sum(state = 'ok') BETWEEN 2 AND 200, sum(state IN ('ok', 'pending')) = 25600,
            (SELECT max(n) FROM (SELECT count(*) AS n FROM attempt WHERE state = 'ok' GROUP BY job_id)) FROM job"
    done
}

second_part__nothing_else_is_claimed_or_interrupted__is_listed()
{
    sweep_in_parts true
    run_silently 0 --limit 1
    expect_all_parts
    expect_sql "1|25599" "SELECT sum(state = 'ok'), sum(state = 'pending') FROM job"
    rm -r results.db*
    sweep_in_parts 'kill -INT $PPID'
    run_ended 130 -j 1
    expect_sql "1" "SELECT count(*) >= 4096 AND count(*) = count(DISTINCT key) FROM job"
    run_silently 0 --limit 1
    expect_all_parts
}

unknown_point__named__status_2()
{
    need_fault_points
    run_command env MESHSWEEP_FAULT=nowhere "$meshsweep" status
    expect_only_stderr 2 'meshsweep: MESHSWEEP_FAULT: there is no fault point `nowhere`'
    run_command env MESHSWEEP_FAULT=locked:0 "$meshsweep" status
    expect_only_stderr 2 'meshsweep: MESHSWEEP_FAULT: `0` is not a count from 1'
}

# 40 jobs, of which the larger ones fail.
search_sweep() # STRATEGY
{
    throughput_sweep search micro_batch bucket >sweep.toml
    toml search: "strategy = \"$1\"" max_trials=6 min_steps=1 training_spec: global_batch=64 \
        parallel_spec:: zero_stage=0,1,2,3 bucket=1,2 micro_batch=1,2,4,8,16 >>sweep.toml
    throughput_job '$1 * 10 + $2'
}

search__every_strategy_dying_around_its_trials__same_decisions()
{
    local strategy point points=(trial-asked:4 trial-told:3 batch-committed:5) turn=0
    need_fault_points
    for strategy in grid random binary asha model dsat-random dsat-binary dsat-asha deepspeed-grid deepspeed-random \
        deepspeed-model; do
        search_sweep "$strategy"
        search_ended -j 1
        decisions >whole
        expect "[ \"\$(wc -l <whole)\" -ge 6 ]"
        # Each strategy in turn at another point, in the full check at each.
        [ -n "${MESHSWEEP_FULL-}" ] || set -- "${points[turn++ % 3]}"
        for point in "${@:-${points[@]}}"; do
            rm -rf results.db*
            expect_after only_stderr 137 run_killed "$point" run -j 1 --progress none
            search_ended -j 1
            decisions >resumed
            diff -u whole resumed >difference || fail "$strategy after $point: $(cat difference)"
            expect_sql "1" "SELECT count(*) FROM search"
            expect_sql "0" \
                "SELECT count(*) FROM (SELECT job_id FROM attempt WHERE state = 'ok' GROUP BY 1 HAVING count(*) > 1)"
        done
        rm -rf results.db*
    done
}

submission__dying_at_each_point__goes_to_slurm_once()
{
    need_fault_points
    for point in submission-written submitted submission-recorded; do
        rm -rf results.db* slurm bin
        stand_in_sweep 3 </dev/null
        expect_after only_stderr 137 run_killed "$point" run --executor slurm --progress none
        expect_run silent 0 run --executor slurm --progress none
        expect "[ \"\$(find slurm -name 'job.*' | wc -l)\" = 1 ]"
        expect_sql "ok|1|3|3" "SELECT state, max(number), count(*), count(DISTINCT job_id) FROM attempt GROUP BY state"
    done
}

step__started_and_not_recorded__lost_and_tried_again()
{
    need_fault_points
    stand_in_sweep 1 'if [ "$MESHSWEEP_NUMBER" = 1 ]; then touch begun; sleep 100; fi; echo "score: {n}"' </dev/null
    in_allocation
    expect_after only_stderr 137 run_killed spawned run --executor slurm --in-allocation --progress none
    expect_run silent 0 run --executor slurm --in-allocation --progress none
    expect_sql "1|lost
2|ok" "SELECT number, coalesce(failure, state) FROM attempt ORDER BY id"
}

run_cases "$@"
