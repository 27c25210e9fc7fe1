#!/usr/bin/env bash
# The files that `make install` brings: programs, manual pages, documents, examples that the installed program takes.
. "${0%/*}/lib.sh"

install_it()
{
    env -u MAKEFLAGS -u MAKELEVEL make -s -C "$build_dir" install prefix=/usr DESTDIR="$PWD/root" >made 2>&1 ||
        fail "make install: $(tail -n 3 made)"
}

installed__files__all_there()
{
    install_it
    for file in bin/meshsweep bin/meshsweep-trainer share/man/man5/meshsweep.5 share/doc/meshsweep/README.md \
        share/doc/meshsweep/LICENSE share/doc/meshsweep/docs/reference.md share/meshsweep/configs/quickstart.toml \
        share/meshsweep/configs/profiles/torch.toml share/meshsweep/sql/queries/sweeps.sql \
        share/meshsweep/sql/answers/status.sql \
        share/meshsweep/scripts/train_torch.py share/meshsweep/schemas/status.json \
        share/meshsweep/schemas/sweep.json; do
        expect "[ -f root/usr/$file ]"
    done
    for file in root/usr/share/meshsweep/configs/*.toml; do
        expect_said_by only_stdout_contains 0 "$file: " run_command root/usr/bin/meshsweep check "$file"
    done
    # The file that it writes names the schema that editors read.
    run_command root/usr/bin/meshsweep init -o - x=1,2 -- true
    expect_only_stdout_contains 0 "#:schema file://$(readlink -f root)/usr/share/meshsweep/schemas/sweep.json"
    env -u MAKEFLAGS -u MAKELEVEL make -s -C "$build_dir" uninstall prefix=/usr DESTDIR="$PWD/root" >/dev/null 2>&1
    expect "[ -z \"\$(find root -type f)\" ]"
}

# Sections of the manual page that messages point to are there.
manual_of_the_sweep_file__sections__all_that_messages_name()
{
    run_command awk -f "$source_dir/scripts/manual_page.awk" -v version=1 "$source_dir/docs/reference.md"
    expect_only_stdout_contains 0 '.TH MESHSWEEP 5'
    cp .stdout meshsweep.5
    grep -rhoE '\[[a-z.]+\] in meshsweep\(5\)' "$source_dir/src" | sort -u >sections
    expect '[ $(wc -l <sections) -ge 2 ]'
    while IFS= read -r section; do
        expect "grep -qxF '.SH \"${section%% *}\"' meshsweep.5"
    done <sections
    # Lines that the text breaks anew, and none that troff takes for a request.
    command -v groff >/dev/null || skip "there is no groff"
    expect "[ -z \"\$(groff -k -man -ww -Tutf8 meshsweep.5 2>&1 >page.txt)\" ]"
    expect "! grep -qE '^ *\\.(SH|SS|TP|IP|PP)' page.txt"
}

run_cases "$@"
