-- Adds what stands in the attached database "source" and is not here yet. temp.merging holds the two identities and the
-- source's directory of job files. Attempts that are still open stay out: whoever runs them has their end.

INSERT OR IGNORE INTO main.sweep (hash, name, path, text, profile_text, tool_version, objective, maximise, first_seen,
                                  last_seen, combinations, matched, duplicates, jobs, role, content, model_info, identity)
SELECT hash, name, path, text, profile_text, tool_version, objective, maximise, first_seen, last_seen, combinations,
       matched, duplicates, jobs, role, content, json_remove(model_info, '$.job'), identity FROM source.sweep ORDER BY id;

UPDATE main.sweep SET last_seen = s.last_seen, path = s.path, text = s.text, profile_text = s.profile_text, content = s.content
FROM source.sweep AS s WHERE s.hash = main.sweep.hash AND s.last_seen > main.sweep.last_seen;

-- What the sweep that ran last says of all: conditions, replicates and groups.
CREATE TEMP VIEW ran_last AS SELECT max(last_seen) = (SELECT max(last_seen) FROM main.sweep) AS there FROM source.sweep;
DELETE FROM main.subject_to WHERE (SELECT there FROM temp.ran_last);
INSERT INTO main.subject_to SELECT * FROM source.subject_to WHERE (SELECT there FROM temp.ran_last);
DELETE FROM main.meta WHERE name IN ('replicate', 'group_by') AND (SELECT there FROM temp.ran_last);
INSERT INTO main.meta SELECT * FROM source.meta WHERE name IN ('replicate', 'group_by') AND (SELECT there FROM temp.ran_last);

INSERT OR IGNORE INTO main.rule
SELECT h.id, r.position, r.name, r.require, r.reason, r.source, r.level, r.excluded, r.alone
FROM source.rule AS r JOIN source.sweep AS s ON s.id = r.sweep_id JOIN main.sweep AS h ON h.hash = s.hash;

INSERT OR IGNORE INTO main.further_objective
SELECT h.id, o.position, o.metric, o.maximise
FROM source.further_objective AS o JOIN source.sweep AS s ON s.id = o.sweep_id JOIN main.sweep AS h ON h.hash = s.hash;

INSERT OR IGNORE INTO main.spec (kind, hash, name, json, identity)
SELECT kind, hash, name, json, identity FROM source.spec ORDER BY id;

-- Results that were let stand for another job, there or here, do so in both: a job that has moved is one job. What has
-- results of its own under its new key stays where it is.
CREATE TEMP TABLE moved AS
SELECT h.id AS job_id, h.key AS was, j.key AS now
FROM main.job AS h CROSS JOIN source.replaced AS r ON r.field = 'key' AND r.was = lower(hex(h.key))
CROSS JOIN source.change AS c ON c.id = r.change_id CROSS JOIN source.job AS j ON j.id = r.job_id
WHERE EXISTS (SELECT 1 FROM source.change) AND c.undone IS NULL AND h.key <> j.key AND NOT EXISTS
      (SELECT 1 FROM main.job AS k JOIN main.attempt AS a ON a.job_id = k.id WHERE k.key = j.key)
GROUP BY j.key;
DELETE FROM main.job WHERE key IN (SELECT now FROM temp.moved) AND state = 'pending';
UPDATE main.job SET key = m.now FROM temp.moved AS m WHERE m.job_id = main.job.id;
CREATE TEMP TABLE moved_here (was PRIMARY KEY, now) WITHOUT ROWID;
INSERT OR IGNORE INTO temp.moved_here
SELECT r.was, h.key FROM main.change AS c JOIN main.replaced AS r ON r.change_id = c.id JOIN main.job AS h ON h.id = r.job_id
WHERE r.field = 'key' AND c.undone IS NULL;
CREATE TEMP VIEW incoming_job AS
SELECT coalesce((SELECT now FROM temp.moved_here WHERE was = lower(hex(j.key))), j.key) AS key, j.id, j.sweep_id, j.rank,
       j.cluster_id, j.model_id, j.training_id, j.parallel_id, j.derived, j.devices, j.timeout_ms, j.idle_timeout_ms,
       j.startup_timeout_ms, j.predicted_memory, j.predicted_memory_of, j.predicted_time, j.priority, j.risk, j.audit,
       j.state, j.failure, j.attempt_id
