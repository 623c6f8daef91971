import type * as workflows from '#searchflow/workflows/index.js';
import { checkMocks } from './check-mocks.js';
import type { Exact } from './mock-operations.js';

type Workflows = typeof workflows;
type Input<Name> = Parameters<Workflows[Name & keyof Workflows]>;
type Result<Name> = Partial<Awaited<ReturnType<Workflows[Name & keyof Workflows]>>>;
type Results = { readonly [Name in keyof Workflows]?: Result<Name> };
type Mock<Name, R> = (...input: Input<Name>) => R | Promise<R>;

/** Stubs by the names of the workflows: functions of the input of the workflow, which return some fields of its result. */
export type WorkflowMocks = { readonly [Name in keyof Workflows]?: Mock<Name, Result<Name>> };
type ExactMocks<R> = { readonly [Name in keyof R]: Mock<Name, Exact<R[Name], Result<Name>>> };

const names = Object.keys({
  ...{ backfillEvents: true, batchMonitors: true, createMonitor: true, deliverAlert: true, enrichCsv: true },
  ...{ enrichRows: true, exportMonitorRuns: true, monitorCall: true, runAgent: true, runAgentRows: true },
  ...{ runResearch: true, scheduledJob: true, syncAgentRuns: true, syncEvents: true },
} satisfies Record<keyof Workflows, true>);

/**
 * Returns stubs of the workflows of `searchflow/workflows`, for a workflow file of tests: `export const { enrichCsv } = mockWorkflows({ … })`.
 * An export of this kind wins over `export *`. For workflow code. Throws for a stub of an unknown workflow, and for one that is no function.
 */
export function mockWorkflows<R extends Results>(
  mocks: ExactMocks<R>,
): { readonly [Name in keyof R]: (...input: Input<Name>) => Promise<Result<Name>> } {
  checkMocks('mockWorkflows', mocks, 'a workflow', names);
  const stub =
    (mock: unknown) =>
    async (...input: unknown[]) =>
      (mock as (...given: unknown[]) => unknown)(...input);
  return Object.fromEntries(Object.entries(mocks).map(([name, mock]) => [name, stub(mock)])) as never;
}
