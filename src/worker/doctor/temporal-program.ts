import { access, constants } from 'node:fs/promises';
import { connect } from 'node:net';
import { delimiter, join } from 'node:path';
import { findTemporalBinary } from '../temporal-program/binary.js';
import { type Found, messageOf, ok, problem, type Setup, warning } from './finding.js';

const DOWNLOADS = 'temporal.download';
const CONNECT_MS = 4000;
const ANSWER_MS = 10_000;

/** Whether the program of the embedded server is here, or can be obtained. Installs nothing. */
export async function programFinding(env: Setup['env']): Promise<Found> {
  const said: string[] = [];
  try {
    const { path, version } = await findTemporalBinary({
      env,
      say: (sentence) => void said.push(sentence),
      answerMs: ANSWER_MS,
      allowDownload: false,
    });
    return ok(`${version.split(' (', 1)[0]} is at ${path}.`);
  } catch (error) {
    const [text = '', ...ways] = messageOf(error).split('\n');
    const ignored = said.filter((sentence) => sentence.startsWith('Ignoring')).join(' ');
    if (env.TEMPORAL_CLI)
      return problem(`${text}.`, "Correct TEMPORAL_CLI, or unset it to use another copy of Temporal's program.");
    if (ways.length === 0) return problem(`${text}.`, 'Run the same command again.');
    const words = `No program of Temporal (temporal) is installed here.${ignored === '' ? '' : ` ${ignored}`}`;
    const way = (await isOnPath('go', env))
      ? 'builds it with Go'
      : (await canDownload(env))
        ? `downloads it from ${DOWNLOADS}`
        : null;
    if (way !== null)
      return warning(
        words,
        `The first command that needs it ${way}. To avoid this, put it on PATH, or set TEMPORAL_CLI or TEMPORAL_ADDRESS.`,
      );
    return problem(
      `${words} It cannot be downloaded: ${DOWNLOADS} is unreachable.`,
      'Set TEMPORAL_ADDRESS to a running Temporal server, or put the program `temporal` (https://docs.temporal.io/cli) on PATH, or set TEMPORAL_CLI to its path.',
    );
  }
}

async function isOnPath(program: string, { PATH = '' }: Setup['env']): Promise<boolean> {
  const name = process.platform === 'win32' ? `${program}.exe` : program;
  const found = await Promise.all(
    PATH.split(delimiter)
      .filter(Boolean)
      .map((folder) =>
        access(join(folder, name), constants.X_OK).then(
          () => true,
          () => false,
        ),
      ),
  );
  return found.includes(true);
}

/** Whether the server of downloads, or the proxy before it, accepts a connection. Sends nothing. */
function canDownload(env: Setup['env']): Promise<boolean> {
  const proxy = env.https_proxy ?? env.HTTPS_PROXY;
  const { hostname, port, protocol } = new URL(proxy && URL.canParse(proxy) ? proxy : `https://${DOWNLOADS}`);
  const socket = connect({
    host: hostname,
    port: Number(port) || (protocol === 'http:' ? 80 : 443),
    timeout: CONNECT_MS,
  });
  return new Promise((resolve) => {
    const end = (isOpen: boolean) => {
      socket.destroy();
      resolve(isOpen);
    };
    socket
      .once('connect', () => end(true))
      .once('error', () => end(false))
      .once('timeout', () => end(false));
  });
}
