import { getRequestListener } from '@hono/node-server';
import { Hono } from 'hono';
import { z } from 'zod';
import { isLoopback } from '../core/connections/loopback.js';
import { Refusal } from './base/refusal.js';
import { type Panel, triggerSchema } from './panel.js';
import { faultsSchema } from './server/fault.js';

/** Prefix of the paths that belong to the sandbox itself. They need no key, have no limit and no faults, and are not in the request log. */
export const CONTROL_PATH = '/__sandbox';

const creditsSchema = z.strictObject({ dollars: z.number().nonnegative().nullable() });
const fromSchema = z.coerce.number().int().positive().catch(1);

/**
 * Returns the reason to refuse a request, or null. The control paths need no key, so web pages in a browser of this machine
 * must not use them: neither pages of another site, nor pages under a host name that resolves to this machine.
 */
function whyForeign(headers: Headers): string | null {
  const host = headers.get('host') ?? '';
  if (!isLoopback(host.replace(/:\d+$/, '')))
    return 'The control paths are for this machine: call them as localhost or 127.0.0.1';
  const site = headers.get('sec-fetch-site') ?? 'none';
  const origin = headers.get('origin');
  const isForeign = !['none', 'same-origin'].includes(site) || (origin !== null && origin !== `http://${host}`);
  return isForeign ? 'The control paths refuse requests of another site' : null;
}

/**
 * The control paths as a request listener of `node:http`: `GET bill` (`?keys=0` leaves out the units), `GET log` (`?from=n`),
 * `GET stats`, `GET state`, `POST trigger` (`{"event": "webset.idle", "count": 5}`, `{"monitorRun": id}`, `{"disableMonitor":
 * id}`), `POST faults` (a list), `POST credits` (`{"dollars": 5}`, null for no limit), `POST reset`.
 */
export function createControl(panel: Panel): ReturnType<typeof getRequestListener> {
  const app = new Hono().basePath(CONTROL_PATH);
  app.use(async (context, next) => {
    const why = whyForeign(context.req.raw.headers);
    if (why !== null) return context.json({ error: why }, 403);
    await next();
  });
  app.get('/bill', (context) => context.json(panel.bill({ keys: context.req.query('keys') !== '0' })));
  app.get('/log', (context) => context.json(panel.log(fromSchema.parse(context.req.query('from')))));
  app.get('/stats', (context) => context.json(panel.stats()));
  app.get('/state', (context) => context.json(panel.state()));
  app.post('/trigger', async (context) =>
    context.json({ ids: panel.trigger(triggerSchema.parse(await context.req.json())) }),
  );
  app.post('/faults', async (context) => {
    panel.setFaults(faultsSchema.parse(await context.req.json()));
    return context.json({ ok: true });
  });
  app.post('/credits', async (context) => {
    panel.setCredits(creditsSchema.parse(await context.req.json()).dollars);
    return context.json({ ok: true });
  });
  app.post('/reset', (context) => {
    panel.reset();
    return context.json({ ok: true });
  });
  app.notFound((context) => context.json({ error: `No ${context.req.method} ${context.req.path}` }, 404));
  app.onError((error, context) => {
    if (error instanceof Refusal) return context.json({ error: error.message }, error.status === 404 ? 404 : 400);
    if (error instanceof z.ZodError) return context.json({ error: z.prettifyError(error) }, 400);
    return context.json({ error: error.message }, error instanceof SyntaxError ? 400 : 500);
  });
  // By default the library would replace the global Request and Response, which belong to the caller's program.
  return getRequestListener(app.fetch, { overrideGlobalObjects: false });
}
