import { readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { CancelledFailure } from '@temporalio/common';
import { parseSync, Visitor } from 'oxc-parser';
import { expect, it } from 'vitest';
import { toFailure } from '../../../src/activities/call/failure.js';
import { codeOfError } from '../../../src/core/errors/code-of.js';
import { type ErrorCode, errorFixes } from '../../../src/core/errors/registry.js';
import { exitCodeOfUsage, exitCodes } from '../../../src/core/processes/exit-codes.js';
import { BodiesGone } from '../../../src/core/purchase/journal.js';
import { OverBudget } from '../../../src/core/purchase/spend.js';
import { WarehouseUnusable } from '../../../src/core/rows/warehouse-errors.js';
import { CsvError } from '../../../src/rows/csv-error.js';
import { JobFailed, JobStopped } from '../../../src/worker/config/runtime-types.js';

const src = fileURLToPath(new URL('../../../src/', import.meta.url));
const files = readdirSync(src, { recursive: true, encoding: 'utf8' })
  .map((file) => file.replaceAll('\\', '/'))
  .filter((file) => file.endsWith('.ts') && !file.startsWith('sandbox/'));

/** Classes of errors without a code, by the files that throw them, and why no person reads them as they are. */
const internal: Readonly<Record<string, string>> = {
  'activities/operations/buy.ts CancelledFailure': 'the cancellation of Temporal',
  'activities/rows/enrich-slice.ts CancelledFailure': 'the cancellation of Temporal',
  'activities/rows/run-purchase.ts Error': 'a defect of this program',
  'api/request.ts TypeError': 'a mistake of a program; commands check their settings before',
  'api/verify-webhook.ts TypeError': 'a mistake of a program: an argument of the wrong type',
  'api/stream/sse.ts EventTooLarge': 'the reader of the stream turns it into an ApiError',
  'api/wire/decode-body.ts UnreadableBody': 'the transport turns it into an ApiError',
  'cli/program.ts InvalidArgumentError': 'commander turns it into its own error, which has a code',
  'cli/shared/sandbox-thread.ts Error': 'a defect of this program',
  'core/connections/postgres-address.ts Error': 'the end of a sentence of the caller',
  'core/connections/proxies.ts TypeError': 'the sentence of the caller: settings report it',
  'core/purchase/digest-map.ts RangeError': 'a defect of this program',
  'core/text/exact-json.ts SyntaxError': 'like that of JSON.parse: the reader of the text catches it',
  'rows/csv-parser.ts Error': 'a defect of this program',
  'rows/template.ts MissingValue': 'MissingValue: the row is loaded as a bad row',
  'store/file/file-journal.ts Error': 'a defect of this program',
  'store/file/unit-bodies.ts Error': 'a defect of this program',
  'store/postgres/journal/pg-journal.ts ClaimLost': 'the claim is repeated',
  'store/postgres/journal/pg-journal.ts Error': 'a defect of this program',
  'store/postgres/pg-stages.ts Error': 'a defect of this program',
  'store/file/spend.ts Error': 'the reason in the sentence of the caller',
  'warehouse/events/event-store.ts Error': 'a defect of this program',
  'warehouse/events/load-batch.ts Replaces': 'ends an attempt, which is repeated in another way',
  'warehouse/events/load-pages.ts NotAllNew': 'ends an attempt, which is repeated in another way',
  'warehouse/shared/relation.ts Error': 'a defect of this program',
  'worker/config/price-file.ts Error': 'the end of a sentence of the caller',
  'worker/config/warehouse-setting.ts Error': 'the end of a sentence of the caller',
  'worker/control/workflow-handle.ts WorkflowNotFoundError': 'caught by the same class',
  'worker/host/plugin.ts Error': 'the worker is not running: a mistake of a program',
  'worker/temporal-server/open-client.ts Error': 'retried until the namespace exists',
  'worker/temporal-server/server-supervisor.ts Error': 'a line of the log in the sentence of a command',
  'worker/temporal-server/download.ts Error': 'a reason in the sentence of the caller',
  'webhook.ts TypeError': 'a mistake of a program: an empty secret',
  'worker/config/alert-setting.ts Wrong': 'turned into a UsageError that names the setting',
  'worker/config/service-setting.ts Wrong': 'turned into a UsageError that names the setting',
  'worker/config/settings.ts Wrong': 'turned into a UsageError that names the setting',
  'worker/config/warehouse-setting.ts Wrong': 'turned into a UsageError that names the setting',
  'worker/config/alert-setting.ts Error': 'the end of the sentence about a setting',
  'worker/config/database-setting.ts Error': 'the end of the sentence about a setting',
  'worker/config/service-setting.ts Error': 'the end of the sentence about a setting',
  'worker/config/settings.ts Error': 'the end of the sentence about a setting',
  'worker/config/temporal-setting.ts Error': 'the end of the sentence about a setting',
  'worker/config/variables.ts Error': 'the end of the sentence about a setting',
  'workflows/monitors.ts Error': 'refuses an Update; the command reports it with a code',
  'workflows/runs.ts Error': 'the reason of a cleanup, which the workflow reports itself',
};

/** The classes that get their code from the place that throws. */
const withCode = ['UsageError', 'CsvError', 'InputUnsteady'];

interface Site {
  readonly file: string;
  readonly name: string;
}

/** The classes of `src` whose errors have a code, the errors that are thrown, and every text. */
function read() {
  const parents = new Map<string, string>();
  const coded = new Set<string>();
  const sites: Site[] = [];
  const texts = new Set<string>();
  const made: (Site & { readonly code: ErrorCode })[] = [];
  for (const file of files) {
    const source = readFileSync(src + file, 'utf8');
    const { program } = parseSync(file, source);
    const visitor = new Visitor({
      ClassDeclaration({ id, superClass, body: { start, end } }) {
        if (id === null) return;
        if (superClass?.type === 'Identifier') parents.set(id.name, superClass.name);
        if (source.slice(start, end).includes('errorCode')) coded.add(id.name);
      },
      ThrowStatement({ argument }) {
        if (argument.type === 'NewExpression' && argument.callee.type === 'Identifier')
          sites.push({ file, name: argument.callee.name });
      },
      NewExpression({ callee, arguments: [first] }) {
        if (callee.type === 'Identifier' && withCode.includes(callee.name) && first?.type === 'Literal')
          made.push({ file, name: callee.name, code: first.value as ErrorCode });
      },
      Literal({ value }) {
        if (typeof value === 'string' && file !== 'core/errors/registry.ts') texts.add(value);
      },
    });
    visitor.visit(program);
  }
  const isCoded = (name: string): boolean => coded.has(name) || (parents.has(name) && isCoded(parents.get(name) ?? ''));
  return { isCoded, sites, made, texts };
}
const { isCoded, sites, made, texts } = read();

it('each error that is thrown has a code, or never reaches a person', () => {
  expect(sites.length).toBeGreaterThan(300);
  const without = sites
    .filter(({ name }) => !isCoded(name) && name !== 'JobFailed' && name !== 'JobStopped')
    .map(({ file, name }) => `${file} ${name}`);
  expect(
    without.filter((site) => !(site in internal)),
    'Throw a class with a code, such as CodedError of src/core/errors, or add the site to the list with the reason.',
  ).toEqual([]);
  expect(Object.keys(internal).filter((site) => !without.includes(site))).toEqual([]);
});

it('an outage never has the exit code of a wrong command, which schedulers do not retry', () => {
  // A Temporal server that refuses the login has exit code 2.
  const outages = made.map(({ code }) => code).filter((code) => /^(?!temporal).*-unreachable$/.test(code));
  for (const code of [...outages, 'postgres-unreachable', 'source-unreachable'] as const)
    expect([code, exitCodeOfUsage(code)]).toEqual([code, exitCodes.failed]);
});

it('an error keeps its code on its way through Temporal', () => {
  const through = (error: Error) => codeOfError(new JobFailed('it failed', { cause: toFailure(error, 10) as Error }));
  expect(through(new WarehouseUnusable('warehouse-full', 'm'))).toBe('warehouse-full');
  expect(through(new CsvError('key-not-unique', 'm'))).toBe('key-not-unique');
  expect(through(new OverBudget('month', 5, 0, 0, 77))).toBe('team-budget-reached');
  expect(through(new BodiesGone(['k']))).toBe('answers-gone');
  expect(through(Object.assign(new Error('m'), { code: '42501' }))).toBe('postgres-rights-missing');
  expect(through(new TypeError('m'))).toBe('job-failed');
  expect(codeOfError(new JobFailed('m', { cause: new CancelledFailure('m') }))).toBe('job-cancelled');
  expect(codeOfError(new JobStopped('m'))).toBe('job-stopped');
});

it('each code is used', () => {
  expect(Object.keys(errorFixes).filter((code) => !texts.has(code))).toEqual([]);
});

it('an error of a library is unexpected, and a circle of causes ends', () => {
  const circle = new Error('a');
  circle.cause = circle;
  for (const error of [circle, new TypeError('x is not a function'), 'text', null, undefined])
    expect(codeOfError(error)).toBe('unexpected');
});
