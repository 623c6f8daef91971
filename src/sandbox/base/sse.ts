/** A frame of an event stream with JSON; `id` and `event` are optional. */
export function sseFrame(data: unknown, { id, event }: { readonly id?: string; readonly event?: string } = {}): string {
  const lines = [...(id === undefined ? [] : [`id: ${id}`]), ...(event === undefined ? [] : [`event: ${event}`])];
  return `${[...lines, `data: ${JSON.stringify(data)}`].join('\n')}\n\n`;
}

/** The frame that ends a streamed search or answer. */
export const DONE_FRAME = 'data: [DONE]\n\n';

/** A comment, which keeps a silent connection open. A comment is not an event. */
export const KEEP_ALIVE_FRAME = ': keep-alive\n\n';
