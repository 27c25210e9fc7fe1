-- What `predict` looks at, and in the views what it says of that, line by line (src/report/saying.h). What is not known is
-- NULL.
CREATE TABLE asked (most, memory_words); -- one row: the most combinations or plans listed; whose memory was measured

-- Combinations. rest, size: the words without the key of a frontier, and its value. verdict: its name.
CREATE TABLE seen (n INTEGER PRIMARY KEY, words, state, failure, why, memory_of, memory, memory_low, memory_high,
    memory_note, verdict, oom, largest_rank, usable, before, is_audit, measured_memory, time, time_low, time_high,
    time_note, peak_s, flops, peak_flops, measured_time, framework, features, by_evidence, rest, size);

CREATE VIEW list (n, line) AS
SELECT n, words || iif(state = '', '', '  ' || state) || iif(failure = '', '', '/' || failure)
    || coalesce(char(10) || '    no prediction: ' || why, '')
    -- A normal distribution is not reliable far out in its tails.
    || iif(memory IS NULL, '', say('%s    memory %B%s (%B to %B%s)', char(10), memory, coalesce(' ' || nullif(memory_of, ''), ''),
            memory_low, memory_high, memory_note)
        || iif(verdict IS NULL, '', ', ' || verdict || ', out of memory with ' || CASE WHEN 100 * oom < 0.1 THEN 'less than 0.1'
            WHEN 100 * oom > 99.9 THEN 'more than 99.9' ELSE say(iif(100 * oom < 10, '%.1f', '%.0f'), 100 * oom) END || ' %'
            -- The interval is of what the keys say.
            || iif(memory_low > usable AND oom < 0.9, ', as recipes may recompute more than keys say', ''))
        || iif(measured_memory IS NULL, '', say('; measured %B%s (%+.1f %%)', measured_memory,
            coalesce(' ' || nullif(memory_words, ''), ''), 100 * (memory / measured_memory - 1))))
    || iif(time IS NULL, '', say('%s    step %.3g s (%.3g to %.3g%s), MFU %.1f %%', char(10), time, time_low, time_high, time_note,
            100 * peak_s / time)
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

-- Plans where the sweep is and where it is scaled to (sql/scaled_plans.sql). Without words: a combination there of which
-- nothing is predicted. id: a hash of the words; amount: tokens or samples of a step.
CREATE TABLE plan (n INTEGER PRIMARY KEY, is_there, words, id, work, counts_tokens, memory_of, memory_width, time_width,
    devices, samples, amount, memory, memory_low, memory_high, verdict, time, time_low, time_high, is_measured);
