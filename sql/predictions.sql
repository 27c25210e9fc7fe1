-- What `predict` looks at, and in the views what it says of that, line by line (src/report/saying.h). What is not known is
-- NULL.
CREATE TABLE asked (most, memory_words); -- one row: the most combinations or plans listed; whose memory was measured

-- Combinations. rest, size: the words without the key of a frontier, and its value. verdict: its name.
CREATE TABLE seen (n INTEGER PRIMARY KEY, words, state, failure, why, memory_of, memory, memory_low, memory_high,
    memory_note, verdict, oom, largest_rank, usable, before, is_audit, measured_memory, time, time_low, time_high,
    time_note, peak_s, flops, peak_flops, measured_time, framework, features, by_evidence, rest, size);

CREATE VIEW list (n, part, line) AS
SELECT n, 0, words || iif(state = '', '', '  ' || state) || iif(failure = '', '', '/' || failure) FROM seen
UNION ALL SELECT n, 1, '    no prediction: ' || why FROM seen WHERE why IS NOT NULL
-- A normal distribution is not reliable far out in its tails.
UNION ALL SELECT n, 2, say('    memory %B%s (%B to %B%s)', memory, coalesce(' ' || nullif(memory_of, ''), ''), memory_low,
        memory_high, memory_note)
    || iif(verdict IS NULL, '', ', ' || verdict || ', out of memory with ' || CASE WHEN 100 * oom < 0.1 THEN 'less than 0.1'
        WHEN 100 * oom > 99.9 THEN 'more than 99.9' ELSE say(iif(100 * oom < 10, '%.1f', '%.0f'), 100 * oom) END || ' %')
    || iif(measured_memory IS NULL, '', say('; measured %B%s (%+.1f %%)', measured_memory,
        coalesce(' ' || nullif(memory_words, ''), ''), 100 * (memory / measured_memory - 1)))
    FROM seen, asked WHERE memory IS NOT NULL
UNION ALL SELECT n, 3, say('    step %.3g s (%.3g to %.3g%s), MFU %.1f %%', time, time_low, time_high, time_note,
        100 * peak_s / time)
    || iif(measured_time IS NULL, '', say('; measured %.3g s (%+.1f %%), MFU %.1f %%', measured_time,
        100 * (time / measured_time - 1), 100 * flops / (measured_time * peak_flops)))
    FROM seen WHERE time IS NOT NULL;

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

-- Plans of a sweep where it is and where it is scaled to: which runs there, how fast, and which is then the best. Plans
-- are known by their words, without what scaling changes. Where the sweep has one on several numbers of devices, the
-- largest below that there counts as here. Throughput is in tokens, or samples where a model has none, per second;
-- efficiency is that per device, there over here. Places count, among plans of the same work (FLOPs of a sample, which
-- tell models and lengths apart) on as many devices, those that are not predicted to run out of memory, by throughput.
--
-- Beyond the devices that anything was measured on intervals are widened (evidence_scaling_width, whose widths of a
-- doubling to there are memory_width and time_width); those of efficiency are that wide alone, as what else is
-- mispredicted of a plan is so on either side.

-- A row without words is a combination there of which nothing is predicted. amount: tokens or samples of a step.
CREATE TABLE plan (n INTEGER PRIMARY KEY, is_there, words, work, counts_tokens, memory_of, memory_width, time_width, devices,
    samples, amount, memory, memory_low, memory_high, verdict, time, time_low, time_high, is_measured);

CREATE VIEW scaling AS
WITH
figure AS (SELECT n, is_there, words, devices, amount / time / devices AS each FROM plan WHERE words IS NOT NULL),
there (n, words, devices) AS MATERIALIZED (
    SELECT n, words, devices FROM (SELECT *, row_number() OVER (PARTITION BY words ORDER BY devices DESC, each IS NULL,
        each DESC, iif(each IS NULL, -n, n)) AS choice FROM figure WHERE is_there) WHERE choice = 1),
here (n, words) AS MATERIALIZED (
    SELECT n, words FROM (SELECT f.n, f.words, row_number() OVER (PARTITION BY f.words ORDER BY
        f.devices < coalesce(t.devices, 9e999) DESC, f.devices DESC, each IS NULL, each DESC, iif(each IS NULL, -f.n, f.n))
        AS choice FROM figure AS f LEFT JOIN there AS t USING (words) WHERE NOT is_there) WHERE choice = 1),
