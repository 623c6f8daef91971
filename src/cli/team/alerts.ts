import type { AlertTestOutput } from '../../api/outputs/index.js';
import { type Context, type ExitCode, exitCodes } from '../shared/context.js';
import { withRuntime } from '../shared/session.js';
import { settings } from '../shared/settings.js';
import { printable } from '../text/printable.js';

/** `searchflow alerts test`: sends a test alert to each receiver. */
export async function testAlerts(context: Context, { json = false }): Promise<ExitCode> {
  return withRuntime(context, settings(context, {}), { sends: false, bounded: true }, async ({ runtime }) => {
    const receivers = await runtime.testAlerts();
    const output: AlertTestOutput = { kind: 'alertTest', receivers };
    if (json) context.terminal.data(JSON.stringify(output));
    else
      for (const { receiver, error } of receivers) {
        const how = error === null ? 'accepted the test alert' : `did not accept the test alert: ${printable(error)}`;
        context.terminal.data(`${receiver}: ${how}`);
      }
    return receivers.every(({ error }) => error === null) ? exitCodes.ok : exitCodes.failed;
  });
}
