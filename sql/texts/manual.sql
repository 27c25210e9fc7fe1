-- meshsweep(1) of the commands, ?1 (src/report/saying.h): in texts "¤B", "¤I" and "¤R" are fonts, and "¤." begins a request.
WITH
option (c, o, d) AS (
    SELECT c.key, o.key, o.value FROM json_each(?1, '$.commands') AS c, json_each(c.value, '$.options') AS o
    UNION ALL SELECT 1e9, key, value FROM json_each(?1, '$.common')),
text (c, part, o, text) AS (
    SELECT key, 0, 0, say('¤.SS %s
¤Bmeshsweep %s¤R %s
¤.PP
%s.', value ->> 'name', value ->> 'name', value ->> 'usage', value ->> 'summary') FROM json_each(?1, '$.commands')
    UNION ALL SELECT c, 1, o, say('¤.TP%s%s¤B--%s¤R', char(10), iif(d ->> 'letter' IS NULL, '', say('¤B-%s¤R, ', d ->> 'letter')),
            d ->> 'name')
        || iif(d ->> 'value' IS NULL, '', say(iif(d ->> 'value_optional', '[=¤I%s¤R]', ' ¤I%s¤R'), d ->> 'value'))
        || char(10) || (d ->> 'help') || iif(d ->> 'fallback' IS NULL, '', say(' (default %s)', d ->> 'fallback')) FROM option
    UNION ALL SELECT key, 2, 0, say('¤.PP
¤.EX
%s
¤.EE', value ->> 'example') FROM json_each(?1, '$.commands')
    UNION ALL VALUES (1e9, 0, 0, '¤.SH OPTIONS OF EVERY COMMAND')),
escaped (c, part, o, text) AS (
    SELECT c, part, o, replace(replace(replace(replace(text, '\', '\e'), '-', '\-'), char(10) || '.', char(10) || '\&.'),
        char(10) || '''', char(10) || '\&''') FROM text),
line (c, part, o, line) AS (
    SELECT -1, 0, 0, say('.\" Made by meshsweep manual from its command table.
.TH MESHSWEEP 1 "" "meshsweep %s"
.SH NAME
meshsweep \- sweep configurations of distributed training
.SH SYNOPSIS
\fBmeshsweep\fR [\fICOMMAND\fR] [\fIOPTIONS\fR]
.SH DESCRIPTION
One TOML file describes models, clusters, training and parallel specs.
meshsweep enumerates the combinations that named rules accept, runs each as a job (locally or
with Slurm), records everything in a SQLite database, and continues where it was stopped.
.PP
The default command is \fB%s\fR.
.SH COMMANDS', ?1 ->> 'version', ?1 ->> '$.commands[0].name')
    UNION ALL SELECT c, part, o, replace(replace(replace(replace(text, '¤B', '\fB'), '¤I', '\fI'), '¤R', '\fR'), '¤.', '.')
        FROM escaped
    UNION ALL VALUES (2e9, 0, 0, '.SH EXIT STATUS')
    UNION ALL SELECT 2e9, 1, key, say('.TP
.B %s
%s', value ->> 0, value ->> 1) FROM json_each(?1, '$.statuses')
    UNION ALL VALUES (3e9, 0, 0, '.SH ENVIRONMENT
.TP
.B NO_COLOR
set and not empty: no colours (see no\-color.org)
.TP
.B COLUMNS
width of the terminal
.TP
.B MESHSWEEP_PAGER
pager for long output on a terminal (default: \fBPAGER\fR, then less with LESS=FRX);
empty or cat: no pager
.SH FILES
.TP
.I results.db
the database
.TP
.I results.db.d
files of the attempts: output and metrics
.SH SEE ALSO
.BR meshsweep (5),
.BR sqlite3 (1)'))
SELECT line FROM line ORDER BY c, part, o;
