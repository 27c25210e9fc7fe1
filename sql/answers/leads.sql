-- How far the winner of each group is ahead of the next, in the order of groups: a list in JSON. ?1: the objective; ?2:
-- whether it is to be high; ?3: what competes, 0 jobs, 1 jobs in groups, 2 replicates; ?4: in place of that, the job whose
-- rivals are listed. The program puts `measured` before these and, where jobs compete, `configurations`
-- (results/configurations.h).
WITH
ranked_job AS (
    SELECT NULL AS comparison_group, 0 AS job, 0 AS value, 0 AS replicates_stddev, 0 AS replicates LIMIT 0),
take (take) AS MATERIALIZED (SELECT coalesce((SELECT take FROM metric_definition WHERE name = ?1), 'median')),
-- Most jobs have one attempt, which then is known: asking for all of a million jobs takes longer than the rest.
measurement AS NOT MATERIALIZED (
    SELECT j.id AS job, m.value, s.stddev, s.count AS samples, iif(m.attempts = 1 AND s.value IS NOT NULL, 1, (
            SELECT count(*) FROM counted_attempt AS k JOIN measured AS o ON o.id = k.id
            JOIN summary AS v ON v.attempt_id = o.id AND v.name = ?1 AND v.value IS NOT NULL WHERE k.job_id = j.id)) AS attempts,
        iif(m.attempts = 1 AND s.value IS NOT NULL, 0, (
            SELECT sum((v.value - m.value) * (v.value - m.value)) FROM counted_attempt AS k JOIN measured AS o ON o.id = k.id
            JOIN summary AS v ON v.attempt_id = o.id AND v.name = ?1 AND v.value IS NOT NULL WHERE k.job_id = j.id)) AS squares
    FROM job AS j NOT INDEXED CROSS JOIN job_metric AS m ON m.job_id = j.id CROSS JOIN measured AS a ON a.id = j.attempt_id
    LEFT JOIN summary AS s ON s.attempt_id = j.attempt_id AND s.name = ?1
    WHERE m.name = ?1 AND m.value IS NOT NULL AND j.state = 'ok' AND j.sweep_id = (SELECT id FROM current_sweep)),
-- With the standard error: of the median of a job's attempts (Student 1908: s / sqrt(n) for a mean, taken as independent;
-- that of a median is sqrt(pi / 2) times it, but of two values they are one); of one attempt alone, that of its samples.
contender AS NOT MATERIALIZED (
    SELECT job, value, attempts = 1 AS ran_once,
        CASE WHEN attempts > 1 THEN sqrt(squares / (attempts - 1) / attempts) * iif(attempts > 2, sqrt(pi() / 2), 1)
            WHEN of_samples THEN stddev / sqrt(samples) * iif(take = 'median' AND samples > 2, sqrt(pi() / 2), 1) END AS error,
        CASE WHEN attempts > 1 THEN attempts - 1 WHEN of_samples THEN samples - 1 END AS freedom
    FROM (SELECT *, take IN ('median', 'mean') AND stddev IS NOT NULL AND samples > 1 AS of_samples FROM measurement, take)),

listed AS MATERIALIZED (
    SELECT row_number() OVER () AS n, comparison_group, job, value, replicates_stddev / sqrt(replicates) AS error,
        replicates - 1 AS freedom, lag(comparison_group) OVER () IS NOT comparison_group AS is_first,
        lag(comparison_group, 2) OVER () IS NOT comparison_group AS is_early FROM configurations),
-- Numbered in their order; is_early: the first or the second of its group.
entrant AS MATERIALIZED (
    SELECT *, n = 1 AS is_first, n < 3 AS is_early FROM (
        SELECT row_number() OVER (ORDER BY iif(?2, -value, value), job) AS n, '' AS comparison_group, job, value, error,
            freedom, ran_once FROM contender WHERE ?3 = 0)
    UNION ALL SELECT n, comparison_group, job, l.value, k.error, k.freedom, ran_once, is_first, is_early
    FROM listed AS l JOIN contender AS k USING (job) WHERE ?3 = 1
    UNION ALL SELECT n, comparison_group, job, value, error, freedom, 0, is_first, is_early FROM listed WHERE ?3 = 2),
winner AS MATERIALIZED (
    SELECT *, coalesce(lead(n) OVER (), (SELECT count(*) + 1 FROM entrant)) - n AS competitors FROM (
        SELECT * FROM entrant WHERE is_first)),
-- Intervals are those of the difference of two means (lead_half_width).
other AS NOT MATERIALIZED (
    SELECT w.n AS winner, p.n, p.job, p.is_early, abs(w.value - p.value) AS distance, abs(p.value) AS size, w.ran_once OR p.ran_once AS once,
        half_width(w.error, w.freedom, p.error, p.freedom, competitors) AS reach
    FROM entrant AS p JOIN winner AS w USING (comparison_group) WHERE NOT p.is_first),
alike (winner, jobs, list) AS MATERIALIZED (
    SELECT winner, max(jobs), json_group_array(job) FROM (
        SELECT *, row_number() OVER w AS place, count(*) OVER (PARTITION BY winner) AS jobs FROM other
        WHERE distance <= reach WINDOW w AS (PARTITION BY winner ORDER BY n))
    WHERE place <= 6 GROUP BY 1),
second AS MATERIALIZED (SELECT * FROM other WHERE is_early),
lead AS (
    SELECT w.n, json_object('job', w.job, 'second', s.job, 'ahead', json(number(distance / size)),
        'low', json(number((distance - reach) / size)), 'high', json(number((distance + reach) / size)),
        'ran_once', coalesce(once, 0), 'alike', json(coalesce(list, '[]')), 'alike_jobs', coalesce(jobs, 0)) AS lead
    FROM winner AS w LEFT JOIN second AS s ON s.winner = w.n LEFT JOIN alike ON alike.winner = w.n),

-- The job, and those whose 95 % intervals overlap its; within 2 % where one of the two has none.
rival AS (
    SELECT c.job FROM contender AS w CROSS JOIN contender AS c
    WHERE w.job = ?4 AND (c.job = ?4 OR abs(c.value - w.value) <= coalesce(half_width(w.error, w.freedom, 0, w.freedom, 2)
        + half_width(c.error, c.freedom, 0, c.freedom, 2), 0.02 * abs(w.value)))
    ORDER BY c.job <> ?4, iif(?2, -c.value, c.value), c.job LIMIT 6)

SELECT iif(?4 IS NULL, (SELECT json_group_array(json(lead)) FROM (SELECT * FROM lead ORDER BY n)),
    (SELECT json_group_array(job) FROM rival)) AS document;
