-- A database of schema version 18: three jobs are ok, the fourth was running when its runner died.
PRAGMA application_id = 1836279927;
PRAGMA user_version = 18;
BEGIN TRANSACTION;
CREATE TABLE meta (
    name  TEXT PRIMARY KEY,
    value TEXT NOT NULL
) WITHOUT ROWID;
INSERT INTO meta VALUES('identity','00112233445566778899aabbccddeeff');
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
, model_info TEXT CHECK (model_info IS NULL OR json_valid(model_info)), role TEXT);
INSERT INTO sweep VALUES(1,X'8b887b27d5795857919bfab0323f398a','small','sweep.toml',replace('[sweep]\nname = "small"\nobjective = "max:score"\n\n[job]\ncommand = ["/bin/sh", "./job.sh", "{x}", "{y}"]\n\n[job.metrics.score]\nregex = ''score: ([0-9.]+)''\nbetter = "max"\n\n[[training_spec]]\nx = [1, 2]\n\n[[parallel_spec]]\ny = [10, 20]\n','\n',char(10)),'','0.1.0','score',1,1700000000000,1700000000000,4,4,0,4,1,NULL,NULL);
CREATE TABLE spec (
    id   INTEGER PRIMARY KEY,
    kind TEXT NOT NULL CHECK (kind = 'cluster_spec' OR kind = 'model' OR kind = 'training_spec' OR kind = 'parallel_spec'),
    hash BLOB NOT NULL CHECK (length(hash) = 16),
    name TEXT,
    json TEXT NOT NULL CHECK (json_valid(json)), identity BLOB CHECK (identity IS NULL OR length(identity) = 16),
    UNIQUE (kind, hash)
);
INSERT INTO spec VALUES(1,'cluster_spec',X'b4189afdffd054df8149f1b5e17f71f7',NULL,'{"num_devices_per_host":1,"num_hosts":1}',NULL);
INSERT INTO spec VALUES(2,'training_spec',X'560e13377107fb286e0056ba3ec68476',NULL,'{"x":1}',NULL);
INSERT INTO spec VALUES(3,'parallel_spec',X'984cbb01f14ee0c1db5b2e5d102970e6',NULL,'{"y":10}',NULL);
INSERT INTO spec VALUES(4,'parallel_spec',X'f91ec4322102397b4ddc12e2aee10475',NULL,'{"y":20}',NULL);
INSERT INTO spec VALUES(5,'training_spec',X'5b858b8ae9e96c0b9cd316c3036561c3',NULL,'{"x":2}',NULL);
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
    failure            TEXT CHECK (failure IS NULL OR failure = 'exit' OR failure = 'signal' OR failure = 'oom' OR failure = 'oom-host'
                                        OR failure = 'timeout' OR failure = 'hang' OR failure = 'diverged' OR failure = 'no-metric'
                                        OR failure = 'spawn' OR failure = 'lost' OR failure = 'cancelled'),
    attempt_id         INTEGER,                                   -- the attempt that stands for the job
    predicted_memory   REAL,
    predicted_time     REAL, priority INTEGER NOT NULL DEFAULT 0, risk INTEGER CHECK (risk = 1 OR risk = 2 OR risk = 3), audit INTEGER NOT NULL DEFAULT 0 CHECK (audit IN (0, 1)), due INTEGER, witness_id INTEGER CHECK (witness_id IS NULL OR state = 'pending'), held TEXT CHECK (held IS NULL OR state = 'pending'), losses INTEGER NOT NULL DEFAULT 0, aside INTEGER NOT NULL DEFAULT 0 CHECK (aside = 0 OR aside = 1), predicted_memory_of TEXT,
    CHECK ((state = 'failed') = (failure IS NOT NULL))
);
INSERT INTO job VALUES(1,X'4fb8f0f756171fc7f07bc8b09b1a3d29',1,0,1,NULL,2,3,NULL,1,600000,NULL,NULL,'ok',NULL,1,NULL,NULL,0,NULL,0,NULL,NULL,NULL,0,0,NULL);
INSERT INTO job VALUES(2,X'8372b42862c8a3786ce0d3c4ca1a534e',1,1,1,NULL,2,4,NULL,1,600000,NULL,NULL,'ok',NULL,2,NULL,NULL,0,NULL,0,NULL,NULL,NULL,0,0,NULL);
INSERT INTO job VALUES(3,X'2e9b080ba9bcbb842437e9372aab4fb4',1,2,1,NULL,5,3,NULL,1,600000,NULL,NULL,'ok',NULL,3,NULL,NULL,0,NULL,0,NULL,NULL,NULL,0,0,NULL);
INSERT INTO job VALUES(4,X'604ae8af869efbc6afd48c794a950fc7',1,3,1,NULL,5,4,NULL,1,600000,NULL,NULL,'running',NULL,NULL,NULL,NULL,0,NULL,0,NULL,NULL,NULL,0,0,NULL);
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
INSERT INTO runner VALUES(1,'node1','another-boot',1000,5,1700000000000,NULL,'0.1.0','{}');
CREATE TABLE attempt (
    id           INTEGER PRIMARY KEY,
    job_id       INTEGER NOT NULL REFERENCES job (id) ON DELETE CASCADE,
    number       INTEGER NOT NULL CHECK (number > 0),
    runner_id    INTEGER NOT NULL REFERENCES runner (id),
    state        TEXT NOT NULL CHECK (state = 'claimed' OR state = 'running' OR state = 'ok' OR state = 'failed'),
    failure      TEXT CHECK (failure IS NULL OR failure = 'exit' OR failure = 'signal' OR failure = 'oom' OR failure = 'oom-host'
                                  OR failure = 'timeout' OR failure = 'hang' OR failure = 'diverged' OR failure = 'no-metric'
                                  OR failure = 'spawn' OR failure = 'lost' OR failure = 'cancelled'),
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
                                                 OR blame = 'preemption' OR blame = 'host'), unwatched_ms INTEGER, left_out TEXT,
    UNIQUE (job_id, number),
    CHECK ((state = 'failed') = (failure IS NOT NULL))
);
INSERT INTO attempt VALUES(1,1,1,1,'ok',NULL,NULL,'["/bin/sh","./job.sh","1","10"]',NULL,'local',NULL,0,1001,5,1700000000001,1700000001001,20,0,NULL,NULL,0,0,8544256,0,NULL,10,replace('score: 10\n','\n',char(10)),NULL,NULL,NULL,NULL,'{"job.sh":"3e0f66acc31235a731cf1d837926c80f"}',NULL,NULL,NULL,NULL);
INSERT INTO attempt VALUES(2,2,1,1,'ok',NULL,NULL,'["/bin/sh","./job.sh","1","20"]',NULL,'local',NULL,0,1002,5,1700000000002,1700000001002,20,0,NULL,NULL,0,0,8544256,0,NULL,10,replace('score: 20\n','\n',char(10)),NULL,NULL,NULL,NULL,'{"job.sh":"3e0f66acc31235a731cf1d837926c80f"}',NULL,NULL,NULL,NULL);
INSERT INTO attempt VALUES(3,3,1,1,'ok',NULL,NULL,'["/bin/sh","./job.sh","2","10"]',NULL,'local',NULL,0,1003,5,1700000000003,1700000001003,20,0,NULL,NULL,0,0,8544256,0,NULL,10,replace('score: 20\n','\n',char(10)),NULL,NULL,NULL,NULL,'{"job.sh":"3e0f66acc31235a731cf1d837926c80f"}',NULL,NULL,NULL,NULL);
INSERT INTO attempt VALUES(4,4,1,1,'running',NULL,NULL,'["/bin/sh","./job.sh","2","20"]',NULL,'local',NULL,0,1004,5,1700000000004,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,'{"job.sh":"3e0f66acc31235a731cf1d837926c80f"}',NULL,NULL,NULL,NULL);
CREATE TABLE metric (
    attempt_id INTEGER NOT NULL REFERENCES attempt (id) ON DELETE CASCADE,
    name       TEXT NOT NULL,
    sequence   INTEGER NOT NULL,
    step       INTEGER,
    value      REAL CHECK (value IS NULL OR value BETWEEN -1.7976931348623157e308 AND 1.7976931348623157e308),
    PRIMARY KEY (attempt_id, name, sequence)
) WITHOUT ROWID;
INSERT INTO metric VALUES(1,'score',0,0,10.0);
INSERT INTO metric VALUES(2,'score',0,0,20.0);
INSERT INTO metric VALUES(3,'score',0,0,20.0);
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
    p90        REAL, not_finite INTEGER NOT NULL DEFAULT 0, reported INTEGER, kept INTEGER, note TEXT,
    PRIMARY KEY (attempt_id, name)
) WITHOUT ROWID;
INSERT INTO summary VALUES(1,'score',10.0,1,10.0,10.0,10.0,10.0,0.0,10.0,0,1,NULL,NULL);
INSERT INTO summary VALUES(2,'score',20.0,1,20.0,20.0,20.0,20.0,0.0,20.0,0,1,NULL,NULL);
INSERT INTO summary VALUES(3,'score',20.0,1,20.0,20.0,20.0,20.0,0.0,20.0,0,1,NULL,NULL);
CREATE TABLE metric_definition (
    name   TEXT PRIMARY KEY,
    unit   TEXT NOT NULL DEFAULT '',
    better TEXT CHECK (better IN ('max', 'min')),
    warmup INTEGER NOT NULL DEFAULT 0,
    take   TEXT NOT NULL DEFAULT 'median'
, counter TEXT, rank TEXT, expression TEXT) WITHOUT ROWID;
INSERT INTO metric_definition VALUES('score','','max',0,'median',NULL,NULL,NULL);
CREATE TABLE failure_pattern (
    class   TEXT NOT NULL,
    pattern TEXT NOT NULL,
    source  TEXT NOT NULL,
    PRIMARY KEY (class, pattern)
) WITHOUT ROWID;
INSERT INTO failure_pattern VALUES('oom','a pattern of then','built in');
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
CREATE TABLE search (
    id       INTEGER PRIMARY KEY,
    sweep_id INTEGER NOT NULL REFERENCES sweep (id) ON DELETE CASCADE,
    strategy TEXT NOT NULL,
    options  TEXT NOT NULL CHECK (json_valid(options)),  -- every one, with its default
    started  INTEGER NOT NULL,
    finished TEXT                                        -- why it ended; NULL: it goes on
);
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
CREATE TABLE further_objective (
    sweep_id INTEGER NOT NULL REFERENCES sweep (id) ON DELETE CASCADE,
    position INTEGER NOT NULL CHECK (position >= 1), -- as declared; 0 would be sweep.objective
    metric   TEXT NOT NULL,
    maximise INTEGER NOT NULL CHECK (maximise IN (0, 1)),
    PRIMARY KEY (sweep_id, position)
) WITHOUT ROWID;
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
CREATE INDEX sweep_last_seen ON sweep (last_seen);
CREATE INDEX exclusion_rule ON exclusion (sweep_id, position);
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
CREATE INDEX attempt_open ON attempt (id) WHERE state IN ('claimed', 'running');
CREATE TRIGGER attempt_deleted AFTER DELETE ON attempt
BEGIN
    DELETE FROM metric WHERE attempt_id = OLD.id;
    DELETE FROM summary WHERE attempt_id = OLD.id;
    UPDATE job SET state = 'pending', failure = NULL, attempt_id = nullif(attempt_id, OLD.id)
    WHERE id = OLD.job_id AND (attempt_id = OLD.id OR state = 'running')
          AND NOT EXISTS (SELECT 1 FROM attempt WHERE job_id = OLD.job_id AND state IN ('claimed', 'running'));
