-- Why the jobs of the change ?1 do not stand as it made them; no row: they do.

SELECT printf('job %d ', r.job_id) || CASE
 WHEN lower(hex(j.key)) <> r.now THEN 'has another identity since'
 WHEN EXISTS (SELECT 1 FROM attempt AS a WHERE a.job_id = j.id AND a.started > c.at) THEN 'has run since'
 WHEN EXISTS (SELECT 1 FROM job AS o JOIN attempt AS a ON a.job_id = o.id WHERE lower(hex(o.key)) = r.was)
 THEN 'has a successor with results under its former key'
 ELSE 'had a spec that is no longer recorded' END
FROM change AS c JOIN replaced AS r ON r.change_id = c.id JOIN job AS j ON j.id = r.job_id
WHERE c.id = ?1 AND r.field = 'key' AND (lower(hex(j.key)) <> r.now
 OR EXISTS (SELECT 1 FROM attempt AS a WHERE a.job_id = j.id AND a.started > c.at)
 OR r.was IN (SELECT lower(hex(o.key)) FROM job AS o WHERE EXISTS (SELECT 1 FROM attempt WHERE job_id = o.id))
 OR EXISTS (SELECT 1 FROM replaced AS s WHERE +s.change_id = c.id AND s.job_id = j.id
  AND s.field IN ('cluster_spec', 'model', 'training_spec', 'parallel_spec') AND s.was IS NOT NULL
  AND (s.field, s.was) NOT IN (SELECT kind, json FROM temp.former_spec WHERE id IS NOT NULL)))
LIMIT 1