FROM source.job AS j;

INSERT OR IGNORE INTO main.job (key, sweep_id, rank, cluster_id, model_id, training_id, parallel_id, derived, devices,
                                timeout_ms, idle_timeout_ms, startup_timeout_ms, predicted_memory, predicted_memory_of,
                                predicted_time, priority, risk, audit)
SELECT j.key, (SELECT h.id FROM main.sweep AS h JOIN source.sweep AS s ON s.hash = h.hash WHERE s.id = j.sweep_id), j.rank,
       (SELECT h.id FROM main.spec AS h JOIN source.spec AS s USING (kind, hash) WHERE s.id = j.cluster_id),
       (SELECT h.id FROM main.spec AS h JOIN source.spec AS s USING (kind, hash) WHERE s.id = j.model_id),
       (SELECT h.id FROM main.spec AS h JOIN source.spec AS s USING (kind, hash) WHERE s.id = j.training_id),
       (SELECT h.id FROM main.spec AS h JOIN source.spec AS s USING (kind, hash) WHERE s.id = j.parallel_id),
       j.derived, j.devices, j.timeout_ms, j.idle_timeout_ms, j.startup_timeout_ms, j.predicted_memory,
       j.predicted_memory_of, j.predicted_time, j.priority, j.risk, j.audit
FROM temp.incoming_job AS j ORDER BY j.id;

UPDATE main.job SET (sweep_id, rank, cluster_id, model_id, training_id, parallel_id, derived) =
    (SELECT (SELECT h.id FROM main.sweep AS h JOIN source.sweep AS s USING (hash) WHERE s.id = j.sweep_id), j.rank,
            (SELECT h.id FROM main.spec AS h JOIN source.spec AS s USING (kind, hash) WHERE s.id = j.cluster_id),
            (SELECT h.id FROM main.spec AS h JOIN source.spec AS s USING (kind, hash) WHERE s.id = j.model_id),
            (SELECT h.id FROM main.spec AS h JOIN source.spec AS s USING (kind, hash) WHERE s.id = j.training_id),
            (SELECT h.id FROM main.spec AS h JOIN source.spec AS s USING (kind, hash) WHERE s.id = j.parallel_id), j.derived
     FROM source.job AS j WHERE j.key = main.job.key)
WHERE id IN (SELECT job_id FROM temp.moved);

-- A job of both belongs to the sweep that last asked for it.
UPDATE main.job SET sweep_id = h.id, rank = j.rank
FROM temp.incoming_job AS j JOIN source.sweep AS s ON s.id = j.sweep_id JOIN main.sweep AS h ON h.hash = s.hash
WHERE j.key = main.job.key AND j.key NOT IN (SELECT now FROM temp.moved_here) AND h.last_seen > (SELECT last_seen FROM main.sweep WHERE id = main.job.sweep_id);

