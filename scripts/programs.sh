#!/usr/bin/env bash
# Takes public programs, unmodified, from `meshsweep init` to a winner that is known beforehand: scripts/programs.sh
# [NAME...]. BUILD names the build (build-check); PROGRAMS a directory of clones, of versions that the PyTorch here runs.
# A program that is not there is skipped with a message. Status 1: a wrong objective or winner. About a minute on an idle machine.
set -eu

root=$(cd "$(dirname "$0")/.." && pwd)
meshsweep=$(realpath "${BUILD:-$root/build-check}/meshsweep")
clones=$(realpath -m "${PROGRAMS:-programs}")
# shellcheck disable=SC2034 # the table names it
python=/usr/bin/python3 # Debian's, which has Debian's PyTorch

# NAME | what it needs: a command, or a file of a clone | what is made beforehand | what prints the log (empty: there is
# none) | the axis | the command line | the objective that init chooses | the winner | why it wins. None needs an edit.
# A line goes on behind \.
programs()
{
    cat <<'END'
fio|fio||fio --name=t --rw=randread --size=4m --time_based --runtime=1 --filename=data|rate_iops=50,400|\
fio --name=t --rw=randread --size=4m --time_based --runtime=1 --filename=data|max:iops|400|the option limits IOPS
sysbench|sysbench||sysbench cpu --time=1 run|cpu-max-prime=20000,1000|sysbench cpu --time=1 run|\
max:events_per_second|1000|an event finds fewer primes
stress-ng|stress-ng||stress-ng --cpu 1 --timeout 1 --metrics-brief|cpu-load=10,100|\
stress-ng --cpu 1 --timeout 1 --metrics-brief|max:bogo_ops_per_second|100|it works all the time
llama2.c|llama2.c/run.c|gcc -O3 -o run $clones/llama2.c/run.c -lm; cp $clones/llama2.c/tokenizer.bin .; models|\
./run small.bin -n 32|model=large,small|$PWD/run $PWD/{model}.bin -n 32 -z $PWD/tokenizer.bin|max:throughput|small|\
the model has a seventh of the weights
word_language_model|examples/word_language_model/main.py|cp $clones/examples/word_language_model/*.py .; corpus|\
$python main.py --data text --epochs 1 --emsize 32 --nhid 32 --bptt 8 --log-interval 2|nhid=512,16|\
$python main.py --data text --epochs 1 --emsize 32 --bptt 8 --log-interval 2|min:step_time|16|\
the layers are narrower
zstd|zstd|data|zstd -b1 -i1 data|level=15,1|zstd -b{level} -i1 $PWD/data|max:bandwidth|1|level 1 compresses fastest
openssl|openssl||openssl speed -seconds 1 -bytes 64 sha256|bytes=16,16384|\
openssl speed -seconds 1 -bytes {bytes} sha256|max:bandwidth|16384|a call costs the same for more bytes
dd|dd||dd if=/dev/zero of=/dev/null bs=512 count=10000|bs=64,64k|dd if=/dev/zero of=/dev/null bs={bs} count=20000|\
max:bandwidth|64k|a call costs the same for more bytes
timeit|python3||python3 -m timeit 'sum(range(10000))'|n=1000000,1000|python3 -m timeit 'sum(range({n}))'|\
min:loop_time|1000|it adds fewer numbers; the units differ
pigz|pigz|data||level=9,1|sh -c "pigz -c -{level} $PWD/data >/dev/null"|min:duration|1|level 1 compresses fastest
xz|xz|data||level=9,0|sh -c "xz -c -{level} $PWD/data >/dev/null"|min:duration|0|level 0 compresses fastest
END
}

# Checkpoints of two sizes, of any weights.
models()
{
    python3 - <<'END'
import array
import struct

for name, width, hidden, layers in ("small", 64, 128, 2), ("large", 256, 688, 8):
    vocabulary, length, heads = 32000, 256, 8
    count = vocabulary * width + layers * (2 * width + 4 * width * width + 3 * width * hidden) + width
    count += length * width // heads
    with open(name + ".bin", "wb") as file:
        file.write(struct.pack("7i", width, hidden, layers, heads, heads, vocabulary, length))
        array.array("f", [0.01, -0.02, 0.03] * (count // 3 + 1))[:count].tofile(file)
END
}

corpus()
{
    mkdir -p text
    for part in train valid test; do
        seq 1 150 | sed 's/$/ words and others of a line that repeats itself over and over again in this text/' \
            >"text/$part.txt"
    done
}

data()
{
    head -c 4000000 "$meshsweep" >data
}

is_there() # what it needs
{
    case $1 in
    */*) [ -e "$clones/$1" ] ;;
    *) command -v "$1" >/dev/null ;;
    esac
}

# In a directory of its own: from init to the winner.
try()
{
    local log=() words
    eval "$made"
    if [ "$printed" ]; then
        eval "$printed" >log 2>&1 || true
        log=(--from-log log)
    fi
    eval "words=($command)"
    "$meshsweep" init "${log[@]}" "$axis" -- "${words[@]}" >out 2>&1 </dev/null || { cat out; return 1; }
    "$meshsweep" run -j1 --progress none >>out 2>&1 || { tail -n 5 out; return 1; }
    chosen=$(sed -n 's/^objective = "\([^"]*\)".*/\1/p' sweep.toml)
    first=$(sqlite3 results.db "SELECT \"$(tr - _ <<<"${axis%%=*}")\" FROM ranking LIMIT 1")
    [ "$chosen" = "$objective" ] && [ "$first" = "$winner" ] && return
    echo "$name: $chosen has the winner ${axis%%=*}=$first; right is $objective and $winner"
    return 1
}

wrong=0 right=0
directory=$(mktemp -d)
trap 'rm -rf "$directory"' EXIT
# shellcheck disable=SC2162 # a line goes on behind \
while IFS='|' read name needs made printed axis command objective winner why; do
    [ $# -eq 0 ] || [[ " $* " == *" $name "* ]] || continue
    if ! is_there "$needs"; then
        echo "skipped $name: there is no $needs (Debian's package, or a clone in $clones)"
        continue
    fi
    mkdir "$directory/$name"
    cd "$directory/$name"
    if try </dev/null; then
        right=$((right + 1))
        echo "right $name: $objective of $axis is $winner: $why"
    else
        wrong=$((wrong + 1))
    fi
done < <(programs)
echo "$right right, $wrong wrong"
[ "$wrong" -eq 0 ]
