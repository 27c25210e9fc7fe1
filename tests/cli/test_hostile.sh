#!/usr/bin/env bash
# Whatever names, messages and numbers a sweep has: every view of it stands, says what is missing, and sends nothing to
# the terminal that would act on it.
. "${0%/*}/lib.sh"
. "${0%/*}/fixture.sh"

# Control characters but tab and line end, CSI as one character, marks that change the direction.
acting=$(printf '[\001-\010\013\014\016-\037\177]|\302[\200-\237]|\342\200[\252-\256]')

# One view: what it prints does not act, and what it says is one line.
view() # STATUS WORDS...
{
    local wanted=$1
    shift
    expect_run only_status "$wanted" "$@"
    expect "! LC_ALL=C grep -qaE '$acting' .stdout" "! LC_ALL=C grep -qaE '$acting' .stderr"
    [ "$wanted" = 0 ] || expect "[ \"\$(grep -c . .stderr)\" = 1 ]"
    # No megabyte on a line for people, but where it is to be copied.
    [[ $1 = @(results|best|show) ]] || expect "[ \"\$(wc -c <.stdout)\" -lt 15000 ]"
}

# Data, which other programs read as it is.
json() # WORDS...
{
    expect_run only_stdout 0 "$@" --json
    expect_json 1 'json_valid(j)'
}

export_each() # FORMAT...
{
    local format
    for format; do
        expect_run only_stdout 0 export --format "$format"
    done
    expect_run only_stdout 0 export --long
}

# The ways to look at a database of which each is to stand; statuses of best and compare differ.
look_at_all() # BEST COMPARE KEY JOB
{
    view 0 report -o report.html
    expect "tail -n 1 report.html | grep -qx '</body></html>'" "! LC_ALL=C grep -qaE '$acting' report.html"
    view 0 results
    view 0 results --format markdown
    view 0 status
    json status
    view "$1" best
    view "$2" compare --by "$3"
    view 0 show "$4"
    json show "$4"
    view 0 stale
    export_each csv json
}

# Strings of TOML.
hostile_name='</script>\"'"'"'\u001b[2J\u001b[31m\u202e\n\r\u009b=cmd()'

hostile_sweep()
{
    toml sweep: "name = \"$hostile_name\"" objective=max:score job: command='["/bin/sh", "./job.sh", "{x}"]' \
        env='{ KIND = "{kind}" }' job.metrics.score: regex='score: ([-0-9.einfa]+)' "unit = \"$hostile_name\"" \
        better=max model:: "kind = [\"$hostile_name\", \"=cmd()\", \"$(printf '%*s' 5000 '' | tr ' ' x)\"]" \
        training_spec:: x=1,2,3 "label = [\"$hostile_name\", \"NaN\"]" rule:: name=small require='x < 3' \
        "why = \"$hostile_name\"" >sweep.toml
    cat >job.sh <<'END'
printf 'score: %s\n' "$1"
[ "$1" = 1 ] && exit 0
printf '</script>\033]0;title\007 \033[2J \342\200\256 \377\n' >&2
exit 1
END
}

hostile_names__every_view__stands_and_does_not_act()
{
    hostile_sweep
    view 0 plan
    json plan
    expect_said only_stderr_contains 3 'score 1' run --progress plain
    expect "! LC_ALL=C grep -qaE '$acting' .stderr"
    expect_sql '6|6' "SELECT count(*) FILTER (WHERE state = 'ok'), count(*) FILTER (WHERE state = 'failed') FROM job"
    view 0 plan
    view 0 why x=1
    view 0 why x=3
    if type -P script >/dev/null; then
        run_command env TERM=xterm script -qec \
            "meshsweep tail $(sql "SELECT min(id) FROM job WHERE state = 'failed'") --once" /dev/null
        expect_only_stdout_contains 0 '</script>\x1b]0;title\x07'
        expect "! LC_ALL=C grep -qaE '$acting' .stdout"
    fi
    look_at_all 0 0 kind 1
    export_each tsv jsonl markdown table
    expect "! grep -qF '</script>\"' report.html"
    expect_said only_stdout_contains 0 "'=cmd()" export --where x=1
    expect_run silent 0 export --toml -o again.toml
    # The file that it writes names what there was.
    expect_said only_stdout_contains 0 '= 6 done' plan -c again.toml
}

megabyte__every_text__every_view_stands()
{
    fixture_database \
        "UPDATE attempt SET message = printf('%.*c', 1000000, 'm'), log_tail = message, directory = message,
            command = json_array(printf('%.*c', 1000000, 'c'))" \
        "UPDATE spec SET name = printf('%.*c', 1000000, 'n'), json =
            json_set(json, '$.name', printf('%.*c', 1000000, 'n'))" \
        "UPDATE sweep SET name = printf('%.*c', 1000000, 's'), path = name" \
        "UPDATE rule SET reason = printf('%.*c', 1000000, 'r')" \
        "UPDATE runner SET host = printf('%.*c', 1000000, 'h')"
    look_at_all 0 4 tp 1
    expect "[ \"\$(wc -c <report.html)\" -lt 5000000 ]"
}

terminal__data__escaped_there_and_exact_in_a_file()
{
    type -P script >/dev/null || skip "there is no script"
    fixture_database "UPDATE attempt SET message = char(27) || '[2J' || char(8238) WHERE id = 6"
    run_command env TERM=xterm script -qec 'meshsweep export --format csv --failed' /dev/null
    expect_only_stdout_contains 0 '\x1b[2J\u202e'
    expect_said only_stdout_contains 0 $'\x1b[2J\xe2\x80\xae' export --format csv --failed
}

# The statuses of best and compare, and what is done to the database.
numbers_and_objectives__extreme_or_none__every_view_stands()
{
    while IFS='|' read -r best compare change; do
        fixture_database "$change"
        look_at_all "$best" "$compare" tp 1
    done <<'END'
0|4|UPDATE summary SET value = 1.7e308
0|4|DELETE FROM summary WHERE attempt_id > 1; DELETE FROM metric WHERE attempt_id > 1
2|2|UPDATE sweep SET objective = NULL
4|4|DELETE FROM summary; DELETE FROM attempt; UPDATE job SET state = 'pending', failure = NULL
END
    fixture_database "UPDATE summary SET value = 1.7e308 WHERE attempt_id = 1 AND name = 'throughput'" \
        "UPDATE summary SET value = NULL WHERE attempt_id = 2 AND name = 'throughput'" \
        "UPDATE summary SET value = -1.7e308 WHERE attempt_id = 3" \
        "INSERT INTO summary (attempt_id, name, value, count) VALUES (1, 'peak_memory', NULL, 0), (3, 'peak_memory',
            1.7e308, 1)"
    look_at_all 0 4 tp 1
    view 4 compare --by tp --metric loss
}

results__none__every_view_says_so()
{
    fixture_database "DELETE FROM summary" "DELETE FROM attempt" "DELETE FROM job"
    view 0 report
    view 4 results
    view 0 status
    view 4 best
    view 4 compare --by tp
    view 0 stale
    export_each csv json
}

keys__ten_with_one_value_each__every_view_stands()
{
    toml sweep: objective=max:score job: command='["/bin/sh", "./job.sh", "{a}"]' \
        job.metrics.score: regex='score: ([0-9]+)' model:: a=1 b=2 c=three d=4.5 e=true \
        parallel_spec:: f=6 g=7 h=8 i=9 j=10 >sweep.toml
    echo 'echo score: 7' >job.sh
    view 0 plan
    expect_run only_stdout 0 run --progress none
    view 0 plan
    look_at_all 0 4 a 1
}

run_cases "$@"
