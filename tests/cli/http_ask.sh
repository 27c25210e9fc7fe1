#!/usr/bin/env bash
# Prints the body of http://127.0.0.1:PORT/PATH; status 1 where nobody answers: http_ask.sh PORT PATH
exec 3<>"/dev/tcp/127.0.0.1/$1" 2>/dev/null || exit 1
printf 'GET %s HTTP/1.0\r\nHost: 127.0.0.1\r\n\r\n' "$2" >&3
sed '1,/^\r$/d' <&3 | grep . || exit 1
