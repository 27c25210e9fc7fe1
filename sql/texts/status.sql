-- The lines of `meshsweep status`: of its document ?1 and of what stands beside it, ?2 (src/report/saying.h). Of what is
-- beside it `room` is how wide lines may be, `db` and `config` are options to name the files, and `winners` and
-- `beside_winners` what sql/texts/best.sql has where configurations compete.
WITH
this AS MATERIALIZED (
    SELECT ?2 ->> 'room' AS room, ?2 ->> 'db' AS db, ?1 -> 'states' AS states, ?2 ->> 'running' AS running,
        ?1 ->> 'runner_alive' AS alive, (?1 ->> '$.states.pending') + (?1 ->> '$.states.running') + (?1 ->> '$.states.waiting') = 0 AS is_over,
        ' (see meshsweep best' || (?2 ->> 'db') || ')' AS see, iif(?1 ->> 'runner_alive', ?1 ->> 'jobs_per_second', NULL) AS rate,
        ?2 ->> 'nearest' IS NOT NULL OR ?2 ->> 'winners' IS NOT NULL OR ?1 ->> 'best' IS NOT NULL
        OR (?2 ->> 'objective' IS NOT NULL AND (?1 ->> '$.states.ok') + (?1 ->> '$.states.failed') > 0) AS says_best),

-- Counts by state: failure classes below `failed`, and the share of the total. States without jobs are left out.
state (n, name, jobs) AS MATERIALIZED (
    SELECT n, name, jobs FROM (
        SELECT 0 AS n, 'ok' AS name, states ->> 'ok' AS jobs FROM this
        UNION ALL SELECT 1, 'failed', states ->> 'failed' FROM this
        UNION ALL SELECT 2 + id / 1e9, key, value FROM json_each(?1, '$.failure_classes')
        UNION ALL SELECT 3, 'pruned', states ->> 'pruned' FROM this
        UNION ALL SELECT 4, 'held', states ->> 'held' FROM this
        UNION ALL SELECT 5, 'running', states ->> 'running' FROM this
        UNION ALL SELECT 6, 'pending', states ->> 'pending' FROM this) WHERE jobs <> 0
    UNION ALL SELECT 7, 'total', ?1 ->> 'jobs'),
name (n, indent, name) AS (SELECT n, iif(n >= 2 AND n < 3, '  ', ''), say('%40p', name) FROM state),
count (n, line) AS (
    SELECT n, indent || styled(state.name, name.name)
        || printf('%*s  %*d', (SELECT max(length(indent || name)) FROM name) - length(indent || name.name), '', length(total), jobs)
        || iif(n < 7 AND total > 0, say('  %5.1f%%', 100.0 * jobs / total), '')
    FROM state JOIN name USING (n), (SELECT ?1 ->> 'jobs' AS total)),

