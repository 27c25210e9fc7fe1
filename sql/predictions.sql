-- What `predict` looks at, and in the views what it says of that, line by line (src/report/saying.h). What is not known is
-- NULL.
CREATE TABLE asked (most, memory_words); -- one row: the most combinations or plans listed; whose memory was measured

-- Combinations. rest, size: the words without the key of a frontier, and its value. verdict: its name. document: of the
-- combination (src/cli/match_words.h), where rows are asked for.
CREATE TABLE seen (n INTEGER PRIMARY KEY, words, state, failure, why, memory_of, memory, memory_low, memory_high,
    by_line, verdict, oom, largest_rank, usable, before, is_audit, measured_memory, time, time_low, time_high,
    time_calibrated, peak_s, flops, peak_flops, measured_time, framework, features, by_evidence, rest, size, job, document,
    memory_calibrated, lengths_unknown, by_baseline,
    derived AS (document ->> '$.keys.derived') STORED, cluster_spec AS (document ->> '$.keys.cluster_spec') STORED,
    model AS (document ->> '$.keys.model') STORED, training_spec AS (document ->> '$.keys.training_spec') STORED,
    parallel_spec AS (document ->> '$.keys.parallel_spec') STORED);

-- The columns of rows besides the keys. unit: B is followed by whose memory it is, '' is that of throughput; brief: shown to
-- people where none are asked for; part: "job", which plans on other devices do not have; "predicted", which that of such a plan
-- replaces; "plan", of such plans alone.
CREATE TABLE field (n INTEGER PRIMARY KEY, name, unit, brief, part);
INSERT INTO field (name, unit, brief, part) VALUES
    ('number', NULL, 0, ''), ('job', NULL, 0, ''), ('key', NULL, 0, ''), ('state', NULL, 1, 'job'), ('failure', NULL, 0, ''),
    ('predicted_memory', 'B', 1, 'predicted'), ('memory_low', 'B', 0, 'predicted'), ('memory_high', 'B', 0, 'predicted'),
    ('verdict', NULL, 1, ''), ('oom_probability', NULL, 0, ''), ('measured_memory', 'B', 1, 'job'),
    ('predicted_time', 's', 1, 'predicted'), ('time_low', 's', 0, 'predicted'), ('time_high', 's', 0, 'predicted'),
    ('measured_time', 's', 1, 'job'), ('mfu', NULL, 1, ''), ('no_prediction', NULL, 0, ''),
    ('place', NULL, 1, 'plan'), ('place_here', NULL, 1, 'plan'), ('devices', NULL, 1, 'plan'), ('devices_here', NULL, 1, 'plan'),
    ('predicted_time_here', 's', 0, 'plan'), ('predicted_memory_here', 'B', 0, 'plan'), ('throughput', '', 1, 'plan'),
    ('throughput_low', '', 0, 'plan'), ('throughput_high', '', 0, 'plan'), ('efficiency', NULL, 1, 'plan'),
    ('efficiency_low', NULL, 0, 'plan'), ('efficiency_high', NULL, 0, 'plan');

-- As rows, which can be filtered, ordered and selected by column like those of `results`.
CREATE VIEW prediction AS SELECT +n AS number, document ->> 'key' AS key, iif(state = '', 'new', state) AS state,
    nullif(failure, '') AS failure, memory AS predicted_memory, iif(memory IS NULL, NULL, memory_low) AS memory_low,
    iif(memory IS NULL, NULL, memory_high) AS memory_high, iif(verdict IS NULL, NULL, oom) AS oom_probability,
    time AS predicted_time, iif(time IS NULL, NULL, time_low) AS time_low, iif(time IS NULL, NULL, time_high) AS time_high,
    peak_s / time AS mfu, nullif(why, '') AS no_prediction, job, verdict, measured_memory, measured_time, words, derived,
    cluster_spec, model, training_spec, parallel_spec
    FROM seen;
CREATE VIEW spec AS SELECT 'cluster_spec' AS kind, cluster_spec AS json FROM seen UNION SELECT 'model', model FROM seen
    UNION SELECT 'training_spec', training_spec FROM seen UNION SELECT 'parallel_spec', parallel_spec FROM seen;
