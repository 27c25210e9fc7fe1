-- The words that a call of a tool of `meshsweep mcp` becomes behind the program, {"words", "input": what the command reads},
-- or {"unknown": an argument that the tool does not have}, or {"wrong": what is wrong with one}. ?1: the tool
-- (sql/texts/tools.sql); ?2: the arguments, by name; ?3 and ?4: the sweep file and the database of the server.
WITH
argument (n, name, type, value, of, items, is_operand) AS (
    SELECT a.id, a.key, a.type, a.value, p.value ->> 'type', p.value ->> '$.items.type',
        a.key IN (SELECT value FROM json_each(?1, '$.operands'))
    FROM json_each(?2) AS a LEFT JOIN json_each(?1, '$.tool.inputSchema.properties') AS p USING (key) WHERE a.type <> 'null'),
-- What each argument has: itself, or the members of an object or list.
part (n, k, name, kind, type, value) AS (
    SELECT n, 0, name, CASE WHEN of IS NULL THEN 'unknown' WHEN NOT is_operand THEN iif(of = 'boolean', 'flag', 'option')
        WHEN items = 'object' THEN 'input' ELSE 'number' END, type, value
    FROM argument WHERE of IS NULL OR NOT is_operand OR items IS 'object' OR (of <> 'object' AND NOT (items NOTNULL AND type = 'array'))
    UNION ALL SELECT n, j.id, iif(of = 'object', j.key, name), iif(of = 'object', 'key', 'number'), j.type, j.value
    FROM argument AS a, json_each(iif(a.type IN ('object', 'array'), a.value, NULL)) AS j
    WHERE is_operand AND items IS NOT 'object' AND (of = 'object' OR (items NOTNULL AND a.type = 'array'))),
-- Whole numbers that a double holds with all their digits are written without an exponent.
said (n, k, name, kind, type, is_whole, value, text) AS (
    SELECT n, k, name, kind, type, is_whole, value, CASE type WHEN 'text' THEN value WHEN 'true' THEN type WHEN 'false' THEN type
        ELSE iif(is_number, say(iif(is_whole, '%.0f', '%n'), value), NULL) END
    FROM (SELECT *, type IN ('integer', 'real') AS is_number, type IN ('integer', 'real')
        AND abs(value) <= 9007199254740991 AND CAST(value AS INTEGER) = value AS is_whole FROM part)),
word (n, k, name, place, text, wrong) AS (
    SELECT n, k, name, CASE kind WHEN 'flag' THEN 1 WHEN 'option' THEN 1 WHEN 'input' THEN 3 ELSE 2 END,
        CASE kind WHEN 'flag' THEN iif(type = 'true', '--' || name, NULL) WHEN 'option' THEN '--' || name || '=' || text
            WHEN 'key' THEN name || '=' || coalesce(text, iif(type = 'null', type, value)) WHEN 'number' THEN text
            ELSE iif(type IN ('object', 'array'), value, iif(type = 'text', json_quote(value), text)) END,
        CASE WHEN kind = 'unknown' THEN '' WHEN kind = 'flag' AND type NOT IN ('true', 'false') THEN '`' || name || '` is true or false'
            WHEN kind = 'option' AND text IS NULL THEN '`' || name || '` is one value: text or a number'
            WHEN kind = 'number' AND NOT (is_whole AND value >= 1) THEN '`' || name || '`: a job is given by its number, such as 7' END
    FROM said),
line (place, n, k, text) AS (
    SELECT 0, 0, 0, ?1 ->> '$.tool.name' UNION ALL SELECT 0, 1, id, value FROM json_each(?1, '$.given')
    UNION ALL SELECT 0, 2, value = 'db', '--' || value || '=' || iif(value = 'db', ?4, ?3) FROM json_each(?1, '$.files')
    UNION ALL SELECT place, n, k, text FROM word WHERE place < 3
    UNION ALL SELECT 1, 9e9, 0, '--' WHERE EXISTS (SELECT 1 FROM word WHERE place > 1)
    UNION ALL SELECT 3, 0, 0, '-' WHERE EXISTS (SELECT 1 FROM word WHERE place = 3))
SELECT json_object('unknown', (SELECT iif(wrong = '', name, NULL) FROM word WHERE wrong NOTNULL ORDER BY n, k LIMIT 1),
    'wrong', coalesce((SELECT wrong FROM word WHERE wrong NOTNULL ORDER BY n, k LIMIT 1),
        (?1 ->> '$.tool.name') || ' wants `' || iif(EXISTS (SELECT 1 FROM word WHERE place > 1), NULL,
            ?1 ->> '$.tool.inputSchema.required[0]') || '`'),
    'input', (SELECT text FROM word WHERE place = 3 ORDER BY n DESC LIMIT 1),
    'words', (SELECT json_group_array(text) FROM (SELECT text FROM line WHERE text NOTNULL ORDER BY place, n, k)));
