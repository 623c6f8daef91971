import { z } from 'zod';
import { toDollars } from '../../core/text/money.js';
import { checkInput, Refusal } from '../base/refusal.js';
import { fraction, hashText, mix, sentences } from '../base/sentences.js';
import { sseFrame } from '../base/sse.js';
import { prices as listed } from '../ledger/ledger.js';
import { findUrls, type PageSettings, pageOf } from '../pages/result.js';
import { schemaProblem, schemaValue } from '../pages/schema-value.js';

const noOutput = { text: '', structured: null, grounding: [] };

/** The run as the service returns it at the time `now`. */
export function runRecord(run: Run, now: number, pages: PageSettings): Record<string, unknown> {
  const isTerminal = isTerminalAt(run, now);
  const status = statusAt(run, now);
  const { usage, costDollars } = isTerminal ? usageOf(run, pages.seed) : noUsage;
  const failed = status === 'failed';
  return {
    id: run.id,
    object: 'agent_run',
    status,
    stopReason: isTerminal ? stopReasonOf(run) : null,
    createdAt: new Date(run.createdAt).toISOString(),
    completedAt: isTerminal ? new Date(endOf(run)).toISOString() : null,
    request: run.request,
    output: isTerminal && !failed && status !== 'cancelled' ? outputOf(run, pages) : noOutput,
    usage,
    costDollars,
    ...(failed ? { error: failureOf(run) } : {}),
  };
}

/** Error of a failed run, in the form of the errors of agent operations. */
export function failureOf(run: Run): Record<string, string> {
  return { type: 'SERVER_ERROR', code: 'SERVER_ERROR', message: `The run ${run.id} could not be finished` };
}

function outputOf({ id, request }: Run, pages: PageSettings): Record<string, unknown> {
  const hash = hashText(id, pages.seed);
  const { data } = (request.input ?? {}) as { data?: Record<string, unknown>[] };
  const structured = request.outputSchema ? schemaValue(request.outputSchema, hash, data ? { rows: data } : {}) : null;
  const urls = findUrls(request, 3, pages);
  const cite = (index: number) => {
    const url = urls[index % urls.length] as string;
    return { url, title: pageOf(url, pages.seed, 1).title };
  };
  return {
    text: [1, 2, 3].map((salt) => sentences[mix(hash, salt) % sentences.length]).join(' '),
    structured,
    grounding: leavesOf(structured, structured === null ? 'text' : 'structured')
      .slice(0, 20)
      .map((field, index) => ({
        field,
        citations: [cite(index), cite(index + 1)],
        confidence: ['low', 'medium', 'high'][mix(hash, index) % 3],
      })),
  };
}

/** Paths of the values in a structured output that are neither objects nor lists, such as `structured.companies[0].name`. */
function leavesOf(value: unknown, path: string): string[] {
  if (Array.isArray(value)) return value.flatMap((one, index) => leavesOf(one, `${path}[${index}]`));
  if (typeof value !== 'object' || value === null) return [path];
  return Object.entries(value).flatMap(([name, one]) => leavesOf(one, `${path}.${name}`));
}

/** The stored state of a run. The end of a run is decided at its creation, so its state depends on the time alone. */
export const storedRunSchema = z.object({
  id: z.string(),
  /** Times are milliseconds of the wall clock. */
  createdAt: z.number(),
  startsAt: z.number(),
  endsAt: z.number(),
  /** The final status, unless a caller ends the run earlier. */
  status: z.string(),
  stopReason: z.string().nullable(),
  request: z.looseObject({ query: z.string() }),
});

export type StoredRun = z.infer<typeof storedRunSchema>;

export interface Run extends StoredRun {
  /** Set if a caller ended the run early. */
  readonly ended: { readonly how: 'cancelled' | 'stopped'; readonly at: number } | null;
}

/** Time when a run ends, or ended. */
export function endOf(run: Run): number {
  return run.ended?.at ?? run.endsAt;
}

/** `queued`, `running`, or its final status. */
export function statusAt(run: Run, now: number): string {
  if (now >= endOf(run)) return run.ended ? (run.ended.how === 'cancelled' ? 'cancelled' : 'completed') : run.status;
  return now < run.startsAt ? 'queued' : 'running';
}

export function isTerminalAt(run: Run, now: number): boolean {
  return now >= endOf(run);
}

export function stopReasonOf(run: Run): string | null {
  return run.ended?.how ?? run.stopReason;
}

/** Share of the work, 0 to 1, that a run had done at its end. A failed run stops at half of its work. */
export function doneShare(run: Run): number {
  if (!run.ended) return run.status === 'failed' ? 0.5 : 1;
  const whole = run.endsAt - run.startsAt;
  return whole <= 0 ? 1 : Math.min(1, Math.max(0, (run.ended.at - run.startsAt) / whole));
}

