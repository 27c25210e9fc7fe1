#!/usr/bin/env bash
# [sweep] replicate and group_by: configurations are ranked, not lucky seeds, and each with its like.
. "${0%/*}/lib.sh"

# The sweep has x=1, 2 and 4, three seeds each: 2 has the luckiest seed, 4 the best mean.
lucky_sweep() # LINE...
{
    rm -rf results.db*
    toml sweep: objective=max:rate "$@" job: command='["sh", "job.sh", "{layers}", "{num_hosts}", "{x}", "{seed}"]' \
        job.metrics.rate: regex='rate ([0-9.]+)' unit=samples/s model:: name=small layers=1 \
        model:: name=large layers=2 cluster_spec: num_hosts=1,2 num_devices_per_host=2 \
        training_spec: seed=1,2,3 parallel_spec: x=1,2,4 local: several_hosts=true >sweep.toml
    cat >job.sh <<'END'
case $3-$4 in
1-*) rate=$((50 + $4)) ;;
2-3) rate=200 ;;
2-*) rate=$((90 + $4)) ;;
4-*) rate=$((150 + 2 * $4)) ;;
esac
[ "$3-$4" != "${LOSE-}" ] || exit 1
echo "rate $((rate * $2 / $1))"
END
}

replicates__the_mean_wins_not_the_lucky_seed()
{
    lucky_sweep 'replicate = ["seed"]'
    # x=4 has a replicate that has not run: what has all of them goes first.
    run_silently 0 --limit 8 --only 'layers = 1 AND num_hosts = 1'
    expect_said only_stdout_contains 0 'highest rate 127.667 samples/s' best
    expect_run silent 0 run -j2 --progress none --only 'layers = 1 AND num_hosts = 1'
    expect_sql '1|154.0|3|154.0|4|2|128.0|3|3|52.0|3' "SELECT a.rank, a.rate, a.replicates, a.replicates_median, a.x,
        b.rank, round(b.rate), b.replicates, c.rank, c.rate, c.replicates FROM ranking AS a, ranking AS b, ranking AS c
        WHERE a.rank = 1 AND b.rank = 2 AND c.rank = 3"
    expect_sql '2.0|149.03|158.97|152.0|156.0' "SELECT replicates_stddev, round(replicates_low, 2),
        round(replicates_high, 2), replicates_min, replicates_max FROM configurations WHERE rank = 1"
    expect_said only_stdout_contains 0 'highest rate 154 samples/s, job 6 of sweep sweep' best
    expect_stdout_contains 'mean of 3 replicates (median 154, 95 % interval 149.032 to 158.968, from 152 to 156); '
    # The seeds of x=2 differ so much that it may be as good.
    expect_stdout_contains 'cannot be told apart from 1 other (95 %)'
    expect_run only_stdout 0 best --json
    expect_json '154|3|0|1' value replicates.{ok,failed,alike}
    expect_said only_stdout_contains 0 'best so far: rate 154 samples/s, mean of 3 replicates (median 154, ' status
    expect_run only_status 0 report -o report.html
    expect "grep -q 'Values are means over replicates' report.html"
}

# As the file and results have them, wherever a value of a key is written: 1e-05, not SQLite's 1.0e-05.
small_numbers__every_answer__written_alike()
{
    toml sweep: objective=min:loss job: command='["sh", "-c", "echo loss $1", "-", "{lr}"]' \
        job.metrics.loss: regex='loss (.*)' training_spec: lr='[1e-5, 2e-7, 0.10000001]' >sweep.toml
    run_silently 0
    sed -i 's/0.10000001/3e-9/' sweep.toml
    for arguments in best "best --json" "best --group lr" "show 1" "compare 1 2" "compare --by lr" plan results \
        "results --json" export "export --format summary"; do
        # shellcheck disable=SC2086
        expect_run only_status 0 $arguments
        expect "grep -qE '[0-9]e-0[579]' .stdout && ! grep -q '0e-0' .stdout"
    done
    expect_run only_status 4 why lr=5
    expect_stdout_contains 'lr is one of 3e-09, 2e-07, 1e-05'
    for arguments in results "results --format markdown" "export --format summary" "show 3"; do
        # shellcheck disable=SC2086
        expect_said only_stdout_contains 0 0.10000001 $arguments
    done
}

# A number is the same, to its last digit and as it is written, in JSON and in CSV.
digits__json__as_in_csv()
{
    toml sweep: objective='["min:loss", "max:rate"]' \
        job: command='["sh", "-c", "for n in 1 2 4; do echo loss $n.1 rate 962295035834382$n; done"]' \
        job.metrics.loss: regex='loss ([0-9.]+)' take=mean job.metrics.rate: regex='rate (.*)' take=max >sweep.toml
    run_silently 0
    for arguments in "best --json" "show 1 --json" "results --json" "export --format csv"; do
        # shellcheck disable=SC2086
        expect_run only_status 0 $arguments
        expect "grep -qE '[^0-9]2.433333333333333([^0-9]|$)' .stdout && grep -q 9622950358343824.0 .stdout"
    done
}