-- Units say whose memory it is; for predictions, that of the first row.
CREATE VIEW metric_definition (name, unit, counter, rank) AS
SELECT f.name, CASE f.unit WHEN 'B' THEN 'B' || coalesce(' ' || nullif(iif(f.name <> 'measured_memory' AND s.memory_of IS NOT NULL,
            s.memory_of, memory_words), ''), '')
        WHEN '' THEN iif((SELECT counts_tokens FROM plan WHERE words = s.words ORDER BY n LIMIT 1), 'tokens/s', 'samples/s')
        ELSE f.unit END, NULL, NULL
    FROM field AS f, seen AS s, asked WHERE s.n = 1 AND f.unit IS NOT NULL;

CREATE VIEW list (n, line) AS
SELECT n, words || iif(state = '', '', '  ' || state) || iif(failure = '', '', '/' || failure)
    || coalesce(char(10) || '    no prediction: ' || why, '')
    -- A normal distribution is not reliable far out in its tails.
    || iif(memory IS NULL, '', say('%s    memory %B%s (%B to %B%s)', char(10), memory, coalesce(' ' || nullif(memory_of, ''), ''),
            memory_low, memory_high, iif(by_line, ', by the line through runs', iif(memory_calibrated, '', ', uncalibrated')
                || iif(lengths_unknown, ', as samples may differ in length', '')))
        || iif(verdict IS NULL, '', ', ' || verdict || ', out of memory with ' || CASE WHEN 100 * oom < 0.1 THEN 'less than 0.1'
            WHEN 100 * oom > 99.9 THEN 'more than 99.9' ELSE say(iif(100 * oom < 10, '%.1f', '%.0f'), 100 * oom) END || ' %'
            -- The interval is of what the keys say.
            || iif(memory_low > usable AND oom < 0.9, ', as recipes may recompute more than keys say', ''))
        || iif(measured_memory IS NULL, '', say('; measured %B%s (%+.1f %%)', measured_memory,
            coalesce(' ' || nullif(memory_words, ''), ''), 100 * (memory / measured_memory - 1))))
    || iif(time IS NULL, '', say('%s    step %.3g s (%.3g to %.3g%s), MFU %.1f %%', char(10), time, time_low, time_high,
            iif(time_calibrated, '', ', uncalibrated') || iif(by_baseline, ', by a constant MFU', ''), 100 * peak_s / time)
        || iif(measured_time IS NULL, '', say('; measured %.3g s (%+.1f %%), MFU %.1f %%', measured_time,
            100 * (time / measured_time - 1), 100 * flops / (measured_time * peak_flops))))
    FROM seen, asked;

-- The mean of ln(predicted / measured) over the combinations with one value of a key ("tp=2").
CREATE VIEW residual (word, line) AS
WITH
word (n, word, rest) AS (
    SELECT n, '', words || ' ' FROM seen WHERE memory / measured_memory IS NOT NULL OR time / measured_time IS NOT NULL
    UNION ALL SELECT n, substr(rest, 1, instr(rest, ' ') - 1), substr(rest, instr(rest, ' ') + 1) FROM word WHERE rest <> ''),
error (word, memory, memories, time, times) AS (
    SELECT word, avg(ln(memory / measured_memory)), count(memory / measured_memory), avg(ln(time / measured_time)),
        count(time / measured_time)
    FROM word JOIN seen USING (n) WHERE word <> '' GROUP BY word)
SELECT word, say('  %-28s', word) || iif(memories, say('  memory %+6.1f %% of %d', 100 * expm1(memory), memories), '')
    || iif(times, say('  step %+6.1f %% of %d', 100 * expm1(time), times), '') FROM error;

-- How large one key can become before memory runs out, for each combination of the others: the measured limit, and the
-- one by a line through memory over size, of measurements if there are two or more, else of predictions.
CREATE VIEW frontier (first, line) AS
WITH
row AS MATERIALIZED (
    SELECT *, state = 'ok' AND measured_memory > 0 AS measured, largest_rank IS NOT NULL AS predicted,
        sum(state = 'ok' AND coalesce(measured_memory, 0) > 0) OVER (PARTITION BY rest) > 1 AS enough
    FROM seen WHERE size IS NOT NULL),
whole AS (
    SELECT rest, min(n) AS first, max(iif(state = 'ok', size, NULL)) AS ok, min(iif(failure = 'oom', size, NULL)) AS oom
    FROM row GROUP BY rest),
