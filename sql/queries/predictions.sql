-- Predicted memory of jobs that ran and of jobs that ran out of memory. Where the ranges overlap, the prediction cannot
-- separate them.
SELECT iif(j.state = 'ok', 'ran', 'out of memory') AS outcome, count(*) AS jobs,
       round(min(j.predicted_memory) / 1073741824.0, 2) AS lowest_gib,
       round(avg(j.predicted_memory) / 1073741824.0, 2) AS mean_gib,
       round(max(j.predicted_memory) / 1073741824.0, 2) AS highest_gib
FROM job AS j
WHERE j.predicted_memory IS NOT NULL AND (j.state = 'ok' OR j.failure = 'oom')
GROUP BY outcome
ORDER BY outcome DESC;
