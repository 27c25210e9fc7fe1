#!/usr/bin/env bash
# The questions of an analyst, one command each: scaling, waste, outliers, the worst, parts of groups, means, workbooks.
. "${0%/*}/lib.sh"

# Twice the devices give 1.8 times the rate, more or less; m = 4 fails; one run of n = 2, m = 2 is slow.
scaled_sweep() # LINE...
{
    toml sweep: name=scaled objective=max:rate job: command='["/bin/sh", "job.sh", "{n}", "{m}"]' repeat=3 \
        job.metrics.rate: regex='rate ([0-9.]+)' unit=samples/s better=max \
        training_spec: global_batch=64 parallel_spec: n=1,2,4 m=1,2,3,4 >sweep.toml
    [ $# -eq 0 ] || printf '%s\n' "$@" >>sweep.toml
    cat >job.sh <<'END'
[ "$2" != 4 ] || exit 5
case $1 in 1) rate=1000 ;; 2) rate=1800 ;; *) rate=3240 ;; esac
rate=$((rate * $2 + MESHSWEEP_NUMBER * 10 * $2 - 20 * $2))
[ "$1 $2 $MESHSWEEP_NUMBER" != "2 2 3" ] || rate=900
echo "step of $1"
echo "rate $rate"
echo "mem $(($2 * 1500))"
END
    expect_run only_status 3 run --progress none --keep-going
}

scaling__otherwise_equal_jobs__speedup_and_efficiency_with_intervals()
{
    scaled_sweep
    run_meshsweep compare --scaling n
    expect_only_stdout_contains 0 'rate by n: strong scaling (the global batch is the same), against size 1'
    expect_stdout_matches '^1 +3 +3 +1 +100.0 %' '^4 +3 +3 +3.24 +3.2[0-9]+ to 3.2[0-9]+ +81.. % +8[01].. to 8[12].. %'
    expect_run only_stdout 0 compare --scaling n --json
    mv .stdout scaling.json
    sqlite3 -batch results.db ".parameter set ?1 n" ".read $source_dir/sql/answers/scaling.sql" >shell.txt
    expect_said_by only_stdout 0 'True [1, 2, 4] 0.81' run_command python3 -c '
import json
told = json.JSONDecoder().raw_decode(open("shell.txt").read())[0]
asked = json.load(open("scaling.json"))
print(told == asked, [s["size"] for s in asked["sizes"]], round(asked["sizes"][2]["efficiency"], 2))'
    # One pair alone has its interval from repeats; the best over a free key is told.
    expect_said only_stdout_contains 0 '4        3      1  3.24     3.' compare --scaling n --free m
    # Each size with a batch of its own: a time is of more work.
    sqlite3 results.db "UPDATE spec SET json = json_remove(json, '$.global_batch') WHERE kind = 'training_spec'"
    expect_said only_stdout_contains 0 'strong scaling (no key gives the global batch, so it may differ)' \
        compare --scaling n
    sqlite3 results.db \
        "UPDATE job SET derived = json_object('global_batch', 32 * (SELECT json ->> 'n' FROM spec
             WHERE id = parallel_id))"
    expect_said only_stdout_contains 0 'weak scaling (each size has its own global batch)' compare --scaling n
    run_meshsweep compare --scaling k
    expect_only_stderr 4 'meshsweep: --scaling k: no such key; num_devices is the number of devices of a job'
    expect_said only_stderr_contains 4 'all measured jobs have the same size' compare --scaling num_devices
    expect_said only_stderr 4 'meshsweep: --free k: no such key of a section' compare --scaling n --free k
    expect_said only_stderr 2 'meshsweep: compare: give only one of --by and --scaling' compare --scaling n --by m
}