-- Tables that were imported: each is known by where it was first, or as the same bytes of one file. What is in both is what
-- changed it last: the rows of the older go, here, or do not come. Where they are as old, they are the same.
CREATE TEMP TABLE removed_attempt (id INTEGER PRIMARY KEY);
CREATE TEMP TABLE imported_job (id INTEGER PRIMARY KEY);
CREATE TEMP TABLE imported_sweep AS SELECT DISTINCT sweep_id FROM main.imported_table WHERE sweep_id IS NOT NULL;
CREATE TEMP TABLE same_table AS
SELECT n.*, (SELECT changed FROM main.imported_table WHERE id = n.here) AS changed_here
FROM (SELECT t.id AS there, o.origin, t.changed,
             coalesce((SELECT k.id FROM main.imported_table AS k WHERE k.origin = o.origin),
                      (SELECT k.id FROM main.imported_table AS k WHERE k.origin IS NULL AND o.own || k.id = o.origin),
                      (SELECT min(k.id) FROM main.imported_table AS k WHERE (k.host, k.path, k.hash) = (t.host, t.path, t.hash)))
                 AS here
      FROM source.imported_table AS t
      JOIN (SELECT i.id, coalesce(i.origin, m.source_identity || ':' || i.id) AS origin, m.own_identity || ':' AS own
            FROM temp.merging AS m, source.imported_table AS i) AS o ON o.id = t.id) AS n;
INSERT INTO temp.removed_attempt
SELECT a.id FROM temp.same_table AS n JOIN main.attempt AS a ON a.table_id = n.here WHERE n.changed > n.changed_here;
INSERT INTO temp.imported_job
SELECT job_id FROM main.attempt WHERE id IN temp.removed_attempt
UNION SELECT h.id FROM temp.same_table AS n JOIN source.attempt AS a ON a.table_id = n.there
JOIN temp.incoming_job AS j ON j.id = a.job_id JOIN main.job AS h ON h.key = j.key WHERE n.changed < n.changed_here;
INSERT INTO temp.imported_sweep
SELECT h.id FROM source.imported_table AS t JOIN source.sweep AS s ON s.id = t.sweep_id JOIN main.sweep AS h ON h.hash = s.hash;
DELETE FROM main.calibration WHERE (framework, device, cluster, quantity) IN
    (SELECT framework, device, cluster, quantity FROM main.observation WHERE attempt_id IN temp.removed_attempt);
DELETE FROM main.attempt WHERE id IN temp.removed_attempt;
UPDATE main.imported_table SET hash = t.hash, sweep_file = t.sweep_file, changed = t.changed,
    sweep_id = (SELECT h.id FROM main.sweep AS h JOIN source.sweep AS s USING (hash) WHERE s.id = t.sweep_id)
FROM temp.same_table AS n JOIN source.imported_table AS t ON t.id = n.there
WHERE main.imported_table.id = n.here AND n.changed > n.changed_here;
INSERT INTO main.imported_table (host, path, hash, sweep_file, sweep_id, changed, origin)
SELECT t.host, t.path, t.hash, t.sweep_file,
       (SELECT h.id FROM main.sweep AS h JOIN source.sweep AS s USING (hash) WHERE s.id = t.sweep_id), t.changed, n.origin
FROM temp.same_table AS n JOIN source.imported_table AS t ON t.id = n.there WHERE n.here IS NULL ORDER BY t.id;
UPDATE temp.same_table SET here = (SELECT id FROM main.imported_table WHERE origin = same_table.origin) WHERE here IS NULL;
CREATE UNIQUE INDEX temp.same_table_there ON same_table (there);

INSERT INTO main.runner (host, boot_id, pid, start_ticks, started, ended, tool_version, provenance)
SELECT host, boot_id, pid, start_ticks, started, coalesce(ended, started), tool_version, provenance FROM source.runner AS r
WHERE NOT EXISTS (SELECT 1 FROM main.runner AS h WHERE (h.host, h.boot_id, h.pid, h.start_ticks, h.started) =
                  (r.host, r.boot_id, r.pid, r.start_ticks, r.started))
ORDER BY id;

CREATE TEMP TABLE same_runner AS
SELECT r.id AS there, min(h.id) AS here FROM source.runner AS r
JOIN main.runner AS h USING (host, boot_id, pid, start_ticks, started) GROUP BY r.id;
CREATE UNIQUE INDEX temp.same_runner_there ON same_runner (there);