replicates__one_failed_or_compared__counted_and_paired()
{
    lucky_sweep 'replicate = ["seed"]'
    sed -i 's/^\[job\]/[job]\nenv = { LOSE = "4-2" }/' sweep.toml
    run_ended 3 --only 'layers = 1 AND num_hosts = 1'
    run_meshsweep best
    expect_only_stdout_contains 0 \
        'mean of 2 replicates (median 154, 95 % interval 128.588 to 179.412, from 152 to 156), 1 failed'
    # Pairs are of configurations.
    lucky_sweep 'replicate = ["seed"]'
    run_silently 0
    expect_said only_stdout_contains 0 '4 against 1: 4 pairs ran on both sides' compare --by x=1,4
}

# A trial is a configuration: its first replicate, then where that is ok the others; the strategy is told the mean.
replicates__several_objectives__the_pareto_set_is_of_their_means()
{
    lucky_sweep 'replicate = ["seed"]'
    sed -i 's/^objective.*/objective = ["max:rate", "min:cost"]/' sweep.toml
    sed -i 's/^unit.*/&\n[job.metrics.cost]\nregex = "cost ([0-9]+)"/' sweep.toml
    # Seed 3 of x=2 has the highest rate of all, and seed 1 of x=4 costs least.
    cat >>job.sh <<'END'
case $3-$4 in
4-1) echo cost 1 ;;
4-*) echo cost 100 ;;
*) echo "cost $3" ;;
esac
END
    expect_run silent 0 run -j2 --progress none --only 'layers = 1 AND num_hosts = 1'
    expect_run only_stdout 0 best --json
    # The job in the middle stands for each.
    expect_sql '4|2|154.0|67.0
2|2|128.0|2.0
1|2|52.0|1.0' "SELECT x, seed, round(p.value ->> '\$.values.rate'), round(p.value ->> '\$.values.cost')
        FROM json_each(readfile('.stdout'), '\$.pareto') AS p JOIN results ON job = p.value ->> 'job'"
    expect_said only_stdout_contains 0 '(Pareto set): highest rate, lowest cost; means of replicates' best
}

replicates__search__a_trial_each()
{
    lucky_sweep 'replicate = ["seed"]'
    sed -i 's/^\[job\]/[job]\nenv = { LOSE = "1-1" }/' sweep.toml
    run_meshsweep run --strategy random --max-trials 12 --progress none --only 'layers = 1 AND num_hosts = 1' --limit 4
    expect_only_status 3
    expect_sql '4' "SELECT count(*) FROM job WHERE state <> 'pending'"
    # It goes on where it was left: in the middle of a configuration.
    expect_run only_status 3 run --strategy random --max-trials 12 --progress none --only 'layers = 1 AND num_hosts = 1'
    expect_sql '1|failed|
2|ok|127.667
4|ok|154.0' "SELECT r.x, t.outcome, round(t.objective, 3) FROM trial AS t
        JOIN results AS r ON r.job = t.job_id ORDER BY 1"
    # The one that failed first had no others.
    expect_sql '6|1' "SELECT sum(state = 'ok'), sum(state = 'failed') FROM job"
}

# Their jobs are no replicates of each other, they are no group, and no pairs of compare.
models_of_another_name_alone__are_two()
{
    toml sweep: objective=max:rate replicate='["seed"]' job: command='["echo", "rate", "{x}{seed}"]' \
        job.metrics.rate: regex='rate (.*)' model: name=A,B parallel_spec: x=1,2 seed=1,2 >sweep.toml
    run_silently 0
    expect_said only_stdout_contains 0 '2 groups, 4 configurations, 0 % of them failed; ' \
        replay --strategy grid
    expect_sql 4 "SELECT count(*) FROM configurations"
    sed -i 's/^name = .*/&\nlayers = [3, 4]/' sweep.toml
    run_silently 0
    expect_said only_stdout_contains 0 '4 against 3: 4 pairs ran on both sides' compare --by layers
    expect_said only_stdout_matches 0 '^2 +8 +4 ' compare --scaling x
}

