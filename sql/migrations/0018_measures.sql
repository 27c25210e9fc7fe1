-- Metrics that are SQL over others, and conditions that a job has to meet to win. Both are worked out anew whenever a sweep
-- file declares others; no job runs again for them.

ALTER TABLE metric_definition ADD COLUMN expression TEXT; -- what it is worked out from; NULL: it is reported
ALTER TABLE summary ADD COLUMN note TEXT; -- of a metric that is worked out: why it has no value, or what it is of

-- The conditions of the sweep that was asked for last.
CREATE TABLE subject_to (
    position  INTEGER PRIMARY KEY,
    condition TEXT NOT NULL,
    quantity  TEXT                       -- 'memory': what needs more of it does not meet the condition either
);

-- The ok attempts that do not meet one, or of which it cannot be told.
CREATE TABLE breach (
    attempt_id INTEGER NOT NULL REFERENCES attempt (id) ON DELETE CASCADE,
    position   INTEGER NOT NULL,
    value      REAL,  -- of the left side, where the condition is one comparison
    bound      REAL,  -- of the right side
    excess     REAL,  -- by what share it is missed
    note       TEXT,  -- why it cannot be told; NULL: it can
    PRIMARY KEY (attempt_id, position)
) WITHOUT ROWID;
CREATE TRIGGER breach_attempt_deleted AFTER DELETE ON attempt
BEGIN
    DELETE FROM breach WHERE attempt_id = OLD.id;
END;
