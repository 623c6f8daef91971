/**
 * The rate is not judged within this time of a disturbance: a command that restarts does not know the requests of the command before it.
 */
const NEAR_MS = 3000;
const SPREAD_MS = 300;

/** The judge of the rate: refusals are few, and a client that the service asked to wait sent nothing meanwhile. */
export function judgeRate({ service, env, disturbedAt, findings }) {
  const { log } = service;
  const refusals = log.filter(({ refused }) => refused === 'rate');
  const isNear = (at) => disturbedAt.some((when) => Math.abs(when - at) < NEAR_MS);
  const early = refusals
    .filter(({ at }) => !isNear(at))
    .map(
      (refusal) =>
        log.filter(({ at, units }) => units > 0 && at > refusal.at + SPREAD_MS && at < refusal.at + 950).length,
    )
    .reduce((sum, count) => sum + count, 0);
  // A process that restarts does not know the block, so it may send the requests of one second before it is refused.
  const most = Math.ceil(log.length * 0.02) + disturbedAt.length * Number(env.SEARCHFLOW_QPS);
  if (refusals.length > most)
    findings.push(`${refusals.length} of ${log.length} requests refused for the rate, at most ${most}`);
  if (early > Math.ceil(log.length * 0.01)) findings.push(`${early} requests sent while told to wait`);
  return { requests: log.length, refused: refusals.length, sentDuringWait: early };
}
