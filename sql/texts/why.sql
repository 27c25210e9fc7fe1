-- The lines of `meshsweep why`: of its document ?1 and, for each job found, what stands beside it, ?2 (src/report/saying.h).
WITH
found AS MATERIALIZED (
    SELECT f.key AS n, f.value AS job, f.value ->> 'state' AS state, coalesce(f.value ->> 'failure', '') AS failure, b.value AS beside
    FROM json_each(?1, '$.found') AS f JOIN json_each(?2) AS b ON b.key = f.key),
rule AS MATERIALIZED (SELECT key AS n, value AS rule, value ->> 'level' = 'warn' AS warns FROM json_each(?1, '$.rules')),
line (part, n, place, k, line) AS (
    SELECT 0, 0, 0, 0, say('%d of %d combination%s %s these values; %d matched', ?1 ->> 'combinations', ?1 ->> 'all_combinations',
        iif(?1 ->> 'all_combinations' = 1, '', 's'), iif(?1 ->> 'combinations' = 1, 'has', 'have'), ?1 ->> 'matched')
    -- Of a key that no spec has with the value asked for.
    UNION ALL SELECT 1, id, 0, 0, say('  %s is one of ', key)
        || (SELECT group_concat(iif(v.key < 30, say('%l', v.value), '…'), ', ') FROM json_each(k.value) AS v)
        FROM json_each(?1, '$.known_values') AS k WHERE k.value <> '[]'
    UNION ALL SELECT 2, n, 0, 0, say('  job %s  %l: %s%s', substr(job ->> 'key', 1, 16), job ->> 'description',
        iif(state = 'new', 'new, it would run', state), iif(failure = '', '', '/' || failure)) FROM found
    UNION ALL SELECT 2, n, 1, 0, say('    %l', job ->> 'why_held') FROM found WHERE job ->> 'why_held' IS NOT NULL
    UNION ALL SELECT 2, n, 2, a.key, say('    attempt %d: %s', value ->> 'attempt', coalesce(value ->> 'failure', value ->> 'state'))
        || iif(value ->> 'duration_ms' IS NULL, '', say(' after %t', value ->> 'duration_ms'))
        || iif(value ->> 'measured_elsewhere' IS NULL, '', say(', measured elsewhere (%l)', value ->> 'measured_elsewhere'))
        || iif(value ->> 'message' IS NULL, '', say(': %l', value ->> 'message')) FROM found, json_each(job, '$.attempts') AS a
    -- What would change the outcome. Not of a pruned job, whose witness says it, nor of one measured elsewhere.
    UNION ALL SELECT 2, n, 3, 0, CASE state
        WHEN 'ok' THEN '    it runs again if its keys or the command change, if it is stale (run --stale), or if its row is deleted'
        WHEN 'failed' THEN iif(failure = 'no-metric', '    numbers are read from the output, or from the file in {job_dir} that '
            || '`file` under [job.metrics.NAME] names' || char(10), '')
            || say('    to retry it: `run --retry-failed=%s`; [retry] %s = N allows N attempts', failure, failure)
        WHEN 'held' THEN '    it waits for its host; the next `run` tries it, or `run --release` makes the active run try it'
        ELSE '    it waits for its turn; `run` starts it' END
        FROM found WHERE state IN ('ok', 'failed', 'held', 'pending') AND job ->> '$.attempts[0].measured_elsewhere' IS NULL
    UNION ALL SELECT 2, n, 4, 0, say('    pruned: job %d (%l) ran out of device memory, and this one needs at least as much; to run '
        || 'it anyway: --prune off', job ->> 'pruned_by', beside ->> 'witness') FROM found WHERE job ->> 'pruned_by' IS NOT NULL
    UNION ALL SELECT 2, n, 5, c.key, say('    chosen by %s: %s', value ->> 'strategy', value ->> 'reason')
        FROM found, json_each(job, '$.choices') AS c
    UNION ALL SELECT 2, n, 6, 0, '  ' || (beside ->> 'predicted') FROM found WHERE beside ->> 'predicted' IS NOT NULL
    UNION ALL SELECT 3, 0, 0, 0, say('  … and %d more; give more keys to narrow them down', more)
        FROM (SELECT (?1 ->> 'matched') - json_array_length(?1, '$.found') AS more) WHERE more > 0
    UNION ALL SELECT 4, n, 0, 0, say('  %s %d by rule %s: %l%s    require: %l%s    source: %s', iif(warns, 'warned', 'excluded'),
        rule ->> 'combinations', rule ->> 'rule', coalesce(rule ->> 'reason', '(no reason given)'), char(10), rule ->> 'require',
        char(10), rule ->> 'source')
        || iif(warns, '', say('%s    disable_rules = ["%s"] under [sweep] would let them run', char(10), rule ->> 'rule')) FROM rule
    UNION ALL SELECT 4, n, 1, x.key, say('    #%d %l', value ->> 'number', value -> 'values')
        FROM rule, json_each(rule, '$.examples') AS x)
SELECT line FROM line ORDER BY part, n, place, k;
