-- Jobs that need not be tried: the witness ran out of device memory, and they need no less ([predict.order]).

-- The job that ran out of memory; NULL: none is known, and the job may run. A job with a witness stays pending, is not
-- claimed, and may run again as soon as its witness is gone.
ALTER TABLE job ADD COLUMN witness_id INTEGER CHECK (witness_id IS NULL OR state = 'pending');

DROP INDEX job_pending;
CREATE INDEX job_pending ON job (sweep_id, priority, rank) WHERE state = 'pending' AND witness_id IS NULL;
CREATE INDEX job_pruned ON job (witness_id, sweep_id) WHERE witness_id IS NOT NULL;

-- What a witness showed is shown no more once it is deleted, tried again or found to be something else.
CREATE TRIGGER witness_deleted AFTER DELETE ON job WHEN OLD.failure = 'oom'
BEGIN
    UPDATE job SET witness_id = NULL WHERE witness_id = OLD.id;
END;
CREATE TRIGGER witness_reopened AFTER UPDATE OF failure ON job WHEN OLD.failure = 'oom' AND NEW.failure IS NOT 'oom'
BEGIN
    UPDATE job SET witness_id = NULL WHERE witness_id = OLD.id;
END;