-- The text between the two is cut to the columns that are left.
line (part, n, before, text, after) AS (
    SELECT 0, 0, 'sweep ' || coalesce(fit(?1 ->> 'sweep', 6, room), '') || ' (' || coalesce(fit(?1 ->> 'path', 20, room), '') || ')', NULL, '' FROM this
    UNION ALL SELECT 0, 1, say('combinations %d: excluded %d, duplicate %d, jobs %d', ?1 ->> 'combinations',
        ?1 ->> 'excluded_combinations', coalesce(?1 ->> 'duplicates', 0), ?1 ->> 'jobs'), NULL, '' WHERE ?1 ->> 'combinations' IS NOT NULL
    UNION ALL SELECT 1, -1, '', NULL, ''
    UNION ALL SELECT 1, n, line, NULL, '' FROM count
    UNION ALL SELECT 1, 8, say('the last run was of shard %s: %d jobs belong to other shards', ?1 ->> 'shard',
        ?1 ->> 'jobs_of_other_shards'), NULL, '' WHERE ?1 ->> 'shard' IS NOT NULL

    -- "search by model: 5 trials, 4 ok, 0 stopped early, 1 failed; ended: max_trials: 5 trials were made"
    UNION ALL SELECT 2, 0, say('%ssearch by %s: %d trial%s, %d ok, %d stopped early, %d failed', char(10), s ->> 'strategy', trials,
            iif(trials = 1, '', 's'), s ->> 'ok', s ->> 'stopped_early', s ->> 'failed')
        || iif(s ->> 'infeasible', say(', %d that do not meet [sweep] subject_to', s ->> 'infeasible'), '')
        || iif(trials > ended, say(', %d open', trials - ended), '')
        || coalesce('; ended: ' || fit(why, 20, room), '; at most ' || (s ->> 'trials_to_come') || ' more', ''), NULL, ''
        FROM this, (SELECT s, s ->> 'trials_made' AS trials, (s ->> 'ok') + (s ->> 'stopped_early') + (s ->> 'failed')
            + (s ->> 'infeasible') AS ended, s ->> 'why_it_ended' AS why FROM (SELECT ?1 -> 'search' AS s)) WHERE s ->> 'strategy' IS NOT NULL
    UNION ALL SELECT 3, 0, say('%s%d %s asked for without a result yet; `meshsweep ask --open%s` lists %s', char(10), open,
        iif(open = 1, 'job is', 'jobs are'), db, iif(open = 1, 'it', 'them')), NULL, '' FROM this, (SELECT ?1 ->> 'open' AS open) WHERE open <> 0

    UNION ALL SELECT 4, -1, char(10) || 'no runner is active; `meshsweep run' || iif(?1 ->> '$.search.why_it_ended' IS NOT NULL,
            (?2 ->> 'config') || db || ' --strategy grid' || (?2 ->> 'lifting') || '` runs what the search left out',
            coalesce(' --executor ' || (?2 ->> 'executor'), '') || (?2 ->> 'config') || db || coalesce(' --shard ' || (?1 ->> 'shard'), '')
            || coalesce(' --strategy ' || (?1 ->> '$.search.strategy') || '` continues from here; give it the same other options as before',
                '` continues from here')), NULL, ''
        FROM this WHERE NOT alive AND NOT (running = 0 AND is_over)
    UNION ALL SELECT 4, -1, char(10) || iif(?2 ->> 'limited', 'running now, the limit reached in ', 'running now, all done in ') || (?2 ->> 'eta'), NULL, '' FROM this WHERE alive AND running > 0
    UNION ALL SELECT 4, a.key, '  ' || coalesce('slot ' || (value ->> 'slot') || ': ', '') || say('job %d, attempt %d', value ->> 'job',
            value ->> 'attempt') || say(iif(alive, ', for %t', ', started %t ago; it is not known whether it has ended'), value ->> 'elapsed_ms')
        || iif(keys = '', '', '  '), nullif(keys, ''), ''
        FROM this, (SELECT a.key, a.value, ?2 ->> ('$.running_keys[' || a.key || ']') AS keys FROM json_each(?1, '$.running_attempts') AS a) AS a
    UNION ALL SELECT 4, 1000, say('  and %d more', running - n), NULL, ''
        FROM this, (SELECT json_array_length(?1, '$.running_attempts') AS n) WHERE running > n
    UNION ALL SELECT 5, -1, char(10) || 'failed, to be retried', NULL, '' WHERE ?1 ->> '$.retries[0]' IS NOT NULL
    UNION ALL SELECT 5, r.key, say('  job %d, attempt %d, ', value ->> 'job', value ->> 'attempt')
        || iif(value ->> 'due_in_ms' > 0, say('in %t', value ->> 'due_in_ms'), 'now'), NULL, '' FROM json_each(?1, '$.retries') AS r
    UNION ALL SELECT 5, 1000, say('  and %d more', all_of - n), NULL, ''
        FROM (SELECT ?1 ->> 'retries_waiting' AS all_of, json_array_length(?1, '$.retries') AS n) WHERE all_of > n

    UNION ALL SELECT 6, 0, char(10) || iif(rate IS NULL, '', say('rate: %.3g jobs/%s', iif(rate >= 1, rate, rate * 60),
            iif(rate >= 1, 's', 'min')) || iif(hours IS NULL, '', ', ')) || iif(hours IS NULL, '', say('%a device-hours so far', hours)
            || iif(hours_left IS NULL, '', say(iif(hours_left < 0.001, ', %a more', ', about %a more'), hours_left))), NULL, ''
        FROM (SELECT rate, ?1 ->> 'device_hours' AS hours, ?1 ->> 'device_hours_left' AS hours_left FROM this)
        WHERE coalesce(rate, hours) IS NOT NULL
    UNION ALL SELECT 7, s.key, iif(s.key, '', char(10)) || 'slow node ' || fit(value ->> 'host', 20, room)
        || say(': takes %.2f times as long as matched jobs on other nodes (%d compared)', value ->> 'ratio', value ->> 'pairs'), NULL, ''
        FROM this, json_each(?1, '$.slow_nodes') AS s
    UNION ALL SELECT 8, p.key, iif(p.key, '', char(10)) || 'set aside: '
        || fit(coalesce('device ' || (value ->> 'device') || ' of ', 'node ') || (value ->> 'host'), 40, room)
        || say(', on which %d job%s failed that succeeded elsewhere; tried again ', value ->> 'jobs', iif(value ->> 'jobs' = 1, '', 's'))
        || iif(value ->> 'due_in_ms' > 0, say('in %t', value ->> 'due_in_ms'), 'with the next job') || char(10) || '  '
        || coalesce(fit(value ->> 'message', 2, room), ''), NULL, '' FROM this, json_each(?1, '$.places_aside') AS p
    -- "model information (job 1): 3.35e+08 parameters, 309 MiB of activations per sample"
    UNION ALL SELECT 9, 0, char(10) || 'model information' || coalesce(' (job ' || (i ->> 'job') || ')', '') || ': '
        || coalesce(nullif(substr(text('model_info', i) || coalesce(', ' || fit(i ->> 'failure', 40, room), '')
            || coalesce(', ' || fit(i ->> 'message', 40, room), '')
            || coalesce(', the job is excluded by ' || fit(i ->> 'excluded', 40, room), ''), 3), ''), 'not known yet')
        || coalesce(char(10) || nullif(text('model_info', i, '{"indent": "  "}'), ''), ''), NULL, '' FROM this, (SELECT ?1 -> 'model_info' AS i) WHERE ?1 ->> 'model_info' IS NOT NULL

    UNION ALL SELECT 10, 0, char(10) || CASE WHEN ?2 ->> 'nearest' IS NOT NULL THEN 'no best: ' || text('nearest', ?1, ?2)
        WHEN ?2 ->> 'winners' IS NOT NULL THEN text('best', ?2 -> 'winners', ?2 -> 'beside_winners')
        WHEN ?1 ->> 'best' IS NOT NULL THEN 'best so far: ' || fit(?2 ->> 'objective', 30, room) || say(' %r', ?1 ->> '$.best.value')
            || coalesce(' ' || fit(?1 ->> '$.best.unit', 40, room), '') || say(', job %d', ?1 ->> '$.best.job') || see
        ELSE 'no best: ' || fit(?2 ->> 'objective', 30, room) || iif(states ->> 'ok',
            ' has no value in any job that succeeded; see meshsweep best', ': no job has succeeded yet') END, NULL, ''
        FROM this WHERE says_best
    UNION ALL SELECT 10, 1 + c.key, say('bound by %l, which excludes %d better job%s (see meshsweep best)', value ->> 'condition',
        value ->> 'better_jobs', iif(value ->> 'better_jobs' = 1, '', 's')), NULL, ''
        FROM json_each(?1, '$.subject_to') AS c WHERE value ->> 'better_jobs' > 0 AND ?1 ->> 'best' IS NOT NULL
    UNION ALL SELECT 10, 1000, coalesce((?2 ->> 'unranked') || iif(?2 ->> 'excluded' IS NULL, '', char(10)), '')
        || coalesce(?2 ->> 'excluded', ''), NULL, ''
        FROM this WHERE says_best AND ?2 ->> 'nearest' IS NULL AND coalesce(?2 ->> 'unranked', ?2 ->> 'excluded') IS NOT NULL
    -- "2 jobs that none beats in throughput and loss: 1, 2 (see meshsweep best)"
    UNION ALL SELECT 11, 0, say('%d job%s that none beats in ', jobs, iif(jobs = 1, '', 's'))
        || (SELECT group_concat(iif(place = 1, '', iif(place = n, ' and ', ', ')) || say('%l', key), '') FROM (
            SELECT key, row_number() OVER (ORDER BY id) AS place, count(*) OVER () AS n FROM json_each(?2, '$.pareto[0].values')))
        || ': ' || (SELECT group_concat(value ->> 'job', ', ') FROM json_each(?2, '$.pareto') WHERE key < 12) || iif(jobs > 12, ', ...', '')
        || see, NULL, '' FROM this, (SELECT json_array_length(?2, '$.pareto') AS jobs) WHERE jobs > 0
    UNION ALL SELECT 12, t.key, text('full_training', value), NULL, '' FROM json_each(?1, '$.full_trainings') AS t

    UNION ALL SELECT 13, -1, iif(states ->> 'failed' > (?2 ->> 'failures_most'),
        say('%sfailures, of the newest %d', char(10), ?2 ->> 'failures_most'), char(10) || 'failures'), NULL, ''
        FROM this WHERE ?1 ->> '$.failures[0]' IS NOT NULL
    UNION ALL SELECT 13, f.key, printf('  %*d x ', length(?1 ->> '$.failures[0].jobs'), value ->> 'jobs') || styled('failed', value ->> 'class')
        || say(', as job %d', value ->> 'example_job')
        || iif(value ->> 'message' IS NULL, '', ': '), value ->> 'message', '' FROM json_each(?1, '$.failures') AS f
    UNION ALL SELECT 13, f.key + (w.key + 1) / 1e6, printf('%*s', length(?1 ->> '$.failures[0].jobs') + 5, ''), w.value, ''
        FROM json_each(?1, '$.failures') AS f, json_each(?2, '$.words[' || f.key || ']') AS w
    UNION ALL SELECT 13, 1000, say('  and %d%s other kinds', kinds - n, iif(?2 ->> 'others', ' and more', '')), NULL, ''
        FROM (SELECT ?2 ->> 'kinds' AS kinds, json_array_length(?1, '$.failures') AS n) WHERE kinds > n
    UNION ALL SELECT 14, -1, char(10) || 'pruned: need at least as much device memory as a job that ran out of it', NULL, ''
        WHERE ?1 ->> '$.witnesses[0]' IS NOT NULL
    UNION ALL SELECT 14, w.key, printf('  %*d  as job %d', length(?1 ->> '$.witnesses[0].jobs'), value ->> 'jobs', value ->> 'witness'), NULL, ''
        FROM json_each(?1, '$.witnesses') AS w
    UNION ALL SELECT 15, -1, char(10) || 'waiting: their batch system has not begun them', NULL, '' WHERE ?1 ->> '$.waits[0]' IS NOT NULL
    UNION ALL SELECT 16, -1, char(10) || iif(alive AND running = 0, 'held, and the run is paused: it goes on', 'held: a run starts them')
        || ' once this is mended', NULL, '' FROM this WHERE ?1 ->> '$.holds[0]' IS NOT NULL
    UNION ALL SELECT l.part, r.key, printf('  %*d  as job %d: ', length(?1 ->> ('$.' || list || '[0].jobs')), r.value ->> 'jobs', r.value ->> 'first_job'),
        coalesce(r.value ->> 'why', ''), '' FROM (SELECT 15 AS part, 'waits' AS list UNION ALL SELECT 16, 'holds') AS l, json_each(?1, '$.' || list) AS r
    UNION ALL SELECT part, 1000, say('  and %d %s', (?2 ->> list) - n, what), NULL, '' FROM (
        SELECT *, json_array_length(?1, '$.' || list) AS n FROM (SELECT 14 AS part, 'witnesses' AS list, 'other such jobs' AS what
            UNION ALL SELECT 15, 'waits', 'other reasons' UNION ALL SELECT 16, 'holds', 'other reasons')) WHERE ?2 ->> list > n
    UNION ALL SELECT 17, 0, say('%s%d %s at each of the last deaths of the runner or node, and %s last', char(10), jobs,
        iif(jobs = 1, 'job ran', 'jobs ran'), iif(jobs = 1, 'runs', 'run')), NULL, '' FROM (SELECT ?1 ->> 'run_last' AS jobs) WHERE jobs <> 0
    UNION ALL SELECT 18, -1, char(10) || 'excluded by rule', NULL, '' WHERE ?1 ->> '$.rules[0]' IS NOT NULL
    UNION ALL SELECT 18, r.key, printf('  %*d  ', (SELECT max(length(value ->> 'combinations')) FROM json_each(?1, '$.rules')), value ->> 'combinations')
        || fit(value ->> 'rule', 10, room) || iif(value ->> 'level' = 'warn', ' (only a warning): ', ': '), coalesce(value ->> 'reason', ''), ''
        FROM this, json_each(?1, '$.rules') AS r)
SELECT before || iif(text IS NULL, '', fit(text, length(CAST(before AS BLOB)), room)) || after FROM line, this ORDER BY part, n;
