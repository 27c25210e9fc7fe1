-- The report's section "Predicted and measured" as a document (src/page/document.c).
WITH
observed (quantity, number, measured, predicted, job) AS MATERIALIZED (
    SELECT o.quantity, row_number() OVER (PARTITION BY o.quantity ORDER BY a.id), o.measured, o.predicted, a.job_id
    FROM observation AS o JOIN attempt AS a ON a.id = o.attempt_id JOIN job AS j ON j.id = a.job_id
    WHERE o.kind = 'measured' AND j.sweep_id = (SELECT id FROM current_sweep) AND o.measured > 0 AND o.predicted > 0
        AND o.measured < 9e999 AND o.predicted < 9e999),
-- Jobs that may come from a table: they count where no attempt of ours was compared.
place (title, n) AS MATERIALIZED (SELECT title, min(n) * (SELECT jobs FROM page) FROM page_column GROUP BY title),
-- The time of a step, else computed from the global batch and the throughput.
done AS MATERIALIZED (
    SELECT j.n, j.job, j.bytes, CASE WHEN step.unit = 's' THEN (SELECT number FROM page_value WHERE n = step.n * jobs + j.n)
        WHEN p.unit IN ('tokens/s', 'samples/s') THEN (SELECT number FROM page_value WHERE n = (
                SELECT n FROM place WHERE title = 'global_batch') + j.n) * iif(p.unit = 'samples/s', 1, (
            SELECT number FROM page_value WHERE n = (SELECT n FROM place WHERE title = 'seq') + j.n)) / j.objective
        END AS seconds
    FROM page AS p JOIN page_job AS j LEFT JOIN page_column AS step ON step.n = (
        SELECT min(n) FROM page_column WHERE title = 'step_time')
    WHERE j.state = 'ok' AND EXISTS (SELECT 1 FROM place WHERE title IN ('predicted_memory', 'predicted_time'))),
of_table (quantity, title, n, job, measured) AS (
    SELECT 'memory', 'predicted_memory', n, job, bytes FROM done WHERE 'memory' NOT IN (SELECT quantity FROM observed)
    UNION ALL SELECT 'time', 'predicted_time', n, job, seconds FROM done WHERE 'time' NOT IN (SELECT quantity FROM observed)),
pair AS MATERIALIZED (
    SELECT * FROM observed
    UNION ALL SELECT quantity, row_number() OVER (PARTITION BY quantity ORDER BY o.n), measured, v.number, job
    FROM of_table AS o JOIN place USING (title) JOIN page_value AS v ON v.n = place.n + o.n
    WHERE measured > 0 AND v.number > 0 AND measured < 9e999 AND v.number < 9e999),
summed AS MATERIALIZED (
    SELECT quantity, iif(quantity = 'time', 's', 'B') AS unit, count(*) AS count, (count(*) + 1499) / 1500 AS stride,
        min(min(measured, predicted)) AS low, max(max(measured, predicted)) AS high,
        100 * avg(abs(predicted / measured - 1)) AS error, quantity NOT IN (SELECT quantity FROM observed) AS from_table
    FROM pair GROUP BY quantity),
charts (quantity, data) AS (
    SELECT quantity, printf('{"unit":"%s","ends":[%.9g,%.9g],"points":[', unit, low, high)
        || group_concat(printf('[%d,%.6g,%.6g]', job, measured, predicted), ',') || ']}'
    FROM (SELECT * FROM pair JOIN summed USING (quantity) WHERE (number - 1) % stride = 0 ORDER BY quantity, number)
    GROUP BY quantity),
listed (quantity, rows) AS (
    SELECT quantity, json_group_array(json_array(job, json(rounded(predicted)), json(rounded(measured)),
        round((predicted / measured - 1) * 1000) / 10))
    FROM (SELECT * FROM pair WHERE number <= 250 ORDER BY quantity, number) GROUP BY quantity),
pieces (quantity, place, piece) AS (
    SELECT quantity, 1, json_object('heading', iif(quantity = 'time', 'Step time', 'Memory')) FROM summed
    UNION ALL SELECT quantity, 2, json_object('chart', 'predicted-' || quantity, 'data', data) FROM charts
    UNION ALL SELECT quantity, 3, json_object('note', json_array(
        printf('%d %s%s; the mean error of the predictions%s is %s %%. On the line a prediction is right; above it, too high.',
            count, iif(from_table, 'job', 'run'), iif(count = 1, '', 's'),
            iif(from_table, '', ' made before each run'), say('%.1f', error)))) FROM summed
    UNION ALL SELECT quantity, 4, json_object('points', count) FROM summed
    UNION ALL SELECT quantity, 5, json_object('figures', 'Predicted and measured ' || quantity, 'columns', json_array('job',
        json_array('predicted', unit), json_array('measured', unit), json_array('off by', '%')), 'rows', json(rows),
        'all', count, 'others', 'runs, the first ones.') FROM summed JOIN listed USING (quantity)
    UNION ALL SELECT '', 0, json_object('none', 'Nothing was both predicted and measured. To get predictions, add a [predict] '
        || 'table to the sweep file.') WHERE NOT EXISTS (SELECT 1 FROM summed))

SELECT json_group_array(json(piece)) FROM (SELECT piece FROM pieces ORDER BY quantity, place);
