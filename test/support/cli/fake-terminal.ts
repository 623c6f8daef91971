import { PassThrough } from 'node:stream';
import { type OutputFlags, openTerminal, type Terminal } from '../../../src/cli/shared/terminal.js';

/** A real terminal object over streams in memory. */
export function fakeTerminal(
  options: {
    readonly tty?: boolean;
    readonly env?: Readonly<Record<string, string | undefined>>;
    readonly flags?: OutputFlags;
  } = {},
): {
  readonly terminal: Terminal;
  out(): string;
  err(): string;
} {
  const texts = { out: '', err: '' };
  const stream = (name: 'out' | 'err') => {
    const stream = Object.assign(new PassThrough(), { isTTY: options.tty ?? false, columns: 100 });
    stream.on('data', (chunk: Buffer) => {
      texts[name] += chunk.toString('utf8');
    });
    return stream;
  };
  const raw = { isTTY: options.tty ?? false, setRawMode: () => undefined };
  const stdin = Object.assign(new PassThrough(), raw) as unknown as NodeJS.ReadStream;
  const { env = {}, flags = {} } = options;
  const terminal = openTerminal({ env, flags, stdin, stdout: stream('out'), stderr: stream('err') });
  return { terminal, out: () => texts.out, err: () => texts.err };
}
