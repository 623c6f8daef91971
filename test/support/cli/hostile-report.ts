import type { Output } from '../../../src/api/command-outputs.js';

/** Texts that break out of a page which does not escape them. */
export const hostile = [
  '<script>document.title="owned"</script>',
  '"><img src=x onerror="document.title=`owned`">',
  "' style='position:fixed' onload='document.title=1",
  '</title></style></svg><iframe src="https://evil.example/"></iframe>',
  '{{ page.title }}{% raw %}{{ style | raw }}',
  '\u202egnp.exe\u0000\u001b[31m',
] as const;

const [script, image, attribute, ends, template, marks] = hostile;
const long = 'x'.repeat(400);
const at = Date.UTC(2026, 10, 25, 12);
const DAY_MS = 86_400_000;

/** A report with hostile texts everywhere, and all sections. */
export const hostileReport: Output<'report'> = {
  kind: 'report',
  about: 'job',
  job: {
    ...{ job: `brands-1${image}`, name: `${script}${long}`, phase: 'stopped', message: `stopped: ${ends}` },
    ...{ operation: image, input: `/data/${attribute}.csv`, into: `postgres://host/db?schema=${template}` },
    rows: { rows: 1000, success: 700, error: 200, invalid: 50, missing: 50, vanished: 7, tags: {} },
    usage: null,
  },
  origin: `https://api.example/${script}`,
  team: marks,
  at: at,
  since: at - 30 * DAY_MS,
  until: at + DAY_MS / 2,
  active: { since: at - 3_600_000, until: at, stepMs: 300_000 },
  limits: { profile: ends, windowMs: 10_000, buckets: [{ name: image, qps: 10, classes: ['*'] }] },
  activity: Array.from({ length: 12 }, (_, nth) => ({
    bucket: image,
    at: at - 3_600_000 + nth * 300_000,
    requests: 100 + nth,
    units: 100 + nth,
    active: 3,
    busiest: 60 + nth,
    answered: 95,
    seconds: 40 + nth,
    slowest: 3,
    limited: nth % 4 === 0 ? 2 : 0,
    waitSeconds: 4,
    failed: 1,
    lost: 1,
  })),
  days: [script, 'search', 'answer'].flatMap((operation, nth) =>
    ['2026-11-23', '2026-11-24', '2026-11-25'].map((day) => ({
      ...{ day, operation, requests: 12, units: 120, landedMicros: 120_000 * (nth + 1), openMicros: 1000 },
      ...{ unknownOutcomes: 1, unknownMicros: 5000 },
    })),
  ),
  caps: { dayMicros: 1_000_000, monthMicros: null },
  spent: {
    day: { since: at, landedMicros: 720_000, openMicros: 3000, unknownMicros: 15_000 },
    month: { since: at, landedMicros: 2_160_000, openMicros: 9000, unknownMicros: 45_000 },
  },
  unknown: [{ book: 'b', operation: image, units: 1, intendedAt: at, reason: `${ends}${long}`, estimateMicros: 5000 }],
  unknownCount: 2,
  figures: {
    summary: {
      ...{ rows: 1000, success: 700, error: 200, invalid: 50, missing: 50, vanished: 7, tags: {} },
      misfits: { [script]: 3, [template]: 1 },
    },
    tags: [
      { status: 'success', tag: null, rows: 700 },
      { status: 'error', tag: script, rows: 150 },
      { status: image, tag: `${attribute}${long}`, rows: 50 },
    ],
    loads: Array.from({ length: 12 }, (_, nth) => ({
      at: at - 3_600_000 + nth * 300_000,
      rows: 80,
      failed: nth,
    })),
    viewRows: 950,
    nulls: [...hostile, long].map((column, nth) => ({ column, nulls: nth * 100 })),
    runs: [],
  },
  jobs: [],
  runs: [
    {
      job: 'brands-1',
      run: 'r1',
      scheduled: true,
      phase: 'stopped',
      reason: 'budget',
      message: `${image}${ends}`,
      rows: 1000,
      success: 700,
      error: 200,
      invalid: 50,
      missing: 50,
      vanished: 7,
      requests: 36,
      costMicros: 720_000,
      ...{ startedAt: at - 3_600_000, endedAt: at },
    },
  ],
  streams: [],
  missing: [ends],
};

/** The same for the team. */
export const hostileTeam: Output<'report'> = {
  ...hostileReport,
  about: 'team',
  job: null,
  figures: null,
  unknown: [],
  jobs: hostile.map((name, nth) => ({
    ...{ job: `job-${nth}`, name, phase: nth === 0 ? 'failed' : 'done', message: ends },
    rows: nth === 1 ? null : { rows: 10, success: 8, error: 2, invalid: 0, missing: 0, vanished: 0, tags: {} },
    usage: {
      group: 'g',
      requests: 1,
      units: 10,
      landedMicros: 10_000,
      openMicros: 0,
      unknownOutcomes: nth,
      unknownMicros: 0,
    },
  })),
  streams: hostile.map((stream, nth) => ({
    ...{ stream, into: image, upTo: nth === 0 ? null : at - nth * 60_000, completedAt: at, pending: nth },
  })),
};
