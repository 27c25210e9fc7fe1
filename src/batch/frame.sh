# shellcheck shell=sh
# Behind src/ssh/remote.sh's and the batch script's own functions.

# Prints what FILE has from byte FROM on as a frame of MARK (batch/frame.h), by way of PART; $size is its length then.
frame() # MARK FILE FROM PART
{
    size=$(wc -c 2>/dev/null <"$2") || return 1
    size=$((size))
    [ "$size" -gt "$3" ] || return 1
    tail -c +$(($3 + 1)) "$2" | head -c $((size - $3)) >"$4"
    # shellcheck disable=SC2046
    set -- "$1" "$4" $(cksum <"$4")
    printf '%s %s %s\n' "$1" "$4" "$3" && cat "$2"
}
