#!/usr/bin/env bash
# The things that a job is started with: arguments, environment, directory; and what of it is recorded.
. "${0%/*}/lib.sh"

# A sweep of one job: job.sh writes its arguments, a line each, to the file arguments.
one_job() # LINES FOR [job]
{
    rm -rf arguments results.db*
    toml job: "$1" training_spec: x=1 name=first "text = \"a b'\\\"c \$HOME\"" yes=true real=1.0 tiny=1e-7 \
        list='[[1, 2]]' both=spec model: both=model >sweep.toml
    cat >job.sh <<'END'
printf '%s\n' "$@" >>arguments
END
}

expect_arguments() # ARGUMENT...
{
    printf '%s\n' "$@" | diff - arguments >difference || fail "other arguments: $(cat difference)"
}

# --- placeholders ---

placeholders_and_braces__of_every_kind__values_or_said()
{
    one_job \
        'command = ["/bin/sh", "job.sh", "{x}", "{training_spec.x}", "{text}", "{yes}", "{real}", "{tiny}", "{list}",
 "{model.both}", "{gpus}", "<{x}{x}>", "{name}"]'
    run_silently 0
    expect_arguments 1 1 "a b'\"c \$HOME" true 1.0 1e-07 '[1,2]' model 1 '<11>' first
    # Braces that are none of ours stay.
    one_job "command = [\"/bin/sh\", \"job.sh\", \"{{x}\", \"\${HOME}\", \"\${x}\", \"{ x }\", \"{}\", \"{1..3}\", \
'{\"a\": {x}}', \"{{\", \"}\"]"
    run_silently 0
    expect_arguments '{x}' '${HOME}' '${x}' '{ x }' '{}' '{1..3}' '{"a": 1}' '{' '}'
    # Unknown and ambiguous ones.
    one_job 'command = ["/bin/sh", "{xx}", "{both}"]'
    run_meshsweep plan
    expect_only_stderr_matches 2 '^meshsweep: sweep.toml:2:[0-9]+: unknown placeholder \{xx\}.*did you mean .?x'
    expect_stderr_matches '^meshsweep: sweep.toml:2:[0-9]+: ambiguous placeholder \{both\}'
}

placeholders__of_the_attempt__say_where_and_which()
{
    mkdir conf
    one_job 'command = ["/bin/sh", "job.sh", "{job_dir}", "{job_key}", "{attempt}", "{config_dir}"]
repeat = 2'
    mv sweep.toml conf
    run_silently 0 -c conf/sweep.toml
    expect_arguments "$(sql "SELECT '$PWD/results.db.d/' || directory || char(10) || (SELECT lower(hex(key)) FROM job)
        || char(10) || number || char(10) || 'conf' FROM attempt ORDER BY number")"
    expect "[ -d \"\$(head -n 1 arguments)\" ]"
    # Words that only an attempt has do not make it another job.
    expect_sql "1|2" "SELECT count(*), (SELECT count(*) FROM attempt) FROM job"
}

command__as_one_text_or_given_on_the_command_line__replaces_the_files()
{
    one_job 'command = "echo {x} ${HOME} | cat >arguments; exit 0"'
    run_silently 0
    expect_arguments "1 $HOME"
    # One of the command line goes before.
    one_job 'command = ["/bin/false"]'
    run_silently 0 --command 'echo "{x}" "$((6 * 7))" >arguments'
    expect_arguments "1 42"
    rm arguments
    run_meshsweep run --progress none -- /bin/sh job.sh '{x}' --progress -j
    expect_only_stderr_contains 0 'all jobs are new for that alone'
    expect_arguments 1 --progress -j
    one_job ''
    expect_run only_stderr 2 run
    expect_stderr "meshsweep: sweep.toml: there is no [job] command, so there is nothing to run; add one, or give it \
with --command 'LINE' or after --"
    expect_said only_stdout_contains 0 'the file has no [job] command' plan
}

optional__without_a_value__is_left_out_or_excluded_with_a_hint()
{
    one_job 'command = ["/bin/sh", "job.sh", "{momentum?--momentum={}}", "{x?--x={} {}}", "a{none?}b{x?}", "{none?}",
 "{words?}", "{words?-k={}}", "{none?}{x?}", "{devices?}"]
