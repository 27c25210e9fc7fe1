-- The lines of `export --format prometheus`: of the document of `status` ?1 and what stands beside it, ?2 (src/report/saying.h).
WITH
sample (part, n, family, help, label, value, number) AS (
    SELECT 0, 0, 'info', 'The version of meshsweep that wrote this file.', 'version', ?2 ->> 'version', 1
    UNION ALL SELECT 1, s.key, 'jobs', 'Jobs of the sweep by state.', 'state', s.value, coalesce(?1 ->> ('$.states.' || s.value), -1)
        FROM json_each('["pending", "running", "waiting", "ok", "failed", "pruned", "held"]') AS s
    UNION ALL SELECT 2, f.id, 'failed_jobs', 'Failed jobs by failure class.', 'failure', f.key, f.value
        FROM json_each(?1, '$.failure_classes') AS f
    UNION ALL SELECT 3, 0, 'best', 'The best value of the objective so far.', 'metric', ?1 ->> '$.best.objective',
        1.0 * (?1 ->> '$.best.value')
    UNION ALL SELECT 4, 0, 'best_job', 'The number of the job with the best value.', NULL, NULL, ?1 ->> '$.best.job'
    UNION ALL SELECT 5, 0, 'device_seconds', 'Device-seconds of all attempts that have ended.', NULL, NULL,
        3600.0 * (?1 ->> 'device_hours')
    UNION ALL SELECT 6, 0, 'device_seconds_left', 'Estimated device-seconds of jobs that are not done.', NULL, NULL,
        3600.0 * (?1 ->> 'device_hours_left')
    UNION ALL SELECT 7, 0, 'eta_seconds', 'Estimated time until all jobs are done.', NULL, NULL, (?1 ->> 'eta_ms') / 1000.0
    UNION ALL SELECT 8, 0, 'written_timestamp_seconds', 'Time at which this file was written.', NULL, NULL, (?2 ->> 'now_ms') / 1000.0),
-- Backslashes, quotes and line ends are escaped in a label's value; nothing else is.
escaped AS (SELECT *, replace(replace(replace(value, '\', '\\'), '"', '\"'), char(10), '\n') AS text FROM sample WHERE number IS NOT NULL)
SELECT iif(row_number() OVER (PARTITION BY part ORDER BY n) > 1, '',
        say('# HELP meshsweep_%s %s%s# TYPE meshsweep_%s gauge%s', family, help, char(10), family, char(10)))
    || 'meshsweep_' || family || '{sweep="' || replace(replace(replace(coalesce(?1 ->> 'sweep', ''), '\', '\\'), '"', '\"'), char(10), '\n')
    || '"' || iif(label IS NULL, '', ',' || label || '="' || coalesce(text, '') || '"') || '} ' || say(iif(typeof(number) = 'real', '%n', '%d'), number)
FROM escaped ORDER BY part, n
