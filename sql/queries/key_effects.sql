-- For each value of each key: how many jobs succeeded or failed, and the objective of those that succeeded. Keys with
-- the same value in all jobs are left out. These are averages over everything else that differs: a hint, not a proof.
WITH member AS (
    SELECT j.id AS job, j.state, j.failure, v.value AS score, k.kind || '.' || e.key AS name, e.value AS setting
    FROM current_sweep AS s
    JOIN job AS j ON j.sweep_id = s.id
    JOIN spec AS k ON k.id IN (j.cluster_id, j.model_id, j.training_id, j.parallel_id)
    JOIN json_each(k.json) AS e
    LEFT JOIN job_metric AS v ON v.job_id = j.id AND v.name = s.objective AND j.state = 'ok'
                              AND v.value IS NOT NULL
)
SELECT name, setting, count(*) AS jobs, sum(state = 'ok') AS ok, sum(failure IS 'oom') AS out_of_memory,
       sum(state = 'failed' AND failure IS NOT 'oom') AS failed, round(avg(score), 3) AS mean, min(score) AS lowest,
       max(score) AS highest
FROM member
WHERE name IN (SELECT name FROM member GROUP BY name HAVING count(DISTINCT setting) > 1)
GROUP BY name, setting
ORDER BY name, setting;
