import type { ErrorCode } from '../errors/registry.js';
import type { PauseReason } from '../rows/job-names.js';
import { pauseFacts, pauseReasonOf } from '../rows/pause.js';

/** Exit codes of the command. Scripts rely on these codes: the meaning of a code never changes. */
export const exitCodes = {
  ok: 0,
  failed: 1,
  usage: 2,
  failedRows: 3,
  account: 4,
  budget: 5,
  stopped: 6,
  waiting: 7,
  SIGHUP: 129,
  SIGINT: 130,
  SIGTERM: 143,
} as const;
export type ExitCode = (typeof exitCodes)[keyof typeof exitCodes];

/** The meaning of each code, for `--help` and docs/reference/exit-codes.md. */
export const exitCodeMeanings: readonly (readonly [code: ExitCode, meaning: string])[] = [
  [exitCodes.ok, 'done; some rows may have failed (see code 3)'],
  [exitCodes.failed, 'failed'],
  [exitCodes.usage, 'wrong usage, wrong input, or not confirmed; nothing was bought'],
  [exitCodes.failedRows, 'done, with more failed rows than --fail-on-failed-rows allows'],
  [exitCodes.account, 'paused or refused: API key or credits (401, 402, 403)'],
  [exitCodes.budget, 'paused or refused: budget (--max-cost, limits set, maxCostPerJob)'],
  [exitCodes.stopped, 'paused, stopped or cancelled for another reason'],
  [exitCodes.waiting, '`wait`: --timeout expired before the job ended'],
  [exitCodes.SIGHUP, 'ended by SIGHUP'],
  [exitCodes.SIGINT, 'ended by SIGINT (Ctrl-C)'],
  [exitCodes.SIGTERM, 'ended by SIGTERM'],
];

/** Returns the exit code of a pause or stop. `reason`: null or undefined if unknown. */
export function exitCodeOfPause(reason: PauseReason | null | undefined): ExitCode {
  return exitCodes[(reason && pauseFacts[reason].exit) ?? 'stopped'];
}

/** Errors of an outage: nothing is wrong with the command or its settings, so schedulers retry the command. */
const outages: readonly ErrorCode[] = ['postgres-unreachable', 'source-unreachable'];

export const exitCodeOfUsage = (code: ErrorCode): ExitCode =>
  outages.includes(code) ? exitCodes.failed : exitCodes.usage;

/** Maximum number of causes that are read; a chain of causes may be circular. */
const MAX_CAUSES = 10;

/** Returns the exit code of a failure. The first known error in the chain of causes decides. */
export function exitCodeOfFailure(error: unknown): ExitCode {
  let cause = error;
  for (let depth = 0; cause instanceof Error && depth < MAX_CAUSES; depth++) {
    if (cause.name === 'CancelledFailure' || cause.name === 'TerminatedFailure') return exitCodes.stopped;
    // A Temporal failure has a type, an `ApiError` a verdict.
    const { type, verdict, facts } = cause as {
      readonly type?: unknown;
      readonly verdict?: { readonly type?: unknown };
      readonly facts?: { readonly phase?: unknown };
    };
    // The request was not sent, because the service would refuse it.
    if (facts?.phase === 'refused') return exitCodes.usage;
    const reason = pauseReasonOf(type) ?? pauseReasonOf(verdict?.type);
    if (reason) return exitCodeOfPause(reason);
    cause = cause.cause;
  }
  return exitCodes.failed;
}
