#!/usr/bin/env bash
# cli: search strategies against jobs that are measured.
. "${0%/*}/lib.sh"

# Two models; throughput grows with the micro-batch until memory runs out above 4 (small) or 2 (large). kernel = 2 costs
# a tenth. A third model never runs.
measured_table()
{
    {
        echo layers,kernel,mbs,state,rate,mem,secs
        for layers in 2 4 8; do
            for kernel in 1 2; do
                for mbs in 1 2 4 8 16; do
                    awk -v l="$layers" -v t="$kernel" -v m="$mbs" 'BEGIN {
                        most = l == 2 ? 4 : l == 4 ? 2 : 0
                        rate = 100 / l * m / (m + 1) * (t == 2 ? 0.9 : 1)
                        if (m > most) print l "," t "," m ",oom,,,7"
                        else printf "%d,%d,%d,ok,%.4f,%d,%d\n", l, t, m, rate, l * m, 60
                    }'
                done
            done
        done
    } >table.csv
    toml sweep: name=measured objective=max:throughput job.metrics.throughput: unit=samples/s better=max \
        import: state=state duration=secs import.cluster_spec: num_hosts=1 num_devices_per_host=2 \
        import.model: layers=layers import.training_spec: global_batch=64 \
        import.parallel_spec: kernel=kernel micro_batch=mbs import.metrics: throughput=rate >import.toml
    expect_run only_status 0 import -c import.toml table.csv
}

replay__measured_table__counts_per_strategy_and_group()
{
    measured_table
    expect_run only_stdout 0 replay --strategy grid,random --group-by layers --groups --seeds 50
    expect_stdout_contains \
        "3 groups, 30 configurations, 67 % of them failed; 1 group with none that runs; 50 searches of each group by"
    # Grid asks for kernel = 1 first: micro-batches 1, 2, 4 of two layers, 1 and 2 of four.
    expect_stdout_matches '^\| grid \| 2\.50 \| 2 \| 3 \| 0\.00 \| 100 % \|'
    expect_stdout_matches '^\| grid, layers=2 \| 3\.00 \| 3 \| 3 \| 0\.00 \|'
    expect_stdout_matches '^\| grid, layers=4 \| 2\.00 \|.* 0\.07 \|$'
    expect_stdout_lacks ', layers=8'
    expect_stdout_contains '| layers=4 | 16.6667 | 12 |
| layers=8 | - | - |'
    expect_stdout_matches '^\| random \| [3-7]\.[0-9]+ \|'
}

# Seeds are replicates: of kernel 2 one is lucky, and the mean of kernel 1 is higher.
replay__replicates_and_groups__configurations_of_each_group()
{
    printf '%s\n' model,kernel,seed,state,rate,secs small,1,1,ok,100,60 small,1,2,ok,104,60 small,2,1,ok,120,60 \
        small,2,2,ok,60,60 large,1,1,oom,,10 large,1,2,ok,500,60 large,2,1,ok,30,60 large,2,2,ok,32,60 >table.csv
    toml sweep: name=measured objective=max:rate replicate='["seed"]' group_by='["layers"]' note='["label"]' \
        import: state=state duration=secs import.model: label=model layers='"iif(model = '\''small'\'', 2, 4)"' \
        import.training_spec: seed=seed import.parallel_spec: kernel=kernel \
        import.metrics: rate=rate >import.toml
    expect_run only_status 0 import -c import.toml table.csv
    expect_run only_stdout 0 replay --strategy grid --seeds 2
    expect_stdout_contains '2 groups, 4 configurations, 25 % of them failed; 0 groups with none that runs; '\
'4 more jobs are replicates of these: a trial runs all of them, and their mean counts; '
    # One whose first replicate fails has failed, as in a run.
    expect_stdout_matches '^\| grid, layers=2 \| 1\.00 \|.* 0\.03 \|$' '^\| grid, layers=4 \| 2\.00 \|'
    expect_stdout_contains '| layers=2 | 102 | 1 |
| layers=4 | 31 | 7 |'
    run_meshsweep replay --strategy grid --seeds 1 --json
    expect_only_stdout_contains 0 '"further_replicates":	4' '"best_value":	102' '"best_job":	7'
}

replay__json__the_same_for_programs()
{
    measured_table
    run_meshsweep replay --strategy grid --group-by layers --seeds 3 --json
    expect_only_stdout_contains 0 '"groups_without_runnable_job":	1' '"failed_jobs":	20' '"group":	"layers=4"'
    expect_stdout_contains '"after_10":	{'
}

replay__twice__same_answer()
{
    measured_table
    expect_run only_status 0 replay --group-by layers --seeds 5
    cp .stdout first
    expect_run only_status 0 replay --group-by layers --seeds 5
    expect 'cmp -s first .stdout'
}

replay__rows_in_another_order__same_answer()
{
    measured_table
    expect_run only_stdout 0 replay --strategy grid,random,model --group-by layers --seeds 5
    cp .stdout first
    { head -n 1 table.csv; tail -n +2 table.csv | tac; } >reversed.csv
    expect_run only_status 0 import -c import.toml -d reversed.db reversed.csv
    expect_run only_stdout 0 replay -d reversed.db --strategy grid,random,model --group-by layers --seeds 5
    expect 'cmp -s first .stdout'
}

