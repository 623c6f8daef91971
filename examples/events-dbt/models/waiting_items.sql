-- Items of the current state without a finished enrichment.
select i.id as item_id, i.webset_id, i.url, i.created_at
from {{ source('searchflow', 'webset_items') }} as i
where i.deleted_at is null and not exists (
  select 1 from {{ source('searchflow', 'webset_item_enrichments') }} as e
  where e.origin = i.origin and e.item_id = i.id and e.status = 'completed')
