#!/usr/bin/env bash
# cli: what ran out of memory is the witness that what needs no less would too.
. "${0%/*}/lib.sh"

# Out of memory above micro_batch x (3 - zero_stage) = 6; lr says nothing about memory.
pruned_sweep()
{
    toml sweep: name=pruned objective=min:step_time job: \
        command='["/bin/sh", "job.sh", "{micro_batch}", "{zero_stage}", "{lr}"]' \
        job.metrics.step_time: regex='step ([0-9.]+)' predict.order: lr=any \
        training_spec: lr=1,2 cluster_spec: num_hosts=1 num_devices_per_host=2 \
        parallel_spec:: micro_batch=1,2,4,8 zero_stage=0,1,2 >sweep.toml
    cat >job.sh <<'END'
if [ $(($1 * (3 - $2))) -gt 6 ]; then
    echo 'CUDA out of memory'
    exit 1
fi
echo "step $1"
END
}

pruned_run() { pruned_sweep; run_ended 3; }

expect_jobs() # OK|OOM|PRUNED|ALL
{
    expect_sql "$1" "SELECT sum(state = 'ok'), sum(failure = 'oom'), sum(witness_id IS NOT NULL), count(*) FROM job
                     WHERE sweep_id = (SELECT id FROM current_sweep)"
}

# Micro-batch 4 at stages 0 and 1 and 8 at stage 2 need the least of what does not fit: these run, once.
run__out_of_memory__what_needs_no_less_is_not_tried()
{
    pruned_sweep
    expect_said only_stderr_contains 3 '24/24 done (100%): 14 ok, 3 failed (3 oom), 7 pruned (need at least as much '\
'memory as a job that ran out of it); ' run --progress plain
    expect_jobs '14|3|7|24'
    expect_sql 17 'SELECT count(*) FROM attempt'
    expect_sql 0 \
        "SELECT count(*) FROM results AS r JOIN job AS j ON j.id = r.job JOIN results AS w ON w.job = j.witness_id
                  WHERE w.failure IS NOT 'oom' OR r.micro_batch < w.micro_batch OR r.zero_stage > w.zero_stage
                        OR r.micro_batch * (3 - r.zero_stage) <= 6"
    rm -rf results.db*
    expect_said only_stderr_contains 3 '12/12 done (100%): 7 ok, 3 failed (3 oom), 2 pruned (need at least as much '\
'memory as a job that ran out of it); ' run --progress plain --only 'lr = 1'
    # The rest brings no further witness.
    run_ended 3
    expect_jobs '14|3|7|24'
    expect_sql 17 'SELECT count(*) FROM attempt'
}

pruned__seen_everywhere__with_the_witness()
{
    pruned_run
    expect_sql 'pruned|7' "SELECT state, jobs FROM progress WHERE state = 'pruned'"
    expect_said only_stdout_matches 0 '^pruned +7 +29.2%' status
    expect_stdout_contains 'pruned: need at least as much device memory as a job that ran out of it'
    expect_stdout_matches '^ +[0-9]+  as job 7$'
    expect_said only_stdout_matches 0 '"witness":[[:space:]]*7' status --json
    run_meshsweep results --where "state = 'pruned'" --columns micro_batch,error --format csv --limit 1
    expect_only_stdout_contains 0 '"needs at least as much device memory as job 7, which ran out of it"'
    expect_said only_stdout_contains 0 'zero_stage=0: pruned' why micro_batch=8 zero_stage=0 lr=1
    expect_stdout_contains 'pruned: job 7 (micro_batch=4) ran out of device memory, and this one needs at least as much'
    expect_said only_stdout_matches 0 '^x [0-9a-f]{16}  lr=1 micro_batch=8 zero_stage=0  needs at least as much '\
'memory as [0-9a-f]{16}, which ran out' plan
    expect_stdout_contains '+ 0 new  = 14 done  ~ 0 retry  ! 3 failed  > 0 running  x 7 pruned'
}

