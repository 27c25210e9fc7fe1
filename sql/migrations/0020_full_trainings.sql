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