known AS MATERIALIZED (
    SELECT f.words, f.work, f.counts_tokens, f.memory_of, coalesce(t.memory_width, f.memory_width) AS memory_doubled,
        coalesce(t.time_width, f.time_width) AS time_doubled
    FROM (SELECT words, min(n) AS n FROM figure GROUP BY words) AS k JOIN plan AS f USING (n)
    LEFT JOIN there AS o ON o.words = k.words LEFT JOIN plan AS t ON t.n = o.n),
measured (most) AS MATERIALIZED (SELECT max(devices) FROM plan WHERE is_measured),
far AS (
    SELECT p.*, k.work AS its_work, memory_doubled, time_doubled, sqrt(max(log2(p.devices / m.most), 0.0)) AS far
    FROM measured AS m, (SELECT n FROM there UNION ALL SELECT n FROM here) AS s CROSS JOIN plan AS p USING (n)
    JOIN known AS k USING (words)),
wide AS (
    SELECT *, memory_doubled * far AS m, time_doubled * far AS t, amount / time AS rate, amount / time / devices AS each
    FROM far),
side AS MATERIALIZED (
    SELECT words, is_there, devices, samples, verdict, memory, time, rate, each,
        iif(far > 0, memory * exp(-sqrt(ln(memory / memory_low) * ln(memory / memory_low) + m * m)), memory_low) AS memory_low,
        iif(far > 0, memory * exp(sqrt(ln(memory_high / memory) * ln(memory_high / memory) + m * m)), memory_high) AS memory_high,
        iif(far > 0, time * exp(-sqrt(ln(time / time_low) * ln(time / time_low) + t * t)), time_low) AS time_low,
        iif(far > 0, time * exp(sqrt(ln(time_high / time) * ln(time_high / time) + t * t)), time_high) AS time_high,
        iif(far > 0, rate * exp(-sqrt(ln(rate / (amount / time_high)) * ln(rate / (amount / time_high)) + t * t)),
            amount / time_high) AS rate_low,
        iif(far > 0, rate * exp(sqrt(ln(amount / time_low / rate) * ln(amount / time_low / rate) + t * t)),
            amount / time_low) AS rate_high,
        iif(each IS NULL OR verdict IS 'certain', NULL, row_number() OVER (PARTITION BY is_there, its_work,
            each IS NULL OR verdict IS 'certain', devices ORDER BY each DESC, words)) AS place
    FROM wide),
pair AS (
    SELECT k.*, t.place, h.place AS place_here,
        CAST(t.devices AS INTEGER) AS devices, CAST(h.devices AS INTEGER) AS devices_here, t.samples,
        h.samples AS samples_here, t.verdict, t.memory AS predicted_memory, t.memory_low, t.memory_high, t.time AS predicted_time, t.time_low,
        t.time_high, h.time AS predicted_time_here, h.memory AS predicted_memory_here, t.rate AS throughput,
        t.rate_low AS throughput_low, t.rate_high AS throughput_high, t.each / h.each AS efficiency, t.each,
        time_doubled * sqrt(abs(log2(t.devices / h.devices))) AS width
    FROM known AS k LEFT JOIN side AS t ON t.words = k.words AND t.is_there
    LEFT JOIN side AS h ON h.words = k.words AND NOT h.is_there)
SELECT *, efficiency * exp(-width) AS efficiency_low, efficiency * exp(width) AS efficiency_high,
    row_number() OVER (ORDER BY work, place IS NULL, iif(place, devices, 0) DESC, iif(place, each, 0) DESC, words) AS n
FROM pair;

-- From the table `scaled`, which is made of `scaling` once all plans are there.
CREATE VIEW plan_line (work, n, part, line) AS
WITH
plan AS MATERIALIZED (
    SELECT *, place || iif(place % 100 BETWEEN 11 AND 13, 'th', substr('thstndrdthththththth', 1 + 2 * (place % 10), 2)) AS nth,
        place_here || iif(place_here % 100 BETWEEN 11 AND 13, 'th',
            substr('thstndrdthththththth', 1 + 2 * (place_here % 10), 2)) AS nth_here,
        row_number() OVER w = 1 AS is_first, row_number() OVER (PARTITION BY work, devices IS NULL ORDER BY n) AS row,
        count(devices) OVER (PARTITION BY work) AS plans
    FROM scaled WINDOW w AS (PARTITION BY work ORDER BY n)),
other AS MATERIALIZED (
    SELECT *, row_number() OVER (PARTITION BY work ORDER BY devices_here DESC, n) AS choice FROM plan WHERE place_here = 1),
