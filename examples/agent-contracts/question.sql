-- Rows by their state: usable, failed, or in quarantine with the columns that did not fit.
SELECT 'usable' AS state, count(*) AS rows, NULL AS columns FROM leaders WHERE status = 'success'
UNION ALL
SELECT error_tag, count(*), NULL FROM leaders WHERE status <> 'success' GROUP BY error_tag
UNION ALL
SELECT 'quarantine', count(DISTINCT row_number), string_agg(DISTINCT column_name, ', ') FROM misfits
WHERE job LIKE 'leaders%' HAVING count(*) > 0;
