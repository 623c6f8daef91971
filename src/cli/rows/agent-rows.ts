import type { Context, ExitCode } from '../shared/context.js';
import { type EnrichCommandFlags, enrich } from './enrich.js';

/** `searchflow agent rows FILE`: `enrich` with `--op agent`. */
export function agentRows(context: Context, file: string | undefined, flags: EnrichCommandFlags): Promise<ExitCode> {
  return enrich(context, file, { ...flags, op: 'agent' });
}
