import { CodedError } from '../../core/errors/coded-error.js';
import type { Fault, SandboxOptions } from '../../sandbox/index.js';
import { UsageError } from '../../worker/config/runtime-types.js';
import { spelled, wrong } from '../flag-values.js';
import { type Context, type ExitCode, exitCodes, type Flags, signalExitCodes } from '../shared/command.js';
import { dollars, printable, some } from '../text.js';

export async function sandbox(context: Context, flags: Flags<'sandbox'>): Promise<ExitCode> {
  const { parseFault, startSandbox } = await import('../../sandbox/index.js');
  const options = toSandboxOptions(flags, parseFault);
  const running = await startSandbox(options).catch((error: unknown) => {
    // An error without a system code (port, file) is a mistake in the options.
    if (error instanceof Error && !('code' in error))
      throw new UsageError('invalid-argument', withFlags(error.message));
    throw error;
  });
  context.terminal.data(running.url);
  context.terminal.note(
    `The sandbox runs until Ctrl-C. To use it, in another terminal:\n  export SEARCHFLOW_BASE_URL=${running.url} SEARCHFLOW_API_KEY=sandbox`,
  );
  const signal = await context.interrupts.first;
  const { micros, requests } = running.bill({ keys: false });
  await running.close();
  context.terminal.note(`Sandbox ended. Bill: ${dollars(micros)} for ${some(requests, 'request')}.`);
  return signalExitCodes[signal];
}

/** The options of the flags that have a name of their own. */
const paths: Readonly<Record<string, string>> = {
  errorRate: 'failureRate',
  ledger: 'ledgerFile',
  key: 'keys',
  agentRunMs: 'agentRuns.durationMs',
  events: 'events.count',
  eventsPerSecond: 'events.arrivingPerSecond',
};

/** Returns a message about options with the flags that set them. */
function withFlags(message: string): string {
  return message.replace(/→ at ([\w.]+)/g, (_, path: string) => {
    const flag = Object.entries(paths).find(([, set]) => set === path)?.[0] ?? path;
    return `→ at ${path} (${flag.includes('.') ? '--set' : spelled(flag)})`;
  });
}

/** Returns the sandbox options that the flags set. The sandbox checks them. */
export function toSandboxOptions(
  { fault = [], set = [], ...flags }: Flags<'sandbox'>,
  parseFault: (text: string) => Fault,
): Partial<SandboxOptions> {
  const options: Record<string, unknown> = { faults: fault.map((text) => readFault(text, parseFault)) };
  for (const [name, value] of Object.entries(flags))
    setOption(options, paths[name] ?? name, typeof value === 'string' ? numberOrText(value) : value);
  for (const text of set) {
    const [, path, value] = /^([a-zA-Z.]+)=(.*)$/s.exec(text) ?? [];
    if (path === undefined || value === undefined) wrong(`--set: '${text}' must be name=value.`);
    setOption(options, path, readValue(value));
  }
  return options;
}

function readFault(text: string, parseFault: (text: string) => Fault): Fault {
  try {
    return parseFault(text);
  } catch (error) {
    return wrong(`--fault: ${(error as Error).message}`);
  }
}

function setOption(options: Record<string, unknown>, path: string, value: unknown): void {
  const [first, second, ...more] = path.split('.') as [string, ...string[]];
  if (more.length > 0) wrong(`--set: unknown option ${path}.`);
  options[first] = second === undefined ? value : { ...(options[first] as object | undefined), [second]: value };
}

/** Reads `200` as a number, and `100-400` as a range. */
function numberOrText(text: string): unknown {
  const [, min, max] = /^(\d+)-(\d+)$/.exec(text) ?? [];
  if (min !== undefined) return { min: Number(min), max: Number(max) };
  return /^\d{1,9}(\.\d{1,6})?$/.test(text) ? Number(text) : text;
}

/** A value that is not JSON is text. */
function readValue(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

/**
 * `searchflow sandbox trigger WHAT [ID]`: triggers something in a running sandbox. WHAT is the type of a webset event to
 * emit, `monitor-run` to run a monitor, or `disable-monitor` to disable a monitor. Prints the ids of the results, one a line.
 */
export async function trigger(
  context: Context,
  what: string,
  id: string | undefined,
  flags: Flags<'sandbox trigger'>,
): Promise<ExitCode> {
  const url = flags.url ?? context.env.SEARCHFLOW_BASE_URL;
  if (url === undefined || !URL.canParse(url)) {
    throw new UsageError(
      'missing-argument',
      '--url (or SEARCHFLOW_BASE_URL) is required: the URL that `searchflow sandbox` printed.',
    );
  }
  const body = JSON.stringify(toTrigger(what, id, flags.count));
  const headers = { 'content-type': 'application/json' };
  const endpoint = `${url.replace(/\/+$/, '')}/__sandbox/trigger`;
  const response = await fetch(endpoint, { method: 'POST', body, headers, redirect: 'error' }).catch(() => {
    throw new CodedError('sandbox-unreachable', `No sandbox answers at ${url}.`);
  });
  const answer = (await response.json().catch(() => ({}))) as { readonly ids?: string[]; readonly error?: string };
  if (response.status === 400 || (response.status === 404 && answer.error))
    throw new UsageError('invalid-argument', printable(answer.error ?? ''));
  if (!response.ok || !answer.ids)
    throw new CodedError(
      'sandbox-unreachable',
      `The server at ${url} is not a sandbox: it answered ${response.status}.`,
    );
  for (const one of answer.ids) context.terminal.data(printable(one));
  return exitCodes.ok;
}

function toTrigger(what: string, id: string | undefined, count: string | undefined): unknown {
  const names: Readonly<Record<string, string>> = { 'monitor-run': 'monitorRun', 'disable-monitor': 'disableMonitor' };
  const name = names[what];
  if (name !== undefined) {
    if (id === undefined) throw new UsageError('missing-argument', `${what} needs the id of a monitor.`);
    if (count !== undefined) throw new UsageError('option-unusable', '--count is for events only.');
    return { [name]: id };
  }
  if (id !== undefined)
    throw new UsageError('option-unusable', `${what} takes no id; only monitor-run and disable-monitor do.`);
  if (count !== undefined && !/^[1-9]\d{0,5}$/.test(count))
    throw new UsageError('invalid-argument', `--count: '${count}' must be a whole number from 1 to 999999.`);
  return { event: what, count: count === undefined ? undefined : Number(count) };
}
