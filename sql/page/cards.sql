-- The numbers at the top of the report's overview as a document (src/page/document.c). ?1: {"state": jobs of the page};
-- ?2: whether a search has ended, so that pending jobs will not run.
WITH
this AS MATERIALIZED (SELECT * FROM current_sweep),
tried (attempts, wall_ms, device_hours) AS MATERIALIZED (
    SELECT count(*), max(a.ended) - min(a.started), sum(1.0 * a.duration_ms * j.devices) / 3600000
    FROM attempt AS a JOIN job AS j ON j.id = a.job_id
    WHERE j.sweep_id = (SELECT id FROM this) AND a.state IN ('ok', 'failed') AND a.kind = 'trial'),
-- Running jobs that their batch system has not begun.
waiting (jobs) AS MATERIALIZED (
    SELECT count(*) FROM attempt AS a JOIN job AS j ON j.id = a.job_id WHERE j.sweep_id = (SELECT id FROM this)
        AND j.state = 'running' AND a.state = 'running' AND a.waits IS NOT NULL),
cards (class, label, value) AS (
    SELECT '', 'combinations', combinations FROM this WHERE combinations >= 0
    UNION ALL SELECT '', 'excluded by rules', combinations - matched FROM this WHERE combinations >= matched
    UNION ALL SELECT '', 'duplicates', duplicates FROM this WHERE duplicates > 0
    UNION ALL SELECT '', 'jobs', count(*) FROM job WHERE sweep_id = (SELECT id FROM this)
    UNION ALL SELECT key, iif(key = 'pending' AND ?2, 'pending, will not run', key),
        value - iif(key = 'running', waiting.jobs, 0) FROM json_each(?1), waiting
        WHERE value > iif(key = 'running', waiting.jobs, 0)
    UNION ALL SELECT 'pending', 'waiting at the batch system', jobs FROM waiting WHERE jobs
    UNION ALL SELECT '', iif(attempts = 1, 'attempt', 'attempts'), attempts FROM tried
    UNION ALL SELECT '', 'from first to last', say('%t', wall_ms) FROM tried WHERE wall_ms >= 0
    UNION ALL SELECT '', 'device-hours', iif(device_hours < 0.001, '< 0.001', say('%.3g', device_hours)) FROM tried
        WHERE device_hours IS NOT NULL)

SELECT json_array(json_object('cards', json_group_array(json_array(class, label, CAST(value AS TEXT))))) FROM cards;
