import { listNames, oddEnd, type PageEnvelope, readPage } from '../../core/events/page.js';
import { membersOf } from '../checks/members.js';
import { hasKnownField } from '../checks/shape.js';
import { type AnswerHeaders, type Arrived, unusable } from '../wire/call-failure.js';
import type { Endpoint } from '../wire/endpoint.js';
import { isFramed, wholeBody } from './read-answer.js';
import { readJson } from './read-json.js';

/** A page of a list with unparsed records. */
export interface RawList extends AnswerHeaders {
  /** The records: a JSON list, byte for byte. */
  readonly items: Uint8Array;
  /** Null where the answer lacks this field. */
  readonly hasMore: boolean | null;
  readonly cursor: string | null;
  /** Size of the decompressed body. */
  readonly bytes: number;
}

/** Number of bytes at the end of an answer in which the cursor is looked for. */
const TAIL = 4096;
const head = /^\s*\{\s*"data"\s*:\s*(?=\[)/;
const text = '"(?:[^"\\\\]|\\\\.)*"';
const hasMore = '"hasMore"\\s*:\\s*(true|false)';
const nextCursor = `"nextCursor"\\s*:\\s*(null|${text})`;
const ends = [
  { form: new RegExp(`\\](\\s*,\\s*${hasMore}\\s*,\\s*${nextCursor}\\s*\\}\\s*)$`), more: 2, cursor: 3 },
  { form: new RegExp(`\\](\\s*,\\s*${nextCursor}\\s*,\\s*${hasMore}\\s*\\}\\s*)$`), more: 3, cursor: 2 },
];

type Cut = Pick<RawList, 'items' | 'hasMore' | 'cursor'>;

/**
 * Reads a page of a list without parsing its records. In an answer of the contract's form (API reference: /websets/v0/events),
 * only the text before and after the list is read. Any other answer is split into its members; with `careful`, every answer is.
 */
export async function readRawList<I, O>(
  endpoint: Endpoint<I, O>,
  arrived: Arrived,
  { maxBytes, careful }: { readonly maxBytes: number; readonly careful: boolean },
): Promise<RawList> {
  const body = await wholeBody(arrived, maxBytes);
  const cut = (careful ? null : cutByEnds(body)) ?? cutByMembers(body);
  if (cut && 'field' in cut) {
    const reason = `the answer has the wrong shape: ${cut.field}: ${cut.message}`;
    throw unusable(arrived, { kind: 'wrongShape', reason, kept: body });
  }
  if (cut) return { ...arrived.answerHeaders, ...cut, bytes: body.length };
  const read = readJson(body, isFramed(arrived.received));
  if (!('value' in read)) throw unusable(arrived, { ...read, kept: body });
  if (!hasKnownField(endpoint.response, read.value)) {
    const reason = `the answer has no known field of ${endpoint.name}`;
    throw unusable(arrived, { kind: 'unrecognized', reason, kept: body });
  }
  const reason = `the answer has the wrong shape: a list was expected in data`;
  throw unusable(arrived, { kind: 'wrongShape', reason, kept: body });
}

/**
 * Returns the list in an answer of the contract's form by reading only the text before and after the list. Returns null for an
 * answer of another form. The function does not check that the answer is JSON with three members.
 */
function cutByEnds(body: Buffer): Cut | null {
  const start = head.exec(body.toString('latin1', 0, 100))?.[0].length;
  if (start === undefined) return null;
  const tail = body.toString('utf8', Math.max(0, body.length - TAIL));
  for (const { form, more, cursor } of ends) {
    const found = form.exec(tail);
    if (!found) continue;
    const end = body.length - Buffer.byteLength(found[1] as string);
    return {
      items: body.subarray(start, end),
      hasMore: found[more] === 'true',
      cursor: (JSON.parse(found[cursor] as string) as string | null) || null,
    };
  }
  return null;
}

/** Returns the list in an answer of any envelope; the field of its end that cannot be read; null where it has no list. */
function cutByMembers(body: Buffer): Cut | ReturnType<typeof oddEnd> {
  const members = membersOf(body);
  const name = listNames.find((one) => members?.get(one)?.[0] === 0x5b);
  const items = name === undefined ? undefined : members?.get(name);
  if (!members || !items) return null;
  const ends = ['hasMore', 'has_more', 'nextCursor', 'next_cursor'].map((one) => {
    const json = members.get(one);
    const read = json && readJson(Buffer.from(json), true);
    return [one, read && 'value' in read ? read.value : null] as const;
  });
  const page: PageEnvelope<never> = { data: [], ...Object.fromEntries(ends) };
  const { hasMore, cursor } = readPage(page) as NonNullable<ReturnType<typeof readPage>>;
  return oddEnd(page) ?? { items, hasMore, cursor };
}
