// Forgets a URL, and kills itself at a step. Arguments: the configuration without its key, the URL, the step (0: none) and the
// time after its beginning in ms. Prints the number of steps.
import { Secret } from '../../../dist/core/connections/secret.js';
import { openRuntime } from '../../../dist/worker/runtime/runtime.js';

const [config, url, at, after] = process.argv.slice(2);
const runtime = await openRuntime({
  ...JSON.parse(config),
  apiKey: new Secret('key-of-the-tests'),
  say: () => undefined,
});
const plan = await runtime.planForget({ url });
let steps = 0;
const die = () => process.kill(process.pid, 'SIGKILL');
await runtime.forget(plan, () => {
  if (++steps !== Number(at)) return;
  if (Number(after) === 0) die();
  setTimeout(die, Number(after));
});
await runtime.close('drain');
process.stdout.write(String(steps));
