-- The lines of `export --format prometheus`: of the document of `status` ?1 and what stands beside it, ?2 (src/report/saying.h).
WITH
-- The best job, or that of each group.
winner (n, of, value, job) AS (
    SELECT 0, NULL, best ->> '$.best.value', best ->> '$.best.job' FROM (SELECT iif(?2 ->> '$.best.job' IS NULL, ?1, ?2) AS best)
        WHERE NOT coalesce(?2 ->> '$.beside_best.has_groups' AND ?2 ->> '$.beside_best.groups.groups[0]' IS NOT NULL, 0)
    UNION ALL SELECT key, value ->> 'group', value ->> 'value', value ->> 'job' FROM json_each(?2, '$.beside_best.groups.groups')
        WHERE ?2 ->> '$.beside_best.has_groups'),
sample (part, n, family, help, labels, number) AS (
    SELECT 0, 0, 'info', 'The version of meshsweep that wrote this file.', json_object('version', ?2 ->> 'version'), 1
    UNION ALL SELECT 1, s.key, 'jobs', 'Jobs of the sweep by state.', json_object('state', s.value),
        coalesce(?1 ->> ('$.states.' || s.value), -1)
        FROM json_each('["pending", "running", "waiting", "ok", "failed", "pruned", "held"]') AS s
    UNION ALL SELECT 2, f.id, 'failed_jobs', 'Failed jobs by failure class.', json_object('failure', f.key), f.value
        FROM json_each(?1, '$.failure_classes') AS f
    UNION ALL SELECT 3, n, 'best', 'The best value of the objective so far.',
        json_object('metric', ?1 ->> '$.best.objective', 'group', of), 1.0 * value FROM winner
    UNION ALL SELECT 4, n, 'best_job', 'The number of the job with the best value.', json_object('group', of), job FROM winner
    UNION ALL SELECT 5, 0, 'device_seconds', 'Device-seconds of all attempts that have ended.', '{}', 3600.0 * (?1 ->> 'device_hours')
    UNION ALL SELECT 6, 0, 'device_seconds_left', 'Estimated device-seconds of jobs that are not done.', '{}',
        3600.0 * (?1 ->> 'device_hours_left')
    UNION ALL SELECT 7, 0, 'eta_seconds', 'Estimated time until all jobs are done.', '{}', (?1 ->> 'eta_ms') / 1000.0
    UNION ALL SELECT 8, 0, 'written_timestamp_seconds', 'Time at which this file was written.', '{}', (?2 ->> 'now_ms') / 1000.0)
SELECT iif(row_number() OVER (PARTITION BY part ORDER BY n) > 1, '',
        say('# HELP meshsweep_%s %s%s# TYPE meshsweep_%s gauge%s', family, help, char(10), family, char(10)))
    -- Backslashes, quotes and line ends are escaped in a label's value; nothing else is. A label of null is left out.
    || 'meshsweep_' || family || '{' || (SELECT group_concat(key || '="'
            || replace(replace(replace(value, '\', '\\'), '"', '\"'), char(10), '\n') || '"')
        FROM json_each(json_patch(json_object('sweep', coalesce(?1 ->> 'sweep', '')), labels)))
    || '} ' || say(iif(typeof(number) = 'real', '%n', '%d'), number)
FROM sample WHERE number IS NOT NULL ORDER BY part, n
