-- The latest run of each job, with what a person may have to do.
select
  j.name,
  r.job,
  r.run,
  r.ended_at,
  r.phase,
  r.reason,
  r.message,
  r.rows,
  r.success,
  r.error,
  r.missing,
  r.schema_changes is not null as schema_changed,
  r.cost_micros / 1000000.0 as cost_dollars
from {{ source('searchflow', 'searchflow_runs') }} as r
join {{ source('searchflow', 'searchflow_jobs') }} as j on j.job = r.job
join (
  select job, max(ended_at) as ended_at
  from {{ source('searchflow', 'searchflow_runs') }}
  group by job
) as latest on latest.job = r.job and latest.ended_at = r.ended_at
