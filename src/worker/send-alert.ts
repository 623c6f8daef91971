import { spawn } from 'node:child_process';
import { createHmac, randomUUID } from 'node:crypto';
import { Context } from '@temporalio/activity';
import { ApplicationFailure } from '@temporalio/common';
import { Agent, request } from 'undici';
import type { Purchase, PurchaseRequest } from '../activities/index.js';
import { parseRetryAfter } from '../api/wire/parse-retry-after.js';
import {
  ALERT_TEST,
  type Alert,
  type AlertBook,
  type AlertDelivery,
  type AlertFact,
  type Receiver,
} from '../core/alerts/alert.js';
import { named } from '../core/alerts/job-alerts.js';
import { withoutSecrets } from '../core/connections/address-secrets.js';
import { networkReason } from '../core/connections/connect-problem.js';
import type { Secret } from '../core/connections/secret.js';
import { UsageError } from '../core/errors/coded-error.js';
import { backoffMs } from '../core/purchase/backoff.js';
import { jobOf } from '../core/purchase/journal.js';
import { committed, OverBudget, type Spend } from '../core/purchase/spend.js';
import { dollars, toDollars } from '../core/text/money.js';
import { commandLine } from '../core/text/shell-word.js';
import { withoutMetadata } from '../sources/one-server.js';
import { alertId, deliveryId } from './alerts.js';
import { type AlertSettings, receiversOf } from './config/alert-setting.js';
import type { RuntimeConfig } from './config/runtime-types.js';

/** Time from the first attempt to deliver an alert to the last one, in ms. */
export const ALERT_FOR_MS = 86_400_000;
const FIRST_WAIT_MS = 5000;
const MOST_WAIT_MS = 1_800_000;
/** Longest attempt in ms. A program may need more than a request. */
const WEBHOOK_MS = 10_000;
const COMMAND_MS = 30_000;

/** Returns the activity that makes one attempt to deliver an alert. It fails if the receiver does not accept the alert. */
export function createSendAlert({ alerts = null, say }: Pick<RuntimeConfig, 'alerts' | 'say'>) {
  /** Receivers whose failure was reported and that have accepted no alert since. */
  const failing = new Set<Receiver>();

  function sayFailed(delivery: AlertDelivery, error: string, isLast: boolean): void {
    const { alert, receiver } = delivery;
    say(
      isLast
        ? `The alert ${alert.type} was not delivered to the ${receiver} (${error}), and is not tried again. To send it again:\n  temporal workflow reset --type FirstWorkflowTask --reason again --workflow-id ${deliveryId(delivery)}`
        : `The ${receiver} for alerts does not accept them (${error}). They are kept and tried again for ${ALERT_FOR_MS / 3_600_000} hours.`,
    );
  }

  return async (delivery: AlertDelivery): Promise<void> => {
    const { receiver } = delivery;
    const { info, cancellationSignal } = Context.current();
    const sent = await sendOnce(delivery, alerts, cancellationSignal);
    if (sent.ok) return void failing.delete(receiver);
    const message = `${receiver}: ${sent.error}`;
    // An attempt that the end of this process interrupted does not count.
    if (cancellationSignal.aborted) throw ApplicationFailure.create({ message, nextRetryDelay: 1 });
    const leftMs = info.scheduledTimestampMs + ALERT_FOR_MS - Date.now();
    const isLast = leftMs <= 0;
    if (isLast || !failing.has(receiver)) sayFailed(delivery, sent.error, isLast);
    failing.add(receiver);
    const backoff = backoffMs(info.attempt - 1, FIRST_WAIT_MS, MOST_WAIT_MS, Math.random());
    const nextRetryDelay = Math.min(Math.max(sent.retryAfterMs ?? 0, backoff), Math.max(leftMs, 0));
    throw ApplicationFailure.create({ message, type: 'AlertNotAccepted', nonRetryable: isLast, nextRetryDelay });
  };
}

