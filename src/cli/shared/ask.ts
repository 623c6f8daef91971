import { dollars } from '../../core/text/money.js';
import { type RuntimeConfig, UsageError } from '../../worker/config/runtime-types.js';
import type { Context } from './context.js';

/** Asks a question that is no by default. Never called where nobody can answer: see `Terminal.asks`. */
export async function askYesNo(context: Context, question: string): Promise<boolean> {
  const { confirm } = await import('@clack/prompts');
  const { stdin, stderr } = context.terminal.streams();
  // Anything but a clear yes, such as Ctrl-C, is a no.
  return (await confirm({ message: question, initialValue: false, input: stdin, output: stderr })) === true;
}

/** A purchase that a command is about to make. */
export interface Purchase {
  /** What it may cost, in micro-dollars; null: nobody knows. */
  readonly micros: number | null;
  /** The same as the beginning of a sentence: `This costs about $20.00 of real money`. */
  readonly sentence: string;
  readonly question: string;
  /** `--yes`. */
  readonly yes: boolean;
  /** `--max-cost` with an amount: agreed to without a terminal, too. */
  readonly bounded: boolean;
  /** Whoever has a terminal is asked whatever the amount. */
  readonly always: boolean;
}

/**
 * Whether a purchase is agreed to: by its small amount, by a flag, or by a person. Without a terminal it throws `UsageError` instead of
 * asking. The sandbox costs nothing and never asks.
 */
export async function agreed(
  context: Context,
  { service, askAboveMicros = Number.POSITIVE_INFINITY }: Pick<RuntimeConfig, 'service' | 'askAboveMicros'>,
  { micros, sentence, question, yes, bounded, always }: Purchase,
): Promise<boolean> {
  if (service === 'sandbox' || yes) return true;
  if (!always && micros !== null && micros <= askAboveMicros) return true;
  if (context.terminal.asks) return askYesNo(context, question);
  if (bounded) return true;
  const why = always
    ? ''
    : ` More than ${dollars(askAboveMicros)} (SEARCHFLOW_ASK_ABOVE) is bought only when confirmed.`;
  throw new UsageError(
    `${sentence}, and there is no terminal to confirm it on.${why} Nothing was bought.\n` +
      'Pass --yes to confirm, or --max-cost DOLLARS to set a bound.',
  );
}
