-- Takes out the attempts in temp.removed_attempt. Weights that were fitted to them are fitted anew by who predicts
-- next; a note on a row goes over to the new row in its place.

INSERT OR IGNORE INTO temp.imported_job SELECT job_id FROM attempt WHERE id IN temp.removed_attempt;
DELETE FROM calibration WHERE (framework, device, cluster, quantity) IN
    (SELECT framework, device, cluster, quantity FROM observation WHERE attempt_id IN temp.removed_attempt);
UPDATE note SET (job_id, attempt_id) =
    (SELECT n.job_id, n.id FROM attempt AS o JOIN attempt AS n ON n.table_id = o.table_id AND n.line = o.line
        AND n.id <> o.id WHERE o.id = note.attempt_id)
WHERE attempt_id IN
    (SELECT o.id FROM temp.removed_attempt AS r JOIN attempt AS o USING (id) JOIN attempt AS n
        ON n.table_id = o.table_id AND n.line = o.line WHERE n.id NOT IN temp.removed_attempt);
DELETE FROM attempt WHERE id IN temp.removed_attempt;
