import type { Output } from '../api/command-outputs.js';
import { estimateAgentRun, pricesAt } from '../core/purchase/prices.js';
import { jobOfWorkflow } from '../core/rows/job-ids.js';
import type { Json } from '../core/text/json.js';
import { dollars } from '../core/text/money.js';
import type { AgentRequest, RunAgentOptions } from '../core/workflow-input-schemas.js';
import type { AgentRunResult, AgentRunSync, RunSnapshot } from '../core/workflow-result-schemas.js';
import type { RuntimeConfig, WorkflowAccess } from '../worker/config/runtime-types.js';
import type { AgentRunHandle } from '../worker/control/event-control.js';
import type { FreeCall } from '../worker/control/free-calls.js';
import { readAll, refuse } from './flag-values.js';
import { serviceText } from './progress/plan.js';
import { follow, ProgressView } from './progress/progress.js';
import { objectOf, ofRequest, readEffort, type SetField, setTwice } from './request-fields.js';
import { keepSchedule, toScheduleWish } from './schedules.js';
import { agreed, type PlannedPurchase } from './shared/ask.js';
import { checkConnection } from './shared/check-connection.js';
import { type Context, type ExitCode, exitCodes, type Flags } from './shared/command.js';
import { type Session, settings, withRuntime } from './shared/session.js';
import { withAccess, withCalls } from './shared/with-access.js';
import { columns, duration, lines, printable, printableLines, some } from './text.js';

/** The amount as the service reports it, with all its decimals. */
const reported = (amount: number): string => `$${amount}`;

export function snapshotText(snapshot: RunSnapshot, now: number): string {
  if (snapshot.runId === null) return `waiting for ${printable(snapshot.waitingFor ?? 'the run to start')}`;
  return [
    `${printable(snapshot.runId)}: ${printable(snapshot.status ?? 'running')}`,
    ...(snapshot.startedAt === null ? [] : [duration((now - snapshot.startedAt) / 1000)]),
    ...(snapshot.events === null ? [] : [`${snapshot.events} events`]),
    ...(snapshot.costDollars ? [`${reported(snapshot.costDollars)} so far`] : []),
  ].join(', ');
}

export function endText(result: AgentRunResult): string {
  const { runId, status, stopReason, costDollars, requests, error, leftOutBytes, landed } = result;
  const why = stopReason === null ? '' : ` (${printable(stopReason)})`;
  const bought = requests.some((request) => request.bought);
  return lines(
    `${printable(runId)}: ${printable(status)}${why}; ${bought ? '' : 'paid earlier, '}${reported(costDollars)}.`,
    error !== null && printable(JSON.stringify(error)),
    leftOutBytes !== null &&
      `The output is too large to print (${leftOutBytes} bytes). It is in the journal as ${landed.join(', ')}.`,
  );
}

export function outputText({ text, structured, grounding }: AgentRunResult): string {
  const sources = new Set(grounding.flatMap(urlsOf));
  return [
    ...(text ? [printableLines(text)] : []),
    ...(structured === null ? [] : [printableLines(JSON.stringify(structured, null, 2))]),
    ...(sources.size > 0 ? [['Sources:', ...[...sources].map((url) => `  ${printable(url)}`)].join('\n')] : []),
  ].join('\n\n');
}

function urlsOf(grounding: Json): string[] {
  const { citations } = grounding as { readonly citations?: readonly { readonly url?: unknown }[] | null };
  return (citations ?? []).flatMap(({ url }) => (typeof url === 'string' ? [url] : []));
}

type RunEvent = { readonly event?: string | null | undefined; readonly data?: unknown };

export function eventText(event: RunEvent): string {
  const data = event.data === undefined ? '' : ` ${JSON.stringify(event.data)}`;
  return printable(`${event.event ?? 'event'}${data}`, 160);
}

