-- The tables, indexes, triggers and views of a new database. Made by scripts/schema.sh of the migrations, where
-- each is explained; not to be edited.

CREATE TABLE meta (
    name  TEXT PRIMARY KEY,
    value TEXT NOT NULL
) WITHOUT ROWID;

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
, model_info TEXT CHECK (model_info IS NULL OR json_valid(model_info)), role TEXT, content BLOB, identity TEXT CHECK (identity IS NULL OR json_valid(identity)));

CREATE INDEX sweep_last_seen ON sweep (last_seen);

CREATE TABLE spec (
    id   INTEGER PRIMARY KEY,
    kind TEXT NOT NULL CHECK (kind = 'cluster_spec' OR kind = 'model' OR kind = 'training_spec' OR kind = 'parallel_spec'),
    hash BLOB NOT NULL CHECK (length(hash) = 16),
    name TEXT,
    json TEXT NOT NULL CHECK (json_valid(json)), identity BLOB CHECK (identity IS NULL OR length(identity) = 16)
);

CREATE UNIQUE INDEX spec_hash ON spec (kind, hash);

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

CREATE TABLE exclusion (
    id       INTEGER PRIMARY KEY,
    sweep_id INTEGER NOT NULL,
    position INTEGER NOT NULL,
    rank     INTEGER NOT NULL,          -- the combination's place in the product of the specs
    "values" TEXT NOT NULL CHECK (json_valid("values")),
    FOREIGN KEY (sweep_id, position) REFERENCES rule (sweep_id, position) ON DELETE CASCADE
);

CREATE INDEX exclusion_rule ON exclusion (sweep_id, position);

CREATE TABLE job (
    id                 INTEGER PRIMARY KEY,
    key                BLOB NOT NULL CHECK (length(key) = 16),
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
    state              TEXT NOT NULL DEFAULT 'pending' CHECK (state = 'pending' OR state = 'running' OR state = 'ok' OR state = 'failed'),
    failure            TEXT REFERENCES failure_class (name),
    attempt_id         INTEGER,                                   -- the attempt that stands for the job
    predicted_memory   REAL,
    predicted_time     REAL, priority INTEGER NOT NULL DEFAULT 0, risk INTEGER CHECK (risk = 1 OR risk = 2 OR risk = 3), audit INTEGER NOT NULL DEFAULT 0 CHECK (audit IN (0, 1)), due INTEGER, witness_id INTEGER CHECK (witness_id IS NULL OR state = 'pending'), held TEXT CHECK (held IS NULL OR state = 'pending'), losses INTEGER NOT NULL DEFAULT 0, aside INTEGER NOT NULL DEFAULT 0 CHECK (aside = 0 OR aside = 1), predicted_memory_of TEXT,
    CHECK ((state = 'failed') = (failure IS NOT NULL))
);

CREATE UNIQUE INDEX job_key ON job (key);

CREATE INDEX job_running ON job (id) WHERE state = 'running';

CREATE INDEX job_failed  ON job (sweep_id, failure) WHERE state = 'failed';

CREATE TRIGGER job_deleted AFTER DELETE ON job
BEGIN
    UPDATE sweep SET enumerated = 0 WHERE id = OLD.sweep_id AND enumerated;
    DELETE FROM attempt WHERE job_id = OLD.id;
END;

CREATE TRIGGER job_taken_over AFTER UPDATE OF sweep_id ON job WHEN OLD.sweep_id <> NEW.sweep_id
BEGIN
    UPDATE sweep SET enumerated = 0 WHERE id = OLD.sweep_id AND enumerated;
END;

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

CREATE TABLE attempt (
    id           INTEGER PRIMARY KEY,
    job_id       INTEGER NOT NULL REFERENCES job (id) ON DELETE CASCADE,
    number       INTEGER NOT NULL CHECK (number > 0),
    runner_id    INTEGER NOT NULL REFERENCES runner (id),
    state        TEXT NOT NULL CHECK (state = 'claimed' OR state = 'running' OR state = 'ok' OR state = 'failed'),
    failure      TEXT REFERENCES failure_class (name),
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
    log_tail     TEXT, host TEXT, devices TEXT, stopped_steps INTEGER, origin TEXT, scripts TEXT CHECK (scripts IS NULL OR json_valid(scripts)), consequence TEXT, blame TEXT CHECK (blame IS NULL OR blame = 'runner' OR blame = 'node'
                                                 OR blame = 'preemption' OR blame = 'host'), unwatched_ms INTEGER, left_out TEXT, readers TEXT, superseded TEXT, kind TEXT NOT NULL DEFAULT 'trial' CHECK (kind = 'trial' OR kind = 'full' OR kind = 'profile'), device_model TEXT, device_condition TEXT CHECK (device_condition IS NULL OR json_valid(device_condition)), device_note TEXT, table_id INTEGER REFERENCES imported_table (id), line INTEGER, waits TEXT, given TEXT CHECK (given IS NULL OR json_valid(given)), files TEXT CHECK (files IS NULL OR json_valid(files)),
    UNIQUE (job_id, number),
    CHECK ((state = 'failed') = (failure IS NOT NULL))
);

