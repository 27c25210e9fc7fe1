-- Samples of jobs that have ended may be kept compressed, which `meshsweep archive` makes them.

-- Samples of one metric of one attempt, in their order. The JSON is a list, compressed as the sqlite3 shell's own
-- sqlar_compress does it; each element is for one sample: its value times `scale` as an integer, exactly, or null for
-- one that is not finite; or a list of that and how much further its sequence and its step are than the pattern says;
-- or false, where the table `metric` has kept it.
CREATE TABLE archived_metric (
    attempt_id  INTEGER NOT NULL REFERENCES attempt (id) ON DELETE CASCADE,
    name        TEXT NOT NULL,
    sequence    INTEGER NOT NULL, -- of the first
    sequence_by INTEGER NOT NULL, -- from one to the next
    step        INTEGER,          -- of the first; NULL: they have none
    step_by     INTEGER NOT NULL,
    scale       REAL NOT NULL,
    count       INTEGER NOT NULL, -- elements
    bytes       INTEGER NOT NULL, -- of the JSON
    json        BLOB NOT NULL,
    PRIMARY KEY (attempt_id, name, sequence)
) WITHOUT ROWID;

CREATE TRIGGER archived_attempt_deleted AFTER DELETE ON attempt
BEGIN
    DELETE FROM archived_metric WHERE attempt_id = OLD.id;
END;

-- All samples, wherever they are kept. The columns have the types of those of `metric`, without which SQLite would not
-- look for an attempt in each of the two; nor does it where a question is in an order of what it does not select.
CREATE VIEW sample AS
SELECT attempt_id, name, sequence, step, value FROM metric
UNION ALL
SELECT a.attempt_id, a.name,
       CAST(a.sequence + j.key * a.sequence_by + iif(j.type = 'array', j.value ->> 1, 0) AS INTEGER),
       CAST(a.step + j.key * a.step_by + iif(j.type = 'array', j.value ->> 2, 0) AS INTEGER),
       CAST(iif(j.type = 'array', j.value ->> 0, j.value) / a.scale AS REAL)
FROM archived_metric AS a CROSS JOIN json_each(CAST(sqlar_uncompress(a.json, a.bytes) AS TEXT)) AS j
WHERE j.type <> 'false';
