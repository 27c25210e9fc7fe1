-- What fish completes of the commands, ?1 (src/report/saying.h).
WITH
command AS MATERIALIZED (SELECT key AS c, value ->> 'name' AS name, value AS d FROM json_each(?1, '$.commands')),
option (c, o, begin, d) AS (
    SELECT c, o.key, say('complete -c meshsweep -n ''__fish_seen_subcommand_from %s''', name), o.value
    FROM command, json_each(d, '$.options') AS o
    UNION ALL SELECT 1e9, key, 'complete -c meshsweep', value FROM json_each(?1, '$.common')),
line (c, o, line) AS (
    VALUES (-1, 0, '# Made by meshsweep completion fish.
function __meshsweep_offer
    set -l typed (commandline -opc)
    $typed[1] completion $argv[1] -- $typed[2..-1] (commandline -ct) 2>/dev/null
end')
    UNION ALL SELECT c, -1, say('complete -c meshsweep -n __fish_use_subcommand -a %s -d ''%s''', name,
        replace(d ->> 'summary', '''', '''\''''')) FROM command
    UNION ALL SELECT c, o, say('%s -l %s%s -d ''%s''', begin, d ->> 'name', coalesce(' -s ' || (d ->> 'letter'), ''),
            replace(d ->> 'help', '''', '''\'''''))
        || CASE WHEN d ->> 'choices' IS NOT NULL THEN say(' -x -a ''%s''', d ->> 'choices')
            WHEN d ->> 'offer' IS NOT NULL THEN say(' -x -a ''(__meshsweep_offer %s)''', d ->> 'offer')
            WHEN d ->> 'value' IS NULL OR d ->> 'value_optional' THEN '' WHEN d ->> 'file' THEN ' -r -F' ELSE ' -x' END FROM option
    UNION ALL SELECT c, 9999, say('complete -c meshsweep -n ''__fish_seen_subcommand_from %s'' -f -a ''%s''', name,
        coalesce('(__meshsweep_offer ' || (d ->> 'offer') || ')', d ->> 'words')) FROM command
        WHERE coalesce(d ->> 'offer', d ->> 'words') IS NOT NULL)
SELECT line FROM line ORDER BY c, o;
