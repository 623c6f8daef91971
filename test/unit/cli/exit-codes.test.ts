import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { ApplicationFailure, CancelledFailure } from '@temporalio/common';
import { describe, expect, it } from 'vitest';
import { ApiError } from '../../../src/api/wire/errors.js';
import { tooManyFailed } from '../../../src/cli/flag-values.js';
import { buildProgram } from '../../../src/cli/program.js';
import { runEnrich } from '../../../src/cli/rows/enrich.js';
import { statusLine } from '../../../src/cli/rows/status.js';
import { failureOf } from '../../../src/cli/shared/failure-text.js';
import { settings } from '../../../src/cli/shared/session.js';
import { exitCodeMeanings, exitCodeOfPause, exitCodes } from '../../../src/core/processes/exit-codes.js';
import type { JobSummary } from '../../../src/core/row-job-schemas.js';
import { endingFor, sentenceOf } from '../../../src/core/rows/pause.js';
import { CsvError } from '../../../src/rows/csv-error.js';
import { JobFailed, UsageError } from '../../../src/worker/config/runtime-types.js';
import {
  fakeContext,
  fakeHandle,
  fakeRuntime,
  listen,
  plan,
  request,
  summary,
} from '../../support/cli/fake-runtime.js';
import { useFlags } from '../../support/cli/read-flags.js';
import { ofFile } from '../../support/of-file.js';

ofFile(listen);
const allowed = (failOnFailedRows?: true | string) =>
  useFlags('wait', { failOnFailedRows }, ({ failedRows }) => failedRows);
const manner = { dryRun: false, yes: false, asksAlways: false };
/** The exit code of an enrichment that ends with this summary. */
async function codeOf(end: Partial<JobSummary>, flag?: true | string, planned = plan): Promise<number> {
  const whole = { ...summary, ...end };
  const runtime = fakeRuntime({
    plan: async () => planned,
    summary: async () => whole,
    start: async () => fakeHandle({ result: async () => whole }),
  });
  const { context } = fakeContext(runtime.runtime);
  return runEnrich(context, settings(context, {}), request, { ...manner, failedRows: allowed(flag).value as never });
}

describe('exitCodes', () => {
  it('are listed by --help, and by docs/reference/exit-codes.md in the same words', () => {
    let help = '';
    const program = buildProgram('0', () => undefined).configureOutput({
      writeOut: (text) => {
        help += text;
      },
    });
    program.outputHelp();
    const page = readFileSync(fileURLToPath(new URL('../../../docs/reference/exit-codes.md', import.meta.url)), 'utf8');
    const rows = exitCodeMeanings.map(([code, meaning]) => `| \`${code}\` | ${meaning} |`);
    expect(page.match(/^\| `\d+` \| .* \|$/gm)).toEqual(rows);
    expect(exitCodeMeanings.map(([code]) => code)).toEqual(Object.values(exitCodes));
    for (const [code, meaning] of exitCodeMeanings) expect(help).toContain(`${code}`.padEnd(5) + meaning);
  });

  it.each([
    [new UsageError('invalid-argument', 'no'), 2],
    [new UsageError('postgres-unreachable', 'no'), 1],
    [new CsvError('source-unreachable', 'no'), 1],
    [new CsvError('input-empty', 'no'), 2],
    [new Error('no'), 1],
    [new JobFailed('no', { cause: ApplicationFailure.create({ type: 'WarehouseUnusable' }) }), 1],
    [new JobFailed('no', { cause: ApplicationFailure.create({ type: 'Unauthorized' }) }), 4],
    [
      new JobFailed('no', {
        cause: new JobFailed('no', { cause: ApplicationFailure.create({ type: 'PaymentRequired' }) }),
      }),
      4,
    ],
    [new JobFailed('no', { cause: ApplicationFailure.create({ type: 'BudgetExceeded' }) }), 5],
    [new JobFailed('no', { cause: new CancelledFailure('no') }), 6],
    [refusal(403), 4],
    [refusal(402), 4],
    [refusal(404), 1],
  ])('of %s is %d', (error, code) => {
    expect(failureOf(error).exitCode).toBe(code);
  });

  it.each([
    ['key', 4],
    ['credits', 4],
    ['budget', 5],
    ['rate', 6],
    ['person', 6],
    [null, 6],
  ] as const)('of a pause for %s is %d', (reason, code) => {
    expect(exitCodeOfPause(reason)).toBe(code);
  });

  it('of a stopped run is that of its reason', async () => {
    expect(await codeOf({ phase: 'stopped', stoppedFor: 'budget' })).toBe(5);
    expect(await codeOf({ phase: 'stopped', stoppedFor: 'person' })).toBe(6);
    expect(await codeOf({ phase: 'failed' })).toBe(1);
  });
});

