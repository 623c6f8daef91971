import { CodedError } from '../../core/errors/coded-error.js';
import type { Fault, SandboxOptions } from '../../sandbox/index.js';
import { UsageError } from '../../worker/config/runtime-types.js';
import { type Context, type ExitCode, exitCodes, type Flags } from '../shared/command.js';
import { signalExitCodes } from '../shared/signals.js';
import { dollars, printable, some } from '../text.js';

/** `searchflow sandbox`: runs the sandbox in this process. The URL of the sandbox is the only line on stdout. */
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

/** The flags whose options have other names. */
const flagOf: Readonly<Record<string, string>> = {
  failureRate: '--error-rate',
  ledgerFile: '--ledger',
  keys: '--key',
  'agentRuns.durationMs': '--agent-run-ms',
  'events.count': '--events',
  'events.arrivingPerSecond': '--events-per-second',
};

/** Returns a message about options with the flags that set them. */
function withFlags(message: string): string {
  return message.replace(/→ at ([\w.]+)/g, (_, path: string) => {
    const flag = flagOf[path] ?? `--${path.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`;
    return path.includes('.') && !(path in flagOf) ? `→ at ${path} (--set)` : `→ at ${path} (${flag})`;
  });
}

/** Returns the sandbox options that the flags set. Throws a `UsageError` with all mistakes. */
export function toSandboxOptions(
  flags: Flags<'sandbox'>,
  parseFault: (text: string) => Fault,
): Partial<SandboxOptions> {
  const mistakes: string[] = [];
  const number = (text: string | undefined, flag: string): number | undefined => {
    if (text === undefined) return undefined;
    if (/^\d{1,9}(\.\d{1,6})?$/.test(text)) return Number(text);
    mistakes.push(`${flag}: '${text}' must be a number.`);
    return undefined;
  };
  const faults = (flags.fault ?? []).flatMap((text) => {
    try {
      return [parseFault(text)];
    } catch (error) {
      mistakes.push(`--fault: ${(error as Error).message}`);
      return [];
    }
  });
  const given: { [Name in keyof SandboxOptions]?: SandboxOptions[Name] | undefined } = {
    port: number(flags.port, '--port'),
    qps: number(flags.qps, '--qps'),
    latencyMs: readRange(flags.latencyMs, '--latency-ms', number),
    failureRate: number(flags.errorRate, '--error-rate'),
    retryAfter: flags.retryAfter,
    retryAfterSeconds: number(flags.retryAfterSeconds, '--retry-after-seconds'),
    seed: number(flags.seed, '--seed'),
    credits: number(flags.credits, '--credits'),
    textBytes: number(flags.textBytes, '--text-bytes'),
    ledgerFile: flags.ledger,
    keys: flags.key,
    x402: flags.x402,
    faults,
    agentRuns: group({ durationMs: readRange(flags.agentRunMs, '--agent-run-ms', number) }),
    monitorClock: number(flags.monitorClock, '--monitor-clock'),
    events: group({
      count: number(flags.events, '--events'),
      arrivingPerSecond: number(flags.eventsPerSecond, '--events-per-second'),
    }),
  };
  if (mistakes.length > 0) throw new UsageError('invalid-argument', mistakes.join('\n'));
  const options: Record<string, unknown> = group(given) ?? {};
  for (const text of flags.set ?? []) setOption(options, text);
  return options;
}

/** Reads `200` as a number, and `100-400` as a range. */
function readRange(
  text: string | undefined,
  flag: string,
  number: (text: string | undefined, flag: string) => number | undefined,
): SandboxOptions['latencyMs'] | undefined {
  const range = /^(\d+)-(\d+)$/.exec(text ?? '');
  return range ? { min: Number(range[1]), max: Number(range[2]) } : number(text, flag);
}

/** Returns the options of a group that are set; undefined if none is set. */
function group<T extends object>(options: T): T | undefined {
  const given = Object.entries(options).filter(([, value]) => value !== undefined);
  return given.length > 0 ? (Object.fromEntries(given) as T) : undefined;
}

/** Sets `name=value` or `group.name=value` in the options; a value that is not JSON is text. */
function setOption(options: Record<string, unknown>, text: string): void {
  const [, path, value] = /^([a-zA-Z.]+)=(.*)$/s.exec(text) ?? [];
  if (path === undefined || value === undefined)
    throw new UsageError('invalid-argument', `--set: '${text}' must be name=value.`);
  const [first, second, ...more] = path.split('.') as [string, ...string[]];
  if (more.length > 0) throw new UsageError('invalid-argument', `--set: unknown option ${path}.`);
  if (second === undefined) options[first] = readValue(value);
  else options[first] = { ...(options[first] as object | undefined), [second]: readValue(value) };
}

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
  flags: Flags<'sandboxTrigger'>,
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
  return { event: what, ...(count === undefined ? {} : { count: Number(count) }) };
}
