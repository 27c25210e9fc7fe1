-- The uses of device-hours, and the share of them that left no result: the document of
-- `meshsweep status --wasted --json`. Attempts of the current sweep that have ended. A result is what counts for its
-- job; measured again, excluded or replaced by a longer run, it no longer does.
WITH
spent (became, wasted, hours) AS MATERIALIZED (
    SELECT CASE WHEN a.state = 'ok' AND c.id IS NULL THEN 'repeated' WHEN a.state = 'ok' THEN 'result'
               WHEN a.failure IN ('timeout', 'hang') THEN 'timed out' WHEN a.failure IN ('lost', 'cancelled') THEN a.failure
               ELSE 'failed' END,
        c.id IS NULL, coalesce(a.duration_ms, 0) * j.devices / 3600000.0
    FROM attempt AS a JOIN job AS j ON j.id = a.job_id LEFT JOIN counted_attempt AS c ON c.id = a.id
    WHERE a.kind = 'trial' AND a.state IN ('ok', 'failed') AND j.sweep_id = (SELECT id FROM current_sweep)),
whole (hours, wasted) AS MATERIALIZED (SELECT total(hours), total(iif(wasted, hours, 0)) FROM spent),
class (became, wasted, attempts, hours, share) AS MATERIALIZED (
    SELECT became, wasted, count(*), sum(hours), sum(hours) / nullif((SELECT hours FROM whole), 0) FROM spent
    GROUP BY became ORDER BY wasted, sum(hours) DESC, became),
said (text) AS (
    SELECT CASE WHEN NOT EXISTS (SELECT 1 FROM spent) THEN 'no attempt of this sweep has ended'
        ELSE say('%.4g device-hours, %.3g %% of them wasted', hours, 100 * wasted / max(hours, 1e-99)) END FROM whole),
shown (spent_on, attempts, device_hours, share) AS (
    SELECT became, attempts, hours, printf('%.1f %%', 100 * coalesce(share, 0)) FROM class)

SELECT json_object('schema_version', 1, 'device_hours', hours, 'wasted_device_hours', wasted,
    'wasted_share', wasted / nullif(hours, 0), 'spent', (SELECT json_group_array(json_object('spent_on', became,
        'wasted', json(iif(wasted, 'true', 'false')), 'attempt_count', attempts, 'device_hours', hours, 'share', share))
        FROM class)) AS document FROM whole;
