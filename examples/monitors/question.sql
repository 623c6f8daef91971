-- Which sites were found by the most runs of the team's monitors, and when for the first time?
SELECT split_part(r.url, '/', 3) AS site, count(DISTINCT r.run_id) AS runs, count(*) AS results, min(m.completed_at) AS first_found
FROM monitor_run_results r
JOIN monitor_runs m ON m.origin = r.origin AND m.monitor_id = r.monitor_id AND m.id = r.run_id
JOIN monitors t ON t.origin = r.origin AND t.id = r.monitor_id
WHERE json_extract_string(t.metadata, '$.team') = 'growth'
GROUP BY site
ORDER BY runs DESC, results DESC, site
LIMIT 20;
