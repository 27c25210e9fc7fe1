#!/usr/bin/env bash
# report in a real browser: sorts, filters, toggles, no error, no request. Runs where MESHSWEEP_BROWSER_TEST is set
# (scripts/check.sh --full), for a browser takes seconds to start.
if [ -z "${MESHSWEEP_BROWSER_TEST-}" ] && [ "${1-}" != --case ]; then
    echo "1..0 # SKIP MESHSWEEP_BROWSER_TEST is not set"
    exit 77
fi
. "${0%/*}/lib.sh"
. "${0%/*}/fixture.sh"

browser() { type -P chromium || type -P chromium-browser || type -P google-chrome; }

needs_browser()
{
    browser >/dev/null || skip "there is no chromium"
    command -v python3 >/dev/null || skip "there is no python3"
}

# results.db with names that would be code, and with each kind of plot.
results_of_everything()
{
    local bad="</script><script>window.hostile=1</script><img src=x onerror=window.hostile=1>"
    fixture_database "UPDATE spec SET name = '$bad', json = json_object('layers', 2, 'name', '$bad') WHERE id = 2" \
        "UPDATE sweep SET name = '$bad'" "UPDATE attempt SET message = '$bad', log_tail = '$bad'" \
        "INSERT INTO summary (attempt_id, name, value, count) VALUES (1, 'peak_memory', 300.0, 1),
         (2, 'peak_memory', 200.0, 1), (3, 'peak_memory', 250.0, 1)" \
        "INSERT OR REPLACE INTO metric SELECT 2, name, sequence, step, value FROM metric WHERE attempt_id = 1"
}

is_as_it_should_be() # COMMAND...
{
    expect_command only_status 0 "$@"
    expect_stdout 'as it should be'
}

# Makes report.html and has it looked at.
report_passes() # CHECK [ARGUMENT...]
{
    needs_browser
    expect_run only_stderr 0 report
    is_as_it_should_be timeout 100 python3 "$tests_source_dir/browser/$1.py" "$(browser)" report.html "${@:2}"
}

browser__report__used_as_a_person_does()
{
    results_of_everything
    report_passes check_report .
    expect_file report-1200.png report-420.png
}

browser__report__read_and_walked_without_mouse_or_eyes()
{
    results_of_everything
    report_passes check_access
}

browser__report__marks_of_an_axis_differ()
{
    many_jobs 300 0 "UPDATE metric_definition SET unit = 'bytes allocated' WHERE name = 'peak_memory'" \
        "UPDATE summary SET value = 12910000 + attempt_id * 700 WHERE name = 'peak_memory'" \
        "UPDATE summary SET value = attempt_id * 800 - 79000 WHERE name = 'throughput'" \
        "UPDATE spec SET json = json_set(json, '\$.device_memory', iif(id % 3, 16777216, 25165824)) WHERE id >= 100"
    report_passes check_report --axes
}

browser__report__effects_and_predictions_lie_where_they_are()
{
    kernel_sweep
    report_passes check_report --kernels
}

browser__report__extreme_values__no_plot_breaks()
{
    for sql in "UPDATE summary SET value = 1.7e308 WHERE attempt_id = 1 AND name = 'throughput'" \
        "UPDATE summary SET value = CASE attempt_id WHEN 1 THEN 1.7e308 ELSE -1.7e308 END" \
        "UPDATE summary SET value = 5e-324" "UPDATE summary SET value = 0.0"; do
        fixture_database "INSERT INTO summary (attempt_id, name, value, count) VALUES (1, 'peak_memory', 300.0, 1),
            (2, 'peak_memory', 200.0, 1), (3, 'peak_memory', 1.7e308, 1)" "$sql"
        expect_run only_stderr 0 report
        report_passes check_report --extremes
    done
}

browser__report__printed_on_a4()
{
    results_of_everything
    report_passes check_print 7
    # Thirty keys and metrics, with long names and values.
    fixture_database "UPDATE spec SET json = json_patch(json, (SELECT json_group_object(
            'a_key_with_a_rather_long_name_' || value, 'value_' || spec.id || '_' || value) FROM
            json_each('[1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20]'))) WHERE kind = 'parallel_spec'" \
        "INSERT INTO summary (attempt_id, name, value, count) SELECT a.id, 'a_metric_of_its_own_' || value,
            123456.789 * a.id, 1 FROM attempt AS a, json_each('[1,2,3,4,5,6,7,8,9,10]') WHERE a.state = 'ok'"
    report_passes check_print 9
}

# Each change of view within 300 ms of a processor's time, which on a busy one is up to three times what it is alone.
browser__100000_jobs__small_and_quick()
{
    many_jobs 100000 0
    report_passes check_report --speed 300
    expect '[ "$(wc -c <report.html)" -lt 15000000 ]'
}

# The page of results.db while it changes.
served_page_passes() # [ARGUMENT...]
{
    needs_browser
    (
        trap - INT
        exec "$meshsweep" report --serve
    ) >served 2>served.err </dev/null &
    local server=$!
    wait_until '[ -s served ]' 10
    hurry "$server"
    local address
    address=$(cut -d : -f 3- served)
    page_stands()
    {
        bash "$tests_source_dir/cli/http_ask.sh" "${address%%/*}" "/${address#*/}" | grep -q 'section id="overview"'
    }
    wait_until page_stands 40
    is_as_it_should_be timeout 400 python3 "$tests_source_dir/browser/check_live.py" "$(browser)" "$(cat served)" \
        results.db "$server" "$@"
}

# A page that is served changes where it stands, and keeps what a person did with it.
browser__served_report__follows_the_database()
{
    fixture_database
    served_page_passes
}

# A page of many jobs is made seldom: what ended is there at once.
browser__served_report_of_many_jobs__has_what_ended()
{
    many_jobs 1500 10
    served_page_passes rows
}

run_cases "$@"