replay__finished_sweep__like_a_table()
{
    toml sweep: name=run objective=max:throughput job: \
        command='["/bin/sh", "-c", "echo throughput $(( {micro_batch} * 10 )); test {micro_batch} -le 4"]' \
        job.metrics.throughput: regex='throughput ([0-9]+)' unit=samples/s \
        model: layers=2 parallel_spec: micro_batch=1,2,4,8 >sweep.toml
    expect_run only_status 3 run --progress none
    run_meshsweep replay --strategy grid --seeds 1 --trace
    expect_only_stdout_matches 0 '^  3\. job 3: throughput 40 \(100\.0 % of the best\); ' '^  4\. job 4: exit; '
    expect_stdout_matches '^\| grid \| 3\.00 '
    # As declared, like a run, and not by the size of the values.
    sed -i '/^micro_batch/s/=.*/= [2, 4, 1, 8]/' sweep.toml
    expect_run only_status 3 run --progress none -d declared.db
    expect_said only_stdout_matches 0 '^\| grid \| 2\.00 ' replay --strategy grid --seeds 1 -d declared.db
}

replay__rules_of_another_file__exclude_candidates()
{
    measured_table
    cp import.toml narrow.toml
    printf '[[rule]]\nname = "one"\nrequire = "kernel = 1"\n' >>narrow.toml
    expect_said only_stdout_contains 0 "3 groups, 15 configurations, 67 % of them failed; 1 group with none that runs; \
15 jobs excluded by rules;" replay -c narrow.toml --strategy grid --group-by layers --seeds 1
}

replay__nothing_to_replay__said()
{
    measured_table
    run_meshsweep replay --group-by layer
    expect_only_stderr 2 'meshsweep: --group-by: no such column: layer (did you mean layers?)'
    run_meshsweep replay --group-by nothing_like_it
    expect_only_stderr_matches 2 '^meshsweep: --group-by: no such column: nothing_like_it \(columns: .*layers.*\)$'
    run_meshsweep replay --strategy modle
    expect_only_stderr_contains 2 '--strategy: unknown value `modle` (did you mean `model`?)'
    expect_run only_stderr 1 replay -d absent.db
    # No row is ok.
    { head -n 1 table.csv; grep oom table.csv; } >failed.csv
    expect_said among_stderr 0 "no row of failed.csv is ok" import -c import.toml -d failed.db failed.csv
    expect_run only_stderr 4 replay -d failed.db
    expect_stderr "meshsweep: failed.db: no job that succeeded has a value of throughput, so there is nothing to find"
    # An objective that no job reports.
    sed 's/max:throughput/max:speed/' import.toml >speed.toml
    expect_said only_stderr_contains 2 'speed.toml:3:13: objective: jobs come from a table, but' replay -c speed.toml
    # No objective at all.
    sed '/objective/d' import.toml >aimless.toml
    expect_said only_stderr_contains 2 "declares no objective" replay -c aimless.toml
    # Rules leave nothing.
    cp import.toml none.toml
    printf '[[rule]]\nname = "none"\nrequire = "kernel = 3"\n' >>none.toml
    run_meshsweep replay -c none.toml
    expect_only_stderr_contains 4 "no measured job is left to search: 0 have not ended, 30 are excluded by rules"
}

# Empty cells are keys that are not there; a number that is none is refused.
replay__missing_keys_and_numbers__what_is_left_is_searched()
{
    measured_table
    awk -F, -v OFS=, 'NR == 2 { $1 = "" } NR == 3 { $2 = "" } NR == 4 { $NF = "nan" } { print }' table.csv >holes.csv
    expect_run only_status 0 import -c import.toml -d holes.db holes.csv
    run_meshsweep replay -d holes.db --seeds 2 --max-trials 50
    expect_only_stdout_matches 0 '^\| dsat-asha \| ' '^\| model \| '
}

# A share of a number below zero is on its other side, and a ratio of two says nothing.
replay__below_zero__found_and_no_slowdown()
{
    toml sweep: objective=min:loss job: 'command = "echo loss: -{x}"' job.metrics.loss: 'regex = "loss: (.*)"' \
        parallel_spec: x=1,9,5 >sweep.toml
    run_silently 0
    run_meshsweep replay --strategy grid --seeds 1
    expect_only_stdout_contains 0 '| grid | 2.00 | 2 | 2 | 0.00 | 100 % | -, -, -, - | 3.0 | 0.00 |'
}

replay__one_row__found_at_once()
{
    measured_table
    head -n 2 table.csv >one.csv
    expect_run only_status 0 import -c import.toml -d one.db one.csv
    run_meshsweep replay -d one.db --strategy grid,random,model --seeds 2
    expect_only_stdout_matches 0 '^\| grid \| 1\.00 ' '^\| model \| 1\.00 '
}

# The figures that docs/benchmarks.md states, as bounds; scripts/bench.sh search prints them all.
replay__published_tables__model_needs_few_trials()
{
    data=${MESHSWEEP_SHARED_DATA:-$source_dir/../shared/data}
    [ -d "$data" ] || skip "the measured tables are not here: $data"
    while read -r name table groups most failed wrong; do
        expect_run only_status 0 import -c "$source_dir/configs/import/$name.toml" -d "$name.db" "$data/$table"
        expect_run only_stdout 0 replay -d "$name.db" --group-by "$groups" --strategy model
        expect "awk -v most=$most -v failed=$failed '/^\| model/ { exit !(\$4 <= most && \$13 <= failed) }' .stdout"
        run_meshsweep replay -d "$name.db" --group-by "$groups" --strategy model --memory-error 1.5 --time-error 2.8
        expect_only_stdout 0
        expect "awk -v most=$wrong '/^\| model/ { exit !(\$4 <= most) }' .stdout"
    done <<'END'
ultrascale ultrascale-1B-8B.csv name,num_hosts 4.0 0.3 4.5
vtrain vtrain-single-node.csv layers,hidden,num_devices_per_host,global_batch 3 0.3 4.5
END
}

run_cases "$@"
