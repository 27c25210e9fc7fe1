-- A number carries how it was read. Every summary names its definition, and its value is under the one that
-- metric_definition has for the name, or NULL with a note that says why it cannot be.

-- How the numbers of a metric were read and what they stand for. Rows never change; `hash` covers all that follows it.
CREATE TABLE definition (
    id         INTEGER PRIMARY KEY,
    hash       BLOB UNIQUE CHECK (length(hash) = 16), -- NULL: of a time when readers were not recorded
    name       TEXT NOT NULL,
    reading    TEXT CHECK (reading IS NULL OR json_valid(reading)), -- of what a job leaves; NULL: not known, or none
    imported   TEXT,                        -- SQL over the columns of a measured table; NULL: it comes from none
    expression TEXT,                        -- SQL over other metrics; NULL: it is reported
    scale      REAL NOT NULL DEFAULT 1,     -- what a number that is read is multiplied by
    unit       TEXT NOT NULL DEFAULT '',
    better     TEXT,
    warmup     INTEGER NOT NULL DEFAULT 0,
    first_step INTEGER NOT NULL DEFAULT 0,
    last_step  INTEGER NOT NULL DEFAULT 0,  -- 0: no end
    take       TEXT NOT NULL DEFAULT 'median'
);

ALTER TABLE metric_definition ADD COLUMN definition_id INTEGER REFERENCES definition (id);
ALTER TABLE metric_definition ADD COLUMN declared INTEGER NOT NULL DEFAULT 0; -- when a sweep file last did so
UPDATE metric_definition SET declared = coalesce((SELECT max(last_seen) FROM sweep), 0);
ALTER TABLE summary ADD COLUMN definition_id INTEGER REFERENCES definition (id); -- NULL: the job reported it, undeclared

INSERT INTO definition (name, expression, unit, better, warmup, take)
SELECT name, expression, unit, better, warmup, take FROM metric_definition;
UPDATE metric_definition SET definition_id = (SELECT id FROM definition AS d WHERE d.name = metric_definition.name);
UPDATE summary SET definition_id = d.definition_id FROM metric_definition AS d
WHERE d.name = summary.name AND summary.reported IS NOT NULL;
-- Those that may be read again some day.
CREATE INDEX summary_unread ON summary (attempt_id) WHERE note IS NOT NULL AND reported IS NOT NULL;

-- Of all readers that its output was read with (row `readers` of meta: those of the sweep file that ran last); NULL: of a
-- time when that was not recorded. Where they differ, what it has no number of may be in its output.
ALTER TABLE attempt ADD COLUMN readers TEXT;
CREATE INDEX attempt_readers ON attempt (readers, job_id) WHERE state = 'ok' AND executor <> 'import';

-- One that failed for want of the objective alone is ok when its output, read again, has it.
DROP TRIGGER attempt_state;
CREATE TRIGGER attempt_state BEFORE UPDATE OF state ON attempt
WHEN OLD.state <> NEW.state AND NOT CASE OLD.state
     WHEN 'claimed' THEN NEW.state = 'running'
     WHEN 'running' THEN NEW.state = 'ok' OR NEW.state = 'failed'
     WHEN 'failed' THEN NEW.state = 'ok' AND OLD.failure = 'no-metric'
     ELSE 0 END
BEGIN
    SELECT RAISE(ABORT, 'an attempt goes from claimed to running to ok or failed, and nowhere else');
END;

-- Why an ok attempt no longer counts: its script has changed since. NULL: it counts.
ALTER TABLE attempt ADD COLUMN superseded TEXT;

-- The full training that follows a search is an attempt of a kind of its own: it runs under no limits of a trial, nothing
-- ranks it, and whatever becomes of it leaves its job as it is. Its samples are kept, and no summary is made of them.
ALTER TABLE attempt ADD COLUMN kind TEXT NOT NULL DEFAULT 'trial' CHECK (kind = 'trial' OR kind = 'full');
CREATE INDEX attempt_full ON attempt (job_id) WHERE kind = 'full';

-- What an attempt's devices were, and their clock, temperature, power, energy, slowdowns and memory errors: of each device,
-- with why what is NULL is not known. Over all of them they are metrics (device_clock and so on).
ALTER TABLE attempt ADD COLUMN device_model TEXT;
ALTER TABLE attempt ADD COLUMN device_condition TEXT CHECK (device_condition IS NULL OR json_valid(device_condition));
-- How its devices were slower than those of other attempts on devices of the same model; NULL: they were not, or it is not
-- known.
ALTER TABLE attempt ADD COLUMN device_note TEXT;
CREATE INDEX attempt_device_note ON attempt (job_id) WHERE device_note IS NOT NULL;

