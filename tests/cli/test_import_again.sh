#!/usr/bin/env bash
# cli: tables that are imported again, corrected, in parts, from several databases, or taken out. What a database says
# is what a fresh one says of the tables as they are now.
. "${0%/*}/lib.sh"
. "${0%/*}/schemas/schema.sh"

import_file()
{
    toml sweep: name=measured objective=max:rate job.metrics.rate: unit=tokens/s better=max \
        job.metrics.step: unit=s better=min import: state=state duration=secs \
        import.states: fine=ok import.model: layers=layers import.parallel_spec: mbs=mbs \
        import.metrics: rate=rate step='ms / 1000.0' >import.toml
    rows >1.csv
}

rows()
{
    printf '%s\n' layers,mbs,state,rate,ms,secs,alt '2,1,fine,10,100,3,"1,5"' '2,2,fine,20,50,6,"2,5"' 2,4,oom,,,1, \
        '4,1,fine,6,160,7,"3,5"' '4,1,fine,8,120,8,"4,5"' '4,2,fine,5,200,9,"5,5"'
}

imported() # DATABASE TABLE...
{
    local table
    for table in "${@:2}"; do
        expect_run only_status 0 import -c import.toml -d "$1" "$table"
    done
}

# All that a database says of rows, jobs and the best, whatever numbers they have in it.
said() # DATABASE
{
    sql "SELECT hex(j.key), a.state, a.failure, a.message, a.duration_ms, a.line, a.log_tail,
            replace(t.path, rtrim(t.path, replace(t.path, '/', '')), ''),
            (SELECT group_concat(name || '=' || value || coalesce(note, '')) FROM
            (SELECT * FROM summary WHERE attempt_id = a.id ORDER BY name))
        FROM attempt AS a JOIN job AS j ON j.id = a.job_id LEFT JOIN imported_table AS t ON t.id = a.table_id
        WHERE j.sweep_id = (SELECT id FROM current_sweep) ORDER BY 1, 8, 6;
        SELECT hex(key), state, failure, attempt_id IS NOT NULL, (SELECT count(*) FROM breach WHERE attempt_id =
            job.attempt_id), derived FROM job WHERE sweep_id = (SELECT id FROM current_sweep) ORDER BY 1;
        SELECT name, objective, maximise, combinations, matched, duplicates, jobs, enumerated FROM current_sweep;
        SELECT name, unit, better FROM metric_definition WHERE name IN
        (SELECT name FROM summary AS s JOIN attempt AS a ON a.id = s.attempt_id) ORDER BY name" "$1"
    "$meshsweep" best -d "$1" 2>&1 | sed 's/job [0-9]*//; s/-d [^ ]*//'
}

expect_as_fresh() # WHAT DATABASE TABLE...
{
    rm -f fresh.db*
    imported fresh.db "${@:3}"
    said fresh.db >fresh
    expect_as_before "$1" "$2"
}

# As the last fresh database.
expect_as_before() # WHAT DATABASE
{
    said "$2" >again
    diff -u fresh again >difference || fail "$1: not what a fresh database says: $(cat difference)"
    expect_sql 0 "SELECT count(*) FROM job WHERE NOT EXISTS (SELECT 1 FROM attempt WHERE job_id = job.id)" "$2"
    expect_said only_stdout 0 "$2: all well" check -d "$2"
}