CREATE INDEX attempt_open ON attempt (id) WHERE state IN ('claimed', 'running');

CREATE TABLE metric (
    attempt_id INTEGER NOT NULL REFERENCES attempt (id) ON DELETE CASCADE,
    name       TEXT NOT NULL,
    sequence   INTEGER NOT NULL,
    step       INTEGER,
    value      REAL CHECK (value IS NULL OR value BETWEEN -1.7976931348623157e308 AND 1.7976931348623157e308),
    PRIMARY KEY (attempt_id, name, sequence)
) WITHOUT ROWID;

CREATE TABLE summary (
    attempt_id INTEGER NOT NULL REFERENCES attempt (id) ON DELETE CASCADE,
    name       TEXT NOT NULL,
    value      REAL CHECK (value IS NULL OR value BETWEEN -1.7976931348623157e308 AND 1.7976931348623157e308),
    count      INTEGER NOT NULL,        -- samples counted, after warm-up
    mean       REAL,
    median     REAL,
    minimum    REAL,
    maximum    REAL,
    stddev     REAL,
    p90        REAL, not_finite INTEGER NOT NULL DEFAULT 0, reported INTEGER, kept INTEGER, note TEXT, definition_id INTEGER REFERENCES definition (id), point INTEGER,
    PRIMARY KEY (attempt_id, name)
) WITHOUT ROWID;

CREATE TABLE metric_definition (
    name   TEXT PRIMARY KEY,
    unit   TEXT NOT NULL DEFAULT '',
    better TEXT CHECK (better IN ('max', 'min')),
    warmup INTEGER NOT NULL DEFAULT 0,
    take   TEXT NOT NULL DEFAULT 'median'
, counter TEXT, rank TEXT, expression TEXT, definition_id INTEGER REFERENCES definition (id), declared INTEGER NOT NULL DEFAULT 0) WITHOUT ROWID;

CREATE TABLE failure_pattern (
    class   TEXT NOT NULL,
    pattern TEXT NOT NULL,
    source  TEXT NOT NULL,
    PRIMARY KEY (class, pattern)
) WITHOUT ROWID;

CREATE TABLE observation (
    attempt_id INTEGER NOT NULL REFERENCES attempt (id) ON DELETE CASCADE,
    quantity   TEXT NOT NULL CHECK (quantity IN ('memory', 'time')),
    framework  TEXT NOT NULL,
    device     TEXT NOT NULL,
    cluster    TEXT NOT NULL,
    kind       TEXT NOT NULL CHECK (kind IN ('measured', 'at-least', 'at-most')),
    measured   REAL NOT NULL,           -- bytes or seconds; for at-least and at-most, the device's bytes
    predicted  REAL NOT NULL,           -- by the coefficients of that moment
    peak       REAL,                    -- time: seconds at the peak of all devices
    terms      TEXT NOT NULL CHECK (json_valid(terms)),
    PRIMARY KEY (attempt_id, quantity)
) WITHOUT ROWID;

CREATE INDEX observation_place ON observation (framework, device, cluster, quantity);

CREATE TABLE calibration (
    framework TEXT NOT NULL,
    device    TEXT NOT NULL,
    cluster   TEXT NOT NULL,
    quantity  TEXT NOT NULL CHECK (quantity IN ('memory', 'time')),
    weights   TEXT NOT NULL CHECK (json_valid(weights)),   -- one per term
    sigma     REAL NOT NULL,
    interval  REAL NOT NULL,
    measured  INTEGER NOT NULL,
    censored  INTEGER NOT NULL,
    broken    INTEGER NOT NULL,
    prior     INTEGER NOT NULL CHECK (prior IN (0, 1)),    -- too few measurements: the prior's weights
    baseline  REAL,                     -- time: measured over peak seconds, where that does better than the model
    model_error REAL, baseline_error REAL,                 -- over the last runs: mean of |predicted / measured - 1|
    updated   INTEGER NOT NULL,
    PRIMARY KEY (framework, device, cluster, quantity)
) WITHOUT ROWID;

