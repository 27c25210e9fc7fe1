-- What else was made from the numbers in temp.renewal: the next prediction renews observations and the weights fitted
-- to them, and the jobs in temp.renewed_job get the values of their attempts.

DELETE FROM calibration AS c WHERE EXISTS (SELECT 1 FROM temp.renewal AS w JOIN observation AS o USING (attempt_id)
    WHERE o.framework = c.framework AND o.device = c.device AND o.cluster = c.cluster AND o.quantity = c.quantity);
DELETE FROM observation WHERE attempt_id IN (SELECT attempt_id FROM temp.renewal);
CREATE TEMP TABLE IF NOT EXISTS renewed_job (id INTEGER PRIMARY KEY);
DELETE FROM temp.renewed_job;
INSERT OR IGNORE INTO temp.renewed_job SELECT job_id FROM attempt
    WHERE id IN (SELECT attempt_id FROM temp.renewal);