# The changes between two imports: a word for it, and sed's script for the sweep file or the table.
changes()
{
    cat <<'END'
expression|import.toml|s/^rate = .*/rate = "rate * 2"/
expression-reverses|import.toml|s/^rate = .*/rate = "1000 - rate"/
key|import.toml|s/^mbs = .*/mbs = "mbs * 10"/
key-added|import.toml|s/^mbs = .*/&\nms = "ms"/
key-removed|import.toml|/^mbs = /d
section|import.toml|s/^.import.model./[import.training_spec]/
metric-added|import.toml|$a alt = "rate + 1"
metric-removed|import.toml|/^step = /d
metric-renamed|import.toml|s/^step = /other = /
state-removed|import.toml|/^state = /d; /^.import.states/,/^fine/d
state-meaning|import.toml|s/^fine = .*/fine = "ok"\noom = "timeout"/
duration|import.toml|s/^duration = .*/duration = "secs * 60"/
duration-removed|import.toml|/^duration/d
decimal-comma|import.toml|s/^duration = .*/decimal_comma = ["alt"]/; s/^rate = .*/rate = "alt"/
refuse|import.toml|$a [[import.refuse]]\nwhen = "mbs = 2"\nwhy = "no"
refuse-best|import.toml|$a [[import.refuse]]\nwhen = "rate = 20"\nwhy = "no"
unit|import.toml|s/^unit = "tokens.s"/unit = "samples\/s"/
direction|import.toml|s/max:rate/min:rate/; s/^better = "max"/better = "min"/
objective|import.toml|s/max:rate/min:step/
name|import.toml|s/^name = .*/name = "other"/
computed-metric|import.toml|$a [metrics.both]\nexpression = "rate * step"
condition|import.toml|s/^objective.*/&\nsubject_to = "step < 0.09"/
derived|import.toml|$a [derive]\ntwice = "2 * mbs"
comment|import.toml|1i # A comment.
value|1.csv|s/^2,1,fine,10,/2,1,fine,99,/
value-of-a-repeat|1.csv|s/^4,1,fine,8,/4,1,fine,88,/
outcome|1.csv|s/^2,2,fine/2,2,oom/
outcome-better|1.csv|s/^2,4,oom,,,/2,4,fine,70,10,/
seconds|1.csv|s/,9,"5,5"/,90,"5,5"/
row-added|1.csv|$a 8,8,fine,50,20,4,
row-removed|1.csv|3d
last-row-removed|1.csv|$d
rows-moved|1.csv|2{h;d};${p;x}
row-inserted|1.csv|2i 8,8,fine,50,20,4,
rows-equal|1.csv|$p
column-added|1.csv|s/$/,x/
other-rows|1.csv|2,$s/^./9/
nothing|1.csv|
END
}

every_change__imported_again__as_in_a_fresh_database()
{
    rows >table
    import_file
    cp import.toml file
    imported first.db 1.csv
    said first.db >first
    while IFS='|' read -r what file script; do
        rm -f a.db*
        cp first.db a.db
        sed -i -e "$script" "$file"
        imported a.db 1.csv
        expect_as_fresh "$what" a.db 1.csv
        # And back: the first reading is the last one again.
        cp file import.toml
        cp table 1.csv
        imported a.db 1.csv
        cp first fresh
        expect_as_before "$what, and back" a.db
    done < <(changes | draw_lines 3)
}

# The same with a second table that is read again, too; in the order of the tables and in the other.
every_change__of_two_tables__as_in_a_fresh_database()
{
    rows >table
    import_file
    cp import.toml file
    while IFS='|' read -r what file script; do
        rm -f a.db*
        cp file import.toml
        cp table 1.csv
        { sed 1q table; echo '2,1,fine,30,40,5,"9,5"'; echo '16,1,fine,17,60,2,"6,5"'; } >2.csv
        imported a.db 1.csv 2.csv
        sed -i -e "$script" "$file"
        [ "$what" != column-added ] || sed -i -e "$script" 2.csv
        imported a.db 2.csv 1.csv
        expect_as_fresh "$what" a.db 2.csv 1.csv
    done < <(changes | draw_lines 3)
}

# However a table is cut, its parts come to what it is.
shards__imported_one_by_one__as_the_whole()
{
    import_file
    {
        sed 1q <(rows)
        for ((i = 0; i < 400; i++)); do
            echo "$((i % 7)),$((i % 11)),fine,$((i * 37 % 101)),$((i % 5)),,"
        done
    } >whole.csv
    imported whole.db whole.csv
    for ((part = 0; part < 4; part++)); do
        { sed 1q whole.csv; sed 1d whole.csv | sed -n "$((100 * part + 1)),$((100 * part + 100))p"; } >"part$part.csv"
    done
    imported parts.db part2.csv part0.csv part3.csv part1.csv
    query="SELECT layers, mbs, attempts, (SELECT group_concat(value) FROM (SELECT value FROM attempt AS a
        JOIN summary AS s ON s.attempt_id = a.id WHERE a.job_id = job AND name = 'rate' ORDER BY value))
        FROM results WHERE in_sweep ORDER BY 1, 2"
    sql "$query" whole.db >whole
    sql "$query" parts.db >parts
    cmp whole parts || fail "four parts are not the whole: $(diff whole parts)"
    expect_sql '1|400|77' "SELECT (SELECT count(*) FROM sweep), matched, jobs FROM current_sweep" parts.db
    for database in whole parts; do
        sql "SELECT layers, mbs, rate FROM ranking ORDER BY 1, 2" "$database.db" >"$database"
    done
    diff whole parts || fail "other rows of the parts stand for their jobs"
    sql "$query" whole.db >whole
    # In databases of their own and merged they are that, too, in any order.
    for part in 3 1 0 2; do
        imported "own$part.db" "part$part.csv"
    done
    expect_run only_stdout 0 merge own1.db own3.db own2.db own0.db -o merged.db
    sql "$query" merged.db | diff whole - || fail "merged parts are not the whole"
    for database in whole merged; do
        sql "SELECT layers, mbs, rate FROM ranking ORDER BY 1, 2" "$database.db" >"$database"
    done
    diff whole merged || fail "other rows of the merged parts stand for their jobs"
    expect_said only_stdout_contains 0 '"jobs":	77' status -d merged.db --json
}

