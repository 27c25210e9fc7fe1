#!/usr/bin/env bash
# A database that comes from elsewhere: what its schema has besides ours, or otherwise, and every way it comes in.
. "${0%/*}/lib.sh"
. "${0%/*}/fixture.sh"

# good.db: four jobs done, with their files.
good_database()
{
    small_sweep sweep.toml
    run_silently 0 -d good.db
    schema_of good.db >good.schema
    "$meshsweep" results --all --format csv -d good.db | sed 's/good\.db/other.db/' >good.csv
}

# other.db: good.db, changed by SQL. What SQLite's own shell refuses was no such change.
change() # SQL
{
    rm -rf other.db*
    cp good.db other.db
    cp -r good.db.d other.db.d
    sqlite3 -batch -bail other.db "$1" || fail "sqlite3 refuses: $1"
}

repair_hint='`meshsweep check --repair -d other.db` brings it back to that, and keeps all rows'

expect_refused() # PARTS ARGS
{
    local before
    before=$(md5sum other.db)
    run_meshsweep "${@:2}"
    expect_only_stderr 1 "meshsweep: database other.db: its schema is not as meshsweep makes it: $1; $repair_hint"
    expect "[ \"\$(md5sum other.db)\" = '$before' ]"
}

# Refused, said by `check`, taken away by `check --repair`; then everything is as in good.db.
expect_found_and_repaired() # PARTS
{
    local count
    count=$(tr -cd , <<<"$1" | wc -c)
    expect_said only_stdout_contains 1 "parts of the schema that are not as meshsweep makes them ($((count + 1))): $1
" check other.db
    expect_said only_stdout 0 "repaired: parts of the schema that were not as meshsweep makes them ($((count + 1))): $1
  they are again, or were removed
other.db: all well" check --repair -d other.db
    expect_as_good
}

schema_of()
{
    sql "SELECT type, name, tbl_name, sql FROM sqlite_schema WHERE name NOT LIKE 'sqlite_%' ORDER BY 1, 2" "$1"
}

expect_as_good()
{
    # The plain tables in which a virtual one keeps its rows stay.
    schema_of other.db | grep -v -e documents_ -e pa_ | diff good.schema - >difference || fail "$(cat difference)"
    "$meshsweep" results --all --format csv -d other.db | diff good.csv - >difference || fail "$(cat difference)"
    expect_sql ok 'PRAGMA integrity_check' other.db
    expect_sql 4 "SELECT count(*) FROM metric" other.db
}

# --- what a schema may have ---

each_table__trigger__refused_and_removed()
{
    good_database
    for table in $(sql "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%'" good.db |
        draw_lines 3); do
        change "CREATE TRIGGER evil AFTER INSERT ON $table BEGIN UPDATE job SET rank = 999; END"
        expect_refused "trigger evil on $table" status -d other.db
        expect_refused "trigger evil on $table" run -d other.db
    done
    expect_found_and_repaired "trigger evil on $table"
    # A trigger of a person's table or of a view is refused, too: a reference can bring it to run.
    change "CREATE TABLE mine (job REFERENCES job (id) ON DELETE CASCADE);
        CREATE TRIGGER evil AFTER DELETE ON mine BEGIN UPDATE job SET rank = 999; END"
    expect_refused 'trigger evil on mine' status -d other.db
    change "CREATE TRIGGER evil INSTEAD OF INSERT ON progress BEGIN SELECT 1; END"
    expect_refused 'trigger evil on progress' status -d other.db
    expect_found_and_repaired 'trigger evil on progress'
}

