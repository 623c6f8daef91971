import type { Writable } from 'node:stream';
import { styleText } from 'node:util';
import { addressSecrets } from '../../core/connections/address-secrets.js';
import { printed } from '../../core/text/printed.js';
import { secretVariables } from '../../worker/config/variables.js';
import { printableLines } from '../text.js';

const styles = ['cyan', 'dim', 'red', 'yellow'] as const;
type Colors = Readonly<Record<(typeof styles)[number], (text: string) => string>>;
type Output = Writable & { readonly isTTY?: boolean; readonly columns?: number };

/** Output of the command: data on stdout, texts for a person on stderr. */
export type Terminal = ReturnType<typeof openTerminal>;

export interface OutputFlags {
  /** False: `--no-input`. */
  readonly input?: boolean;
  readonly quiet?: boolean;
  readonly json?: boolean;
}

export interface TerminalParts {
  readonly args?: readonly string[];
  readonly flags?: OutputFlags;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly stdin: NodeJS.ReadStream;
  readonly stdout: Output;
  readonly stderr: Output;
}

/** Most characters of a line of a text in JSON. */
const MOST_IN_JSON = 2000;

/** User and password in a URL, up to the last `@` before path, query or quote. */
const inUrl = /\b([a-z][a-z0-9+.-]*:\/+)[^\s/?#'"]*@/gi;
/**
 * The address of a database. The parameters of such an address may have credentials. Parameters of the same names in other
 * URLs are not credentials.
 */
const ofDatabase = /\bpostgres(?:ql)?:\/\/[^\s'"]*/gi;
const inQuery = /([?&](?:user|password|sslpassword)=)[^&]+/gi;

/**
 * Returns a function that redacts the values of secret variables, and user and password in every URL. Every message passes
 * through this function, in case other code has left a secret in the message. `args`: the arguments of the command, whose addresses may have
 * secrets.
 */
export function scrubber(env: TerminalParts['env'], args: readonly string[] = []): (text: string) => string {
  const settings = Object.entries(env).flatMap(([name, value = '']) => (name.startsWith('SEARCHFLOW_') ? [value] : []));
  const secrets = secretVariables
    .map((name) => env[name]?.trim() ?? '')
    .flatMap((value) => [value, encodeURIComponent(value), JSON.stringify(value).slice(1, -1)])
    // A shorter value cannot be a key, and may be part of ordinary words.
    .filter((secret) => secret.length >= 6)
    .concat([...args, ...settings].flatMap(addressSecrets))
    .sort((a, b) => b.length - a.length);
  return (text) =>
    secrets.reduce(
      (clean, secret) => clean.replaceAll(secret, '[redacted]'),
      text.replace(inUrl, '$1[redacted]@').replace(ofDatabase, (address) => address.replace(inQuery, '$1[redacted]')),
    );
}

/** Returns a terminal on these streams. Colours need a terminal and no `NO_COLOR`. */
export function openTerminal({ args = [], env, stdin, stdout, stderr, flags = {} }: TerminalParts) {
  const scrub = scrubber(env, args);
  const { input = true, quiet = false, json = false } = flags;
  const redraws = stderr.isTTY === true && env.TERM !== 'dumb';
  const live = redraws && !quiet;
  const isInteractive = redraws && stdin.isTTY === true;
  const colored = redraws && !env.NO_COLOR;
  const paint = (style: (typeof styles)[number]) => (text: string) =>
    colored ? styleText(style, text, { validateStream: false }) : text;
  const colors = Object.fromEntries(styles.map((style) => [style, paint(style)])) as Colors;
  let shown = '';
  const clear = () => {
    if (shown !== '') stderr.write('\r\u001b[2K');
  };
  const write = (text: string) => {
    clear();
    stderr.write(`${text}\n${shown}`);
  };
  /** One or more lines for a person, above the live line: a result, or a reason to act. */
  const say = (text: string): void => write(scrub(keepColors(text)));
  const data = (text: string): void => void stdout.write(`${scrub(text)}\n`);
  const result = <Value>(value: Value): void => {
    if (json) data(JSON.stringify(printed(value)));
  };
  // Each text is redacted by itself: a redaction of the whole line could take a quote with it.
  const cleanText = (_: string, value: unknown) =>
    typeof value === 'string' ? scrub(printableLines(value, MOST_IN_JSON)) : value;
  return {
    /** Whether stderr can redraw a line. */
    live,
    /** Whether a prompt can be answered: stdin and stderr are terminals, and `--no-input` is not set. */
    asks: isInteractive && input,
    /** Why no prompt can be answered, such as `stdin is not a terminal`; null if `asks`. */
    cannotAsk: input ? (isInteractive ? null : 'stdin is not a terminal') : '--no-input is set',
    colors,
    columns: () => stderr.columns ?? 80,
    json,
    data,
    /** The result of a command on stdout, as one line of JSON; nothing without `--json`. */
    result,
    /** The result of a command on stdout: with `--json` the value as one line of JSON, otherwise the text. */
    print: <Value>(value: Value, text: string): void => (json ? result(value) : data(text)),
    /** Like `print`, for a text that only a person reads: it goes to stderr. */
    tell: <Value>(value: Value, text: string): void => (json ? result(value) : say(text)),
    /** Like `print`, for objects of the service, which stay as they are. */
    pass: (value: object, text: string): void => data(json ? JSON.stringify(value) : text),
    say,
    /** An object as one line of JSON on stderr. Its long texts are cut, never the line. */
    sayJson: (value: object): void => write(JSON.stringify(value, cleanText)),
    /** Like `say`, for progress, announcements and notes, which `--quiet` leaves out. */
    note: (text: string): void => {
      if (!quiet) say(text);
    },
    /** Replaces the live line; an empty text removes it. Does nothing if stderr is not a terminal. */
    show: (line: string): void => {
      if (!live) return;
      clear();
      shown = scrub(keepColors(line));
      stderr.write(shown);
    },
    /** Removes the live line and returns the streams, for a prompt or a byte stream. */
    streams: () => {
      clear();
      shown = '';
      return { stdin, stdout, stderr };
    },
  };
}

/**
 * Makes every line printable but keeps the colour codes of this program. Text from elsewhere has no colour codes: it was made
 * printable before it was coloured.
 */
function keepColors(text: string): string {
  return (
    text
      // biome-ignore lint/suspicious/noControlCharactersInRegex: the colour codes begin with one
      .split(/(\u001b\[\d{1,2}m)/)
      .map((part, index) => (index % 2 === 1 ? part : printableLines(part)))
      .join('')
  );
}