function sendOnce({ alert, receiver }: AlertDelivery, to: AlertSettings | null, signal?: AbortSignal): Promise<Sent> {
  const { url = null, secret = null, command = null } = to ?? {};
  if (receiver === 'webhook' && url) return postAlert(alert, { url, secret }, WEBHOOK_MS, signal);
  if (receiver === 'command' && command) return runCommand(alert, command, COMMAND_MS, signal);
  return Promise.resolve({ ok: false, error: `this worker has no ${receiver} for alerts`, retryAfterMs: null });
}

/** Sends a test alert to each receiver, once and without Temporal. Throws `UsageError` without a receiver. */
export async function testAlerts({ alerts, origin }: Pick<RuntimeConfig, 'alerts' | 'origin'>) {
  if (!alerts)
    throw new UsageError(
      'alert-receiver-missing',
      'There is no receiver of alerts. Set SEARCHFLOW_ALERT_URL or SEARCHFLOW_ALERT_COMMAND.',
    );
  const text = 'This is a test alert of searchflow. Nothing happened.';
  const id = alertId(ALERT_TEST, [randomUUID()]);
  const alert = { id, type: ALERT_TEST, createdAt: new Date().toISOString(), text, data: { origin } } as const;
  const sending = receiversOf(alerts).map(async (receiver) => {
    const sent = await sendOnce({ alert, receiver }, alerts);
    return { receiver, error: sent.ok ? null : sent.error };
  });
  return Promise.all(sending);
}

/** Characters of the program's last line of errors that are kept. */
const KEPT = 200;
/** Variables that the program gets from this process. Others may be secrets. */
const passedOn = ['PATH', 'HOME', 'USER', 'LOGNAME', 'LANG', 'LC_ALL', 'TZ', 'TMPDIR', 'SYSTEMROOT'];
/** The program becomes the leader of a group, which can be killed as a whole. */
const isGroup = process.platform !== 'win32';

/**
 * Runs a program once with an alert as JSON on its standard input, without a shell. Exit code 0 is a delivery. Its output is dropped, except
 * for the last line on stderr of a program that fails. After `timeoutMs` it is killed, with the processes that it has started.
 */
export function runCommand(
  alert: Alert,
  command: readonly string[],
  timeoutMs: number,
  signal?: AbortSignal,
): Promise<Sent> {
  const [file = '', ...args] = command;
  const late = AbortSignal.timeout(timeoutMs);
  const cut = signal ? AbortSignal.any([late, signal]) : late;
  const failed = (error: string): Sent => ({ ok: false, error, retryAfterMs: null });
  const unstarted = ({ code = 'unknown' }: NodeJS.ErrnoException) => failed(`the program cannot be started (${code})`);
  return new Promise<Sent>((resolve) => {
    const child = spawn(file, args, {
      ...{ env: environment(alert), detached: isGroup, windowsHide: true },
      stdio: ['pipe', 'ignore', 'pipe'],
    });
    const kill = () => {
      try {
        if (isGroup) process.kill(-(child.pid as number), 'SIGKILL');
        else child.kill('SIGKILL');
      } catch {
        // The group has ended already.
      }
    };
    if (cut.aborted) kill();
    else cut.addEventListener('abort', kill, { once: true });
    // A program that reads no input, or ends early, closes the pipe.
    child.stdin.on('error', () => undefined);
    child.stdin.end(JSON.stringify(alert));
    let tail = '';
    child.stderr.on('data', (chunk: Buffer) => {
      tail = (tail + chunk.toString('utf8')).slice(-4 * KEPT);
    });
    child.on('error', (error) => resolve(unstarted(error)));
    // The exit counts: a process that the program left behind may hold its output open.
    child.on('exit', (code, killedBy) => {
      cut.removeEventListener('abort', kill);
      child.stderr.destroy();
      const how = code === null ? `was ended by ${killedBy}` : `ended with exit code ${code}`;
      if (code === 0) resolve({ ok: true });
      else if (late.aborted)
        resolve(failed(`the program was killed, because it ran for more than ${timeoutMs / 1000} s`));
      else if (cut.aborted) resolve(failed('interrupted'));
      else resolve(failed(`the program ${[how, lastLine(tail)].filter(Boolean).join(': ')}`));
    });
    // Thrown for an alert that is too long for a variable of the environment, for example.
  }).catch(unstarted);
}