END;
CREATE INDEX observation_place ON observation (framework, device, cluster, quantity);
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
CREATE INDEX search_sweep ON search (sweep_id);
CREATE INDEX trial_search ON trial (search_id, asked);
CREATE INDEX trial_job ON trial (job_id);
CREATE TRIGGER trial_job_deleted AFTER DELETE ON job
BEGIN
    DELETE FROM trial WHERE job_id = OLD.id;
END;
CREATE INDEX summary_value ON summary (name, value);
CREATE UNIQUE INDEX attempt_origin ON attempt (origin) WHERE origin IS NOT NULL;
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
CREATE TRIGGER attempt_state BEFORE UPDATE OF state ON attempt
WHEN OLD.state <> NEW.state AND NOT CASE OLD.state
     WHEN 'claimed' THEN NEW.state = 'running'
     WHEN 'running' THEN NEW.state = 'ok' OR NEW.state = 'failed'
     ELSE 0 END
BEGIN
    SELECT RAISE(ABORT, 'an attempt goes from claimed to running to ok or failed, and nowhere else');
END;
CREATE TRIGGER breach_attempt_deleted AFTER DELETE ON attempt
BEGIN
    DELETE FROM breach WHERE attempt_id = OLD.id;
END;
CREATE VIEW current_sweep AS
SELECT * FROM sweep ORDER BY last_seen DESC, id DESC LIMIT 1;
CREATE VIEW progress AS
SELECT CASE WHEN j.witness_id IS NOT NULL THEN 'pruned'
            WHEN j.held IS NOT NULL THEN 'held'
            WHEN j.state = 'running' AND NOT EXISTS (SELECT 1 FROM attempt WHERE job_id = j.id AND state = 'running')
            THEN 'pending' ELSE j.state END AS state, j.failure, count(*) AS jobs
