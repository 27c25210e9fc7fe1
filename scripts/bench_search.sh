#!/usr/bin/env bash
# The strategy `model` with predictions as they are, off by factors, turned over, and without any, on every published table
# with predictions, and on drawn landscapes: scripts/bench_search.sh MESHSWEEP [BEFORE], with another build of the program to compare with. Prints
# scripts/bench_search.md anew. BENCH_SEEDS (10) searches of each group; tables from MESHSWEEP_SHARED_DATA.
set -eu

root=$(cd "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")/.." && pwd)
meshsweep=$1
before=${2:-}
data=${MESHSWEEP_SHARED_DATA:-$root/../shared/data}
: "${BENCH_SEEDS:=10}"

tables()
{
    cat <<'END'
ultrascale ultrascale-1B-8B name,num_hosts nanotron, ultra-scale
vtrain vtrain-single-node layers,hidden,num_devices_per_host,global_batch vTrain, one node
mpt llm-foundry-mpt name,device MPT, FSDP, over clusters
mpt llm-foundry-mpt name,device,num_hosts MPT, FSDP, each cluster
bigscience bigscience-tr11 layers,hidden,num_hosts BigScience
megatron-bridge megatron-bridge name,device Megatron-Bridge
dlperf dlperf-gpt-v100 num_hosts,num_devices_per_host,global_batch DLPerf, V100
internevo internevo num_hosts InternEvo
torchtitan torchtitan num_hosts torchtitan
landscapes drawn-40 tag drawn, 40 % fail
landscapes drawn-70 tag drawn, 70 % fail
landscapes drawn-90 tag drawn, 90 % fail
strange drawn-strange tag drawn, strange keys
END
}

# Draws the tables that are of no measurement: scripts/tables/landscapes.py.
draw_landscapes()
{
    for failing in 40 70 90; do
        "$root/scripts/tables/landscapes.py" --failing "0.$failing" >"$directory/drawn-$failing.csv"
    done
    "$root/scripts/tables/landscapes.py" --strange >"$directory/drawn-strange.csv"
}

scenarios()
{
    cat <<END
as they are:
off by factors:--memory-error 1.5 --time-error 2.8
turned over:--predictions inverted
none:--predictions none
END
}

# "trials failed arrived ends-after", of a program on a database.
figures() # PROGRAM DATABASE GROUPS OPTION...
{
    local program=$1 database=$2 groups=$3
    shift 3
    "$program" replay -d "$database" --group-by "$groups" --strategy model "$@" 2>/dev/null |
        awk -F'|' '/^\| model \|/ { split($3, t, " "); split($8, end, " "); print t[1], $6 + 0, $7 + 0, $9 + 0 }'
}

row() # LABEL DATABASE GROUPS SCENARIO OPTION...
{
    local label=$1 database=$2 groups=$3 scenario=$4 trials failed arrived ends old=''
    shift 4
    read -r trials failed arrived ends < <(figures "$meshsweep" "$database" "$groups" "$@")
    [ -z "$before" ] ||
        old=$(figures "$before" "$database" "$groups" "$@" | awk '{ print $1 " | " $2 " | " $3 " % | " $4 " | " }')
    echo "| $label | $scenario | $old$trials | $failed | $arrived % | $ends |"
}

# 3: rows that the table itself says are wrong were refused.
import() # NAME DATABASE TABLE
{
    local config=$root/configs/import/$1.toml
    [ -e "$config" ] || config=$root/scripts/tables/$1.toml
    "$meshsweep" import -c "$config" -d "$2" "$3" >"$directory/log" 2>&1 || [ $? = 3 ] ||
        { cat "$directory/log" >&2; exit 1; }
}

directory=$(mktemp -d)
trap 'rm -rf "$directory"' EXIT
draw_landscapes
sed '/^<!-- made by/q' "$root/scripts/bench_search.md"
if [ -n "$before" ]; then
    echo '| table | predictions | before: trials | failed | arrived | ends after | trials | failed | arrived | ends after |'
    echo '|---|---|---|---|---|---|---|---|---|---|'
else
    echo '| table | predictions | trials | failed | arrived | ends after |'
    echo '|---|---|---|---|---|---|'
fi
while read -r name table groups label; do
    database=$directory/$table.db
    file=$data/$table.csv
    [ -e "$file" ] || file=$directory/$table.csv
    [ -e "$database" ] || import "$name" "$database" "$file"
    while IFS=: read -r scenario options; do
        # shellcheck disable=SC2086 # words of options
        row "$label" "$database" "$groups" "$scenario" --seeds "$BENCH_SEEDS" $options
    done < <(scenarios)
done < <(tables)
echo '<!-- made until here -->'