const rows = z.array(z.record(z.string(), z.unknown())).optional();

const schema = z.looseObject({
  query: z.string().min(1),
  systemPrompt: z.string().optional(),
  input: z.looseObject({ data: rows, exclusion: rows }).optional(),
  outputSchema: z.record(z.string(), z.unknown()).nullable().optional(),
  effort: z.enum(['minimal', 'low', 'medium', 'high', 'xhigh', 'auto', 'max', 'ultra']).optional(),
  budget: z
    .looseObject({
      maxCostDollars: z.number().min(1).max(100).optional(),
      maxDurationSeconds: z.number().min(300).max(10_800).optional(),
    })
    .optional(),
  previousRunId: z
    .string()
    .max(200)
    .regex(/^[A-Za-z0-9_.:-]+$/, 'not an id')
    .optional(),
  metadata: z.record(z.string(), z.string()).optional(),
  dataSources: z
    .array(z.looseObject({ provider: z.string().min(1) }))
    .max(5)
    .optional(),
});

/** The body of `POST /agent/runs`. */
export type RunInput = z.infer<typeof schema>;

/** Whether the price of an effort depends on usage. Only such efforts take a budget. */
export function isMetered(effort: string): boolean {
  return effort === 'auto' || effort === 'max' || effort === 'ultra';
}

/** The token that `effort: max` needs in the beta header. */
const MAX_EFFORT_TOKEN = 'agent-max-effort';

/** Checks the body of a create request. `betas`: value of the beta header. Throws a {@link Refusal} with the mistake. */
export function checkRunInput(input: unknown, betas: string): RunInput {
  const body = checkInput(schema, input);
  const effort = body.effort ?? 'auto';
  if (effort === 'max' && !betas.includes(MAX_EFFORT_TOKEN)) {
    throw invalid('effort: max needs its token in the beta header');
  }
  if (body.budget && !isMetered(effort)) throw invalid(`budget: not with effort ${effort}`);
  if (body.budget?.maxDurationSeconds !== undefined && effort !== 'ultra') {
    throw invalid('budget.maxDurationSeconds: only with effort ultra');
  }
  const problem = body.outputSchema ? schemaProblem(body.outputSchema) : null;
  if (problem !== null) throw invalid(`outputSchema: ${problem}`, 'INVALID_OUTPUT_SCHEMA');
  const odd = body.dataSources?.find(({ provider }) => !/^[a-z][a-z0-9_]*$/.test(provider));
  if (odd) throw invalid(`dataSources: no provider ${odd.provider}`, 'INVALID_DATA_SOURCE');
  return body;
}

function invalid(why: string, code = 'INVALID_REQUEST'): Refusal {
  return new Refusal(400, code, `Invalid request body: ${why}`);
}

/** Usage and cost of a run. */
interface RunUsage {
  readonly micros: number;
  readonly usage: Readonly<Record<string, unknown>>;
  readonly costDollars: Readonly<Record<string, unknown>>;
}

const toMicros = (dollars: number) => Math.round(dollars * 1e6);
const fixedMicros = Object.fromEntries(
  Object.entries(listed.agentRun).map(([effort, dollars]) => [effort, toMicros(dollars)]),
);
/** Micro-dollars of each unit. The service has no public price for a connected source; the price here is made up. */
const prices = {
  agentComputeUnits: toMicros(listed.agentUse.computeUnit),
  searches: toMicros(listed.agentUse.search),
  emails: toMicros(listed.agentUse.email),
  phoneNumbers: toMicros(listed.agentUse.phoneNumber),
  source: 10_000,
};

const nothing = { agentComputeUnits: 0, searches: 0, emails: 0, phoneNumbers: 0 };

/** Usage and cost of a run that has not ended yet. */
const noUsage: RunUsage = {
  micros: 0,
  usage: nothing,
  costDollars: { total: 0, agentCompute: 0, search: 0, emails: 0, phoneNumbers: 0 },
};

/**
 * Usage and cost of a run at its end. A run that used up its budget costs the budget, and the quantities of such a run are reduced to
 * match.
 */
