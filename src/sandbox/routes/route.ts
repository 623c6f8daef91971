import type { z } from 'zod';
import type { Crawler } from '../crawl.js';
import type { PrebuiltPages } from '../prebuilt.js';
import type { Purchase } from '../purchase-book.js';
import { Refusal } from '../refusal.js';
import type { PageSettings } from '../result.js';

/** What a route works with. */
export interface Desk {
  readonly pages: PageSettings;
  readonly crawler: Crawler;
  readonly prebuilt: PrebuiltPages | null;
}

/** Work that was done: the body of its answer, and what it bought. */
export interface Work {
  readonly body: Buffer;
  readonly purchase: Purchase;
}

/** Checks a request's JSON (throws a {@link Refusal}) and answers with the work, which is done later: after the latency. */
export type Route = (input: unknown, desk: Desk) => (requestId: string) => Work;

/** Checks a body against a schema; the refusal names the first few fields that are wrong. */
export function checkInput<T>(schema: z.ZodType<T>, input: unknown): T {
  const parsed = schema.safeParse(input);
  if (parsed.success) return parsed.data;
  const told = parsed.error.issues.slice(0, 5).map(({ path, message }) => `${path.join('.') || 'body'}: ${message}`);
  throw new Refusal(400, 'INVALID_REQUEST_BODY', `Invalid request body: ${told.join('; ')}`);
}
