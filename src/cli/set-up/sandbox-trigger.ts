import { CodedError } from '../../core/errors/coded-error.js';
import { UsageError } from '../../worker/config/runtime-types.js';
import { type Context, type ExitCode, exitCodes } from '../shared/context.js';
import { printable } from '../text/printable.js';

/** Flags of `searchflow sandbox trigger`. */
export interface TriggerFlags {
  readonly url?: string;
  readonly count?: string;
}

/**
 * `searchflow sandbox trigger WHAT [ID]`: triggers something in a running sandbox. WHAT is the type of a webset event to
 * emit, `monitor-run` to run a monitor, or `disable-monitor` to disable a monitor. Prints the ids of the results, one a line.
 */
export async function trigger(
  context: Context,
  what: string,
  id: string | undefined,
  flags: TriggerFlags,
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
