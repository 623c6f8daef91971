import { DIGITS, NUMBER, TIME, ZONE } from '../../core/text/value-forms.js';
import { shortIdSql } from '../shared/short-id.js';
import { EXACT_BELOW } from '../shared/typed-value.js';

/** Times in the format of the service. Only days up to 28 match, because every month has these days. */
const PLAIN_TIME =
  '^[12][0-9]{3}-(0[1-9]|1[0-2])-(0[1-9]|1[0-9]|2[0-8])T([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9](\\.[0-9]{1,6})?Z$';
const PLAIN_NUMBER = '^-?[0-9]{1,15}$';

/**
 * SQL functions that read a text as a value, or as NULL if the text does not fit: a cast would fail the whole load. DuckDB's expressions
 * (`typedValue`) return the same values. Plain values are cast directly, because a block with an exception handler costs more than the cast. The
 * functions resolve names only in PostgreSQL's own schema, because views call them in sessions of other programs, whose search path may begin
 * with another schema.
 */
export function readers(prefix: string): string {
  const create = (name: string, type: string, body: string) => `
CREATE OR REPLACE FUNCTION ${prefix}searchflow_${name}(given text) RETURNS ${type} LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL RESTRICTED SET search_path TO pg_catalog, pg_temp AS $$ BEGIN
  ${body}
END $$;`;
  const orNull = 'EXCEPTION WHEN data_exception THEN RETURN NULL; END';
  return [
    // The text of a value of an answer as DuckDB writes it. Only answers that are nested too deep keep their white space.
    `CREATE OR REPLACE FUNCTION ${prefix}searchflow_text(given json) RETURNS text LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL RESTRICTED SET search_path TO pg_catalog, pg_temp AS $$ BEGIN
  CASE json_typeof(given) WHEN 'string' THEN RETURN given #>> '{}'; WHEN 'null' THEN RETURN NULL; ELSE NULL; END CASE;
  RETURN ${prefix}searchflow_json(given);
EXCEPTION WHEN statement_too_complex THEN RETURN given::text; END $$;
CREATE OR REPLACE FUNCTION ${prefix}searchflow_json(given json) RETURNS text LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL RESTRICTED
SET search_path TO pg_catalog, pg_temp SET extra_float_digits TO 1 AS $$ DECLARE
  shown text := btrim(given::text, E' \\t\\r\\n'); number double precision;
BEGIN
  CASE json_typeof(given)
  WHEN 'object' THEN RETURN (SELECT '{' || coalesce(string_agg(to_json(key)::text || ':' || ${prefix}searchflow_json(value), ',' ORDER BY n), '') || '}'
    FROM json_each(given) WITH ORDINALITY AS m(key, value, n));
  WHEN 'array' THEN RETURN (SELECT '[' || coalesce(string_agg(${prefix}searchflow_json(value), ',' ORDER BY n), '') || ']'
    FROM json_array_elements(given) WITH ORDINALITY AS m(value, n));
  WHEN 'string' THEN RETURN to_json(given #>> '{}')::text;
  WHEN 'number' THEN number := CASE WHEN shown ~ '[.eE]' THEN ${prefix}searchflow_number(shown) END;
  ELSE NULL; END CASE;
  IF number IS NULL THEN RETURN CASE shown WHEN '-0' THEN '0' ELSE shown END; END IF;
  IF number = 0 THEN RETURN CASE WHEN shown LIKE '-%' THEN '-0.0' ELSE '0.0' END; END IF;
  IF abs(number) >= 1e21 OR abs(number) < 1e-6 THEN RETURN regexp_replace(number::text, 'e([+]|(-))?0*', 'e\\2'); END IF;
  shown := number::text::numeric::text;
  RETURN shown || CASE WHEN shown ~ '[.]' THEN '' ELSE '.0' END;
END $$;
`,
    // A reader for each type of the cells of an input. A style of the session would change the signs of intervals.
    `CREATE OR REPLACE FUNCTION ${prefix}searchflow_cell(given text, kind anyelement) RETURNS anyelement LANGUAGE plpgsql IMMUTABLE PARALLEL RESTRICTED
SET search_path TO pg_catalog, pg_temp SET intervalstyle TO postgres AS $$ BEGIN
  kind := given; RETURN kind; EXCEPTION WHEN data_exception OR statement_too_complex THEN RETURN NULL;
END $$;`,
    create('id', 'text', `RETURN ${shortIdSql('given', "encode(sha256(convert_to(given, 'UTF8')), 'hex')")};`),
    // PostgreSQL would round to microseconds, and DuckDB cuts.
    create(
      'time',
      'timestamptz',
      `IF given ~ '${PLAIN_TIME}' THEN RETURN given::timestamptz; END IF;
  IF given !~ '${TIME}' THEN RETURN NULL; END IF;
  given := regexp_replace(given, '([.][0-9]{6})[0-9]+', '\\1');
  BEGIN IF length(given) > 10 AND given ~ '${ZONE}' THEN RETURN given::timestamptz; END IF;
    RETURN given::timestamp AT TIME ZONE 'UTC'; ${orNull};`,
    ),
    // PostgreSQL refuses a number that is too small for a double, and other readers return 0.
    create(
      'number',
      'double precision',
      `IF given ~ '${PLAIN_NUMBER}' THEN RETURN given::double precision + 0; END IF;
  IF given !~ '${NUMBER}' THEN RETURN NULL; END IF;
  BEGIN RETURN given::double precision + 0; EXCEPTION WHEN data_exception THEN
    RETURN CASE WHEN given ~ '[eE]-' AND length(given) < 300 THEN 0 END; END;`,
    ),
    create(
      'integer',
      'bigint',
      `IF given ~ '${PLAIN_NUMBER}' THEN RETURN given::bigint; END IF;
  BEGIN IF given ~ '${DIGITS}' THEN RETURN given::bigint; END IF;
    IF ${prefix}searchflow_number(given) = trunc(${prefix}searchflow_number(given)) AND abs(${prefix}searchflow_number(given)) < ${EXACT_BELOW}
    THEN RETURN ${prefix}searchflow_number(given)::bigint; END IF;
    RETURN NULL; ${orNull};`,
    ),
  ].join('');
}