what_is_imported()
{
    toml import.model: layers=layers import.parallel_spec: mbs=mbs import.metrics: rate=rate
}

run_measures() # DATABASE
{
    toml sweep: objective=max:rate job: command='["/bin/echo", "rate: 77"]' \
        job.metrics.rate: key=rate better=max model: layers=2 parallel_spec: mbs=1,2 >run.toml
    expect_run silent 0 run -c run.toml -d "$1" --progress none
    # The imported job is that of the run.
    { sed '/^\[model\]/,$ d' run.toml; what_is_imported; } >import.toml
    printf 'layers,mbs,rate\n2,1,10\n2,1,12\n2,8,14\n' >1.csv
}

what_was_run="SELECT j.id, a.id, a.number, a.state, s.value, hex(j.key) FROM attempt AS a
    JOIN job AS j ON j.id = a.job_id JOIN summary AS s ON s.attempt_id = a.id AND s.name = 'rate'
    WHERE a.executor = 'local' ORDER BY a.id"

runs__imported_again_and_undone__stay()
{
    run_measures a.db
    sql "$what_was_run" a.db >before
    imported a.db 1.csv
    expect_sql '3|3' "SELECT attempts, (SELECT count(*) FROM attempt WHERE table_id IS NOT NULL) FROM results
        WHERE mbs = 1" a.db
    sed -i 's/^2,1,10/2,1,11/; 3d' 1.csv
    expect_run only_status 0 import -c import.toml -d a.db 1.csv
    expect_stdout '1.csv: 2 rows: 2 ok, 0 failed, 0 refused; 2 jobs (0 new), 1 attempt added, 1 already there; of '\
'earlier rows 1 replaced, 1 taken out'
    sql "$what_was_run" a.db | diff before - || fail "an import changed what was run"
    expect_said only_stdout 0 "$PWD/1.csv: 2 rows taken out" import --undo 1.csv -d a.db
    sql "$what_was_run" a.db | diff before - || fail "an undo changed what was run"
    expect_sql '1|ok|77.0|1
2|ok|77.0|1' "SELECT mbs, state, rate, attempts FROM results WHERE in_sweep ORDER BY mbs" a.db
    expect_run silent 0 run -c run.toml -d a.db --progress none
    sql "$what_was_run" a.db | diff before - || fail "a job ran again"
    expect_said only_stdout 0 'a.db: all well' check -d a.db
}

# A file's own runs and its imports are ranked together, whichever came last; undone, the run's are there.
run_and_import_of_one_file__best_sees_both()
{
    run_measures a.db
    { sed 's/77/{mbs}/; s/^mbs = .*/mbs = [1, 2, 30]/' run.toml; what_is_imported; } >both.toml
    expect_run only_status 0 run -c both.toml -d b.db --progress none --limit 2
    sql "$what_was_run" b.db >before
    expect_said among_stderr 0 'best: job 4 (1.csv:4): rate 14, the highest' import -c both.toml -d b.db 1.csv
    expect_sql '1|ok|10.0
2|ok|2.0
8|ok|14.0
30|pending|' "SELECT mbs, state, rate FROM results WHERE in_sweep ORDER BY mbs" b.db
    expect_said only_stdout 0 'b.db: all well' check -d b.db
    expect_run silent 0 run -c both.toml -d b.db --progress none
    expect_sql '1|ok|10.0
2|ok|2.0
30|ok|30.0' "SELECT mbs, state, rate FROM results WHERE in_sweep ORDER BY mbs" b.db
    expect_said among_stderr 0 'best: job 3: rate 30, the highest' import -c both.toml -d b.db 1.csv
    expect_run only_stdout 0 import --undo 1.csv -d b.db
    expect_sql '1|ok|1.0
2|ok|2.0
30|ok|30.0' "SELECT mbs, state, rate FROM results WHERE in_sweep ORDER BY mbs" b.db
    sql "$what_was_run" b.db | head -n 2 | diff before - || fail "what was run is not what it was"
    expect_run silent 0 run -c both.toml -d b.db --progress none
    expect_sql 3 "SELECT count(*) FROM attempt" b.db
    expect_said only_stdout 0 'b.db: all well' check -d b.db
}

