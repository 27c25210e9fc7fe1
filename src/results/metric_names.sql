-- Facts of models alone are no results. Over every summary: distinct before anything is sorted.

WITH fact AS MATERIALIZED (SELECT a.id FROM sweep AS s CROSS JOIN job AS j ON j.sweep_id = s.id
   CROSS JOIN attempt AS a ON a.job_id = j.id WHERE s.role IS NOT NULL)
SELECT DISTINCT 'metric', name FROM (SELECT name FROM metric_definition
  UNION ALL SELECT * FROM (SELECT DISTINCT name FROM summary) AS n
   WHERE NOT EXISTS (SELECT 1 FROM fact)
   OR EXISTS (SELECT 1 FROM summary AS s WHERE s.name = n.name AND s.attempt_id NOT IN fact))
ORDER BY name
