#!/usr/bin/env bash
# Long output on a terminal goes through a pager, as git's does; nowhere else.
. "${0%/*}/lib.sh"
. "${0%/*}/fixture.sh"

# Runs the tool on a terminal of 24 lines and 80 columns. What it shows is in `shown`, its status in `ended`. Once there
# is a file `press`, Ctrl-C is pressed; a file `left` that is there when the tool ends is `left_before` afterwards.
on_terminal()
{
    cat >terminal.py <<'END'
import fcntl, os, pty, select, struct, sys, termios
pid, terminal = pty.fork()
if pid == 0:
    os.environ["PATH"] = os.environ.get("PATH_WANTED", os.environ["PATH"])
    fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
    os.execv(sys.argv[1], sys.argv[1:])
shown, pressed, status = b"", False, None
while True:
    if not pressed and os.path.exists("press"):
        pressed = True
        os.write(terminal, b"\x03")
    if status is None:
        ended, status = os.waitpid(pid, os.WNOHANG)
        status = os.waitstatus_to_exitcode(status) if ended else None
        if ended and os.path.exists("left"):
            os.rename("left", "left_before")
    if not select.select([terminal], [], [], 0.02)[0]:
        continue
    try:
        block = os.read(terminal, 65536)
    except OSError:
        break
    if not block:
        break
    shown += block
if status is None:
    status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    if os.path.exists("left"):
        os.rename("left", "left_before")
open("shown", "wb").write(shown.replace(b"\r\n", b"\n"))
open("ended", "w").write(str(status if status >= 0 else 128 - status))
END
    rm -f shown ended paged
    env TERM="${TERM_WANTED-xterm}" timeout 40 "$python" terminal.py "$meshsweep" "$@" </dev/null || fail "no terminal"
}

shown_has() # TEXT
{
    grep -qF -e "$1" shown || fail "the terminal lacks $1: $(head -c 2000 shown)"
}

ended_with() # STATUS
{
    [ "$(cat ended)" = "$1" ] || fail "status $(cat ended), not $1: $(head -c 2000 shown)"
}

not_paged() # ARGS: what shows its throughput on the terminal, and in no pager
{
    on_terminal "$@"
    shown_has throughput
    expect_no_file paged
}

unset MESHSWEEP_PAGER
python=/usr/bin/python3
[ -x "$python" ] || { echo "1..0 # SKIP there is no $python"; exit 77; }

terminal__pager_of_the_environment__gets_all()
{
    fixture_database
    MESHSWEEP_PAGER="tee paged" PAGER="false" on_terminal results
    ended_with 0
    expect '[ "$(cat paged)" = "$(cat shown)" ]'
    expect_file_contains paged throughput
    # It fits the terminal behind the pager, has its colours, and what is said comes last.
    expect '[ "$(sed "s/\x1b\[[0-9;]*m//g" paged | wc -L)" -le 80 ]' "grep -q $'\x1b' paged"
    expect 'tail -n 1 paged | grep -q "^meshsweep: [0-9]* more columns"'
    PAGER="tee paged" on_terminal help run
    ended_with 0
    expect_file_contains paged "usage: meshsweep run"
    PAGER="tee paged" on_terminal run --help
    expect_file_contains paged "usage: meshsweep run"
    MESHSWEEP_PAGER='echo "$LESS, $LV" >paged; cat' on_terminal status
    expect '[ "$(cat paged)" = "FRX, -c" ]'
    LESS=S MESHSWEEP_PAGER='echo "$LESS" >paged; cat' on_terminal status
    expect '[ "$(cat paged)" = S ]'
}

terminal__without_a_setting__less()
{
    type -P less >/dev/null || skip "there is no less"
    mkdir bin
    printf '#!/bin/sh\necho "less, with $LESS" >paged\nexec cat\n' >bin/less
    chmod +x bin/less
    fixture_database
    PATH=$PWD/bin:$PATH on_terminal status
    ended_with 0
    expect '[ "$(cat paged)" = "less, with FRX" ]'
    # The real one ends by itself where all fits.
    on_terminal best
    ended_with 0
    shown_has "highest throughput"
    # Nothing is missing where there is none.
    PATH_WANTED=/nonexistent on_terminal best
    ended_with 0
    shown_has "highest throughput"
}

terminal__no_pager_wanted__none()
{
    fixture_database
    MESHSWEEP_PAGER="tee paged" not_paged results --no-pager
    TERM_WANTED=dumb MESHSWEEP_PAGER="tee paged" not_paged results
    MESHSWEEP_PAGER="" PAGER="tee paged" not_paged results
    MESHSWEEP_PAGER="cat" not_paged results
    # Not for a pipe or a file, not for what is looked at again and again, not for what writes a table for programs.
    MESHSWEEP_PAGER="tee paged" expect_said only_stdout_contains 0 throughput results
    expect_no_file paged
    sql "DELETE FROM job WHERE state IN ('running', 'pending')"
    MESHSWEEP_PAGER="tee paged" on_terminal status --watch=0.1
    expect_no_file paged
    MESHSWEEP_PAGER="tee paged" not_paged export
}

status__of_the_command__is_kept()
{
    fixture_database
    MESHSWEEP_PAGER="tee paged" on_terminal results --where "micro_batch = 77"
    ended_with 4
    MESHSWEEP_PAGER="tee paged" on_terminal results --where "nonsense = 77"
    ended_with 2
    shown_has "no such column: nonsense"
    MESHSWEEP_PAGER="exit 7" on_terminal help
    expect '[ "$(cat ended)" = 0 ] || [ "$(cat ended)" = 141 ]'
}

# More than a pipe holds.
long_help()
{
    fixture_database
    sqlite3 results.db "WITH RECURSIVE n (i) AS (SELECT 100 UNION ALL SELECT i + 1 FROM n WHERE i < 6000)
        INSERT INTO job (id, key, sweep_id, rank, cluster_id, model_id, parallel_id, state)
        SELECT i, randomblob(16), 2, i, 1, 2, 4, 'pending' FROM n"
}

pager__left_early__is_no_error()
{
    long_help
    MESHSWEEP_PAGER="head -n 1" on_terminal results
    ended_with 141
    expect '[ "$(wc -l <shown)" = 1 ]'
}

# Ctrl-C is for both: the pager, which has the terminal, ends first.
interrupt__while_the_pager_reads__waits_for_it()
{
    long_help
    printf '%s\n' "trap '' INT" ': >press' 'sleep 1' 'cat >/dev/null' ': >left' >slow.sh
    MESHSWEEP_PAGER="exec sh slow.sh" on_terminal results
    ended_with 130
    expect_file left_before
    # The pager was started, and nobody went on yet.
    rm left_before press
    [ -f "$build_dir/tests/cli/disturb.so" ] || return 0
    LD_PRELOAD="$build_dir/tests/cli/disturb.so" ASAN_OPTIONS="${ASAN_OPTIONS-}:verify_asan_link_order=0" \
        DISTURB_SPAWN_MS=500 MESHSWEEP_PAGER="exec sh slow.sh" on_terminal results
    ended_with 130
    expect_file left_before
}

run_cases "$@"
