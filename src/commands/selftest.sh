# shellcheck shell=sh
# A job of `meshsweep selftest`, of x ($1), y ($2) and a directory ($3). `mkdir` creates the lock atomically; a job that
# finds it checks whether its owner is still at work.
lock=$3/lock-$2
if ! mkdir "$lock" 2>/dev/null; then
    read -r other 2>/dev/null <"$lock/pid" && kill -0 "$other" 2>/dev/null &&
        grep -aq "MESHSWEEP_JOB_KEY=$MESHSWEEP_JOB_KEY" "/proc/$other/environ" 2>/dev/null &&
        echo "job $MESHSWEEP_JOB: $other and $$" >>"$3/overlaps"
fi
echo $$ >"$lock/pid"
case $(($2 % 16)) in
3) setsid sleep 60 >/dev/null 2>&1 & ;;
5) rm -r "$lock"; exit 7 ;;
*) sleep 0.0$(($2 % 5)) ;;
esac
half=$((500 * $1 + $2 / 2)).$(($2 % 2 * 5))
echo "{\"half\": $half, \"step\": 1}" >>"$MESHSWEEP_METRICS"
echo "{\"half\": $half, \"step\": 2}" >>"$MESHSWEEP_METRICS"
rm -r "$lock"
echo "score: $((1000 * $1 + $2))"
