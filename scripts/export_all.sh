#!/usr/bin/env bash
# Writes every job of a database to results_all.csv: export_all.sh [DATABASE] [-o FILE]
exec "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")/export_csv.sh" all "$@"
