#!/usr/bin/env bash
# Installs what is missing of the Debian packages that the project needs: scripts/setup.sh [--list] build|check|full
#
#   build  to build and run the tool
#   check  and to run the tests
#   full   and for the second compiler, the sanitizers, the linter, real PyTorch jobs and the peers of the benchmark
#
# It is quick and silent where nothing is missing, and asks no network. --list only names what is missing.
# Status: 0 all there; 1 something is missing and could not be installed; 2 wrong use.
set -eu

# level, package, and how to tell that it is there: command NAME, library PKG-CONFIG-NAME, header FILE, file PATH, module
# NAME of Debian's Python, or that COMPILER links its sanitizers. What is there from another source than Debian's packages counts.
packages()
{
    cat <<'END'
build autoconf            command autoreconf
build automake            command automake
build make                command make
build gcc                 command gcc
build libc6-dev           header  stdlib.h
build g++                 command g++
build pkg-config          command pkg-config
build sqlite3             command sqlite3
build libsqlite3-dev      library sqlite3
build libcjson-dev        library libcjson
build libcsv-dev          header  csv.h
build libfyaml-dev        library libfyaml
build libtomlplusplus-dev library tomlplusplus
build libre2-dev          library re2
build libmicrohttpd-dev   library libmicrohttpd
build libxxhash-dev       library libxxhash
build libxlsxwriter-dev   library xlsxwriter
build zlib1g-dev          library zlib
check libcmocka-dev       library cmocka
check valgrind            command valgrind
check shellcheck          command shellcheck
check clang-format        command clang-format
check patch               command patch
check universal-ctags     command ctags
check openssh-client      command ssh
check openssh-server      command /usr/sbin/sshd
check python3             command python3
check python3-jsonschema  module jsonschema
check python3-yaml        module yaml
full  clang               command clang
full  clang-tidy          command clang-tidy
full  libclang-rt-dev     sanitizer clang
full  chromium            command chromium
full  gnuplot-nox         command gnuplot
full  parallel            command parallel
full  ninja-build         command ninja
full  python3-torch       module torch
full  python3-packaging   module packaging
full  python3-psutil      module psutil
full  python3-pydantic    module pydantic
full  python3-tqdm        module tqdm
full  python3-cpuinfo     module cpuinfo
full  mmdebstrap          command mmdebstrap
full  python3-optuna      module optuna
full  python3-prometheus-client module prometheus_client
full  python3-protobuf    module google.protobuf
full  python3-crcmod      module crcmod
full  python3-pandas      module pandas
full  mypy                command mypy
full  llvm                command llvm-cov
full  time                command time
full  debhelper           command dh
full  dh-python           command dh_python3
full  lintian             command lintian
full  gcc-aarch64-linux-gnu command aarch64-linux-gnu-gcc
full  g++-aarch64-linux-gnu command aarch64-linux-gnu-g++
full  qemu-user-static    command qemu-aarch64-static
full  xz-utils            command xz
full  slurm-wlm           command sbatch
full  munge               command munge
full  gridengine-master   file    /usr/lib/gridengine/sge_qmaster
full  gridengine-exec     file    /usr/lib/gridengine/sge_execd
full  gridengine-client   command qconf
full  kubernetes-client   command kubectl
END
}

die()
{
    echo "setup.sh: $*" >&2
    exit 1
}

is_there() # KIND NAME
{
    case $1 in
    command) type -P "$2" >/dev/null ;;
    library) pkg-config --exists "$2" 2>/dev/null ;;
    file) [ -e "$2" ] ;;
    header) echo "#include <$2>" | gcc -E -x c - >/dev/null 2>&1 ;;
    module) /usr/bin/python3 -c "import importlib.util as u, sys; sys.exit(not u.find_spec('$2'))" 2>/dev/null ;;
    sanitizer) echo "int main(void) { return 0; }" | "$2" -fsanitize=address -x c - -o /dev/null 2>/dev/null ;;
    esac
}

missing_packages() # LEVELS
{
    local level package kind name
    while read -r level package kind name; do
        case " $1 " in
        *" $level "*) ;;
        *) continue ;;
        esac
        is_there "$kind" "$name" || echo "$package"
    done < <(packages)
}

install_packages() # PACKAGE...
{
    local as_root=() apt=(apt-get -qq -o DPkg::Lock::Timeout=300)
    command -v apt-get >/dev/null || die "these Debian packages (or their like) are needed, and there is no apt-get: $*"
    if [ "$(id -u)" -ne 0 ]; then
        command -v sudo >/dev/null || die "these packages are needed; install them as root: apt-get install $*"
        as_root=(sudo)
        [ -t 0 ] || as_root+=(-n)
    fi
    echo "setup.sh: installing $*" >&2
    as_root+=(env DEBIAN_FRONTEND=noninteractive)
    # The package lists may be absent or too old: they are fetched only when the first try fails.
    "${as_root[@]}" "${apt[@]}" install -y --no-install-recommends "$@" </dev/null >/dev/null 2>&1 && return
    "${as_root[@]}" "${apt[@]}" update >&2 || true
    "${as_root[@]}" "${apt[@]}" install -y --no-install-recommends "$@" >&2 ||
        die "these packages are needed and could not be installed: $*"
}

list_only=
if [ "${1-}" = --list ]; then
    list_only=1
    shift
fi
case ${1-} in
build) levels="build" ;;
check) levels="build check" ;;
full) levels="build check full" ;;
*)
    echo "usage: scripts/setup.sh [--list] build|check|full" >&2
    exit 2
    ;;
esac

mapfile -t missing < <(missing_packages "$levels")
[ ${#missing[@]} -gt 0 ] || exit 0
if [ "$list_only" ]; then
    printf '%s\n' "${missing[@]}"
    exit 0
fi
install_packages "${missing[@]}"
# A package may be installed and yet not do its work (another gcc first in PATH): say so here, not in the build.
mapfile -t missing < <(missing_packages "$levels")
[ ${#missing[@]} -eq 0 ] || die "installed, and still not found: ${missing[*]}"
