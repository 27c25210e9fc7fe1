#!/usr/bin/env bash
# Draws the map of the source: scripts/architecture.sh [TREE]
#
# Writes build-map/architecture.svg and the same as a table, build-map/architecture.md. The floors and their order are
# those of tests/style/check_source.sh, files, lines and includes those of src/, and the words those of the list in
# docs/architecture.md: "### GROUP", then "- **floor**: what it is for. More." for each floor, bottom to top.
# Status 1, and what is wrong, where that list and the source have not the same floors.
set -eu

die()
{
    echo "architecture.sh: $*" >&2
    exit 1
}

cd "${1:-$(dirname "${BASH_SOURCE[0]}")/..}"
words_most=56 # of what a floor is for, in characters
document=docs/architecture.md
made=build-map
# A line that ends in \ goes on in the next.
floors=$(sed -e ':more' -e '/\\$/{' -e N -e 's/\\\n//' -e 'b more' -e '}' tests/style/check_source.sh |
    sed -n 's/^floors="\(.*\)"$/\1/p')
[ -n "$floors" ] || die "tests/style/check_source.sh names no floors"

is_floor() # NAME
{
    case " $floors trainer " in
    *" $1 "*) return 0 ;;
    esac
    return 1
}

sources_of() # FLOOR
{
    find "src/$1" -type f \( -name '*.[ch]' -o -name '*.cc' -o -name '*.css' -o -name '*.js' \)
}