# Parts, a tab, and the SQL that makes them.
foreign_parts()
{
    sed -e 's/EDIT /PRAGMA writable_schema = ON; UPDATE sqlite_schema SET sql = /' \
        -e 's/TWICE /PRAGMA writable_schema = 1; INSERT INTO sqlite_schema SELECT * FROM sqlite_schema WHERE name = /' \
        <<'END'
view pragma_integrity_check	CREATE VIEW pragma_integrity_check AS SELECT 'ok' AS integrity_check
view json_each	CREATE VIEW json_each AS SELECT 1 AS key, 2 AS value
table waiting_job	CREATE TABLE waiting_job (x); INSERT INTO waiting_job VALUES (1)
table Pragma_Foreign_Key_Check	CREATE TABLE Pragma_Foreign_Key_Check (x)
table documents	CREATE VIRTUAL TABLE documents USING rtree (id, low, high)
table pa	CREATE VIRTUAL TABLE pa USING fts5 (x); EDIT 'create  virtual table pa using o' WHERE name = 'pa'
table metric (changed)	ALTER TABLE metric ADD COLUMN more AS (value * 2)
table job (changed)	ALTER TABLE job ADD COLUMN more AS (abs(rank))
table attempt (changed)	ALTER TABLE attempt ADD COLUMN more INTEGER DEFAULT 7 CHECK (more > 6)
table summary (changed)	EDIT replace(sql, 'REAL,', 'REAL CHECK (1),') WHERE name = 'summary'
table spec (changed), view results (changed)	ALTER TABLE spec RENAME COLUMN json TO text
index mine on job	CREATE UNIQUE INDEX mine ON job (sweep_id, rank)
index mine on job	CREATE INDEX mine ON job (abs(rank))
index mine on metric	CREATE INDEX mine ON metric (value) WHERE value > 7
index mine on job	CREATE INDEX mine ON job (risk); EDIT replace(sql, ')', ' COLLATE o)') WHERE name = 'mine'
index job_failed (changed)	DROP INDEX job_failed; CREATE UNIQUE INDEX job_failed ON job (id)
index sweep_last_seen (changed)	DROP INDEX sweep_last_seen; CREATE INDEX sweep_last_seen ON job (id)
trigger job_state (changed)	DROP TRIGGER job_state; CREATE TRIGGER job_state BEFORE UPDATE ON job BEGIN SELECT 1; END
trigger attempt_state on attempt	TWICE 'attempt_state'
view results (changed)	DROP VIEW results; CREATE VIEW results AS SELECT 999 AS score
view ranking (changed)	DROP VIEW ranking; CREATE VIEW ranking AS SELECT 1 AS rank, 999 AS score
view current_sweep (changed)	DROP VIEW current_sweep; CREATE VIEW current_sweep AS SELECT * FROM sweep WHERE 0
view failures (missing)	DROP VIEW failures
view configurations	CREATE VIEW configurations AS SELECT 1
table progress, view progress (missing)	DROP VIEW progress; CREATE TABLE progress (state, failure, jobs)
END
}

each_kind_of_part__refused_said_and_repaired()
{
    good_database
    while IFS=$'\t' read -r parts change; do
        change "$change"
        case $parts in
        *attempt_state*) ;; # SQLite reads no schema that has a part twice
        *)
            expect_refused "$parts" status -d other.db
            expect_refused "$parts" results -d other.db
            ;;
        esac
        expect_said only_stdout_contains 1 "parts of the schema that are not as meshsweep makes them" check other.db
        expect_found_and_repaired "$parts"
    done < <(foreign_parts | draw_lines 2)
    # But for other columns.
    change "PRAGMA foreign_keys = OFF; ALTER TABLE job DROP COLUMN audit"
    expect_refused 'table job (changed)' status -d other.db
    run_meshsweep check --repair -d other.db
    expect_only_stderr 1 'meshsweep: database other.db: another program changed the columns of the table job: make a '\
'new database with `meshsweep run -d NEW`, or restore a copy of this one'
}

# A writer makes them again as it makes them anyway. Without the note of what they were a reader takes them as they are.
views_changed__run__made_again()
{
    good_database
    for view in results ranking current_sweep failures excluded progress; do
        change "DROP VIEW $view; CREATE VIEW $view AS SELECT 999 AS score"
        run_ended 0 -d other.db
        expect_as_good
    done
    change "DELETE FROM meta WHERE name = 'views'; DROP VIEW results; CREATE VIEW results AS SELECT 999 AS score"
    run_silently 0 -d other.db
    expect_as_good
}

