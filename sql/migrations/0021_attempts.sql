-- Kinds of attempts, and durations that are what they say.

-- The full training that follows a search is an attempt of a kind of its own: it runs under no limits of a trial, nothing
-- ranks it, and whatever becomes of it leaves its job as it is. Its samples are kept, and no summary is made of them.
ALTER TABLE attempt ADD COLUMN kind TEXT NOT NULL DEFAULT 'trial' CHECK (kind = 'trial' OR kind = 'full');
CREATE INDEX attempt_full ON attempt (job_id) WHERE kind = 'full';

DROP TRIGGER attempt_deleted;
CREATE TRIGGER attempt_deleted AFTER DELETE ON attempt
BEGIN
    DELETE FROM metric WHERE attempt_id = OLD.id;
    DELETE FROM summary WHERE attempt_id = OLD.id;
    UPDATE job SET state = 'pending', failure = NULL, attempt_id = nullif(attempt_id, OLD.id)
    WHERE id = OLD.job_id AND OLD.kind = 'trial' AND (attempt_id = OLD.id OR state = 'running')
          AND NOT EXISTS (SELECT 1 FROM attempt WHERE job_id = OLD.job_id AND state IN ('claimed', 'running')
                          AND kind = 'trial');
END;

DROP VIEW counted_attempt;
CREATE VIEW counted_attempt AS
SELECT a.id, a.job_id, a.number FROM attempt AS a
WHERE a.state = 'ok' AND a.superseded IS NULL AND a.kind = 'trial'
      AND NOT EXISTS (SELECT 1 FROM attempt AS b WHERE b.job_id = a.job_id AND b.state = 'ok' AND b.superseded IS NULL
                      AND b.kind = 'trial' AND ifnull(b.stopped_steps, 9e18) > ifnull(a.stopped_steps, 9e18));

-- What a runner stood still for was subtracted from the duration of its jobs, although they went on. It is part of it, and
-- where unwatched_ms says so the end is not known: what was made of the duration as it was counts no more.
UPDATE summary SET value = NULL, note = 'its runner stood still while it ran, so when it ended is not known'
WHERE name = 'duration' AND EXISTS
    (SELECT 1 FROM attempt AS a WHERE a.id = attempt_id AND a.unwatched_ms > 0 AND summary.value = a.duration_ms / 1000.0);
UPDATE attempt SET duration_ms = duration_ms + unwatched_ms WHERE unwatched_ms > 0;
-- The next run works out anew what is worked out from others (src/measures/record.c).
UPDATE meta SET value = 'migrated' || substr(value, instr(value || char(10), char(10)))
WHERE name = 'measures' AND EXISTS (SELECT 1 FROM attempt WHERE unwatched_ms > 0);