-- The new attempts, with what they are here. One is known by where it was made: by its origin, or here, by its id. Each is
-- looked up by an index of its own: looking through all that is here for each of them took minutes.
CREATE TEMP TABLE arrival AS
SELECT c.there, h.id AS job_id, c.origin,
       row_number() OVER (PARTITION BY h.id ORDER BY c.number) +
           (SELECT coalesce(max(number), 0) FROM main.attempt WHERE job_id = h.id) AS number,
       row_number() OVER (ORDER BY c.there) + (SELECT coalesce(max(id), 0) FROM main.attempt) AS here
FROM (SELECT a.id AS there, a.job_id, a.number, m.own_identity || ':' AS own,
             coalesce(a.origin, m.source_identity || ':' || a.id) AS origin
      FROM temp.merging AS m, source.attempt AS a WHERE (a.state = 'ok' OR a.state = 'failed') AND NOT EXISTS
          (SELECT 1 FROM temp.same_table AS n WHERE n.there = a.table_id AND n.changed < n.changed_here)) AS c
JOIN temp.incoming_job AS j ON j.id = c.job_id JOIN main.job AS h ON h.key = j.key
WHERE NOT EXISTS (SELECT 1 FROM main.attempt AS k WHERE k.origin = c.origin)
      AND NOT (instr(c.origin, c.own) = 1 AND EXISTS
               (SELECT 1 FROM main.attempt AS k
                WHERE k.id = CAST(substr(c.origin, length(c.own) + 1) AS INTEGER) AND k.origin IS NULL));

CREATE UNIQUE INDEX temp.arrival_there ON arrival (there);

INSERT INTO main.attempt (id, job_id, number, runner_id, state, failure, message, command, environment, executor, reference,
                          slot, pid, start_ticks, started, ended, duration_ms, exit_code, signal, limit_ms, user_ms,
                          system_ms, max_rss, leftovers, directory, log_bytes, log_tail, host, devices, stopped_steps,
                          origin, scripts, consequence, blame, unwatched_ms, left_out, superseded, kind,
                          table_id, line, device_model, device_condition, device_note, readers, given, files)
SELECT n.here, n.job_id, n.number,
       (SELECT here FROM temp.same_runner WHERE there = a.runner_id),
       a.state, a.failure, a.message, a.command, a.environment, a.executor, a.reference, a.slot, a.pid, a.start_ticks,
       a.started, a.ended, a.duration_ms, a.exit_code, a.signal, a.limit_ms, a.user_ms, a.system_ms, a.max_rss,
       a.leftovers, iif(a.directory GLOB '/*', a.directory, m.directory || '/' || a.directory), a.log_bytes, a.log_tail,
       a.host, a.devices, a.stopped_steps, n.origin, a.scripts, a.consequence, a.blame,
       a.unwatched_ms, a.left_out, a.superseded, a.kind,
       (SELECT here FROM temp.same_table WHERE there = a.table_id), a.line,
       a.device_model, a.device_condition, a.device_note, a.readers, a.given, a.files
FROM temp.merging AS m, temp.arrival AS n JOIN source.attempt AS a ON a.id = n.there ORDER BY n.here;

INSERT INTO main.metric SELECT n.here, m.name, m.sequence, m.step, m.value
FROM temp.arrival AS n JOIN source.metric AS m ON m.attempt_id = n.there;
INSERT INTO main.archived_metric
SELECT n.here, m.name, m.sequence, m.sequence_by, m.step, m.step_by, m.scale, m.count, m.bytes, m.json
FROM temp.arrival AS n JOIN source.archived_metric AS m ON m.attempt_id = n.there;

INSERT OR IGNORE INTO main.given_text (hash, text)
SELECT t.hash, t.text FROM source.given_text AS t
WHERE t.id IN (SELECT f.text_id FROM temp.arrival AS n JOIN source.attempt_file AS f ON f.attempt_id = n.there);
INSERT INTO main.attempt_file
SELECT n.here, f.path, h.id
FROM temp.arrival AS n JOIN source.attempt_file AS f ON f.attempt_id = n.there
JOIN source.given_text AS t ON t.id = f.text_id JOIN main.given_text AS h ON h.hash = t.hash;

