import type { Grant, Limiter } from '../core/limiter.js';
import { MAX_BLOCK_MS } from '../core/rate.js';
import { Secret } from '../core/secret.js';
import { type ContentsRequest, type ContentsResponse, contentsEndpoint } from './contents.js';
import { type Endpoint, rateClassOf } from './endpoint.js';
import { ApiError } from './errors.js';
import type { Answer } from './read-answer.js';
import { type SearchRequest, type SearchResponse, searchEndpoint } from './search.js';
import { createTransport, type SendOptions, type TransportOptions } from './transport.js';

/** The public service. */
export const DEFAULT_BASE_URL = 'https://api.exa.ai';

export interface ClientOptions extends Omit<TransportOptions, 'apiKey' | 'baseUrl'> {
  /** Null calls without a key. A plain text is wrapped, so that it prints nowhere. */
  readonly apiKey: Secret | string | null;
  /** Default {@link DEFAULT_BASE_URL}. */
  readonly baseUrl?: string;
  /** Holds the team's rate; each call then waits for its turn. Stays the caller's to close. */
  readonly limiter?: Limiter;
}

/** Every operation as a plain function: one attempt, typed in and out, `ApiError` where it fails. */
export interface Client {
  /** Contents of up to 100 URLs (interface section 4.2). A page that fails is a status in the answer. */
  getContents(input: ContentsRequest, options?: SendOptions): Promise<Answer<ContentsResponse>>;
  /** Ranked results for a query (interface section 4.1). */
  search(input: SearchRequest, options?: SendOptions): Promise<Answer<SearchResponse>>;
  /** Cuts what is in flight and closes every connection. */
  close(): Promise<void>;
}

/** Makes a client that needs no Temporal. Throws `TypeError` where key, base URL or headers can't be used. */
export function createClient({ apiKey, baseUrl = DEFAULT_BASE_URL, limiter, ...rest }: ClientOptions): Client {
  const key = typeof apiKey === 'string' ? new Secret(apiKey) : apiKey;
  const transport = createTransport({ ...rest, baseUrl, apiKey: key });

  async function call<I, O>(endpoint: Endpoint<I, O>, input: I, options: SendOptions = {}): Promise<Answer<O>> {
    transport.check(endpoint, input, options);
    if (limiter) await turn(limiter, endpoint, input, options.signal);
    try {
      return await transport.send(endpoint, input, options);
    } catch (error) {
      // The service's word holds for everybody who shares the limiter.
      if (limiter && error instanceof ApiError && error.verdict.blocks && error.facts.retryAfterMs !== null) {
        await limiter.block(Math.min(error.facts.retryAfterMs, MAX_BLOCK_MS), error.message);
      }
      throw error;
    }
  }

  return {
    getContents: (input, options) => call(contentsEndpoint, input, options),
    search: (input, options) => call(searchEndpoint, input, options),
    close: () => transport.close(),
  };
}

/** Waits for a place on the meter and for its moment; a block that began meanwhile voids the place. */
async function turn<I, O>(limiter: Limiter, endpoint: Endpoint<I, O>, input: I, signal?: AbortSignal): Promise<void> {
  let grant: Grant;
  do {
    grant = await limiter.acquire({ rateClass: rateClassOf(endpoint, input), weight: endpoint.weight }, signal);
  } while ((await limiter.start(grant, signal)) === 'blocked');
}
