import { z } from 'zod';
import { withoutUndefined } from '../../core/text/without-undefined.js';
import { checkInput } from '../base/check-input.js';
import { checkOutputSchema, outputSchemaSchema } from '../pages/synthesis.js';
import { type Monitor, metadataSchema, nameSchema, searchSchema, triggerSchema, webhookSchema } from './monitor.js';

const createSchema = z.looseObject({
  name: nameSchema.nullable().optional(),
  search: searchSchema,
  trigger: triggerSchema.nullable().optional(),
  outputSchema: outputSchemaSchema.nullable().optional(),
  metadata: metadataSchema.nullable().optional(),
  webhook: webhookSchema,
});

const updateSchema = z.looseObject({
  name: nameSchema.nullable().optional(),
  status: z.enum(['active', 'paused']).optional(),
  search: searchSchema.partial().optional(),
  trigger: triggerSchema.nullable().optional(),
  outputSchema: outputSchemaSchema.nullable().optional(),
  metadata: metadataSchema.nullable().optional(),
  webhook: webhookSchema.partial().optional(),
});

/** The settings of a monitor that a caller chooses. */
export type MonitorWishes = Pick<Monitor, 'name' | 'search' | 'trigger' | 'outputSchema' | 'metadata' | 'webhook'>;

/** Checks the body of `POST /monitors`. */
export function checkMonitor(input: unknown): MonitorWishes {
  const {
    name = null,
    search,
    trigger = null,
    outputSchema = null,
    metadata = null,
    webhook,
  } = checkInput(createSchema, input);
  checkOutputSchema(outputSchema);
  return { name, search, trigger, outputSchema, metadata, webhook };
}

/**
 * Checks the body of `PATCH /monitors/{id}` and returns a function that makes the change. The fields of `search` and `webhook`
 * are merged; null removes a field.
 */
export function checkUpdate(input: unknown): (monitor: Monitor) => Monitor {
  const change = checkInput(updateSchema, input);
  checkOutputSchema(change.outputSchema);
  return (monitor) => ({
    ...monitor,
    name: orKept(change.name, monitor.name),
    status: change.status ?? monitor.status,
    search: { ...monitor.search, ...withoutUndefined(change.search ?? {}) },
    trigger: orKept(change.trigger, monitor.trigger),
    outputSchema: orKept(change.outputSchema, monitor.outputSchema),
    metadata: orKept(change.metadata, monitor.metadata),
    webhook: { ...monitor.webhook, ...withoutUndefined(change.webhook ?? {}) },
  });
}

function orKept<T>(change: T | undefined, kept: T): T {
  return change === undefined ? kept : change;
}
