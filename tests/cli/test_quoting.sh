#!/usr/bin/env bash
# Values of keys in a command that is a line for the shell: each arrives as it is, wherever in the line it stands.
. "${0%/*}/lib.sh"

# A sweep whose key `text` has these values (TOML strings), with this line as its command (TOML, behind "command = ").
line_sweep() # LINE TEXT...
{
    local IFS=, texts
    texts="${*:2}"
    toml job: "command = $1" training_spec: "text = [$texts]" >sweep.toml
    cat >arguments.sh <<'END'
printf '<%s>' "$@"
echo
END
}

expect_output() # TEXT
{
    local path
    path=$(sql "SELECT directory FROM attempt ORDER BY id LIMIT 1")
    [ "$(cat "results.db.d/$path/output.log")" = "$1" ] || fail "expected $1, got $(cat \
"results.db.d/$path/output.log")"
}

# Every value in every place.
places='"v=`printf %s {text}`; sh arguments.sh {text} a{text}b '"'{text}' '-{text}-'"
places+=' \"{text}\" \"-{text}-\" \"$(printf %s {text} | cat)\" \"$v\" # {text}\n'
places+='sh arguments.sh {text} <<END\n{text}\nEND\ncat <<END\nis {text}\nEND\n'
places+="cat <<'END'\\nis {text}\\nEND\""

values__with_anything_in_them__arrive_as_they_are()
{
    local value toml
    while IFS= read -r toml; do
        value=$(sqlite3 :memory: "SELECT json_extract('[' || replace(trim('${toml//\'/\'\'}'), '''', '''') || ']', \
'\$[0]')")
        rm -rf results.db*
        line_sweep "$places" "$toml"
        run_silently 0
        expect_output "<$value><a${value}b><$value><-$value-><$value><-$value-><$value><$value>
<$value>
is $value
is $value"
        expect_no_file touched
    done <<'END'
"plain-1.5e-3,x=y:/z@%+"
"two words"
"it's"
"say \"yes\""
"$(touch touched)"
"`touch touched`"
"$HOME ${HOME}"
"a;touch touched"
"back\\slash \\$x \\n"
"end\\"
"*"
"-e"
"[1]"
"a#b #c"
"~"
"größe-模型"
"größe 模型"
"first\nsecond"
"'"
"\""
"&& touch touched"
"<in >out |"
"!x"
"{a,b}"
""
END
}

command_line__given_as_one_line__quoted_too()
{
    line_sweep '"true"' '"two words"'
    run_silently 0 --command 'sh arguments.sh {text} {text!r}'
    expect_output '<two words><two><words>'
}

directories__with_blanks__are_one_word()
{
    mkdir 'a place'
    cd 'a place' || exit
    line_sweep '"sh {config_dir}/arguments.sh {config_dir} {job_dir}"' 1
    run_silently 0 -c "$PWD/sweep.toml"
    expect_output "<$PWD><$PWD/results.db.d/$(sql 'SELECT directory FROM attempt')>"
}

# A job that needs no quotes is what it was; one that needs them is another, because its command is.
identity__of_what_versions_before_ran__kept_where_no_quotes_are_needed()
{
    line_sweep '"sh arguments.sh {text} x"' '"plain"' '"7.5"' '"größe"' '"two words"'
    run_silently 0
    # The key of "two words" was b841fa116b127983053dd9b164d81f25.
    expect_sql "854d09712610d2e9ae6459efd4236b92
b73350f5bd88da0e8318a474e7aba5bb
cfd5279100447f4e1be64105cece23e1
0a8affd0fde3f3d746f0997b49595b90" "SELECT lower(hex(key)) FROM job ORDER BY id"
    line_sweep '"sh arguments.sh {text!r} x"' '"two words"'
    run_silently 0 -d raw.db
    expect_sql b841fa116b127983053dd9b164d81f25 "SELECT lower(hex(key)) FROM job" raw.db
}

run_cases "$@"
