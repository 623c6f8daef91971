import type { MaxCost } from '../../core/row-job-schemas.js';
import { dollars, toMicros } from '../../core/text/money.js';
import { type RuntimeConfig, UsageError } from '../../worker/config/runtime-types.js';
import type { Context } from './command.js';

/** Asks a yes-or-no question, with no as the default. Requires a terminal: see `Terminal.asks`. */
export async function askYesNo(context: Context, question: string): Promise<boolean> {
  const { confirm } = await import('@clack/prompts');
  const { stdin, stderr } = context.terminal.streams();
  // Ctrl-C returns a symbol, which counts as no.
  return (await confirm({ message: question, initialValue: false, input: stdin, output: stderr })) === true;
}

export interface PlannedPurchase {
  /** Maximum cost in micro-dollars; null if unknown. */
  readonly micros: number | null;
  /** Such as `This costs about $20.00`. */
  readonly sentence: string;
  readonly question: string;
  readonly yes?: boolean | undefined;
  /** `--max-cost`: an amount confirms a purchase even without a terminal. */
  readonly maxCost: MaxCost | null | undefined;
  /** Whether any amount, however small, needs a confirmation on a terminal. */
  readonly always?: boolean;
}

/** Whether any purchase is confirmed before its plan is known. */
export const isAgreed = ({ service }: Pick<RuntimeConfig, 'service'>, { yes }: Pick<PlannedPurchase, 'yes'>): boolean =>
  service === 'sandbox' || yes === true;

/**
 * Returns whether a purchase is confirmed: by its small amount, by a flag or by a person. Throws `UsageError` if a person is
 * needed and cannot be asked. The sandbox is free and needs no confirmation.
 */
export async function agreed(
  context: Context,
  { service, askAboveMicros = Number.POSITIVE_INFINITY }: Pick<RuntimeConfig, 'service' | 'askAboveMicros'>,
  { micros, sentence, question, yes, maxCost, always = false }: PlannedPurchase,
): Promise<boolean> {
  if (isAgreed({ service }, { yes })) return true;
  if (!always && micros !== null && micros <= askAboveMicros) return true;
  if (context.terminal.asks) return askYesNo(context, question);
  if (toMicros(maxCost) !== null) return true;
  const why = always ? '' : ` Purchases above ${dollars(askAboveMicros)} (SEARCHFLOW_ASK_ABOVE) need a confirmation.`;
  throw new UsageError(
    'confirmation-needed',
    `${sentence}, and ${context.terminal.cannotAsk}.${why} Nothing was bought.\n` +
      'Pass --yes to confirm, or --max-cost DOLLARS to set a cap.',
  );
}
