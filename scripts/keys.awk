# Turns the table of sweep files' keys into C: the members that take their values, or the rows.
#   awk -f rows.awk -f keys.awk -v what=header src/config/keys.toml > src/config/key_members.h
#   awk -f rows.awk -f keys.awk -v what=source src/config/keys.toml > src/sweep_file/key_rows.h
# It reads the TOML that the table is written in: one row a line, an inline table.

# The form of the row's value and the member that takes it, in `form` and `member`.
function study(name,    kind)
{
    form = member = ""
    for (kind in field)
        if (kind in forms) {
            form = kind
            member = field[kind] == "true" ? name : unquoted(field[kind])
        } else if (!(kind in is_known))
            fail("not of a row: " kind)
}

function offset(table, name)
{
    return "offsetof(struct " unquoted(of[table, "struct"]) ", " \
        ("at" in field ? unquoted(field["at"]) : (table, "at") in of ? unquoted(of[table, "at"]) : "") name ")"
}

# ["string", "list"]
function types_of(list)
{
    gsub(/", "/, " | TYPE_", list)
    return "TYPE_" toupper(substr(list, 3, length(list) - 4))
}

function plain(value)
{
    return value ~ /^"/ ? unquoted(value) : value
}

# A number of a search: its unit, "SECONDS" may be any value that search.c understands.
function search_row(name)
{
    return "{.name = \"" name "\", .types = " (field["search"] == "\"SECONDS\"" ? "~0u, .shown = TYPE_TIME" \
        : "whole" in field ? "TYPE_NUMBER, .shown = TYPE_INT" : "TYPE_NUMBER") ", .files = DEFAULTS, .least = " \
        field["least"] ", .most = " most_of() ", .read = read_number},"
}

function most_of()
{
    return "most" in field ? plain(field["most"]) : "SEARCH_ANY"
}

# Its id, key, unit, help, bounds, whether it is whole, and the default.
function add_search_number(name,    id)
{
    id = toupper(name)
    sub(/^SEARCH_/, "", id)
    numbers = numbers " \\\n    ROW(" id ", \"" name "\", " field["search"] ", " field["means"] ", " field["least"] \
        ", " most_of() ", " ("whole" in field ? "true" : "false") ", " plain(field["default"]) ")"
}

function row_of(table, name,    i, row)
{
    if ("search" in field)
        return search_row(name)
    row = "{.name = \"" name "\", .types = " ("types" in field ? types_of(field["types"]) : type_of[form]) \
        ", .files = " ("files" in field ? unquoted(field["files"]) : unquoted(of[table, "files"]))
    if (form)
        row = row ", .form = FORM_" toupper(forms[form]) ", .at = " offset(table, member)
    else if ("have" in field)
        row = row ", .at = " offset(table, unquoted(field["have"]))
    for (i = 1; i <= plain_count; i++)
        if (plain_keys[i] in field)
            row = row ", ." c_names[i] " = " plain(field[plain_keys[i]])
    for (i = 1; i <= text_count; i++)
        if (texts[i] in field)
            row = row ", ." texts[i] " = " field[texts[i]]
    for (i = 1; i <= pointer_count; i++)
        if (pointers[i] in field)
            row = row ", ." (pointers[i] ~ /^table/ ? "form = FORM_TABLE, .of" : pointers[i]) \
                " = &" unquoted(field[pointers[i]])
    if ("where" in field)
        row = row ", .where = " offset(table, unquoted(field["where"]))
    return row "},"
}

# The rows of a table, those of groups in their place.
function add_rows(table, of_table,    i, name, row)
{
    for (i = 1; i <= rows[table]; i++) {
        name = row_name[table, i]
        row = row_text[table, i]
        if (row == "\"group\"") {
            add_rows(name, of_table)
            continue
        }
        take(row)
        study(name)
        print "    " row_of(of_table, name) " \\"
    }
}