# "GROUP<tab>floor<tab>what it is for" for each floor of the document's list.
described()
{
    awk '
    /^## / { group = "" }
    /^### / { group = substr($0, 5) }
    group != "" && match($0, /^- \*\*[a-z_]+\*\*: /) {
        floor = substr($0, 5, RLENGTH - 8)
        words = substr($0, RLENGTH + 1)
        sub(/\. .*|\.$/, "", words)
        gsub(/`/, "", words)
        print group "\t" floor "\t" words
    }' "$document"
}

# Records of tabs: "floor NAME FILES LINES GROUP WORDS" from the bottom up, then "include FROM TO".
facts()
{
    local group floor words files lines
    while IFS=$'\t' read -r group floor words; do
        files=$(sources_of "$floor" | wc -l)
        lines=$(sources_of "$floor" | sort | xargs -r cat | wc -l)
        printf 'floor\t%s\t%s\t%s\t%s\t%s\n' "$floor" "$files" "$lines" "$group" "$words"
    done < <(described)
    grep -rEH '^[[:blank:]]*#[[:blank:]]*include[[:blank:]]*"' src --include='*.[ch]' --include='*.cc' |
        sed -n 's/^src\/\([^/]*\)\/[^:]*:[^"]*"\([^"/]*\)\/.*/include\t\1\t\2/p' |
        awk -F '\t' '$2 != $3' | LC_ALL=C sort -u
}

check_described()
{
    local said directory
    said=$(described | cut -f 2 | tr '\n' ' ')
    [ "$said" = "$floors trainer " ] ||
        die "$document lists other floors than there are: $said(there are: $floors trainer)"
    described | awk -F "\t" -v most="$words_most" 'length($3) > most { print; long = 1 } END { exit long }' ||
        die "$document: over $words_most characters do not fit into the picture"
    for directory in src/*/; do
        directory=${directory#src/}
        is_floor "${directory%/}" || die "src/$directory is no floor of tests/style/check_source.sh"
    done
}

# The floors below that each includes, top to bottom as in the picture.
make_table() # FACTS
{
    awk -F '\t' '
    function grouped(n) { return n < 1000 ? n : int(n / 1000) "," sprintf("%03d", n % 1000) }
    $1 == "floor" { name[++count] = $2; files[$2] = $3; lines[$2] = $4 }
    $1 == "include" { includes[$2, $3] = 1 }
    END {
        print "| floor | files | lines | includes, of the floors below it |"
        print "|---|---|---|---|"
        for (row = count; row >= 1; row--) {
            list = ""
            for (below = row - 1; below >= 1; below--)
                if ((name[row], name[below]) in includes)
                    list = list (list == "" ? "" : ", ") name[below]
            list = list == "" ? "none" : list
            printf "| `%s` | %d | %s | %s |\n", name[row], files[name[row]], grouped(lines[name[row]]), list
        }
    }' "$1"
}

# A staircase: a row for each floor, a column for each floor, a dot where the row includes the column.
make_picture() # FACTS
{
    awk -F '\t' '
    function grouped(n) { return n < 1000 ? n : int(n / 1000) "," sprintf("%03d", n % 1000) }
    function text(x, y, class, words) { printf "<text x=\"%d\" y=\"%d\" class=\"%s\">%s</text>\n", x, y, class, words }
    function box(x, y, w, h, class) {
        printf "<rect x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\" rx=\"3\" class=\"%s\"/>\n", x, y, w, h, class
    }
    function dot(x, y, title) {
        printf "<circle cx=\"%d\" cy=\"%d\" r=\"5\" class=\"does\"><title>%s</title></circle>\n", x, y, title
    }
    function turned(x, y, angle, class, words) {
        printf "<text transform=\"translate(%d %d) rotate(%d)\" class=\"%s\">%s</text>\n", x, y, angle, class, words
    }
    function escaped(words) { gsub(/&/, "\\&amp;", words); gsub(/</, "\\&lt;", words); return words }
    BEGIN { longest = 1 }
    function draw_floor(f, y) {
        box(30, y + 2, 96, step - 4, "floor")
        text(38, y + 16, "name", f)
        text(136, y + 16, "words", escaped(words[f]))
        box(numbers - 94, y + 5, 54 * lines[f] / longest, step - 10, "bar")
        text(numbers - 4, y + 16, "number", grouped(lines[f]))
        text(numbers - 106, y + 16, "number", files[f])
    }
    # The row of one floor in the staircase: what it may include is shaded, what it does include has a dot.
    function draw_includes(row, y,    column, x) {
        for (column = 1; column < row; column++) {
            x = left + (column - 1) * cell
            box(x + 1, y + 2, cell - 2, step - 4, "may")
            if ((name[row], name[column]) in includes)
                dot(x + cell / 2, y + step / 2, name[row] " includes " name[column])
        }
        x = left + (row - 1) * cell
        box(x + 1, y + 2, cell - 2, step - 4, "floor")
        text(x + cell + 4, y + 16, "end", name[row])
    }
    function draw_group(f, y, rows) {
        turned(19, y + rows * step / 2, -90, "group", escaped(group[f]))
        printf "<path d=\"M26 %d v%d\" class=\"line\"/>\n", y + 3, rows * step - 6
    }
    function style() {
        print "<style>"
        print "svg { font: 12px system-ui, sans-serif; }"
        print ".page { fill: #ffffff; } text { fill: #1f2328; }"
        print ".floor { fill: #b6d7f4; } .bar { fill: #dfe5ea; } .may { fill: #eef1f4; } .does { fill: #0b5cad; }"
        print ".line { stroke: #8c959f; fill: none; }"
        print ".title { font-size: 17px; font-weight: 600; } .name { font-weight: 600; }"
        print ".words, .note, .group, .head, .end { fill: #57606a; }"
        print ".number { text-anchor: end; } .group { text-anchor: middle; font-size: 11px; } .end { font-size: 11px; }"
        print "@media (prefers-color-scheme: dark) {"
        print ".page { fill: #0d1117; } text { fill: #e6edf3; }"
        print ".floor { fill: #1f4b77; } .bar { fill: #2b323b; } .may { fill: #1a2028; } .does { fill: #6cb6ff; }"
        print ".line { stroke: #6e7681; } .words, .note, .group, .head, .end { fill: #9aa4af; }"
        print "}"
        print "</style>"
    }
    $1 == "floor" {
        if ($2 == "trainer")
            apart = $2
        else
            name[++count] = $2
        files[$2] = $3; lines[$2] = $4; group[$2] = $5; words[$2] = $6
        longest = $4 + 0 > longest ? $4 + 0 : longest
    }
    $1 == "include" { includes[$2, $3] = 1 }
    END {
        step = 24; cell = 20; numbers = 600; left = 620; top = 108
        width = left + count * cell + 72
        height = top + count * step + 66
        printf "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %d\"", width, height
        printf " width=\"%d\" height=\"%d\">\n", width, height
        print "<!-- made by scripts/architecture.sh -->"
        style()
        printf "<rect width=\"%d\" height=\"%d\" class=\"page\"/>\n", width, height
        text(30, 34, "title", "meshsweep, floor by floor")
        text(30, 56, "note", "Each floor may include those below it (shaded) and no others. A dot: it does.")
        text(numbers - 106, top - 6, "number head", "files")
        text(numbers - 4, top - 6, "number head", "lines")
        for (row = 1; row <= count; row++)
            turned(left + row * cell - 7, top - 6, -60, "head", name[row])
        for (row = count; row >= 1; row--) {
            y = top + (count - row) * step
            draw_floor(name[row], y)
            draw_includes(row, y)
            rows++
            if (row == 1 || group[name[row - 1]] != group[name[row]]) {
                draw_group(name[row], y - (rows - 1) * step, rows)
                rows = 0
            }
        }
        y = top + count * step + 18
        draw_floor(apart, y)
        text(left, y + 16, "note", "a program of its own, which includes no floor")
        print "</svg>"
    }' "$1"
}

check_described
mkdir -p "$made"
facts >"$made/facts"
make_table "$made/facts" >"$made/architecture.md"
make_picture "$made/facts" >"$made/architecture.svg"
