# Turns the table of commands into C: their structs of options, or what dispatch and help read.
#   awk -f rows.awk -f commands.awk -v what=header src/commands/commands.toml > src/commands/commands.h
#   awk -f rows.awk -f commands.awk -v what=members src/commands/commands.toml > src/cli/run_option_members.h
#   awk -f rows.awk -f commands.awk -v what=source src/commands/commands.toml > commands_table.c
# It reads the TOML that the table is written in: one key a line, rows of options as inline tables, texts in quotes, lines
# of an example between """.

# A list of words in C: a name as it is, ["a", "b"] as an array.
function words_of(value)
{
    if (value ~ /^\[/)
        return "(const char *const[]){" substr(value, 2, length(value) - 2) ", NULL}"
    return unquoted(value)
}

# The rows of a table of options, those of groups and shared ones in their place.
function add_rows(table, to,    i, name, row)
{
    for (i = 1; i <= rows[table]; i++) {
        name = row_name[table, i]
        row = row_text[table, i]
        if (row == "\"group\"") {
            add_rows(name, to)
            continue
        }
        if (row == "\"shared\"")
            row = shared[name]
        all_names[++all] = name
        all_rows[all] = row
    }
}

# Into `kind`, `label`, `member` and `type`.
function study(name,    i)
{
    kind = "FLAG"
    label = "NULL"
    for (i in kinds)
        if (i in field) {
            kind = kinds[i]
            label = field[i]
        }
    type = types[kind]
    member = name
    gsub(/-/, "_", member)
    if (kind == "DURATION")
        member = member "_ms"
    if ("member" in field)
        member = unquoted(field["member"])
}

function write_option(name, struct,    more, i, key)
{
    more = ""
    if ("letter" in field)
        more = more ", .letter = '" unquoted(field["letter"]) "'"
    for (i = 1; i <= plain_count; i++) {
        key = plain[i]
        if (key in field)
            more = more ", ." key " = " (field[key] == "inf" ? "INFINITY" : field[key])
    }
    if ("choices" in field)
        more = more ", .choices = " words_of(field["choices"])
    if ("offer" in field)
        more = more ", .offer = OFFER_" toupper(unquoted(field["offer"]))
    print "    OPTION(" kind ", \"" name "\", offsetof(struct " struct ", " member "), " label ", " field["help"] more "),"
}

# Without those of an array.
function write_members(    i, seen, before)
{
    split("", seen)
    for (i = 1; i <= all; i++) {
        take(all_rows[i])
        study(all_names[i])
        before = member
        if (sub(/\..*/, "", before))
            type = "struct run_options "
        if (!(before in seen) && before !~ /\[/)
            print "    " type before ";"
        seen[before] = 1
    }
}

function write_command(command, struct,    i)
{
    print "static const struct option " command "_rows[] = {"
    for (i = 1; i <= all; i++) {
        take(all_rows[i])
        study(all_names[i])
        write_option(all_names[i], struct)
    }
    print "    {.name = NULL},\n};"
    print "static int run_" command "(const void *o, const struct arguments *a, struct error *e)\n{"
    print "    (void)o, (void)a;"
    print "    return command_" command "(" (all ? "o, " : "") (has_words(command) ? "a, " : "") "e);\n}"
    print "const struct command " command "_command = {"
    print "    .name = " (is(command, "name") ? of[command, "name"] : "\"" command "\"") ","
    print "    .summary = " of[command, "summary"] ","
    print "    .usage = " (is(command, "usage") ? of[command, "usage"] : "\"[OPTIONS]\"") ","
    print "    .example = " of[command, "example"] ","
    print "    .options = " command "_rows,"
    print "    .options_bytes = " (all ? "sizeof(struct " struct ")" : "1") ","
    if (is(command, "words"))
        print "    .words_most = " of[command, "words"] ","
    if (is(command, "word_choices"))
        print "    .words = " words_of(of[command, "word_choices"]) ","
    if (is(command, "offer"))
        print "    .offer = OFFER_" toupper(unquoted(of[command, "offer"])) ","
    if (is(command, "program"))
        print "    .takes_program = true,"
    if (of[command, "program"] == "\"first\"")
        print "    .first_word_is_program = true,"
    if (is(command, "pager"))
        print "    .pages = true,"
    print "    .run = run_" command ",\n};"
}

# What runs the command is given its words only where it takes some.
function has_words(command)
{
    return is(command, "words") || is(command, "program")
}

function is(command, key)
{
    return (command, key) in of
}

BEGIN {
    split("text STRING int INT real DOUBLE choice CHOICE duration DURATION", pair)
    for (i = 1; i in pair; i += 2)
        kinds[pair[i]] = pair[i + 1]
    types["FLAG"] = "bool "
    types["STRING"] = "const char *"
    types["INT"] = types["DURATION"] = "int64_t "
    types["DOUBLE"] = "double "
    types["CHOICE"] = "int "
    plain_count = split("fallback least most rare value_optional many", plain)
}

in_example && /"""$/ {
    sub(/"""$/, "")
    last = 1
}
in_example {
    gsub(/"/, "\\\"")
    of[command, "example"] = of[command, "example"] "\n        \"" $0 (last ? "\"" : "\\n\"")
    in_example = !last
    last = 0
    next
}
/^#/ || /^$/ {
    next
}
/^includes = / {
    includes = $0
    next
}
/^\[[a-z_]+\]$/ {
    command = unquoted($0)
    commands[++count] = command
    table = ""
    next
}
/^\[[a-z_]+\.options\]$/ {
    table = unquoted($0)
    sub(/\.options$/, "", table)
    next
}
!match($0, /^[a-z0-9_-]+ = /) {
    fail("not a key: " $0)
}
{
    key = substr($0, 1, RLENGTH - 3)
    value = substr($0, RLENGTH + 1)
}
table == "" && value == "\"\"\"" {
    in_example = 1
    next
}
table == "" {
    of[command, key] = value
    next
}
table == "shared" {
    shared[key] = value
    next
}
{
    row_name[table, ++rows[table]] = key
    row_text[table, rows[table]] = value
}

