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

-- What the keys of a sweep's jobs are made of beside their specs, as JSON without secrets: command, env, cwd, … as they are
-- written. NULL: a version before this one recorded the sweep.
ALTER TABLE sweep ADD COLUMN identity TEXT CHECK (identity IS NULL OR json_valid(identity));
-- Files of attempts stand below the key that their job had.
CREATE INDEX replaced_key ON replaced (was) WHERE field = 'key';

-- Results that stand for a job that is run in another way now, and what was different.
CREATE VIEW accepted AS
SELECT r.job_id, c.id AS change_id, c.at, c.who, c.why,
       (SELECT group_concat((d.value ->> 'what') || ': ' || coalesce(d.value ->> 'was', 'none') || ' -> '
                            || coalesce(d.value ->> 'now', 'none'), '; ') FROM json_each(c.detail, '$.differences') AS d) AS what
FROM change AS c JOIN replaced AS r ON r.change_id = c.id AND r.field = 'key'
WHERE c.undone IS NULL AND (c.kind = 'accept' OR c.kind = 'was');

-- A spec that is deleted by hand is made again when its sweep is asked for. Its jobs do not refer to another one that gets
-- its number meanwhile.
CREATE TRIGGER spec_deleted AFTER DELETE ON spec
BEGIN
    UPDATE sweep SET enumerated = 0 WHERE enumerated;
    UPDATE job SET cluster_id = iif(cluster_id = OLD.id, -OLD.id, cluster_id),
                   model_id = iif(model_id = OLD.id, -OLD.id, model_id),
                   training_id = iif(training_id = OLD.id, -OLD.id, training_id),
                   parallel_id = iif(parallel_id = OLD.id, -OLD.id, parallel_id)
    WHERE OLD.id IN (cluster_id, model_id, training_id, parallel_id);
END;

-- Limits that depend on the attempt, as this one was given them; NULL: those of its job.
ALTER TABLE attempt ADD COLUMN given TEXT CHECK (given IS NULL OR json_valid(given));
