# shellcheck shell=bash
# What the schema of a database is: sourced by tests/cli/test_migrations.sh and by dump.sh.

# Tables SQLite makes for itself come and go with what it has seen.
schema() # FILE [CONDITION]
{
    sqlite3 -batch -noheader "$1" \
        "SELECT type, name, tbl_name, sql FROM sqlite_schema WHERE name NOT LIKE 'sqlite_%' AND ${2-true}
            ORDER BY 1, 2"
}

# The file of the views that a version wrote: its own, or that of the last version before it which has one.
views_of() # VERSION
{
    local version=$1 directory file
    directory=$(dirname "${BASH_SOURCE[0]}")
    for ((; version > 0; version--)); do
        file=$directory/$(printf '%04d' "$version").views.sql
        [ ! -f "$file" ] || { echo "$file"; break; }
    done
}
