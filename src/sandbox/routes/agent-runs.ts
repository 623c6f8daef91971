import { z } from 'zod';
import { Refusal } from '../refusal.js';
import { checkInput, type Route } from './route.js';

const schema = z.looseObject({ query: z.string().min(1) });

/** `POST /agent/runs`: bad bodies get their 400 in the agent's own envelope; a good one is refused, as no runs are served here. */
export const agentRuns: Route = (input) => {
  checkInput(schema, input);
  throw new Refusal(404, 'NOT_FOUND', 'This sandbox serves no agent runs');
};
