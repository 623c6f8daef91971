import type { Answer } from '../../api/answer/read-answer.js';
import { elementsOf, membersOf, rawJson } from '../../api/checks/members.js';
import { misreadText } from '../../api/checks/shape.js';
import type { UnitOutcome } from '../../core/purchase/journal.js';
import type { RawJson } from '../../core/text/json.js';

/** What of an answer is kept. */
export type Landing = Pick<UnitOutcome, 'misread'> & { readonly result: RawJson };

/** What of the answer to a whole request is kept: all of it, as it came. */
export function landingOf({ raw, misread }: Pick<Answer<unknown>, 'raw' | 'misread'>): Landing {
  return { result: rawJson(raw()), ...(misread.length > 0 ? { misread: misreadText(misread) } : {}) };
}

/** Each result of an answer as it came. */
export function rawResults({ raw }: Pick<Answer<unknown>, 'raw'>): readonly RawJson[] | undefined {
  const results = membersOf(raw())?.get('results');
  return results && elementsOf(results)?.map(rawJson);
}
