import type { Answer } from '../../api/answer/read-answer.js';
import { rawJson } from '../../api/checks/members.js';
import { misreadText } from '../../api/checks/shape.js';
import type { UnitOutcome } from '../../core/purchase/journal.js';
import type { RawJson } from '../../core/text/json.js';

/** The part of an answer that is kept. */
export type Landing = Pick<UnitOutcome, 'misread'> & { readonly result: RawJson };

/** Returns what is landed of an answer: the whole answer, byte for byte. */
export function landingOf({ raw, misread }: Pick<Answer<unknown>, 'raw' | 'misread'>): Landing {
  return { result: rawJson(raw()), misread: misread.length > 0 ? misreadText(misread) : undefined };
}

/** Returns the results of an answer, each byte for byte. */
export function rawResults({ rawList }: Pick<Answer<unknown>, 'rawList'>): readonly RawJson[] | undefined {
  return rawList('results')?.map(rawJson);
}