undo__one_of_two_tables__the_other_stays()
{
    import_file
    { sed 1q 1.csv; echo '2,1,fine,30,40,5,'; echo '16,1,fine,17,60,2,'; } >2.csv
    imported a.db 1.csv 2.csv
    expect_said only_stdout 0 "$PWD/2.csv: 2 rows taken out" import --undo 2.csv -d a.db
    expect_as_fresh "undone" a.db 1.csv
    expect_said only_stdout_contains 0 '"rows_taken_out":	0' import --undo 2.csv -d a.db --json
    imported a.db 2.csv
    expect_as_fresh "undone and imported again" a.db 1.csv 2.csv
    expect_said only_stdout 0 "$PWD/1.csv: 6 rows taken out" import --undo "$PWD/1.csv" -d a.db
    expect_as_fresh "the first undone" a.db 2.csv
    expect_run only_stdout 0 import --undo 2.csv -d a.db
    expect_sql '0|0|0|0' "SELECT (SELECT count(*) FROM job), (SELECT count(*) FROM attempt),
        (SELECT count(*) FROM summary), (SELECT count(*) FROM sweep)" a.db
}

undo__wrong_names__said()
{
    import_file
    mkdir other
    cp 1.csv other/1.csv
    run_meshsweep import --undo 1.csv -d a.db
    expect_only_stderr 2 'meshsweep: a.db: no such database, so there is nothing to undo'
    imported a.db 1.csv
    # A file of the same content is one of its own, and said to be that.
    expect_said among_stderr 0 "warning: $PWD/1.csv has the same content, so each of its rows counts twice; if it is a \
copy: meshsweep import --undo other/1.csv -d a.db" import -c import.toml -d a.db other/1.csv
    expect_said only_stderr 2 "meshsweep: 3.csv: no row of such a table was imported; tables with rows here: \
$PWD/1.csv, $PWD/other/1.csv" import --undo 3.csv -d a.db
    cd ..
    run_meshsweep import --undo 1.csv -d "$OLDPWD/a.db"
    expect_only_stderr_contains 2 "meshsweep: 1.csv: several imported tables have that name; tables with rows here: "
    expect_said only_stdout 0 "$OLDPWD/other/1.csv: 6 rows taken out" import --undo other/1.csv -d "$OLDPWD/a.db"
    cd "$OLDPWD" || return
    run_meshsweep import --undo 1.csv -d a.db 1.csv
    expect_only_stderr 2 'meshsweep: import: --undo names the table; name no other'
}

# Tables that come by one pipe after another are tables of their own; the same once more is the same.
pipes__one_after_the_other__tables_of_their_own()
{
    import_file
    for part in '1p; 2,4p' '1p; 5,7p' '1p; 2,4p'; do
        sed -n "$part" 1.csv >part.csv
        expect_command only_status 0 sh -c "cat part.csv | '$meshsweep' import -c import.toml -d a.db /dev/stdin"
    done
    expect_sql '2|6|1' "SELECT count(DISTINCT table_id), count(*), (SELECT count(*) FROM sweep) FROM attempt" a.db
    sed -n '1p; 2,4p' 1.csv >part.csv
    expect_command only_status 0 sh -c "'$meshsweep' import -c import.toml -d b.db /dev/stdin <part.csv"
}

