-- Plans of a sweep where it is and where it is scaled to: which runs there, how fast, and which is then the best. Plans
-- are known by their words, without what scaling changes. Where the sweep has one on several numbers of devices, the
-- largest below that there counts as here. Throughput is in tokens, or samples where a model has none, per second;
-- efficiency is that per device, there over here. Places count, among plans of the same work (FLOPs of a sample, which
-- tell models and lengths apart) on as many devices, those that are not predicted to run out of memory, by throughput.
--
-- Beyond the devices that anything was measured on intervals are widened (evidence_scaling_width, whose widths of a
-- doubling to there are memory_width and time_width); those of efficiency are that wide alone, as what else is
-- mispredicted of a plan is so on either side.

-- Each by number and hash of words alone, as rows with all that is known of a plan are slow to sort.
CREATE TABLE side (row INTEGER PRIMARY KEY, id, n, is_there, devices);
INSERT INTO side SELECT NULL, id, n, is_there, devices FROM (SELECT *, amount / time / devices AS each FROM plan)
    WHERE words IS NOT NULL
    ORDER BY id, is_there DESC, devices DESC, each IS NULL, each DESC, iif(each IS NULL, -n, n);

CREATE TABLE there (id INTEGER PRIMARY KEY, first, n, devices);
INSERT INTO there SELECT id, first, iif(is_there, n, NULL), iif(is_there, devices, 9e999)
    FROM (SELECT id, min(n) AS first, min(row) AS row FROM side GROUP BY id) JOIN side USING (row, id);

CREATE TABLE here (id INTEGER PRIMARY KEY, n);
INSERT INTO here SELECT id, n FROM (SELECT id, s.n, min(iif(s.devices < t.devices, row, row + 9e9))
    FROM side AS s JOIN there AS t USING (id) WHERE NOT is_there GROUP BY id);

CREATE TABLE placed (n INTEGER PRIMARY KEY, place);
INSERT INTO placed SELECT n, row_number() OVER (PARTITION BY is_there, work, devices ORDER BY each DESC, words)
    FROM (SELECT p.n, p.is_there, f.work, p.devices, p.amount / p.time / p.devices AS each, p.words
        FROM plan AS p CROSS JOIN there AS t USING (id) LEFT JOIN here AS h USING (id) JOIN plan AS f ON f.n = first
        WHERE p.n IN (t.n, h.n) AND p.verdict IS NOT 'certain')
    WHERE each IS NOT NULL;

CREATE TABLE pair (n INTEGER PRIMARY KEY, work, first, there, here, place, place_here);
INSERT INTO pair SELECT NULL, f.work, first, t.n, h.n, o.place, i.place
    FROM plan AS f CROSS JOIN there AS t ON t.id = f.id AND first = f.n LEFT JOIN here AS h ON h.id = f.id
    LEFT JOIN placed AS o ON o.n = t.n LEFT JOIN placed AS i ON i.n = h.n LEFT JOIN plan AS p ON p.n = o.n
    ORDER BY f.work, o.place IS NULL, p.devices DESC, p.amount / p.time / p.devices DESC, f.words;

CREATE TABLE measured AS SELECT max(devices) AS most FROM plan WHERE is_measured;

CREATE VIEW scaled AS
WITH
side AS (
    SELECT pair.n, f.words, pair.work, f.counts_tokens, f.memory_of, coalesce(t.memory_width, f.memory_width) AS memory_doubled,
        coalesce(t.time_width, f.time_width) AS time_doubled, place, place_here, CAST(t.devices AS INTEGER) AS devices,
        CAST(h.devices AS INTEGER) AS devices_here, t.samples, h.samples AS samples_here, t.verdict,
        t.memory AS predicted_memory, t.memory_low AS memory_lower, t.memory_high AS memory_higher, h.memory AS predicted_memory_here,
        t.time AS predicted_time, t.time_low AS time_lower, t.time_high AS time_higher, h.time AS predicted_time_here,
        t.amount / t.time AS throughput, t.amount / t.time_high AS rate_lower, t.amount / t.time_low AS rate_higher,
        t.amount / t.time / t.devices AS each, h.amount / h.time / h.devices AS each_here,
        sqrt(max(log2(t.devices / most), 0.0)) AS far
    FROM measured CROSS JOIN pair JOIN plan AS f ON f.n = first LEFT JOIN plan AS t ON t.n = there LEFT JOIN plan AS h ON h.n = here),
wide AS (
    SELECT *, memory_doubled * far AS m, time_doubled * far AS t, each / each_here AS efficiency,
        time_doubled * sqrt(abs(log2(CAST(devices AS REAL) / devices_here))) AS width FROM side)
SELECT *, efficiency * exp(-width) AS efficiency_low, efficiency * exp(width) AS efficiency_high,
    iif(far > 0, predicted_memory * exp(-sqrt(ln(predicted_memory / memory_lower) * ln(predicted_memory / memory_lower) + m * m)),
        memory_lower) AS memory_low,
    iif(far > 0, predicted_memory * exp(sqrt(ln(memory_higher / predicted_memory) * ln(memory_higher / predicted_memory) + m * m)),
        memory_higher) AS memory_high,
    iif(far > 0, predicted_time * exp(-sqrt(ln(predicted_time / time_lower) * ln(predicted_time / time_lower) + t * t)),
        time_lower) AS time_low,
    iif(far > 0, predicted_time * exp(sqrt(ln(time_higher / predicted_time) * ln(time_higher / predicted_time) + t * t)),
        time_higher) AS time_high,
    iif(far > 0, throughput * exp(-sqrt(ln(throughput / rate_lower) * ln(throughput / rate_lower) + t * t)), rate_lower)
        AS throughput_low,
    iif(far > 0, throughput * exp(sqrt(ln(rate_higher / throughput) * ln(rate_higher / throughput) + t * t)), rate_higher)
        AS throughput_high
