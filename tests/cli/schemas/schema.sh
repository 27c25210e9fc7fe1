# shellcheck shell=bash
# Databases of older schema versions: sourced by tests/cli/test_migrations.sh and by dump.sh. They are made from
#
#   sql/migrations      the tables
#   tables.md5          of each version the checksum of its tables: a migration that has been released is not changed
#   0001.sql, NNNN.sql  the rows that version 1 wrote, and those that a later one wrote otherwise than the migrations
#                       make them of the rows before
#   NNNN.views.diff     what a version changed in the views, which 0001.views.sql begins with

schemas=$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")

# Tables SQLite makes for itself come and go with what it has seen.
schema() # FILE [CONDITION]
{
    sqlite3 -batch -noheader "$1" \
        "SELECT type, name, tbl_name, sql FROM sqlite_schema WHERE name NOT LIKE 'sqlite_%' AND ${2-true}
            ORDER BY 1, 2"
}

# The checksum of the tables, indexes and triggers of results.db.
tables_of()
{
    schema results.db "type <> 'view'" | md5sum | cut -d ' ' -f 1
}

# Writes results.db as a program of the schema version left it, or with other rows, of that version.
old_database() # VERSION [ROWS]
{
    local step rows
    rm -rf results.db*
    {
        echo "PRAGMA synchronous = OFF; BEGIN;"
        for ((step = 1; step <= $1; step++)); do
            cat "$schemas"/../../../sql/migrations/"$(printf '%04d' "$step")"_*.sql
            rows=$schemas/$(printf '%04d' "$step").sql
            [ $# -gt 1 ] || [ ! -f "$rows" ] || cat "$rows"
        done
        cat "${@:2}"
        views_of "$1"
        echo "PRAGMA user_version = $1; COMMIT;"
    } | sqlite3 -batch -bail results.db
}

views_of() # VERSION
{
    local step change
    cat "$schemas/0001.views.sql" >.views
    for ((step = 2; step <= $1; step++)); do
        change=$schemas/$(printf '%04d' "$step").views.diff
        [ ! -f "$change" ] || patch -s .views "$change" || exit
    done
    cat .views
}