function environment({ id, type, text, data }: Alert): NodeJS.ProcessEnv {
  return {
    ...Object.fromEntries(passedOn.map((name) => [name, process.env[name]])),
    SEARCHFLOW_ALERT_ID: id,
    SEARCHFLOW_ALERT_TYPE: type,
    SEARCHFLOW_ALERT_TEXT: text,
    SEARCHFLOW_ALERT_JOB: typeof data.job === 'string' ? data.job : '',
  };
}

const lastLine = (text: string): string =>
  withoutSecrets((text.trimEnd().split('\n').at(-1) ?? '').replace(/[\p{Cc}\p{Cf}]/gu, ' '))
    .trim()
    .slice(0, KEPT);

/** The result of one attempt. `retryAfterMs`: the wait that the receiver asks for; null: none. */
type Sent =
  | { readonly ok: true }
  | { readonly ok: false; readonly error: string; readonly retryAfterMs: number | null };

/**
 * Sends an alert to a webhook once, and waits for the answer up to `timeoutMs`. An answer 2xx is a delivery; its body is not read, and a redirect
 * is not followed.
 */
export async function postAlert(
  alert: Alert,
  { url, secret }: { readonly url: Secret; readonly secret: Secret | null },
  timeoutMs: number,
  signal: AbortSignal | null = null,
): Promise<Sent> {
  const body = JSON.stringify(alert);
  const dispatcher = new Agent({ connections: 1, connect: { timeout: timeoutMs, lookup: withoutMetadata } });
  const late = AbortSignal.timeout(timeoutMs);
  const failed = (error: string, retryAfterMs: number | null = null) => ({ ok: false, error, retryAfterMs }) as const;
  try {
    const {
      body: answer,
      statusCode,
      headers,
    } = await request(url.reveal(), {
      method: 'POST',
      headers: {
        ...{ 'content-type': 'application/json', 'user-agent': 'searchflow', 'searchflow-alert-id': alert.id },
        ...(secret && { 'searchflow-signature': signature(body, secret, Date.now()) }),
      },
      ...{ body, dispatcher, signal: signal ? AbortSignal.any([late, signal]) : late },
    });
    // Only the status counts, so a body of any size costs nothing.
    answer.on('error', () => undefined).destroy();
    if (statusCode >= 200 && statusCode < 300) return { ok: true };
    if (statusCode >= 300 && statusCode < 400)
      return failed(`${statusCode}: a redirect is not followed; set the final address`);
    return failed(`status ${statusCode}`, parseRetryAfter([headers['retry-after']].flat()[0], Date.now()));
  } catch (error) {
    if (signal?.aborted) return failed('interrupted');
    return failed(late.aborted ? `no answer within ${timeoutMs / 1000} s` : problemOf(error));
  } finally {
    await dispatcher.destroy().catch(() => undefined);
  }
}

/** The signature `t=<unix seconds>,v1=<hex>`, which `verifyWebhook` checks. `now`: Unix ms. */
function signature(body: string, secret: Secret, now: number): string {
  const time = Math.floor(now / 1000);
  const hex = createHmac('sha256', secret.reveal()).update(`${time}.${body}`).digest('hex');
  return `t=${time},v1=${hex}`;
}

/** What went wrong, by the code of an error. The message of an error may have the address. */
function problemOf(error: unknown): string {
  const { code } = error as { readonly code?: unknown };
  if (code === 'UND_ERR_SOCKET') return 'the connection ended before the answer';
  return typeof code === 'string' ? networkReason(code.replace(/[^\w]/g, '')) : 'the request failed';
}

interface WatchOptions {
  readonly spend: Pick<Spend, 'caps' | 'spent' | 'counted'>;
  readonly book: AlertBook;
  readonly origin: string;
  readonly team: string;
}

/**
 * Reports how much of the caps is used after each purchase, by the sums that the caps are checked against. A purchase never waits for the
 * check. `checked` resolves when the last check has ended.
 */
