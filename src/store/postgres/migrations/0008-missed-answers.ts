import type { Migration } from '../../../postgres/index.js';

/** If a text came instead of an answer, the text is kept with the purchase. Older workers call `miss` without that text. */
export const missedAnswers: Migration = {
  name: '0008-missed-answers',
  sql: (schema) => `
ALTER TABLE ${schema}.purchases ADD COLUMN came text;
COMMENT ON COLUMN ${schema}.purchases.came IS 'Text that came instead of an answer, at most 64 KiB';

CREATE FUNCTION ${schema}.miss(p_id uuid, p_reason text, p_maybe boolean, p_came text) RETURNS void
LANGUAGE plpgsql SET enable_seqscan TO off AS $body$
BEGIN
  PERFORM ${schema}.miss(p_id, p_reason, p_maybe);
  IF p_came IS NOT NULL THEN UPDATE ${schema}.purchases SET came = p_came WHERE id = p_id; END IF;
END $body$;
`,
};
