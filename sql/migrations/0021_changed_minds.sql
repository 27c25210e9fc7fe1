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

-- What people say of a job, or of one attempt. Rows are only added: of exclude and include the last one stands.
CREATE TABLE note (
    id         INTEGER PRIMARY KEY,
    job_id     INTEGER NOT NULL REFERENCES job (id) ON DELETE CASCADE,
    attempt_id INTEGER REFERENCES attempt (id) ON DELETE CASCADE,  -- NULL: the job
    kind       TEXT NOT NULL CHECK (kind IN ('note', 'tag', 'exclude', 'include')),
    text       TEXT CHECK (text <> ''),                            -- of exclude the reason; NULL: include without words
    at         INTEGER NOT NULL,                                   -- milliseconds since 1970
    who        TEXT NOT NULL,                                      -- user@host
    origin     TEXT NOT NULL UNIQUE DEFAULT (lower(hex(randomblob(16)))) -- what it is known by in all databases
);
CREATE INDEX note_job ON note (job_id);

-- The attempts that are excluded. Of a job those that had been started when it was: what runs afterwards counts. Where
-- all are asked for, the few notes are looked through, not the attempts.
CREATE VIEW excluded_attempt AS
SELECT a.id AS attempt_id, a.job_id, n.id AS note_id, n.text AS why
FROM note AS n JOIN attempt AS a ON a.job_id = n.job_id AND ifnull(n.attempt_id, a.id) = a.id
WHERE unlikely(n.kind = 'exclude') AND (n.attempt_id IS NOT NULL OR ifnull(a.started, 0) <= n.at)
      AND NOT EXISTS (SELECT 1 FROM note AS l WHERE l.job_id = n.job_id AND ifnull(l.attempt_id, a.id) = a.id
                      AND (l.kind = 'include' OR l.kind = 'exclude') AND (l.at, l.id) > (n.at, n.id)
                      AND (l.attempt_id IS NOT NULL OR ifnull(a.started, 0) <= l.at));

-- As before, without those.
DROP VIEW counted_attempt;
CREATE VIEW counted_attempt AS
SELECT a.id, a.job_id, a.number FROM attempt AS a
WHERE a.state = 'ok' AND a.superseded IS NULL AND a.kind = 'trial'
      AND NOT EXISTS (SELECT 1 FROM excluded_attempt AS x WHERE x.attempt_id = a.id)
      AND NOT EXISTS (SELECT 1 FROM attempt AS b WHERE b.job_id = a.job_id AND b.state = 'ok' AND b.superseded IS NULL
                      AND b.kind = 'trial' AND NOT EXISTS (SELECT 1 FROM excluded_attempt AS x WHERE x.attempt_id = b.id)
                      AND (ifnull(b.stopped_steps, 9e18), b.device_note IS NULL) >
                          (ifnull(a.stopped_steps, 9e18), a.device_note IS NULL));

-- The jobs that have no value because of it.
CREATE VIEW excluded_job AS
SELECT id AS job_id FROM job WHERE id IN (SELECT job_id FROM note WHERE kind = 'exclude')
      AND EXISTS (SELECT 1 FROM excluded_attempt WHERE job_id = job.id)
      AND NOT EXISTS (SELECT 1 FROM counted_attempt WHERE job_id = job.id);

-- What is said of each job, in one line.
CREATE VIEW job_note AS
SELECT job_id, group_concat(text, '; ') FILTER (WHERE kind = 'note') AS notes,
       group_concat(DISTINCT text) FILTER (WHERE kind = 'tag') AS tags,
       group_concat(text, '; ') FILTER (WHERE kind = 'exclude') AS excluded
FROM (SELECT n.job_id, n.kind, iif(a.number IS NULL, '', 'attempt ' || a.number || ': ') || n.text AS text
      FROM note AS n LEFT JOIN attempt AS a ON a.id = n.attempt_id
      WHERE n.kind <> 'exclude' OR n.id IN (SELECT note_id FROM excluded_attempt WHERE job_id = n.job_id)
      ORDER BY n.at, n.id)
GROUP BY job_id;

DROP TRIGGER job_measured_once;
CREATE TRIGGER job_measured_once AFTER UPDATE OF attempt_id ON job
WHEN NOT EXISTS (SELECT 1 FROM attempt WHERE job_id = NEW.id AND id IS NOT NEW.attempt_id)
     AND NOT EXISTS (SELECT 1 FROM note WHERE job_id = NEW.id)
BEGIN
    DELETE FROM job_metric WHERE job_id = NEW.id;
    INSERT INTO job_metric SELECT NEW.id, name, value, value IS NOT NULL, note FROM summary WHERE attempt_id = NEW.attempt_id;
END;

-- Where all that would count is excluded, the attempt that stands for the job says what there is no value of.
DROP TRIGGER job_measured;
CREATE TRIGGER job_measured AFTER UPDATE OF attempt_id ON job
WHEN EXISTS (SELECT 1 FROM attempt WHERE job_id = NEW.id AND id IS NOT NEW.attempt_id)
     OR EXISTS (SELECT 1 FROM note WHERE job_id = NEW.id)
BEGIN
    DELETE FROM job_metric WHERE job_id = NEW.id;
    INSERT INTO job_metric
    SELECT NEW.id, name, avg(iif(place IN ((n + 1) / 2, n / 2 + 1), value, NULL)), n, min(note)
    FROM (SELECT name, value, note, count(value) OVER (PARTITION BY name) AS n,
                 row_number() OVER (PARTITION BY name ORDER BY value IS NULL, value) AS place
          FROM (SELECT s.name, iif(x.why IS NULL, s.value, NULL) AS value,
                       iif(x.why IS NULL, s.note, 'excluded: ' || x.why) AS note
                FROM summary AS s LEFT JOIN excluded_attempt AS x ON x.attempt_id = s.attempt_id
                WHERE s.attempt_id IN (SELECT id FROM counted_attempt WHERE job_id = NEW.id UNION ALL SELECT NEW.attempt_id
                                       WHERE NOT EXISTS (SELECT 1 FROM counted_attempt WHERE job_id = NEW.id))))
    GROUP BY name;
END;

-- What was fitted to it is fitted anew by who predicts next.
CREATE TRIGGER note_added AFTER INSERT ON note WHEN NEW.kind = 'exclude' OR NEW.kind = 'include'
BEGIN
    UPDATE job SET attempt_id = attempt_id WHERE id = NEW.job_id;
    DELETE FROM calibration WHERE (framework, device, cluster, quantity) IN
        (SELECT o.framework, o.device, o.cluster, o.quantity FROM observation AS o JOIN attempt AS a ON a.id = o.attempt_id
         WHERE a.job_id = NEW.job_id);
END;
CREATE TRIGGER note_deleted AFTER DELETE ON note
BEGIN
    UPDATE job SET attempt_id = attempt_id WHERE id = OLD.job_id;
END;
CREATE TRIGGER note_changed AFTER UPDATE ON note
BEGIN
    UPDATE job SET attempt_id = attempt_id WHERE id IN (OLD.job_id, NEW.job_id);
END;
