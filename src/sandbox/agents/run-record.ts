import { z } from 'zod';
import { estimateAgentRun } from '../../core/purchase/prices.js';
import { priceMicros, toDollars } from '../../core/text/money.js';
import type { Settings } from '../base/options.js';
import { badBody } from '../base/refusal.js';
import { fraction, hashText, mix, prose } from '../base/sentences.js';
import { prices } from '../ledger/prices.js';
import { findUrls, pageOf } from '../pages/page.js';

import { isSchema, schemaProblem, schemaValue } from '../pages/schema-value.js';

const rows = z.array(z.record(z.string(), z.unknown())).optional();
const runId = z
  .string()
  .max(200)
  .regex(/^[A-Za-z0-9_.:-]+$/, 'not an id');
const dataSource = z.looseObject({ provider: z.string().min(1) });
const budget = z.looseObject({
  maxCostDollars: z.number().min(1).max(100).optional(),
  maxDurationSeconds: z.number().min(300).max(10_800).optional(),
});

/** The body of `POST /agent/runs`. */
export const runInput = z.looseObject({
  query: z.string().min(1),
  systemPrompt: z.string().optional(),
  input: z.looseObject({ data: rows, exclusion: rows }).optional(),
  outputSchema: z.record(z.string(), z.unknown()).nullable().optional(),
  effort: z.enum(['minimal', 'low', 'medium', 'high', 'xhigh', 'auto', 'max', 'ultra']).optional(),
  budget: budget.optional(),
  previousRunId: runId.optional(),
  metadata: z.record(z.string(), z.string()).optional(),
  dataSources: z.array(dataSource).max(5).optional(),
});

export type RunInput = z.infer<typeof runInput>;

/** A run. Its end is decided at its creation, so its state depends on the time alone. Times are Unix ms. */
export const runSchema = z.object({
  id: z.string(),
  createdAt: z.number(),
  startsAt: z.number(),
  endsAt: z.number(),
  /** The final status, unless a caller ends the run earlier. */
  status: z.string(),
  stopReason: z.string().nullable(),
  request: runInput,
  /** Set if a caller ended the run early. */
  ended: z.object({ how: z.enum(['cancelled', 'stopped']), at: z.number() }).nullable(),
});

export type Run = z.infer<typeof runSchema>;

/** Checks what the schema of a body cannot. `betas`: value of the beta header. */
export function checkRunInput({ effort = 'auto', budget, outputSchema, dataSources }: RunInput, betas: string): void {
  const odd = dataSources?.find(({ provider }) => !/^[a-z][a-z0-9_]*$/.test(provider));
  const problem = outputSchema ? schemaProblem(outputSchema) : null;
  const isTimed = budget?.maxDurationSeconds !== undefined && effort !== 'ultra';
  const lacksToken = effort === 'max' && !betas.includes('agent-max-effort');
  if (lacksToken) throw badBody('effort: max needs its token in the beta header');
  if (budget && !isMetered(effort)) throw badBody(`budget: not with effort ${effort}`);
  if (isTimed) throw badBody('budget.maxDurationSeconds: only with effort ultra');
  if (problem !== null) throw badBody(`outputSchema: ${problem}`, 'INVALID_OUTPUT_SCHEMA');
  if (odd) throw badBody(`dataSources: no provider ${odd.provider}`, 'INVALID_DATA_SOURCE');
}

/** Whether the price of an effort depends on usage. Only such efforts take a budget. */
export const isMetered = (effort: string): boolean => effort === 'auto' || effort === 'max' || effort === 'ultra';

export function endOf(run: Run): number {
  return run.ended?.at ?? run.endsAt;
}

/** `queued`, `running`, or its final status. */
export function statusAt(run: Run, now: number): string {
  if (now >= endOf(run)) return run.ended ? (run.ended.how === 'cancelled' ? 'cancelled' : 'completed') : run.status;
  return now < run.startsAt ? 'queued' : 'running';
}

/** The run as the service returns it at the time `now`. */
export function runRecord(run: Run, now: number, options: Settings): Record<string, unknown> {
  const isTerminal = now >= endOf(run);
  const status = statusAt(run, now);
  const { usage, costDollars } = usageOf(run, options.seed, isTerminal);
  const hasOutput = isTerminal && status !== 'failed' && status !== 'cancelled';
  return {
    id: run.id,
    object: 'agent_run',
    status,
    stopReason: isTerminal ? (run.ended?.how ?? run.stopReason) : null,
    createdAt: new Date(run.createdAt).toISOString(),
    completedAt: isTerminal ? new Date(endOf(run)).toISOString() : null,
    request: run.request,
    output: hasOutput ? outputOf(run, options) : { text: '', structured: null, grounding: [] },
    usage,
    costDollars,
    error: status === 'failed' ? failureOf(run) : undefined,
  };
}

/** Error of a failed run, in the form of the errors of agent operations. */
function failureOf({ id }: Run): Record<string, string> {
  return { type: 'SERVER_ERROR', code: 'SERVER_ERROR', message: `The run ${id} could not be finished` };
}

