#!/usr/bin/env bash
# All that is wrong in a sweep file is told in one run, in the order of the file, and each mistake once.
. "${0%/*}/lib.sh"

# The lines of standard input are the places and sentences that are told of sweep.toml, and nothing else is.
expect_problems() # COMMAND
{
    local wanted
    wanted=$(sed 's/^/meshsweep: sweep.toml:/')
    expect_said only_stderr 2 "$wanted" "$1" -c sweep.toml
    expect "[ \"\$(ls)\" = sweep.toml ]"
}

everything__wrong_in_one_file__reported_in_its_order()
{
    toml sweep: name=mixed objectiv=max:score disable_rules='["world-sise"]' \
        job: command='["./job.sh", "{hiden}", "{job_dir}"]' repeat=three timeout='layerz * 60' \
        env='{ KEY = "{parallel_spec.tpp}" }' model:: hidden=128 layers='[]' \
        parallel_spec:: tp=1,2 derive: dp='gpus / tpp' twice='dp * 2' rule:: name=fits \
        require='hiddn * tp < 4096 * layers' rule:: name=fits require='tp > 0' \
        inert: tpp='tp = 1' >sweep.toml
    for command in check plan run why; do
        expect_problems "$command" <<'END'
3:1: unknown key "objectiv" in [sweep]; did you mean "objective"?
4:18: [sweep] disable_rules: there is no rule `world-sise` (did you mean `world-size`?)
6:11: unknown placeholder {hiden} (did you mean `hidden`?); write {{hiden} for the text itself
7:10: repeat must be an integer, not a string
8:11: [job] `timeout`: unknown key `layerz` (did you mean `layers`?)
9:9: unknown placeholder {parallel_spec.tpp} (did you mean `tp`?); write {{parallel_spec.tpp} for the text itself
12:10: layers: the list is empty, but an axis needs a value (for a list as a value, use list_values)
16:1: derived key `dp`: unknown key `tpp` (did you mean `tp`?)
18:1: rule `fits`: unknown key `hiddn` (did you mean `hidden`?)
22:8: "fits" is given twice (first on line 18)
25:1: [inert]: no spec has the key `tpp` (did you mean `tp`?)
END
    done
}

# A word that is no key was perhaps meant for a time.
limit__words__what_a_duration_is()
{
    toml job: command='["true"]' timeout=forever idle_timeout='CASE WHEN layers THEN layers ELSE hours END' \
        startup_timeout='10 * layer' training_spec: layers=1 hours=2 >sweep.toml
    expect_problems plan <<'END'
3:11: [job] `timeout`: unknown key `forever`; write a duration as "90s", "10m" or "1h30m"
5:19: [job] `startup_timeout`: unknown key `layer` (did you mean `layers`?)
END
}

# One mistake on line 1 and below, and names that only it explains: nothing but the mistake is told.
expect_alone() # SENTENCE, with the file on standard input
{
    cat >sweep.toml
    expect_problems plan <<<"$1"
}

misspelt_section__its_keys__are_not_called_unknown_and_others_are()
{
    toml modle:: hidden=128 moe.experts=8 '"(heads, kv)" = [[1, 2]]' parallel_spec:: tp=1 \
        job: command='["true", "{hidden} {model.hidden} {moe.experts} {kv}", "{tpp}"]' \
        rule:: name=r require='hidden % heads = 0 AND model.kv > 0' >sweep.toml
    expect_problems plan <<'END'
1:3: unknown key "modle" in the file; did you mean "model"?
8:11: unknown placeholder {tpp} (did you mean `tp`?); write {{tpp} for the text itself
END
}

entries__that_could_not_be_read__are_not_called_unknown()
{
    local tail='
[[parallel_spec]]
tp = 1
[job]
command = ["true", "{hidden}", "{twice}"]
[[rule]]
name = "r"
require = "hidden * twice > tp"'
    expect_alone '1:9: model must be a table or a list of tables, not an integer' <<<"model = 3
[derive]
twice = \"hidden * 2\"$tail"
    expect_alone '1:10: derive must be a table, not an integer' <<<"derive = 3
[model]
hidden = 1$tail"
    expect_alone '2:9: twice must be a string or an integer or a float or true or false, not a list' <<<"[derive]
twice = []
[model]
hidden = 1$tail"
    expect_alone '2:1: derived key `twice`: a parenthesis is not closed' <<<"[derive]
twice = \"(hidden\"
[model]
hidden = 1$tail"
    expect_alone '2:20: (hidden, twice) ties 2 keys, but this has 1 values' <<<"[model]
\"(hidden, twice)\"=[[1]]$tail"
    expect_alone '2:1: "(hidden, twice" is not a tied group; write one as "(a, b)"' <<<"[model]
\"(hidden, twice\" = [[1]]$tail"
    expect_alone '1:12: there is no profile "torhc"; did you mean "torch"?' <<<"profile = [\"torhc\"]$tail"
    expect_alone '1:12: more.toml: cannot open: No such file or directory' <<<"include = [\"more.toml\"]$tail"
    expect_alone '2:11: hidden must be a string or a list of strings, not an integer' <<<"[synonym]
hidden =  3
[model]
twice = 3$tail"
}

metrics_and_rules__that_could_not_be_read__are_not_called_unknown()
{
    expect_alone '4:9: score must be a table, not an integer' \
        < <(toml sweep: objective=score job.metrics: score=3)
    expect_alone '4:11: metrics must be a table, not an integer' < <(toml sweep: objective=score job: metrics=3)
    expect_alone '3:11: require is empty' < <(toml rule:: name=r require=' ' sweep: disable_rules='["r"]')
}

required_key_or_direction__misspelt__is_reported_once()
{
    expect_alone '3:1: unknown key "requier" in [[rule]]; did you mean "require"?' \
        < <(toml rule:: name=r 'requier = "true"' sweep: disable_rules='["r"]')
    expect_alone '4:10: better must be "max" or "min"; did you mean "max"?' \
        < <(toml sweep: objective=max:score job.metrics.score: better=mox)
}

many_problems__in_a_large_file__reported_in_time()
{
    {
        echo '[[parallel_spec]]'
        seq -f 'key%.0f = 1' 1800
        echo '[derive]'
        seq -f 'd%.0f = "kay1 + d"' 9000
    } >sweep.toml
    run_meshsweep plan
    expect_only_stderr_contains 2 'sweep.toml:1803:1: derived key `d1`: unknown key `kay1`' '… and 8950 more'
}

# A line of a small sweep in place of another, and what is told of it: "LINE" "IN ITS PLACE" "PLACE: SENTENCE".
expect_reported()
{
    small_sweep plain.toml
    awk -v from="$1" -v to="$2" 'index($0, from) == 1 { $0 = to } { print }' plain.toml >sweep.toml
    rm plain.toml
    rm job.sh
    expect_problems plan <<<"$3"
}

syntax__as_other_languages_write_it__said_in_ones_own_words()
{
    local word text='not a number, date, boolean or list; put strings in quotes'
    for word in None True null small Infinity; do
        expect_reported 'x =' "x = $word" "13:5: $text"
    done
    expect_reported 'x =' '(x, z) = [[1, 2]]' '13:1: put a tied group in quotes: "(a, b)" = [[1, 2]]'
    expect_reported 'y =' '[job]' '16:1: "job" is given twice'
    expect_reported 'y =' 'y = 1 # once
y = 2' '17:5: "y" is given twice'
    expect_reported 'x =' 'größe = 1' '13:3: characters beyond ASCII are allowed only in strings and comments'
}

expressions__as_other_languages_write_them__said_how_sql_does()
{
    while IFS='|' read -r expression said; do
        expect_reported 'y =' "$(toml y=10 derive: "z = '$expression'" "w = 'x'")" "18:1: derived key \`z\`: $said"
    done <<'END'
x ** 2|in SQL, write pow(X, Y) instead of `**`
x && y|in SQL, write AND instead of `&&`
{x} + 1|write keys without braces in an expression
x = "big"|unknown key `big` (put strings in single quotes: 'big')
w + 1|unknown key `w` (a derived key can use only keys defined above it)
parallel.y + trainin_spec.x|unknown key `parallel.y`
trainin_spec.x|unknown key `trainin_spec.x` (did you mean `training_spec.x`?)
END
}

placeholders__odd__plain_text_unless_they_name_a_key()
{
    for text in '{' '{{' '{}' '{{}}' '${x}' '{x' 'x}' '{0}' '{ print }' '{1..8}' '{x,y}' '{{ x }' '{ x }' '{x }' \
        '{ x}' '{x:>5}' '$x'; do
        small_sweep sweep.toml
        TEXT=$text awk '/^command/ { sub(/"[{]x[}]"/, "\"" ENVIRON["TEXT"] "\"") } { print }' sweep.toml >changed.toml
        expect_said only_stdout_contains 0 '4 jobs: + 4 new' plan -c changed.toml
    done
    rm -f ./*
    expect_reported 'command =' "command = ['true', '{a.b.c}']" \
        '6:11: unknown placeholder {a.b.c}; write {{a.b.c} for the text itself, {a.b.c?} for what may be absent'
    expect_reported 'command =' "command = ['true', '{job_dirr}']" \
        '6:11: unknown placeholder {job_dirr} (did you mean `job_dir`?); write {{job_dirr} for the text itself'
    expect_reported 'command =' "command = ['true', '{parallel_spec.}']" \
        '6:20: {parallel_spec.} is not a placeholder: half of its name is missing'
}

values__that_cannot_be__refused()
{
    local least='num_hosts must be an integer of at least 1' value
    for value in 0 -1 1.5 '"two"' true; do
        expect_reported 'y =' "$(toml y=1 cluster_spec: "num_hosts = $value")" "18:13: $least"
    done
    expect_reported 'y =' "$(toml y=1 cluster_spec: num_devices_per_host=1,-1)" \
        '18:28: num_devices_per_host must be an integer of at least 0'
    for value in 1000001 4611686018427387904; do
        expect_reported 'y =' "$(toml y=1 cluster_spec: num_hosts="$value")" \
            "18:13: num_hosts must be at most 1000000, not $value"
    done
    expect_reported 'name =' "name = '$(printf '%*s' 201 '' | tr ' ' n)'" \
        '2:8: name is longer than 200 bytes; use description for longer text'
}

run_cases "$@"
