import { hashText, mix } from '../base/hash.js';
import { sseFrame } from '../base/sse.js';
import type { PageSettings } from '../pages/result.js';
import { findUrls } from '../pages/search-index.js';
import { endOf, type Run, statusAt } from './run.js';
import { failureOf, runRecord } from './run-record.js';

/** One event of a run. `id`: the number of the event in its run, from 1. */
export interface RunEvent {
  readonly id: string;
  readonly event: string;
  readonly at: number;
  readonly data: unknown;
}

const progress = [
  'agent_run.source.added',
  'agent_run.search_trace',
  'agent_run.output_item.added',
  'agent_run.output_item.done',
];

/** The events of a run until `now`, in order. The last event is the terminal event if the run has ended. */
export function eventsOf(run: Run, now: number, progressEvents: number, pages: PageSettings): RunEvent[] {
  const { id } = run;
  const created = new Date(run.createdAt).toISOString();
  const planned: Omit<RunEvent, 'id'>[] = [
    { event: 'agent_run.created', at: run.createdAt, data: { id, status: 'queued', createdAt: created } },
    { event: 'agent_run.started', at: run.startsAt, data: { id, status: 'running' } },
  ];
  const step = (run.endsAt - run.startsAt) / (progressEvents + 1);
  const hash = hashText(id, pages.seed);
  const urls = progressEvents > 0 ? findUrls(run.request, 5, pages) : [];
  for (let index = 0; index < progressEvents; index += 1) {
    planned.push({
      event: progress[index % progress.length] as string,
      at: run.startsAt + step * (index + 1),
      data: { id, callId: `call_${(mix(hash, index) % 0x1000000).toString(16)}`, url: urls[index % urls.length] },
    });
  }
  const end = endOf(run);
  const happened = planned.filter(({ at }) => at <= now && (at < end || (at === end && !run.ended)));
  if (now >= end) happened.push(terminalEvent(run, end, pages));
  return happened.map((one, index) => ({ id: String(index + 1), ...one }));
}

/** Time of the next event of a run; null if there is none. */
export function nextEventAt(run: Run, now: number, progressEvents: number): number | null {
  const step = (run.endsAt - run.startsAt) / (progressEvents + 1);
  const times = [
    run.startsAt,
    ...Array.from({ length: progressEvents }, (_, index) => run.startsAt + step * (index + 1)),
  ];
  const end = endOf(run);
  return [...times.filter((at) => at < end), end].find((at) => at > now) ?? null;
}

export function runEventFrame({ id, event, data }: RunEvent): string {
  return sseFrame(data, { id, event });
}

function terminalEvent(run: Run, at: number, pages: PageSettings): Omit<RunEvent, 'id'> {
  const status = statusAt(run, at);
  const event = `agent_run.${status}`;
  if (status === 'failed') return { event, at, data: { id: run.id, status, error: failureOf(run) } };
  if (status === 'cancelled') return { event, at, data: { id: run.id, status } };
  return { event, at, data: runRecord(run, at, pages) };
}
