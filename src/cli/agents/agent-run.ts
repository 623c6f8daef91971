import type { AgentRequest, AgentRunResult, RunAgentOptions } from '../../core/agent-run.js';
import { estimateAgentRun, pricesAt } from '../../core/purchase/prices.js';
import { jobOfWorkflow } from '../../core/rows/job.js';
import { dollars } from '../../core/text/money.js';
import { JobFailed, type RuntimeConfig } from '../../worker/config/runtime-types.js';
import { type AgentRunHandle, agentRunId, startAgentRun, withAgentCalls } from '../../worker/control/agent-control.js';
import { follow, ProgressView } from '../progress/follow.js';
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

/** Exit codes by the final status of a run. Any other status is a failure. */
const endCodes: Readonly<Record<string, ExitCode>> = { completed: exitCodes.ok, cancelled: exitCodes.stopped };

type Calls = Parameters<Parameters<typeof withAgentCalls<unknown>>[1]>[0];
type Print = (event: { readonly event?: string | null | undefined; readonly data?: unknown }) => void;

/**
 * `searchflow agent run QUERY`: prints the result of one run. After Ctrl-C the run continues at the service, and the same
 * command attaches to the run.
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
  { yes = false }: AgentRunFlags,
): Purchase {
  const most = maxCostDollars ?? request.budget?.maxCostDollars;
  const estimate = estimateAgentRun(request.effort, most, pricesAt(Date.now(), prices));
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
  { json }: AgentRunFlags,
  calls: Calls | null,
  stopped: AbortSignal,
): Promise<AgentRunResult> {
  const view = new ProgressView(terminal);
  const events = calls && new Events(calls, (event) => terminal.data(json ? JSON.stringify(event) : eventText(event)));
  const poll = async () => {
    const snapshot = await handle.snapshot();
    return async () => {
      if (snapshot) view.update(snapshotText(snapshot, Date.now()), performance.now());
      if (snapshot?.runId) await events?.read(snapshot.runId);
      return null;
    };
  };
  const result = await follow({ poll, result: () => handle.result() }, { stopped, everyMs: POLL_MS });
  await events?.read(result.runId);
  return result;
}

/** Prints the stored events of a run, each once. */
class Events {
  readonly #calls: Calls;
  readonly #print: Print;
  readonly #shown = new Set<string>();
  #cursor: string | undefined;

  constructor(calls: Calls, print: Print) {
    this.#calls = calls;
    this.#print = print;
  }

  /** Prints new events. Prints nothing if the service keeps no events or the request fails. */
  async read(id: string): Promise<void> {
    for (;;) {
      const input = { id, limit: PAGE, cursor: this.#cursor };
      const page = await this.#calls.listAgentRunEvents(input).then(
        ({ data }) => data,
        () => null,
      );
      for (const event of page?.data ?? []) {
        const name = String(event.id ?? JSON.stringify(event));
        if (this.#shown.has(name)) continue;
        this.#shown.add(name);
        this.#print(event);
      }
      if (!page?.nextCursor || page.nextCursor === this.#cursor) return;
      this.#cursor = page.nextCursor;
    }
  }
}