largest AS (
    SELECT rest, measured_memory AS bytes, row_number() OVER (PARTITION BY rest ORDER BY size DESC, n) AS place FROM row
    WHERE state = 'ok'),
device AS (
    SELECT rest, usable, row_number() OVER (PARTITION BY rest ORDER BY n DESC) AS place FROM row WHERE predicted),
point AS (
    SELECT rest, size AS x, iif(enough, measured_memory, largest_rank) AS y, count(*) OVER (PARTITION BY rest) AS points
    FROM row WHERE iif(enough, measured, predicted)),
middle AS MATERIALIZED (
    SELECT rest, sum(x / points) AS x, sum(y / points) AS y, min(x) > 0 AND min(y) > 0 AS positive FROM point GROUP BY rest),
line AS (
    SELECT m.rest, m.x, m.y, sum((p.x - m.x) * (p.y - m.y)) / sum((p.x - m.x) * (p.x - m.x)) AS slope
    FROM middle AS m JOIN point AS p USING (rest) WHERE m.positive GROUP BY m.rest),
reach AS (
    SELECT w.*, l.bytes / iif(usable > 0 AND l.bytes > 0, usable, NULL) AS used,
        min(max(floor((usable - (y - slope * x)) / slope), 0), 1e6) AS predicted
    FROM whole AS w LEFT JOIN largest AS l ON l.rest = w.rest AND l.place = 1
    LEFT JOIN device AS d ON d.rest = w.rest AND d.place = 1 LEFT JOIN line ON line.rest = w.rest AND slope > 0 AND usable > 0)
SELECT first, say('  %9s  %9s  %9s  %7s  %s', iif(ok IS NULL, '-', say('%g', ok)), iif(oom IS NULL, '-', say('%g', oom)),
    iif(predicted IS NULL, '-', say('%g', predicted)), iif(used IS NULL, '-', say('%.1f %%', 100 * (1 - used))), rest) FROM reach;

-- The jobs with an outcome that were predicted before: what skipping those above a share of the memory would have
-- avoided and lost, and Wilson's 95 % interval of what an audit of pruning has found.
CREATE VIEW pruning (n, line) AS
WITH
outcome AS MATERIALIZED (
    SELECT state = 'ok' AS ok, state <> 'ok' AS oom, before, usable, is_audit FROM seen
    WHERE why IS NULL AND before IS NOT NULL AND usable > 0 AND (state IN ('ok', 'pruned') OR failure = 'oom')),
whole AS MATERIALIZED (SELECT total(ok) AS ok, total(oom) AS oom FROM outcome),
audit AS (SELECT count(*) + 0.0 AS n, total(ok) AS ok, total(ok) / count(*) AS share, 1.959964 AS z FROM outcome WHERE is_audit),
wilson AS (
    SELECT *, (share + z * z / (2 * n)) / (1 + z * z / n) AS middle,
        z / (1 + z * z / n) * sqrt(share * (1 - share) / n + z * z / (4 * n * n)) AS half FROM audit)
SELECT 0, say('running out of memory, predicted before the sweep: %d jobs failed, %d ran', oom, ok) FROM whole
UNION ALL SELECT 1, '  skipped above   failures avoided   good jobs lost'
UNION ALL SELECT 2 + s.value, say('  %10.0f %%   %9d (%3.0f %%)   %7d (%3.0f %%)', 100 * s.value, total(o.oom),
        coalesce(100 * total(o.oom) / nullif(w.oom, 0), 0.0), total(o.ok), coalesce(100 * total(o.ok) / nullif(w.ok, 0), 0.0))
    FROM whole AS w, json_each('[0.7, 0.8, 0.9, 1.0, 1.1, 1.2]') AS s LEFT JOIN outcome AS o ON before > s.value * usable
    GROUP BY s.value
UNION ALL SELECT 9, iif(n = 0, 'audit of pruning: no audit has run yet', say(
    'audit of pruning: %d of %.0f would have run: wrong in %.0f %% (%.0f to %.0f %%)', ok, n, 100 * share,
    100 * max(0.0, middle - half), 100 * min(1.0, middle + half))) FROM wilson;

-- Predicted over measured, of what was predicted before it ran.
CREATE TABLE observed (quantity, ratio);

