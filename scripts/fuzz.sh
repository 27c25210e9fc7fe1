#!/usr/bin/env bash
# Fuzzes what reads foreign text, each target for SECONDS (20): scripts/fuzz.sh [SECONDS [TARGET...]]
#
# Targets are tests/fuzz/fuzz_*.c, built with clang's libFuzzer, ASan and UBSan in build-fuzz; each begins with its
# corpus in tests/fuzz/corpus/ and goes on with what it finds in build-fuzz/. Status 1 when there is a finding: the
# input that shows it is named, and belongs into the corpus with its repair.
set -eu

root=$(cd "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")/.." && pwd)
cd "$root"
seconds=${1:-20}
[ $# -eq 0 ] || shift
sanitizers=-fsanitize=address,undefined
flags="-g1 -O0 -fno-omit-frame-pointer $sanitizers"
includes="-D_GNU_SOURCE -I../src -Isrc $(pkg-config --cflags sqlite3 libcjson libxxhash)"
libraries="$(pkg-config --libs sqlite3 libcjson libxxhash libfyaml tomlplusplus re2 zlib) -lcsv -lm -lstdc++"
if [ $# -eq 0 ]; then
    set -- tests/fuzz/fuzz_*.c
    set -- "${@##*/fuzz_}"
    set -- "${@%.c}"
fi

# A target is linked of a third of the objects: which ones, the build says that tests are run with. In a thin archive
# members are named by their paths.
scripts/build.sh build-check --enable-faults -- WERROR=-Werror libmeshsweep.a
(
    cd build-check
    rm -f fuzz.a
    # Of a source that is gone an object may be left.
    find ./*.o src -name '*.o' ! -path src/commands/main.o ! -path 'src/trainer/*' |
        while IFS= read -r o; do [ ! -e "${o%o}c" ] && [ ! -e "../${o%o}c" ] && [ ! -e "../${o%o}cc" ] || echo "$o"; done |
        xargs ar rcsT fuzz.a
    # shellcheck disable=SC2046,SC2086 # words
    gcc -std=gnu11 $includes -z muldefs -Wl,--defsym=main=LLVMFuzzerTestOneInput -Wl,-Map=fuzz.map -o fuzz.none \
        $(printf '../tests/fuzz/fuzz_%s.c ' "$@") fuzz.a $libraries
)
objects=$(grep -oE '^[a-z_0-9/]+\.o' build-check/fuzz.map | sort -u)
# shellcheck disable=SC2086 # words
scripts/build.sh build-fuzz CC=clang CXX=clang++ CFLAGS="$flags -fsanitize=fuzzer-no-link" \
    CXXFLAGS="-g1 -O0 -fsanitize=address,fuzzer-no-link" LDFLAGS="$sanitizers" -- $objects
cd build-fuzz
# shellcheck disable=SC2086 # words
rm -f fuzz.a && ar rcsT fuzz.a $objects

# Prints the number of inputs tried.
fuzz() # TARGET
{
    # shellcheck disable=SC2086 # words
    clang -std=gnu11 $flags -fsanitize=fuzzer $includes \
        "../tests/fuzz/fuzz_$1.c" fuzz.a $libraries -o "fuzz_$1" || return
    mkdir -p "found/$1"
    if ! "./fuzz_$1" -max_total_time="$seconds" -max_len=4096 -timeout=10 -rss_limit_mb=2048 -print_final_stats=1 \
        -artifact_prefix="finding-$1-" "found/$1" "../tests/fuzz/corpus/$1" >"fuzz_$1.log" 2>&1; then
        tail -n 60 "fuzz_$1.log"
        return 1
    fi
    echo "$1: $(sed -n 's/^stat::number_of_executed_units: *//p' "fuzz_$1.log") inputs, no finding"
}

# A target wants one processor. What each says comes when it ends, in one piece.
export -f fuzz
export flags includes libraries seconds
printf '%s\n' "$@" | xargs -P "$(nproc)" -I TARGET bash -c 'said=$(fuzz TARGET); status=$?; echo "$said"; exit $status' ||
    exit 1