env = { FLASH = "{flash?}", PASSED = "{flash?yes}", X = "{x?}" }
pass_env = ["FLASH", "PASSED"]
cwd = "{place?}"'
    toml parallel_spec: "words = [[\"a b\", 1, true, \"\\\"{}\"], []]" derive: flash='"nullif(x, 1)"' >>sweep.toml
    echo "env | grep -E '^(FLASH|PASSED|X)=' >>arguments" >>job.sh
    FLASH=1 PASSED=1 run_silently 0
    expect_arguments '--x=1 1' ab1 'a b' 1 true '"{}' '-k=a b' -k=1 -k=true '-k="{}' 1 X=1 '--x=1 1' ab1 1 X=1
    expect_sql '{"X":"1"}' 'SELECT DISTINCT environment FROM attempt'
    # In a line it is quoted, or nothing.
    one_job "command = \"/bin/sh job.sh {text?--text={}} {none?--none={}} {words?} '{none?}' end\""
    printf '[parallel_spec]\nwords = [["a b", "c"]]\n' >>sweep.toml
    run_silently 0
    expect_arguments "--text=a b'\"c \$HOME" 'a b' c '' end
    expect_sql "/bin/sh job.sh --text='a b'\\''\"c \$HOME' 'a b' c '' end" "SELECT command ->> 2 FROM attempt"
    # Needed elsewhere.
    one_job 'command = ["/bin/sh", "job.sh", "{momentum}"]'
    printf '[[parallel_spec]]\nmomentum = 1\n[[parallel_spec]]\nzero = 1\n' >>sweep.toml
    expect_said only_stdout_contains 0 'this combination does not set; {momentum?} leaves it out there' plan
}

# --- what reaches it ---

axis__that_reaches_nothing__named_before_and_after()
{
    toml sweep: objective=min:loss job: command='["sh", "-c", "echo loss: {x?}1.5"]' \
        job.metrics.loss: regex='loss: (.*)' parallel_spec: micro_batch=1,2,4 >sweep.toml
    local unread='micro_batch has 3 values and reaches no part of the command: jobs can read it from MESHSWEEP_SPEC'
    expect_said only_stdout_contains 0 "$unread" check
    expect_said only_stdout_contains 0 '"micro_batch":	3' check --json
    expect_said only_stdout_contains 0 "$unread" plan
    run_meshsweep run --progress plain
    expect_only_stderr_contains 0 "meshsweep: $unread" \
        'meshsweep: 3 jobs were given the same: micro_batch reaches nothing but MESHSWEEP_SPEC'
    # Said once.
    expect_run only_stderr 0 run --progress plain
    expect "! grep -q 'MESHSWEEP_SPEC' .stderr"
    # The shell has no such variable.
    sed 's/echo loss/echo ${micro_batch} loss/' sweep.toml >shell.toml
    expect_said only_stdout_contains 0 "$unread only; \${micro_batch} is a variable of the shell" check -c shell.toml
    # Several are told by what each reaches.
    toml kept=1,2 training_spec: x=1,2 seed=1,2 '"(a, b)" = [[1, 2], [3, 4]]' \
        derive: c='b + 1' rule:: name=one require='kept = 1' >>sweep.toml
    sed -i -e 's/{x?}/{x?}{c}/' -e 's/^\[job\]/replicate = ["seed"]\n&/' sweep.toml
    expect_said only_stdout_contains 0 "$unread" check
    run_meshsweep run --progress plain
    expect_only_stderr_contains 0 \
        '24 jobs were given the same as another of them, 4 different inputs in all: micro_batch and kept reach nothing'
}

axis__that_a_script_reads__not_named()
{
    toml sweep: objective=min:loss job: command=sh,job.sh job.metrics.loss: regex='loss: (.*)' \
        parallel_spec: micro_batch=1,2 >sweep.toml
    echo 'echo "loss: ${#MESHSWEEP_SPEC}"' >job.sh
    expect_said only_stdout_contains 0 '2 combinations' check
    expect "! grep -q 'reaches' .stdout"
    expect_run only_stderr 0 run --progress plain
    expect "! grep -q 'were given the same' .stderr"
}

