-- How many attempts ended in each hour (UTC), and how.
SELECT strftime('%Y-%m-%d %H:00', ended / 1000, 'unixepoch') AS hour, count(*) AS ended, sum(state = 'ok') AS ok,
       sum(state = 'failed') AS failed, round(avg(duration_ms) / 1000.0, 1) AS mean_seconds
FROM attempt
WHERE ended IS NOT NULL AND kind = 'trial'
GROUP BY hour
ORDER BY hour;
