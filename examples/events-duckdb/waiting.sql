-- How long do items wait until they are enriched, week by week? The column items also counts items that still wait.
WITH items AS (
  SELECT item_id, min(happened_at) FILTER (type = 'webset.item.created') AS created_at,
    min(happened_at) FILTER (type = 'webset.item.enriched') AS enriched_at
  FROM item_timeline
  GROUP BY item_id)
SELECT CAST(date_trunc('week', created_at) AS DATE) AS week, count(*) AS items, count(enriched_at) AS enriched,
  round(median(date_diff('second', created_at, enriched_at)) / 60, 1) AS median_minutes,
  round(quantile_cont(date_diff('second', created_at, enriched_at), 0.95) / 60, 1) AS slowest_in_20_minutes
FROM items
WHERE created_at IS NOT NULL
GROUP BY week
ORDER BY week;