END {
    if (failed)
        exit 1
    print "/* Made by scripts/commands.awk. */"
    if (what == "members") {
        add_rows("run")
        write_members()
        exit
    }
    if (what == "header") {
        print "#pragma once\n\n#include \"cli/command.h\"\n#include \"cli/run_options.h\"\n"
        print "/* The options of each command, its constant, and what runs it (run of struct command). */"
    } else {
        print "#include \"commands/commands.h\"\n\n#include <math.h>\n"
        for (; match(includes, /"[^"]*"/); includes = substr(includes, RSTART + RLENGTH))
            print "#include " substr(includes, RSTART, RLENGTH)
        print "\nconst char *const command_names[] = {"
        for (i = 1; i <= count; i++)
            print "    " (is(commands[i], "name") ? of[commands[i], "name"] : "\"" commands[i] "\"") ","
        print "    NULL,\n};"
    }
    for (i = 1; i <= count; i++) {
        command = commands[i]
        all = 0
        add_rows(command)
        struct = is(command, "struct") ? unquoted(of[command, "struct"]) : command "_options"
        print ""
        if (what == "source") {
            write_command(command, struct)
            continue
        }
        if (all && !is(command, "struct")) {
            print "struct " command "_options {"
            write_members()
            print "};"
        }
        print "extern const struct command " command "_command;"
        print "int command_" command "(" (all ? "const struct " struct " *o, " : "") \
            (has_words(command) ? "const struct arguments *a, " : "") "struct error *e);"
    }
    if (what == "source") {
        print "\nconst struct command *const commands[] = {"
        for (i = 1; i <= count; i++)
            print "    &" commands[i] "_command,"
        print "    NULL,\n};"
    }
}