listed AS (SELECT * FROM plan, asked WHERE devices AND row <= most),
best AS (
    SELECT b.*, h.words AS other, h.nth AS other_nth, h.devices AS other_devices,
        erfc(-ln(b.throughput / h.throughput) / (sqrt(ln(b.throughput_high / b.throughput_low) * ln(b.throughput_high / b.throughput_low)
            + ln(h.throughput_high / h.throughput_low) * ln(h.throughput_high / h.throughput_low)) / (2 * 1.6448536269514722)
            * sqrt(2))) / 2 AS faster
    FROM plan AS b LEFT JOIN other AS h ON h.work = b.work AND h.choice = 1
    WHERE b.is_first AND b.plans > 0),
measured (devices) AS (SELECT max(devices) FROM main.plan WHERE is_measured),
largest AS (
    SELECT s.*, s.devices * 1.0 / m.devices AS times, sqrt(log2(s.devices * 1.0 / m.devices)) AS far, m.devices AS measured
    FROM scaled AS s, measured AS m WHERE s.devices > m.devices ORDER BY s.devices DESC, words LIMIT 1)
SELECT work, n, 0, say('%s  %s%son %.0f devices', coalesce(nth, 'no place'), words, iif(words = '', '', ' '), devices)
    || CASE WHEN devices_here IS NULL THEN '; not possible here'
        WHEN place_here THEN say('; here %s, on %.0f', nth_here, devices_here)
        ELSE say('; not possible here, on %.0f', devices_here) END FROM listed
UNION ALL SELECT work, n, 1, say('    memory %B%s (%B to %B)%s', predicted_memory, coalesce(' ' || nullif(memory_of, ''), ''),
        memory_low, memory_high, coalesce(', ' || verdict, ''))
    || iif(predicted_memory_here IS NULL, '', say('; here %B', predicted_memory_here)) FROM listed
    WHERE predicted_memory IS NOT NULL
UNION ALL SELECT work, n, 2, say('    step %.3g s (%.3g to %.3g), %.4g %s/s (%.3g to %.3g)', predicted_time, time_low, time_high,
        throughput, iif(counts_tokens, 'tokens', 'samples'), throughput_low, throughput_high)
    || iif(samples <> samples_here, say(' at a batch of %.0f, here %.0f', samples, samples_here), '')
    || iif(efficiency IS NULL, '', say('; efficiency %.0f %% (%.0f to %.0f)', 100 * efficiency, 100 * efficiency_low,
        100 * efficiency_high)) FROM listed WHERE predicted_time IS NOT NULL
UNION ALL SELECT work, 9e18, 3, say('… and %d more; --all shows them', plans - most) FROM best, asked WHERE plans > most
UNION ALL SELECT work, 9e18, 4, '' FROM best
UNION ALL SELECT work, 9e18, 5, CASE WHEN place IS NULL THEN 'no plan can be predicted to fit there, with a step time'
    WHEN other IS NULL THEN words || ' is the best there' WHEN other = words THEN words || ' is the best here and there'
    ELSE say('%s is the best there, and %s here; %s is the best here, and %s there%s', words,
        coalesce(nth_here, iif(devices_here, 'without a place', 'not possible')), other,
        coalesce(other_nth, iif(other_devices, 'without a place', 'not possible')),
        iif(other_nth IS NULL, '', say('; the first is faster than the second with a probability of %.0f %%', 100 * faster)))
    END FROM best
UNION ALL SELECT work, 9e18, 6, '' FROM best
UNION ALL SELECT 9e999, 0, 0, say(
    '%d plan%s both here and there, %d only there, %d only here; %d are predicted not to fit there', count(devices + devices_here),
    iif(count(devices + devices_here) = 1, '', 's'), sum(devices_here IS NULL), sum(devices IS NULL), total(verdict = 'certain'))
    FROM scaled
UNION ALL SELECT 9e999, 1, 0, say('nothing can be predicted for %d combinations there', count(*)) FROM main.plan
    WHERE words IS NULL HAVING count(*) > 0
UNION ALL SELECT 9e999, 2, 0, 'nothing has been measured here, so intervals are as wide as the errors of predictions elsewhere'
    FROM measured WHERE devices IS NULL
UNION ALL SELECT 9e999, 3, 0, say('measured on at most %.0f devices; %.0f are %.3g times as many, so intervals of time are '
    || 'widened by %.0f %% and those of memory by %.0f %%, as in comparisons of plans on few and on many devices', measured,
    devices, times, 100 * expm1(time_doubled * far), 100 * expm1(memory_doubled * far)) FROM largest;