-- Quantiles are those of src/util/quantile.h.
CREATE VIEW accuracy (n, line) AS
WITH
error AS (
    SELECT quantity, abs(ratio - 1) AS error, max(ratio, 1 / ratio) AS ratio, count(*) OVER (PARTITION BY quantity) AS count,
        row_number() OVER (PARTITION BY quantity ORDER BY abs(ratio - 1)) - 1 AS by_error,
        row_number() OVER (PARTITION BY quantity ORDER BY max(ratio, 1 / ratio)) - 1 AS by_ratio FROM observed),
at AS (SELECT *, 0.5 * (count - 1) AS middle, 0.95 * (count - 1) AS high FROM error),
summed AS (
    SELECT quantity, count, sum(error) / count AS mean, middle - floor(middle) AS middle_part, high - floor(high) AS high_part,
        sum(iif(by_error = floor(middle), error, NULL)) AS middle_left,
        sum(iif(by_error = ceil(middle), error, NULL)) AS middle_right,
        sum(iif(by_ratio = floor(high), ratio, NULL)) AS high_left, sum(iif(by_ratio = ceil(high), ratio, NULL)) AS high_right
    FROM at GROUP BY quantity)
SELECT key, say('%-6s  ', value) || iif(count IS NULL, 'no measurements yet',
    say('%d runs, each predicted before it ran: MAPE %.1f %%, median %.1f %%, p95 ratio %.2f', count, 100 * mean,
        100 * ((1 - middle_part) * middle_left + middle_part * middle_right),
        (1 - high_part) * high_left + high_part * high_right))
FROM json_each('["memory", "time"]') LEFT JOIN summed ON quantity = value;

-- What predictions are calibrated with. terms: their weights, as a profile has them; baseline_error: where a constant MFU is
-- used.
CREATE TABLE calibration (n INTEGER PRIMARY KEY, quantity, framework, device, cluster, prior, measured, censored, broken, sigma,
    model_error, baseline_error, terms);

CREATE VIEW calibration_line (n, line) AS
SELECT n, say('%s of %s on %s%s%s: %s, from %d measurement%s, %d bound%s (ran out of memory, or fitted), %d broken run%s left out; '
        || 'error %.1f %%', quantity, framework, iif(device = '', 'its device', device), iif(cluster = '', '', ' of '), cluster,
        iif(prior, 'prior', 'calibrated'), measured, iif(measured = 1, '', 's'), censored, iif(censored = 1, '', 's'), broken,
        iif(broken = 1, '', 's'), 100 * sigma)
    || iif(baseline_error IS NULL, '', say('%s  a constant MFU was more accurate over the last runs (error %.1f %%, the model '
        || '%.1f %%), so it is used', char(10), 100 * baseline_error, 100 * model_error))
FROM calibration;

-- Each framework, device and cluster begins a profile.
CREATE VIEW profile_line (n, part, line) AS
WITH
place AS MATERIALIZED (
    SELECT *, coalesce('framework = "' || nullif(framework, '') || '"' || char(10), '')
        || coalesce('device = "' || nullif(device, '') || '"' || char(10), '')
        || coalesce('cluster = "' || nullif(cluster, '') || '"' || char(10), '') AS place FROM calibration WHERE NOT prior),
begun AS MATERIALIZED (SELECT *, lag(place, 1, '') OVER (ORDER BY n) AS before, row_number() OVER (ORDER BY n) AS nth FROM place)
SELECT n, 0, iif(nth = 1, '', char(10) || '# A separate profile:' || char(10)) || '[predict]' || rtrim(char(10) || place, char(10))
    FROM begun WHERE place <> before
UNION ALL SELECT n, 1, say('%s# From %d measurements.%s[predict.%s]%s', char(10), measured, char(10), quantity, char(10))
    || rtrim(terms, char(10)) FROM begun;

-- Plans where the sweep is and where it is scaled to (sql/scaled_plans.sql). Without words: a combination there of which
-- nothing is predicted. id: a hash of the words; amount: tokens or samples of a step.
CREATE TABLE plan (n INTEGER PRIMARY KEY, is_there, words, id, work, counts_tokens, memory_of, memory_width, time_width,
    devices, samples, amount, memory, memory_low, memory_high, verdict, time, time_low, time_high, is_measured);