export function watchCaps(purchase: Purchase, { spend, book, origin, team }: WatchOptions) {
  /** The checks that have not begun. They see later purchases, too. */
  const waiting = new Set<string>();
  let checking = Promise.resolve();

  async function factsOf(run: ReturnType<typeof runOf>, refused: OverBudget['scope'] | null) {
    const caps = await spend.caps();
    const limits = { day: caps.dayMicros ?? 0, month: caps.monthMicros ?? 0 };
    const spent = limits.day + limits.month > 0 ? await spend.spent() : null;
    const periods = (['day', 'month'] as const).map((scope) => {
      if (!spent) return null;
      const { since } = spent[scope];
      const used = { capMicros: limits[scope], usedMicros: committed(spent[scope]), refuses: refused === scope };
      return capAlert({ scope, key: [team, since], ...used, origin, since });
    });
    if (!run) return periods;
    const { job, startedAt, beforeMicros, capMicros } = run;
    const usedMicros = Math.max(0, (await spend.counted(job)) - beforeMicros);
    // The rest of a cap is smaller than a refused request, so the cap is used up, although its sum is less.
    const refuses = refused === 'job' || refused === 'worker';
    return [...periods, capAlert({ scope: 'run', key: [job, startedAt], capMicros, usedMicros, refuses, origin, job })];
  }

  function check(request: PurchaseRequest, refused: OverBudget['scope'] | null): void {
    const run = runOf(request);
    const key = JSON.stringify([run?.job, run?.startedAt, refused]);
    if (waiting.has(key)) return;
    waiting.add(key);
    checking = checking
      .then(async () => {
        waiting.delete(key);
        await book.note((await factsOf(run, refused)).filter((fact) => fact !== null));
      })
      // A check that fails is repeated after the next purchase.
      .catch(() => undefined);
  }

  const watched: Purchase = async (request, control) => {
    let refused: OverBudget['scope'] | null = null;
    try {
      return await purchase(request, control);
    } catch (error) {
      if (error instanceof OverBudget && !error.unproven) refused = error.scope;
      throw error;
    } finally {
      check(request, refused);
    }
  };
  return { purchase: watched, checked: () => checking };
}

/** The run of a purchase with a cap; null without one. */
function runOf({ cap, startedAt }: PurchaseRequest) {
  if (!cap || cap.beforeMicros === undefined || startedAt === undefined) return null;
  const { bookPrefix, limitMicros, beforeMicros } = cap;
  return { job: jobOf(bookPrefix), startedAt, beforeMicros, capMicros: limitMicros - beforeMicros };
}

/** A cap and how much of it is used, in micro-dollars: cost, requests in flight and unknown outcomes. */
interface UsedCap {
  readonly scope: 'run' | 'day' | 'month';
  /** What has the cap: the run of a job, or the team and its day or month. */
  readonly key: readonly (string | number)[];
  readonly capMicros: number;
  readonly usedMicros: number;
  /** Whether the rest does not allow another request. */
  readonly refuses: boolean;
  readonly origin: string;
  readonly job?: string;
  /** Beginning of a day or month, in Unix ms. */
  readonly since?: number;
}

/** The alert of the highest part of a cap that is used; null below the lowest one. Another amount of the cap is another alert. */
function capAlert({ scope, key, capMicros, usedMicros, refuses, origin, job, since }: UsedCap): AlertFact | null {
  const percent = refuses || usedMicros >= capMicros ? 100 : 80;
  // A cap of nothing allows nothing, and its owner knows that.
  if (capMicros <= 0 || (!refuses && usedMicros * 100 < capMicros * percent)) return null;
  const [whose, next] =
    job === undefined
      ? [`The team's cap of ${dollars(capMicros)} for this UTC ${scope}`, 'searchflow limits']
      : [`The cap of ${dollars(capMicros)} of the run of ${named(job)}`, commandLine('status', job)];
  const how = percent === 100 ? 'is used up, and requests that do not fit are refused' : `is used by ${percent}%`;
  return {
    type: `cap.${percent}`,
    key: [scope, ...key, capMicros],
    text: `${whose} ${how}: ${dollars(usedMicros)} is spent or in flight. Next: ${next}`,
    data: {
      ...{ scope, percent, capDollars: toDollars(capMicros), usedDollars: toDollars(usedMicros), origin, next, job },
      since: since === undefined ? undefined : new Date(since).toISOString(),
    },
  };
}
