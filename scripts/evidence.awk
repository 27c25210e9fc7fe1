# Turns comparisons with published tables into C.
#   awk -f rows.awk -f evidence.awk src/predict/evidence.toml > evidence_rows.c
# It reads the TOML that the table is written in: one row a line, an inline table.

function compared(feature)
{
    return "{" field["table"] ", " field["framework"] ", QUANTITY_OF_" toupper(unquoted(field["quantity"])) \
        ", FEATURE_" toupper(feature) ", " field["runs"] ", " field["within"] "}"
}

BEGIN {
    print "/* Made by scripts/evidence.awk. */\n#include \"predict/evidence.h\""
}

/^#/ {
    next
}
/^(compared|scaled|unseen) = \[$/ {
    table = $1
    if (table == "compared")
        print "\nconst struct compared_table evidence_rows[] = {"
    if (table == "scaled")
        print "\nconst struct compared_scaling scaling_rows[] = {"
    next
}
/^\]$/ {
    if (table == "scaled")
        print "    {{NULL, NULL, 0, 0, 0, 0}, 0},"
    if (table != "unseen")
        print "};"
    next
}
match($0, /^    \{/) {
    sub(/,$/, "")
    take(substr($0, RLENGTH))
    if (table == "compared")
        print "    " compared(unquoted(field["feature"])) ","
    else if (table == "scaled")
        print "    {" compared("plain") ", " field["beyond"] "},"
    else
        print "const struct unseen_spread unseen_" unquoted(field["name"]) " = {" field["below"] ", " field["above"] "};"
    next
}
{
    fail("not a row: " $0)
}

END {
    if (failed)
        exit 1
    print "\nconst size_t evidence_count = sizeof evidence_rows / sizeof *evidence_rows;"
}
