-- What jobs are given beside their command is recorded with them.

-- Files.

-- Texts that jobs were given as files, without secrets, each once.
CREATE TABLE given_text (
    id   INTEGER PRIMARY KEY,
    hash BLOB NOT NULL UNIQUE CHECK (length(hash) = 16),
    text TEXT NOT NULL
);

-- What an attempt found in its directory when it started.
CREATE TABLE attempt_file (
    attempt_id INTEGER NOT NULL REFERENCES attempt (id) ON DELETE CASCADE,
    path       TEXT NOT NULL, -- within the directory
    text_id    INTEGER NOT NULL REFERENCES given_text (id),
    PRIMARY KEY (attempt_id, path)
) WITHOUT ROWID;
CREATE INDEX attempt_file_text ON attempt_file (text_id);

CREATE TRIGGER attempt_files_deleted AFTER DELETE ON attempt
BEGIN
    DELETE FROM attempt_file WHERE attempt_id = OLD.id;
END;
CREATE TRIGGER attempt_file_deleted AFTER DELETE ON attempt_file
BEGIN
    DELETE FROM given_text WHERE id = OLD.text_id AND NOT EXISTS (SELECT 1 FROM attempt_file WHERE text_id = OLD.text_id);
END;

-- Fixtures.

-- Each start of what several jobs share ([[fixture]]), and which starts an attempt used. A start is recorded before its
-- process is; `done` is a set-up step that ended with 0, which stands for every later run with the same key.
CREATE TABLE fixture_start (
    id          INTEGER PRIMARY KEY,
    name        TEXT NOT NULL,
    key         BLOB NOT NULL CHECK (length(key) = 16), -- of its name, values and command, as rendered but for ports
    given       TEXT NOT NULL,                          -- the values that it was started for: {"tp":2}
    runner_id   INTEGER NOT NULL REFERENCES runner,
    state       TEXT NOT NULL CHECK (state IN ('starting', 'ready', 'done', 'ended', 'failed')),
    command     TEXT NOT NULL,                          -- words, as JSON
    port        INTEGER,                                -- that it was given
    devices     TEXT,                                   -- "0,1"; NULL: none were given to it
    directory   TEXT NOT NULL,                          -- below that of job files
    pid         INTEGER,                                -- with start_ticks and the runner's boot id: which process
    start_ticks INTEGER,
    started     INTEGER NOT NULL,                       -- ms since 1970, as the next two
    ready       INTEGER,
    ended       INTEGER,
    exit_code   INTEGER,
    signal      INTEGER,
    failure     TEXT,                                   -- the class, of one that ended by itself and should not have
    message     TEXT,
    log_tail    TEXT,
    ended_under INTEGER REFERENCES attempt ON DELETE SET NULL -- the attempt that was using it then
);
CREATE INDEX fixture_start_key ON fixture_start (key) WHERE state = 'done';
CREATE INDEX fixture_start_ended_under ON fixture_start (ended_under) WHERE ended_under IS NOT NULL;

CREATE TABLE attempt_fixture (
    attempt_id INTEGER NOT NULL REFERENCES attempt ON DELETE CASCADE,
    fixture_id INTEGER NOT NULL REFERENCES fixture_start ON DELETE CASCADE,
    PRIMARY KEY (attempt_id, fixture_id)
) WITHOUT ROWID;
CREATE INDEX attempt_fixture_fixture ON attempt_fixture (fixture_id);

-- What a job left behind.

-- The point of a curve ([job.metrics.NAME] per) that its value is of; the samples have theirs as their step.
ALTER TABLE summary ADD COLUMN point INTEGER;

-- The files in its directory when it had ended, with which of them were removed; NULL: there were none.
ALTER TABLE attempt ADD COLUMN files TEXT CHECK (files IS NULL OR json_valid(files));

-- The winner run once more under a profiler is no measurement either.
PRAGMA writable_schema = ON;
UPDATE sqlite_schema SET sql = replace(sql, 'OR kind = ''full''', 'OR kind = ''full'' OR kind = ''profile''')
WHERE type = 'table' AND name = 'attempt';
PRAGMA writable_schema = RESET;