-- Starts of fixtures, known by the process that they were. Nobody here ends one that was still up.
INSERT INTO main.fixture_start (name, key, given, runner_id, state, command, port, devices, directory, pid, start_ticks,
                                started, ready, ended, exit_code, signal, failure, message, log_tail, ended_under)
SELECT f.name, f.key, f.given, r.here, iif(f.state = 'ready', 'ended', f.state), f.command, f.port, f.devices,
       iif(f.directory GLOB '/*', f.directory, m.directory || '/' || f.directory), f.pid, f.start_ticks, f.started,
       f.ready, f.ended, f.exit_code, f.signal, f.failure,
       iif(f.state = 'ready', 'it was still up when this was merged', f.message), f.log_tail,
       (SELECT here FROM temp.arrival WHERE there = f.ended_under)
FROM temp.merging AS m, source.fixture_start AS f JOIN temp.same_runner AS r ON r.there = f.runner_id
WHERE f.state <> 'starting' AND NOT EXISTS
    (SELECT 1 FROM main.fixture_start AS h WHERE (h.runner_id, h.started, h.key, h.pid) IS (r.here, f.started, f.key, f.pid))
ORDER BY f.id;
INSERT INTO main.attempt_fixture
SELECT n.here, min(h.id)
FROM temp.arrival AS n JOIN source.attempt_fixture AS u ON u.attempt_id = n.there
JOIN source.fixture_start AS f ON f.id = u.fixture_id JOIN temp.same_runner AS r ON r.there = f.runner_id
JOIN main.fixture_start AS h ON (h.runner_id, h.started, h.key, h.pid) IS (r.here, f.started, f.key, f.pid)
GROUP BY n.here, f.id;

-- Definitions by what they say; of each name that which was declared last is in force.
INSERT INTO main.definition (hash, name, reading, imported, expression, scale, unit, better, warmup, first_step, last_step,
                             take)
SELECT hash, name, reading, imported, expression, scale, unit, better, warmup, first_step, last_step, take
FROM source.definition AS s
WHERE NOT EXISTS (SELECT 1 FROM main.definition AS h
                  WHERE (h.hash, h.name, h.expression, h.unit, h.better, h.warmup, h.take) IS
                        (s.hash, s.name, s.expression, s.unit, s.better, s.warmup, s.take));
CREATE TEMP TABLE same_definition AS
SELECT s.id AS there, min(h.id) AS here FROM source.definition AS s JOIN main.definition AS h
ON (h.hash, h.name, h.expression, h.unit, h.better, h.warmup, h.take) IS
   (s.hash, s.name, s.expression, s.unit, s.better, s.warmup, s.take) GROUP BY s.id;

CREATE TEMP TABLE computed_otherwise AS
SELECT name FROM main.metric_definition AS h JOIN source.metric_definition AS d USING (name)
WHERE (h.expression IS NOT NULL OR d.expression IS NOT NULL)
      AND h.definition_id IS NOT (SELECT here FROM temp.same_definition WHERE there = d.definition_id);

INSERT OR REPLACE INTO main.metric_definition
SELECT d.name, d.unit, d.better, d.warmup, d.take, d.counter, d.rank, d.expression,
       (SELECT here FROM temp.same_definition WHERE there = d.definition_id), d.declared
FROM source.metric_definition AS d
WHERE NOT EXISTS (SELECT 1 FROM main.metric_definition AS h WHERE h.name = d.name AND h.declared > d.declared);

INSERT INTO main.summary
SELECT n.here, s.name, s.value, s.count, s.mean, s.median, s.minimum, s.maximum, s.stddev, s.p90, s.not_finite, s.reported,
       s.kept, s.note, (SELECT here FROM temp.same_definition WHERE there = s.definition_id), s.point
