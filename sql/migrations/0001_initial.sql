-- The record of every sweep: what was asked for, what was tried, what came of it.
-- Times are milliseconds since 1970-01-01 UTC; durations are milliseconds; sizes are bytes.

CREATE TABLE meta (
    name  TEXT PRIMARY KEY,
    value TEXT NOT NULL
) WITHOUT ROWID;

-- A sweep file's content, as seen. `enumerated` is set once every job of it stands in `job`.
CREATE TABLE sweep (
    id           INTEGER PRIMARY KEY,
    hash         BLOB NOT NULL UNIQUE CHECK (length(hash) = 16),
    name         TEXT NOT NULL,
    path         TEXT NOT NULL,
    text         TEXT NOT NULL,
    profile_text TEXT NOT NULL,
    tool_version TEXT NOT NULL,
    objective    TEXT,                  -- metric name; NULL: none declared
    maximise     INTEGER NOT NULL DEFAULT 0 CHECK (maximise IN (0, 1)),
    first_seen   INTEGER NOT NULL,
    last_seen    INTEGER NOT NULL,
    combinations INTEGER,
    matched      INTEGER,
    duplicates   INTEGER,
    jobs         INTEGER,
    enumerated   INTEGER NOT NULL DEFAULT 0 CHECK (enumerated IN (0, 1))
);
CREATE INDEX sweep_last_seen ON sweep (last_seen);

-- A fully expanded model, cluster_spec, training_spec or parallel_spec. Its labels (name, description and [sweep] note
-- keys) do not count in `hash`.
CREATE TABLE spec (
    id   INTEGER PRIMARY KEY,
    kind TEXT NOT NULL CHECK (kind IN ('cluster_spec', 'model', 'training_spec', 'parallel_spec')),
    hash BLOB NOT NULL CHECK (length(hash) = 16),
    name TEXT,
    json TEXT NOT NULL CHECK (json_valid(json)),
    UNIQUE (kind, hash)
);

-- The rules in force for a sweep, in the order in which they are tried.
CREATE TABLE rule (
    sweep_id INTEGER NOT NULL REFERENCES sweep (id) ON DELETE CASCADE,
    position INTEGER NOT NULL,
    name     TEXT NOT NULL,
    require  TEXT NOT NULL,
    reason   TEXT NOT NULL,
    source   TEXT NOT NULL,
    level    TEXT NOT NULL CHECK (level IN ('exclude', 'warn')),
    excluded INTEGER NOT NULL,          -- combinations for which this is the first rule that fails
    alone    INTEGER,                   -- combinations that it fails whatever the others say; NULL: too many to count
    PRIMARY KEY (sweep_id, position)
) WITHOUT ROWID;

-- Excluded combinations with the values that the rule read; kept up to a bound per rule, counted in `rule` beyond.
CREATE TABLE exclusion (
    id       INTEGER PRIMARY KEY,
    sweep_id INTEGER NOT NULL,
    position INTEGER NOT NULL,
    rank     INTEGER NOT NULL,          -- the combination's place in the product of the specs
    "values" TEXT NOT NULL CHECK (json_valid("values")),
    FOREIGN KEY (sweep_id, position) REFERENCES rule (sweep_id, position) ON DELETE CASCADE
);
CREATE INDEX exclusion_rule ON exclusion (sweep_id, position);

