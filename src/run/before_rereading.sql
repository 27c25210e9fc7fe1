-- Keeps what outputs that are read again may change, to be compared by src/run/after_rereading.sql.

CREATE TEMP TABLE old_job AS
SELECT id, state, failure FROM job WHERE state IN ('ok', 'failed', 'pending') AND attempt_id IS NOT NULL;
CREATE TEMP TABLE old_attempt AS
SELECT id, state, failure, message, consequence, left_out FROM attempt WHERE state IN ('ok', 'failed');
CREATE TEMP TABLE old_number (attempt_id, name, value, PRIMARY KEY (attempt_id, name)) WITHOUT ROWID;
INSERT INTO temp.old_number SELECT attempt_id, name, value FROM summary;
