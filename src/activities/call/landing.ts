import type { Answer } from '../../api/answer/read-answer.js';
import { rawJson } from '../../api/checks/members.js';
import { misreadText } from '../../api/checks/shape.js';
import { Secret } from '../../core/connections/secret.js';
import type { UnitOutcome } from '../../core/purchase/journal.js';
import type { Json, RawJson } from '../../core/text/json.js';

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

/** Returns an answer without the secrets in it, at any depth. Only this form may be kept in the journal and in Temporal's history. */
export function redactAnswer(answer: unknown, names: readonly string[] = []): Json {
  if (names.length === 0 || answer === null || typeof answer !== 'object') return answer as Json;
  if (Array.isArray(answer)) return answer.map((item) => redactAnswer(item, names));
  const fields = Object.entries(answer).filter(([name, value]) => !names.includes(name) && !(value instanceof Secret));
  return Object.fromEntries(fields.map(([name, value]) => [name, redactAnswer(value, names)]));
}
