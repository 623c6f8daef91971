-- The latest complete run of the job `companies`: its new answers, then the rows without an answer, with the reason.
SELECT CASE c.status WHEN 'success' THEN 'new' ELSE 'missed' END AS what, c.id, c.name, c.error_tag, c.title, c.fetched_at
FROM searchflow.companies c
JOIN (
  SELECT r.started_at FROM searchflow.searchflow_runs r JOIN searchflow.searchflow_jobs j ON j.job = r.job
  WHERE j.view_name = 'companies' AND r.phase = 'done' ORDER BY r.started_at DESC LIMIT 1
) run ON c.status <> 'success' OR c.fetched_at >= run.started_at
ORDER BY what DESC, c.id;
