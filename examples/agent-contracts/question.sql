-- Rows by their state: success, failed, or with the columns that did not fit.
SELECT 'success' AS state, count(*) AS rows, NULL AS columns FROM leaders WHERE status = 'success'
UNION ALL
SELECT error_tag, count(*), NULL FROM leaders WHERE status <> 'success' GROUP BY error_tag
UNION ALL
SELECT 'misfit', count(DISTINCT row_number), string_agg(DISTINCT column_name, ', ') FROM misfits
WHERE job LIKE 'leaders%' HAVING count(*) > 0;