export function runsText(runs: Output<'agentRuns'>): string {
  if (runs.length === 0) return 'No agent runs.';
  return columns([
    ['id', 'status', 'cost', 'started', 'query'],
    ...runs.map(({ id, status, createdAt, request, costDollars }) => [
      printable(id),
      printable(status ?? '?'),
      reported(costDollars?.total ?? 0),
      printable(createdAt ?? '?'),
      printable(String(request?.query ?? '?'), 60),
    ]),
  ]).join('\n');
}

const POLL_MS = 500;
const PAGE = 100;

const endCodes: Readonly<Record<string, ExitCode>> = { completed: exitCodes.ok, cancelled: exitCodes.stopped };

/**
 * `searchflow agent run QUERY`: prints the result of one run. After Ctrl-C the run continues at the service, and the same
 * command attaches to the run.
 */
export async function agentRun(
  context: Context,
  query: string | undefined,
  flags: Flags<'agent run'>,
): Promise<ExitCode> {
  const { terminal } = context;
  const { asked, mistakes } = readAll({ asked: () => toAgentRequest(query, flags) });
  const config = settings(context, flags, mistakes);
  const { request, options } = asked;
  return withRuntime(context, config, { sends: true }, async (session) => {
    await checkConnection(config);
    if (!(await agreed(context, config, purchaseOf(request, options, config, flags)))) {
      terminal.say('Nothing was bought.');
      return exitCodes.usage;
    }
    const { agentRunId, startAgentRun } = await import('../worker/control/event-control.js');
    const workflowId = agentRunId(config, request, options);
    const job = jobOfWorkflow(workflowId);
    session.working();
    await (await session.runtime.work()).own({ job, workflowId });
    const access = await session.runtime.workflows();
    const handle = await startAgentRun(access, request, options);
    terminal.note(
      `Agent run on ${serviceText(config)}. After Ctrl-C it continues there; run the same command to attach to it.`,
    );
    const watched = (call: FreeCall) => watch(context, handle, flags.stream ? call : null, session.stopped);
    const result = await session.runtime.calls(session.stopped, watched);
    terminal.show('');
    const output = outputText(result);
    if (terminal.json || output !== '') terminal.pass(flags.stream ? { kind: 'result', ...result } : result, output);
    if (!terminal.json) terminal.say(endText(result));
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
  { yes }: Flags<'agent run'>,
): PlannedPurchase {
  const most = maxCostDollars ?? request.budget?.maxCostDollars;
  const estimate = estimateAgentRun(request.effort ?? undefined, most, pricesAt(Date.now(), prices));
  const micros = Math.min(estimate, maxCostPerJobMicros ?? estimate);
  const cost = `at most ${dollars(micros)}`;
  const question = `Spend ${cost} on this agent run?`;
  return { micros, sentence: `This costs ${cost}`, question, yes, maxCost: maxCostDollars };
}

/** Shows the state of the run until it has ended; with `call`, also prints the events of the run. Returns the result. */
async function watch(
  { terminal }: Context,
  handle: AgentRunHandle,
  call: FreeCall | null,
  stopped: AbortSignal,
): Promise<AgentRunResult> {
  const view = new ProgressView(terminal);
  const printNew = call && eventPrinter(call, (event) => terminal.pass(event, eventText(event)));
  const show = async (snapshot: RunSnapshot | null) => {
    if (snapshot) view.update(snapshotText(snapshot, Date.now()), performance.now());
    if (snapshot?.runId) await printNew?.(snapshot.runId);
    return null;
  };
  const watched = { poll: () => handle.snapshot(), show, result: () => handle.result() };
  const result = await follow(watched, { stopped, everyMs: POLL_MS });
  await printNew?.(result.runId);
  return result;
}

/** Returns a function that prints the new events of a run, each once. It prints nothing if the service keeps none or does not answer. */
function eventPrinter(call: FreeCall, print: (event: RunEvent) => void): (id: string) => Promise<void> {
  const shown = new Set<string>();
  let cursor: string | undefined;
  return async (id) => {
    for (;;) {
      const page = await call('listAgentRunEvents', { id, limit: PAGE, cursor }).catch(() => null);
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

export function toAgentRequest(
  query: string | undefined,
  flags: Flags<'agent run'>,
): { readonly request: AgentRequest; readonly options: RunAgentOptions } {
  const { effort, mistakes } = readAll({ effort: () => readEffort(flags.effort, flags.unchecked) });
  const { maxCostDollars, maxDurationSeconds, rebuy, deleteAfter, unchecked } = flags;
  const fields: readonly SetField[] = [
    ...ofRequest(flags.request).filter(([, value]) => value !== null),
    ['query', query, 'QUERY'],
    ['outputSchema', flags.schema, '--schema'],
    ['effort', effort, '--effort'],
    ['previousRunId', flags.previous, '--previous'],
    ...(flags.option ?? []),
  ];
  const request = objectOf(fields) as AgentRequest & { readonly [name: string]: Json };
  if (request.query === undefined && flags.request !== null)
    mistakes.push('Pass a query or --request FILE:\n  searchflow agent run "QUERY"');
  const { budget } = request;
  if (maxCostDollars !== undefined && budget?.maxCostDollars !== undefined)
    mistakes.push('--max-cost and budget.maxCostDollars of the request limit the same. Pass one of them.');
  if (maxDurationSeconds !== undefined && budget?.maxDurationSeconds !== undefined)
    mistakes.push('--max-duration and budget.maxDurationSeconds of the request limit the same. Pass one of them.');
  refuse(...setTwice(fields), ...mistakes);
  const refreshAfterMs = rebuy ? 0 : undefined;
  return { request, options: { maxCostDollars, maxDurationSeconds, refreshAfterMs, deleteAfter, unchecked } };
}

export async function agentList(context: Context, flags: Flags<'agent list'>): Promise<ExitCode> {
  const { limit = 20 } = flags;
  return withCalls(context, {}, [], async (call) => {
    const { data } = await call('listAgentRuns', { limit });
    const runs = data ?? [];
    context.terminal.pass(runs, runsText(runs));
  });
}

export async function agentCancel(context: Context, id: string): Promise<ExitCode> {
  return withCalls(context, {}, [], async (call) => {
    const run = await call('cancelAgentRun', { id });
    const text = `${printable(run.id)}: ${printable(run.status ?? 'unknown')}; cost $${run.costDollars?.total ?? 0}.`;
    if (context.terminal.json) context.terminal.data(JSON.stringify(run));
    else context.terminal.say(text);
  });
}

export async function agentSync(context: Context, flags: Flags<'agent sync'>): Promise<ExitCode> {
  const { wish, mistakes } = readAll({ wish: () => toScheduleWish(flags) });
  const loads = wish?.timing !== 'never';
  const sync = async (access: WorkflowAccess, { runtime }: Session) => {
    const { startSync, syncWork } = await import('../worker/control/event-control.js');
    const { name, work } = syncWork(access, flags.into, context.cwd);
    if (wish !== null) await keepSchedule(context, await runtime.workflows(), wish, { name, work });
    if (!loads) return exitCodes.ok;
    await (await runtime.work()).own({ job: name, workflowId: work.workflowId });
    const done = await (await startSync(access, work)).result();
    context.terminal.tell<Output<'agentSync'>>({ kind: 'agent-sync', ...done }, syncText(done));
  };
  return withAccess(context, flags, mistakes, sync, { loads, owns: true });
}

function syncText({ runs, added, changed, gone, unfinished, into }: AgentRunSync): string {
  const lost = gone > 0 ? `, ${some(gone, 'run')} no longer returned by the service` : '';
  const open = unfinished > 0 ? ` ${some(unfinished, 'run')} not ended; the next sync reads them again.` : '';
  return `${some(runs, 'agent run')} read: ${some(added, 'new run')}, ${some(changed, 'run')} changed${lost}.${open} Written: ${printable(into)}`;
}
