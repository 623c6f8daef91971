import type { CallFacts } from '../purchase/failure.js';
import { hash } from '../text/hash.js';
import { canonicalJson } from '../text/json.js';

/** The names under which the service's lists hold their records. The contract shows `data` only (interface section 4.8). */
export const listNames = ['data', 'items', 'results', 'runs', 'monitors', 'tasks'] as const;

/** The answer of a list operation in any of its envelopes (interface sections 2.6, 2.7, 4.8; public facts 7 to 10). */
export type PageEnvelope<T> = { readonly [Name in (typeof listNames)[number]]?: readonly T[] | null } & {
  readonly hasMore?: boolean | null;
  readonly has_more?: boolean | null;
  readonly nextCursor?: string | null;
  readonly next_cursor?: string | null;
};

/** One page, whichever envelope it came in. `hasMore` is null where the service doesn't say. */
export interface Page<T> {
  readonly items: readonly T[];
  readonly hasMore: boolean | null;
  readonly cursor: string | null;
}

/** Reads a list's answer; `null` where it holds no list at all. */
export function readPage<T>(answer: PageEnvelope<T>): Page<T> | null {
  const name = listNames.find((one) => Array.isArray(answer[one]));
  if (name === undefined) return null;
  return {
    items: answer[name] ?? [],
    hasMore: answer.hasMore ?? answer.has_more ?? null,
    cursor: answer.nextCursor || answer.next_cursor || null,
  };
}

/**
 * Where a walk stands: plain JSON of bounded size, to be kept across continue-as-new and in tables. Hashes stand for what was
 * seen: 53 bits, of which fewer than a hundred are ever compared.
 */
export interface WalkState {
  readonly v: 1;
  /** Of the page to ask for next; null for the first. */
  readonly cursor: string | null;
  readonly done: boolean;
  readonly pages: number;
  readonly items: number;
  /** Empty pages in a row. */
  readonly empty: number;
  /** Hashes of the latest cursors and pages. */
  readonly cursors: readonly number[];
  readonly seen: readonly number[];
  /** One cursor from further back, moved at each power of two: so a circle of any length is found. */
  readonly mark: number | null;
  /** How many walks in a row before this one, each over a part of the one before, ended in a circle; absent: none. */
  readonly circles?: number;
  /** Pages in a row that came before; absent: none. */
  readonly repeats?: number;
}

/** Latest cursors and pages that a new one is compared with. */
const REMEMBERED = 32;
/** An end that never comes is an error too. */
const MAX_EMPTY = 1000;

export type WalkProblem = 'no-list' | 'no-cursor' | 'repeated-cursor' | 'repeated-page' | 'no-end' | 'expired-cursor';

/** A list that can't be walked on. `problem` says why; the message is one sentence with the way out. */
export class WalkError extends Error {
  override readonly name = 'WalkError';
  constructor(
    readonly problem: WalkProblem,
    message: string,
    /** Pages that were read before. */
    readonly pages: number,
    options?: ErrorOptions,
  ) {
    super(`${message} (after ${pages} page(s))`, options);
  }
}

/** Whether the service gave what it gave before. */
export function isCircle(error: unknown): error is WalkError {
  return error instanceof WalkError && (error.problem === 'repeated-cursor' || error.problem === 'repeated-page');
}

/** The state before the first page, or before the page of a cursor that was kept; behind so many walks that ended in a circle. */
export function startWalk(cursor: string | null = null, circles = 0): WalkState {
  const state = { v: 1, cursor, done: false, pages: 0, items: 0, empty: 0, cursors: [], seen: [], mark: null } as const;
  return circles === 0 ? state : { ...state, circles };
}

/** What a page brought, and where the walk stands behind it. */
export interface WalkStep<T> {
  readonly items: readonly T[];
  readonly state: WalkState;
}

/**
 * The pager of every list: takes the answer to a request with `state.cursor`. Pure. An empty page is passed over as long as
 * there is a next one. Throws {@link WalkError} where going on would go in a circle or leave something out.
 */
