import { stripVTControlCharacters } from 'node:util';
import type { WatchedRun } from '../../core/workflow-result-schemas.js';
import type { ConfigFlags } from '../../worker/config/config.js';
import type { Log, LogLine } from '../../worker/config/runtime-types.js';
import { serviceText } from '../progress/plan.js';
import { moment, runText } from '../schedules.js';
import type { Context, ExitCode } from '../shared/command.js';
import { settings, withRuntime } from '../shared/session.js';
import type { Terminal } from '../shared/terminal.js';
import { printable } from '../text.js';

/** A log of JSON lines on stdout: `time`, `level`, `message` and further fields. Secrets are redacted as in every other output. */
const jsonLog =
  (terminal: Terminal): Log =>
  ({ level, message, ...fields }) =>
    terminal.data(JSON.stringify({ time: new Date().toISOString(), level, message, ...fields }));

/** A terminal whose texts become lines of the log. */
function linesOf(terminal: Terminal, log: Log): Terminal {
  const say = (text: string) => log({ level: 'INFO', message: stripVTControlCharacters(text) });
  const cannotAsk = 'SEARCHFLOW_LOG=json is set';
  return { ...terminal, live: false, asks: false, cannotAsk, say, note: say, show: () => undefined };
}

export async function worker(typed: Context, flags: ConfigFlags): Promise<ExitCode> {
  const log = typed.env.SEARCHFLOW_LOG === 'json' ? jsonLog(typed.terminal) : null;
  const context = log === null ? typed : { ...typed, terminal: linesOf(typed.terminal, log) };
  const config = { ...settings(context, flags), log };
  return withRuntime(context, config, { sends: true }, async (session) => {
    session.working();
    const { note } = context.terminal;
    await (await session.runtime.work()).runWorker(
      () => note(`Worker running on ${serviceText(config)}, task queue ${config.taskQueue}. Press Ctrl-C to stop.`),
      (run) => (log === null ? note(`${moment(Date.now())}  ${textOf(run)}`) : log(lineOf(run))),
    );
  });
}

const textOf = (run: WatchedRun) =>
  `${printable(run.job)} (${run.workflowType}): ${run.phase === 'running' ? 'started' : runText(run)}`;

function lineOf(run: WatchedRun): LogLine {
  const { job, workflowType, phase } = run;
  return { level: phase === 'failed' ? 'ERROR' : 'INFO', message: textOf(run), job, workflowType, phase };
}