own_tables_views_and_indexes__nothing_stops_and_they_stay()
{
    good_database
    change "CREATE TABLE mine (job INTEGER REFERENCES job (id), remark TEXT, twice AS (job * 2));
        CREATE UNIQUE INDEX mine_job ON mine (job); CREATE INDEX mine_sum ON mine (job + 1);
        INSERT INTO mine (job, remark) VALUES (1, 'good');
        CREATE VIEW remarks AS SELECT r.*, m.remark FROM results AS r LEFT JOIN mine AS m ON m.job = r.job;
        CREATE INDEX attempt_by_end ON attempt (ended DESC, state COLLATE NOCASE)"
    schema_of other.db >before
    for command in status results best plan "why x=1" export report check "check --repair"; do
        # shellcheck disable=SC2086 # words
        "$meshsweep" $command -d other.db >.out 2>.err || fail "$command: $(cat .out .err)"
    done
    sed -i 's/x = \[1, 2\]/x = [1, 2, 3]/' sweep.toml
    run_silently 0 -d other.db
    expect_sql "6|1|good" "SELECT (SELECT count(*) FROM job WHERE state = 'ok'), job, remark FROM mine" other.db
    schema_of other.db | diff before - >difference || fail "$(cat difference)"
    expect_said only_stdout 0 'all.db: 6 new jobs, 6 new attempts' merge other.db -o all.db
    schema_of all.db | diff good.schema - >difference || fail "$(cat difference)"
}

# --- every way in ---

every_command__foreign_trigger__refused()
{
    good_database
    change "CREATE TRIGGER evil AFTER INSERT ON metric BEGIN UPDATE metric SET value = 999; END"
    for command in run "run --retry-failed" plan status "status --json" results best "why x=1" "show 1" \
        "tail 1" export report "report --serve=localhost:0" stale "compare --by x" replay ask \
        "backup copy.db" predict "run --dry-run"; do
        # shellcheck disable=SC2086 # words
        expect_refused 'trigger evil on metric' $command -d other.db
    done
    expect_no_file copy.db
    expect_refused 'trigger evil on metric' merge good.db -o other.db
    run_meshsweep merge other.db -o all.db
    expect_only_stderr 1 "meshsweep: merging other.db: database other.db: its schema is not as meshsweep makes it: \
trigger evil on metric; $repair_hint"
    expect_sql 0 "SELECT count(*) FROM sqlite_schema WHERE name = 'evil'" all.db
    expect_refused 'trigger evil on metric' compare good.db other.db
    printf 'x,y,score\n1,10,5\n' >table.csv
    toml sweep: objective=max:score import.training_spec: x=x import.parallel_spec: y=y \
        import.metrics: score=score >import.toml
    expect_refused 'trigger evil on metric' import -c import.toml table.csv -d other.db
    expect_found_and_repaired 'trigger evil on metric'
    expect_said only_stdout 0 'all.db: 4 new jobs, 4 new attempts' merge other.db -o all.db
}

# --- bits that flip ---

# Some bits in the text of views, tables, an index and a trigger: told by whoever reads it, named by `check`, put right
# by `check --repair`.
text_of_a_part__flipped_bit__found_and_repaired()
{
    local part pattern offset step length bit=1 found=0 pieces=${MESHSWEEP_FULL:+5}
    good_database
    for part in results ranking current_sweep job attempt job_failed attempt_state; do
        length=$(sql "SELECT length(sql) FROM sqlite_schema WHERE name = '$part'" good.db)
        for ((step = 3; step < length - 16; step += length / ${pieces:-3})); do
            # A text that stands in another part, too, would flip there as well.
            pattern=$(sql "SELECT hex(substr(p.sql, $step, 16)) FROM sqlite_schema AS p WHERE name = '$part' AND
                (SELECT count(*) FROM sqlite_schema AS o WHERE instr(o.sql, substr(p.sql, $step, 16))) = 1" good.db |
                sed 's/../\\x&/g')
            [ -n "$pattern" ] || continue
            change ""
            # Everywhere: one of these is the schema's own copy, the others are left of earlier ones.
            LC_ALL=C grep -obaUP "$pattern" other.db | cut -d : -f 1 >offsets
            [ -s offsets ] || continue # it goes over the end of a page
            while read -r offset; do
                flip "$offset" "$bit"
            done <offsets
            found=$((found + 1)) bit=$((bit % 7 + 1))
            expect_said only_stderr_contains 1 ' -d other.db`' results -d other.db
            expect_said only_stdout_contains 1 'meshsweep check --repair -d other.db' check other.db
            expect_said only_stdout_contains 0 'other.db: all well' check --repair -d other.db
            expect_as_good
        done
    done
    expect "[ $found -ge 12 ]"
}

flip() # OFFSET BIT
{
    local byte
    byte=$(od -An -tu1 -j "$1" -N 1 other.db)
    printf '%b' "\\0$(printf %03o $((byte ^ (1 << ($2 - 1)))))" | dd of=other.db bs=1 seek="$1" conv=notrunc status=none
}

run_cases "$@"
