#!/usr/bin/env bash
# A compiler that takes from another build what it compiled: scripts/compiled_before.sh BUILD-DIRECTORY COMPILER ARGS
#
# For builds that are made to see that they are made. Sources on whose words configure arguments decide are
# compiled, as is what that build has not. With which flags it compiled is not looked at.
set -eu

built=$1
shift
object='' source='' dependencies=''
for argument; do
    case $argument in
    *.Tpo) dependencies=$argument ;;
    *.o) object=$argument ;;
    *.c | *.cc) source=$argument ;;
    esac
done
if [ -z "$dependencies" ] || [ ! -f "$built/$object" ] ||
    grep -qE '\<FAULT|MESHSWEEP_(LINKED_HTTPD|XLSX)|toml\+\+' "$source"; then
    exec "$@"
fi
cp "$built/$object" "$object"
: >"$dependencies"
