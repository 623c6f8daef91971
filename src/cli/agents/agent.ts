import type { Json } from '../../core/text/json.js';
import type { AgentRunResult, RunSnapshot } from '../../core/workflow-result-schemas.js';
import { columns, duration, printable, printableLines } from '../text.js';

const dollars = (amount: number): string => `$${amount}`;

/** Returns the state of a run on one line. */
export function snapshotText(snapshot: RunSnapshot, now: number): string {
  if (snapshot.runId === null) return `waiting for ${printable(snapshot.waitingFor ?? 'the run to start')}`;
  return [
    `${printable(snapshot.runId)}: ${printable(snapshot.status ?? 'running')}`,
    ...(snapshot.startedAt === null ? [] : [duration((now - snapshot.startedAt) / 1000)]),
    ...(snapshot.events === null ? [] : [`${snapshot.events} events`]),
    ...(snapshot.costDollars ? [`${dollars(snapshot.costDollars)} so far`] : []),
  ].join(', ');
}

/** Returns the end of a run as one to three lines. */
export function endText(result: AgentRunResult): string {
  const { runId, status, stopReason, costDollars, requests, error, leftOutBytes, landed } = result;
  const why = stopReason === null ? '' : ` (${printable(stopReason)})`;
  const bought = requests.some((request) => request.bought);
  const lines = [
    `${printable(runId)}: ${printable(status)}${why}; ${bought ? dollars(costDollars) : `paid earlier, ${dollars(costDollars)}`}.`,
  ];
  if (error !== null) lines.push(printable(JSON.stringify(error)));
  if (leftOutBytes !== null)
    lines.push(
      `The output is too large to print (${leftOutBytes} bytes). It is in the journal as ${landed.join(', ')}.`,
    );
  return lines.join('\n');
}

/** Returns the output of a run: text, structured output and sources. */
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

/** Returns an event of a run on one line. */
export function eventText(event: { readonly event?: string | null | undefined; readonly data?: unknown }): string {
  const data = event.data === undefined ? '' : ` ${JSON.stringify(event.data)}`;
  return printable(`${event.event ?? 'event'}${data}`, 160);
}

/** A run in a list. */
export interface ListedRun {
  readonly id: string;
  readonly status?: string | null | undefined;
  readonly createdAt?: string | null | undefined;
  readonly request?: { readonly query?: unknown } | null | undefined;
  readonly costDollars?: { readonly total?: number | null | undefined } | null | undefined;
}

export function runsText(runs: readonly ListedRun[]): string {
  if (runs.length === 0) return 'No agent runs.';
  return columns([
    ['id', 'status', 'cost', 'started', 'query'],
    ...runs.map(({ id, status, createdAt, request, costDollars }) => [
      printable(id),
      printable(status ?? '?'),
      dollars(costDollars?.total ?? 0),
      printable(createdAt ?? '?'),
      printable(String(request?.query ?? '?'), 60),
    ]),
  ]).join('\n');
}
