import { cutNesting, nestsDeeper, type Shallow } from '../checks/nesting.js';

/** A parsed JSON body, or the problem of the body: `truncated` where the text ends too early, `unrecognized` where the text is not JSON. */
export type ReadJson =
  | {
      readonly value: unknown;
      /** Set where parts of the answer are nested too deep: the JSON that was parsed instead, in which these parts are strings. */
      readonly cut?: Shallow;
    }
  | {
      readonly kind: 'truncated' | 'unrecognized';
      readonly reason: string;
      /** Whether the transfer was complete. If it was, the server itself sent an incomplete text. */
      readonly whole?: boolean;
    };

/**
 * Parses the body of a success. A text that starts as JSON and ends too early is truncated, even in a framed body: a proxy may
 * frame half an answer. Any other text that is not JSON is `unrecognized`, whatever its content type. `framed`: a header marked
 * the end of the body. An empty body is `unrecognized` if it was framed, otherwise truncated.
 */
export function readJson(bytes: Buffer, framed: boolean): ReadJson {
  const raw = bytes.toString('utf8');
  const text = raw.charCodeAt(0) === 0xfeff ? raw.slice(1) : raw;
  const cut = nestsDeeper(text) ? cutNesting(text) : undefined;
  try {
    if (cut === null) return { kind: 'truncated', reason: 'the answer broke off', whole: framed };
    return cut ? { value: JSON.parse(cut.text), cut } : { value: JSON.parse(text) };
  } catch (error) {
    const trimmed = text.trim();
    if (trimmed === '') return { kind: framed ? 'unrecognized' : 'truncated', reason: 'the answer is empty' };
    if (/^[{[]/.test(trimmed) && endsEarly(trimmed, error))
      return { kind: 'truncated', reason: 'the answer broke off', whole: framed };
    return { kind: 'unrecognized', reason: 'the answer is not JSON' };
  }
}

function endsEarly(text: string, error: unknown): boolean {
  if (!/[}\]]$/.test(text)) return true;
  const message = error instanceof Error ? error.message : '';
  const at = /position (\d+)/.exec(message);
  return at === null ? /\bend\b/.test(message) : Number(at[1]) >= text.length;
}
