-- The help of the commands, ?1: of one of them, with its rare options too or not, or of the tool (?2; src/report/saying.h).
WITH RECURSIVE
command AS (SELECT value AS d FROM json_each(?1, '$.commands') WHERE value ->> 'name' = ?2 ->> 'command'),
option (n, o) AS (
    SELECT key, value FROM command, json_each(d, '$.options') UNION ALL SELECT 1000 + key, value FROM json_each(?1, '$.common')),
row (n, names, text) AS (
    SELECT n, iif(o ->> 'letter' IS NULL, say('      --%s', o ->> 'name'), say('  -%s, --%s', o ->> 'letter', o ->> 'name'))
        || iif(o ->> 'value' IS NULL, '', say(iif(o ->> 'value_optional', '[=%s]', ' %s'), o ->> 'value')),
        (o ->> 'help') || iif(o ->> 'fallback' IS NULL, '', say(' (default %s)', o ->> 'fallback')) || ' '
    FROM option WHERE ?2 ->> 'all' OR NOT (o ->> 'rare')),
width (indent) AS (SELECT max(length(names)) + 2 FROM row),
-- Texts, word by word, in lines of 80 columns.
wrapped (n, indent, line, column, rest) AS (
    SELECT n, indent, printf('%-*s', indent, names), indent, ltrim(text) FROM row, width
    UNION ALL SELECT n, indent, line || CASE WHEN column = indent THEN ''
            WHEN column + instr(rest, ' ') > 80 THEN printf('%s%*s', char(10), indent, '') ELSE ' ' END
            || substr(rest, 1, instr(rest, ' ') - 1),
        iif(column = indent OR column + instr(rest, ' ') > 80, indent - 1, column) + instr(rest, ' '),
        ltrim(substr(rest, instr(rest, ' ') + 1)) FROM wrapped WHERE rest <> ''),
rare (k, name) AS (
    SELECT row_number() OVER (ORDER BY n), o ->> 'name' FROM option WHERE o ->> 'rare' AND NOT (?2 ->> 'all')),
named (k, line, column) AS (
    SELECT 0, text, length(text) FROM (SELECT say('  more options, explained by meshsweep help %s:', ?2 ->> 'command') AS text)
    UNION ALL SELECT rare.k, line || iif(column + 3 + length(name) > 80, char(10) || '   ', '') || ' --' || name,
        iif(column + 3 + length(name) > 80, 3, column) + 3 + length(name) FROM named JOIN rare ON rare.k = named.k + 1),
line (part, n, line) AS (
    SELECT 0, 0, say('usage: meshsweep %s %s

%s.
', d ->> 'name', d ->> 'usage', d ->> 'summary') FROM command
    UNION ALL SELECT 1 + (n >= 1000) * 2, n, line FROM wrapped WHERE rest = '' AND ?2 ->> 'command' IS NOT NULL
    UNION ALL SELECT 2, 0, line FROM named WHERE k > 0 AND k = (SELECT max(k) FROM rare)
    UNION ALL SELECT 4, 0, say('
example:
  %s', replace(d ->> 'example', char(10), char(10) || '  ')) FROM command
    UNION ALL SELECT 5, 0, 'usage: meshsweep [COMMAND] [OPTIONS]

Run a sweep over configurations of distributed training. One TOML file says
what to try; a database keeps the results.
' WHERE ?2 ->> 'command' IS NULL
    UNION ALL SELECT 6, key, printf('  %-12s  %s', value ->> 'name', value ->> 'summary') FROM json_each(?1, '$.commands')
        WHERE ?2 ->> 'command' IS NULL
    UNION ALL SELECT 7, 0, say('
The default command is `%s`. `meshsweep COMMAND --help` shows the options that
people use, with an example; `meshsweep help COMMAND` explains all of them.
To begin: meshsweep init --help
Exit status: 0 success, 1 an operation failed, 2 wrong usage or an invalid
sweep file, 3 some jobs failed, 4 nothing matched, 5 the host could not run
all jobs, 6 the first jobs failed the same way and the rest were not started,
128 + n ended by signal n.', ?1 ->> '$.commands[0].name') WHERE ?2 ->> 'command' IS NULL)
SELECT line FROM line ORDER BY part, n;