prune__off_and_on_again__brought_back()
{
    pruned_run
    expect_said only_stdout_contains 0 '+ 7 new  = 14 done' plan --prune off
    run_ended 3 --prune off --limit 1
    expect_jobs '14|4|0|24'
    run_ended 3 --prune sound
    expect_jobs '14|4|6|24'
    sed -i 's/^\[predict.order\]/[predict]\nprune = "off"\n&/' sweep.toml
    run_ended 3
    expect_jobs '14|10|0|24'
    expect_said only_stderr_contains 2 '--prune most: must be sound, estimate or off' run --prune most
}

witness__deleted_or_tried_again__dependents_are_back()
{
    pruned_run
    sql "UPDATE job SET witness_id = 7 WHERE witness_id IS NOT NULL"
    sql "DELETE FROM job WHERE id = 7"
    expect_sql 0 'SELECT count(*) FROM job WHERE witness_id IS NOT NULL'
    # The others are witnesses enough: also of what was one itself.
    run_ended 3
    expect_jobs '14|2|8|24'
    # A job that fits in the end is no witness any more.
    sed -i 's/-gt 6/-gt 8/' job.sh
    run_ended 3 --retry-failed
    expect_jobs '18|2|4|24'
}

# The file asks for larger micro-batches alone: those of before have shown where memory ends.
witness__no_longer_in_the_file__still_one()
{
    pruned_run
    sed -i 's/^micro_batch = .*/micro_batch = [16, 32]/' sweep.toml
    expect_said only_stdout_matches 0 '^x [0-9a-f]{16}  lr=2 micro_batch=32 zero_stage=2  needs at least as much '\
'memory as [0-9a-f]{16}, which ran out' plan
    expect_stdout_contains '+ 0 new  = 0 done  ~ 0 retry  ! 0 failed  > 0 running  x 12 pruned'
    run_silently 0
    expect_jobs '0||12|12'
    # The failures of another command with these specs say nothing of this one.
    sed -i 's|"/bin/sh", "job.sh"|"/bin/sh", "./job.sh"|' sweep.toml
    expect_said only_stdout_contains 0 '+ 12 new' plan
    # Nor what a key did that the file does not know any more.
    sed -i \
        's|"/bin/sh", "./job.sh"|"/bin/sh", "job.sh"|; s/^lr = \[1, 2\]/epochs = 1/; s/^lr = "any"//; s/"{lr}"/"1"/' \
        sweep.toml
    expect_said only_stdout_contains 0 '+ 6 new' plan
}

order__other_failures_and_unequal_keys__prune_nothing()
{
    pruned_sweep
    sed -i 's/CUDA out of memory/something else/' job.sh
    run_ended 3
    expect_sql '14|10|0' "SELECT sum(state = 'ok'), sum(failure = 'exit'), sum(witness_id IS NOT NULL) FROM job"
    # Nothing is said of lr now, and stages are not compared on one device.
    pruned_sweep
    sed -i '/^lr = "any"/d; s/^num_devices_per_host = 2/num_devices_per_host = 1/' sweep.toml
    run_ended 3
    expect_jobs '14|6|4|24'
    expect_sql 0 \
        "SELECT count(*) FROM results AS r JOIN job AS j ON j.id = r.job JOIN results AS w ON w.job = j.witness_id
                  WHERE w.lr <> r.lr OR w.zero_stage <> r.zero_stage"
}

order__wrong__all_at_once()
{
    pruned_sweep
    sed -i 's/^lr = "any"/lr = "sideways"\nzero_stage = [1]/' sweep.toml
    expect_said only_stderr_contains 2 'sweep.toml:9:6: lr must be "rises", "falls", "equal" or "any"' plan
    expect_stderr_contains 'sweep.toml:10:14: an order needs at least two values'
    pruned_sweep
    sed -i 's/^lr = "any"/nowhere = "rises"\nmicro_batch = { order = "rises", when = "nil" }/' sweep.toml
    expect_said only_stderr_contains 2 '[predict.order] `nowhere`: unknown key `nowhere`' plan
    expect_stderr_contains '[predict.order] `micro_batch`: unknown key `nil`'
}

run_cases "$@"