CREATE INDEX job_due ON job (sweep_id, due) WHERE state = 'pending' AND due IS NOT NULL;

CREATE INDEX job_pruned ON job (witness_id, sweep_id) WHERE witness_id IS NOT NULL;

CREATE TRIGGER witness_deleted AFTER DELETE ON job WHEN OLD.failure = 'oom'
BEGIN
    UPDATE job SET witness_id = NULL WHERE witness_id = OLD.id;
END;

CREATE TRIGGER witness_reopened AFTER UPDATE OF failure ON job WHEN OLD.failure = 'oom' AND NEW.failure IS NOT 'oom'
BEGIN
    UPDATE job SET witness_id = NULL WHERE witness_id = OLD.id;
END;

CREATE TABLE search (
    id       INTEGER PRIMARY KEY,
    sweep_id INTEGER NOT NULL REFERENCES sweep (id) ON DELETE CASCADE,
    strategy TEXT NOT NULL,
    options  TEXT NOT NULL CHECK (json_valid(options)),  -- every one, with its default
    started  INTEGER NOT NULL,
    finished TEXT                                        -- why it ended; NULL: it goes on
);

CREATE INDEX search_sweep ON search (sweep_id);

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

CREATE TRIGGER trial_job_deleted AFTER DELETE ON job
BEGIN
    DELETE FROM trial WHERE job_id = OLD.id;
END;

CREATE UNIQUE INDEX attempt_origin ON attempt (origin) WHERE origin IS NOT NULL;

CREATE TABLE further_objective (
    sweep_id INTEGER NOT NULL REFERENCES sweep (id) ON DELETE CASCADE,
    position INTEGER NOT NULL CHECK (position >= 1), -- as declared; 0 would be sweep.objective
    metric   TEXT NOT NULL,
    maximise INTEGER NOT NULL CHECK (maximise IN (0, 1)),
    PRIMARY KEY (sweep_id, position)
) WITHOUT ROWID;

CREATE INDEX job_pending ON job (sweep_id, aside, priority, rank)
    WHERE state = 'pending' AND witness_id IS NULL AND held IS NULL;

CREATE INDEX job_held ON job (sweep_id) WHERE held IS NOT NULL;

CREATE INDEX job_losses ON job (id) WHERE losses > 0;

CREATE TRIGGER job_state BEFORE UPDATE OF state ON job
WHEN OLD.state <> NEW.state AND NOT CASE OLD.state
     WHEN 'pending' THEN NEW.state = 'running'
     WHEN 'running' THEN NEW.state = 'pending' OR NEW.state = 'ok' OR NEW.state = 'failed'
     ELSE NEW.state = 'pending' END
BEGIN
    SELECT RAISE(ABORT, 'a job goes from pending to running to ok or failed, and from each of them to pending');
END;

CREATE TABLE subject_to (
    position  INTEGER PRIMARY KEY,
    condition TEXT NOT NULL,
    quantity  TEXT                       -- 'memory': what needs more of it does not meet the condition either
);

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

CREATE INDEX summary_unread ON summary (attempt_id) WHERE note IS NOT NULL AND reported IS NOT NULL;

CREATE INDEX attempt_readers ON attempt (readers, job_id) WHERE state = 'ok' AND executor <> 'import';

CREATE INDEX attempt_full ON attempt (job_id) WHERE kind = 'full';

CREATE INDEX attempt_device_note ON attempt (job_id) WHERE device_note IS NOT NULL;

CREATE TABLE job_metric (
    job_id   INTEGER NOT NULL REFERENCES job (id) ON DELETE CASCADE,
    name     TEXT NOT NULL,
    value    REAL,             -- NULL: there is none, and `note` may say why
    attempts INTEGER NOT NULL, -- that have a value
    note     TEXT,
    PRIMARY KEY (job_id, name)
) WITHOUT ROWID;

CREATE INDEX job_metric_value ON job_metric (name, value);

