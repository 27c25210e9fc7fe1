-- All that is recorded about the job ?1, whose files are below ?2, part by part: the columns of `part_…` name what they
-- hold, as the document of `meshsweep show` does.
WITH
-- What the samples of each point of its curves come to, as of a whole metric; ?1 NULL: of all jobs.
ordered AS (
    SELECT m.attempt_id, m.name, f.unit, f.take, f.reading ->> '$.per' AS per, p.step, p.sequence, p.value,
        count(p.value) OVER point AS n, avg(p.value) OVER point AS mean, max(p.sequence) OVER point AS final,
        row_number() OVER (point ORDER BY p.value IS NULL, p.value) - 1 AS place
    FROM (SELECT (SELECT attempt_id FROM job WHERE id = ?1) AS own) JOIN summary AS m
        ON m.attempt_id BETWEEN coalesce(own, iif(?1 IS NULL, 0, NULL)) AND coalesce(own, 9e18)
    JOIN definition AS f ON f.id = m.definition_id JOIN metric AS p ON p.attempt_id = m.attempt_id AND p.name = m.name
    WHERE m.point IS NOT NULL WINDOW point AS (PARTITION BY m.attempt_id, m.name, p.step)),
summarised AS (
    SELECT attempt_id, name, unit, take, per, step, n AS samples, sum(value IS NULL) AS not_finite, mean, min(value) AS minimum,
        max(value) AS maximum, sum(value * max(0, 1 - abs(place - 0.5 * (n - 1)))) AS median,
        sum(value * max(0, 1 - abs(place - 0.9 * (n - 1)))) AS p90, max(iif(sequence = final, value, NULL)) AS last,
        iif(n, coalesce(sqrt(sum((value - mean) * (value - mean)) / (n - 1)), 0), NULL) AS stddev
    FROM ordered GROUP BY attempt_id, name, step),
curve_point AS (
    SELECT *, CASE take WHEN 'mean' THEN mean WHEN 'last' THEN last WHEN 'max' THEN maximum WHEN 'min' THEN minimum
        WHEN 'p90' THEN p90 ELSE median END AS value FROM summarised),

-- One row.
part_job AS (
    SELECT j.id AS job, lower(hex(j.key)) AS key, s.name AS sweep, s.path AS sweep_file,
        j.sweep_id = (SELECT id FROM current_sweep) AS in_current_sweep, j.state, j.failure, j.held AS why_held, j.devices,
        j.timeout_ms, j.idle_timeout_ms, j.startup_timeout_ms, j.predicted_memory AS predicted_memory_bytes,
        j.predicted_memory_of, CASE j.risk WHEN 1 THEN 'fits' WHEN 2 THEN 'may not fit' WHEN 3 THEN 'does not fit' END AS predicted_to,
        j.predicted_time AS predicted_step_time_s, iif(j.audit, 'runs as an audit of pruning', NULL) AS reason,
        (SELECT group_concat(s.condition, '; ') FROM breach AS b JOIN subject_to AS s ON s.position = b.position
            WHERE b.attempt_id = j.attempt_id) AS does_not_meet,
        (SELECT iif(count(*) > 1, max(iif(id = j.attempt_id, number, NULL)), NULL) FROM attempt
            WHERE job_id = j.id AND kind <> 'full') AS samples_of_attempt
    FROM job AS j LEFT JOIN sweep AS s ON s.id = j.sweep_id WHERE j.id = ?1),

-- Of the attempt that represents it; a point is "concurrency 16".
part_metrics AS (
    SELECT m.name, v.value, nullif(d.unit, '') AS unit, d.counter, d.rank, (f.reading ->> '$.per') || ' ' || m.point AS point,
        coalesce(p.samples, m.count) AS samples, nullif(coalesce(p.not_finite, m.not_finite), 0) AS not_finite, m.kept,
        coalesce(p.mean, m.mean) AS mean, coalesce(p.median, m.median) AS median,
        coalesce(p.minimum, m.minimum) AS minimum, coalesce(p.maximum, m.maximum) AS maximum,
        coalesce(p.stddev, m.stddev) AS stddev, coalesce(p.p90, m.p90) AS p90, v.note
    FROM job AS j JOIN summary AS m ON m.attempt_id = j.attempt_id
    LEFT JOIN job_metric AS v ON v.job_id = j.id AND v.name = m.name LEFT JOIN metric_definition AS d ON d.name = m.name
    LEFT JOIN definition AS f ON f.id = m.definition_id LEFT JOIN curve_point AS p ON p.name = m.name AND p.step = m.point
    WHERE j.id = ?1 ORDER BY m.name),