export function usageOf(run: Run, seed: number): RunUsage {
  const hash = hashText(run.id, seed);
  const effort = String(run.request.effort ?? 'auto');
  const schema = JSON.stringify(run.request.outputSchema ?? null);
  const quantities = {
    agentComputeUnits: Math.round((0.5 + fraction(hash, 101) * 5.5) * 100) / 100,
    searches: 3 + (mix(hash, 102) % 28),
    emails: /"format":"email"|email/i.test(schema) ? 1 + (mix(hash, 103) % 5) : 0,
    phoneNumbers: /phone/i.test(schema) ? 1 + (mix(hash, 104) % 3) : 0,
  };
  const sources = providersOf(run).map((provider, index) => [provider, 1 + (mix(hash, 110 + index) % 6)] as const);
  const metered =
    quantities.agentComputeUnits * prices.agentComputeUnits +
    quantities.searches * prices.searches +
    quantities.emails * prices.emails +
    quantities.phoneNumbers * prices.phoneNumbers +
    sources.reduce((sum, [, calls]) => sum + calls * prices.source, 0);
  const full = isMetered(effort) ? metered : (fixedMicros[effort] ?? metered);
  const budget = budgetMicros(run);
  const isCapped = isMetered(effort) && (full > budget || stopReasonOf(run) === 'budget_reached');
  const share = isCapped ? budget / full : doneShare(run);
  const scaled = (quantity: number) => Math.round(quantity * share * 1e6) / 1e6;
  const cost = (quantity: number, price: number) => (isMetered(effort) ? Math.round(quantity * share * price) : 0);
  const parts = {
    agentCompute: isMetered(effort)
      ? cost(quantities.agentComputeUnits, prices.agentComputeUnits)
      : Math.round(full * share),
    search: cost(quantities.searches, prices.searches),
    emails: cost(quantities.emails, prices.emails),
    phoneNumbers: cost(quantities.phoneNumbers, prices.phoneNumbers),
  };
  const sourceCosts = sources.map(([provider, calls]) => [provider, cost(calls, prices.source)] as const);
  // The total is computed as the sum of its parts, so that the record adds up to the last millionth.
  const micros = [...Object.values(parts), ...sourceCosts.map(([, one]) => one)].reduce((sum, one) => sum + one, 0);
  const withSources = (of: readonly (readonly [string, number])[]) =>
    of.length > 0 ? { dataSources: Object.fromEntries(of) } : {};
  return {
    micros,
    usage: {
      ...Object.fromEntries(Object.entries(quantities).map(([name, quantity]) => [name, scaled(quantity)])),
      ...withSources(sources.map(([provider, calls]) => [provider, scaled(calls)])),
    },
    costDollars: {
      total: toDollars(micros),
      ...Object.fromEntries(Object.entries(parts).map(([name, one]) => [name, toDollars(one)])),
      ...withSources(sourceCosts.map(([provider, one]) => [provider, toDollars(one)])),
    },
  };
}

function budgetMicros({ request }: Run): number {
  const { maxCostDollars } = (request.budget ?? {}) as { maxCostDollars?: number };
  return toMicros(maxCostDollars ?? listed.agentRun[String(request.effort ?? 'auto')] ?? 5);
}

function providersOf({ request }: Run): string[] {
  const sources = (request.dataSources ?? []) as readonly { readonly provider: string }[];
  return [...new Set(sources.map(({ provider }) => provider))];
}

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

/** The events of a run without an early end, except the terminal one. */
function plannedEvents(run: Run, progressEvents: number, pages: PageSettings): Omit<RunEvent, 'id'>[] {
  const { id, createdAt, startsAt, endsAt } = run;
  const created = new Date(createdAt).toISOString();
  const hash = hashText(id, pages.seed);
  const urls = progressEvents > 0 ? findUrls(run.request, 5, pages) : [];
  const step = (endsAt - startsAt) / (progressEvents + 1);
  return [
    { event: 'agent_run.created', at: createdAt, data: { id, status: 'queued', createdAt: created } },
    { event: 'agent_run.started', at: startsAt, data: { id, status: 'running' } },
    ...Array.from({ length: progressEvents }, (_, index) => ({
      event: progress[index % progress.length] as string,
      at: startsAt + step * (index + 1),
      data: { id, callId: `call_${(mix(hash, index) % 0x1000000).toString(16)}`, url: urls[index % urls.length] },
    })),
  ];
}

/** The events of a run until `now`, in order. The last event is the terminal event if the run has ended. */
export function eventsOf(run: Run, now: number, progressEvents: number, pages: PageSettings): RunEvent[] {
  const end = endOf(run);
  const planned = plannedEvents(run, progressEvents, pages);
  const happened = planned.filter(({ at }) => at <= now && (at < end || (at === end && !run.ended)));
  if (now >= end) happened.push(terminalEvent(run, end, pages));
  return happened.map((one, index) => ({ id: String(index + 1), ...one }));
}

/** Time of the next event of a run; null if there is none. */
export function nextEventAt(run: Run, now: number, progressEvents: number, pages: PageSettings): number | null {
  const end = endOf(run);
  const times = plannedEvents(run, progressEvents, pages).map(({ at }) => at);
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
