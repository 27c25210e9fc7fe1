#!/usr/bin/env bash
# export: what another program reads is what the jobs had, and nothing in it is a formula.
. "${0%/*}/lib.sh"

# Jobs with values that are awkward in a table; the last one fails with an awkward message.
awkward_sweep()
{
    toml sweep: objective=max:score job: command='["/bin/sh", "job.sh", "{s}", "{f}"]' \
        job.metrics.score: regex='score: ([-+.0-9a-zA-Z]+)' parallel_spec:: >sweep.toml
    cat >>sweep.toml <<'END'
s = ["=1+1", "+x", "-x", "@sum", "'=1+1", "'apos", "a,b", "q\"q", "line1\nline2", "\r\nedge\r", "\ttab", "é ü 日本",
     "", " lead ", "-5", "1e5", "NULL", "=HYPERLINK(\"http://x\",\"y\")", "\\N", "fails"]
f = [0.1, -1e-7, 123456789.125]
b = true
list = [[1, 2]]
END
    cat >job.sh <<'END'
echo "score: $2"
[ "$1" != fails ] || { echo "=cmd|' /C calc'!A0"; exit 1; }
END
    run_silently 3 -j 2
}

# Numbers at the ends of what there is, and what is no number. The last job reports none.
extreme_sweep()
{
    toml sweep: objective=max:score job: command='["/bin/sh", "-c", "echo score: {m}"]' \
        job.metrics.score: regex='score: ([-+.0-9a-zA-Z]+)' model:: \
        m='["nan", "inf", "-inf", "5e-324", "1.7976931348623157e308", "-0.0", "9007199254740993", "none"]' \
        parallel_spec:: i=0,-1,9007199254740993,9223372036854775807,-9223372036854775808 \
        parallel_spec:: j=false r=0.30000000000000004 >sweep.toml
    run_silently 3 --keep-going
}

# An export as a program reads it that knows of CSV alone, against the view; a cell that a spreadsheet would run is
# guarded, and only such a text: numbers stay numbers.
expect_equal_to_database() # ROWS
{
    expect_run silent 0 export -o out.csv
    cat >compare.py <<'END'
import csv, math, sqlite3, sys
rows = list(csv.reader(open("out.csv", newline="", encoding="utf-8"), strict=True))
header, rows = rows[0], rows[1:]
db = sqlite3.connect("results.db")
cursor = db.execute("SELECT * FROM results ORDER BY job")
assert header == [d[0] for d in cursor.description], header
stored = cursor.fetchall()
assert len(rows) == len(stored) == int(sys.argv[1]), len(rows)
FORMULA = ("=", "+", "-", "@", "\t", "\r")
def plain(cell):
    return cell[1:] if cell[:1] == "'" and cell[1:2] in FORMULA + ("'",) and len(cell) > 1 else cell
for row, want in zip(rows, stored):
    for name, cell, value in zip(header, row, want):
        if value is None:
            assert cell == "", (name, cell)
        elif name in ("in_sweep", "partial", "b", "j"):
            assert cell == ("true" if value else "false"), (name, cell, value)
        elif isinstance(value, str):
            assert plain(cell) == value, (name, cell, value)
            assert cell[:1] not in FORMULA or cell == "", (name, cell)
        elif isinstance(value, int):
            assert int(cell) == value, (name, cell, value)
        else:
            assert cell[:1] not in FORMULA or cell[1:2].isdigit(), (name, cell)
            cell = plain(cell)
            assert float(cell) == value and (math.isinf(value) or "." in cell or "e" in cell), (name, cell, value)
print("equal")
END
    expect_said_by only_stdout 0 equal run_command python3 compare.py "$1"
}

csv__extreme_numbers__read_back_equal()
{
    extreme_sweep
    expect_equal_to_database 48
    expect_sql "9223372036854775807||||" "SELECT max(i), max(score) FILTER (WHERE m = 'nan'),
        max(score) FILTER (WHERE m = 'inf'), max(score) FILTER (WHERE m = '-inf'), max(score) FILTER (WHERE m = 'none')
        FROM results"
}

csv__read_by_another_program__equals_the_database_in_its_order()
{
    awkward_sweep
    expect_equal_to_database 60
    expect "grep -q \"'=1+1\" out.csv"
    expect_run silent 0 export -o first.csv
    expect_run only_stdout 0 export --all
    expect "cmp first.csv .stdout" "[ \"\$(head -n 1 first.csv | cut -d , -f 1-4)\" = job,key,sweep,in_sweep ]"
    expect_run only_stdout 0 export --succeeded --format json
    expect_json "57|é ü 日本|0.1" 'json_array_length(j)' "(j -> 33 ->> 's')" "(j -> 33 ->> 'f')"
    expect_said only_stdout_contains 0 "exit status 1: =cmd|' /C calc'!A0" export --failed --format tsv
    expect "[ \$(wc -l <.stdout) = 4 ]"
}

csv__to_a_full_device__said_and_nothing_torn()
{
    [ -w /dev/full ] || skip "there is no /dev/full"
    awkward_sweep
    run_command sh -c '"$0" export >/dev/full' "$meshsweep"
    expect_only_stderr 1 'meshsweep: standard output: No space left on device'
    expect_said_by only_stdout_contains 0 'job,key' run_command sh -c '"$0" export | head -n 1' "$meshsweep"
}

run_cases "$@"