export function next<T>(state: WalkState, answer: PageEnvelope<T>): WalkStep<T> {
  const page = readPage(answer);
  if (page === null) {
    throw new WalkError('no-list', 'the answer of a list operation holds no list', state.pages);
  }
  const { items } = page;
  const print = items.length === 0 ? null : canonicalJson(items.map(identity));
  return { items, state: advance(state, { ...page, items: items.length, print }) };
}

/** What the pager needs to know of a page: so much is known of one whose records were not parsed, too. */
export interface PageFacts {
  readonly items: number;
  readonly hasMore: boolean | null;
  readonly cursor: string | null;
  /** A text that two pages share only if one repeats the other; null for an empty page. */
  readonly print: string | null;
}

/**
 * The state behind a page, see {@link next}. Of pages that came before, so many in a row are passed over where each leads on to a cursor
 * that did not: none, unless whoever reads them takes each record once.
 */
export function advance(state: WalkState, { items, hasMore, cursor, print }: PageFacts, mayRepeat = 0): WalkState {
  const fail = (problem: WalkProblem, message: string): WalkError => new WalkError(problem, message, state.pages);
  const fingerprint = print === null ? null : hash(print);
  const repeats = fingerprint !== null && state.seen.includes(fingerprint) ? (state.repeats ?? 0) + 1 : 0;
  const done = hasMore === false || (hasMore === null && cursor === null);
  // An end behind a page that was no end before is none either.
  if (repeats > (done || cursor === null ? 0 : mayRepeat)) {
    throw fail('repeated-page', 'the service answered with a page that it gave before; start the walk anew');
  }
  const empty = print === null ? state.empty + 1 : 0;
  const read = { pages: state.pages + 1, items: state.items + items, empty };
  if (done) return { ...state, ...read, cursor: null, done };

  if (cursor === null) throw fail('no-cursor', 'the service says that there is more but gives no cursor to it');
  if (empty > MAX_EMPTY) throw fail('no-end', `the service gave ${empty} empty pages in a row and no end`);
  const asked = state.cursor === null ? [] : [hash(state.cursor)];
  const mark = isPowerOfTwo(read.pages) ? (asked[0] ?? null) : state.mark;
  const cursors = [...state.cursors, ...asked].slice(-REMEMBERED);
  const given = hash(cursor);
  if (cursors.includes(given) || given === mark) {
    throw fail('repeated-cursor', 'the service gave a cursor that it gave before; start the walk anew');
  }
  const seen = fingerprint === null ? state.seen : [...state.seen, fingerprint].slice(-REMEMBERED);
  const { repeats: _, ...others } = state;
  return { ...others, ...read, cursor, done, cursors, seen, mark, ...(repeats > 0 ? { repeats } : {}) };
}

/**
 * Tells a cursor that the service no longer takes from other refusals: the error to throw instead, or `null`. A list without a
 * cursor that is refused is no expired cursor.
 */
export function expiredCursor(
  state: WalkState,
  facts: Pick<CallFacts, 'phase' | 'status'>,
  cause?: Error,
): WalkError | null {
  const refused = facts.phase === 'answer' && (facts.status === 400 || facts.status === 404 || facts.status === 410);
  if (state.cursor === null || !refused) return null;
  const message = `the service refused the cursor of the next page (${facts.status}): it expired, or the list is gone; start the walk anew`;
  return new WalkError('expired-cursor', message, state.pages, cause ? { cause } : undefined);
}

/** What makes a record the same one: its id where it has one. */
function identity(item: unknown): unknown {
  const id: unknown =
    typeof item === 'object' && item !== null ? Object.getOwnPropertyDescriptor(item, 'id')?.value : undefined;
  return typeof id === 'string' || typeof id === 'number' ? id : item;
}

function isPowerOfTwo(count: number): boolean {
  return (count & (count - 1)) === 0;
}
