-- Which websets grew the most in the last seven days of the history?
SELECT a.webset_id, coalesce(w.title, '(no title)') AS title, w.status, w.deleted_at IS NOT NULL AS deleted,
  sum(a.items_created) AS items, sum(a.items_enriched) AS enriched, max(a.last_at) AS last_at
FROM webset_activity_daily a
LEFT JOIN websets w ON w.origin = a.origin AND w.id = a.webset_id
WHERE a.day > (SELECT CAST(max(created_at) AS DATE) FROM events) - 7 AND a.webset_id IS NOT NULL
GROUP BY ALL
HAVING items > 0
ORDER BY items DESC, last_at DESC
LIMIT 10;
