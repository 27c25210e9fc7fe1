-- The report's section "Best so far", attempt by attempt, as a document (src/page/document.c).
WITH
asked (id, objective, unit, sign) AS MATERIALIZED (
    SELECT s.id, s.objective, coalesce(m.unit, ''), iif(s.maximise, 1, -1)
    FROM current_sweep AS s LEFT JOIN metric_definition AS m ON m.name = s.objective),
-- won: the value of an attempt that can win (MEASURED_AS_ASKED in src/results/measured.h), the more the better.
ended AS (
    SELECT a.id, a.ended, a.job_id AS job, coalesce(a.failure, '') AS failure, CAST(m.value AS REAL) AS value,
        iif(coalesce(a.failure, '') = '' AND NOT EXISTS (SELECT 1 FROM breach AS b WHERE b.attempt_id = a.id)
            AND (a.stopped_steps IS NULL OR EXISTS (SELECT 1 FROM trial AS t WHERE t.job_id = a.job_id
                AND t.attempt_id = a.id AND t.resource > 0 AND a.stopped_steps >= t.resource)), sign * m.value, NULL) AS won
    FROM asked AS s JOIN job AS j ON j.sweep_id = s.id JOIN attempt AS a ON a.job_id = j.id
    LEFT JOIN summary AS m ON m.attempt_id = a.id AND m.name = s.objective
    WHERE s.objective IS NOT NULL AND a.ended IS NOT NULL AND a.kind = 'trial'
        AND a.id NOT IN (SELECT attempt_id FROM excluded_attempt)),
-- top: the best of those before.
placed AS MATERIALIZED (
    SELECT count(*) OVER before + 1 AS number, max(won) OVER before AS top, job, failure, value, won FROM ended
    WINDOW before AS (ORDER BY ended, id ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING)),
tries AS (
    SELECT number, job, failure, value, iif(failure = '', value, NULL) AS measured,
        sign * CAST(coalesce(max(top, won), top, won) AS REAL) AS best, won > top OR (won IS NOT NULL AND top IS NULL) AS improves
    FROM placed, asked),
summed (attempts, failed, low, high, last, stride) AS MATERIALIZED (
    SELECT count(*), coalesce(sum(failure <> ''), 0), min(measured), max(measured), max(number) FILTER (WHERE improves),
        (count(*) + 1499) / 1500 FROM tries),
-- For the script: every n-th attempt, and each that improved on the best.
chart (data) AS (
    SELECT printf('{"attempts":%d,"ends":[%.9g,%.9g],"points":[', attempts, low, high)
        || coalesce((SELECT group_concat(printf('[%d,%d,%s,"%s"]', number, job, coalesce(rounded(measured),
            'null'), failure), ',')
            FROM tries WHERE (number - 1) % stride = 0 AND (failure <> '' OR measured IS NOT NULL)), '') || '],"best":['
        || coalesce((SELECT group_concat(printf('[%d,%.9g]', number, value), ',') FROM tries WHERE improves), '') || ']}'
    FROM summed),
-- If there are too many attempts, only those that improved on the best.
listed (cells) AS (
    SELECT json_array(job, number, iif(failure = '', 'ok', failure), json(rounded(value)), json(rounded(best)))
    FROM tries, summed WHERE attempts <= 250 OR improves ORDER BY number LIMIT 250)

SELECT CASE
    WHEN objective IS NULL THEN json_array(json_object('none', 'The sweep declares no objective.'))
    WHEN low IS NULL THEN json_array(json_object('none', iif(attempts = 0
        AND EXISTS (SELECT 1 FROM job WHERE sweep_id = asked.id AND state IN ('ok', 'failed')),
        'The times of attempts are not known, because these jobs come from a table.',
        'No attempt has ended with a finite objective yet.')))
    ELSE json_array(
        json_object('chart', 'learning-plot', 'data', (SELECT data FROM chart)),
        json_object('note', json_array('The line is the best so far'
            || iif(failed, '; crosses at the bottom are failed attempts', '')
            || printf('. %d attempt%s, %d failed; ', attempts, iif(attempts = 1, '', 's'), failed)
            || iif(last IS NULL, 'none can win.', printf('attempt %d was the best.', last)))),
        json_object('points', attempts),
        json_object('figures', 'Best objective so far by attempt',
            'columns', json_array('job', 'attempt', 'outcome', json_array(objective, unit),
                json_array('best so far', unit)),
            'rows', (SELECT json_group_array(json(cells)) FROM listed), 'all', attempts,
            'others', 'attempts: those that improved on the best so far.'))
    END FROM asked, summed;
