-- A sample that is not finite is NULL in `metric` and in `summary`, which says how many there were; a job whose objective
-- ends so has diverged. Of the samples of a great many steps some are kept: `reported` is how many there were.

-- As https://www.sqlite.org/lang_altertable.html has it for changes that leave the rows as they are, as in 0009.
PRAGMA writable_schema = ON;
UPDATE sqlite_schema
SET sql = replace(sql,
    'value      NOT NULL CHECK (typeof(value) IN (''real'', ''integer'') OR value = ''NaN'')',
    'value      REAL CHECK (value IS NULL OR value BETWEEN -1.7976931348623157e308 AND 1.7976931348623157e308)')
WHERE type = 'table' AND name IN ('metric', 'summary');
UPDATE sqlite_schema
SET sql = replace(sql, 'failure = ''hang''', 'failure = ''hang'' OR failure = ''diverged''')
WHERE type = 'table' AND name IN ('job', 'attempt');
PRAGMA writable_schema = RESET;

ALTER TABLE summary ADD COLUMN not_finite INTEGER NOT NULL DEFAULT 0; -- samples that would count and are NaN or infinite
ALTER TABLE summary ADD COLUMN reported INTEGER;                      -- all samples; NULL: not measured but reckoned

-- Whose memory a metric counts (allocated, reserved by the framework's allocator, device), and on which rank.
ALTER TABLE metric_definition ADD COLUMN counter TEXT;
ALTER TABLE metric_definition ADD COLUMN rank TEXT;

UPDATE summary SET (reported, not_finite) =
    (SELECT nullif(count(*), 0), coalesce(sum(m.value NOT BETWEEN -1.7976931348623157e308 AND 1.7976931348623157e308), 0)
     FROM metric AS m WHERE m.attempt_id = summary.attempt_id AND m.name = summary.name);
UPDATE metric SET value = NULL WHERE value NOT BETWEEN -1.7976931348623157e308 AND 1.7976931348623157e308;
UPDATE summary SET value = iif(value < 9e999 AND value > -9e999, value, NULL),
    mean = iif(mean < 9e999 AND mean > -9e999, mean, NULL), median = iif(median < 9e999 AND median > -9e999, median, NULL),
    minimum = iif(minimum < 9e999 AND minimum > -9e999, minimum, NULL),
    maximum = iif(maximum < 9e999 AND maximum > -9e999, maximum, NULL),
    stddev = iif(stddev < 9e999 AND stddev > -9e999, stddev, NULL), p90 = iif(p90 < 9e999 AND p90 > -9e999, p90, NULL)
WHERE not_finite > 0 OR value NOT BETWEEN -1.7976931348623157e308 AND 1.7976931348623157e308;

-- What stood as ok with such an objective has diverged. The triggers forbid it to everybody else.
DROP TRIGGER job_state;
DROP TRIGGER attempt_state;
UPDATE attempt SET state = 'failed', failure = 'diverged', message = 'its objective was no finite number'
WHERE state = 'ok' AND EXISTS
    (SELECT 1 FROM job AS j JOIN sweep AS s ON s.id = j.sweep_id
     JOIN summary AS m ON m.attempt_id = attempt.id AND m.name = s.objective
     WHERE j.id = attempt.job_id AND m.value IS NULL);
UPDATE job SET state = 'failed', failure = 'diverged'
WHERE state = 'ok' AND EXISTS (SELECT 1 FROM attempt AS a WHERE a.id = job.attempt_id AND a.failure = 'diverged');

CREATE TRIGGER job_state BEFORE UPDATE OF state ON job
WHEN OLD.state <> NEW.state AND NOT CASE OLD.state
     WHEN 'pending' THEN NEW.state = 'running'
     WHEN 'running' THEN NEW.state = 'pending' OR NEW.state = 'ok' OR NEW.state = 'failed'
     ELSE NEW.state = 'pending' END
BEGIN
    SELECT RAISE(ABORT, 'a job goes from pending to running to ok or failed, and from each of them to pending');
END;
CREATE TRIGGER attempt_state BEFORE UPDATE OF state ON attempt
WHEN OLD.state <> NEW.state AND NOT CASE OLD.state
     WHEN 'claimed' THEN NEW.state = 'running'
     WHEN 'running' THEN NEW.state = 'ok' OR NEW.state = 'failed'
     ELSE 0 END
BEGIN
    SELECT RAISE(ABORT, 'an attempt goes from claimed to running to ok or failed, and nowhere else');
END;