-- A combination that every rule accepts. `key` hashes what it is, never where it stands.
CREATE TABLE job (
    id                 INTEGER PRIMARY KEY,
    key                BLOB NOT NULL UNIQUE CHECK (length(key) = 16),
    sweep_id           INTEGER NOT NULL REFERENCES sweep (id),   -- the sweep that last asked for it
    rank               INTEGER NOT NULL,                          -- its place in that sweep
    cluster_id         INTEGER REFERENCES spec (id),
    model_id           INTEGER REFERENCES spec (id),
    training_id        INTEGER REFERENCES spec (id),
    parallel_id        INTEGER REFERENCES spec (id),
    derived            TEXT,                                      -- JSON object of the derived keys
    devices            INTEGER NOT NULL DEFAULT 1,
    timeout_ms         INTEGER,                                   -- NULL: none
    idle_timeout_ms    INTEGER,
    startup_timeout_ms INTEGER,
    state              TEXT NOT NULL DEFAULT 'pending' CHECK (state IN ('pending', 'running', 'ok', 'failed')),
    failure            TEXT CHECK (failure IN ('exit', 'signal', 'oom', 'oom-host', 'timeout', 'hang', 'no-metric',
                                               'spawn', 'lost', 'cancelled')),
    attempt_id         INTEGER,                                   -- the attempt that stands for the job
    predicted_memory   REAL,
    predicted_time     REAL,
    CHECK ((state = 'failed') = (failure IS NOT NULL))
);
CREATE INDEX job_pending ON job (sweep_id, rank) WHERE state = 'pending';
CREATE INDEX job_running ON job (id) WHERE state = 'running';
CREATE INDEX job_failed  ON job (sweep_id, failure) WHERE state = 'failed';

-- The legal transitions of src/store/states.h, whoever asks.
CREATE TRIGGER job_state BEFORE UPDATE OF state ON job
WHEN OLD.state <> NEW.state AND OLD.state || ' ' || NEW.state NOT IN
     ('pending running', 'running pending', 'running ok', 'running failed', 'ok pending', 'failed pending')
BEGIN
    SELECT RAISE(ABORT, 'a job goes from pending to running to ok or failed, and from each of them to pending');
END;

-- A job deleted by hand is new when its sweep is asked for again. What belongs to it goes with it, also where foreign
-- keys are not enforced: the sqlite3 shell does not, and another job may get the id.
CREATE TRIGGER job_deleted AFTER DELETE ON job
BEGIN
    UPDATE sweep SET enumerated = 0 WHERE id = OLD.sweep_id AND enumerated;
    DELETE FROM attempt WHERE job_id = OLD.id;
END;
-- A sweep that lost a job to another sweep is enumerated anew.
CREATE TRIGGER job_taken_over AFTER UPDATE OF sweep_id ON job WHEN OLD.sweep_id <> NEW.sweep_id
BEGIN
    UPDATE sweep SET enumerated = 0 WHERE id = OLD.sweep_id AND enumerated;
END;

-- A process that ran jobs: where, when, and in which surroundings.
CREATE TABLE runner (
    id           INTEGER PRIMARY KEY,
    host         TEXT NOT NULL,
    boot_id      TEXT NOT NULL,
    pid          INTEGER NOT NULL,
    start_ticks  INTEGER NOT NULL,
    started      INTEGER NOT NULL,
    ended        INTEGER,
    tool_version TEXT NOT NULL,
    provenance   TEXT NOT NULL CHECK (json_valid(provenance))
);

-- One execution of a job. `claimed`: decided, not yet started.
CREATE TABLE attempt (
    id           INTEGER PRIMARY KEY,
    job_id       INTEGER NOT NULL REFERENCES job (id) ON DELETE CASCADE,
    number       INTEGER NOT NULL CHECK (number > 0),
    runner_id    INTEGER NOT NULL REFERENCES runner (id),
    state        TEXT NOT NULL CHECK (state IN ('claimed', 'running', 'ok', 'failed')),
    failure      TEXT CHECK (failure IN ('exit', 'signal', 'oom', 'oom-host', 'timeout', 'hang', 'no-metric', 'spawn',
                                         'lost', 'cancelled')),
    message      TEXT,
    command      TEXT CHECK (command IS NULL OR json_valid(command)),
    environment  TEXT CHECK (environment IS NULL OR json_valid(environment)),
    executor     TEXT NOT NULL DEFAULT 'local',
    reference    TEXT,                  -- the executor's own name for it (a Slurm job id)
    slot         INTEGER,
    pid          INTEGER,
    start_ticks  INTEGER,               -- with pid and the runner's boot id: a process's identity
    started      INTEGER,
    ended        INTEGER,
    duration_ms  INTEGER,
    exit_code    INTEGER,
    signal       INTEGER,
    limit_ms     INTEGER,               -- the limit that fired
    user_ms      INTEGER,
    system_ms    INTEGER,
    max_rss      INTEGER,               -- bytes, of the largest process
    leftovers    INTEGER,               -- descendants that had to be ended after it
    directory    TEXT,                  -- its files: output.log, metrics.jsonl
    log_bytes    INTEGER,
    log_tail     TEXT,
    UNIQUE (job_id, number),
    CHECK ((state = 'failed') = (failure IS NOT NULL))
);
CREATE INDEX attempt_open ON attempt (id) WHERE state IN ('claimed', 'running');

