# Turns the table of what predictions read into C: a constant for each row, or the rows.
#   awk -f rows.awk -f inputs.awk -v what=header src/predict/inputs.toml > src/predict/input_numbers.h
#   awk -f rows.awk -f inputs.awk -v what=source src/predict/inputs.toml > input_rows.c
# It reads the TOML that the table is written in: one row a line, an inline table; rows of words are lists of texts.

# The member that "plan.micro_batch" is of, and its kind.
function place(name,    kind, target, member)
{
    for (kind in kinds)
        if (kind in field) {
            member = unquoted(field[kind])
            target = member
            sub(/\..*/, "", target)
            if (!(target in structs))
                fail("no such struct: " member)
            sub(/^[a-z]*\./, "", member)
            return "TO_" toupper(target) ", MEMBER_" toupper(kind) ", offsetof(struct " structs[target] ", " member ")"
        }
    return "TO_NOTHING, MEMBER_OWN, 0"
}

# What its row says that it is between, behind what messages call it.
function bounds(    member)
{
    if (!("most" in field))
        return ", NULL, 0, 0"
    member = field["whole"]
    sub(/^.*\./, "\"", member)
    return ", " member ", " ("least" in field ? field["least"] : 0) ", " field["most"]
}

function write_row(name)
{
    take(rows[name])
    if (!("means" in field))
        fail("nothing says what it means: " name)
    print "    {\"" name "\", (const char *const[]){\"" name "\", " \
        ("names" in field ? unquoted(field["names"]) ", " : "") "NULL}, " field["means"] ", {" place(name) ", " \
        (name in words ? name "_words" : "NULL") bounds() "}},"
}

BEGIN {
    structs["architecture"] = "architecture"
    structs["plan"] = "training_plan"
    structs["subject"] = "subject"
    kinds["whole"] = kinds["flag"] = kinds["word"] = kinds["real"] = kinds["text"] = 1
}

/^#/ || /^$/ {
    next
}
/^\[[a-z]+\]$/ {
    table = unquoted($0)
    next
}
table == "inputs" && match($0, /^[a-z0-9_]+ = \{/) {
    name = substr($0, 1, RLENGTH - 4)
    names[++count] = name
    rows[name] = substr($0, RLENGTH)
    next
}
table == "words" && /^[a-z0-9_]+ = \[$/ {
    name = $1
    words[name] = ""
    lists[++list_count] = name
    next
}
table == "words" && match($0, /^ +\["[^"]+", /) {
    value = substr($0, RSTART, RLENGTH)
    sub(/^ +\["/, "", value)
    sub(/", $/, "", value)
    rest = substr($0, RLENGTH + 1)
    while (match(rest, /^(, )?"[^"]+"/)) {
        text = substr(rest, RSTART, RLENGTH)
        sub(/^, /, "", text)
        words[name] = words[name] "    {" text ", " value "},\n"
        rest = substr(rest, RLENGTH + 1)
    }
    if (rest !~ /^\],( #.*)?$/)
        fail("not the end of a row: " rest)
    next
}
/^\]$/ {
    next
}
{
    fail("not a row: " $0)
}

END {
    if (failed)
        exit 1
    print "/* Made by scripts/inputs.awk. */"
    if (what == "header") {
        print "#pragma once\n\n/* Indices of the inputs. */\nenum {"
        for (i = 1; i <= count; i++)
            print "    AT_" toupper(names[i]) ","
        print "    INPUT_COUNT\n};"
        exit
    }
    print "#include \"predict/inputs.h\""
    for (i = 1; i <= list_count; i++) {
        if (!(lists[i] in rows))
            fail("words of no input: " lists[i])
        print "\nstatic const struct input_word " lists[i] "_words[] = {\n" words[lists[i]] "    {NULL, 0},\n};"
    }
    print "\nconst struct input inputs[] = {"
    for (i = 1; i <= count; i++)
        write_row(names[i])
    print "};"
}
