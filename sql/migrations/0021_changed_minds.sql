-- People change their mind about results: they are read again, stand for another command, or no longer count. What was
-- replaced is kept.

-- A change that was made once to what had been recorded, in one transaction.
CREATE TABLE change (
    id     INTEGER PRIMARY KEY,
    kind   TEXT NOT NULL,                                           -- the command or key that made it: reread, accept, was, note
    at     INTEGER NOT NULL,                                        -- milliseconds since 1970
    who    TEXT NOT NULL,                                           -- user@host
    why    TEXT,                                                    -- what they said; NULL: nothing
    detail TEXT CHECK (detail IS NULL OR json_valid(detail)),       -- what it was told
    undone INTEGER,                                                 -- when; NULL: it stands
    origin TEXT UNIQUE                                              -- "<database's identity>:<id there>"; NULL: made here
);

-- What stood in its place before.
CREATE TABLE replaced (
    change_id  INTEGER NOT NULL REFERENCES change (id) ON DELETE CASCADE,
    job_id     INTEGER NOT NULL REFERENCES job (id) ON DELETE CASCADE,
    attempt_id INTEGER,       -- NULL: of the job itself
    field      TEXT NOT NULL, -- column or metric
    was,                      -- NULL: there was none
    now
);
CREATE INDEX replaced_change ON replaced (change_id);
CREATE INDEX replaced_job ON replaced (job_id);

-- Why its batch system has not begun an attempt: what the queue says, or that it is not submitted yet. NULL: it runs or has
-- ended, or no batch system has it.
ALTER TABLE attempt ADD COLUMN waits TEXT;

-- One that failed for want of a finite objective, too, is ok when its output, read again, has it.
DROP TRIGGER attempt_state;
CREATE TRIGGER attempt_state BEFORE UPDATE OF state ON attempt
WHEN OLD.state <> NEW.state AND NOT CASE OLD.state
     WHEN 'claimed' THEN NEW.state = 'running'
     WHEN 'running' THEN NEW.state = 'ok' OR NEW.state = 'failed'
     WHEN 'failed' THEN NEW.state = 'ok' AND (OLD.failure = 'no-metric' OR OLD.failure = 'diverged')
     ELSE 0 END
BEGIN
    SELECT RAISE(ABORT, 'an attempt goes from claimed to running to ok or failed, and nowhere else');
END;