describe('--fail-on-failed-rows', () => {
  const complete = { ...plan, status: 'complete', toBuy: 0 } as const;

  it('is needed for failed rows to fail a command; the job is done either way', async () => {
    expect(await codeOf({})).toBe(0);
    expect(await codeOf({}, true)).toBe(3);
    expect(await codeOf({}, '4')).toBe(3);
    expect(await codeOf({}, '5')).toBe(0);
  });

  it('fails a command that finds its job complete, too', async () => {
    expect(await codeOf({}, true, complete)).toBe(3);
    expect(await codeOf({}, '50%', complete)).toBe(0);
  });

  it('counts rows that could not be requested, and accepts a share of the tried rows', () => {
    const rows = { rows: 1000, success: 90, error: 4, invalid: 6, missing: 900, vanished: 3, tags: {} };
    const failed = (flag: string) => tooManyFailed(rows, allowed(flag).value ?? { rows: 0 });
    expect(['9', '10', '9.9%', '10%', '0%', '0'].map(failed)).toEqual([true, false, true, false, true, true]);
    expect(tooManyFailed({ ...rows, error: 0, invalid: 0 }, { rows: 0 })).toBe(false);
  });
});

it('a request that is refused before it is sent is wrong usage, and one that the service refuses is a failure', () => {
  const wrong = new ApiError({
    endpoint: { name: 'search', method: 'POST', path: '/search' },
    facts: { phase: 'refused', status: null, tag: null, retryAfterMs: null },
  } as ConstructorParameters<typeof ApiError>[0]);
  expect([failureOf(wrong).exitCode, failureOf(refusal(400)).exitCode]).toEqual([2, 1]);
});

function refusal(status: number): ApiError {
  return new ApiError({
    endpoint: { name: 'listAgentRuns', method: 'GET', path: '/agent/runs' },
    facts: { phase: 'answer', status, tag: null, retryAfterMs: null },
  } as ConstructorParameters<typeof ApiError>[0]);
}

it.each([
  [
    'NotFound',
    'POST /contents: 404 Not Found',
    'POST /contents: 404 Not Found. Check the address of the service (SEARCHFLOW_BASE_URL).',
    ' To resume it:\n  searchflow resume brands-1',
  ],
  [
    'InvalidRequest',
    'POST /search: 413 Payload Too Large',
    "POST /search: 413 Payload Too Large. Make the request smaller and run the job's command again.",
    '',
  ],
  [
    'InvalidRequest',
    'POST /search: 400 Bad Request',
    "POST /search: 400 Bad Request. Correct the request and run the job's command again.",
    '',
  ],
  ['ServiceUnavailable', 'POST /answer: 500', 'POST /answer: 500.', ' To resume it:\n  searchflow resume brands-1'],
])('a job that ended with %s names one way to continue, the same as its status', (type, message, reason, way) => {
  const failure = { type, message, details: { status: Number(/\d{3}/.exec(message)?.[0]) } };
  const ended = endingFor(failure, 'brands-1');
  const { message: text } = failureOf(new JobFailed(ended.message, { job: 'brands-1', next: ended.next }));
  expect(text).toBe(way === '' ? reason : `${reason}\nPaid results are kept.${way}`);
  const job = { job: 'brands-1', name: 'brands', phase: 'failed', ...ended, since: null, shown: null } as const;
  expect(statusLine(job, 0)).toBe(`brands failed: ${reason.replace(/\.$/, '')}.${way}`);
  expect(sentenceOf(endingFor(failure, null))).not.toContain('resume');
});

it('a failure of work other than a job is shown as it is', () => {
  expect(failureOf(new JobFailed('GET /monitors/x: 404')).message).toBe('GET /monitors/x: 404');
});

it('a missing peer package is named with the command that installs all of them', () => {
  const byImport = (name: string) =>
    Object.assign(new Error(`Cannot find package '${name}' imported from /x.js`), { code: 'ERR_MODULE_NOT_FOUND' });
  const byRequire = (name: string) =>
    Object.assign(new Error(`Cannot find module '${name}'\nRequire stack:\n- /x.js`), { code: 'MODULE_NOT_FOUND' });
  for (const of of [byImport, byRequire]) {
    const { message, code } = failureOf(of('@temporalio/client'));
    expect(message).toMatch(
      /^The package @temporalio\/client is missing\. To install it:\n {2}npm install .*@temporalio\/worker/,
    );
    expect(code).toBe('installation-incomplete');
    expect(failureOf(of('left-pad')).message).toContain("'left-pad'");
  }
});