FROM temp.arrival AS n JOIN source.summary AS s ON s.attempt_id = n.there;
-- Metrics that each computes in its own way have no value until a sweep file says which.
UPDATE main.summary SET value = NULL, note = 'the next run computes it again'
WHERE reported IS NULL AND value IS NOT NULL AND name IN (SELECT name FROM temp.computed_otherwise);
INSERT INTO main.observation SELECT n.here, o.quantity, o.framework, o.device, o.cluster, o.kind, o.measured, o.predicted,
                                    o.peak, o.terms
FROM temp.arrival AS n JOIN source.observation AS o ON o.attempt_id = n.there;
-- Weights that they make stale are fitted anew by who predicts next (src/measures/learning.c).
DELETE FROM main.calibration AS c WHERE EXISTS
    (SELECT 1 FROM temp.arrival AS n JOIN source.observation AS o ON o.attempt_id = n.there
     WHERE o.framework = c.framework AND o.device = c.device AND o.cluster = c.cluster AND o.quantity = c.quantity);
-- Values worked out from summaries are worked out anew by the next run (src/measures/record.c).
INSERT INTO main.breach SELECT n.here, b.position, b.value, b.bound, b.excess, b.note
FROM temp.arrival AS n JOIN source.breach AS b ON b.attempt_id = n.there;
UPDATE main.meta SET value = 'merged' || substr(value, instr(value || char(10), char(10))) WHERE name = 'measures';

-- A job is what the database says that knows most of it: ok before failed before pending. Step by step: the states of
-- jobs go no other way.
CREATE TEMP TABLE verdict AS
SELECT v.job_id, v.state, v.failure,
       coalesce((SELECT n.here FROM temp.arrival AS n WHERE n.there = v.attempt_id),
                (SELECT k.id FROM main.attempt AS k WHERE k.origin = v.origin AND k.job_id = v.job_id),
                (SELECT k.id FROM main.attempt AS k WHERE instr(v.origin, v.own) = 1 AND k.origin IS NULL AND k.job_id = v.job_id
                 AND k.id = CAST(substr(v.origin, length(v.own) + 1) AS INTEGER))) AS attempt_id
FROM (SELECT h.id AS job_id, j.state, j.failure, j.attempt_id, m.own_identity || ':' AS own,
             coalesce(a.origin, m.source_identity || ':' || a.id) AS origin
      FROM temp.merging AS m, temp.incoming_job AS j JOIN main.job AS h ON h.key = j.key
      LEFT JOIN source.attempt AS a ON a.id = j.attempt_id
      WHERE ((j.state = 'ok' AND h.state IN ('failed', 'pending')) OR (j.state = 'failed' AND h.state = 'pending'))
            AND NOT EXISTS (SELECT 1 FROM temp.same_table AS n WHERE n.there = a.table_id AND n.changed < n.changed_here)) AS v;
DELETE FROM temp.verdict WHERE attempt_id IS NULL;
UPDATE main.job SET state = 'pending', failure = NULL, witness_id = NULL, held = NULL
WHERE (state = 'failed' OR witness_id IS NOT NULL OR held IS NOT NULL) AND id IN (SELECT job_id FROM temp.verdict);
UPDATE main.job SET state = 'running' WHERE id IN (SELECT job_id FROM temp.verdict);
UPDATE main.job SET state = v.state, failure = v.failure, attempt_id = v.attempt_id
FROM temp.verdict AS v WHERE v.job_id = main.job.id;

-- Changes, known by where they were made as attempts are, and what they replaced of the jobs and attempts that are here.
CREATE TEMP TABLE changed AS
SELECT c.*, coalesce(c.origin, m.source_identity || ':' || c.id) AS made
FROM temp.merging AS m, source.change AS c WHERE NOT EXISTS
    (SELECT 1 FROM main.change AS h WHERE h.origin = coalesce(c.origin, m.source_identity || ':' || c.id)
     OR (h.origin IS NULL AND m.own_identity || ':' || h.id = c.origin));
