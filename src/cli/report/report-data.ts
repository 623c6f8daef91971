import type { ReportOutput } from '../../api/outputs/index.js';
import type { Report } from '../../core/report/report.js';

/** Fields whose names are tags or columns. */
const named = new Set(['misfits', 'tags']);
const times = new Set(['at', 'since', 'until', 'startedAt', 'endedAt', 'intendedAt', 'upTo', 'completedAt']);

/** Returns the figures of a report as JSON fields: amounts in dollars, times in ISO 8601, lengths of time in seconds. */
export function reportData({ job, ...rest }: Report): ReportOutput {
  const figures = converted({ job, ...rest }) as Omit<ReportOutput, 'kind' | 'about'>;
  return { kind: 'report', about: job === null ? 'team' : 'job', ...figures };
}

function converted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(converted);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([name, one]) => field(name, one)));
}

function field(name: string, value: unknown): readonly [string, unknown] {
  if (typeof value === 'number') {
    if (times.has(name)) return [name, new Date(value).toISOString()];
    if (name.endsWith('Micros')) return [name.replace(/Micros$/, 'Dollars'), value / 1e6];
    if (name.endsWith('Ms')) return [name.replace(/Ms$/, 'Seconds'), value / 1000];
  }
  if (value === null && name.endsWith('Micros')) return [name.replace(/Micros$/, 'Dollars'), null];
  // The units of an unknown outcome are hashes; their number is enough.
  if (name === 'keys' && Array.isArray(value)) return ['units', value.length];
  return [name, named.has(name) && !Array.isArray(value) ? value : converted(value)];
}
