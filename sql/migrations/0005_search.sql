-- Searches and their decisions: what a strategy asked for, why, and what it was told. Reading a search's rows in the
-- order of their sequence numbers repeats it.

CREATE TABLE search (
    id       INTEGER PRIMARY KEY,
    sweep_id INTEGER NOT NULL REFERENCES sweep (id) ON DELETE CASCADE,
    strategy TEXT NOT NULL,
    options  TEXT NOT NULL CHECK (json_valid(options)),  -- every one, with its default
    started  INTEGER NOT NULL,
    finished TEXT                                        -- why it ended; NULL: it goes on
);
CREATE INDEX search_sweep ON search (sweep_id);

-- `asked` and `told` count the events of a search from 1. asked NULL: the outcome was known before. told NULL: it runs, or
-- will. resource: measured steps asked for, NULL for all of the job's. The draws of a decision are those of (seed, lineage,
-- draw).
CREATE TABLE trial (
    id         INTEGER PRIMARY KEY,
    search_id  INTEGER NOT NULL REFERENCES search (id) ON DELETE CASCADE,
    job_id     INTEGER NOT NULL REFERENCES job (id) ON DELETE CASCADE,
    attempt_id INTEGER,
    asked      INTEGER,
    told       INTEGER,
    resource   REAL,
    lineage    TEXT,
    draw       INTEGER,
    reason     TEXT NOT NULL,
    outcome    TEXT CHECK (outcome IN ('ok', 'stopped', 'failed')),
    failure    TEXT,
    objective  REAL,
    steps      REAL,
    seconds    REAL,               -- of a step
    bytes      REAL,
    device_seconds REAL,
    CHECK (asked IS NOT NULL OR told IS NOT NULL),
    CHECK ((told IS NULL) = (outcome IS NULL))
);
CREATE INDEX trial_search ON trial (search_id, asked);
CREATE INDEX trial_job ON trial (job_id);

-- Measured steps after which a search ended the attempt; NULL: it ran to its end. Its measurements hold as far as they go.
ALTER TABLE attempt ADD COLUMN stopped_steps INTEGER;

-- Foreign keys are not enforced by the sqlite3 shell.
CREATE TRIGGER trial_job_deleted AFTER DELETE ON job
BEGIN
    DELETE FROM trial WHERE job_id = OLD.id;
END;
