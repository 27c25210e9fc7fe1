#!/usr/bin/env bash
# [[job.file]]: files that each job is given, their identity, and what is wrong with them.
. "${0%/*}/lib.sh"

base()
{
    cat >base.yaml <<'END'
# training
data:
  batch_size: 8   # per step
  shuffle: true
  name: "007"
  seed: 12345678901234567890123
defaults: &d
  lr: 1e-4
optim:
  <<: *d
  betas: [0.9, 0.95]
END
}

# Two jobs, given files like base.yaml; the arguments change the sweep file.
sweep() # [SED EXPRESSION...]
{
    base
    toml sweep: objective=max:score job: \
        command='["/bin/sh", "-c", "cat $0; echo score: $1", "{file.config.yaml}", "{batch}"]' \
        job.file:: path=config.yaml base=base.yaml job.file.set: '"data.batch_size" = "batch"' \
        '"data.shuffle" = "batch > 3"' job.file.add: '"optim.lr" = "0.5 / batch"' \
        job.metrics.score: regex='score: ([0-9]+)' training_spec: batch=2,4 >sweep.toml
    local expression
    for expression in "$@"; do
        sed -i "$expression" sweep.toml
    done
}

given="SELECT f.path, t.text FROM attempt_file AS f JOIN given_text AS t ON t.id = f.text_id"

# In its new directory it finds what it was given.
command__printed__runs_by_hand()
{
    sweep 's|^path = .*|path = "conf/config.yaml"|'
    run_silently 0
    for command in best 'show 2'; do
        # shellcheck disable=SC2086
        expect_run only_stdout 0 $command
        grep '^dir=' .stdout >command.sh
        run_command sh command.sh
        expect_only_stdout_contains 0 '  batch_size: 4   # per step' 'score: 4'
    done
}

yaml__values_set__types_comments_and_order_kept()
{
    sweep
    expect_run only_status 0 run --progress none
    expect_sql '# training
data:
  batch_size: 4   # per step
  shuffle: true
  name: "007"
  seed: 12345678901234567890123
defaults: &d
  lr: 1e-4
optim:
  <<: *d
  betas: [0.9, 0.95]
  lr: 0.125' "SELECT rtrim(text, char(10)) FROM ($given WHERE attempt_id = 2)"
    # It is what the job read.
    expect_sql 2 "SELECT count(*) FROM attempt AS a JOIN attempt_file AS f ON f.attempt_id = a.id
JOIN given_text AS t ON t.id = f.text_id WHERE instr(a.log_tail, t.text) = 1"
}

