-- New items of each webset, day by day.
select a.day, a.webset_id, w.title, a.items_created as items, a.items_enriched as enriched
from {{ source('searchflow', 'webset_activity_daily') }} as a
left join {{ source('searchflow', 'websets') }} as w on w.origin = a.origin and w.id = a.webset_id
where a.webset_id is not null and a.items_created > 0