CREATE TRIGGER measured_attempt_deleted AFTER DELETE ON attempt WHEN OLD.state = 'ok'
BEGIN
    UPDATE job SET attempt_id = attempt_id WHERE id = OLD.job_id;
END;

CREATE TRIGGER measured_job_deleted AFTER DELETE ON job
BEGIN
    DELETE FROM job_metric WHERE job_id = OLD.id;
END;

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

CREATE TRIGGER attempt_deleted AFTER DELETE ON attempt
BEGIN
    DELETE FROM metric WHERE attempt_id = OLD.id;
    DELETE FROM summary WHERE attempt_id = OLD.id;
    UPDATE job SET state = 'pending', failure = NULL, attempt_id = nullif(attempt_id, OLD.id)
    WHERE id = OLD.job_id AND OLD.kind = 'trial' AND (attempt_id = OLD.id OR state = 'running')
          AND NOT EXISTS (SELECT 1 FROM attempt WHERE job_id = OLD.job_id AND state IN ('claimed', 'running')
                          AND kind = 'trial');
END;

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

CREATE INDEX attempt_table ON attempt (table_id) WHERE table_id IS NOT NULL;

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

CREATE TRIGGER attempt_state BEFORE UPDATE OF state ON attempt
WHEN OLD.state <> NEW.state AND NOT CASE OLD.state
     WHEN 'claimed' THEN NEW.state = 'running'
     WHEN 'running' THEN NEW.state = 'ok' OR NEW.state = 'failed'
     WHEN 'failed' THEN NEW.state = 'ok' AND (OLD.failure = 'no-metric' OR OLD.failure = 'diverged')
     ELSE 0 END
BEGIN
    SELECT RAISE(ABORT, 'an attempt goes from claimed to running to ok or failed, and nowhere else');
END;

CREATE INDEX replaced_key ON replaced (was) WHERE field = 'key';

CREATE VIEW accepted AS
SELECT r.job_id, c.id AS change_id, c.at, c.who, c.why,
       (SELECT group_concat((d.value ->> 'what') || ': ' || coalesce(d.value ->> 'was', 'none') || ' -> '
                            || coalesce(d.value ->> 'now', 'none'), '; ') FROM json_each(c.detail, '$.differences') AS d) AS what
FROM change AS c JOIN replaced AS r ON r.change_id = c.id AND r.field = 'key'
WHERE c.undone IS NULL AND (c.kind = 'accept' OR c.kind = 'was');

CREATE TRIGGER spec_deleted AFTER DELETE ON spec
BEGIN
    UPDATE sweep SET enumerated = 0 WHERE enumerated;
    UPDATE job SET cluster_id = iif(cluster_id = OLD.id, -OLD.id, cluster_id),
                   model_id = iif(model_id = OLD.id, -OLD.id, model_id),
                   training_id = iif(training_id = OLD.id, -OLD.id, training_id),
                   parallel_id = iif(parallel_id = OLD.id, -OLD.id, parallel_id)
    WHERE OLD.id IN (cluster_id, model_id, training_id, parallel_id);
END;

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

CREATE VIEW excluded_attempt AS
SELECT a.id AS attempt_id, a.job_id, n.id AS note_id, n.text AS why
FROM note AS n JOIN attempt AS a ON a.job_id = n.job_id AND ifnull(n.attempt_id, a.id) = a.id
WHERE unlikely(n.kind = 'exclude') AND (n.attempt_id IS NOT NULL OR ifnull(a.started, 0) <= n.at)
      AND NOT EXISTS (SELECT 1 FROM note AS l WHERE l.job_id = n.job_id AND ifnull(l.attempt_id, a.id) = a.id
                      AND (l.kind = 'include' OR l.kind = 'exclude') AND (l.at, l.id) > (n.at, n.id)
                      AND (l.attempt_id IS NOT NULL OR ifnull(a.started, 0) <= l.at));

CREATE VIEW counted_attempt AS
SELECT a.id, a.job_id, a.number FROM attempt AS a
WHERE a.state = 'ok' AND a.superseded IS NULL AND a.kind = 'trial'
      AND NOT EXISTS (SELECT 1 FROM excluded_attempt AS x WHERE x.attempt_id = a.id)
      AND NOT EXISTS (SELECT 1 FROM attempt AS b WHERE b.job_id = a.job_id AND b.state = 'ok' AND b.superseded IS NULL
                      AND b.kind = 'trial' AND NOT EXISTS (SELECT 1 FROM excluded_attempt AS x WHERE x.attempt_id = b.id)
                      AND (ifnull(b.stopped_steps, 9e18), b.device_note IS NULL) >
                          (ifnull(a.stopped_steps, 9e18), a.device_note IS NULL));