# Makes a database as that version of the schema has its rows.
as_older_schema() # VERSION DATABASE
{
    local table columns
    old_database "$1" /dev/null
    {
        echo "ATTACH '$2' AS newer; BEGIN;"
        for table in $(sql "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%'"); do
            columns=$(sql "SELECT group_concat('\"' || name || '\"') FROM pragma_table_info('$table')")
            echo "INSERT INTO main.$table ($columns) SELECT $columns FROM newer.$table;"
        done
        echo "PRAGMA application_id = 1836279927; COMMIT;"
    } | sqlite3 -batch -bail results.db
    mv results.db "$2"
}

# As the version before wrote them: a sweep for each table, and no table known. What no import says again stays.
rows_of_an_older_schema__imported_again__replaced()
{
    import_file
    { sed 1q 1.csv; echo '2,1,fine,30,40,5,'; echo '16,1,fine,17,60,2,'; } >2.csv
    imported a.db 1.csv 2.csv
    sql "INSERT INTO sweep (hash, name, path, text, profile_text, tool_version, objective, maximise, first_seen,
            last_seen) SELECT randomblob(16), name, path, text, profile_text, tool_version, objective, maximise,
            first_seen, last_seen + 1 FROM sweep;
        UPDATE job SET sweep_id = 2 WHERE id IN (SELECT job_id FROM attempt WHERE table_id = 2)" a.db
    as_older_schema 19 a.db
    sed -i 's/^2,2,fine,20,/2,2,fine,21,/; $d' 1.csv
    run_meshsweep import -c import.toml -d a.db 1.csv
    expect_among_stdout 0 '1 attempt added, 4 already there; of earlier rows 1 replaced, 1 taken out'
    expect_as_fresh "upgraded" a.db 2.csv 1.csv
}

# The file is where it was not: the table is the same.
table__moved__its_rows_are_not_doubled()
{
    import_file
    imported a.db 1.csv
    mv 1.csv 2.csv
    imported a.db 2.csv
    expect_as_fresh "moved" a.db 2.csv
    sed -i 's/^2,1,fine,10,/2,1,fine,11,/' 2.csv
    imported a.db 2.csv
    expect_as_fresh "moved and corrected" a.db 2.csv
}

# Rows that the file read before it was changed are not compared with those that it reads now, and that is said.
file_changed__other_tables__named()
{
    import_file
    { sed 1q 1.csv; echo '16,1,fine,17,60,2,'; } >2.csv
    imported a.db 1.csv 2.csv
    sed -i 's/^rate = .*/rate = "rate * 2"/' import.toml
    expect_said among_stderr 0 "warning: rows of other tables were read before import.toml was changed, and best does \
not see them; import them again: $PWD/1.csv (6)" import -c import.toml -d a.db 2.csv
    expect_run only_status 0 import -c import.toml -d a.db 1.csv
    expect_stderr_lacks "warning"
    expect_as_fresh "both" a.db 2.csv 1.csv
}

# The lines say what best would say, what of the table is not read and what is not taken, whatever the table says.
show__three_lines__before_anything_is_recorded()
{
    import_file
    expect_run status 0 import -c import.toml -d a.db --dry-run 1.csv
    expect_stdout '1.csv: 6 rows: 5 ok, 1 failed, 0 refused; 5 jobs (5 new), 6 attempts added, 0 already there '\
'(nothing recorded)'
    expect_stderr 'meshsweep: best: job 2 (1.csv:3): rate 20 tokens/s, the highest
meshsweep: columns not used: alt
meshsweep: rows refused: 0 of 6'
    expect_no_file a.db
    imported a.db 1.csv
    said a.db >before
    sed -i 's/max:rate/min:step/; s/^duration.*//' import.toml
    { sed 1q 1.csv; echo '16,1,fine,17,60,2,'; echo '2,2,fine,-1,1,1,1'; } >2.csv
    expect_run status 0 import -c import.toml -d a.db --dry-run 2.csv
    expect_stdout_contains '(nothing recorded)'
    expect_stderr "meshsweep: best: job 6 (2.csv:2): step 0.06 s, the lowest
meshsweep: columns not used: secs, alt
meshsweep: rows refused: 1 of 2
meshsweep: refused 1 row, the first at 2.csv:3: rate is negative, which marks a missing value
meshsweep: warning: rows of other tables were read before import.toml was changed, and best does not see them; \
import them again: $PWD/1.csv (6)"
    said a.db | diff before - || fail "--dry-run recorded something"
    sed -i '/^objective/d' import.toml
    run_meshsweep import -c import.toml -d b.db 1.csv
    expect_among_stderr 0 'meshsweep: best: import.toml: the sweep has no objective, so there is no best job'
}

