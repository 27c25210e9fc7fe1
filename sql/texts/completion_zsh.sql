-- What zsh completes of the commands, ?1 (src/report/saying.h). In its specifications a colon ends the text and a bracket the
-- description.
WITH
command AS MATERIALIZED (
    SELECT key AS c, value ->> 'name' AS name, value AS d,
        replace(replace(replace(replace(replace(value ->> 'summary', '\', '\\'), ':', '\:'), '[', '\['), ']', '\]'), '''', '''\''''')
            AS summary
    FROM json_each(?1, '$.commands')),
any_option (c, o, d) AS (
    SELECT c, o.key, o.value FROM command, json_each(d, '$.options') AS o
    UNION ALL SELECT c, 1000 + o.key, o.value FROM command, json_each(?1, '$.common') AS o),
option AS (
    SELECT *, d ->> 'name' AS name, d ->> 'letter' AS letter, d ->> 'value_optional' AS optional,
        replace(replace(replace(replace(replace(d ->> 'help', '\', '\\'), ':', '\:'), '[', '\['), ']', '\]'), '''', '''\''''') AS help,
        replace(replace(replace(replace(replace(d ->> 'value', '\', '\\'), ':', '\:'), '[', '\['), ']', '\]'), '''', '''\''''') AS value
    FROM any_option),
line (part, c, o, line) AS (
    SELECT 0, 0, 0, '#compdef meshsweep
# Made by meshsweep completion zsh.
_meshsweep_offer()
{
    local -a found
    found=("${(@f)$(${~program} completion $1 -- "${(@)words[1,CURRENT-1]}" "$PREFIX" 2>/dev/null)}")
    found=(${found:#})
    compadd -S '''' -- ${(M)found:#*=}
    compadd -- ${found:#*=}
}
local program=$words[1]
local -a commands
commands=('
    UNION ALL SELECT 1, c, 0, say('    ''%s:%s''', name, summary) FROM command
    UNION ALL SELECT 2, 0, 0, say(')
if (( CURRENT == 2 )) && [[ $words[2] != -* ]]; then
    _describe command commands
    return
fi
local name=%s
if [[ $words[2] != -* ]]; then
    name=$words[2]
    shift words
    (( CURRENT-- ))
fi
case $name in', ?1 ->> '$.commands[0].name')
    UNION ALL SELECT 3, c, -1, say('%s)%s    _arguments \', name, char(10)) FROM command
    UNION ALL SELECT 3, c, o, '        ' || iif(letter IS NULL, say('''--%s', name),
            say('''(-%s --%s)''{-%s,--%s', letter, name, letter, name))
        || CASE WHEN value IS NULL THEN '' WHEN optional THEN '=-' ELSE '=' END || iif(letter IS NULL, '', '}''') || '[' || help || ']'
        || iif(value IS NULL, '', iif(optional, '::', ':') || value || ':')
        || CASE WHEN d ->> 'several' THEN '_sequence compadd - ' || (d ->> 'choices')
            WHEN d ->> 'choices' IS NOT NULL THEN say('(%s)', d ->> 'choices')
            WHEN d ->> 'offer' IS NOT NULL THEN say('{_meshsweep_offer %s}', d ->> 'offer')
            WHEN d ->> 'file' THEN '_files' ELSE '' END
        || ''' \' FROM option
    UNION ALL SELECT 3, c, 9999, CASE WHEN d ->> 'offer' IS NOT NULL THEN say('        ''*:word:{_meshsweep_offer %s}''', d ->> 'offer')
            WHEN d ->> 'words' IS NOT NULL THEN say('        ''1:word:(%s)''', d ->> 'words')
            ELSE '        ''*:file:_files''' END || char(10) || '    ;;' FROM command
    UNION ALL VALUES (4, 0, 0, 'esac'))
SELECT line FROM line ORDER BY part, c, o;
