#!/usr/bin/env bash
# Makes the pictures of README.md anew: scripts/screenshots.sh [DATABASE]
#
# Without DATABASE the quickstart is run first (a minute). The terminal's is SVG made from what the commands print, the
# report's is taken by headless Chromium. MESHSWEEP names the program (build/meshsweep).
set -eu

root=$(cd "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")/.." && pwd)
meshsweep=$(readlink -f "${MESHSWEEP:-$root/build/meshsweep}")
pictures=$root/scripts/screenshots
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

[ -x "$meshsweep" ] || { echo "screenshots.sh: no program at $meshsweep: build first, or set MESHSWEEP" >&2; exit 1; }
chromium=$(type -P chromium || type -P chromium-browser || type -P google-chrome) ||
    { echo "screenshots.sh: chromium is needed (scripts/setup.sh full)" >&2; exit 1; }

if [ $# -gt 0 ]; then
    database=$(readlink -f "$1")
else
    database=$work/results.db
    status=0
    (cd "$root" && PATH=$(dirname "$meshsweep"):$PATH "$meshsweep" run -c configs/quickstart.toml -d "$database" \
        --progress plain) || status=$?
    [ "$status" -eq 0 ] || [ "$status" -eq 3 ]
fi

# Lines of text as a picture of a terminal: those that begin with "$ " are what was typed.
terminal()
{
    awk '
    function escape(text) { gsub(/&/, "\\&amp;", text); gsub(/</, "\\&lt;", text); gsub(/>/, "\\&gt;", text); gsub(/ /, "\\&#160;", text); return text }
    { lines[NR] = length($0) > 118 ? substr($0, 1, 117) "…" : $0 }
    END {
        print "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 960 " NR * 17 + 30 "\" role=\"img\">"
        print "<title>meshsweep in a terminal</title><rect width=\"100%\" height=\"100%\" rx=\"8\" fill=\"#12161c\"/>"
        print "<g font-family=\"ui-monospace, DejaVu Sans Mono, monospace\" font-size=\"12.5\" fill=\"#e6eaf0\">"
        for (i = 1; i <= NR; i++)
            print "<text x=\"16\" y=\"" i * 17 + 12 "\"" (lines[i] ~ /^\$ / ? " fill=\"#7cb7f2\"" : "") ">" escape(lines[i]) "</text>"
        print "</g></svg>"
    }'
}

show() # COMMAND ARGUMENTS
{
    echo "$ meshsweep $*"
    "$meshsweep" "$@" -d "$database" | sed "s| -d $database||g; s|$root/||g; s|$root|~/meshsweep|g"
    echo
}

{
    show status | grep -v '^$' | head -n 12
    echo
    show best | head -n 13
    echo
    show compare --by zero_stage=1,2
} | terminal >"$pictures/terminal.svg"

"$meshsweep" report -d "$database" -o "$work/report.html"
sed -i "s|$root|~/meshsweep|g" "$work/report.html"
take() # NAME WIDTH HEIGHT
{
    "$chromium" --headless --no-sandbox --disable-gpu --hide-scrollbars --user-data-dir="$work/profile" \
        --screenshot="$pictures/$1.png" --window-size="$2,$3" "file://$work/report.html" >/dev/null 2>&1
}
take report 1000 1240
ls -l "$pictures"