FROM job AS j
WHERE j.sweep_id = (SELECT id FROM current_sweep)
GROUP BY 1, 2;
CREATE VIEW failures AS
SELECT j.id AS job, a.number AS attempt, a.failure, a.message, a.consequence, a.exit_code, a.signal, a.limit_ms, a.duration_ms,
       a.directory, a.log_tail, a.command,
       strftime('%Y-%m-%dT%H:%M:%SZ', a.ended / 1000, 'unixepoch') AS ended
FROM attempt AS a
JOIN job AS j ON j.id = a.job_id
WHERE a.state = 'failed'
ORDER BY a.ended DESC;
CREATE VIEW excluded AS
SELECT r.name AS rule, r.level, r.excluded, r.alone, r.reason, r.source,
       (SELECT "values" FROM exclusion AS x WHERE x.sweep_id = r.sweep_id AND x.position = r.position LIMIT 1) AS example
FROM rule AS r
WHERE r.sweep_id = (SELECT id FROM current_sweep)
ORDER BY r.position;
CREATE VIEW results AS
SELECT j.id AS job, lower(hex(j.key)) AS key, s.name AS sweep,
       j.sweep_id = (SELECT id FROM current_sweep) AS in_sweep,
       json_extract(cluster_spec.json, '$."num_devices_per_host"') AS "num_devices_per_host",
       json_extract(cluster_spec.json, '$."num_hosts"') AS "num_hosts",
       json_extract(training_spec.json, '$."x"') AS "x",
       json_extract(parallel_spec.json, '$."y"') AS "y",
       CASE WHEN j.witness_id IS NOT NULL THEN 'pruned'
            WHEN j.held IS NOT NULL THEN 'held'
            WHEN j.state = 'running' AND NOT EXISTS
           (SELECT 1 FROM attempt AS r WHERE r.job_id = j.id AND r.state = 'running')
            THEN 'pending' ELSE j.state END AS state, j.failure,
       (SELECT count(*) FROM attempt AS n WHERE n.job_id = j.id AND n.state <> 'claimed') AS attempts,
       (SELECT value FROM summary WHERE attempt_id = a.id AND name = 'score') AS "score",
       a.duration_ms, a.max_rss,
       CASE WHEN EXISTS (SELECT 1 FROM summary WHERE attempt_id = a.id) THEN
           a.state <> 'ok' OR a.stopped_steps IS NOT NULL OR a.left_out IS NOT NULL END AS partial,
       (SELECT sum(not_finite) FROM summary WHERE attempt_id = a.id) AS not_finite,
       CASE WHEN j.state = 'failed' THEN
           (SELECT message FROM attempt AS f WHERE f.job_id = j.id AND f.state = 'failed'
            ORDER BY number DESC LIMIT 1)
            WHEN j.witness_id IS NOT NULL THEN
           'needs no less device memory than job ' || j.witness_id || ', which ran out of it'
            ELSE j.held END AS error,
       a.directory,
       strftime('%Y-%m-%dT%H:%M:%SZ', a.started / 1000, 'unixepoch') AS started,
       strftime('%Y-%m-%dT%H:%M:%SZ', a.ended / 1000, 'unixepoch') AS ended