FROM wide;

CREATE VIEW plan_line (work, n, line) AS
WITH
named AS NOT MATERIALIZED (
    SELECT *, place || iif(place % 100 BETWEEN 11 AND 13, 'th', substr('thstndrdthththththth', 1 + 2 * (place % 10), 2)) AS nth,
        place_here || iif(place_here % 100 BETWEEN 11 AND 13, 'th',
            substr('thstndrdthththththth', 1 + 2 * (place_here % 10), 2)) AS nth_here
    FROM scaled),
listed AS (
    SELECT s.* FROM (SELECT n, row_number() OVER (PARTITION BY work ORDER BY n) AS row FROM pair WHERE there) AS l
    JOIN asked ON row <= most CROSS JOIN named AS s USING (n)),
whole AS (SELECT work, min(n) AS n, count(there) AS plans FROM pair GROUP BY work),
other AS MATERIALIZED (
    SELECT s.* FROM (SELECT o.n, row_number() OVER (PARTITION BY o.work ORDER BY devices DESC, o.n) AS choice
        FROM pair AS o JOIN plan ON plan.n = here WHERE place_here = 1) AS o CROSS JOIN named AS s USING (n) WHERE choice = 1),
best AS (
    SELECT b.*, plans, h.words AS other, h.nth AS other_nth, h.devices AS other_devices,
        erfc(-ln(b.throughput / h.throughput) / (sqrt(ln(b.throughput_high / b.throughput_low) * ln(b.throughput_high / b.throughput_low)
            + ln(h.throughput_high / h.throughput_low) * ln(h.throughput_high / h.throughput_low)) / (2 * 1.6448536269514722)
            * sqrt(2))) / 2 AS faster
    FROM whole AS w CROSS JOIN named AS b USING (n) LEFT JOIN other AS h ON h.work = b.work
    WHERE plans > 0),
largest AS (
    SELECT s.devices, time_doubled, memory_doubled, far, most AS measured FROM measured CROSS JOIN scaled AS s
    WHERE most > 0 AND s.n = (SELECT pair.n FROM pair JOIN plan ON plan.n = there WHERE devices > most
        ORDER BY devices DESC, words LIMIT 1))
SELECT work, n, say('%s  %s%son %.0f devices', coalesce(nth, 'no place'), words, iif(words = '', '', ' '), devices)
    || CASE WHEN devices_here IS NULL THEN '; not possible here'
        WHEN place_here THEN say('; here %s, on %.0f', nth_here, devices_here)
        ELSE say('; not possible here, on %.0f', devices_here) END
    || iif(predicted_memory IS NULL, '', say('%s    memory %B%s (%B to %B)%s', char(10), predicted_memory,
            coalesce(' ' || nullif(memory_of, ''), ''), memory_low, memory_high, coalesce(', ' || verdict, ''))
        || iif(predicted_memory_here IS NULL, '', say('; here %B', predicted_memory_here)))
    || iif(predicted_time IS NULL, '', say('%s    step %.3g s (%.3g to %.3g), %.4g %s/s (%.3g to %.3g)', char(10), predicted_time,
            time_low, time_high, throughput, iif(counts_tokens, 'tokens', 'samples'), throughput_low, throughput_high)
        || iif(samples <> samples_here, say(' at a batch of %.0f, here %.0f', samples, samples_here), '')
        || iif(efficiency IS NULL, '', say('; efficiency %.0f %% (%.0f to %.0f)', 100 * efficiency, 100 * efficiency_low,
            100 * efficiency_high))) FROM listed
UNION ALL SELECT work, 9e18, iif(plans > most, say('… and %d more; --all shows them%s', plans - most, char(10)), '')
    || char(10) || CASE WHEN place IS NULL THEN 'no plan can be predicted to fit there, with a step time'
    WHEN other IS NULL THEN words || ' is the best there' WHEN other = words THEN words || ' is the best here and there'
    ELSE say('%s is the best there, and %s here; %s is the best here, and %s there%s', words,
        coalesce(nth_here, iif(devices_here, 'without a place', 'not possible')), other,
        coalesce(other_nth, iif(other_devices, 'without a place', 'not possible')),
        iif(other_nth IS NULL, '', say('; the first is faster than the second with a probability of %.0f %%', 100 * faster)))
    END || char(10) FROM best, asked
UNION ALL SELECT 9e999, 0, say(
    '%d plan%s both here and there, %d only there, %d only here; %d are predicted not to fit there', count(there + here),
    iif(count(there + here) = 1, '', 's'), sum(here IS NULL), sum(there IS NULL), total(verdict = 'certain'))
    FROM pair LEFT JOIN plan ON plan.n = there
UNION ALL SELECT 9e999, 1, say('nothing can be predicted for %d combinations there', count(*)) FROM plan
    WHERE words IS NULL HAVING count(*) > 0
UNION ALL SELECT 9e999, 2, 'nothing has been measured here, so intervals are as wide as the errors of predictions elsewhere'
    FROM measured WHERE most IS NULL
UNION ALL SELECT 9e999, 3, say('measured on at most %.0f devices; %.0f are %.3g times as many, so intervals of time are '
    || 'widened by %.0f %% and those of memory by %.0f %%, as in comparisons of plans on few and on many devices', measured,
    devices, devices * 1.0 / measured, 100 * expm1(time_doubled * far), 100 * expm1(memory_doubled * far)) FROM largest;
