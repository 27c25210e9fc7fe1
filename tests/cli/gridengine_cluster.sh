# shellcheck shell=bash
# A whole Grid Engine on this machine, for black-box tests: qmaster and one execution host of 8 slots, in namespaces of
# their own (network, name, processes), with a cell of their own. Sourced after lib.sh. Needs root and Debian's
# gridengine-master, gridengine-exec and gridengine-client.
#
#   need_gridengine           skips the case where that cannot be had
#   start_gridengine          starts it; SGE_ROOT and the ports are exported. The case begins anew, in the namespaces,
#                             which end all that is left with the case
#   start_qmaster             after stop_qmaster
#   start_execd               after kill_execd: the daemon and, as if the power went, all that it runs
#   set_global NAME VALUE     a line of the configuration (sge_conf(5))
#
# Nothing in /etc or /var is touched.

need_gridengine()
{
    local program
    [ "$(id -u)" -eq 0 ] || skip "a Grid Engine can be started by root only"
    for program in sge_qmaster sge_execd qsub qstat qconf; do
        PATH=$PATH:/usr/sbin type -P "$program" >/dev/null || skip "$program is not installed (scripts/setup.sh full)"
    done
    unshare -nmup --fork true 2>/dev/null || skip "there are no namespaces here"
}

# qconf shows what it is to add or to change to an editor: a script of sed takes its place.
configure() # SCRIPT OPTION...
{
    printf '#!/bin/sh\nsed -i "%s" "$1"\nexec touch -d +5sec "$1"\n' "$1" >"$SGE_ROOT/editor"
    chmod +x "$SGE_ROOT/editor"
    EDITOR=$SGE_ROOT/editor qconf "${@:2}" >>"$SGE_ROOT/log" 2>&1
}

start_qmaster()
{
    sge_qmaster >>"$SGE_ROOT/log" 2>&1
    wait_until 'timeout 5 qconf -sh >/dev/null 2>&1' 30
}

stop_qmaster() # [SIGNAL]
{
    end_daemon "$SGE_ROOT/qmaster/qmaster.pid" "${1-KILL}"
}

start_execd()
{
    rm -f "$SGE_ROOT/execd/node/execd.pid"
    sge_execd >>"$SGE_ROOT/log" 2>&1
    wait_until '[ -s "$SGE_ROOT/execd/node/execd.pid" ] && timeout 5 qhost -h node | grep -q "^node  *[^- ]"' 30
    # A queue stops at the failure of a host.
    qmod -c '*' >>"$SGE_ROOT/log" 2>&1 || true
}

kill_execd()
{
    local pids i
    end_daemon "$SGE_ROOT/execd/node/execd.pid" KILL
    # Once more for what they started meanwhile.
    for i in STOP KILL KILL; do
        pids=$(pgrep -x sge_shepherd; grep -lsz '^SGE_TASK_ID=' /proc/[0-9]*/environ | cut -d / -f 3) || true
        # shellcheck disable=SC2086 # numbers
        [ -z "$pids" ] || kill "-$i" $pids 2>/dev/null || true
    done
}

end_daemon() # PIDFILE SIGNAL
{
    local pid
    pid=$(cat "$1")
    kill "-$2" "$pid"
    wait_until "! kill -0 $pid 2>/dev/null || grep -qs '^State:.Z' /proc/$pid/status" 20
}

set_global() # NAME VALUE
{
    configure "s/^$1 .*/$1 $2/" -mconf global
}

start_gridengine()
{
    local spool=/usr/lib/gridengine
    if [ -z "${IN_GRIDENGINE-}" ]; then
        # Under the process that the case's limit of time ends.
        exec env IN_GRIDENGINE=1 unshare -nmup --fork --mount-proc --kill-child bash "$0" --case \
            "$(printf '%s\n' "${FUNCNAME[@]}" | grep __)"
    fi
    hostname node
    ip link set lo up
    ip addr add 10.99.0.1/32 dev lo
    printf '127.0.0.1 localhost\n10.99.0.1 node\n' >hosts
    mount --bind hosts /etc/hosts
    export SGE_ROOT=$PWD/sge SGE_CELL=default SGE_QMASTER_PORT=6444 SGE_EXECD_PORT=6445 PATH=$PATH:/usr/sbin
    mkdir -p sge/default/common sge/qmaster/job_scripts sge/execd sge/spool
    ln -s /var/lib/gridengine/bin /var/lib/gridengine/lib /var/lib/gridengine/utilbin /usr/share/gridengine/util sge/
    echo node >sge/default/common/act_qmaster
    cat >sge/default/common/bootstrap <<END
admin_user              none
default_domain          none
ignore_fqdn             false
spooling_method         berkeleydb
spooling_lib            libspoolb
spooling_params         $SGE_ROOT/spool
binary_path             /usr/sbin
qmaster_spool_dir       $SGE_ROOT/qmaster
security_mode           none
listener_threads        2
worker_threads          2
scheduler_threads       1
END
    sed "s|^execd_spool_dir .*|execd_spool_dir $SGE_ROOT/execd|; s/^\(min_[ug]id\) .*/\1 0/
        s/^load_report_time .*/load_report_time 00:00:02/; s/flush_time=/accounting_flush_time=00:00:00 &/" \
        /usr/share/gridengine/default-configuration >sge/new
    $spool/spoolinit berkeleydb libspoolb "$SGE_ROOT/spool" init >>sge/log 2>&1
    for part in "configuration $SGE_ROOT/new" "complexes $SGE_ROOT/util/resources/centry" \
        "usersets $SGE_ROOT/util/resources/usersets" "managers root"; do
        # shellcheck disable=SC2086 # two words
        $spool/spooldefaults $part >>sge/log 2>&1
    done
    start_qmaster
    qconf -ah node >>sge/log 2>&1
    qconf -as node >>sge/log 2>&1
    configure 's/^slots .*/slots 999/; s/^allocation_rule .*/allocation_rule \$pe_slots/' -ap smp
    configure 's/^hostlist .*/hostlist node/; s/^pe_list .*/pe_list smp/; s/^slots .*/slots 8/
        s/^load_thresholds .*/load_thresholds NONE/; s/^shell .*/shell \/bin\/sh/' -aq all.q
    configure 's/^schedule_interval .*/schedule_interval 0:0:1/; s/^flush_submit_sec .*/flush_submit_sec 1/
        s/^flush_finish_sec .*/flush_finish_sec 1/; s/^job_load_adjustments .*/job_load_adjustments NONE/' -msconf
    start_execd
}
