#!/usr/bin/env bash
# cli: what init --from-log makes of the logs of tests/init/logs, held against tests/init/answers. A log follows its
# line "==== NAME"; with "b" behind the name printf's %b writes it, without an end of its last line.
. "${0%/*}/lib.sh"

least_right=95 # of a hundred objectives

split_logs()
{
    local name mode
    awk '/^==== /{ file = $2 ".log"; next } { print > file }' "$source_dir/tests/init/logs"
    while read -r name mode; do
        [ -z "$mode" ] || { printf %b "$(cat "$name.log")" >bytes && mv bytes "$name.log"; }
    done < <(sed -n 's/^==== //p' "$source_dir/tests/init/logs")
}

# The metrics that the file of the last run calls sure, with the numbers that its readers find: NAME=NUMBER.
sure()
{
    awk '
    FILENAME == ".stderr" {
        if (match($0, / it finds [a-z_0-9]+ [-0-9.]+/)) {
            split(substr($0, RSTART, RLENGTH), word, " ")
            found[word[3]] = word[4]
        }
        next
    }
    /^# sure: it reads / { sub(/^# sure: it reads /, ""); sub(/ of [^ ]*$/, ""); gsub(/,/, ""); names = names " " $0 }
    /^# sure: [0-9]/ { is_sure = 1 }
    /^\[job\.metrics\./ { if (is_sure) names = names " " substr($0, 14, length($0) - 14); is_sure = 0 }
    END {
        count = split(names, name, " ")
        for (i = 1; i <= count; i++)
            print name[i] "=" found[name[i]]
    }' .stderr .stdout
}

logs__of_programs__nothing_sure_is_wrong_and_most_objectives_are_right()
{
    local name objective answers right=0 count=0 one
    split_logs
    while read -r name objective answers; do
        expect_run only_status 0 init --from-log "$name.log" -o - a=1 -- true
        [ -z "$(grep '^regex' .stdout | sort | uniq -d)" ] || fail "$name: two metrics are read from the same numbers"
        for one in $(sure); do
            [[ " $answers " == *" $one "* ]] || fail "$name: $one is called sure, and right is: $answers"
        done
        count=$((count + 1))
        if grep -q "^objective = \"$objective\"" .stdout &&
            { [ "$objective" = min:duration ] || grep -q " it finds ${objective#*:} " .stderr; }; then
            right=$((right + 1))
        else
            echo "# $name: $(grep ^objective .stdout), and right is $objective"
        fi
    done < <(sed 1d "$source_dir/tests/init/answers")
    echo "# $right of $count objectives right"
    [ $((100 * right)) -ge $((least_right * count)) ] || fail "only $right of $count objectives are right"
    expect '[ "$(grep -c "^==== " "$source_dir/tests/init/logs")" = '"$count ]"
}

run_cases "$@"
