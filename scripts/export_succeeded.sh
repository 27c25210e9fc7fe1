#!/usr/bin/env bash
# Writes the jobs that are ok of a database to results_succeeded.csv: export_succeeded.sh [DATABASE] [-o FILE]
exec "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")/export_csv.sh" succeeded "$@"
