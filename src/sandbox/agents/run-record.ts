import { hashText, mix } from '../base/hash.js';
import { sentences } from '../base/sentences.js';
import { pageOf } from '../pages/page.js';
import type { PageSettings } from '../pages/result.js';
import { schemaValue } from '../pages/schema-value.js';
import { findUrls } from '../pages/search-index.js';
import { endOf, isTerminalAt, type Run, statusAt, stopReasonOf } from './run.js';
import { noUsage, usageOf } from './run-usage.js';

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
