-- What the last of the words on a command line may become, a line each (src/commands/manual.c): of ?1, the words, what is
-- offered and the names that the sweep file and the program have, and of a database's jobs. Only the last name of a condition
-- or a list with commas is completed: "tp = 2 AND la" becomes "tp = 2 AND layers". Job numbers are those that begin with the
-- word, the shortest first, a hundred at most. Of a combination the key is completed up to its "=", then the value: "z" becomes
-- "zero_stage=", "zero_stage=" becomes "zero_stage=3"; where "=" is a word by itself, "3" alone. Values that a shell would want
-- quoted are not offered.
WITH RECURSIVE
last (word, before, first) AS (
    SELECT coalesce(?1 ->> '$.words[#-1]', ''), coalesce(?1 ->> '$.words[#-2]', ''), coalesce(?1 ->> '$.words[#-3]', '')),
-- The key and the value around the "=".
pair (key, value, begin) AS (
    SELECT CASE WHEN word = '=' THEN before WHEN before = '=' THEN first ELSE substr(word, 1, instr(word, '=') - 1) END,
        CASE WHEN word = '=' THEN '' WHEN before = '=' THEN word ELSE substr(word, instr(word, '=') + 1) END,
        iif('=' IN (word, before), '', substr(word, 1, instr(word, '=')))
    FROM last WHERE ?1 ->> 'offer' = 'combinations' AND (before = '=' OR instr(word, '='))),
-- What is typed: after "--name=" and an opening quote, and up to its last name.
option (text) AS (SELECT iif(word GLOB '--*=*', substr(word, instr(word, '=') + 1), word) FROM last),
typed (text) AS (SELECT iif(text = '=', '', iif(substr(text, 1, 1) IN ('''', '"'), substr(text, 2), text)) FROM option),
cut (before, name) AS (
    SELECT before, substr(text, length(before) + 1)
    FROM (SELECT text, rtrim(text, 'abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.') AS before FROM typed)),

source (of_keys, member) AS (
    SELECT offer, iif(offer, 'keys', ?1 ->> 'offer')
    FROM (SELECT ?1 ->> 'offer' IN ('keys', 'combinations', 'predictions') AS offer) WHERE NOT EXISTS (SELECT 1 FROM pair)),
-- Only from the newest specs, since reading all would take too long.
recent AS (SELECT id, json FROM spec WHERE (SELECT of_keys FROM source) ORDER BY id DESC LIMIT 200),
spoken AS (SELECT id, json FROM spec WHERE EXISTS (SELECT 1 FROM pair) ORDER BY id DESC LIMIT 5000),
name (part, n, name) AS (
    SELECT 0, key, value FROM json_each(?1, '$.' || (SELECT member FROM source))
    UNION ALL SELECT 1, cid, name FROM pragma_table_info('results') WHERE (SELECT member FROM source) = 'columns'
    UNION ALL SELECT 1, row_number() OVER (), key FROM (SELECT DISTINCT k.key FROM recent AS s, json_each(s.json) AS k
        ORDER BY s.id, k.id)
    UNION ALL SELECT 1, row_number() OVER (ORDER BY name), name FROM metric_definition WHERE (SELECT member FROM source) = 'metrics'
    UNION ALL SELECT 2, key, value FROM json_each(?1, '$.predicted') WHERE ?1 ->> 'offer' = 'predictions'),
value (part, n, value) AS (
    SELECT 0, v.key, v.value ->> 1 FROM pair, json_each(?1, '$.values') AS v WHERE v.value ->> 0 = pair.key
    UNION ALL SELECT 1, row_number() OVER (), CAST(value AS TEXT) FROM (SELECT DISTINCT iif(k.type IN ('true', 'false'), k.type, k.value) AS value
        FROM spoken AS s, json_each(s.json) AS k WHERE k.key = (SELECT key FROM pair) ORDER BY s.id)),

-- One range of numbers for each number of digits that may follow, instead of scanning all jobs.
range (first, last) AS (
    SELECT 1, 9223372036854775807 FROM typed WHERE text = ''
    UNION ALL SELECT CAST(text AS INTEGER), CAST(text AS INTEGER) FROM typed
        WHERE text GLOB '[1-9]*' AND text NOT GLOB '*[^0-9]*' AND CAST(text AS INTEGER) <= 2147483647
    UNION ALL SELECT first * 10, last * 10 + 9 FROM range WHERE last < 9223372036854775),
job_number (id) AS (
    SELECT j.id FROM range CROSS JOIN job AS j NOT INDEXED ON j.id BETWEEN first AND last
    WHERE ?1 ->> 'offer' IN ('jobs', 'combinations') AND NOT EXISTS (SELECT 1 FROM pair) LIMIT 100),

line (part, n, line) AS (
    SELECT 0, min(1000000 * part + n), begin || v.value FROM value AS v, pair
        WHERE v.value NOT GLOB '*[^-a-zA-Z0-9_.+,/@%:]*' AND lower(substr(v.value, 1, length(pair.value))) = lower(pair.value)
        GROUP BY v.value
    UNION ALL SELECT 0, min(1000000 * part + n), before || name.name || iif(?1 ->> 'offer' = 'combinations', '=', '') FROM name, cut
        WHERE lower(substr(name.name, 1, length(cut.name))) = lower(cut.name) GROUP BY name.name
    UNION ALL SELECT 1, row_number() OVER (), id FROM job_number)
SELECT line FROM line ORDER BY part, n;