function outputOf({ id, request }: Run, options: Settings): Record<string, unknown> {
  const hash = hashText(id, options.seed);
  const { outputSchema, input } = request;
  const structured = outputSchema ? schemaValue(outputSchema, hash, input?.data) : null;
  const urls = findUrls(request, 3, options);
  const cite = (index: number) => {
    const url = urls[index % urls.length] as string;
    return { url, title: pageOf(url, options.seed).title };
  };
  return {
    text: prose(hash, 3),
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
  if (!isSchema(value)) return [path];
  return Object.entries(value).flatMap(([name, one]) => leavesOf(one, `${path}.${name}`));
}

/** Micro-dollars of a call to a connected source. The service has no public price, so this price is made up. */
const SOURCE_MICROS = 10_000;

/** Share of the work, 0 to 1, that a run had done at its end. A failed run stops at half of its work. */
function doneShare({ ended, status, startsAt, endsAt }: Run): number {
  if (!ended) return status === 'failed' ? 0.5 : 1;
  return endsAt <= startsAt ? 1 : Math.min(1, Math.max(0, (ended.at - startsAt) / (endsAt - startsAt)));
}

/**
 * Usage and cost of a run; zero before its end. A run that used up its budget costs the budget, and its quantities are reduced to match.
 */
export function usageOf(run: Run, seed: number, isTerminal = true) {
  const { effort = 'auto', outputSchema, budget, dataSources = [] } = run.request;
  const hash = hashText(run.id, seed);
  const schema = JSON.stringify(outputSchema ?? null);
  const { computeUnit, search, email, phoneNumber } = prices.agentUse;
  const providers = isTerminal ? [...new Set(dataSources.map(({ provider }) => provider))] : [];
  const computeUnits = Math.round((0.5 + fraction(hash, 101) * 5.5) * 100) / 100;
  const used: readonly (readonly [unit: string, cost: string, quantity: number, micros: number])[] = [
    ['agentComputeUnits', 'agentCompute', computeUnits, priceMicros(computeUnit)],
    ['searches', 'search', 3 + (mix(hash, 102) % 28), priceMicros(search)],
    ['emails', 'emails', /email/i.test(schema) ? 1 + (mix(hash, 103) % 5) : 0, priceMicros(email)],
    ['phoneNumbers', 'phoneNumbers', /phone/i.test(schema) ? 1 + (mix(hash, 104) % 3) : 0, priceMicros(phoneNumber)],
    ...providers.map((one, index) => [one, one, 1 + (mix(hash, 110 + index) % 6), SOURCE_MICROS] as const),
  ];
  const metered = isMetered(effort);
  const ofUse = used.reduce((sum, [, , quantity, micros]) => sum + quantity * micros, 0);
  const full = metered ? ofUse : estimateAgentRun(effort, undefined, prices);
  const most = estimateAgentRun(effort, budget?.maxCostDollars, prices);
  const isCapped = metered && (full > most || (!run.ended && run.stopReason === 'budget_reached'));
  const share = isTerminal ? (isCapped ? most / full : doneShare(run)) : 0;
  const lines = used.map(([unit, cost, quantity, micros], index) => {
    // A run with a fixed price shows all of the price as compute.
    const price = metered ? quantity * micros : index === 0 ? full : 0;
    return { unit, cost, quantity: Math.round(quantity * share * 1e6) / 1e6, micros: Math.round(price * share) };
  });
  // The total is the sum of its parts, so that the record adds up to the last millionth.
  const micros = lines.reduce((sum, line) => sum + line.micros, 0);
  const [own, bought] = [lines.slice(0, 4), lines.slice(4)];
  const quantities = (of: typeof lines) => Object.fromEntries(of.map(({ unit, quantity }) => [unit, quantity]));
  const costs = (of: typeof lines) => Object.fromEntries(of.map(({ cost, micros }) => [cost, toDollars(micros)]));
  const ofSources = (of: typeof quantities) => (bought.length > 0 ? of(bought) : undefined);
  return {
    micros,
    usage: { ...quantities(own), dataSources: ofSources(quantities) },
    costDollars: { total: toDollars(micros), ...costs(own), dataSources: ofSources(costs) },
  };
}

/** One event of a run. `id`: the number of the event in its run, from 1. `at`: Unix ms. */
export type RunEvent = ReturnType<typeof eventsOf>[number];

const progress = ['source.added', 'search_trace', 'output_item.added', 'output_item.done'];

/** All events of a run, in order. The last one is the terminal event. */
export function eventsOf(run: Run, options: Settings) {
  const { id, createdAt, startsAt, endsAt } = run;
  const { progressEvents } = options.agentRuns;
  const hash = hashText(id, options.seed);
  const urls = progressEvents > 0 ? findUrls(run.request, 5, options) : [];
  const step = (endsAt - startsAt) / (progressEvents + 1);
  const end = endOf(run);
  const planned: { event: string; at: number; data: unknown }[] = [
    { event: 'created', at: createdAt, data: { id, status: 'queued', createdAt: new Date(createdAt).toISOString() } },
    { event: 'started', at: startsAt, data: { id, status: 'running' } },
  ];
  for (let index = 0; index < progressEvents; index += 1) {
    const callId = `call_${(mix(hash, index) % 0x1000000).toString(16)}`;
    const data = { id, callId, url: urls[index % urls.length] };
    planned.push({ event: progress[index % progress.length] as string, at: startsAt + step * (index + 1), data });
  }
  const happening = planned.filter(({ at }) => at < end || (at === end && !run.ended));
  const status = statusAt(run, end);
  const { error, ...record } = runRecord(run, end, options);
  const data = status === 'failed' || status === 'cancelled' ? { id, status, error } : record;
  return [...happening, { event: status, at: end, data }].map(({ event, ...one }, index) => {
    return { id: String(index + 1), event: `agent_run.${event}`, ...one };
  });
}
