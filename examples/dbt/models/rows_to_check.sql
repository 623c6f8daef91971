-- Rows of the current inputs without a usable answer: failed and bad rows, and values that do not fit their column.
select e.job, e.row_number, e.status, e.error_tag as problem, e.error_message as detail
from {{ source('searchflow', 'enriched_rows') }} as e
where e.vanished_at is null and e.status <> 'success'
union all
select m.job, m.row_number, 'misfit', m.column_name, m.value
from {{ source('searchflow', 'misfits') }} as m
