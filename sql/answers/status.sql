-- The progress of a sweep: the document of `meshsweep status --json` (docs/json.md), and beside it what only the text
-- has. ?1: the sweep (NULL: that which was run last); ?2: the time of day in ms (NULL: now); ?3: whether a runner is
-- alive; ?4: of which job full trainings are asked for (NULL: of all of the sweep); ?5: how many jobs wait, where that
-- is known. The program fills in `winners`, `subject_to`, `pareto_jobs`, `failures`, `unranked_…` and `excluded_jobs`, and asks
-- parts of this on their own: what stands before the last SELECT is where they come from.
WITH RECURSIVE
clock (ms) AS MATERIALIZED (SELECT coalesce(?2, CAST((julianday('now') - 2440587.5) * 86400000 AS INTEGER))),
-- Not of current_sweep, all of whose columns would be worked out at each place that asks.
this (id) AS MATERIALIZED (SELECT coalesce(?1, (SELECT id FROM sweep ORDER BY last_seen DESC, id DESC LIMIT 1))),

-- Jobs by state. All but ok from their partial indexes; ok is the rest, of a number that is known once all jobs stand in
-- the table (the table's triggers watch). Counting a million rows would take a second.
other (state, failure, jobs) AS MATERIALIZED (
    SELECT 'pending', NULL, count(*) FROM job WHERE sweep_id = (SELECT id FROM this) AND state = 'pending'
        AND witness_id IS NULL AND held IS NULL
    UNION ALL SELECT 'held', NULL, count(*) FROM job WHERE sweep_id = (SELECT id FROM this) AND held IS NOT NULL
        AND witness_id IS NULL
    UNION ALL SELECT 'pruned', NULL, count(*) FROM job WHERE sweep_id = (SELECT id FROM this) AND witness_id IS NOT NULL
    UNION ALL SELECT 'running', NULL, count(*) FROM job WHERE sweep_id = (SELECT id FROM this) AND state = 'running'
    UNION ALL SELECT 'failed', failure, count(*) FROM job WHERE sweep_id = (SELECT id FROM this) AND state = 'failed'
        GROUP BY failure
    -- Jobs that a runner has claimed ahead of time wait like the rest.
    UNION ALL SELECT 'claimed', NULL, count(*) FROM attempt AS a JOIN job AS j ON j.id = a.job_id
        WHERE a.state IN ('claimed', 'running') AND a.state = 'claimed' AND a.kind = 'trial' AND j.state = 'running'
        AND j.sweep_id = (SELECT id FROM this)),
counts (pending, running, pruned, held, failed, jobs) AS MATERIALIZED (
    SELECT coalesce(sum(jobs) FILTER (WHERE state IN ('pending', 'claimed')), 0),
        coalesce(sum(iif(state = 'claimed', -jobs, jobs)) FILTER (WHERE state IN ('running', 'claimed')), 0),
        coalesce(sum(jobs) FILTER (WHERE state = 'pruned'), 0), coalesce(sum(jobs) FILTER (WHERE state = 'held'), 0),
        coalesce(sum(jobs) FILTER (WHERE state = 'failed'), 0),
        coalesce((SELECT jobs FROM sweep WHERE id = (SELECT id FROM this) AND enumerated),
                 (SELECT count(*) FROM job WHERE sweep_id = (SELECT id FROM this)))
    FROM other),

-- The part that the last run was narrowed to.
shard (shard, others) AS MATERIALIZED (
    SELECT value ->> 'shard', value ->> 'others' FROM meta WHERE name = 'shard' AND value ->> 'sweep' = (SELECT id FROM this)),

-- The newest search that a run made, unless the last attempt is of a runner that made none of its trials. lifting:
-- options that lift its limits; to_come: how many trials at most; -1: not known.
the_search (strategy, trials, ok, stopped, failed, infeasible, ended, lifting, to_come) AS MATERIALIZED (
    SELECT strategy, trials, ok, stopped, failed - infeasible, infeasible, nullif(finished, ''), lifting,
        CASE WHEN finished IS NOT NULL THEN 0 WHEN most > 0 THEN max(most - trials, 0)
            WHEN strategy IN ('grid', 'random') THEN 9223372036854775807 ELSE -1 END
    FROM (SELECT s.strategy, s.finished, count(t.asked) AS trials, coalesce(sum(t.outcome = 'ok'), 0) AS ok,
              coalesce(sum(t.outcome = 'stopped'), 0) AS stopped, coalesce(sum(t.outcome = 'failed'), 0) AS failed,
              coalesce(sum(t.failure IN ('infeasible', 'infeasible-memory')), 0) AS infeasible,
              s.options ->> 'max_trials' AS most,
              coalesce((SELECT group_concat(' --' || replace(key, '_', '-') || ' 0', '') FROM json_each(s.options)
                  WHERE key IN ('max_trials', 'early_stopping', 'budget', 'deadline') AND value > 0), '') AS lifting
          FROM search AS s LEFT JOIN trial AS t ON t.search_id = s.id AND t.asked IS NOT NULL
          WHERE s.id = (SELECT max(id) FROM search WHERE sweep_id = (SELECT id FROM this) AND strategy <> 'ask')
              AND (SELECT a.runner_id FROM attempt AS a JOIN job AS j ON j.id = a.job_id
                   WHERE j.sweep_id = (SELECT id FROM this) AND a.kind = 'trial' ORDER BY a.id DESC LIMIT 1)
              IN (SELECT a.runner_id FROM trial JOIN attempt AS a ON a.id = attempt_id WHERE search_id = s.id)
          GROUP BY s.id)),
search_document (document) AS (
    SELECT json_object('strategy', strategy, 'trials_made', trials, 'ok', ok, 'stopped_early', stopped, 'failed', failed,
        'infeasible', infeasible, 'trials_to_come', to_come, 'why_it_ended', ended) FROM the_search),
rest (to_come) AS MATERIALIZED (SELECT coalesce((SELECT min(to_come, pending) FROM the_search), pending) FROM counts),

-- Running attempts, of any sweep: a runner that was started with an older file still occupies the machine.
running AS MATERIALIZED (
    SELECT id, job_id, number, started, slot, waits FROM attempt
    WHERE state IN ('claimed', 'running') AND state = 'running' AND kind = 'trial'),
first_running AS MATERIALIZED (
    SELECT a.*, max((SELECT ms FROM clock) - a.started, 0) AS elapsed, j.cluster_id, j.model_id, j.training_id,
        j.parallel_id, j.derived
    FROM running AS a JOIN job AS j ON j.id = a.job_id ORDER BY a.started, a.id LIMIT 10),
-- Keys that are the same in all specs of their kind. Most are told apart by a thousand specs; all are read for the rest.
some AS MATERIALIZED (
    SELECT * FROM (SELECT kind, json FROM spec WHERE kind = 'cluster_spec' LIMIT 1000)
    UNION ALL SELECT * FROM (SELECT kind, json FROM spec WHERE kind = 'model' LIMIT 1000)
    UNION ALL SELECT * FROM (SELECT kind, json FROM spec WHERE kind = 'training_spec' LIMIT 1000)
    UNION ALL SELECT * FROM (SELECT kind, json FROM spec WHERE kind = 'parallel_spec' LIMIT 1000)),
same_in_some AS MATERIALIZED (
    SELECT s.kind, k.key FROM some AS s, json_each(s.json) AS k GROUP BY s.kind, k.key
    HAVING count(DISTINCT k.value) < 2 AND count(*) = (SELECT count(*) FROM some AS n WHERE n.kind = s.kind)),
same AS MATERIALIZED (
    SELECT s.kind, k.key FROM (SELECT DISTINCT kind FROM same_in_some) AS w CROSS JOIN spec AS s ON s.kind = w.kind,
        json_each(s.json) AS k WHERE (s.kind, k.key) IN (SELECT kind, key FROM same_in_some) GROUP BY s.kind, k.key
    HAVING count(DISTINCT k.value) < 2 AND count(*) = (SELECT count(*) FROM spec AS n WHERE n.kind = s.kind)),
retry AS MATERIALIZED (
    SELECT id, (SELECT coalesce(max(number), 0) + 1 FROM attempt WHERE job_id = job.id) AS number, due, count(*) OVER () AS n
    FROM job WHERE sweep_id = (SELECT id FROM this) AND state = 'pending' AND witness_id IS NULL AND held IS NULL
        AND due IS NOT NULL ORDER BY due, id LIMIT 10),

-- How long jobs take: like attempts of jobs with the same cluster, model and training specs; where there is none, of
-- those with the same cluster and model; else of all. The newest 2,000; absent specs are 0, so that joins may use an
-- index. Cancelled and lost attempts tell nothing.
ended AS MATERIALIZED (
    SELECT coalesce(j.cluster_id, 0) AS c, coalesce(j.model_id, 0) AS m, coalesce(j.training_id, 0) AS t,
        a.duration_ms AS ms
    FROM (SELECT job_id, duration_ms FROM attempt NOT INDEXED WHERE duration_ms IS NOT NULL AND unwatched_ms IS NULL
              AND kind = 'trial' AND failure IS NOT 'cancelled' AND failure IS NOT 'lost' ORDER BY id DESC LIMIT 2000) AS a
    CROSS JOIN job AS j ON j.id = a.job_id),
near AS MATERIALIZED (SELECT c, m, t, avg(ms) AS ms FROM ended GROUP BY c, m, t),
far AS MATERIALIZED (SELECT c, m, avg(ms) AS ms FROM ended GROUP BY c, m),
overall AS MATERIALIZED (SELECT avg(ms) AS ms FROM ended),
-- Those with ids at even distances stand for all of many that wait: reading a million jobs would take a second. NOT
-- INDEXED, or SQLite prefers a covering index to the table's end; a condition on both sides, or it makes a Bloom filter
-- of the whole table.
many (yes) AS MATERIALIZED (SELECT coalesce(?5, (SELECT pending FROM counts)) > 2000),
step (of, last) AS MATERIALIZED (
    SELECT 1 + last / 2000, last FROM (SELECT (SELECT max(id) FROM job NOT INDEXED) AS last FROM many WHERE yes)),
place_of (id) AS (SELECT 1 FROM step UNION ALL SELECT id + step.of FROM place_of, step WHERE id < step.last),
few AS MATERIALIZED (SELECT 1 FROM many WHERE NOT yes),
picked AS (
    SELECT coalesce(j.cluster_id, 0) AS c, coalesce(j.model_id, 0) AS m, coalesce(j.training_id, 0) AS t
    FROM few CROSS JOIN job AS j
    WHERE j.sweep_id = (SELECT id FROM this) AND j.state = 'pending' AND j.witness_id IS NULL AND j.held IS NULL
    UNION ALL SELECT coalesce(j.cluster_id, 0), coalesce(j.model_id, 0), coalesce(j.training_id, 0)
    FROM place_of CROSS JOIN job AS j ON j.id = place_of.id
    WHERE iif(place_of.id, j.sweep_id = (SELECT id FROM this) AND j.state = 'pending' AND j.witness_id IS NULL
              AND j.held IS NULL, 0)),
waiting AS MATERIALIZED (SELECT c, m, t, count(*) AS jobs FROM picked GROUP BY c, m, t),
expected_waiting (ms) AS MATERIALIZED (
    SELECT sum(w.jobs * coalesce(near.ms, far.ms, overall.ms)) / sum(w.jobs)
    FROM waiting AS w CROSS JOIN overall LEFT JOIN near ON near.c = w.c AND near.m = w.m AND near.t = w.t
    LEFT JOIN far ON far.c = w.c AND far.m = w.m),
expected_running (job, ms) AS MATERIALIZED (
    SELECT w.id, coalesce(near.ms, far.ms, overall.ms)
    FROM (SELECT j.id, coalesce(j.cluster_id, 0) AS c, coalesce(j.model_id, 0) AS m, coalesce(j.training_id, 0) AS t
          FROM running AS a CROSS JOIN job AS j ON j.id = a.job_id) AS w
    CROSS JOIN overall LEFT JOIN near ON near.c = w.c AND near.m = w.m AND near.t = w.t
    LEFT JOIN far ON far.c = w.c AND far.m = w.m WHERE overall.ms IS NOT NULL),
-- The last 1,000 attempts whose time says something of the next one's.
timed AS MATERIALIZED (
    SELECT job_id, duration_ms FROM attempt WHERE duration_ms IS NOT NULL AND unwatched_ms IS NULL
        AND failure IS NOT 'cancelled' AND failure IS NOT 'lost' AND kind = 'trial' ORDER BY id DESC LIMIT 1000),
mean (ms) AS MATERIALIZED (SELECT CAST(avg(duration_ms) AS INTEGER) FROM timed),
-- What a job that runs or is to come takes yet: the repeats that the last run wanted, less those that are ok.
each_takes (attempts) AS MATERIALIZED (
    SELECT coalesce(max(1, value ->> 'of' - (SELECT count(*) * 1.0 FROM attempt AS a CROSS JOIN job AS j ON j.id = a.job_id
            WHERE a.state = 'ok' AND a.kind = 'trial' AND a.superseded IS NULL AND j.sweep_id = (SELECT id FROM this)
                AND j.state IN ('pending', 'running')) / max(pending + running, 1)), 1)
    FROM counts LEFT JOIN meta ON name = 'repeat' AND value ->> 'sweep' = (SELECT id FROM this) AND value ->> 'of' > 1),
-- What a limit on the starts of the last run leaves of that.
begins (to_come, limited) AS MATERIALIZED (
    SELECT min(to_come, coalesce(left, to_come)), left < to_come FROM rest LEFT JOIN (
        SELECT max(value ->> 'most' - (SELECT count(*) FROM attempt WHERE id > ifnull(value ->> 'after', 0) AND state <> 'claimed'
            AND kind = 'trial'), 0) AS left
        FROM meta WHERE name = 'repeat' AND value ->> 'sweep' = (SELECT id FROM this) AND value ->> 'most' > 0)),
-- Until all that will run is done, with as many jobs at a time as run now. Those beyond the first have all before them.
eta (ms) AS MATERIALIZED (
    SELECT CASE WHEN to_come = 0 AND counts.running = 0 THEN 0 WHEN to_come >= 0 AND now.n > 0
        THEN CAST((1.0 * coalesce(CAST((SELECT ms FROM expected_waiting) AS INTEGER), mean.ms)
                   * ((to_come + now.n) * attempts - min(now.n, 10))
                   + (SELECT coalesce(sum(max(coalesce((SELECT CAST(ms AS INTEGER) FROM expected_running
                                                        WHERE job = a.job_id LIMIT 1), mean.ms) - a.elapsed, 0)), 0)
                      FROM first_running AS a)) / now.n AS INTEGER) END
    FROM begins, counts, mean, each_takes, (SELECT count(*) AS n FROM running) AS now),

-- Attempts of the newest runner that ended, per second, over the last 200: between it and those before it nothing ran.
-- A clock may have been set back meanwhile. Device-hours are added up of 100,000 attempts at most: a tenth of a second.
real (name, value) AS MATERIALIZED (
    SELECT 'jobs_per_second', iif(max(ended) > min(started), count(*) * 1000.0 / (max(ended) - min(started)), NULL)
    FROM (SELECT runner_id, started, ended FROM attempt WHERE ended IS NOT NULL AND kind = 'trial' ORDER BY id DESC
          LIMIT 200) WHERE runner_id = (SELECT max(id) FROM runner)
    UNION ALL SELECT 'device_hours', CASE WHEN (SELECT max(id) FROM attempt) <= 100000 THEN
        (SELECT sum(1.0 * a.duration_ms * j.devices) / 3600000 FROM attempt AS a JOIN job AS j ON j.id = a.job_id
         WHERE a.kind = 'trial') END
    UNION ALL SELECT 'device_hours_left', (SELECT CASE WHEN to_come + running > 0 AND to_come >= 0 THEN
        (SELECT avg(1.0 * a.duration_ms * j.devices) / 3600000 FROM timed AS a JOIN job AS j ON j.id = a.job_id)
        * (to_come + running) * attempts END FROM rest, counts, each_takes)
    UNION ALL SELECT 'best', (SELECT value FROM best)
    UNION ALL SELECT 'ratio of ' || host, ratio FROM slow),
-- As decimals: 15 digits where that is enough. 17 may miss the number by its last bit; the program has it from the
-- columns behind the document.
number (name, value, text) AS MATERIALIZED (
    SELECT name, value, json(iif(CAST(printf('%.15g', value) AS REAL) = value, printf('%.15g', value), printf('%!.17g', value)))
    FROM real WHERE abs(value) < 9e999),
-- One row, so that what they rest on is prepared once.
numbers (text, jobs_per_second, device_hours, device_hours_left, best) AS MATERIALIZED (
    SELECT json_group_object(name, json(text)), max(value) FILTER (WHERE name = 'jobs_per_second'),
        max(value) FILTER (WHERE name = 'device_hours'), max(value) FILTER (WHERE name = 'device_hours_left'),
        max(value) FILTER (WHERE name = 'best') FROM number),

-- Each job's time on a node over that of the same job elsewhere, or else of jobs of the same specs but the plan; the
-- latter differ among themselves, so that it takes more of them. Slow is what is certain to some two deviations.
recent AS (
    SELECT a.job_id, coalesce(a.host, r.host) AS host, a.duration_ms FROM attempt AS a JOIN runner AS r ON r.id = a.runner_id
    WHERE a.state = 'ok' AND a.duration_ms > 0 AND a.unwatched_ms IS NULL AND a.kind = 'trial' AND a.executor <> 'import'
    ORDER BY a.id DESC LIMIT 10000),
mean_on AS MATERIALIZED (
    SELECT job_id, host, avg(duration_ms) AS ms, coalesce(model_id, 0) AS m, coalesce(cluster_id, 0) AS c,
        coalesce(training_id, 0) AS t FROM recent JOIN job ON job.id = job_id GROUP BY job_id, host),
same_job AS MATERIALIZED (SELECT job_id, count(*) AS n, sum(ms) AS ms FROM mean_on GROUP BY 1),
matched AS MATERIALIZED (SELECT m, c, t, count(*) AS n, sum(ms) AS ms FROM mean_on GROUP BY 1, 2, 3),
here AS MATERIALIZED (SELECT m, c, t, host, count(*) AS n, sum(ms) AS ms FROM mean_on GROUP BY 1, 2, 3, 4),
ratio AS (
    SELECT mean_on.host, same_job.n > 1 AS own, mean_on.ms / iif(same_job.n > 1,
        (same_job.ms - mean_on.ms) / (same_job.n - 1), (matched.ms - here.ms) / (matched.n - here.n)) AS r
    FROM mean_on JOIN same_job USING (job_id) JOIN matched USING (m, c, t) JOIN here USING (m, c, t, host)
    WHERE same_job.n > 1 OR matched.n > here.n),
slow (host, ratio, pairs) AS MATERIALIZED (
    SELECT host, avg(r), count(*) FROM ratio GROUP BY host HAVING (sum(own) >= 3 OR count(*) >= 8) AND avg(r) >= 1.2
        AND (avg(r) - 1.1) * (avg(r) - 1.1) * (count(*) - 1) >= 4 * (avg(r * r) - avg(r) * avg(r)) ORDER BY 2 DESC LIMIT 5),

-- Down or up the index of values, to the first job of the sweep that has measured what was asked of it and meets what
-- [sweep] subject_to asks for: one of the two gives a row.
best (job, value) AS MATERIALIZED (
    SELECT * FROM (
        SELECT j.id, m.value FROM job_metric AS m CROSS JOIN job AS j NOT INDEXED ON j.id = m.job_id
        CROSS JOIN attempt AS a NOT INDEXED ON a.id = j.attempt_id
        WHERE m.name = (SELECT objective FROM sweep WHERE id = (SELECT id FROM this) AND maximise)
            AND j.sweep_id = (SELECT id FROM this) AND j.state = 'ok' AND m.value IS NOT NULL
            AND NOT EXISTS (SELECT 1 FROM breach WHERE breach.attempt_id = a.id)
            AND (a.stopped_steps IS NULL OR EXISTS (SELECT 1 FROM trial AS asked WHERE asked.job_id = a.job_id
                AND asked.attempt_id = a.id AND asked.resource > 0 AND a.stopped_steps >= asked.resource))
        ORDER BY m.value DESC, j.id LIMIT 1)
    UNION ALL SELECT * FROM (
        SELECT j.id, m.value FROM job_metric AS m CROSS JOIN job AS j NOT INDEXED ON j.id = m.job_id
        CROSS JOIN attempt AS a NOT INDEXED ON a.id = j.attempt_id
        WHERE m.name = (SELECT objective FROM sweep WHERE id = (SELECT id FROM this) AND NOT maximise)
            AND j.sweep_id = (SELECT id FROM this) AND j.state = 'ok' AND m.value IS NOT NULL
            AND NOT EXISTS (SELECT 1 FROM breach WHERE breach.attempt_id = a.id)
            AND (a.stopped_steps IS NULL OR EXISTS (SELECT 1 FROM trial AS asked WHERE asked.job_id = a.job_id
                AND asked.attempt_id = a.id AND asked.resource > 0 AND a.stopped_steps >= asked.resource))
        ORDER BY m.value, j.id LIMIT 1)),

-- The full training of a search's winner, which no result counts.
full_trainings (list) AS (
    SELECT json_group_array(json(training)) FROM (
        SELECT json_object('job', a.job_id, 'attempt', a.number, 'state', a.state, 'failure', nullif(a.failure, ''),
            'message', nullif(a.message, ''),
            'started', strftime('%Y-%m-%dT%H:%M:%SZ', a.started / 1000, 'unixepoch'),
            'ended', strftime('%Y-%m-%dT%H:%M:%SZ', a.ended / 1000, 'unixepoch'),
            'duration_ms', a.duration_ms, 'exit_code', a.exit_code, 'files', nullif(a.directory, ''),
            'values', (SELECT json_group_object(name, value) FROM (SELECT m.name, m.value, max(m.sequence)
                FROM (SELECT name, sequence, value FROM sample WHERE attempt_id = a.id LIMIT -1) AS m GROUP BY 1))) AS training
        FROM attempt AS a
        WHERE a.kind = 'full' AND iif(?4 IS NULL, (SELECT sweep_id FROM job WHERE id = a.job_id) = (SELECT id FROM this),
            a.job_id = ?4)
        ORDER BY a.id)),

witness (job, jobs, n) AS MATERIALIZED (
    SELECT witness_id, count(*), count(*) OVER () FROM job WHERE witness_id IS NOT NULL AND sweep_id = (SELECT id FROM this)
    GROUP BY 1 ORDER BY 2 DESC, 1 LIMIT 10),
hold (why, jobs, first_job, n) AS MATERIALIZED (
    SELECT held, count(*), min(id), count(*) OVER () FROM job
    WHERE held IS NOT NULL AND witness_id IS NULL AND sweep_id = (SELECT id FROM this) GROUP BY 1 ORDER BY 2 DESC, 3 LIMIT 10),
-- Jobs that a batch system has and has not begun.
wait (why, jobs, first_job, n) AS MATERIALIZED (
    SELECT waits, count(*), min(job_id), count(*) OVER () FROM running WHERE waits IS NOT NULL
        AND (SELECT sweep_id FROM job WHERE id = job_id) = (SELECT id FROM this) GROUP BY 1 ORDER BY 2 DESC, 3 LIMIT 10),
unbegun (jobs) AS MATERIALIZED (
    SELECT count(*) FROM running WHERE waits IS NOT NULL
        AND (SELECT sweep_id FROM job WHERE id = job_id) = (SELECT id FROM this)),
-- Rules that are false for any combination, in the order in which they are tried; warnings exclude nothing.
falsified (rule, reason, level, combinations) AS MATERIALIZED (
    SELECT name, nullif(coalesce(nullif(reason, ''), require), ''), iif(level = 'warn', 'warn', 'exclude'), excluded
    FROM rule WHERE sweep_id = (SELECT id FROM this) AND excluded > 0 ORDER BY position)

SELECT json_object('schema_version', 1, 'sweep', nullif(s.name, ''), 'path', nullif(s.path, ''),
    'combinations', s.combinations, 'excluded_combinations', s.combinations - s.matched, 'duplicates', s.duplicates,
    'jobs', c.jobs,
    'states', json_object('pending', c.pending, 'running', c.running - (SELECT jobs FROM unbegun),
        'waiting', (SELECT jobs FROM unbegun), 'pruned', c.pruned, 'held', c.held,
        'ok', c.jobs - c.pending - c.running - c.pruned - c.held - c.failed, 'failed', c.failed),
    'failure_classes', (SELECT json_group_object(failure, jobs) FROM other WHERE failure IS NOT NULL),
    'shard', (SELECT shard FROM shard), 'jobs_of_other_shards', coalesce((SELECT others FROM shard), 0),
    'runner_alive', json(iif(?3, 'true', 'false')),
    'running_attempts', (SELECT json_group_array(json_object('job', job_id, 'attempt', number, 'slot', slot,
        'keys', json_object('cluster_spec', json((SELECT json FROM spec WHERE id = cluster_id)),
            'model', json((SELECT json FROM spec WHERE id = model_id)),
            'training_spec', json((SELECT json FROM spec WHERE id = training_id)),
            'parallel_spec', json((SELECT json FROM spec WHERE id = parallel_id)), 'derived', json(derived)),
        'elapsed_ms', elapsed)) FROM first_running),
    'retries_waiting', coalesce((SELECT n FROM retry), 0),
    'retries', (SELECT json_group_array(json_object('job', id, 'attempt', number,
        'due_in_ms', max(due - (SELECT ms FROM clock), 0))) FROM retry),
    'search', (SELECT json_set(document, '$.trials_to_come', nullif((SELECT to_come FROM rest), -1)) FROM search_document),
    'open', (SELECT count(DISTINCT t.job_id) FROM search AS s JOIN trial AS t ON t.search_id = s.id
        JOIN job AS j ON j.id = t.job_id WHERE s.sweep_id = (SELECT id FROM this) AND s.strategy = 'ask'
        AND t.told IS NULL AND j.state IN ('pending', 'running')),
    'mean_duration_ms', (SELECT ms FROM mean),
    'waiting_duration_ms', (SELECT CAST(ms AS INTEGER) FROM expected_waiting),
    'jobs_per_second', n.text -> '$.jobs_per_second',
    'device_hours', n.text -> '$.device_hours',
    'device_hours_left', n.text -> '$.device_hours_left',
    'slow_nodes', (SELECT json_group_array(json_object('host', host, 'ratio', json(text), 'pairs', pairs))
        FROM slow LEFT JOIN number ON name = 'ratio of ' || host),
    'places_aside', (SELECT json_group_array(json_object('host', host, 'device', nullif(device, ''),
        'message', nullif(message, ''), 'jobs', jobs, 'due_in_ms', max(until - (SELECT ms FROM clock), 0)))
        FROM (SELECT * FROM place ORDER BY host, device)),
    'eta_ms', iif(?3, (SELECT ms FROM eta), NULL),
    'model_info', json(iif(json_valid(s.model_info), s.model_info, NULL)),
    'best', (SELECT json_object('job', job, 'objective', s.objective,
        'value', n.text -> '$.best',
        'unit', (SELECT nullif(unit, '') FROM metric_definition WHERE name = s.objective)) FROM best),
    'winners', json('[]'), 'subject_to', json('[]'), 'pareto_jobs', json('[]'),
    'full_trainings', (SELECT json(list) FROM full_trainings),
    'failures', json('[]'),
    'witnesses', (SELECT json_group_array(json_object('witness', job, 'jobs', jobs)) FROM witness),
    'holds', (SELECT json_group_array(json_object('jobs', jobs, 'first_job', first_job, 'why', why)) FROM hold),
    'waits', (SELECT json_group_array(json_object('jobs', jobs, 'first_job', first_job, 'why', why)) FROM wait),
    'run_last', (SELECT count(*) FROM job WHERE losses > 0 AND aside AND state = 'pending'
        AND sweep_id = (SELECT id FROM this)),
    'rules', (SELECT json_group_array(json_object('rule', rule, 'reason', reason, 'level', level,
        'combinations', combinations)) FROM falsified)) AS document,
    json_object('sweep', s.id, 'objective', s.objective, 'maximise', json(iif(s.maximise, 'true', 'false')),
    'executor', (SELECT nullif(executor, 'local') FROM attempt WHERE executor <> 'import' ORDER BY id DESC LIMIT 1),
    'lifting', (SELECT lifting FROM the_search), 'running', (SELECT count(*) FROM running),
    -- Nothing runs, not the winner's training either, and nothing is to run.
    'is_over', json(iif(c.pending + c.running OR (SELECT list ->> '$[#-1].state' FROM full_trainings) IN ('claimed', 'running'),
        'false', 'true')),
    'limited', (SELECT limited FROM begins),
    'witnesses', coalesce((SELECT n FROM witness), 0), 'holds', coalesce((SELECT n FROM hold), 0),
    'waits', coalesce((SELECT n FROM wait), 0),
    'running_keys', (SELECT json_group_array((SELECT coalesce(group_concat(
            k.key || '=' || iif(k.type IN ('true', 'false'), k.type, k.value), ' '), '')
        FROM spec AS s, json_each(s.json) AS k
        WHERE s.id IN (cluster_id, model_id, training_id, parallel_id) AND k.type <> 'null'
        AND NOT EXISTS (SELECT 1 FROM same WHERE same.kind = s.kind AND same.key = k.key))) FROM first_running)) AS beside,
    n.jobs_per_second,
    n.device_hours,
    n.device_hours_left,
    n.best
FROM sweep AS s CROSS JOIN counts AS c CROSS JOIN numbers AS n WHERE s.id = (SELECT id FROM this);
