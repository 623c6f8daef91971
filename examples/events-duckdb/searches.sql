-- How do searches end, and how many of the requested items do they find?
SELECT status, entity_type, count(*) AS searches, sum(count) AS wanted, sum(found) AS found,
  round(100 * sum(found) / nullif(sum(count), 0)) AS percent, mode(canceled_reason) AS most_canceled_for
FROM webset_searches
GROUP BY status, entity_type
ORDER BY searches DESC, status, entity_type;
