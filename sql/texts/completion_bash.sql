-- What bash completes of the commands, ?1 (src/report/saying.h).
WITH
command AS MATERIALIZED (SELECT key AS c, value ->> 'name' AS name, value AS d FROM json_each(?1, '$.commands')),
option (c, o, command, name, d) AS MATERIALIZED (
    SELECT c, o.key, command.name, o.value ->> 'name', o.value FROM command, json_each(d, '$.options') AS o
    UNION ALL SELECT c, 1000 + o.key, command.name, o.value ->> 'name', o.value FROM command, json_each(?1, '$.common') AS o),
names (bars, blanks) AS (SELECT group_concat(name, '|'), group_concat(name, ' ') FROM command),
flags (c, common, flags) AS (
    SELECT c, o >= 1000, group_concat(' --' || name || coalesce(' -' || (d ->> 'letter'), ''), '') FROM option GROUP BY 1, 2),
line (part, c, o, line) AS (
    SELECT 0, 0, 0, say('# Made by meshsweep completion bash.
_meshsweep_offer()
{
    mapfile -t COMPREPLY < <("${COMP_WORDS[0]/#\~/$HOME}" completion "$1" -- "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null)
    case ${COMPREPLY[0]-} in *=) compopt -o nospace 2>/dev/null ;; esac
}
_meshsweep()
{
    local current=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]} command= word several=
    COMPREPLY=()
    if [ "$current" = = ]; then
        current= before=$before=
    elif [ "$before" = = ] && [ "$COMP_CWORD" -ge 2 ]; then
        before=${COMP_WORDS[COMP_CWORD - 2]}=
    fi
    case $current in *,*) several=${current%%,*}, ;; esac
    for word in "${COMP_WORDS[@]:1:COMP_CWORD - 1}"; do
        case $word in
        %s) command=$word; break ;;
        esac
    done
    case ${command:-%s}:$before in', bars, ?1 ->> '$.commands[0].name') FROM names
    -- A value stands behind a blank or "=", one that may be left out behind "=" only; the last of several with commas
    -- between them is completed.
    UNION ALL SELECT 1, c, o, say('        %s:--%s=', command, name)
        || iif(d ->> 'value_optional', '', say('|%s:--%s', command, name) || coalesce('|' || command || ':-' || (d ->> 'letter'), ''))
        || ') COMPREPLY=(' || CASE
            WHEN d ->> 'several' THEN say('$(compgen -P "$several" -W ''%s'' -- "${current#"$several"}")', d ->> 'choices')
            WHEN d ->> 'choices' IS NOT NULL THEN say('$(compgen -W ''%s'' -- "$current")', d ->> 'choices')
            WHEN d ->> 'file' THEN '$(compgen -f -- "$current")' ELSE '' END
        || ')' || coalesce('; _meshsweep_offer ' || (d ->> 'offer'), '') || '; return ;;' FROM option WHERE d ->> 'value' IS NOT NULL
    UNION ALL SELECT 2, 0, 0, say('    esac
    case $current in
    -*) case ${command:-%s} in', ?1 ->> '$.commands[0].name')
    UNION ALL SELECT 3, c, 0, say('        %s) word=''%s'' ;;', name, coalesce(flags, '')) FROM command
        LEFT JOIN (SELECT * FROM flags WHERE NOT common) USING (c)
    UNION ALL SELECT 4, 0, 0, say('        esac
        COMPREPLY=($(compgen -W "$word%s" -- "$current")) ;;
    *) case $command in
        '''') COMPREPLY=($(compgen -W ''%s'' -- "$current")) ;;', flags, blanks) FROM names, flags WHERE common AND c = 0
    UNION ALL SELECT 5, c, 0, iif(d ->> 'offer' IS NOT NULL, say('        %s) _meshsweep_offer %s ;;', name, d ->> 'offer'),
            say('        %s) COMPREPLY=($(compgen -W ''%s'' -- "$current")) ;;', name, d ->> 'words'))
        FROM command WHERE coalesce(d ->> 'offer', d ->> 'words') IS NOT NULL
    UNION ALL VALUES (6, 0, 0, '        esac ;;
    esac
}
complete -o default -F _meshsweep meshsweep'))
SELECT line FROM line ORDER BY part, c, o;
