-- The clusters and batches of a tuning, as texts of its sweep file: the row of "answer". The row of "asked" has the
-- ds_config as `config` and what is told beside it: `sequence` is the largest degree that "auto" stands for; `every`
-- micro-batch is tried rather than powers of two; `least` and `most` limit the global batch, 0: no limit; `hosts` are
-- names with their devices, [["w0", [0, 1]]], and with `names` each cluster lists its own; of `most_nodes` and
-- `most_gpus`, 0 is no limit.
--
-- With train_batch_size there is one global batch, and accumulation follows from it. If the ranks of some cluster or
-- degree cannot share it out evenly, or not by a micro-batch that the ds_config lists, each micro-batch is tried at the
-- nearest batch that it can have there; those that are not listed, only where that is off by at most an eighth.
--
-- Otherwise the global batch may have limits. If the ds_config leaves accumulation open ("auto" or absent), it takes
-- values within them: every one, the largest first, if that makes at most 16384 pairs; else the largest and powers of
-- two. With no limit it is left as it is.
--
-- Micro-batches: every one if a strategy searches for the best, else powers of two. If other keys are tuned too (not
-- "fast"), only multiples of 8 above 64 and of 32 above 256, and only the largest and the smallest accumulation, so
-- that the matching configurations stay within what a search lists.
CREATE TABLE said AS
    SELECT config, told, told ->> 'nodes' AS nodes, told ->> 'gpus' AS gpus, told ->> 'mp_size' AS mp_size,
        told ->> 'sequence' AS sequence, told ->> 'fast' AS fast, told ->> 'every' AS every,
        told ->> 'least_micro' AS least_micro, told ->> 'most_micro' AS most_micro,
        told ->> 'from_least' AS from_least, told ->> 'least' AS least, told ->> 'most' AS most,
        iif(told ->> 'here_alone', 1, told ->> 'most_nodes') AS most_nodes, told ->> 'most_gpus' AS most_gpus,
        told -> 'hosts' AS hosts, told ->> 'names' AS names
    FROM asked;
