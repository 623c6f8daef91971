/**
 * Converts micro-dollars to exact dollars, in SQL that both databases accept. A division would give a double in one of the
 * databases.
 */
export function dollarsOf(micros: string): string {
  return `CAST(CAST(${micros} AS DECIMAL(18, 0)) * CAST(0.000001 AS DECIMAL(7, 6)) AS DECIMAL(18, 6))`;
}

/**
 * The view `spend`, in SQL that both databases accept. Several rows, perhaps of several jobs, may share an answer; the cost of
 * the answer counts for the row that was loaded first. `day` returns the expression of a moment's day in UTC. `prefix`: the
 * schema with its dot.
 */
export function spendView(day: (moment: string) => string, prefix = '', create = 'CREATE VIEW'): string {
  return `${create} ${prefix}spend AS
SELECT day, job, operation, CAST(sum(requests) AS BIGINT) AS requests, CAST(sum(rows) AS BIGINT) AS rows,
  ${dollarsOf('sum(micros)')} AS dollars, CAST(sum(unknown) AS BIGINT) AS unknown_outcomes,
  ${dollarsOf('sum(unknown_micros)')} AS unknown_dollars
FROM (
  SELECT a.day, a.job, j.operation, count(DISTINCT CASE WHEN a.turn = 1 THEN a.request_id END) AS requests,
    count(*) AS rows, sum(CASE WHEN a.turn = 1 THEN a.micros ELSE 0 END) AS micros, 0 AS unknown, 0 AS unknown_micros
  FROM (
    SELECT job, request_id, ${day('fetched_at')} AS day,
      max(cost_micros) OVER (PARTITION BY unit_key, fetched_at) AS micros,
      row_number() OVER (PARTITION BY unit_key, fetched_at ORDER BY loaded_at, job) AS turn
    FROM ${prefix}row_store WHERE unit_key IS NOT NULL) a
  JOIN ${prefix}searchflow_jobs j ON j.job = a.job
  GROUP BY a.day, a.job, j.operation
  UNION ALL
  SELECT ${day('intended_at')}, job, operation, 0, 0, 0, count(*), sum(estimate_micros)
  FROM ${prefix}unknown_outcomes GROUP BY 1, 2, 3) s
GROUP BY day, job, operation`;
}
