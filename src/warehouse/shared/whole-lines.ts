/** Returns the bytes of lines in pieces that end with a line feed, and then the torn end, if there is one. A long line is in one piece. */
export async function* wholeLines(chunks: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  let rest: Buffer[] = [];
  for await (const chunk of chunks) {
    const end = chunk.lastIndexOf(10) + 1;
    rest.push(end === 0 ? chunk : chunk.subarray(0, end));
    if (end === 0) continue;
    yield Buffer.concat(rest);
    rest = end === chunk.length ? [] : [chunk.subarray(end)];
  }
  if (rest.length > 0) yield Buffer.concat(rest);
}
