import { DIGITS, NUMBER, TIME, ZONE } from '../../core/text/value-forms.js';
import { literal } from './duckdb-quote.js';

/** From this size on, a double may stand for another whole number, or for one with a fraction. */
export const EXACT_BELOW = 2 ** 53;

/**
 * DuckDB's expression of a text as a value of a type; NULL if the text does not fit. Other types than these are texts. PostgreSQL's functions (`readers`) return the same values. The zone of
 * the session has no effect, because a person may read a view in any session.
 */
export function typedValue(text: string, type: string): string {
  const has = (form: string) => `regexp_matches(${text}, ${literal(form)})`;
  const number = `CASE WHEN ${has(NUMBER)} AND isfinite(TRY_CAST(${text} AS DOUBLE)) THEN TRY_CAST(${text} AS DOUBLE) + 0 END`;
  switch (type) {
    case 'number':
      return number;
    case 'integer':
      return `CASE WHEN ${has(DIGITS)} THEN TRY_CAST(${text} AS BIGINT) WHEN ${number} = trunc(${number}) AND abs(${number}) < ${EXACT_BELOW} THEN TRY_CAST(${number} AS BIGINT) END`;
    case 'date':
      return `CASE WHEN ${has(TIME)} THEN TRY_CAST(left(${text}, 10) AS DATE) END`;
    case 'boolean':
      return `CASE ${text} WHEN 'true' THEN true WHEN 'false' THEN false END`;
    case 'time': {
      // DuckDB reads no zone after a time without seconds, and no lower case.
      const zoned = `regexp_replace(upper(${text}), '([T ][0-9]{2}:[0-9]{2})([Z+-])', '\\1:00\\2')`;
      return `CASE WHEN ${has(TIME)} THEN CASE WHEN length(${text}) > 10 AND ${has(ZONE)}
        THEN make_timestamp(epoch_us(TRY_CAST(${zoned} AS TIMESTAMPTZ))) ELSE TRY_CAST(upper(${text}) AS TIMESTAMP) END END`;
    }
    default:
      return text;
  }
}
