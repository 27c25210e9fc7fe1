#!/usr/bin/env bash
# Writes the dump that tests/cli/test_migrations.sh keeps of a schema version, by the last program that wrote it:
# tests/cli/schemas/dump.sh path/to/meshsweep
#
# Three jobs are ok, the fourth runs when its runner is killed. What differs from machine to machine is made equal.
# NNNN.sql has the rows; of the tables, which the migrations up to that version make, it has the checksum. The views are
# in NNNN.views.sql, unless the version before wrote the same.
set -eu

program=$(readlink -f "${1?the program}")
here=$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")
# shellcheck source-path=SCRIPTDIR
. "$here/schema.sh"
directory=$(mktemp -d)
trap 'rm -rf "$directory"' EXIT
cd "$directory"

query()
{
    sqlite3 -batch -bail -cmd ".timeout 5000" results.db "$@"
}

bash -c '. "$1"; small_sweep' - "$here/../lib.sh"
cat >job.sh <<'JOB'
echo $$ >pid
while [ "$1 $2" = "2 20" ]; do sleep 0.1; done
echo "score: $(($1 * $2))"
JOB
"$program" run -j 1 --progress none </dev/null &
until [ "$(query "SELECT job_id FROM attempt WHERE state = 'running'" 2>/dev/null)" = 4 ] && [ -s pid ]; do
    sleep 0.1
done
kill -KILL $!
{ wait $! || true; } 2>/dev/null
kill -KILL "$(cat pid)"

query "UPDATE meta SET value = '00112233445566778899aabbccddeeff' WHERE name = 'identity';
    DELETE FROM meta WHERE name <> 'identity';
    UPDATE sweep SET first_seen = 1700000000000, last_seen = 1700000000000;
    UPDATE runner SET host = 'node1', boot_id = 'another-boot', pid = 1000, start_ticks = 5, started = 1700000000000,
        provenance = '{}';
    UPDATE attempt SET environment = NULL, directory = NULL, host = NULL, pid = 1000 + id, start_ticks = 5,
        started = 1700000000000 + id, ended = ended * 0 + 1700000001000 + id, duration_ms = duration_ms * 0 + 20,
        user_ms = user_ms * 0, system_ms = system_ms * 0, max_rss = max_rss * 0 + 8544256;
    DELETE FROM failure_pattern;
    INSERT INTO failure_pattern VALUES ('oom', 'a pattern of then', 'built in')"
version=$(query "PRAGMA user_version")
dump=$here/$(printf '%04d' "$version")
tables=$(schema results.db "type <> 'view'" | md5sum)
{
    printf -- '-- A database of schema version %s: three jobs are ok, the fourth was running when its runner died.\n' \
        "$version"
    printf -- '-- Its tables, indexes and triggers: MD5 %s.\n' "${tables%% *}"
    printf 'PRAGMA application_id = %s;\n' "$(query "PRAGMA application_id")"
    query ".dump --data-only" | sed "s#$(pwd -P)/##g" | grep -v 'sqlite_stat'
} >"$dump.sql"
query "SELECT sql || ';' FROM sqlite_schema WHERE type = 'view' ORDER BY rowid" >views.sql
cmp -s views.sql "$(views_of "$((version - 1))")" || cp views.sql "$dump.views.sql"
