import { z } from 'zod';
import { checkInput } from '../base/check-input.js';
import { metadataSchema } from '../monitors/monitor.js';
import { jsonWork, type Route } from '../route.js';
import { passes } from './monitors.js';

const schema = z.looseObject({
  action: z.enum(['delete', 'pause', 'unpause']),
  filter: z
    .looseObject({
      name: z.string().max(250).optional(),
      status: z.enum(['active', 'paused', 'disabled']).optional(),
      metadata: metadataSchema.optional(),
    })
    .refine(({ name, status, metadata }) => name !== undefined || status !== undefined || metadata !== undefined, {
      message: 'at least one of name, status and metadata',
    }),
  dry_run: z.boolean().default(true),
  limit: z.number().int().min(1).max(500).default(50),
});

/**
 * `POST /monitors/batch`: changes the first `limit` monitors that match the filter. A paused monitor still matches a filter
 * without a status, so a client that repeats the call until nothing matches never ends, as with the service. Disabled monitors
 * can only be deleted.
 */
export const batchMonitors: Route = (input, { monitors }) => {
  const { action, filter, dry_run, limit } = checkInput(schema, input);
  return () => {
    const found = monitors
      .list()
      .filter((one) => passes(one, filter) && (action === 'delete' || one.status !== 'disabled'));
    const ids = found.slice(0, limit).map(({ id }) => id);
    if (!dry_run) {
      for (const id of ids) {
        if (action === 'delete') monitors.delete(id);
        else monitors.update(id, (one) => ({ ...one, status: action === 'pause' ? 'paused' : 'active' }));
      }
    }
    return jsonWork({ action, affected: ids.length, ids, dry_run, has_more: found.length > limit });
  };
};
