import { executeChild } from '@temporalio/workflow';
import { mockWorkflows } from '../../../dist/testing/mock-workflows.js';
import { operations } from '../../../dist/workflows/operations.js';

export * from '../../../dist/workflows/index.js';
export * from '../../../examples/enrich-rows/workflows.js';
export const { enrichCsv } = mockWorkflows({ enrichCsv: ({ input }) => ({ job: `job of ${input}` }) });

/** Starts a job as a child workflow. */
export const nightly = async (input: string) => (await executeChild('enrichCsv', { args: [{ input }] })).job;

/** Makes one call. */
export const call = async (name: 'search' | 'answer' | 'readAnswer', request: object, options: object) =>
  operations({ ...options, retry: { initialInterval: 1 } })[name](request as never);
