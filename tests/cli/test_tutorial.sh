#!/usr/bin/env bash
# The tutorial and README's example, each followed from top to bottom in a directory: each command as it is printed,
# each table put into the sweep file where the text says it goes. Nothing but Slurm and the script is a stand-in.
. "${0%/*}/lib.sh"

# As nanoGPT's train.py prints, slower the larger the batch.
stand_in_script()
{
    mkdir bin
    cat >bin/python3 <<'END'
#!/bin/sh
batch=12
for word; do
    case $word in
    --batch_size=*) batch=${word#*=} ;;
    esac
done
echo "step 0: train loss 4.2874, val loss 4.2823"
for step in 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19; do
    echo "iter $step: loss 4.$((30 - step))00, time $((10 + batch)).5$((step % 3))ms, mfu -100.00%"
done
END
    chmod +x bin/python3
    PATH=$PWD/bin:$build_dir:$PATH
}

# "# SECTION", "$ COMMAND", "[" and "]" around the lines of a table, as they come.
steps_of_tutorial()
{
    awk '
    /^## / { print "# " $2; next }
    /^```toml/ { print "["; table = 1; next }
    /^```/ { if (table) print "]"; table = 0; next }
    table { print; next }
    /^    [^ ]/ || more {
        line = $0
        sub(/^ +(\$ )?/, "", line)
        more = sub(/\\$/, "", line)
        held = held line
        if (!more) { print "$ " held; held = "" }
    }' "$source_dir/docs/tutorial.md"
}

# The lines of [sweep] and [job] go into what is there, others to the end.
put_into_sweep_file() # FILE
{
    local header line key
    read -r header <"$1"
    header=${header%%]*}]
    case $header in
    '[sweep]' | '[job]') ;;
    *)
        { echo && cat "$1"; } >>sweep.toml
        return
        ;;
    esac
    while IFS= read -r line; do
        key=${line%% *}
        awk -v table="$header" -v key="$key" -v line="$line" '
            /^\[/ { inside = index($0, table) == 1 }
            inside && $1 == key { next }
            { print }
            index($0, table) == 1 { print line }' sweep.toml >changed.toml
        mv changed.toml sweep.toml
    done < <(grep '^[a-z_]* = ' "$1")
}

type_command() # COMMAND
{
    (exec timeout 60 bash -o pipefail -c "$1") >.stdout 2>.stderr </dev/null || fail "status $?: $1: $(cat .stderr)"
}

take_table() # SECTION
{
    case $1 in
    1.) ;; # what init prints
    9.) cat table.toml >>sweep.toml ;;
    *) put_into_sweep_file table.toml ;;
    esac
    [ ! -e sweep.toml ] || "$meshsweep" check sweep.toml >/dev/null || fail "section $1: $(cat table.toml)"
}

tutorial__word_by_word__works()
{
    local line section='' table=''
    stand_in_script
    steps_of_tutorial >steps
    while IFS= read -r line; do
        case $table$line in
        '# '*) section=${line#\# } ;;
        '[')
            table=yes
            : >table.toml
            ;;
        'yes]')
            table=''
            take_table "$section"
            ;;
        yes*) echo "$line" >>table.toml ;;
        '$ '*) [ "$section" = 9. ] || type_command "${line#\$ }" ;; # without Slurm: tests/cli/test_slurm.sh
        esac
    done <steps
    # It came to a winner, which runs.
    expect "[ -s results.csv ] && [ -s report.html ]"
    type_command 'sh winner/command.sh'
    expect "grep -q '^iter 19' .stdout" "[ $(grep -c '^\$ ' steps) -ge 20 ]"
}

# README's five minutes: its file as it is saved, its commands, and the form of what it shows.
readme__word_by_word__works()
{
    stand_in_script
    awk 'block && /^```/ { exit } block { print } /^```toml/ { block = 1 }' "$source_dir/README.md" >nanogpt.toml
    sed -n 's/^    \$ //p' "$source_dir/README.md" | sed -E 's/ +#.*//' >commands
    expect "[ $(wc -l <commands) = 5 ]"
    while IFS= read -r command; do
        type_command "$command"
        [[ $command != *' run '* ]] || cp .stderr shown
    done <commands
    sed -n '/^    nanogpt: /,/^    best /s/^    //p' "$source_dir/README.md" >printed
    grep -E '^(nanogpt|ok|[0-9]+/|best)' shown >told
    # Times and the winner are those of a machine.
    for command in printed told; do
        sed -Ei 's/[0-9.]+(ms|s|m[0-9]+s)( |$)/TIME /; s/step_time:? [0-9.]+/step_time N/; s/ +/ /g
                 s/;.*//; s/^(best step_time N ms).*/\1/' "$command"
    done
    expect "diff printed told"
    type_command 'sh winner/command.sh'
    expect "grep -q '^iter 19' .stdout" "[ -s report.html ]"
}

run_cases "$@"
