-- Which searches end how, and how much do they find of what was asked for?
SELECT status, entity_type, count(*) AS searches, sum(count) AS wanted, sum(found) AS found,
  round(100 * sum(found) / nullif(sum(count), 0)) AS percent, mode(canceled_reason) AS most_canceled_for
FROM webset_searches
GROUP BY status, entity_type
ORDER BY searches DESC, status, entity_type;
