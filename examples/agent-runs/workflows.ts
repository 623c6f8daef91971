import { ApplicationFailure, executeChild } from '@temporalio/workflow';
import { runAgent } from 'searchflow/workflows';

// A plugin cannot contain workflows, so this line adds those of searchflow to your own.
export * from 'searchflow/workflows';

export interface Brief {
  readonly facts: unknown;
  readonly outlook: string | null;
  readonly costDollars: number;
}

/** Two agent runs in a chain: the second continues from the results of the first. Cancelling the chain cancels its current run. */
export async function companyBrief(company: string, outputSchema: object): Promise<Brief> {
  const first = await executeChild(runAgent, {
    args: [{ query: `What does ${company} make, and since when?`, outputSchema, effort: 'low' }],
  });
  if (first.status !== 'completed') throw ApplicationFailure.nonRetryable(`the run ended ${first.status}`);
  const second = await executeChild(runAgent, {
    args: [{ query: 'And what is it expected to do next?', previousRunId: first.runId, effort: 'low' }],
  });
  return {
    facts: first.structured,
    outlook: second.text,
    costDollars: first.costDollars + second.costDollars,
  };
}
