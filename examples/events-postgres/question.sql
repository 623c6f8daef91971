-- How many items were found each week, in how many websets, and how many items were enriched?
SET search_path = searchflow;
SELECT date_trunc('week', day)::date AS week, sum(items_created) AS items, sum(items_enriched) AS enriched,
  count(DISTINCT webset_id) FILTER (WHERE items_created > 0) AS websets
FROM webset_activity_daily
GROUP BY week
ORDER BY week;
