import type { PageSettings } from '../pages/result.js';
import { findUrls } from '../pages/search-index.js';
import { findingsOf, type ResearchTask, taskCost } from './research-task.js';

/** An event of a v1 task. `createdAt`: milliseconds, as in the API. */
export interface ResearchEvent {
  readonly eventType: string;
  readonly createdAt: number;
  readonly [name: string]: unknown;
}

/** All events of a task from its definition to its output, with their times. */
export function researchEvents(task: ResearchTask, pages: PageSettings): ResearchEvent[] {
  const { id: researchId, instructions, outputSchema, createdAt, endsAt } = task;
  const [planId, taskId] = [`plan_${researchId.slice(0, 8)}`, `task_${researchId.slice(0, 8)}`];
  const urls = findUrls({ query: instructions }, 3, pages);
  const search = { type: 'search', searchType: 'auto', query: instructions, pageTokens: 800 };
  const steps: (Record<string, unknown> & { eventType: string })[] = [
    { eventType: 'research-definition', instructions, outputSchema },
    { eventType: 'plan-definition', planId },
    { eventType: 'plan-operation', planId, operationId: 'op_1', data: { type: 'think', content: 'Where to begin.' } },
    {
      eventType: 'plan-output',
      planId,
      output: { outputType: 'tasks', reasoning: 'One task is enough.', tasksInstructions: [instructions] },
    },
    { eventType: 'task-definition', planId, taskId, instructions },
    {
      eventType: 'task-operation',
      planId,
      taskId,
      operationId: 'op_2',
      data: { ...search, results: urls.map((url) => ({ url })) },
    },
    {
      eventType: 'task-operation',
      planId,
      taskId,
      operationId: 'op_3',
      data: { type: 'crawl', result: { url: urls[0] }, pageTokens: 400 },
    },
    { eventType: 'task-output', planId, taskId, output: { outputType: 'completed', content: 'The sources agree.' } },
    { eventType: 'research-output', output: outputOf(task, pages) },
  ];
  return steps.map((step, index) => ({
    ...step,
    researchId,
    createdAt: Math.round(createdAt + ((endsAt - createdAt) * index) / (steps.length - 1)),
  }));
}

function outputOf(task: ResearchTask, pages: PageSettings): unknown {
  if (task.failed) return { outputType: 'failed', error: 'The research could not be finished' };
  const { content, parsed } = findingsOf(task, pages);
  const { costDollars } = taskCost(task);
  return { outputType: 'completed', content, ...(parsed === null ? {} : { parsed }), costDollars };
}