-- Of its curves, likewise.
part_points AS (
    SELECT name AS metric, per, step AS per_value, value, nullif(unit, '') AS unit FROM curve_point ORDER BY name, step LIMIT 1000),

-- The oldest first.
part_attempts AS (
    SELECT a.number AS attempt, a.state, a.failure, a.message, a.consequence, a.left_out,
        strftime('%Y-%m-%dT%H:%M:%SZ', a.started / 1000, 'unixepoch') AS started,
        strftime('%Y-%m-%dT%H:%M:%SZ', a.ended / 1000, 'unixepoch') AS ended, a.duration_ms, a.unwatched_ms, a.blame, a.exit_code,
        a.signal, a.limit_ms, a.given, iif(a.kind = 'profile', 'run under [job.profile], not a measurement', NULL) AS purpose,
        iif(a.executor = 'import', NULL, coalesce(a.host, r.host)) AS host, a.executor, a.reference, a.slot, a.pid, a.user_ms,
        a.system_ms, a.max_rss AS max_rss_bytes, a.leftovers, a.directory AS files, a.log_bytes, r.tool_version AS meshsweep,
        json_extract(r.provenance, '$.directory') AS working_directory,
        json_extract(r.provenance, '$.git.commit') AS git_commit, a.scripts, json_extract(r.provenance, '$.versions') AS versions,
        json_extract(r.provenance, '$.cpu') AS cpu, json_extract(r.provenance, '$.gpus') AS gpus
    FROM attempt AS a LEFT JOIN runner AS r ON r.id = a.runner_id WHERE a.job_id = ?1 AND a.kind <> 'full' ORDER BY a.number),

-- Files that they found in their directories when they started.
part_given_files AS (
    SELECT a.number AS attempt, f.path AS name, length(CAST(t.text AS BLOB)) AS bytes, t.text
    FROM attempt AS a JOIN attempt_file AS f ON f.attempt_id = a.id JOIN given_text AS t ON t.id = f.text_id
    WHERE a.job_id = ?1 AND a.kind <> 'full' ORDER BY a.number, f.path LIMIT 1000),

-- Starts of [[fixture]] that they used.
part_fixtures AS (
    SELECT a.number AS attempt, f.name, nullif(f.given, '{}') AS "values", f.state, f.port,
        f.directory || '/output.log' || iif(is_archived(iif(f.directory LIKE '/%', '', ?2 || '/') || f.directory || '/output.log'),
            '.gz', '') AS log, f.message
    FROM attempt AS a JOIN attempt_fixture AS u ON u.attempt_id = a.id JOIN fixture_start AS f ON f.id = u.fixture_id
    WHERE a.job_id = ?1 AND a.kind <> 'full' ORDER BY a.number, f.id LIMIT 1000),

-- Files that they left in their directories, the largest first.
part_left_files AS (
    SELECT a.number AS attempt, f.value ->> '$.name' AS name, f.value ->> '$.bytes' AS bytes,
        iif(f.value ->> '$.removed', 'removed', NULL) AS note
    FROM attempt AS a, json_each(a.files, '$.list') AS f WHERE a.job_id = ?1 ORDER BY a.number, f.key LIMIT 1000),

-- What was changed afterwards, the oldest first, each with what it replaced.
part_changes AS (
    SELECT c.kind, strftime('%Y-%m-%dT%H:%M:%SZ', c.at / 1000, 'unixepoch') AS at, c.who, c.why, c.detail,
        strftime('%Y-%m-%dT%H:%M:%SZ', c.undone / 1000, 'unixepoch') AS undone,
        json_group_array(json_object('attempt', r.number, 'field', r.field, 'was', iif(typeof(r.was) = 'real', replace(r.was, '.0e', 'e'), r.was || ''),
            'is', iif(typeof(r.now) = 'real', replace(r.now, '.0e', 'e'), r.now || ''))) AS replaced
    FROM (SELECT r.*, a.number FROM replaced AS r LEFT JOIN attempt AS a ON a.id = r.attempt_id WHERE r.job_id = ?1
        ORDER BY a.number, r.rowid) AS r JOIN change AS c ON c.id = r.change_id GROUP BY c.id ORDER BY c.id),

-- Likewise; what is said of it and of its attempts.
part_notes AS (
    SELECT n.kind, a.number AS attempt, n.text AS said, strftime('%Y-%m-%dT%H:%M:%SZ', n.at / 1000, 'unixepoch') AS at, n.who
    FROM note AS n LEFT JOIN attempt AS a ON a.id = n.attempt_id WHERE n.job_id = ?1 ORDER BY n.at, n.id)

SELECT * FROM part_job;
