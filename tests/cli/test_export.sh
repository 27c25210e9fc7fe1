#!/usr/bin/env bash
# export: what another program reads is what the jobs had, and nothing in it is a formula.
. "$(dirname "$0")/lib.sh"

# Jobs with values that are awkward in a table; the last one fails with an awkward message.
awkward_sweep()
{
    cat >sweep.toml <<'END'
[sweep]
objective = "max:score"
[job]
command = ["/bin/sh", "job.sh", "{s}", "{f}"]
[job.metrics.score]
regex = 'score: ([-+.0-9a-zA-Z]+)'
[[parallel_spec]]
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
    run_meshsweep run --progress none -j 2
    expect_status 3
    expect_no_stdout
    expect_no_stderr
}

csv__read_by_another_program__equals_the_database()
{
    command -v python3 >/dev/null || skip "there is no python3"
    awkward_sweep
    run_meshsweep export -o out.csv
    expect_status 0
    expect_no_stdout
    expect_no_stderr
    cat >compare.py <<'END'
import csv, sqlite3, sys
rows = list(csv.reader(open("out.csv", newline="", encoding="utf-8"), strict=True))
header, rows = rows[0], rows[1:]
db = sqlite3.connect("results.db")
cursor = db.execute("SELECT * FROM results ORDER BY job")
assert header == [d[0] for d in cursor.description], header
stored = cursor.fetchall()
assert len(rows) == len(stored) == 60, len(rows)
guarded = 0
def plain(cell):
    # The guard that keeps spreadsheets from running a cell.
    global guarded
    if cell[:1] == "'" and cell[1:2] in "=+-@\t\r'" and len(cell) > 1:
        guarded += 1
        return cell[1:]
    return cell
for row, want in zip(rows, stored):
    for name, cell, value in zip(header, row, want):
        if value is None:
            assert cell == "", (name, cell)
        elif isinstance(value, str):
            assert plain(cell) == value, (name, cell, value)
            assert cell[:1] not in ("=", "+", "-", "@", "\t", "\r") or cell == "", (name, cell)
        else:
            assert float(cell) == float(value), (name, cell, value)
            assert isinstance(value, float) == ("." in cell or "e" in cell), (name, cell, value)
assert guarded > 0
print("equal")
END
    run_command python3 compare.py
    expect_status 0
    expect_stdout equal
    expect_no_stderr
}

csv__rows_and_their_order__stay()
{
    awkward_sweep
    run_meshsweep export -o first.csv
    expect_status 0
    expect_no_stdout
    expect_no_stderr
    run_meshsweep export --all
    expect_status 0
    expect_any_stdout
    expect_no_stderr
    expect "cmp first.csv .stdout"
    expect "[ \"\$(head -n 1 first.csv | cut -d , -f 1-4)\" = job,key,sweep,in_sweep ]"
    run_meshsweep export --succeeded --format json
    expect_status 0
    expect_any_stdout
    expect_no_stderr
    cp .stdout out.json
    expect_sql "57|é ü 日本|0.1" "SELECT json_array_length(j), j ->> '\$[33].s', j ->> '\$[33].f'
        FROM (SELECT cast(readfile('out.json') AS TEXT) AS j)"
    run_meshsweep export --failed --format tsv
    expect_status 0
    expect_stdout_contains "exit status 1: =cmd|' /C calc'!A0"
    expect_no_stderr
    expect "[ \$(wc -l <.stdout) = 4 ]"
}

csv__to_a_full_device__said_and_nothing_torn()
{
    [ -w /dev/full ] || skip "there is no /dev/full"
    awkward_sweep
    run_command sh -c '"$0" export >/dev/full' "$meshsweep"
    expect_status 1
    expect_no_stdout
    expect_stderr 'meshsweep: standard output: No space left on device'
    run_command sh -c '"$0" export | head -n 1' "$meshsweep"
    expect_status 0
    expect_stdout_contains 'job,key'
    expect_no_stderr
}

run_cases "$@"
