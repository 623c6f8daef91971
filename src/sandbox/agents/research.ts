import { z } from 'zod';
import { millisOf } from '../base/options.js';
import { listQueryOf } from '../base/refusal.js';
import { fraction, hashText, toUuid } from '../base/sentences.js';
import { requestPurchase } from '../ledger/log-file.js';
import { checkSchema } from '../pages/synthesis.js';
import { plain, type Routes, route, type State } from '../route.js';
import { type ResearchTask, taskRecord } from './research-task.js';

const recordOf = (task: ResearchTask, { now, options }: State) => taskRecord(task, now(), options);

export const researchRoutes: Routes = {
  'POST /research/tasks': route({
    body: z.looseObject({
      input: z.looseObject({ instructions: z.string().min(1).max(4096) }),
      output: z.looseObject({ schema: z.record(z.string(), z.unknown()) }).optional(),
    }),
    work: ({ research, options, now }, { body, input }) => {
      const outputSchema = body.output?.schema ?? null;
      checkSchema(outputSchema, 'the schema');
      const { maxInProgress, durationMs, failureRate } = options.research;
      const { id } = research.start(maxInProgress, 'RATE_LIMIT_EXCEEDED', (digits) => {
        const hash = hashText(toUuid(digits), options.seed);
        const endsAt = now() + millisOf(durationMs, fraction(hash, 131));
        const { instructions } = body.input;
        return { id: toUuid(digits), endsAt, failed: fraction(hash, 132) < failureRate, instructions, outputSchema };
      });
      return { json: { id }, purchase: requestPurchase('createResearchTask', input, 0, id) };
    },
  }),
  'GET /research/tasks': route({
    query: listQueryOf(200, 25, {}),
    work: (state, { requestId, query }) => {
      return { json: { requestId, ...state.research.page(query, (task) => recordOf(task, state)) } };
    },
  }),
  'GET /research/tasks/:id': plain((state, { id }) => recordOf(state.research.get(id), state)),
};