INSERT INTO main.change (kind, at, who, why, detail, undone, origin)
SELECT kind, at, who, why, detail, undone, made FROM temp.changed ORDER BY at, id;
INSERT INTO main.replaced (change_id, job_id, attempt_id, field, was, now)
SELECT (SELECT id FROM main.change WHERE origin = c.made), h.id, k.id, r.field, r.was, r.now
FROM temp.merging AS m, temp.changed AS c JOIN source.replaced AS r ON r.change_id = c.id
JOIN temp.incoming_job AS j ON j.id = r.job_id JOIN main.job AS h ON h.key = j.key
LEFT JOIN source.attempt AS a ON a.id = r.attempt_id
LEFT JOIN main.attempt AS k ON k.job_id = h.id AND (k.origin = coalesce(a.origin, m.source_identity || ':' || a.id)
     OR (k.origin IS NULL AND m.own_identity || ':' || k.id = a.origin))
WHERE r.attempt_id IS NULL OR k.id IS NOT NULL ORDER BY r.rowid;
DROP TABLE temp.changed;

-- Notes. One on an attempt that did not come does not either.
CREATE TEMP TABLE noted AS
SELECT h.id AS job_id, n.attempt_id AS there, coalesce(a.origin, m.source_identity || ':' || a.id) AS attempt,
       m.own_identity || ':' AS own, n.kind, n.text, n.at, n.who, n.origin
FROM temp.merging AS m, source.note AS n JOIN temp.incoming_job AS j ON j.id = n.job_id JOIN main.job AS h ON h.key = j.key
LEFT JOIN source.attempt AS a ON a.id = n.attempt_id;
INSERT OR IGNORE INTO main.note (job_id, attempt_id, kind, text, at, who, origin)
SELECT n.job_id, k.id, n.kind, n.text, n.at, n.who, n.origin
FROM temp.noted AS n LEFT JOIN main.attempt AS k ON k.job_id = n.job_id AND (k.origin = n.attempt
    OR k.origin IS NULL AND instr(n.attempt, n.own) = 1 AND k.id = CAST(substr(n.attempt, length(n.own) + 1) AS INTEGER))
WHERE n.there IS NULL OR k.id IS NOT NULL ORDER BY n.at;

CREATE TEMP TABLE merged_job AS SELECT job_id AS id FROM temp.arrival UNION SELECT job_id FROM temp.noted;
-- The rows of a job are ranked together, whichever database they come from.
INSERT OR IGNORE INTO temp.imported_job SELECT n.job_id FROM temp.arrival AS n JOIN main.attempt AS a ON a.id = n.here
WHERE a.table_id IS NOT NULL AND a.number > 1;

-- One file run on machines with other devices is one sweep: that of the last.
UPDATE main.job SET sweep_id = l.id FROM main.sweep AS s JOIN main.sweep AS l ON l.id =
    (SELECT k.id FROM main.sweep AS k WHERE k.content = s.content AND k.role IS NULL ORDER BY k.last_seen DESC, k.id DESC LIMIT 1)
WHERE s.id = main.job.sweep_id AND l.id <> s.id AND s.role IS NULL;

-- A sweep that has other jobs now is enumerated anew by who runs it.
UPDATE main.sweep SET enumerated = 0
WHERE enumerated AND jobs <> (SELECT count(*) FROM main.job WHERE sweep_id = main.sweep.id);

DROP VIEW temp.ran_last;
DROP VIEW temp.incoming_job;
DROP TABLE temp.moved_here;
DROP TABLE temp.same_table;
DROP TABLE temp.same_runner;
DROP TABLE temp.same_definition;
DROP TABLE temp.computed_otherwise;
DROP TABLE temp.arrival;
DROP TABLE temp.noted;
DROP TABLE temp.verdict;
