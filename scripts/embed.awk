# Turns text files into one C table, so that the program carries its SQL and its profiles with it.
#   awk -f embed.awk FILE... > embedded_files.c
# Run it where the file names are relative to the source tree: configs/profiles/a.toml becomes "profiles/a.toml",
# sql/migrations/0001_a.sql "migrations/0001_a.sql"; any other path is its own name. The table is sorted by name. Beside
# it stand the names of executors: those that need no file, and those of executors/NAME.toml.

function name_of(path)
{
    sub(/^configs\//, "", path)
    sub(/^sql\/migrations\//, "migrations/", path)
    return path
}

# Character by character, because awks do not agree on backslashes in the replacement text of gsub. '?' is escaped so
# that no two of them make a trigraph.
function quote(line,    i, c, out)
{
    for (i = 1; i <= length(line); i++) {
        c = substr(line, i, 1)
        if (c == "\\" || c == "\"" || c == "?")
            out = out "\\" c
        else if (c == "\t")
            out = out "\\t"
        else if (c == "\r")
            out = out "\\r"
        else
            out = out c
    }
    return "\"" out "\\n\""
}

function write_entry(path,    line, status)
{
    printf "    {\"%s\",\n     \"\"\n", name_of(path)
    while ((status = (getline line < path)) > 0)
        print "     " quote(line)
    if (status < 0) {
        print "embed.awk: cannot read " path > "/dev/stderr"
        exit 1
    }
    close(path)
    print "    },"
}

BEGIN {
    count = ARGC - 1
    for (i = 1; i <= count; i++) {
        path = ARGV[i]
        for (j = i; j > 1 && name_of(paths[j - 1]) > name_of(path); j--)
            paths[j] = paths[j - 1]
        paths[j] = path
    }
    print "/* Made by scripts/embed.awk. */"
    print "#include \"util/embedded.h\""
    print ""
    print "const struct embedded_file embedded_files[] = {"
    for (i = 1; i <= count; i++)
        write_entry(paths[i])
    print "    {0, 0},"
    print "};"
    print ""
    print "const char *const executor_names[] = {\"local\""
    for (i = 1; i <= count; i++) {
        if (split(name_of(paths[i]), parts, /[\/.]/) != 3 || parts[1] != "executors")
            continue
        if (parts[2] > "ssh" && !ssh++)
            print "    , \"ssh\""
        print "    , \"" parts[2] "\""
    }
    print (ssh ? "" : "    , \"ssh\"") "    , 0};"
}
