import type { Migration } from '../../../postgres/index.js';
import { dollarsOf, spendView } from '../../rows/make-tables.js';
import { makeResultViews } from '../../rows/make-views.js';
import { resultRelations } from '../../rows/result-relations.js';
import { rowComments } from '../../rows/row-tables.js';
import { postgresResults } from '../dialect/result-dialect.js';

/** Reads a field only if it is a text; see `ValueType`. */
const text = (name: string) =>
  `CASE WHEN error_message IS NULL OR json_typeof(response -> '${name}') = 'string' THEN response ->> '${name}' END AS ${name}`;

const replaced = ['enriched_rows', 'spend', ...resultRelations.map(({ name }) => name)];

/**
 * The views have exact dollars, and only texts in text columns. PostgreSQL cannot change the type of a view's column. So each view is
 * created again, and so is every view that depends on it (views of jobs, and a person's own), with its owner, rights and comment.
 */
export const exactDollars: Migration = {
  name: '0071-exact-dollars',
  sql: (schema) => `
CREATE TEMP TABLE searchflow_built_on ON COMMIT DROP AS
WITH RECURSIVE built AS (
  SELECT oid AS view, 0 AS depth FROM unnest(ARRAY[${replaced
    .map((name) => `'${`${schema}.${name}`.replaceAll("'", "''")}'`)
    .join(', ')}]::regclass[]::oid[]) AS oid
  UNION
  SELECT r.ev_class, b.depth + 1
  FROM built b
  JOIN pg_depend d ON d.refclassid = 'pg_class'::regclass AND d.refobjid = b.view AND d.classid = 'pg_rewrite'::regclass
  JOIN pg_rewrite r ON r.oid = d.objid AND r.ev_class <> b.view)
SELECT format('%I.%I', n.nspname, c.relname) AS name, c.relkind = 'm' AS stored, pg_get_viewdef(c.oid) AS query,
  pg_get_userbyid(c.relowner) AS owner, c.relacl AS rights, array_to_string(c.reloptions, ', ') AS options,
  obj_description(c.oid, 'pg_class') AS comment, max(b.depth) AS depth,
  ARRAY(SELECT pg_get_indexdef(indexrelid) FROM pg_index WHERE indrelid = c.oid) AS indexes
FROM built b JOIN pg_class c ON c.oid = b.view JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE c.relkind IN ('v', 'm')
GROUP BY c.oid, n.nspname, c.relname, c.relkind, c.relowner, c.relacl, c.reloptions;

DROP VIEW ${replaced.map((name) => `${schema}.${name}`).join(', ')} CASCADE;

CREATE VIEW ${schema}.enriched_rows AS
SELECT id, job, origin, generation, slice, row_number, row_hash, unit_key, url, input, status, error_tag, error_message,
  http_status, source, title, author, published_date,
  ${text('text')}, response -> 'highlights' AS highlights, ${text('summary')},
  response, request_id, cost_micros, ${dollarsOf('cost_micros')} AS cost_dollars, fetched_at, loaded_at, outdated_at, vanished_at,
  row_exact, answer_exact
FROM ${schema}.row_store;
${spendView((moment) => `CAST(${moment} AT TIME ZONE 'UTC' AS date)`, `${schema}.`)};
${makeResultViews(postgresResults(`${schema}.`))}
${rowComments(['row_store', 'enriched_rows', 'spend', 'searchflow_runs'], true, `${schema}.`)}

DO $body$ DECLARE
  built record;
  granted record;
  indexed text;
BEGIN
  FOR built IN SELECT * FROM searchflow_built_on ORDER BY depth LOOP
    IF built.depth > 0 THEN
      EXECUTE format('CREATE %s VIEW %s %s AS %s', CASE WHEN built.stored THEN 'MATERIALIZED' ELSE '' END, built.name,
        CASE WHEN built.options IS NULL THEN '' ELSE format('WITH (%s)', built.options) END, built.query);
      FOREACH indexed IN ARRAY built.indexes LOOP EXECUTE indexed; END LOOP;
      IF built.comment IS NOT NULL THEN
        EXECUTE format('COMMENT ON %s VIEW %s IS %L', CASE WHEN built.stored THEN 'MATERIALIZED' ELSE '' END, built.name, built.comment);
      END IF;
    END IF;
    FOR granted IN SELECT privilege_type AS what, is_grantable AS further,
        CASE WHEN grantee = 0 THEN 'PUBLIC' ELSE quote_ident(pg_get_userbyid(grantee)) END AS whom
      FROM aclexplode(built.rights) WHERE grantee <> grantor
    LOOP
      EXECUTE format('GRANT %s ON %s TO %s%s', granted.what, built.name, granted.whom,
        CASE WHEN granted.further THEN ' WITH GRANT OPTION' ELSE '' END);
    END LOOP;
    IF built.owner <> current_user THEN
      EXECUTE format('ALTER %s VIEW %s OWNER TO %I', CASE WHEN built.stored THEN 'MATERIALIZED' ELSE '' END, built.name, built.owner);
    END IF;
  END LOOP;
END $body$;`,
};
