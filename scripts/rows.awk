# What reads the tables of src that C is made of, rows that are inline tables of TOML, before commands.awk, inputs.awk or
# keys.awk.

function fail(why)
{
    print FILENAME ": " why > "/dev/stderr"
    failed = 1
    exit 1
}

function unquoted(value)
{
    return substr(value, 2, length(value) - 2)
}

# Values of a row by their keys, in `field`.
function take(row,    rest, key, value)
{
    split("", field)
    rest = substr(row, 2)
    while (match(rest, /^,? *[a-z_]+ = /)) {
        key = substr(rest, RSTART, RLENGTH)
        gsub(/[, =]/, "", key)
        rest = substr(rest, RLENGTH + 1)
        if (key in field)
            fail("twice in a row: " key)
        if (!match(rest, /^"([^"\\]|\\.)*"/) && !match(rest, /^\[[^]]*\]/) && !match(rest, /^[a-z0-9.+-]+/))
            fail("not a value: " rest)
        value = substr(rest, 1, RLENGTH)
        field[key] = value
        rest = substr(rest, RLENGTH + 1)
    }
    if (rest !~ /^ *\}$/)
        fail("not the end of a row: " rest)
}
