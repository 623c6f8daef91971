import { type AgentRequest, MAX_DURATION_SECONDS, type RunAgentOptions } from '../../core/agent-run.js';
import type { Json } from '../../core/text/json.js';
import { parseDollars } from '../../core/text/money.js';
import { withoutUndefined } from '../../core/text/without-undefined.js';
import type { ConfigFlags } from '../../worker/config/config.js';
import { toContentsOptions } from '../options/contents-flags.js';
import { parseDuration } from '../options/duration-option.js';
import { checkEffort } from '../options/effort-option.js';
import { readObject } from '../options/read-object.js';
import { setOnce } from '../options/set-once.js';

/** Flags of `searchflow agent run`. */
export interface AgentRunFlags extends ConfigFlags {
  readonly schema?: string;
  readonly effort?: string;
  readonly maxCost?: string;
  readonly maxDuration?: string;
  readonly previous?: string;
  readonly request?: string;
  readonly option?: readonly string[];
  readonly rebuy?: boolean;
  readonly deleteAfter?: boolean;
  readonly unchecked?: boolean;
  readonly stream?: boolean;
  readonly yes?: boolean;
  readonly json?: boolean;
}

/** Returns the request and the options that the flags describe; adds a sentence to `mistakes` for each invalid flag. */
export function toAgentRequest(
  query: string | undefined,
  flags: AgentRunFlags,
  cwd: string,
  mistakes: string[],
): { readonly request: AgentRequest; readonly options: RunAgentOptions } {
  const fields = new Map<string, Json>();
  const setters = new Map<string, string>();
  const put = (name: string, value: Json | undefined, flag: string) => {
    if (value === undefined || value === null) return;
    setOnce(setters, name, flag, mistakes);
    fields.set(name, value);
  };
  const file = flags.request === undefined ? null : readObject('--request', flags.request, cwd, mistakes);
  for (const [name, value] of Object.entries(file ?? {})) put(name, value, '--request');
  put('query', query, 'QUERY');
  if (flags.schema !== undefined) put('outputSchema', readObject('--schema', flags.schema, cwd, mistakes), '--schema');
  checkEffort(flags.effort, flags.unchecked, mistakes);
  put('effort', flags.effort, '--effort');
  put('previousRunId', flags.previous, '--previous');
  const others = toContentsOptions(flags.option ? { option: flags.option } : {}, mistakes);
  for (const [name, value] of Object.entries(others)) put(name, value, `--option ${name}`);
  if (!fields.has('query') && (flags.request === undefined || file !== null))
    mistakes.push('Pass a query or --request FILE:\n  searchflow agent run "QUERY"');
  const { maxCostDollars, maxDurationSeconds } = (fields.get('budget') ?? {}) as NonNullable<AgentRequest['budget']>;
  for (const [flag, typed, field] of [
    ['--max-cost', flags.maxCost, maxCostDollars === undefined ? null : 'budget.maxCostDollars'],
    ['--max-duration', flags.maxDuration, maxDurationSeconds === undefined ? null : 'budget.maxDurationSeconds'],
  ] as const)
    if (typed !== undefined && field !== null)
      mistakes.push(`${flag} and ${field} of the request limit the same. Pass one of them.`);
  return {
    request: Object.fromEntries(fields) as AgentRequest & { readonly [name: string]: Json },
    options: toOptions(flags, mistakes),
  };
}

function toOptions(
  { maxCost, maxDuration, rebuy, deleteAfter, unchecked }: AgentRunFlags,
  mistakes: string[],
): RunAgentOptions {
  const micros = maxCost === undefined ? undefined : parseDollars(maxCost);
  if (micros === null) mistakes.push(`--max-cost: '${maxCost}' must be an amount in dollars such as 5 or 0.50.`);
  const ms = maxDuration === undefined ? undefined : parseDuration(maxDuration);
  if (ms === null || (ms !== undefined && (ms === 0 || ms > MAX_DURATION_SECONDS * 1000)))
    mistakes.push(
      `--max-duration: '${maxDuration}' must be a duration such as 20m or 2h, of at most 24d: timers cannot be longer.`,
    );
  return {
    ...(typeof micros === 'number' ? { maxCostDollars: micros / 1e6 } : {}),
    ...(typeof ms === 'number' ? { maxDurationSeconds: ms / 1000 } : {}),
    ...(rebuy ? { refreshAfterMs: 0 } : {}),
    ...withoutUndefined({ deleteAfter, unchecked }),
  };
}