# One after the other, without a semicolon behind the last.
function add_member(type, name, means)
{
    members = members (members ? "; \\\n    " : "    ") type (type ~ /\*$/ ? "" : " ") name \
        (means ? " /* " means " */" : "")
}

function add_members(table,    i)
{
    members = ""
    for (i = 1; i <= rows[table]; i++) {
        if (row_text[table, i] == "\"group\"")
            continue
        take(row_text[table, i])
        study(row_name[table, i])
        if ("search" in field)
            add_search_number(row_name[table, i])
        if (!form || "at" in field || member ~ /\./)
            continue
        add_member("as" in field ? unquoted(field["as"]) : member_type[forms[form]], member, unquoted(field["means"]))
        if ("where" in field)
            add_member("struct position", unquoted(field["where"]), "")
    }
    if (members)
        print "#define MEMBERS_OF_" toupper(table) " \\\n" members "\n"
    if (numbers)
        print "#define SEARCH_NUMBERS(ROW)" numbers "\n"
    numbers = ""
}

# Kinds of rows: the types that a value may have, its form (schema.h) and the type of the member.
function add_form(kind, types, name, type)
{
    forms[kind] = name
    type_of[kind] = types
    member_type[name] = type
}

BEGIN {
    split("string text line template regex size", names)
    for (i = 1; i in names; i++)
        add_form(names[i], "TYPE_STRING", names[i], names[i] == "size" ? "int64_t" : "char *")
    add_form("constant", "TYPE_STRING | TYPE_INT", "constant", "char *")
    add_form("limit", "TYPE_TIME", "limit", "char *")
    add_form("time", "TYPE_TIME", "duration", "int64_t")
    add_form("flag", "TYPE_BOOL", "bool", "bool")
    add_form("switch", "TYPE_BOOL", "switch", "int")
    add_form("int", "TYPE_INT", "int", "int64_t")
    add_form("count", "TYPE_INT", "count", "int64_t")
    add_form("number", "TYPE_NUMBER", "number", "double")
    add_form("strings", "TYPE_STRINGS", "strings", "char **")
    add_form("lines", "TYPE_STRINGS", "lines", "char **")
    split("keys more_keys names", names)
    for (i = 1; i in names; i++)
        add_form(names[i], "TYPE_STRINGS", names[i], "struct word_list")
    add_form("words", "TYPE_STRING | TYPE_STRINGS", "words", "struct word_list")
    add_form("command", "TYPE_STRING | TYPE_STRINGS", "command", "struct command_words")
    add_form("choice", "TYPE_STRING", "choice", "int")
    add_form("either", "TYPE_STRING", "either", "bool")
    add_form("word", "TYPE_STRING", "word", "const char *")
    plain_count = split("least most default choices read each walk required", plain_keys)
    split("least most otherwise choices read each walk required", c_names)
    pointer_count = split("entries of table tables", pointers)
    text_count = split("what named", texts)
    split("least most default choices read each walk required entries of table tables what named types files have " \
        "where as at means search whole", names)
    for (i = 1; i in names; i++)
        is_known[names[i]] = 1
}

/^#/ || /^$/ {
    next
}
/^\[[a-z_]+\]$/ {
    table = unquoted($0)
    next
}
!match($0, /^[a-z0-9_]+ = /) {
    fail("not a key: " $0)
}
{
    name = substr($0, 1, RLENGTH - 3)
    row = substr($0, RLENGTH + 1)
}
table == "tables" {
    take(row)
    for (key in field)
        of[name, key] = field[key]
    tables[++count] = name
    next
}
!((table, "files") in of) {
    fail("not of [tables]: " table)
}
{
    row_name[table, ++rows[table]] = name
    row_text[table, rows[table]] = row
}

END {
    if (failed)
        exit 1
    print "/* Made by scripts/keys.awk. */\n#pragma once\n"
    for (i = 1; i <= count; i++) {
        if (what == "header") {
            add_members(tables[i])
            continue
        }
        print "#define KEYS_OF_" toupper(tables[i]) " \\"
        add_rows(tables[i], tables[i])
        print ""
    }
}
