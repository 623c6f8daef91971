import { Client, Connection } from '@temporalio/client';
import { loadClientConnectConfig } from '@temporalio/envconfig';
import { type AgentRunResult, toOutputSchema } from 'searchflow';
import { z } from 'zod';

const [company = 'Acme'] = process.argv.slice(2);
const taskQueue = 'agent-runs';

const { connectionOptions, namespace } = loadClientConnectConfig();
const connection = await Connection.connect(connectionOptions);
const client = new Client({ connection, namespace });

// The zod schema of the structured output. The result is also checked against this schema.
const facts = z.object({ product: z.string(), founded: z.int().nullable() });
const outputSchema = toOutputSchema(facts);

// One run. A later workflow with the same request gets the same answer, without another run.
const run: AgentRunResult = await client.workflow.execute('runAgent', {
  taskQueue,
  workflowId: `about-${company}`,
  args: [{ query: `What does ${company} make, and since when?`, outputSchema, effort: 'low' }, { maxCostDollars: 1 }],
});
const { product, founded } = facts.parse(run.structured);
console.log(`${company} makes ${product} since ${founded ?? 'an unknown year'} (${run.status}, $${run.costDollars}).`);
for (const { citations } of run.grounding as { citations: { url: string }[] }[])
  for (const { url } of citations) console.log(`  ${url}`);

// A chain of two runs. The first has the same request as the run above, so it is not bought again.
const brief = await client.workflow.execute('companyBrief', {
  taskQueue,
  workflowId: `brief-${company}`,
  args: [company, outputSchema],
});
console.log(JSON.stringify(brief, null, 2));
await connection.close();
