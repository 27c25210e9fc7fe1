# shellcheck shell=bash
# shellcheck disable=SC2154 # the directories are lib.sh's
# Sourced after lib.sh: databases in a known state.

# Writes results.db as fixture.sql says it is; each argument is SQL that changes it.
fixture_database()
{
    rm -f results.db
    local versions=("$source_dir"/sql/migrations/*.sql)
    {
        cat "${versions[@]}" "$source_dir"/sql/views.sql "$tests_source_dir"/cli/fixture.sql
        echo "PRAGMA user_version = $(sed -E 's/.*\/0*([0-9]+)_.*/\1/' <<<"${versions[-1]}");"
        [ $# -eq 0 ] || printf '%s;\n' "$@"
    } | sqlite3 -batch -bail results.db
    "$build_dir"/tests/cli/refresh_views results.db
}
