import { createRequire } from 'node:module';

// Use the SDK's copy of the schema, so that histories are read exactly as the replaying worker reads them.
const fromClient = createRequire(createRequire(import.meta.url).resolve('@temporalio/client'));

/** Protobuf message of a workflow's history: `encode(history).finish()` and `decode(bytes)`. */
export const { History } = fromClient('@temporalio/proto').temporal.api.history.v1;

/** Removes the stack traces from a history: replay needs none, and they name folders of the machine that recorded it. */
export function withoutStackTraces(history) {
  const clear = (value) => {
    if (typeof value !== 'object' || value === null || ArrayBuffer.isView(value)) return;
    if (typeof value.stackTrace === 'string') value.stackTrace = '';
    for (const part of Object.values(value)) clear(part);
  };
  clear(history);
  return history;
}