memory__half_of_it__what_that_loses()
{
    scaled_sweep '[job.metrics.peak_memory]' "regex = 'mem ([0-9]+)'" 'unit = "MiB"' 'better = "min"' \
        '[[cluster_spec]]' 'num_hosts = 1' 'num_devices_per_host = 1'
    expect_said only_stdout_contains 0 'highest rate 3240 samples/s, job ' best --memory 50%
    expect_stdout_contains 'peak_memory <= 2250.0: binds, excludes 4 better jobs' \
        'without it: job 11, 9720 samples/s; it loses 66.7 %'
    expect_said only_stdout_contains 0 'without it: job 11, 9720 samples/s; it loses 33.3 %' best --memory 3GiB
    run_meshsweep best --subject-to 'rate < 6000'
    expect_only_stdout_contains 0 'without it: job 11, 9720 samples/s; it loses 44.4 %'
    expect_run only_stdout 0 best --memory 50% --json
    expect_json '11|0.667' without.job "round(j ->> 'lost_share', 3)"
    expect_said only_stdout_contains 0 'without it the same job wins' best --memory 100%
    # The key says how much a device has.
    sed -i 's/^num_hosts = 1/&\ndevice_memory = "4GiB"/' sweep.toml
    expect_run only_status 3 run -d keyed.db --progress none --keep-going
    expect_said among_stdout 0 'peak_memory <= 2147483648 B: binds' best --memory 50% -d keyed.db
    expect_said only_stderr_contains 2 'must be a size, such as 40GiB, or a percentage up to 100%' best --memory 0%
    run_meshsweep best --memory 1GiB --subject-to 'n < 4'
    expect_only_stderr 2 'meshsweep: best: give only one of --memory and --subject-to'
}

wasted__failed_and_repeated__their_share()
{
    scaled_sweep
    expect_run only_status 0 note 1 --exclude 'another job on the node'
    sqlite3 results.db "UPDATE attempt SET duration_ms = iif(state = 'ok', 3600000, 1800000)"
    expect_said only_stdout_contains 0 '28.5 device-hours, 15.8 % of them wasted' status --wasted
    expect_stdout_matches '^result +24 +24 +84.2 %' '^repeated +3 +3 +10.5 %' '^failed +3 +1.5 +5.3 %'
    expect_run only_stdout 0 status --wasted --json
    expect_json 0.158 "round(j ->> 'wasted_share', 3)"
    expect_said only_stderr 2 'meshsweep: status: give only one of --wasted and --watch' status --wasted --watch
}

outliers__one_slow_run_of_many__named()
{
    scaled_sweep
    run_meshsweep results --outliers
    expect_only_stdout_contains 0 'rate: 1 of 27 repeated runs lie more than 5 times the usual 0.8'
    expect_stdout_matches '^ *[0-9]+ +3 +900 +3580 +3 +-74.9 %'
    expect_run only_stdout 0 results --outliers --json
    expect 'grep -q "\"deviation\":.*-0.748" .stdout'
    run_meshsweep results --outliers --all
    expect_only_stderr 2 'meshsweep: results: --outliers takes no option but -d and --json'
    sed -i 's/^repeat = 3/repeat = 1/' sweep.toml
    expect_run only_status 3 run -d once.db --progress none --keep-going
    expect_said only_stdout_contains 0 'too few repeats to tell' results --outliers -d once.db
}

tail__worst__of_the_slowest_job()
{
    scaled_sweep
    expect_said among_stderr 0 'rate 1000, the worst of 9' tail --worst
    expect 'grep -q "^step of 1$" .stdout'
    expect_said only_stderr 2 'meshsweep: tail: give only one of JOB and --worst' tail --worst 3
}

