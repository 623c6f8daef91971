import { Secret } from '../../core/connections/secret.js';
import type { Json } from '../../core/text/json.js';

/** Returns an answer without the secrets in it, at any depth. Only this form may be kept in the journal and in Temporal's history. */
export function redactAnswer(answer: unknown, names: readonly string[] = []): Json {
  if (names.length === 0 || answer === null || typeof answer !== 'object') return answer as Json;
  if (Array.isArray(answer)) return answer.map((item) => redactAnswer(item, names));
  const fields = Object.entries(answer).filter(([name, value]) => !names.includes(name) && !(value instanceof Secret));
  return Object.fromEntries(fields.map(([name, value]) => [name, redactAnswer(value, names)]));
}
