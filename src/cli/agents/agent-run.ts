import { setTimeout as sleep } from 'node:timers/promises';
import { estimateAgentRun, pricesAt } from '../../core/purchase/prices.js';
import { jobOfWorkflow } from '../../core/rows/job.js';
import type { AgentRequest, AgentRunResult, RunAgentOptions } from '../../core/runs/agent-run.js';
import { dollars } from '../../core/text/money.js';
import { JobFailed, type RuntimeConfig } from '../../worker/config/runtime-types.js';
import { type AgentRunHandle, agentRunId, startAgentRun, withAgentCalls } from '../../worker/control/agent-control.js';
import { serviceText } from '../progress/plan.js';
import { agreed, type Purchase } from '../shared/ask.js';
import { checkConnection } from '../shared/check-connection.js';
import { type Context, type ExitCode, exitCodes } from '../shared/context.js';
import { withRuntime } from '../shared/session.js';
import { settings } from '../shared/settings.js';
import { endText, eventText, outputText, snapshotText } from './agent.js';
import { type AgentRunFlags, toAgentRequest } from './agent-request.js';

const POLL_MS = 500;
const PAGE = 100;

/** Codes by the status a run ends with; any other has failed. */
const endCodes: Readonly<Record<string, ExitCode>> = { completed: exitCodes.ok, cancelled: exitCodes.stopped };

type Calls = Parameters<Parameters<typeof withAgentCalls<unknown>>[1]>[0];
type Tell = (event: { readonly event?: string | null | undefined; readonly data?: unknown }) => void;

/**
 * `searchflow agent run QUERY`: one run to its result. Stopped in between (Ctrl-C) the run goes on at the service, and the same
 * command takes it over.
 */
export async function agentRun(context: Context, query: string | undefined, flags: AgentRunFlags): Promise<ExitCode> {
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
    await session.runtime.own({ job, workflowId });
    const access = await session.runtime.workflows();
    const handle = await startAgentRun(access, request, options);
    terminal.say(
      `An agent run on ${serviceText(config)}. Stopped here, it goes on there; the same command takes it over.`,
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

/** What the run may cost. One that goes on already, or was answered before, is not bought again: that shows only later. */
function purchaseOf(
  request: AgentRequest,
  { maxCostDollars }: RunAgentOptions,
  { prices, maxCostPerJobMicros }: RuntimeConfig,
  { yes = false }: AgentRunFlags,
): Purchase {
  const most = maxCostDollars ?? request.budget?.maxCostDollars;
  const estimate = estimateAgentRun(request.effort, most, pricesAt(Date.now(), prices));
  const micros = Math.min(estimate, maxCostPerJobMicros ?? estimate);
  const cost = `at most ${dollars(micros)}`;
  const question = `Spend ${cost} of real money on this agent run?`;
  return {
    micros,
    sentence: `This costs ${cost} of real money`,
    question,
    yes,
    bounded: maxCostDollars !== undefined,
    always: false,
  };
}

/** What the workflow's failures call an option has another name here. */
const asTyped = (message: string): string => message.replace('call it with { refreshAfterMs: 0 }', 'give --anew');

/** Shows where the run stands until it has ended; with `calls` its events, too. */
async function watch(
  { terminal }: Context,
  handle: AgentRunHandle,
  { json }: AgentRunFlags,
  calls: Calls | null,
  stopped: AbortSignal,
): Promise<AgentRunResult> {
  let result: AgentRunResult | null = null;
  const ended = handle.result().then((end) => {
    result = end;
  });
  // Heard below; between two looks there is nobody to hear it.
  ended.catch(() => undefined);
  const events = calls && new Events(calls, (event) => terminal.data(json ? JSON.stringify(event) : eventText(event)));
  while (result === null) {
    if (stopped.aborted) return new Promise<never>(() => undefined);
    // A look that fails says nothing about the run: its result decides.
    const snapshot = await handle.snapshot().catch(() => null);
    if (snapshot && !stopped.aborted) terminal.show(snapshotText(snapshot, Date.now()));
    if (snapshot?.runId) await events?.read(snapshot.runId);
    await Promise.race([ended, sleep(POLL_MS, undefined, { signal: stopped }).catch(() => undefined)]);
  }
  const { runId } = result as AgentRunResult;
  await events?.read(runId);
  return result;
}

/** The stored events of a run, each told once. */
class Events {
  readonly #calls: Calls;
  readonly #tell: Tell;
  readonly #shown = new Set<string>();
  #cursor: string | undefined;

  constructor(calls: Calls, tell: Tell) {
    this.#calls = calls;
    this.#tell = tell;
  }

  /** Tells what is new. A service that keeps no events, or a look that fails, tells nothing. */
  async read(id: string): Promise<void> {
    for (;;) {
      const input = { id, limit: PAGE, ...(this.#cursor === undefined ? {} : { cursor: this.#cursor }) };
      const page = await this.#calls.listAgentRunEvents(input).then(
        ({ data }) => data,
        () => null,
      );
      for (const event of page?.data ?? []) {
        const name = String(event.id ?? JSON.stringify(event));
        if (this.#shown.has(name)) continue;
        this.#shown.add(name);
        this.#tell(event);
      }
      if (!page?.nextCursor || page.nextCursor === this.#cursor) return;
      this.#cursor = page.nextCursor;
    }
  }
}
