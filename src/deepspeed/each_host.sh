# shellcheck shell=bash
IFS=@ read -ra hosts <<<"$1"
p=$2 m=$3 launcher=$4
shift 4
pids=()
own='_|HOME|PWD|OLDPWD|SHLVL|USER|LOGNAME|MAIL|HOSTNAME|SHELL|TERM|DISPLAY|TMPDIR|(SSH|XDG|DBUS|SLURM|MASTER)_[A-Z_]*'
[ -n "$m" ] || read -r m _ < <(ssh -o BatchMode=yes "${hosts[0]%%:*}" hostname -I)
trap 'kill "${pids[@]}"; exit 143' INT TERM
for r in "${!hosts[@]}"; do
    devices=${hosts[r]#*:}
    commas=${devices//[!,]/}
    exec 9<> <(:)
    ssh -o BatchMode=yes "${hosts[r]%%:*}" exec bash -s <&9 9>&- &
    pids+=($!)
    {
        export -p | grep -Ev "^declare -x ($own)(=|$)"
        printf 'cd %q || exit 127\nexport CUDA_VISIBLE_DEVICES=%s HIP_VISIBLE_DEVICES=%s\nn=%d g=%d r=%d m=%q p=%d\n' \
            "$PWD" "$devices" "$devices" "${#hosts[@]}" "$((${#commas} + 1))" "$r" "${m:-${hosts[0]%%:*}}" "$p"
        printf 'setsid %s' "$launcher"
        printf ' %q' "$@"
        printf ' </dev/null & j=$!; (cat; kill -TERM -- -$j; sleep 10; kill -KILL -- -$j) <&0 >/dev/null 2>&1 & '
        printf 'wait $j; s=$?; kill -KILL -- -$j 2>/dev/null; kill $!; exit $s\n'
    } >&9
    exec 9>&-
done
status=0
# `wait -n` would also tell of what <(:) started.
while [ "${#pids[@]}" -gt 0 ]; do
    for r in "${!pids[@]}"; do
        kill -0 "${pids[r]}" 2>/dev/null && continue
        wait "${pids[r]}"
        status=$?
        unset "pids[r]"
        [ "$status" = 0 ] || break 2
    done
    sleep 0.2
done
kill "${pids[@]}" 2>/dev/null
wait
exit "$status"