toml_and_json__values_set__as_asked()
{
    printf 'lr = 0.1 # rate\nat = 2026-01-02\n[a]\nb = "x"\n' >base.toml
    printf '{"n": 12345678901234567890, "s": "1e5", "on": false}\n' >base.json
    toml job: command='["/bin/sh", "-c", "cat $0 $1 $2", "{file.c.toml}", "{file.j}", "{file.t.txt}"]' \
        job.file:: path=c.toml base=base.toml set='{ lr = "lr", "a.b" = "'\''07'\''" }' add='{ "d.e" = 2 }' \
        job.file:: path=in/j.json name=j base=base.json set='{ on = "lr > 0" }' add='{ "x.y" = [1, 2] }' \
        job.file:: path=t.txt text='"{ lr={lr} in {file.j}\n"' training_spec: lr=0.01 >sweep.toml
    expect_run only_status 0 run --progress none
    expect_sql 'c.toml|lr = 0.01 # rate
at = 2026-01-02
d.e = 2
[a]
b = "07"

in/j.json|{"n": 12345678901234567890, "s": "1e5", "on": true, "x": {"y": [1,2]}}

t.txt|1' "SELECT path, iif(path = 't.txt', text LIKE '{ lr=0.01 in /%/in/j.json' || char(10), text)
FROM ($given) ORDER BY 1"
    expect_said only_stdout 0 'results.db: all well' check results.db
}

identity__layout_or_value_changed__value_alone_counts()
{
    sweep
    expect_run only_status 0 run --progress none
    sed -i 's/# training/# other words/; s/^data:/data:   #/; s/8   # per step/16/' base.yaml
    expect_said only_stdout_contains 0 '= 2 done' plan
    sed -i 's/0.95/0.99/' base.yaml
    run_meshsweep plan
    expect_only_stdout_contains 0 '+ 2 new' "file: config.yaml='base.yaml "
    expect_run only_status 0 accept --yes --why "as before"
    expect_said only_stdout_contains 0 '= 2 done' plan
}

# As PyYAML reads it, and torchtune's files have it, a bracket may close below its key.
base__wrong__its_own_line()
{
    sweep
    printf 'other:\n  files: [\n    a\n  ]\n' >>base.yaml
    expect_said only_stdout_contains 0 'sweep.toml: ' check sweep.toml
    base
    echo 'b: [1' >>base.yaml
    expect_said only_stderr_contains 2 'base.yaml:13:1: flow sequence without a closing bracket' check sweep.toml
    rm base.yaml
    expect_said only_stderr_contains 2 'sweep.toml:7:8: [[job.file]] base: base.yaml' check sweep.toml
}

# What is said, and what is changed of the sweep file, by several expressions of sed.
file__wrong_in_some_way__said()
{
    while IFS='#' read -r text first second third; do
        sweep "$first" "$second" "$third"
        expect_said only_stderr_contains 2 "$text" check sweep.toml
    done <<'END'
sweep.toml:9:1: base.yaml has no `data.batch_sise`; did you mean `data.batch_size`?#s/data.batch_size/data.batch_sise/
base.yaml has no `batch_size`; did you mean `data.batch_size`?#s/"data.batch_size"/"batch_size"/
base.yaml has no `other`; what it need not have stands under [job.file.add]#s/"data.batch_size"/"other"/
`optim.lr` comes from *d by a merge; put it under [job.file.add]#/optim.lr/d#s/"data.batch_size"/"optim.lr"/
`defaults.lr` is in &d, which *d elsewhere stands for: both would change#s/"data.batch_size"/"defaults.lr"/
`data.batch_size.x` cannot be added, because what is above it is an integer#s/"optim.lr"/"data.batch_size.x"/
unknown key `bach`#s/= "batch"/= "bach"/
path must be that of a file inside the job directory#s|"config.yaml"|"../config.yaml"|
path must be that of a file inside the job directory#s|"config.yaml"|"/tmp/config.yaml"|
"output.log" is a file that meshsweep writes there itself#s|"config.yaml"|"output.log"|
no [[job.file]] has that name; did you mean "config.yaml"?#s/file.config.yaml/file.confg.yaml/
two files have the path "config.yaml" (the first on line 6)#$a [[job.file]]\npath = "config.yaml"\ntext = "x"
a file has either base or text#/^base =/a text = "x"
the format of "config" cannot be told#s/"config.yaml"/"config"/#s/"base.yaml"/"base"/#s/file.config.yaml/file.config/
END
}

null__in_toml__job_not_started()
{
    echo 'a = 1' >base.toml
    toml job: command='["true", "{file.c.toml}"]' job.file:: path=c.toml base=base.toml set='{ a = "nullif(x, 1)" }' \
        training_spec: x=1 >sweep.toml
    expect_run only_status 3 run --progress none
    expect_sql 'spawn|1' "SELECT failure, message LIKE '%TOML has no null%' FROM attempt LIMIT 1"
}

secret__in_base__not_recorded()
{
    sweep
    echo 'api_key: sk-verysecretverysecret1234' >>base.yaml
    expect_run only_status 0 run --progress none
    expect_sql '0|2' "SELECT sum(text LIKE '%verysecret%'), sum(text LIKE '%redacted%') FROM given_text"
}

best__written_out__its_files_beside_the_command()
{
    sweep
    expect_run only_status 0 run --progress none
    run_meshsweep best --out winner
    expect_any_stdout
    expect_only_status 0
    expect 'grep -q "batch_size: 4   # per step" winner/config.yaml' 'grep -q /config.yaml winner/command.sh'
    run_command sh winner/command.sh
    expect_only_stdout_contains 0 'batch_size: 4   # per step' 'score: 4'
    # Never over the base.
    sed -i 's|"base.yaml"|"conf/config.yaml"|' sweep.toml
    mkdir conf
    mv base.yaml conf/config.yaml
    expect_run only_status 0 run --progress none
    expect_said only_stderr_contains 2 'conf/config.yaml is a file that the sweep file names' best --out conf
}

merge__both_have_files__carried()
{
    sweep
    expect_run only_status 0 run --progress none -d a.db
    sed -i 's/\[2, 4\]/[4, 8]/' sweep.toml
    expect_run only_status 0 run --progress none -d b.db
    expect_run only_status 0 merge -o all.db a.db b.db
    expect_sql '4|3' "SELECT count(*), count(DISTINCT text_id) FROM attempt_file" all.db
    expect_said only_stdout 0 'all.db: all well' check all.db
}

run_cases "$@"
