import { createRequire } from 'node:module';

// The SDK's own copy: histories must be read as the worker that replays them would.
const fromClient = createRequire(createRequire(import.meta.url).resolve('@temporalio/client'));

/** Protobuf message of a workflow's history: `encode(history).finish()` and `decode(bytes)`. */
export const { History } = fromClient('@temporalio/proto').temporal.api.history.v1;
