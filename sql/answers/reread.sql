-- The values that reading again replaced: the document of `meshsweep reread --json`. ?1: the change; ?2: whether it was
-- only tried; ?3: how many attempts were read; ?4: those that were not, as JSON.
WITH
entry AS MATERIALIZED (
    SELECT r.*, a.number AS attempt, typeof(coalesce(was, now)) IN ('integer', 'real') AS is_number
    FROM replaced AS r LEFT JOIN attempt AS a ON a.id = r.attempt_id WHERE r.change_id = ?1),
-- The value of each metric that has changed most, in proportion.
number AS MATERIALIZED (
    SELECT *, row_number() OVER (PARTITION BY field ORDER BY was IS NULL OR now IS NULL,
        abs(now - was) / max(abs(now), abs(was)) DESC, job_id, attempt) AS n FROM entry WHERE is_number),
-- The outcome of an attempt, as one word.
outcome (job, attempt_id, was, is_now) AS MATERIALIZED (
    SELECT job_id, attempt_id, coalesce(max(was) FILTER (WHERE field = 'failure'), max(was) FILTER (WHERE field = 'state')),
        coalesce(max(now) FILTER (WHERE field = 'failure'), max(now) FILTER (WHERE field = 'state'))
    FROM entry WHERE field IN ('state', 'failure') AND NOT is_number GROUP BY job_id, attempt_id)

SELECT json_object('schema_version', 1, 'dry_run', json(iif(?2, 'true', 'false')), 'change', iif(?2, NULL, ?1),
    'attempts_read', ?3, 'attempts_changed', (SELECT count(DISTINCT attempt_id) FROM entry),
    'metric_changes', (SELECT json_group_array(json_object('metric', field, 'changed', changed, 'added', added,
        'lost', lost, 'job', job_id, 'attempt', attempt, 'was', replace(was, '.0e', 'e'), 'is', replace(now, '.0e', 'e')))
        FROM (SELECT *, count(was + now) OVER m AS changed, sum(was IS NULL) OVER m AS added, sum(now IS NULL) OVER m AS lost
              FROM number WINDOW m AS (PARTITION BY field)) WHERE n = 1),
    'outcomes', (SELECT json_group_array(json_object('was', was, 'is', is_now, 'attempt_count', attempts, 'jobs', jobs))
        FROM (SELECT was, is_now, count(attempt_id) AS attempts, count(*) - count(attempt_id) AS jobs FROM outcome
              GROUP BY was, is_now ORDER BY was, is_now)),
    'unread', json(?4)) AS document;