groups__a_winner_each_and_no_headline()
{
    lucky_sweep 'replicate = ["seed"]' 'group_by = ["model.name", "num_hosts"]'
    expect_run only_stderr 0 run --progress plain
    expect "! grep -q 'best rate' .stderr"
    expect_said only_stdout_contains 0 'highest rate in each group; groups are not compared with each other' best
    expect_stdout_contains 'model.name=large, num_hosts=1: 77 samples/s (38.5 per device), job '
    expect_stdout_contains 'model.name=small, num_hosts=2: 308 samples/s (77 per device), job '
    expect "! grep -q '^highest rate [0-9]' .stdout"
    expect_said only_stdout_contains 0 'highest rate 308 samples/s, job ' best --group 'model.name=small, num_hosts=2'
    expect_said only_stdout_contains 0 'model.name=small, num_hosts=2: 308 samples/s' best --group 'name=small'
    expect_stdout_lacks 'model.name=large'
    expect_said only_stdout_contains 0 'highest rate 308 samples/s, job ' best --group 'name=small, num_hosts=2'
    run_meshsweep best --group 'model.name=smal'
    expect_only_stderr_contains 2 \
        '--group model.name=smal: no such group has a winner; these have: model.name=large, num_hosts=1; '
    run_meshsweep best --out winner
    expect_only_stderr 2 'meshsweep: --out: there are 4 groups, each with its own winner; choose one with --group'
    expect_run only_stdout 0 best --out winner --group 'model.name=small, num_hosts=2'
    expect "[ -x winner/command.sh ]"
    expect_run only_stdout 0 status --json
    expect_json '77|1|4' 'winners[0].value' "(j -> 'best') IS 'null'" "json_array_length(j, '\$.winners')"
    expect_sql '4' "SELECT count(*) FROM ranking WHERE rank = 1"
    expect_said only_stdout_contains 0 'best rate so far of each group:' status
    expect_run only_status 0 report -o report.html
    expect "grep -q 'Groups are not compared with each other' report.html"
    expect_run only_stdout 0 export --format summary
    expect_stdout_contains '**Highest rate of each group**' '| model.name=large, num_hosts=1 | 77 samples/s | '
    expect_run only_stdout 0 export --format prometheus
    expect_stdout_contains 'meshsweep_best{sweep="sweep",metric="rate",group="model.name=large, num_hosts=1"} 77.0'
    expect '[ "$(grep -c "^meshsweep_best_job{" .stdout)" = 4 ]'
}

groups__without_replicates__jobs_compete()
{
    lucky_sweep 'group_by = ["num_hosts"]'
    run_silently 0
    expect_said only_stdout_contains 0 'num_hosts=1: 200 samples/s (100 per device), job ' best
    expect "! grep -q replicate .stdout"
    # Listed no more: one headline.
    sed -i '/^group_by/d' sweep.toml
    run_silently 0
    expect_said only_stdout_contains 0 'highest rate 400 samples/s, job ' best
    expect_sql '0' "SELECT count(*) FROM sqlite_schema WHERE name = 'configurations'"
}

groups__a_condition__binds_within_each()
{
    toml sweep: objective=max:rate group_by='["m"]' subject_to='["rate <= 20"]' \
        job: command='["echo", "rate", "{m}{x}"]' job.metrics.rate: regex='rate (.*)' \
        training_spec: m=1,2,3 parallel_spec: x=0,1 >sweep.toml
    run_silently 0
    expect_said only_stdout_contains 0 $'job 3, m 2, x 0\nwithout a winner: m=3\n\nsubject to rate <= 20: 3 ok jobs '\
$'do not meet it\n' best
    expect_said only_stdout_contains 0 $'  m=2: 20, job 3, m 2, x 0\n  without a winner: m=3\n' status
    # In JSON, each job is compared with the winner of its own group.
    expect_said only_stdout_contains 0 $'"broken":\t3,\n\t\t\t"better_jobs":\t1,\n\t\t\t"job":\t4,' best --json
    expect_said only_stdout_contains 0 'rate <= 20: not binding, every job meets it' best --group m=1
    expect_said only_stdout_contains 0 'rate <= 20: binds, excludes 1 better job, the best of them job 4 with 21' \
        best --group m=2
    expect_said only_stderr_contains 2 'm=3: no such group has a winner; these have: m=1; m=2' best --group m=3
    # One group alone has a winner: its command follows, and the others are named.
    expect_said only_stdout_contains 0 $'\n\nother groups have no winner: m=2; m=3\n' best --subject-to 'rate < 20'
    sed -i 's/rate <= 20/rate < 20/' sweep.toml
    expect_run only_stderr 0 run --progress plain
    expect_stderr_lacks 'best rate'
    sed -i 's/rate < 20/rate <= 20/' sweep.toml
    sed -i 's/m = .*/m = [1, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14]/' sweep.toml
    run_silently 0
    expect_said only_stdout_contains 0 'other groups have no winner: m=10; m=11; m=12; m=13; m=14; m=3; m=4; m=5; '\
'm=6; m=7; and 2 more' best
}