# --- environment ---

environment__is_built_afresh()
{
    one_job "command = [\"/bin/sh\", \"-c\", \"env >all\"]
env = { X = \"{x}\", NUMBER = 5, YES = true, HOME = \"/elsewhere\" }
pass_env = [\"WANTED\", \"ABSENT\"]"
    export WANTED=1 LEAK=1 MASTER_ADDR=h NCCL_DEBUG=INFO CUDA_VISIBLE_DEVICES=1 MESHSWEEP_ATTEMPT=x MESHSWEEP_JOB=77
    run_silently 0
    expect_command only_stdout 0 sh -c 'cut -d = -f 1 all | sort | paste -s -d " "'
    expect_stdout "CUDA_VISIBLE_DEVICES HIP_VISIBLE_DEVICES HOME LC_ALL MASTER_ADDR MASTER_PORT MESHSWEEP_ATTEMPT \
MESHSWEEP_DEVICES MESHSWEEP_JOB MESHSWEEP_JOB_DIR MESHSWEEP_JOB_KEY MESHSWEEP_METRICS MESHSWEEP_NUMBER MESHSWEEP_SPEC \
NCCL_DEBUG NUMBER PATH PET_MASTER_PORT PWD TMPDIR WANTED X YES"
    expect_file_contains all HOME=/elsewhere X=1 NUMBER=5 YES=true MESHSWEEP_JOB=1
    expect_command only_stdout 0 sed -n 's/^MESHSWEEP_SPEC=//p' all
    expect_json '1|model|[1,2]' training_spec.x model.both training_spec.list
    expect_sql '{"X":"1","NUMBER":"5","YES":"true","HOME":"/elsewhere"}' "SELECT environment FROM attempt"
    # The runner's surroundings are known, as far as they matter.
    expect_sql "h|INFO|" "SELECT json_extract(provenance, '\$.environment.MASTER_ADDR'),
        json_extract(provenance, '\$.environment.NCCL_DEBUG'), json_extract(provenance, '\$.environment.LEAK')
        FROM runner"
}

environment__everything__but_secrets()
{
    one_job 'command = ["/bin/sh", "-c", "env >all"]
pass_env = "*"'
    export WANTED=1 HF_TOKEN=hf_abcdefgh MESHSWEEP_ATTEMPT=x
    run_meshsweep run --progress plain
    expect_only_stderr_contains 0 'meshsweep: pass_env = "*" passes no secrets: HF_TOKEN; name those that jobs need'
    expect_file_contains all WANTED=1
    expect "! grep -q 'HF_TOKEN\|MESHSWEEP_ATTEMPT=x' all"
    sed -i 's/^pass_env.*/pass_env = ["*", "HF_TOKEN"]/' sweep.toml
    expect_run only_stderr 0 run --progress plain --command 'env >again'
    expect_file_contains again WANTED=1 HF_TOKEN=hf_abcdefgh
    expect_sql 1 "SELECT count(DISTINCT json_extract(provenance, '\$.environment.WANTED')) FROM runner"
    expect_sql 0 "SELECT count(*) FROM runner WHERE provenance LIKE '%abcdefgh%'"
}

environment__not_passed__told_at_the_first_failure()
{
    one_job 'command = "exit 3"
env = { OMP_NUM_THREADS = 2 }
pass_env = ["HF_HOME"]'
    export HF_HOME=/hf http_proxy=http://proxy:1 WANDB_MODE=off OMP_NUM_THREADS=1 OTHER=1 WANDB_API_KEY=abcdefghijk
    echo 'y = [1, 2]' >>sweep.toml
    expect_said only_stderr_contains 3 'in [job] passes them' run --progress plain
    expect "[ \"\$(grep -c 'not passed to jobs' .stderr)\" = 1 ]"
    grep 'not passed to jobs' .stderr >said
    expect_file_contains said http_proxy WANDB_MODE WANDB_API_KEY
    expect "! grep -q 'HF_HOME\|OMP_NUM\|OTHER\|abcdef\|proxy:1' said"
}

directory__template_or_absent__is_where_the_job_runs_or_named()
{
    one_job "command = [\"/bin/sh\", \"-c\", \"pwd >>\$HOME/arguments\"]
cwd = \"place-{x}\""
    mkdir place-1
    run_silently 0
    expect_arguments "$PWD/place-1"
    sed -i 's/place-{x}/{job_dir}/' sweep.toml
    rm arguments
    run_meshsweep run --progress none
    expect_only_stderr_contains 0 'cwd: place-{x} -> {job_dir}; all jobs are new for that alone'
    expect_arguments "$PWD/results.db.d/$(sql "SELECT directory FROM attempt ORDER BY id DESC LIMIT 1")"
    one_job 'command = ["/bin/true"]
cwd = "absent-{x}"'
    run_silently 3
    # Once more by default: a file system may have been away for a moment.
    expect_sql "could not be started (chdir absent-1): No such file or directory|2" \
        "SELECT message, count(*) FROM attempt GROUP BY 1"
}

# --- what cannot be started ---

program__that_does_not_exist__is_no_exit_127()
{
    toml job: command='["{c}"]' training_spec: c='["absent-program", "/absent/program", "/etc/passwd"]' \
        retry: spawn=1 >sweep.toml
    run_silently 3
    expect_sql "spawn|could not be started (exec absent-program): No such file or directory|
spawn|could not be started (exec /absent/program): No such file or directory|
spawn|could not be started (exec /etc/passwd): Permission denied|" "SELECT failure, message, exit_code FROM attempt
        ORDER BY id"
    run_silently 3 -d shell.db -- /bin/sh -c 'absent-program'
    expect_sql "exit|127|3" "SELECT failure, exit_code, count(*) FROM attempt" shell.db
    expect_sql "1" "SELECT message LIKE 'exit status 127: %absent-program%not found' FROM attempt LIMIT 1" shell.db
}

# --- secrets ---

# Names of files are bytes.
directory__not_utf8__what_is_handed_over_runs()
{
    odd=$(printf 'odd\377name')
    mkdir "$odd" 2>/dev/null || skip "this file system takes no such name"
    cd "$odd"
    toml sweep: objective=min:duration job: command='["sh", "-c", "echo here >>../ran"]' \
        training_spec: x=1 >sweep.toml
    run_silently 0
    expect_run only_status 0 best --out winner
    cp winner/command.sh ..
    cd ..
    expect_command silent 0 sh command.sh
    expect_file_contains ran 'here
here'
    expect_command only_stdout 0 "$meshsweep" show 1 --json -d "$odd/results.db"
    expect "python3 -c 'import json; json.load(open(\".stdout\", encoding=\"utf-8\"))'"
}

environment__empty__programs_are_found()
{
    one_job 'command = ["sh", "-c", "command -v sh >found"]'
    expect_command silent 0 env -i "$meshsweep" run --progress none
    expect_file found
}

secrets__nowhere_in_the_database()
{
    one_job "command = [\"/bin/sh\", \"-c\", \"echo \$API_TOKEN \$PASSED_KEY \$LICENCE; echo \$LICENCE; exit 3\", \
\"argument-hunter22\"]
env = { API_TOKEN = \"hunter22\", URL = \"https://me:hunter22@host/\", LICENCE = \"li-{x}-cence-77\" }
pass_env = [\"PASSED_KEY\"]
secrets = [\"LICENCE\"]"
    export PASSED_KEY=passed-in-secret API_TOKEN=from-outside
    expect_said only_stderr_contains 3 'exit status 3: li-1[redacted]' run --progress plain
    # The job itself had them.
    expect_file_contains "results.db.d/$(sql 'SELECT directory FROM attempt')/output.log" \
        'hunter22 passed-in-secret li-1-cence-77'
    for secret in hunter22 passed-in-secret cence-77 from-outside; do
        expect "! grep -rqF -e $secret results.db results.db.lock"
    done
    expect_sql '{"API_TOKEN":"[redacted]","URL":"https://me:[redacted]@host/","LICENCE":"[redacted]"}' \
        "SELECT environment FROM attempt"
    expect_sql "argument-[redacted]" "SELECT json_extract(command, '\$[3]') FROM attempt"
    expect_sql 1 "SELECT text LIKE '%API_TOKEN = \"[redacted]\"%' FROM sweep"
}

run_cases "$@"
