import { MAX_DURATION_SECONDS } from '../../core/choices.js';
import { estimateAgentRun, pricesAt } from '../../core/purchase/prices.js';
import { jobOfWorkflow } from '../../core/rows/job-names.js';
import type { Json } from '../../core/text/json.js';
import { dollars, parseDollars } from '../../core/text/money.js';
import type { AgentRequest, RunAgentOptions } from '../../core/workflow-input-schemas.js';
import type { AgentRunResult } from '../../core/workflow-result-schemas.js';
import { JobFailed, type RuntimeConfig } from '../../worker/config/runtime-types.js';
import { type AgentRunHandle, agentRunId, startAgentRun, withAgentCalls } from '../../worker/control/agent-control.js';
import { parseDuration } from '../flag-values.js';
import { serviceText } from '../progress/plan.js';
import { follow, ProgressView } from '../progress/progress.js';
import { checkEffort, readObject, setOnce, toContentsOptions } from '../request-fields.js';
import { agreed, type Purchase } from '../shared/ask.js';
import { checkConnection } from '../shared/check-connection.js';
import { type Context, type ExitCode, exitCodes, type Flags } from '../shared/command.js';
import { settings, withRuntime } from '../shared/session.js';
import { endText, eventText, outputText, snapshotText } from './agent.js';

const POLL_MS = 500;
const PAGE = 100;

/** Exit codes by the final status of a run. Any other status is a failure. */
const endCodes: Readonly<Record<string, ExitCode>> = { completed: exitCodes.ok, cancelled: exitCodes.stopped };

type Calls = Parameters<Parameters<typeof withAgentCalls<unknown>>[1]>[0];
type Print = (event: { readonly event?: string | null | undefined; readonly data?: unknown }) => void;

/**
 * `searchflow agent run QUERY`: prints the result of one run. After Ctrl-C the run continues at the service, and the same
 * command attaches to the run.
 */
export async function agentRun(
  context: Context,
  query: string | undefined,
  flags: Flags<'agentRun'>,
): Promise<ExitCode> {
  const { terminal } = context;
  const mistakes: string[] = [];
  const { request, options } = toAgentRequest(query, flags, context.cwd, mistakes);
  const config = settings(context, flags, mistakes);
  return withRuntime(context, config, { sends: true }, async (session) => {
    await checkConnection(config);
    if (!(await agreed(context, config, purchaseOf(request, options, config, flags)))) {
      terminal.say('Nothing was bought.');
      return exitCodes.usage;
    }
    const workflowId = agentRunId(config, request, options);
    const job = jobOfWorkflow(workflowId);
    session.working();
    await session.runtime.work.own({ job, workflowId });
    const access = await session.runtime.workflows();
    const handle = await startAgentRun(access, request, options);
    terminal.note(
      `Agent run on ${serviceText(config)}. After Ctrl-C it continues there; run the same command to attach to it.`,
    );
    const result = await withAgentCalls(access.config, (calls) =>
      watch(context, handle, flags, flags.stream ? calls : null, session.stopped),
    ).catch((error: unknown) => {
      throw error instanceof JobFailed ? new JobFailed(asTyped(error.message), { cause: error }) : error;
    });
    terminal.show('');
    if (flags.json) terminal.data(JSON.stringify(flags.stream ? { kind: 'result', ...result } : result));
    else {
      const output = outputText(result);
      if (output !== '') terminal.data(output);
      terminal.say(endText(result));
    }
    return endCodes[result.status] ?? exitCodes.failed;
  });
}

/**
 * Returns the purchase to confirm. A run that is in progress or was answered before costs nothing, but it is not known yet
 * whether there is such a run.
 */
function purchaseOf(
  request: AgentRequest,
  { maxCostDollars }: RunAgentOptions,
  { prices, maxCostPerJobMicros }: RuntimeConfig,
  { yes = false }: Flags<'agentRun'>,
): Purchase {
  const most = maxCostDollars ?? request.budget?.maxCostDollars;
  const estimate = estimateAgentRun(request.effort ?? undefined, most, pricesAt(Date.now(), prices));
  const micros = Math.min(estimate, maxCostPerJobMicros ?? estimate);
  const cost = `at most ${dollars(micros)}`;
  const question = `Spend ${cost} on this agent run?`;
  return {
    micros,
    sentence: `This costs ${cost}`,
    question,
    yes,
    bounded: maxCostDollars !== undefined,
    always: false,
  };
}

/** Returns the message of a failed workflow with the flag of this command instead of the option of the workflow. */
const asTyped = (message: string): string => message.replace('call it with { refreshAfterMs: 0 }', 'pass --rebuy');

/** Shows the state of the run until it has ended; with `calls`, also prints the events of the run. Returns the result. */
async function watch(
  { terminal }: Context,
  handle: AgentRunHandle,
  { json }: Flags<'agentRun'>,
  calls: Calls | null,
  stopped: AbortSignal,
): Promise<AgentRunResult> {
  const view = new ProgressView(terminal);
  const printNew =
    calls && eventPrinter(calls, (event) => terminal.data(json ? JSON.stringify(event) : eventText(event)));
  const poll = async () => {
    const snapshot = await handle.snapshot();
    return async () => {
      if (snapshot) view.update(snapshotText(snapshot, Date.now()), performance.now());
      if (snapshot?.runId) await printNew?.(snapshot.runId);
      return null;
    };
  };
  const result = await follow({ poll, result: () => handle.result() }, { stopped, everyMs: POLL_MS });
  await printNew?.(result.runId);
  return result;
}

/** Returns a function that prints the new events of a run, each once. It prints nothing if the service keeps none or does not answer. */
function eventPrinter(calls: Calls, print: Print): (id: string) => Promise<void> {
  const shown = new Set<string>();
  let cursor: string | undefined;
  return async (id) => {
    for (;;) {
      const page = await calls.listAgentRunEvents({ id, limit: PAGE, cursor }).then(
        ({ data }) => data,
        () => null,
      );
      for (const event of page?.data ?? []) {
        const name = String(event.id ?? JSON.stringify(event));
        if (!shown.has(name)) print(event);
        shown.add(name);
      }
      if (!page?.nextCursor || page.nextCursor === cursor) return;
      cursor = page.nextCursor;
    }
  };
}

/** Returns the request and the options that the flags describe; adds a sentence to `mistakes` for each invalid flag. */
export function toAgentRequest(
  query: string | undefined,
  flags: Flags<'agentRun'>,
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
  { maxCost, maxDuration, rebuy, deleteAfter, unchecked }: Flags<'agentRun'>,
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
    maxCostDollars: typeof micros === 'number' ? micros / 1e6 : undefined,
    maxDurationSeconds: typeof ms === 'number' ? ms / 1000 : undefined,
    refreshAfterMs: rebuy ? 0 : undefined,
    ...{ deleteAfter, unchecked },
  };
}
