import { MAX_DURATION_SECONDS } from '../../core/choices.js';
import { estimateAgentRun, pricesAt } from '../../core/purchase/prices.js';
import { jobOfWorkflow } from '../../core/rows/job-ids.js';
import type { Json } from '../../core/text/json.js';
import { dollars } from '../../core/text/money.js';
import type { AgentRequest, RunAgentOptions } from '../../core/workflow-input-schemas.js';
import type { AgentRunResult } from '../../core/workflow-result-schemas.js';
import { JobFailed, type RuntimeConfig } from '../../worker/config/runtime-types.js';
import { type AgentRunHandle, agentRunId, startAgentRun, withAgentCalls } from '../../worker/control/agent-control.js';
import { readAll, refuse, toAmount, toDuration } from '../flag-values.js';
import { serviceText } from '../progress/plan.js';
import { follow, ProgressView } from '../progress/progress.js';
import {
  fieldsOf,
  objectOf,
  readEffort,
  readObject,
  type SetField,
  setTwice,
  toContentsOptions,
} from '../request-fields.js';
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
  const { asked, mistakes } = readAll({ asked: () => toAgentRequest(query, flags, context.cwd) });
  const config = settings(context, flags, mistakes);
  const { request, options } = asked;
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

const LONGEST = '20m or 2h, of at most 24d: timers cannot be longer';

/** Returns the request and the options that the flags describe. */
export function toAgentRequest(
  query: string | undefined,
  flags: Flags<'agentRun'>,
  cwd: string,
): { readonly request: AgentRequest; readonly options: RunAgentOptions } {
  const read = readAll({
    file: () => (flags.request === undefined ? {} : readObject('--request', flags.request, cwd)),
    schema: () => (flags.schema === undefined ? undefined : readObject('--schema', flags.schema, cwd)),
    effort: () => readEffort(flags.effort, flags.unchecked),
    others: () => toContentsOptions({ option: flags.option }),
    maxCostDollars: () => toAmount('--max-cost', flags.maxCost),
    maxMs: () => toDuration('--max-duration', flags.maxDuration, LONGEST, [1, MAX_DURATION_SECONDS * 1000]),
  });
  const { maxCostDollars, maxMs, mistakes } = read;
  const fields: readonly SetField[] = [
    ...fieldsOf(read.file, () => '--request').filter(([, value]) => value !== null),
    ['query', query, 'QUERY'],
    ['outputSchema', read.schema, '--schema'],
    ['effort', read.effort, '--effort'],
    ['previousRunId', flags.previous, '--previous'],
    ...fieldsOf(read.others, (name) => `--option ${name}`),
  ];
  const request = objectOf(fields) as AgentRequest & { readonly [name: string]: Json };
  if (request.query === undefined && (flags.request === undefined || read.file))
    mistakes.push('Pass a query or --request FILE:\n  searchflow agent run "QUERY"');
  const { budget } = request;
  if (flags.maxCost !== undefined && budget?.maxCostDollars !== undefined)
    mistakes.push('--max-cost and budget.maxCostDollars of the request limit the same. Pass one of them.');
  if (flags.maxDuration !== undefined && budget?.maxDurationSeconds !== undefined)
    mistakes.push('--max-duration and budget.maxDurationSeconds of the request limit the same. Pass one of them.');
  refuse(...setTwice(fields), ...mistakes);
  const { rebuy, deleteAfter, unchecked } = flags;
  const maxDurationSeconds = maxMs && maxMs / 1000;
  const refreshAfterMs = rebuy ? 0 : undefined;
  return { request, options: { maxCostDollars, maxDurationSeconds, refreshAfterMs, deleteAfter, unchecked } };
}
