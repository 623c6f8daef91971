import type * as workflows from '#searchflow/workflows/index.js';

type Workflows = typeof workflows;
type Result<Name extends keyof Workflows> = Partial<Awaited<ReturnType<Workflows[Name]>>>;

/** Stubs by the names of the workflows: a result, or a function of the input of the workflow. */
export type WorkflowMocks = {
  readonly [Name in keyof Workflows]?:
    | Result<Name>
    | ((...input: Parameters<Workflows[Name]>) => Result<Name> | Promise<Result<Name>>);
};

/**
 * Returns stubs of the workflows of `searchflow/workflows`, for a workflow file of tests: `export const { enrichCsv } = mockWorkflows({ … })`.
 * An export of this kind wins over `export *`. For workflow code.
 */
export function mockWorkflows(mocks: WorkflowMocks): {
  readonly [Name in keyof Workflows]: (...input: Parameters<Workflows[Name]>) => Promise<Result<Name>>;
} {
  const stubs = Object.entries(mocks).map(([name, mock]) => [
    name,
    async (...input: never[]) =>
      typeof mock === 'function' ? (mock as (...given: never[]) => unknown)(...input) : mock,
  ]);
  return Object.fromEntries(stubs);
}
