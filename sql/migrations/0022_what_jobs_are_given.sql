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

-- What a job left behind.
