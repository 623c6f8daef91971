-- The new answers of the latest complete run, and the rows that it missed.
SELECT c.id, c.name, c.status, c.title, c.fetched_at
FROM searchflow.companies c
JOIN (SELECT started_at FROM searchflow.searchflow_runs WHERE phase = 'done' ORDER BY started_at DESC LIMIT 1) run
  ON c.fetched_at >= run.started_at
ORDER BY c.id;
