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
