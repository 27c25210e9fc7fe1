#!/usr/bin/env bash
# Shared by export_all.sh and export_succeeded.sh: export_csv.sh WHICH [DATABASE] [-o FILE]
#
# Writes jobs of DATABASE (results.db) to FILE (results_WHICH.csv), both in the current directory unless a path says
# otherwise. WHICH is all, succeeded or failed.
set -eu

root=$(dirname "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")")
which=$1 database=results.db output=results_$1.csv
shift
while [ $# -gt 0 ]; do
    case $1 in
    -o)
        [ $# -ge 2 ] || { echo "export_$which.sh: -o needs a file" >&2; exit 2; }
        output=$2
        shift
        ;;
    -*)
        echo "usage: export_$which.sh [DATABASE] [-o FILE]" >&2
        exit 2
        ;;
    *) database=$1 ;;
    esac
    shift
done

if type -P meshsweep >/dev/null; then
    tool=meshsweep
elif [ -x "$root/build/meshsweep" ]; then
    tool=$root/build/meshsweep
else
    tool=$root/run.sh # which builds it
fi
exec "$tool" export "--$which" -d "$database" -o "$output"
