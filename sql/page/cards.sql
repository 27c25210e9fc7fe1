-- The numbers at the top of the report's overview, and a bar of them, as a document (src/page/document.c). ?1: whether a
-- search has ended, so that pending jobs will not run.
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
outcomes AS MATERIALIZED (SELECT place, state, outcome, count(*) AS jobs FROM page_job GROUP BY place, state, outcome),
states (state, jobs) AS MATERIALIZED (
    SELECT value, (SELECT sum(jobs) FROM outcomes WHERE state = value)
    FROM json_each('["pending", "running", "ok", "failed"]')),
-- A piece for each state and failure class.
pieces AS (
    SELECT outcome, jobs, iif(outcome = 'pending' AND ?1, 'pending, will not run', outcome) AS words,
        1000.0 * jobs / sum(jobs) OVER () AS width,
        1000.0 * coalesce(sum(jobs) OVER (ORDER BY place ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING), 0)
            / sum(jobs) OVER () AS x
    FROM outcomes WHERE place <> 0 ORDER BY place),
bar (svg, legend) AS (
    SELECT '<svg class=bar viewBox="0 0 1000 20" preserveAspectRatio=none role=img aria-label="Jobs by outcome">' || group_concat(
            say('<rect class="x-%s" x=%.2f y=0 width=%.2f height=20><title>%d %s</title></rect>', outcome, x, width, jobs,
                outcome), '') || '</svg>
',
        group_concat(printf('<li><i class="x-%s"></i>%s %d', outcome, words, jobs), '')
    FROM pieces HAVING count(*)),
cards (class, label, value) AS (
    SELECT '', 'combinations', combinations FROM this WHERE combinations >= 0
    UNION ALL SELECT '', 'excluded by rules', combinations - matched FROM this WHERE combinations >= matched
    UNION ALL SELECT '', 'duplicates', duplicates FROM this WHERE duplicates > 0
    UNION ALL SELECT '', 'jobs', count(*) FROM job WHERE sweep_id = (SELECT id FROM this)
    UNION ALL SELECT state, iif(state = 'pending' AND ?1, 'pending, will not run', state),
        s.jobs - iif(state = 'running', w.jobs, 0) FROM states AS s, waiting AS w
        WHERE s.jobs > iif(state = 'running', w.jobs, 0)
    UNION ALL SELECT 'pending', 'waiting at the batch system', jobs FROM waiting WHERE jobs
    UNION ALL SELECT '', iif(attempts = 1, 'attempt', 'attempts'), attempts FROM tried
    UNION ALL SELECT '', 'from first to last', say('%t', wall_ms) FROM tried WHERE wall_ms >= 0
    UNION ALL SELECT '', 'device-hours', iif(device_hours < 0.001, '< 0.001', say('%.3g', device_hours)) FROM tried
        WHERE device_hours IS NOT NULL)

SELECT json_group_array(json(piece)) FROM (
    SELECT json_object('cards', json_group_array(json_array(class, label, CAST(value AS TEXT)))) AS piece FROM cards
    UNION ALL SELECT json_object('html', svg) FROM bar UNION ALL SELECT json_object('legend', legend) FROM bar);
