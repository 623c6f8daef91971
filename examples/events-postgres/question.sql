-- How many items did the team's websets find each week, how many of them are enriched, and in how many websets?
SET search_path = searchflow;
SELECT date_trunc('week', day)::date AS week, sum(items_created) AS items, sum(items_enriched) AS enriched,
  count(DISTINCT webset_id) FILTER (WHERE items_created > 0) AS websets
FROM webset_activity_daily
GROUP BY week
ORDER BY week;
