import { ActivityFailure, ApplicationFailure, CancellationScope, condition, proxySinks } from '@temporalio/workflow';
import { BUDGET_EXCEEDED } from '../../core/choices.js';
import type { RowError, RowResult } from '../../core/enrich-rows-schemas.js';
import type { RowsBought } from '../../core/rows/enrich-rows.js';
import type { WorkflowSinks } from '../../core/rows/job-names.js';
import { dollars, toMicros } from '../../core/text/money.js';

const { searchflow } = proxySinks<WorkflowSinks>();

/** The money of one call, in micro-dollars, and why it ended early. */
export interface RowMoney {
  spentMicros: number;
  /** The cap, less what requests without an answer may have cost; null: no cap. */
  capMicros: number | null;
  unknownOutcomes: number;
  stopped: RowError | null;
  /** Answers so far that were paid, and the most that one has cost. */
  readonly seen: { answers: number; micros: number };
}

/** After so many answers their costs count in place of the estimate, which is the most that a request may cost. */
const PROVEN = 20;

/** How the rows of a batch are bought. */
export interface PieceRules {
  /** Rows of the next activity; 0: it waits for those in progress. */
  size(inProgress: number): number;
  /** Activities in progress at once. */
  readonly atOnce: number;
  /** The most that one row may cost, in micro-dollars; null: the record of the worker holds the cap. */
  readonly mostMicros: number | null;
  /** Whether no activity starts beside those in progress. */
  isFull(inProgress: number): boolean;
  /** Buys rows with one activity. `isLast`: no other rows wait. `isPaid`: see `RowsPiece`. */
  buy(rows: readonly number[], since: number, isLast: boolean, isPaid: boolean): Promise<RowsBought>;
  /** What the call paid for each row, in dollars. */
  readonly paid: Map<number, number>;
  keep(row: number, result: RowResult): void;
}

/**
 * Buys rows in pieces, in their order, several at once and within the cap. Returns the rows whose failure was free and may pass. A failure that
 * no retry helps ends the call, and is its `stopped`. Rejects only if the workflow is cancelled, after all that was sent has come back.
 */
export async function buyInPieces(
  rules: PieceRules,
  money: RowMoney,
  rows: readonly number[],
  since: number,
): Promise<readonly number[]> {
  const queue = rows.length > 0 ? [rows] : [];
  const again: number[] = [];
  const { seen } = money;
  const running = new Map<Promise<void>, number>();
  /** Rows whose paid answers are gone with their worker. */
  const gone = new Set<number>();
  const isPaid = (row: number) => rules.mostMicros !== null && rules.paid.has(row) && !gone.has(row);
  const mostMicros = () => (rules.mostMicros !== null && seen.answers >= PROVEN ? seen.micros : rules.mostMicros);
  let cancelled: unknown = null;

  const run = async (piece: readonly number[]) => {
    try {
      const wasPaid = piece.every(isPaid);
      const bought = await rules.buy(piece, since, queue.length === 0, wasPaid);
      const { length } = bought.results;
      if (wasPaid && length === 0) for (const row of piece) gone.add(row);
      for (const [nth, row] of piece.entries()) {
        const result = bought.results[nth];
        const dollars = result?.costDollars ?? bought.costs[nth - length] ?? 0;
        const costDollars = dollars + (rules.paid.get(row) ?? 0);
        if (costDollars > 0) rules.paid.set(row, costDollars);
        if (result) rules.keep(row, { ...result, costDollars });
        const micros = microsOf(dollars);
        money.spentMicros += micros;
        if (micros > 0) seen.answers++;
        seen.micros = Math.max(seen.micros, micros);
      }
      money.unknownOutcomes += bought.unknownOutcomes;
      if (money.capMicros !== null) money.capMicros -= bought.unknownOutcomes * piece.length * (mostMicros() ?? 0);
      money.stopped ??= bought.stopped;
      again.push(...bought.again);
      if (length < piece.length) queue.unshift(piece.slice(length));
    } catch (error) {
      const cause = causeOf(error);
      if (cause) money.stopped ??= { tag: cause.type ?? 'Error', message: cause.message };
      else cancelled ??= error;
    }
  };
  const start = (piece: readonly number[]) => {
    const work = run(piece).finally(() => void running.delete(work));
    running.set(work, isPaid(piece[0] as number) ? 0 : piece.length * (mostMicros() ?? 0));
  };
  /** Takes the next piece, as large as the cap allows. Null: a piece in progress must end first, or no piece follows. */
  const take = (): readonly number[] | null => {
    const [piece] = queue;
    if (!piece || running.size >= rules.atOnce || cancelled || money.stopped || rules.isFull(running.size)) return null;
    const { capMicros, spentMicros } = money;
    // Paid rows come alone, and need no money.
    const unpaid = piece.findIndex((row) => !isPaid(row));
    const ofRow = unpaid === 0 ? mostMicros() : null;
    const open = [...running.values()].reduce((sum, micros) => sum + micros, 0);
    const allowed =
      ofRow && capMicros !== null ? Math.floor((capMicros - spentMicros - open) / ofRow) : Number.POSITIVE_INFINITY;
    const wanted = Math.min(unpaid > 0 ? unpaid : piece.length, rules.size(running.size));
    if (wanted === 0 || (allowed < wanted && running.size > 0)) return null;
    if (allowed <= 0) {
      const lost = ' is spent, and requests without an answer may have been charged';
      const used = money.unknownOutcomes > 0 ? lost : ` of ${dollars(capMicros as number)} is spent`;
      const message = `the cap of the call allows no further row: ${dollars(spentMicros)}${used}`;
      money.stopped = { tag: BUDGET_EXCEEDED, message };
      return null;
    }
    const count = Math.min(wanted, allowed);
    if (count === piece.length) queue.shift();
    else queue[0] = piece.slice(count);
    return piece.slice(0, count);
  };

  try {
    for (;;) {
      for (let piece = take(); piece !== null; piece = take()) start(piece);
      const { size } = running;
      if (size === 0) break;
      await condition(() => running.size < size);
    }
  } finally {
    // If only this call is cancelled, other calls of the workflow continue.
    if (isWhole(CancellationScope.current())) searchflow.interrupt();
    // What is paid must reach the history before the workflow ends.
    await CancellationScope.nonCancellable(() => Promise.all(running.keys()));
  }
  if (cancelled) throw cancelled;
  return again;
}

/** Whether the cancel of a scope is that of the whole workflow. */
const isWhole = ({ parent, consideredCancelled }: CancellationScope): boolean =>
  parent ? isWhole(parent) : consideredCancelled;

/** The failure of an activity; null for another error, such as a cancellation. */
export const causeOf = (error: unknown): ApplicationFailure | null =>
  error instanceof ActivityFailure && error.cause instanceof ApplicationFailure ? error.cause : null;

/** An amount of dollars in micro-dollars; 0 for an invalid amount. */
export const microsOf = (dollars: number): number => toMicros(dollars) ?? 0;
