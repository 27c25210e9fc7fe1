# Prints what a log says of a failure, in few lines: awk -f scripts/what_failed.awk LOG
#
# Each failed case of a test program (TAP, or as cmocka prints by itself) is told by its name and the first 12 lines
# that it said; where no case is named, 12 lines from the first error on, else the last 12.

function say(    i)
{
    for (i = 1; i <= said && i <= MOST; i++)
        print said_lines[i]
    if (said > MOST)
        print "..."
}

BEGIN { MOST = 12 }

# cmocka ends with the names once more.
/^\[==========\] .* run\./ { ended = 1 }

/^(not )?ok [0-9]/ || (!ended && /^\[ *(OK|FAILED|SKIPPED) *\] /) {
    if (/^(not ok|\[ *FAILED)/) {
        failed++
        print
        say()
    }
    said = 0
    next
}

# The frame of cmocka's output, and what make says of itself.
/^\[ *(RUN|=+) *\] / || /^make(\[[0-9]+\])?: (Entering|Leaving)/ { next }

{
    said_lines[++said] = $0
    last[NR] = $0
    delete last[NR - MOST]
}

!first && /(^|[^a-z])(ERROR|error|runtime error): / { first = NR }
first && NR < first + MOST { errors[NR] = $0 }

END {
    if (failed)
        exit
    for (i = first; first && i < first + MOST; i++)
        if (i in errors)
            print errors[i]
    for (i = NR - MOST + 1; !first && i <= NR; i++)
        if (i in last)
            print last[i]
}
