import { DONE_FRAME, sseFrame } from '../../base/sse.js';
import { piecesOf } from '../../pages/synthesis.js';
import type { Frames } from '../../routing/route.js';

interface SearchAnswer {
  readonly requestId: string;
  readonly results: readonly { readonly url: string; readonly id?: unknown; readonly title?: unknown }[];
  readonly output: { readonly content: unknown; readonly grounding: readonly unknown[] };
  readonly searchTime: number;
  readonly costDollars: unknown;
  readonly warnings?: readonly unknown[];
}

/** The answer of a search as a stream: text, grounding, results, done, `[DONE]`. */
export function searchFrames(answer: SearchAnswer): Frames {
  return function* frames() {
    const { requestId, results, output, searchTime, costDollars, warnings } = answer;
    if (warnings) yield sseFrame({ requestId, warnings });
    for (const [index, delta] of piecesOf(output.content).entries()) {
      const role = index === 0 ? { role: 'assistant' } : {};
      const choices = [{ index: 0, delta: { ...role, content: delta }, finish_reason: null }];
      yield sseFrame({ type: 'text-delta', requestId, delta, choices });
    }
    const citations = results.map(({ id, url, title }) => ({ id, url, title }));
    const choices = [{ index: 0, delta: { citations }, finish_reason: 'stop' }];
    yield sseFrame({ type: 'grounding', requestId, grounding: output.grounding, citations, choices });
    yield sseFrame({ type: 'results', requestId, results });
    yield sseFrame({ type: 'done', requestId, output, searchTime, costDollars });
    yield DONE_FRAME;
  };
}