CREATE TABLE part (part, type, json, key);
INSERT INTO part SELECT key, type, iif(type = 'object', '[0]', coalesce(config -> place, 'null')), value FROM (
    SELECT p.key, value, config, '$.' || value AS place, coalesce(json_type(config, '$.' || value), 'null') AS type
    FROM said JOIN json_each('["train_batch_size", "train_micro_batch_size_per_gpu", "gradient_accumulation_steps",
        "sequence_parallel_size", "pipeline.stages", "tensor_parallel.autotp_size"]') AS p);
-- One by one; 0: no positive integer.
CREATE TABLE item (part, at, n, type);
INSERT INTO item SELECT p.part, i.id, iif(i.type IN ('integer', 'real') AND i.value BETWEEN 1 AND 9e15
        AND i.value = CAST(i.value AS INTEGER), CAST(i.value AS INTEGER), 0), p.type
    FROM part AS p JOIN json_each(p.json) AS i WHERE p.type <> 'null';
CREATE TABLE given AS
    SELECT coalesce((SELECT n FROM item WHERE part = 0 AND type <> 'array'), 0) AS batch, s.json IN ('null', '"auto"')
        AS is_open, q.json = '"auto"' AS splits, iif(q.type = 'null', '', ' / coalesce(sequence_parallel_size, 1)')
        AS per, m.type = 'array' AS is_listed, said.*, iif(m.json IN ('null', '"auto"') OR from_least AND i.n > 0,
            least_micro, nullif(i.n, 0)) AS first
    FROM said JOIN part AS m LEFT JOIN item AS i ON i.part = 1 AND m.type <> 'array' JOIN part AS s ON s.part = 2
    JOIN part AS q ON q.part = 3 WHERE m.part = 1;

-- Ranks of one group share a sequence, a pipeline or a tensor, and their samples.
CREATE TABLE power AS WITH RECURSIVE power (n) AS (
    SELECT 1 UNION ALL SELECT 2 * n FROM power JOIN said WHERE 2 * n <= sequence)
SELECT * FROM power;
CREATE TABLE degree (part, at, n);
INSERT INTO degree SELECT part, at, max(n, 1) FROM item JOIN given WHERE part > 3 OR part = 3 AND NOT splits
    UNION ALL SELECT 3, n, n FROM power JOIN given WHERE splits
    UNION ALL SELECT part, 0, 1 FROM part WHERE part > 2 AND type = 'null';
CREATE TABLE cluster (at, nodes, gpus);
INSERT INTO cluster SELECT row_number() OVER (ORDER BY h.id, d.id), CAST(h.value AS INTEGER), CAST(d.value AS INTEGER)
    FROM said JOIN json_each(coalesce(nullif(config -> '$.autotuning.num_nodes', 'null'), nodes)) AS h
    JOIN json_each(coalesce(nullif(config -> '$.autotuning.num_gpus', 'null'), gpus)) AS d;
-- The first devices of each of the first hosts that have that many, so that each rank of a job has its own device,
-- however uneven the hosts are; '' if the hosts do not suffice.
CREATE TABLE fit (at, i, word);
INSERT INTO fit SELECT c.at, row_number() OVER (PARTITION BY c.at ORDER BY h.id), (h.value ->> 0) || ':' || (SELECT
        group_concat(d.value, ',') FROM json_each(h.value, '$[1]') AS d WHERE d.key < c.gpus)
    FROM cluster AS c JOIN said JOIN json_each(hosts) AS h WHERE json_array_length(h.value, '$[1]') >= c.gpus;
CREATE TABLE placed (at, nodes, gpus, include, is_there);
INSERT INTO placed SELECT c.at, c.nodes, c.gpus, iif(count >= c.nodes, (SELECT group_concat(word, '@') FROM (SELECT word
        FROM fit AS f WHERE f.at = c.at AND f.i <= c.nodes ORDER BY f.i)), ''),
    (count >= c.nodes OR hosts IS NULL) AND (NOT most_nodes OR c.nodes <= most_nodes)
        AND (NOT most_gpus OR c.gpus <= most_gpus)
    FROM (SELECT *, (SELECT count(*) FROM fit AS f WHERE f.at = cluster.at) AS count FROM cluster) AS c JOIN said;
CREATE TABLE shared (at, n);
INSERT INTO shared SELECT row_number() OVER (ORDER BY c.at, s.at, p.at, t.at), c.n / s.n / p.n / t.n
    FROM (SELECT c.at, max(c.nodes * c.gpus / mp_size, 1) AS n FROM cluster AS c JOIN said) AS c
    JOIN degree AS s ON s.part = 3 AND c.n % s.n = 0 JOIN degree AS p ON p.part = 4 AND c.n / s.n % p.n = 0
    JOIN degree AS t ON t.part = 5 AND c.n / s.n / p.n % t.n = 0;
CREATE TABLE ranks (at, n);
INSERT INTO ranks SELECT min(at), n FROM shared GROUP BY n
    UNION ALL SELECT 1, 1 WHERE NOT EXISTS (SELECT 1 FROM shared);

-- By which micro-batch of the list some ranks cannot share out the one global batch, or 1 if by none at all.
CREATE TABLE uneven (at, micro);
INSERT INTO uneven SELECT r.at, iif(batch % r.n, 1, (SELECT n FROM item WHERE part = 1 AND type = 'array' AND n > 0
        AND batch / r.n % n ORDER BY at LIMIT 1)) FROM ranks AS r JOIN given WHERE is_open;
CREATE TABLE of AS
    SELECT *, limited AND is_open AS pairs, NOT every AND NOT fast AND (NOT batch OR NOT is_even) AS smallest,
        min(most_micro, coalesce(coalesce(nullif(batch + (NOT is_even) * (batch / 8), 0), nullif(most, 0))
            / (SELECT min(n) FROM ranks), most_micro)) AS largest
    FROM (SELECT *, uneven IS NULL AS is_even, iif(uneven IS NULL, batch, 0) AS fixed,
            least OR most OR uneven IS NOT NULL AS limited
        FROM (SELECT batch, is_open, per, is_listed, fast, every, first, most_micro, iif(batch, 0, least) AS least,
            iif(batch, 0, most) AS most, (SELECT micro FROM uneven WHERE micro IS NOT NULL ORDER BY at LIMIT 1)
            AS uneven FROM given));

-- Micro-batches: of the list, or from the first on, coarser if other keys are tuned. Those that nobody listed are tried
-- where the nearest global batch is off by at most an eighth.
CREATE TABLE grown AS WITH RECURSIVE grown (n) AS (
    SELECT first FROM of WHERE first UNION ALL
    SELECT iif(every, n + iif(fast OR n < 64, 1, iif(n < 256, 8 - n % 8, 32 - n % 32)), 2 * n) FROM grown JOIN of
    WHERE n <= largest AND NOT smallest)
SELECT * FROM grown;
CREATE TABLE size (k, n);
INSERT INTO size SELECT at, n FROM item JOIN of WHERE part = 1 AND is_listed AND pairs
        AND (SELECT min(n) FROM item WHERE part = 1)
    UNION ALL SELECT g.n, g.n FROM grown AS g JOIN of WHERE g.n = first OR (g.n <= largest AND (is_even OR EXISTS (
        SELECT 1 FROM ranks AS r
        WHERE 8 * abs(g.n * r.n * max(1, (2 * batch + g.n * r.n) / (2 * g.n * r.n)) - batch) <= batch)));

-- Accumulations within the limits, on each number of ranks; without an upper one, the smallest that reaches the lower.
CREATE TABLE steps (which);
INSERT INTO steps SELECT CASE WHEN NOT fast THEN 'smallest'
    WHEN sum(most / (s.n * r.n)) > 16384 THEN 'powers' ELSE 'every' END
    FROM size AS s JOIN ranks AS r JOIN of;
CREATE TABLE span (k, n, least, last, which);
INSERT INTO span SELECT k, n, least, iif(is_even AND most, most / step, least), which FROM (
        SELECT k, n, step, most, is_even, max(1, iif(is_even, (least + step - 1) / step,
            (2 * batch + step) / (2 * step))) AS least
        FROM (SELECT s.k, s.n, s.n * r.n AS step FROM size AS s JOIN ranks AS r) JOIN of WHERE pairs) JOIN steps;
CREATE TABLE pair (k, n, a);
INSERT INTO pair WITH RECURSIVE run (k, n, a, least, last, which) AS (
    SELECT k, n, iif(which = 'powers', 1, least), least, last, which FROM span WHERE least <= last UNION ALL
    SELECT k, n, iif(which = 'powers', 2 * a, a + 1), least, last, which FROM run
    WHERE a < last AND which <> 'smallest')
SELECT k, n, a FROM run WHERE a BETWEEN least AND last UNION SELECT k, n, last FROM span WHERE least <= last
    -- The rule says what is wrong.
    UNION SELECT k, n, 1 FROM span JOIN of WHERE is_listed GROUP BY k HAVING NOT max(span.least <= last);

-- What is tried of a part: the ds_config's; a micro-batch by itself is where a search begins. 0: whatever suits.
CREATE TABLE choice (part, at, n, is_open);
INSERT INTO choice SELECT part, at, n, part <> 1 OR type = 'array' FROM item WHERE part < 3
    UNION ALL SELECT part, -1, 0, true FROM part
        WHERE part < 3 AND (part = 1 AND type <> 'array' OR json IN ('null', '[]'));
CREATE TABLE impossible (part, at, n);
INSERT INTO impossible SELECT i.part, i.at, i.n FROM item AS i JOIN of
    WHERE i.part < 3 AND i.n > 0 AND is_even AND NOT EXISTS (
        SELECT 1 FROM (
            SELECT t.n AS train, NOT m.n OR NOT s.n AS is_free, max(m.n, 1) * max(s.n, 1) * r.n AS step
            FROM choice AS t JOIN choice AS m JOIN choice AS s JOIN ranks AS r
            WHERE t.part = 0 AND m.part = 1 AND s.part = 2 AND iif(i.part = 0, t.at = i.at, t.is_open)
                AND iif(i.part = 1, m.at = i.at, m.is_open) AND iif(i.part = 2, s.at = i.at, s.is_open))
        WHERE CASE WHEN train THEN iif(is_free, train % step = 0, train = step)
            WHEN most THEN step <= most AND iif(is_free, most / step * step, step) >= least
            ELSE step >= least OR is_free END);
CREATE TABLE rule (n, name, sign, bound);
INSERT INTO rule SELECT 1, 'max_train_batch_size', '<=', most FROM of
    UNION ALL SELECT 2, 'min_train_batch_size', '>=', least FROM of;

-- Whether the global batch has limits; whether the jobs' ds_configs set it ("auto" leaves it to the script); whether it
-- differs, and no sentence says so; the axis, NULL if the ds_config's list is one by itself, or wrong; what follows it.
CREATE TABLE answer (is_limited, is_known, differs, axis, training, sentences, clusters, largest);
INSERT INTO answer SELECT limited,
    fixed OR (SELECT t.type = 'array' OR t.json <> '"auto"' AND (pairs OR s.json <> '"auto"')
        FROM part AS t JOIN part AS s ON s.part = 2 WHERE t.part = 0),
    is_even AND NOT fixed AND NOT (is_listed AND (SELECT count(*) FROM item WHERE part = 1) = 1
        AND (SELECT count(*) FROM cluster) = 1 AND (SELECT count(*) <= 1 FROM item WHERE part = 2)),
    iif(pairs, '"(train_micro_batch_size_per_gpu, gradient_accumulation_steps)" = [' || coalesce((SELECT
            group_concat('[' || n || ', ' || a || ']', ', ') FROM (SELECT n, a FROM pair ORDER BY k, a DESC)),
            '[' || (SELECT n FROM size ORDER BY k LIMIT 1) || ', 1]') || ']',
        '"train_micro_batch_size_per_gpu" = ' || (SELECT CASE
            WHEN count(*) >= 6 AND NOT sum(n <> first + i) THEN printf('{ from = %d, to = %d }', min(n), max(n))
            WHEN count(*) >= 6 AND NOT sum(n <> first << i)
            THEN printf('{ from = %d, to = %d, factor = 2 }', min(n), max(n))
            ELSE '[' || group_concat(n, ', ') || ']' END
        FROM (SELECT n, row_number() OVER (ORDER BY k) - 1 AS i FROM size ORDER BY k))) || char(10),
    -- The rest of [training_spec], [derive] and the rules.
    iif(fixed, printf('train_batch_size = %d
', fixed), '') || iif(fixed AND is_open, printf('
[derive]
gradient_accumulation = "train_batch_size / (train_micro_batch_size_per_gpu * dp%s)"
', per), '') || iif(is_even, '', printf('
[derive]
global_batch = "train_micro_batch_size_per_gpu * gradient_accumulation_steps * dp%s"

[[rule]]
name = "nearest-train-batch-size"
require = "gradient_accumulation_steps = max(1, (2 * %d + train_micro_batch_size_per_gpu * (dp%s)) / (2 * '
    || 'train_micro_batch_size_per_gpu * (dp%s)))"
why = "another accumulation brings micro-batch x accumulation x data-parallel size nearer to train_batch_size = %d"
source = "the ds_config''s train_batch_size, which the ranks do not divide"
', per, batch, per, per, batch)) || coalesce((SELECT group_concat(printf('
[[rule]]
name = "%s"
require = "train_micro_batch_size_per_gpu * %s * dp%s %s %d"
why = "micro-batch x accumulation x data-parallel size must be %s %d"
source = "autotuning.%s"
', name, (SELECT iif(pairs OR type = 'array', 'gradient_accumulation_steps', CAST(CAST(json AS NUMERIC) AS INTEGER))
    FROM part WHERE part = 2), per, sign, bound, iif(sign = '<=', 'at most', 'at least'), bound, name), '')
    FROM (SELECT * FROM rule WHERE bound ORDER BY n)), ''),
    -- The sentences that a person is told: that batches near the given one are compared, or of each micro-batch,
    -- accumulation and global batch of the ds_config that no combination with the others can have.
    iif(is_even, (SELECT json_group_array(key || ' ' || n || ' is not tried: micro-batch x accumulation x ' || (SELECT
        group_concat(iif(i = 1, '', iif(i < count, ', ', ' or ')) || n, '') FROM (SELECT n, row_number() OVER
            (ORDER BY at) AS i, count(*) OVER () AS count FROM ranks ORDER BY at)) || ' data-parallel ranks is '
        || CASE WHEN part = 0 THEN 'never that'
            WHEN (SELECT type = 'array' FROM part WHERE part = 0) THEN 'then never a train_batch_size of the list'
            WHEN (SELECT type <> 'null' FROM part WHERE part = 0) THEN 'then never train_batch_size ' || batch
            WHEN least AND most THEN printf('then never from %d to %d (min_ and max_train_batch_size)', least, most)
            WHEN most THEN printf('then never max_train_batch_size %d or less', most)
            ELSE printf('then never min_train_batch_size %d or more', least) END)
        FROM (SELECT part, key, n FROM impossible JOIN part USING (part) ORDER BY part, at)),
    json_array(printf('train_batch_size %d cannot be divided evenly among the data-parallel ranks%s; each micro-batch '
        || 'is tried at the nearest batch that can, and global batches differ: compared per sample', batch,
        iif(uneven > 1, ' by micro-batches of ' || uneven, '')))),
    -- The axes of [cluster_spec], and the keys of the largest cluster that is there.
    (SELECT iif(names, '"(num_hosts, num_devices_per_host, include)" = [' || (SELECT group_concat(printf('[%d, %d, %s]',
            nodes, gpus, json_quote(include)), ', ') FROM (SELECT * FROM placed ORDER BY at)) || ']' || char(10),
        (SELECT group_concat(printf('"%s" = %s', title, iif(list IS NULL, otherwise, '[' || (SELECT
            group_concat(CAST(value AS INTEGER), ', ') FROM json_each(list)) || ']')) || char(10), '') FROM (
            SELECT 'num_hosts' AS title, nodes AS otherwise, nullif(config -> '$.autotuning.num_nodes', 'null') AS list
            UNION ALL SELECT 'num_devices_per_host', gpus, nullif(config -> '$.autotuning.num_gpus', 'null'))))
        FROM said),
    (SELECT printf('num_hosts = %d
num_devices_per_host = %d
', p.nodes, p.gpus) || iif(names, 'include = ' || json_quote(include) || char(10), '') FROM placed AS p JOIN said
        ORDER BY is_there DESC, is_there * p.nodes * p.gpus DESC, at LIMIT 1)
FROM of;