-- The attempts from which a job's values come: its ok ones, of a search that gave it more steps from time to time those
-- with most, and those on devices that were slower than others only where there are no others.
CREATE VIEW counted_attempt AS
SELECT a.id, a.job_id, a.number FROM attempt AS a
WHERE a.state = 'ok' AND a.superseded IS NULL AND a.kind = 'trial'
      AND NOT EXISTS (SELECT 1 FROM attempt AS b WHERE b.job_id = a.job_id AND b.state = 'ok' AND b.superseded IS NULL
                      AND b.kind = 'trial'
                      AND (ifnull(b.stopped_steps, 9e18), b.device_note IS NULL) >
                          (ifnull(a.stopped_steps, 9e18), a.device_note IS NULL));

-- What a job measured: of each metric the median over its counted attempts, with an even number the mean of the middle
-- two. A job without such attempts has what the attempt that stands for it measured before it failed. The triggers below
-- keep it, whoever writes.
CREATE TABLE job_metric (
    job_id   INTEGER NOT NULL REFERENCES job (id) ON DELETE CASCADE,
    name     TEXT NOT NULL,
    value    REAL,             -- NULL: there is none, and `note` may say why
    attempts INTEGER NOT NULL, -- that have a value
    note     TEXT,
    PRIMARY KEY (job_id, name)
) WITHOUT ROWID;

INSERT INTO job_metric
SELECT j.id, s.name, s.value, s.value IS NOT NULL, s.note FROM job AS j JOIN summary AS s ON s.attempt_id = j.attempt_id;
-- The best of a million jobs without looking at each: values of a metric in their order.
DROP INDEX summary_value;
CREATE INDEX job_metric_value ON job_metric (name, value);

CREATE TRIGGER job_measured_once AFTER UPDATE OF attempt_id ON job
WHEN NOT EXISTS (SELECT 1 FROM attempt WHERE job_id = NEW.id AND id IS NOT NEW.attempt_id)
BEGIN
    DELETE FROM job_metric WHERE job_id = NEW.id;
    INSERT INTO job_metric SELECT NEW.id, name, value, value IS NOT NULL, note FROM summary WHERE attempt_id = NEW.attempt_id;
END;

CREATE TRIGGER job_measured AFTER UPDATE OF attempt_id ON job
WHEN EXISTS (SELECT 1 FROM attempt WHERE job_id = NEW.id AND id IS NOT NEW.attempt_id)
BEGIN
    DELETE FROM job_metric WHERE job_id = NEW.id;
    INSERT INTO job_metric
    SELECT NEW.id, name, avg(iif(place IN ((n + 1) / 2, n / 2 + 1), value, NULL)), n, min(note)
    FROM (SELECT name, value, note, count(value) OVER (PARTITION BY name) AS n,
                 row_number() OVER (PARTITION BY name ORDER BY value IS NULL, value) AS place
          FROM summary
          WHERE attempt_id IN (SELECT id FROM counted_attempt WHERE job_id = NEW.id UNION ALL SELECT NEW.attempt_id
                               WHERE NOT EXISTS (SELECT 1 FROM counted_attempt WHERE job_id = NEW.id)))
    GROUP BY name;
END;

UPDATE job SET attempt_id = attempt_id WHERE id IN (SELECT job_id FROM attempt GROUP BY job_id HAVING count(*) > 1);

CREATE TRIGGER measured_attempt_deleted AFTER DELETE ON attempt WHEN OLD.state = 'ok'
BEGIN
    UPDATE job SET attempt_id = attempt_id WHERE id = OLD.job_id;
END;
CREATE TRIGGER measured_job_deleted AFTER DELETE ON job
BEGIN
    DELETE FROM job_metric WHERE job_id = OLD.id;
END;

-- Summaries that come or change once an attempt stands for the job. Before, they cost a look at the job.
CREATE TRIGGER summary_added AFTER INSERT ON summary
WHEN (SELECT j.attempt_id FROM attempt AS a JOIN job AS j ON j.id = a.job_id WHERE a.id = NEW.attempt_id) IS NOT NULL
BEGIN
    UPDATE job SET attempt_id = attempt_id WHERE id = (SELECT job_id FROM attempt WHERE id = NEW.attempt_id);
END;
CREATE TRIGGER summary_changed AFTER UPDATE OF value, note ON summary
BEGIN
    UPDATE job SET attempt_id = attempt_id WHERE id = (SELECT job_id FROM attempt WHERE id = NEW.attempt_id);
