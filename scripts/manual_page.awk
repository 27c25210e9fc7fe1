# The reference of the sweep file (docs/reference.md) as a manual page:
#   awk -f manual_page.awk -v version=0.1.0 docs/reference.md > meshsweep.5
#
# It knows as much of Markdown as that file uses: headings, paragraphs, lists, tables, fenced and indented examples,
# `code`, **strong** and links. A table becomes a list: the first cell of a row is the tag, the others follow with their
# headings. That is why it needs no tbl.

# Text as troff shows it: a backslash, a hyphen that can be copied, and no request at the beginning of a line.
function plain(text)
{
    gsub(/\\/, "\\e", text)
    gsub(/-/, "\\-", text)
    return text
}

# `code` and **strong** in bold; of a link its text.
function inline(text,    out, code, i, n, part)
{
    while (match(text, /\[[^]]*\]\([^)]*\)/)) {
        code = substr(text, RSTART + 1, RLENGTH - 1)
        sub(/\]\([^)]*\)$/, "", code)
        text = substr(text, 1, RSTART - 1) code substr(text, RSTART + RLENGTH)
    }
    gsub(/\*\*/, "", text)
    gsub(/\\\|/, "|", text)
    n = split(text, part, "`")
    for (i = 1; i <= n; i++)
        out = out (i % 2 || part[i] == "" ? plain(part[i]) : "\\fB" plain(part[i]) "\\fR")
    return out
}

# A line that begins like a request does not.
function say(line)
{
    print (line ~ /^[.']/ ? "\\&" : "") line
}

# Cells of a row; "\|" is part of one.
function cells_of(row, cell,    n, i)
{
    gsub(/\\\|/, "\001", row)
    sub(/^\| */, "", row)
    sub(/ *\| *$/, "", row)
    n = split(row, cell, / *\| */)
    for (i = 1; i <= n; i++)
        gsub(/\001/, "|", cell[i])
    return n
}

function table_row(row,    n, i, cell, before)
{
    n = cells_of(row, cell)
    if (!table_rows++) {
        columns = n
        for (i = 1; i <= n; i++)
            heading[i] = cell[i]
        return
    }
    if (row ~ /^\|[-|: ]*$/)
        return
    print ".TP"
    say(inline(cell[1]))
    for (i = 2; i <= n; i++) {
        before = heading[i] ~ /^(type|default|example|options|takes|keys)$/ && cell[i] != "" ? heading[i] ": " : ""
        if (cell[i] != "")
            say(before inline(cell[i]) (i < n ? (cell[i] ~ /[.;:]$/ ? "" : ";") : "."))
    }
}

BEGIN {
    print ".\\\" Made by scripts/manual_page.awk from docs/reference.md."
    print ".TH MESHSWEEP 5 \"\" \"meshsweep " version "\""
    print ".SH NAME\nmeshsweep \\- the sweep file of meshsweep(1)\n.SH DESCRIPTION"
}
/^```/ {
    fenced = !fenced
    print fenced ? ".PP\n.EX" : ".EE"
    next
}
fenced {
    say(plain($0))
    next
}
/^    [^ ]/ {
    print ".PP\n.EX"
    say(plain($0))
    print ".EE"
    next
}
/^\|/ {
    table_row($0)
    next
}
{ table_rows = 0 }
/^# / { next }
/^## / {
    print(".SH \"" inline_heading(substr($0, 4)) "\"")
    next
}
/^### / {
    print(".SS \"" inline_heading(substr($0, 5)) "\"")
    next
}
/^- / {
    print ".IP \\(bu 2"
    say(inline(substr($0, 3)))
    next
}
/^ *$/ {
    blank = 1
    next
}
{
    if (blank)
        print ".PP"
    blank = 0
    sub(/^ +/, "")
    say(inline($0))
}

# Headings are shown in bold as they are.
function inline_heading(text)
{
    gsub(/`/, "", text)
    return plain(text)
}

END {
    print ".SH SEE ALSO\n.BR meshsweep (1)"
}
