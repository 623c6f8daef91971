import { stripVTControlCharacters } from 'node:util';
import type { Log } from '../../worker/config/runtime-types.js';
import type { Terminal } from '../shared/terminal.js';

/** A log of JSON lines on stdout: `time`, `level`, `message` and further fields. Secrets are redacted as in every other output. */
export function jsonLog(terminal: Terminal, now: () => number = Date.now): Log {
  return ({ level, message, ...fields }) =>
    terminal.data(JSON.stringify({ time: new Date(now()).toISOString(), level, message, ...fields }));
}

/** A terminal whose texts become lines of the log. */
export function linesOf(terminal: Terminal, log: Log): Terminal {
  const say = (text: string) => log({ level: 'INFO', message: stripVTControlCharacters(text) });
  const cannotAsk = 'SEARCHFLOW_LOG=json is set';
  return { ...terminal, live: false, asks: false, cannotAsk, say, note: say, show: () => undefined };
}