CREATE TRIGGER attempt_state BEFORE UPDATE OF state ON attempt
WHEN OLD.state <> NEW.state AND OLD.state || ' ' || NEW.state NOT IN ('claimed running', 'running ok', 'running failed')
BEGIN
    SELECT RAISE(ABORT, 'an attempt goes from claimed to running to ok or failed, and nowhere else');
END;

-- A job that loses the attempt that stands for it, or that runs, is new.
CREATE TRIGGER attempt_deleted AFTER DELETE ON attempt
BEGIN
    DELETE FROM metric WHERE attempt_id = OLD.id;
    DELETE FROM summary WHERE attempt_id = OLD.id;
    UPDATE job SET state = 'pending', failure = NULL, attempt_id = nullif(attempt_id, OLD.id)
    WHERE id = OLD.job_id AND (attempt_id = OLD.id OR state = 'running')
          AND NOT EXISTS (SELECT 1 FROM attempt WHERE job_id = OLD.job_id AND state IN ('claimed', 'running'));
END;

-- Raw samples as reported. NaN is the text 'NaN' (SQLite's own NaN is NULL), infinities are ±9e999.
CREATE TABLE metric (
    attempt_id INTEGER NOT NULL REFERENCES attempt (id) ON DELETE CASCADE,
    name       TEXT NOT NULL,
    sequence   INTEGER NOT NULL,
    step       INTEGER,
    value      NOT NULL CHECK (typeof(value) IN ('real', 'integer') OR value = 'NaN'),
    PRIMARY KEY (attempt_id, name, sequence)
) WITHOUT ROWID;

-- What the samples of one metric of one attempt come to. Derived from `metric` under `metric_definition`.
CREATE TABLE summary (
    attempt_id INTEGER NOT NULL REFERENCES attempt (id) ON DELETE CASCADE,
    name       TEXT NOT NULL,
    value      NOT NULL CHECK (typeof(value) IN ('real', 'integer') OR value = 'NaN'),
    count      INTEGER NOT NULL,        -- samples counted, after warm-up
    mean       REAL,
    median     REAL,
    minimum    REAL,
    maximum    REAL,
    stddev     REAL,
    p90        REAL,
    PRIMARY KEY (attempt_id, name)
) WITHOUT ROWID;

-- How a metric is to be read, as the last sweep that ran declared it.
CREATE TABLE metric_definition (
    name   TEXT PRIMARY KEY,
    unit   TEXT NOT NULL DEFAULT '',
    better TEXT CHECK (better IN ('max', 'min')),
    warmup INTEGER NOT NULL DEFAULT 0,
    take   TEXT NOT NULL DEFAULT 'median'
) WITHOUT ROWID;

-- Output texts that tell what a failure was. source 'sweep file' rows come and go with the file.
CREATE TABLE failure_pattern (
    class   TEXT NOT NULL,
    pattern TEXT NOT NULL,
    source  TEXT NOT NULL,
    PRIMARY KEY (class, pattern)
) WITHOUT ROWID;
