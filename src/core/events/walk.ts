import type { ErrorCode } from '../errors/registry.js';
import type { CallFacts } from '../purchase/failure.js';
import { canonicalJson } from '../text/json.js';
import { type PageEnvelope, readPage } from './page.js';

/**
 * The state of a walk: plain JSON of bounded size, kept across continue-as-new and in tables. Hashes of 53 bits stand for earlier cursors
 * and pages; fewer than a hundred hashes are compared.
 */
export interface WalkState {
  readonly v: 1;
  /** The cursor of the next page; null for the first. */
  readonly cursor: string | null;
  readonly done: boolean;
  readonly pages: number;
  readonly items: number;
  /** Consecutive empty pages. */
  readonly empty: number;
  /** Hashes of the latest cursors and pages. */
  readonly cursors: readonly number[];
  readonly seen: readonly number[];
  /** One earlier cursor, replaced after 1, 2, 4, 8 … pages, so that a loop of any length is found. */
  readonly mark: number | null;
  /** The number of consecutive pagination loops before this walk. After each loop, a part of the range is walked again. Absent: none. */
  readonly circles?: number;
  /** The number of consecutive repeated pages; absent: none. */
  readonly repeats?: number;
}

/** The number of latest cursors and pages that a new cursor or page is compared with. */
const REMEMBERED = 32;
/** Consecutive empty pages after which the walk fails. */
const MAX_EMPTY = 1000;

export type WalkProblem = 'no-list' | 'no-cursor' | 'repeated-cursor' | 'repeated-page' | 'no-end' | 'expired-cursor';

/** The walk of a list cannot continue. `problem` is the reason; the message is one sentence that says what to do. */
export class WalkError extends Error {
  override readonly name = 'WalkError';
  readonly errorCode = 'pagination-broken' satisfies ErrorCode;
  constructor(
    readonly problem: WalkProblem,
    message: string,
    /** Number of pages that were read before the failure. */
    readonly pages: number,
    options?: ErrorOptions,
  ) {
    super(`${message} (after ${pages} page(s))`, options);
  }
}

/** Whether the service repeats earlier cursors or pages. */
export function isCircle(error: unknown): error is WalkError {
  return error instanceof WalkError && (error.problem === 'repeated-cursor' || error.problem === 'repeated-page');
}

/** Returns the state before a page: the first page, or the page of a stored cursor. `circles`: see {@link WalkState}. */
export function startWalk(cursor: string | null = null, circles = 0): WalkState {
  const state = { v: 1, cursor, done: false, pages: 0, items: 0, empty: 0, cursors: [], seen: [], mark: null } as const;
  return circles === 0 ? state : { ...state, circles };
}

/** The items of a page, and the state of the walk after the page. */
export interface WalkStep<T> {
  readonly items: readonly T[];
  readonly state: WalkState;
}

/**
 * Reads the answer to the request with `state.cursor`; every list is read with this function. Pure. An empty page that has a next page does
 * not end the walk. Throws {@link WalkError} if the next step would repeat or skip pages.
 */
export function next<T>(state: WalkState, answer: PageEnvelope<T>): WalkStep<T> {
  const page = readPage(answer);
  if (page === null) throw new WalkError('no-list', 'the answer of a list operation has no list', state.pages);
  const { items } = page;
  const print = items.length === 0 ? null : canonicalJson(items.map(identity));
  return { items, state: advance(state, { ...page, items: items.length, print }) };
}

/** The facts of a page that the pager needs. All are known without parsing the records. */
export interface PageFacts {
  readonly items: number;
  readonly hasMore: boolean | null;
  readonly cursor: string | null;
  /** A text that two pages share only if one repeats the other; null for an empty page. */
  readonly print: string | null;
}

/**
 * Returns the state after a page, see {@link next}. Up to `mayRepeat` consecutive repeated pages are accepted if each has a new cursor. The
 * default is 0, because not every reader ignores repeated records.
 */
export function advance(state: WalkState, { items, hasMore, cursor, print }: PageFacts, mayRepeat = 0): WalkState {
  const fail = (problem: WalkProblem, message: string): WalkError => new WalkError(problem, message, state.pages);
  const fingerprint = print === null ? null : hash(print);
  const repeats = fingerprint !== null && state.seen.includes(fingerprint) ? (state.repeats ?? 0) + 1 : 0;
  const done = hasMore === false || (hasMore === null && cursor === null);
  // A repeated page that now claims to be the last page does not end the list.
  if (repeats > (done || cursor === null ? 0 : mayRepeat))
    throw fail('repeated-page', 'the service returned a page that it had returned before; start the walk again');
  const empty = print === null ? state.empty + 1 : 0;
  const read = { pages: state.pages + 1, items: state.items + items, empty };
  if (done) return { ...state, ...read, cursor: null, done };

  if (cursor === null) throw fail('no-cursor', 'the service reports more records but gives no cursor for them');
  if (empty > MAX_EMPTY) throw fail('no-end', `the service returned ${empty} empty pages in a row and no end`);
  const asked = state.cursor === null ? [] : [hash(state.cursor)];
  const mark = isPowerOfTwo(read.pages) ? (asked[0] ?? null) : state.mark;
  const cursors = [...state.cursors, ...asked].slice(-REMEMBERED);
  const fresh = hash(cursor);
  if (cursors.includes(fresh) || fresh === mark)
    throw fail('repeated-cursor', 'the service returned a cursor that it had returned before; start the walk again');
  const seen = fingerprint === null ? state.seen : [...state.seen, fingerprint].slice(-REMEMBERED);
  return { ...state, ...read, cursor, done, cursors, seen, mark, repeats: repeats > 0 ? repeats : undefined };
}

/**
 * Returns the error for a cursor that the service no longer accepts; `null` for any other refusal. The refusal of a request without a
 * cursor is never an expired cursor.
 */
export function expiredCursor(
  state: WalkState,
  facts: Pick<CallFacts, 'phase' | 'status' | 'unrecognized'>,
  cause?: Error,
): WalkError | null {
  const refused = facts.phase === 'answer' && (facts.status === 400 || facts.status === 404 || facts.status === 410);
  if (state.cursor === null || !refused || facts.unrecognized) return null;
  const message = `the service refused the cursor of the next page (${facts.status}): it has expired, or the list is gone; start the walk again`;
  return new WalkError('expired-cursor', message, state.pages, cause ? { cause } : undefined);
}

/** The identity of a record: its id, or the record itself if it has no id. */
function identity(item: unknown): unknown {
  const id: unknown =
    typeof item === 'object' && item !== null ? Object.getOwnPropertyDescriptor(item, 'id')?.value : undefined;
  return typeof id === 'string' || typeof id === 'number' ? id : item;
}

function isPowerOfTwo(count: number): boolean {
  return (count & (count - 1)) === 0;
}

/** A 53-bit hash (cyrb53), because core has no `crypto`. Not for security: collisions can be constructed. */
function hash(text: string): number {
  let a = 0xdeadbeef;
  let b = 0x41c6ce57;
  for (let index = 0; index < text.length; index++) {
    const code = text.charCodeAt(index);
    a = Math.imul(a ^ code, 2654435761);
    b = Math.imul(b ^ code, 1597334677);
  }
  a = Math.imul(a ^ (a >>> 16), 2246822507) ^ Math.imul(b ^ (b >>> 13), 3266489909);
  b = Math.imul(b ^ (b >>> 16), 2246822507) ^ Math.imul(a ^ (a >>> 13), 3266489909);
  return 4294967296 * (2097151 & b) + (a >>> 0);
}