# Steps at random over three tables and a file, recounted from the tables themselves. What was imported otherwise than
# the last table has no value until it is imported again, even if the last one is taken out.
recount() # DATABASE
{
    sqlite3 -batch model.db "SELECT layers, mbs, table_name, line, state,
        iif(rate <> '' AND factor = $read, rate * factor, NULL) FROM said
        WHERE factor = (SELECT factor FROM said ORDER BY step DESC LIMIT 1)
        ORDER BY layers, mbs, table_name, line" >expected
    sql "SELECT r.layers, r.mbs, substr(a.log_tail, 1, 1), a.line, a.state, s.value FROM results AS r
        JOIN attempt AS a ON a.job_id = r.job LEFT JOIN summary AS s ON s.attempt_id = a.id AND s.name = 'rate'
        JOIN imported_table AS t ON t.id = a.table_id AND t.sweep_id = (SELECT id FROM current_sweep)
        WHERE r.in_sweep ORDER BY 1, 2, 3, 4" "$1" | sed 's/\.0$//' >found
    diff expected found
}

random_table()
{
    local i
    echo layers,mbs,state,rate,ms,secs,alt
    for ((i = RANDOM % 9; i >= 0; i--)); do
        if [ $((RANDOM % 5)) -eq 0 ]; then
            echo "$((RANDOM % 3)),$((RANDOM % 3)),oom,,,,"
        else
            echo "$((RANDOM % 3)),$((RANDOM % 3)),fine,$((1 + RANDOM % 20)),5,,"
        fi
    done
}

random_step()
{
    local table=$((1 + RANDOM % 3)) line lines
    lines=$(wc -l <"$table.csv")
    line=$((2 + RANDOM % lines))
    case $((RANDOM % 10)) in
    0) factor=$((1 + RANDOM % 2)) ;;
    1) random_table >"$table.csv" ;;
    2) [ "$lines" -lt 4 ] || sed -i "${line}d" "$table.csv" ;;
    3) sed -i "${line}s/fine,[0-9]*/fine,$((1 + RANDOM % 20))/" "$table.csv" ;;
    4) sed -i "${line}s/^./$((RANDOM % 3))/" "$table.csv" ;;
    5) sed -i "\$a 1,1,fine,$((1 + RANDOM % 20)),5,," "$table.csv" ;;
    6)
        [ "$(sqlite3 model.db "SELECT count(DISTINCT table_name) > 1 AND max(table_name = $table) FROM said")" = 1 ] ||
            return 0
        expect_run only_status 0 import --undo "$table.csv" -d a.db
        sqlite3 model.db "DELETE FROM said WHERE table_name = $table"
        return 0
        ;;
    esac
    step=$((step + 1)) read=$factor
    sed -i "s/^rate = .*/rate = \"rate * $factor\"/" import.toml
    imported a.db "$table.csv"
    sqlite3 -batch -cmd ".import --csv --skip 1 $table.csv cells" model.db 2>/dev/null \
        "DELETE FROM said WHERE table_name = $table;
        INSERT INTO said SELECT $step, $table, rowid + 1, layers, mbs, iif(state = 'fine', 'ok', 'failed'), rate,
        $factor FROM cells; DELETE FROM cells"
}

# Those of one seed; in the full check of three.
random_steps__recounted__from_the_tables()
{
    local step=0 factor=1 read=1 seed first=${SEED:-$RANDOM}
    import_file
    sed -i '/^duration/d' import.toml
    for seed in "$first" ${MESHSWEEP_FULL:+1 2}; do
        echo "# SEED=$seed"
        rm -f a.db* model.db
        RANDOM=$seed
        sqlite3 model.db "CREATE TABLE cells (layers, mbs, state, rate, ms, secs, alt);
            CREATE TABLE said (step, table_name, line, layers INTEGER, mbs INTEGER, state, rate, factor)"
        for table in 1 2 3; do
            random_table >"$table.csv"
        done
        for ((i = 0; i < 40; i++)); do
            random_step
            [ ! -f a.db ] || recount a.db >difference || fail "seed $seed, step $i: $(cat difference)"
        done
        expect_said only_stdout 0 'a.db: all well' check -d a.db
    done
}

run_cases "$@"
