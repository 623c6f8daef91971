import { randomUUID } from 'node:crypto';
import { expect, it, onTestFinished } from 'vitest';
import { workflowNames } from '../../../src/core/rows/job-names.js';
import type { AgentRunResult } from '../../../src/core/workflow-result-schemas.js';
import { startService } from '../../service/service.mjs';
import { Folder } from '../../support/jobs/folder.js';
import { startHost } from '../../support/jobs/host.js';
import { temporalOfFile } from '../../support/temporal.js';

const temporal = temporalOfFile();

const SLOTS = 5;
const RUNS = 60;

it('workflows that run agents fill the slots of the team and never use more', async () => {
  const service = await startService({ qps: 50, agents: { slots: SLOTS, durationMs: { min: 1000, max: 3000 } } });
  const folder = Folder.ofTest();
  // One of the slots is taken by another client's run.
  const other = await fetch(`${service.url}/agent/runs`, {
    method: 'POST',
    headers: { 'x-api-key': service.key },
    body: JSON.stringify({ query: 'theirs' }),
  });
  const theirs = (await other.json()) as { id: string };
  const run = service.agents.runs.get(theirs.id);
  if (run) run.endsAt = Number.POSITIVE_INFINITY;
  const host = await startHost(temporal, folder.config(service.url, { agentSlots: SLOTS, rate: { qps: 50 } }));
  onTestFinished(async () => {
    await host.stop();
    await service.close();
  });
  const results = await Promise.all(
    Array.from({ length: RUNS }, (_, index) =>
      // Each query has two workflows, which share one run.
      temporal.client.workflow.execute(workflowNames.runAgent, {
        workflowId: randomUUID(),
        taskQueue: folder.dir,
        args: [{ query: `q${index % (RUNS / 2)}`, effort: 'low' }],
      }),
    ),
  );
  expect(results).toHaveLength(RUNS);
  const { starts, runs } = service.agents.report();
  const ours = starts.slice(1);
  expect(ours.filter(({ refused }) => refused !== null)).toEqual([]);
  expect(ours.map(({ query }) => query).sort()).toEqual([...new Set(ours.map(({ query }) => query))].sort());
  expect(ours).toHaveLength(RUNS / 2);
  const bought = (results as AgentRunResult[]).filter(({ requests }) => requests[0]?.bought);
  expect(bought.length).toBeGreaterThanOrEqual(RUNS / 2);
  const [from, to] = [ours[SLOTS - 2]?.at ?? 0, ours.at(-1)?.at ?? 0];
  const busy = runs
    .filter(({ id }) => id !== theirs.id)
    .reduce((sum, one) => sum + Math.max(0, Math.min(one.endsAt, to) - Math.max(one.startedAt, from)), 0);
  // On average more than two of the four slots are in use, with runs of two seconds whose end is noticed within half a second. The bench
  // measures long runs.
  expect(busy / (to - from)).toBeGreaterThan(2);
  expect(await host.parts.deps.journal.totals('calls/')).toMatchObject({
    requests: RUNS / 2,
    unknown: [],
    openMicros: 0,
  });
}, 120_000);