END;
CREATE TRIGGER summary_deleted AFTER DELETE ON summary
BEGIN
    UPDATE job SET attempt_id = attempt_id WHERE id = (SELECT job_id FROM attempt WHERE id = OLD.attempt_id);
END;
CREATE TRIGGER attempt_superseded AFTER UPDATE OF superseded ON attempt
BEGIN
    UPDATE job SET attempt_id = attempt_id WHERE id = NEW.job_id;
END;

-- Durations that are what they say, and what becomes of a job whose attempts are deleted.

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

-- What a runner stood still for was subtracted from the duration of its jobs, although they went on. It is part of it, and
-- where unwatched_ms says so the end is not known: what was made of the duration as it was counts no more.
UPDATE summary SET value = NULL, note = 'its runner stood still while it ran, so when it ended is not known'
WHERE name = 'duration' AND EXISTS
    (SELECT 1 FROM attempt AS a WHERE a.id = attempt_id AND a.unwatched_ms > 0 AND summary.value = a.duration_ms / 1000.0);
UPDATE attempt SET duration_ms = duration_ms + unwatched_ms WHERE unwatched_ms > 0;
-- The next run works out anew what is worked out from others (src/measures/record.c).
UPDATE meta SET value = 'migrated' || substr(value, instr(value || char(10), char(10)))
WHERE name = 'measures' AND EXISTS (SELECT 1 FROM attempt WHERE unwatched_ms > 0);

-- Which rows of which measured table stand here: what a table says anew takes the place of what it said before.

CREATE TABLE imported_table (
    id         INTEGER PRIMARY KEY,
    host       TEXT NOT NULL,                                    -- where it was imported
    path       TEXT NOT NULL,                                    -- absolute
    hash       TEXT NOT NULL,                                    -- XXH3-128 of its bytes, in hexadecimal
    sweep_file TEXT,                                             -- whose [import] read it, absolute; NULL: not known
    sweep_id   INTEGER REFERENCES sweep (id) ON DELETE SET NULL, -- the sweep that its rows belong to
    changed    INTEGER NOT NULL,                                 -- when its rows did; of two copies the later one is right
    origin     TEXT UNIQUE                                       -- "<database's identity>:<id there>"; NULL: read here
);
ALTER TABLE attempt ADD COLUMN table_id INTEGER REFERENCES imported_table (id); -- NULL: not a row of a table
ALTER TABLE attempt ADD COLUMN line INTEGER;                                    -- of that table

INSERT INTO imported_table (host, path, hash, changed)
SELECT host, path, hash, max(started) FROM
    (SELECT host, started, provenance ->> '$.imported.file' AS path, coalesce(provenance ->> '$.imported.xxh3_128', '') AS hash
     FROM runner WHERE json_valid(provenance)) WHERE path IS NOT NULL GROUP BY host, path;
UPDATE attempt SET table_id = t.id, line = CAST(substr(log_tail, length(rtrim(log_tail, '0123456789')) + 1) AS INTEGER)
FROM runner AS r JOIN imported_table AS t ON t.host = r.host AND t.path = r.provenance ->> '$.imported.file'
WHERE r.id = attempt.runner_id AND attempt.executor = 'import';

-- What a file asks for, without what the machine that runs it excludes: sweeps of several machines that have it in common are
-- one after a merge. NULL: not known.
ALTER TABLE sweep ADD COLUMN content BLOB;

CREATE INDEX attempt_table ON attempt (table_id) WHERE table_id IS NOT NULL;
UPDATE imported_table SET sweep_id =
    (SELECT j.sweep_id FROM attempt AS a JOIN job AS j ON j.id = a.job_id WHERE a.table_id = imported_table.id LIMIT 1);

-- Where jobs are not run for now, and in what condition devices were.

-- A place that is set aside: jobs failed there that went well elsewhere. Tried again after `until`; the row goes when a
-- job is ok there.
CREATE TABLE place (
    host    TEXT NOT NULL,
    device  TEXT NOT NULL DEFAULT '',   -- '': the host itself, a node
    message TEXT,                       -- of the first such failure
    jobs    INTEGER NOT NULL,           -- that failed there and went well elsewhere
    since   INTEGER NOT NULL,
    until   INTEGER NOT NULL,
    rest_ms INTEGER NOT NULL,           -- doubled each time it fails when it is tried again
    PRIMARY KEY (host, device)
) WITHOUT ROWID;
