#!/usr/bin/env bash
# A search in a space that is too large to list.
. "${0%/*}/lib.sh"

# 10,000,000,000 combinations; (a + e) % 2 = 0 leaves half.
vast_sweep() # STRATEGY
{
    toml search: "strategy = \"$1\"" max_trials=8 sweep: name=vast objective=max:score \
        job: command='["/bin/sh", "./job.sh", "{a}", "{b}"]' job.metrics.score: regex='score: ([0-9.]+)' better=max \
        model:: "a = [$(seq -s ', ' 100)]" "b = [$(seq -s ', ' 100)]" training_spec:: "c = [$(seq -s ', ' 100)]" \
        parallel_spec:: "d = [$(seq -s ', ' 100)]" "e = [$(seq -s ', ' 100)]" \
        rule:: name=even require='"(a + e) % 2 = 0"'
    cat >job.sh <<'END'
if [ -e kill-the-runner ]; then
    rm kill-the-runner
    kill -KILL "$PPID"
fi
echo "score: $(($1 * $2))"
END
}

decided_ranks() # DATABASE
{
    sqlite3 "$1" 'SELECT t.asked, j.rank, t.reason FROM trial AS t JOIN job AS j ON j.id = t.job_id ORDER BY t.asked'
}

vast_space__a_search__draws_and_goes_on_after_death()
{
    for strategy in random model grid; do
        vast_sweep "$strategy" >sweep.toml
        run_meshsweep run -j 1 --progress none -d "$strategy-whole.db"
        expect_only_stderr_contains 0 "5000000000 combinations match; the search chooses among 10000 of them"
        expect_sql 8 "SELECT count(DISTINCT job_id) FROM trial" "$strategy-whole.db"
        expect_sql 0 "SELECT count(*) FROM results WHERE (a + e) % 2" "$strategy-whole.db"
        expect_run only_stderr 0 run -j 1 --progress none -d "$strategy-pieces.db" --limit 2
        runner_killed "$strategy-pieces.db"
        expect_run only_stderr 0 run -j 1 --progress none -d "$strategy-pieces.db"
        decided_ranks "$strategy-whole.db" >whole
        decided_ranks "$strategy-pieces.db" >pieces
        diff -u whole pieces >difference || fail "$strategy: $(cat difference)"
    done
    expect_sql "0 2 4 6 8 10 12 14" "SELECT group_concat(rank, ' ') FROM (SELECT j.rank FROM trial AS t
        JOIN job AS j ON j.id = t.job_id ORDER BY t.asked)" grid-whole.db
}

run_cases "$@"
