-- Runs that lie far from the other runs of the same job or, where the sweep lists replicate keys, configuration: the
-- document of `meshsweep results --outliers --json`. The metric is the objective. A run is far if its distance
-- from the median of its repeats is 5 times the usual one: 1.4826 times the median of all such distances, in proportion
-- (Hampel 1974; for normal noise that is the standard deviation). The run in the middle has no distance and takes no part.
WITH
asked (name) AS MATERIALIZED (SELECT objective FROM current_sweep),
plain (id, text) AS MATERIALIZED (
    SELECT s.id, (SELECT json_group_array(json_array(k.key, k.value)) FROM json_each(s.json) AS k
        WHERE s.kind || '.' || k.key NOT IN (SELECT r.value FROM meta AS m, json_each(m.value) AS r WHERE m.name = 'replicate'))
    FROM spec AS s),
run (job, attempt, host, device_note, value, same) AS MATERIALIZED (
    SELECT j.id, a.number, coalesce(a.host, r.host), a.device_note, s.value,
        json_array(c.text, m.text, t.text, p.text)
    FROM job AS j JOIN counted_attempt AS k ON k.job_id = j.id JOIN attempt AS a ON a.id = k.id
    JOIN summary AS s ON s.attempt_id = a.id AND s.name = (SELECT name FROM asked) LEFT JOIN runner AS r ON r.id = a.runner_id
    LEFT JOIN plain AS c ON c.id = j.cluster_id LEFT JOIN plain AS m ON m.id = j.model_id
    LEFT JOIN plain AS t ON t.id = j.training_id LEFT JOIN plain AS p ON p.id = j.parallel_id
    WHERE j.sweep_id = (SELECT id FROM current_sweep) AND j.state = 'ok' AND typeof(s.value) IN ('integer', 'real')
        AND abs(s.value) < 9e999),
placed AS MATERIALIZED (
    SELECT *, count(*) OVER (PARTITION BY same) AS runs, row_number() OVER (PARTITION BY same ORDER BY value, job, attempt)
        AS place FROM run),
middle (same, median) AS MATERIALIZED (
    SELECT same, avg(value) FROM placed WHERE 2 * place IN (runs, runs + 1, runs + 2) AND runs > 2 GROUP BY same),
distance AS MATERIALIZED (
    SELECT p.*, m.median, (p.value - m.median) / abs(m.median) AS off FROM placed AS p JOIN middle AS m USING (same)
    WHERE m.median <> 0 AND 2 * p.place <> p.runs + 1),
usual (spread, count) AS MATERIALIZED (
    SELECT 1.4826 * avg(size), max(n) FROM (
        SELECT abs(off) AS size, row_number() OVER (ORDER BY abs(off)) AS place, count(*) OVER () AS n FROM distance)
    WHERE 2 * place IN (n, n + 1, n + 2)),
far AS MATERIALIZED (
    SELECT d.* FROM distance AS d, usual WHERE count >= 4 AND abs(off) > 5 * spread ORDER BY abs(off) DESC, job, attempt),
said (text) AS (
    SELECT CASE WHEN coalesce(count, 0) < 4
        THEN 'too few repeats to tell: it takes three runs of two jobs at least ([job] repeat = 3)'
        ELSE say('%s: %d of %d repeated runs lie more than 5 times the usual %.2g %% from the median of their repeats',
            (SELECT name FROM asked), (SELECT count(*) FROM far), (SELECT count(*) FROM placed WHERE runs > 2), 100 * spread)
        END FROM (SELECT 1) LEFT JOIN usual),
shown (job, attempt, value, median, runs, off, host, device_note) AS (
    SELECT job, attempt, value, median, runs, printf('%+.1f %%', 100 * off), host, device_note FROM far)

SELECT json_object('schema_version', 1, 'metric', (SELECT name FROM asked), 'unit', (SELECT nullif(unit, '') FROM
        metric_definition WHERE name = (SELECT name FROM asked)), 'runs', (SELECT count(*) FROM placed WHERE runs > 2),
    'spread', (SELECT spread FROM usual WHERE count >= 4), 'outliers', (SELECT json_group_array(json_object('job', job,
        'attempt', attempt, 'value', value, 'median', median, 'runs', runs, 'deviation', off, 'host', host,
        'note', device_note)) FROM far)) AS document,
    iif((SELECT name FROM asked) IS NULL, 'the sweep has no objective; add objective = "max:METRIC" or "min:METRIC" under [sweep]',
        NULL) AS why FROM current_sweep;