CREATE VIEW excluded_job AS
SELECT id AS job_id FROM job WHERE id IN (SELECT job_id FROM note WHERE kind = 'exclude')
      AND EXISTS (SELECT 1 FROM excluded_attempt WHERE job_id = job.id)
      AND NOT EXISTS (SELECT 1 FROM counted_attempt WHERE job_id = job.id);

CREATE VIEW job_note AS
SELECT job_id, group_concat(text, '; ') FILTER (WHERE kind = 'note') AS notes,
       group_concat(DISTINCT text) FILTER (WHERE kind = 'tag') AS tags,
       group_concat(text, '; ') FILTER (WHERE kind = 'exclude') AS excluded
FROM (SELECT n.job_id, n.kind, iif(a.number IS NULL, '', 'attempt ' || a.number || ': ') || n.text AS text
      FROM note AS n LEFT JOIN attempt AS a ON a.id = n.attempt_id
      WHERE n.kind <> 'exclude' OR n.id IN (SELECT note_id FROM excluded_attempt WHERE job_id = n.job_id)
      ORDER BY n.at, n.id)
GROUP BY job_id;

CREATE TRIGGER job_measured_once AFTER UPDATE OF attempt_id ON job
WHEN NOT EXISTS (SELECT 1 FROM attempt WHERE job_id = NEW.id AND id IS NOT NEW.attempt_id)
     AND NOT EXISTS (SELECT 1 FROM note WHERE job_id = NEW.id)
BEGIN
    DELETE FROM job_metric WHERE job_id = NEW.id;
    INSERT INTO job_metric SELECT NEW.id, name, value, value IS NOT NULL, note FROM summary WHERE attempt_id = NEW.attempt_id;
END;

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

CREATE TABLE given_text (
    id   INTEGER PRIMARY KEY,
    hash BLOB NOT NULL UNIQUE CHECK (length(hash) = 16),
    text TEXT NOT NULL
);

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

CREATE TRIGGER job_measured AFTER UPDATE OF attempt_id ON job
WHEN EXISTS (SELECT 1 FROM attempt WHERE job_id = NEW.id AND id IS NOT NEW.attempt_id)
     OR EXISTS (SELECT 1 FROM note WHERE job_id = NEW.id)
BEGIN
    DELETE FROM job_metric WHERE job_id = NEW.id;
    INSERT INTO job_metric
    SELECT NEW.id, name, avg(iif(place IN ((n + 1) / 2, n / 2 + 1), value, NULL)), n, min(note)
    FROM (SELECT name, value, note, count(value) OVER (PARTITION BY name) AS n,
                 row_number() OVER (PARTITION BY name ORDER BY value IS NULL, value) AS place
          FROM (SELECT name, iif(why IS NULL, value, NULL) AS value, iif(why IS NULL, note, 'excluded: ' || why) AS note
                FROM (SELECT s.name, s.value, s.note,
                             (SELECT x.why FROM excluded_attempt AS x WHERE x.attempt_id = s.attempt_id) AS why
                      FROM summary AS s
                      WHERE s.attempt_id IN (SELECT id FROM counted_attempt WHERE job_id = NEW.id UNION ALL
                          SELECT NEW.attempt_id WHERE NOT EXISTS (SELECT 1 FROM counted_attempt WHERE job_id = NEW.id)))))
    GROUP BY name;
END;

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

CREATE VIEW sample AS
SELECT attempt_id, name, sequence, step, value FROM metric
UNION ALL
SELECT a.attempt_id, a.name,
       CAST(a.sequence + j.key * a.sequence_by + iif(j.type = 'array', j.value ->> 1, 0) AS INTEGER),
       CAST(a.step + j.key * a.step_by + iif(j.type = 'array', j.value ->> 2, 0) AS INTEGER),
       CAST(iif(j.type = 'array', j.value ->> 0, j.value) / a.scale AS REAL)
FROM archived_metric AS a CROSS JOIN json_each(CAST(sqlar_uncompress(a.json, a.bytes) AS TEXT)) AS j
WHERE j.type <> 'false';

CREATE TABLE failure_class (
    name TEXT PRIMARY KEY
) WITHOUT ROWID;
