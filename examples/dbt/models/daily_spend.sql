-- Cost of the answers by day and job.
select day, job, sum(requests) as requests, sum(rows) as rows, sum(dollars) as dollars
from {{ source('searchflow', 'spend') }}
group by day, job
