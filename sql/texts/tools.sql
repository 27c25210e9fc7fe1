-- The tools of `meshsweep mcp` as a list, of the commands, ?1: each as a client is told of it, whether it reads, writes or
-- runs, and how its arguments become the command's words.
WITH
-- `options`: those of the command that a caller may give; `given`: what it always has, the caller's after that.
offered (n, name, rights, more, options, given, operands) AS (VALUES
    (1, 'check', 'reads', ' It is the sweep file that the server was started with.', '[]', '["--json"]', '[]'),
    (2, 'plan', 'reads', ' It bounds the cost, too.', '["only","limit","retry-failed","search-model","all"]', '["--json"]', '[]'),
    (3, 'predict', 'reads', '', '["only","limit","where","sort","columns","accuracy","frontier","scale-to"]', '["--json"]', '[]'),
    (4, 'status', 'reads', '', '[]', '["--json"]', '[]'),
    (5, 'results', 'reads', ' At most 50 rows without `limit`.', '["where","sort","limit","columns","all"]',
        '["--json","--limit=50"]', '[]'),
    (6, 'best', 'reads', '', '["of","group","subject-to"]', '["--json"]', '[]'),
    (7, 'compare', 'reads', ' Give `by`, `rank`, `scaling` or two `jobs`.', '["by","rank","scaling","metric","free"]',
        '["--json"]', '["jobs"]'),
    (8, 'why', 'reads', ' Give a `job` or `keys`.', '["search-model"]', '["--json"]', '["job","keys"]'),
    (9, 'show', 'reads', '', '[]', '["--json"]', '["job"]'),
    -- How much a search may cost is said by the sweep file, not by the caller.
    (10, 'run', 'runs', ' Then ask status and best.', '["only","limit","retry-failed","search-model","max-fail"]',
        '["--progress=none"]', '[]'),
    (11, 'ask', 'writes', '', '["number","by","why","open"]', '[]', '["proposals"]'),
    (12, 'tell', 'writes', '', '[]', '[]', '["results"]')),
-- What a caller may give beside options: a number, a list of numbers or an object becomes words of the command; a list of
-- objects is a document that the command reads from its input.
operand (name, schema) AS (VALUES
    ('job', '{"type":"integer","description":"number of a job"}'),
    ('jobs', '{"type":"array","items":{"type":"integer"},"description":"numbers of two jobs, in place of `by`"}'),
    ('keys', json_object('type', 'object', 'description', 'in place of a job: {"micro_batch": 8}')),
    ('proposals', json_object('type', 'array', 'items', json('{"type":"object"}'), 'description',
        'without it, the next jobs: {"keys": {"micro_batch": 8}, "why": "memory is left"}')),
    ('results', json_object('type', 'array', 'items', json('{"type":"object"}'), 'description',
        'of jobs that ask gave: {"job": 7, "metrics": {"loss": 2.5}} or {"job": 7, "failure": "oom"}'))),
option (n, name, schema) AS MATERIALIZED (
    SELECT t.n, o.value ->> 'name', json_patch('{}', json_object('type', o.value ->> 'type', 'minimum', o.value -> 'minimum',
        'description', coalesce((o.value ->> 'value') || ': ', '') || (o.value ->> 'help')))
    FROM offered AS t JOIN json_each(?1, '$.commands') AS c ON c.value ->> 'name' = t.name, json_each(c.value, '$.options') AS o),
property (n, part, place, name, schema) AS (
    SELECT t.n, 0, k.key, k.value, o.schema FROM offered AS t, json_each(t.options) AS k JOIN option AS o ON o.n = t.n AND o.name = k.value
    UNION ALL SELECT t.n, 1, k.key, k.value, o.schema FROM offered AS t, json_each(t.operands) AS k JOIN operand AS o ON o.name = k.value),
tool (n, document) AS (
    SELECT t.n, json_object('tool', json_object('name', t.name, 'description', (c.value ->> 'summary') || '.' || more,
            'inputSchema', json_patch('{}', json_object('type', 'object',
                'properties', (SELECT json_group_object(name, json(schema)) FROM (
                    SELECT * FROM property WHERE n = t.n ORDER BY part, place)),
                'required', iif(t.name IN ('show', 'tell'), json(t.operands), NULL), 'additionalProperties', json('false'))),
            'annotations', json_object('readOnlyHint', json(iif(rights = 'reads', 'true', 'false')),
                'destructiveHint', json('false'), 'openWorldHint', json(iif(rights = 'runs', 'true', 'false')))),
        'rights', rights, 'given', json(given), 'operands', json(t.operands),
        'options', (SELECT group_concat(value, ' ') FROM json_each(t.options)),
        -- Of the two files it is the sweep file that is checked.
        'files', (SELECT json_group_array(name) FROM option WHERE n = t.n
            AND name IN ('config', iif(t.name = 'check', '', 'db'))))
    FROM offered AS t JOIN json_each(?1, '$.commands') AS c ON c.value ->> 'name' = t.name)
SELECT json_group_array(json(document)) FROM (SELECT document FROM tool ORDER BY n);
