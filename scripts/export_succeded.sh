#!/usr/bin/env bash
# The same as export_succeeded.sh, under the name that the original toolkit's README has for it.
exec "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")/export_succeeded.sh" "$@"