groups__of_numbers__in_their_order()
{
    lucky_sweep 'group_by = ["x"]'
    sed -i 's/^x = .*/x = [10, 1, 0.5, 2]/' sweep.toml
    sed -i 's/^esac/*) rate=$4 ;;\nesac/' job.sh
    run_silently 0
    expect_run only_stdout 0 best
    expect '[ "$(grep -o "^ *x=[0-9.]*" .stdout | tr -d " \n")" = x=0.5x=1x=2x=10 ]'
    expect_sql $'x=0.5\nx=1\nx=2\nx=10' "SELECT comparison_group FROM configurations WHERE rank = 1"
}

# Scores 10, 20, 20 and 40 at x, y = 1, 10 to 2, 20.
best__what_if__nothing_is_written()
{
    small_sweep sweep.toml
    expect_run only_stdout 0 run --progress none
    cp results.db before.db
    expect_said only_stdout_contains 0 'x=1: 20, job 2' best --of x
    expect_stdout_contains 'x=2: 40, job 4'
    expect_said only_stdout_contains 0 'x=2, y=10: 20, job 3' best --group training_spec.x,y
    expect_said only_stdout_contains 0 'highest score 20, job 2 of sweep small' best --group x=1
    expect_said only_stdout_contains 0 'highest score 20, job 2 of sweep small' best --subject-to 'score < 30 AND x < 3'
    expect_stdout_contains 'score < 30 AND x < 3: binds, excludes 1 better job'
    expect_said only_stdout_contains 0 'y=10: 20, job 3' best --subject-to 'score < 40' --of y
    expect_stdout_contains 'y=20: 20, job 2'
    run_meshsweep best --subject-to 'max_rss > 1 TiB'
    expect_only_stderr_contains 3 'there is no best job: no job meets all conditions'
    run_meshsweep best --of z
    expect_only_stderr 2 'meshsweep: --of z: no such key; the keys are num_devices_per_host, num_hosts, x, y'
    expect_said only_stderr_contains 2 'unknown metric or key `scor` (did you mean `score`?)' best --subject-to 'scor<3'
    expect 'cmp results.db before.db'
    # A condition and groups of the file are replaced; --of refines its groups.
    sed -i 's/^objective.*/&\nsubject_to = "score < 15"\ngroup_by = ["x"]/' sweep.toml
    expect_run only_status 0 run --progress none
    expect_said only_stdout_contains 0 'score 10, job 1' best --group y
    expect_said only_stdout_contains 0 'x=2, y=10: 20, job 3' best --of y --subject-to 'score < 100'
    expect_said only_stdout_contains 0 'highest score 40, job 4' best --group x=2 --subject-to 'score < 100'
}

values__written_alike__told_apart()
{
    toml sweep: objective=max:score job: 'command = "echo score: {n}"' job.metrics.score: regex='score: ([0-9]+)' \
        training_spec: n=1,2 flag='[true, false]' parallel_spec:: x='[1, "1"]' >sweep.toml
    toml parallel_spec:: device='["none", "cpu"]' x=2 >>sweep.toml
    run_silently 0
    expect_run only_stdout 0 best --of x
    expect '[ "$(grep -o "^ *x=[^:]*: 2" .stdout | tr -d " \n")" = '"'x=1:2x=2:2x=\"1\":2'"' ]'
    expect_said only_stdout_contains 0 'flag                  false' best --group 'x="1", flag=false'
    expect_said only_stdout_contains 0 'device="none": 2' best --of device
    expect_stdout_contains 'device=none: 2'
    expect_said only_stdout_contains 0 '"1" against 1: 4 pairs' compare --by x='1,"1"'
    expect_said only_stdout_contains 0 'device: "none" | none' compare "device = 'none'" 'device IS NULL'
    cp results.db before.db
    expect_said only_stdout_contains 0 'x "1": 4 jobs' compare before.db results.db --by x
}

wrong_keys__told_with_their_place()
{
    lucky_sweep 'replicate = ["sed", "x", "note"]' 'group_by = ["num_host", "x"]' 'note = ["note"]'
    sed -i 's/^x = .*/"(x, y)" = [[1, 2], [2, 3]]\nnote = ["a", "b"]/' sweep.toml
    run_meshsweep check -c sweep.toml
    expect_only_stderr_contains 2 'sweep.toml:3:14: replicate: no section has a key "sed"; did you mean "seed"?'
    expect_stderr_contains 'sweep.toml:3:26: replicate: "note" does not count towards identity ([sweep] note)'
    expect_stderr_contains 'sweep.toml:4:13: group_by: no section has a key "num_host"; did you mean "num_hosts"?'
    expect_stderr_contains 'sweep.toml:4:25: group_by: "x" is a replicate key'
    expect_stderr_contains '"x" is a replicate key, but it is tied to "y": jobs that differ in one also differ in '\
'the other'
}

run_cases "$@"
