// node deploy/docker/health.mjs: exit code 0 if the process of this container answers on its status port.
const port = (process.env.SEARCHFLOW_METRICS ?? '').split(':').at(-1) || '9464';
try {
  const { ok } = await fetch(`http://127.0.0.1:${port}/healthz`, { signal: AbortSignal.timeout(4000) });
  process.exitCode = ok ? 0 : 1;
} catch {
  process.exitCode = 1;
}