FROM job AS j
LEFT JOIN sweep AS s ON s.id = j.sweep_id
LEFT JOIN spec AS cluster_spec ON cluster_spec.id = j.cluster_id
LEFT JOIN spec AS model ON model.id = j.model_id
LEFT JOIN spec AS training_spec ON training_spec.id = j.training_id
LEFT JOIN spec AS parallel_spec ON parallel_spec.id = j.parallel_id
LEFT JOIN attempt AS a NOT INDEXED ON a.id = j.attempt_id
WHERE s.role IS NULL;
CREATE VIEW ranking AS
WITH o AS MATERIALIZED (
    SELECT j.id AS job, m.value AS value, rank() OVER (ORDER BY m.value DESC) AS place
    FROM job AS j CROSS JOIN summary AS m ON m.attempt_id = j.attempt_id AND m.name = 'score'
    WHERE j.sweep_id = (SELECT id FROM current_sweep) AND j.state = 'ok'
          AND m.value IS NOT NULL
          AND EXISTS (SELECT 1 FROM attempt AS a WHERE a.id = j.attempt_id AND (NOT EXISTS (SELECT 1 FROM breach WHERE breach.attempt_id = a.id) AND (a.stopped_steps IS NULL OR EXISTS (SELECT 1 FROM trial AS asked WHERE asked.job_id = a.job_id AND asked.attempt_id = a.id AND asked.resource > 0 AND a.stopped_steps >= asked.resource))))
    ORDER BY m.value DESC, j.id)
SELECT o.place AS rank, o.value AS "score", r.job, r.key, r.sweep, r.in_sweep, r."num_devices_per_host", r."num_hosts", r."x", r."y", r.state, r.failure, r.attempts, r.duration_ms, r.max_rss, r.partial, r.not_finite, r.error, r.directory, r.started, r.ended
FROM o CROSS JOIN results AS r ON r.job = o.job;
COMMIT;
