UPDATE attempt SET state = ?2, failure = ?3, message = ?4, ended = ?5, duration_ms = ?6, exit_code = ?7, signal = ?8,
 limit_ms = ?9, user_ms = ?10, system_ms = ?11, max_rss = ?12, leftovers = ?13, directory = coalesce(?14, directory),
 log_bytes = ?15, log_tail = ?16, host = coalesce(?17, host), reference = coalesce(?18, reference),
 stopped_steps = ?19, waits = NULL, blame = ?20, consequence = ?21, unwatched_ms = ?22, left_out = ?23,
 device_model = ?24, device_condition = ?25, device_note = ?26, files = ?27,
 readers = (SELECT r.value || iif(?3 = 'no-metric', ' ' || o.value, '') FROM meta AS r
  LEFT JOIN meta AS o ON o.name = 'judged by' WHERE r.name = 'readers')
WHERE id = ?1 AND state = 'running'
