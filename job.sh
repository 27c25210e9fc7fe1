echo "$1" >>ran
[ "$1" = 2 ] || [ -e well ]
