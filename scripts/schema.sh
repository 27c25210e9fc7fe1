#!/bin/sh
# Writes sql/schema.sql: what all migrations make together, so that a new database need not go through each. Run it after
# adding one; tests/unit/test_schema tells where the two differ.
set -eu

cd "$(dirname "$0")/../sql"
{
    echo "-- The tables, indexes, triggers and views of a new database. Made by scripts/schema.sh of the migrations, where"
    echo "-- each is explained; not to be edited."
    # shellcheck disable=SC2046
    cat $(printf '%s\n' migrations/*.sql | sort) - <<'SQL' | sqlite3 -batch -bail -noheader
SELECT char(10) || sql || ';' FROM sqlite_schema WHERE sql IS NOT NULL AND name NOT LIKE 'sqlite\_%' ESCAPE '\'
ORDER BY rowid;
SQL
} >schema.sql.tmp
mv schema.sql.tmp schema.sql