# Two seeds of each: 10 and 20, 30 and 40.
export__means__a_row_for_each_configuration()
{
    toml sweep: objective=max:rate replicate='["seed"]' job: \
        command='["sh", "-c", "[ {seed} != 3 ] || exit 5; echo rate $(( {x} * 10 + {seed} * 10 - 10 ))"]' \
        job.metrics.rate: regex='rate ([0-9]+)' unit='a, b' training_spec: seed=1,2,3 x=1,3 \
        derive: both='x * seed' >sweep.toml
    expect_run only_status 3 run --progress none --keep-going
    expect_said only_stdout_contains 0 'replicates,replicates_failed,replicates_open,' export --means
    expect_stdout_matches '^[0-9]+,[^,]*,.*,2,1,0,15.0,' '^[0-9]+,.*,2,1,0,35.0,'
    expect '[ "$(wc -l <.stdout)" = 3 ] && ! grep -q seed .stdout'
    expect_run only_stdout 0 export --units
    expect 'sed -n 2p .stdout | grep -q ",\"a, b\",ms,B,"'
    expect_said only_stderr 2 'meshsweep: export: --units needs --format csv, tsv or xlsx' export --units --format json
    sed -i '/^replicate/d' sweep.toml
    expect_run only_status 3 run -d plain.db --progress none --keep-going
    expect_said only_stderr_contains 2 '--means: [sweep] replicate names no keys' export --means -d plain.db
}

xlsx__read_by_another_program__texts_numbers_and_times_as_they_are()
{
    toml sweep: objective=max:rate job: command='["sh", "-c", "echo rate 1.5"]' \
        job.metrics.rate: regex='rate ([0-9.]+)' unit=samples/s training_spec: \
        code='["0012", "=1+1", "1e3", "2026-01-31T12:00:00Z"]' big=9007199254740993 >sweep.toml
    expect_run only_status 0 run --progress none
    run_meshsweep export --format xlsx
    expect_only_stderr 2 'meshsweep: --format xlsx writes a workbook; name its file: meshsweep export -o FILE'
    expect_run silent 0 export --format xlsx --units -o results.xlsx
    cat >read.py <<'END'
import re, zipfile
book = zipfile.ZipFile("results.xlsx")
sheet = book.read("xl/worksheets/sheet1.xml").decode()
cells = re.findall(r'<c r="([A-Z]+)(\d+)"(?: s="(\d)")?(?: t="(\w+)")?(?:/>|>(.*?)</c>)', sheet)
names = {column: re.sub("<[^>]*>", "", text) for column, row, style, kind, text in cells if row == "1"}
units = {names[column]: re.sub("<[^>]*>", "", text) for column, row, style, kind, text in cells if row == "2"}
print(units["rate"], units["duration_ms"], len({row for column, row, style, kind, text in cells}))
for row in "3456":
    found = {names[c]: (kind or "number", re.sub("<[^>]*>", "", text)) for c, r, style, kind, text in cells if r == row}
    started = found["started"]
    print(found["code"], found["big"], found["rate"], started[0], started[1] > "40000", found["in_sweep"])
END
    run_command python3 read.py
    expect_only_stdout 0 "samples/s ms 6
('inlineStr', '0012') ('inlineStr', '9007199254740993') ('number', '1.5') number True ('b', '1')
('inlineStr', '=1+1') ('inlineStr', '9007199254740993') ('number', '1.5') number True ('b', '1')
('inlineStr', '1e3') ('inlineStr', '9007199254740993') ('number', '1.5') number True ('b', '1')
('inlineStr', '2026-01-31T12:00:00Z') ('inlineStr', '9007199254740993') ('number', '1.5') number True ('b', '1')"
}

# It is loaded for this alone: all else goes without.
xlsx__no_library__said_by_it_alone()
{
    toml job: command='["true"]' >sweep.toml
    expect_run only_status 0 run --progress none
    name=$(grep -aoE -m 1 'libxlsxwriter\.so\.[0-9]+' "$meshsweep")
    mkdir none
    echo >"none/$name"
    echo before >results.xlsx
    expect_command only_stderr 1 env LD_LIBRARY_PATH="$PWD/none" "$meshsweep" export --format xlsx -o results.xlsx
    expect_stderr_matches "^meshsweep: .*xlsx, unlike --format csv, cannot be written: .*$name: file too short; " \
        "; on Debian: apt-get install ${name/.so./}\$"
    expect_file_contains results.xlsx before
    expect_command only_stdout 0 env LD_LIBRARY_PATH="$PWD/none" "$meshsweep" export
}

run_cases "$@"
