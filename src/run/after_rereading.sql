-- Keeps in temp.difference each value that differs from before (src/run/before_rereading.sql), whichever step changed
-- it.

CREATE TEMP TABLE difference AS
SELECT 0 AS job_id, NULL AS attempt_id, '' AS field, NULL AS was, NULL AS now WHERE false
UNION ALL SELECT n.id, NULL, 'state', b.state, n.state
  FROM temp.old_job AS b JOIN job AS n USING (id) WHERE n.state IS NOT b.state
UNION ALL SELECT n.id, NULL, 'failure', b.failure, n.failure
  FROM temp.old_job AS b JOIN job AS n USING (id) WHERE n.failure IS NOT b.failure
UNION ALL SELECT n.job_id, n.id, 'state', b.state, n.state
  FROM temp.old_attempt AS b JOIN attempt AS n USING (id) WHERE n.state IS NOT b.state
UNION ALL SELECT n.job_id, n.id, 'failure', b.failure, n.failure
  FROM temp.old_attempt AS b JOIN attempt AS n USING (id) WHERE n.failure IS NOT b.failure
UNION ALL SELECT n.job_id, n.id, 'message', b.message, n.message
  FROM temp.old_attempt AS b JOIN attempt AS n USING (id) WHERE n.message IS NOT b.message
UNION ALL SELECT n.job_id, n.id, 'consequence', b.consequence, n.consequence
  FROM temp.old_attempt AS b JOIN attempt AS n USING (id) WHERE n.consequence IS NOT b.consequence
UNION ALL SELECT n.job_id, n.id, 'left_out', b.left_out, n.left_out
  FROM temp.old_attempt AS b JOIN attempt AS n USING (id) WHERE n.left_out IS NOT b.left_out
UNION ALL SELECT a.job_id, a.id, b.name, b.value, n.value
  FROM temp.old_number AS b JOIN attempt AS a ON a.id = b.attempt_id LEFT JOIN summary AS n USING (attempt_id, name)
  WHERE n.value IS NOT b.value
UNION ALL SELECT a.job_id, a.id, n.name, NULL, n.value
  FROM summary AS n JOIN attempt AS a ON a.id = n.attempt_id LEFT JOIN temp.old_number AS b USING (attempt_id, name)
  WHERE b.name IS NULL AND n.value IS NOT NULL;
DROP TABLE temp.old_job;
DROP TABLE temp.old_attempt;
DROP TABLE temp.old_number;
