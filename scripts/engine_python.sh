#!/usr/bin/env bash
# A Python with pydantic 2 and PyTorch, which DeepSpeed 0.16 and later import and Debian 12 lacks, from Debian 13's
# packages: scripts/engine_python.sh DIRECTORY (1.1 GB, minutes). It needs mmdebstrap, and neither root nor a change of
# the system; the program is DIRECTORY/python, which MESHSWEEP_DEEPSPEED_PYTHON may name
# (tests/cli/test_deepspeed_engine.sh).
set -eu

[ $# -eq 1 ] || { echo "usage: scripts/engine_python.sh DIRECTORY" >&2; exit 2; }
directory=$1
packages=python3-torch,python3-pydantic,python3-packaging,python3-psutil,python3-tqdm,python3-cpuinfo,python3-numpy
packages=$packages,python3-hjson,python3-msgpack,python3-einops,python3-setuptools
mkdir -p "$directory"
directory=$(cd "$directory" && pwd)
mmdebstrap --quiet --variant=extract --include="$packages" trixie "$directory/root"
libraries=$directory/root/usr/lib/x86_64-linux-gnu
cat >"$directory/python" <<END
#!/bin/sh
export PYTHONHOME=$directory/root/usr
exec $directory/root/usr/lib64/ld-linux-x86-64.so.2 --argv0 "\$0" \\
    --library-path $libraries:$libraries/blas:$libraries/lapack $directory/root/usr/bin/python3.13 "\$@"
END
chmod +x "$directory/python"
"$directory/python" -c 'import pydantic, torch; print("pydantic", pydantic.VERSION, "torch", torch.__version__)'
