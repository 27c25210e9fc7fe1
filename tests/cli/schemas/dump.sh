#!/usr/bin/env bash
# Notes what tests/cli/test_migrations.sh needs to make a database of a schema version, by the last program that wrote
# it: tests/cli/schemas/dump.sh path/to/meshsweep
#
# Three jobs are ok, the fourth runs when its runner is killed. What differs from machine to machine is made equal.
# Written are the parts that schema.sh tells, each as far as it differs from what the version before has.
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

rows()
{
    query ".dump --data-only" | sed "s#$(pwd -P)/##g" | grep '^INSERT' | grep -v 'sqlite_stat'
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
    UPDATE metric_definition SET declared = 1700000000000;
    UPDATE runner SET host = 'node1', boot_id = 'another-boot', pid = 1000, start_ticks = 5, started = 1700000000000,
        provenance = '{}';
    UPDATE attempt SET readers = NULL;
    UPDATE attempt SET environment = NULL, directory = NULL, host = NULL, pid = 1000 + id, start_ticks = 5,
        started = 1700000000000 + id, ended = ended * 0 + 1700000001000 + id, duration_ms = duration_ms * 0 + 20,
        user_ms = user_ms * 0, system_ms = system_ms * 0, max_rss = max_rss * 0 + 8544256;
    DELETE FROM failure_pattern;
    INSERT INTO failure_pattern VALUES ('oom', 'a pattern of then', 'built in')"
version=$(query "PRAGMA user_version")
dump=$here/$(printf '%04d' "$version")
rm -f "$dump.sql" "$dump.views.diff"
sed -i "/^$version /d" "$here/tables.md5"
echo "$version $(tables_of)" >>"$here/tables.md5"
# Those that migrations make come with the tables.
made=$(sed -n "s/^CREATE VIEW \([a-z_]*\).*/'\1'/p" "$here"/../../../sql/migrations/*.sql | sort -u | paste -sd ,)
query "SELECT sql || ';' FROM sqlite_schema WHERE type = 'view' AND name NOT IN (${made:-''}) ORDER BY rowid" >views.sql
views_of "$version" | diff - views.sql >views.diff || cp views.diff "$dump.views.diff"
rows >own
old_database "$version"
rows >migrated
if ! cmp -s migrated own; then
    grep -vxFf migrated own | sed 's/^INSERT/REPLACE/' >"$dump.sql"
    old_database "$version"
    rows | cmp - own
fi
