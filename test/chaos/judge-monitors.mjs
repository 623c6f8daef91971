import { judgeRate } from './judge-rate.mjs';
import { openWarehouse } from './sql.mjs';

/** The judge of batches: each matching monitor was changed once, also in the audit, where a repeated batch plans it again. */
export async function judgeMonitors(campaign) {
  const { service, findings, result: batches } = campaign;
  const holds = (isSo, sentence) => isSo || findings.push(sentence);
  for (const [index, { action, right, into, firstCall, lastCall }] of batches.entries()) {
    const who = `batch ${index} (${action})`;
    const affected = service.log
      .slice(firstCall, lastCall)
      .flatMap(({ path, ids }) => (path.endsWith('/batch') ? ids : []));
    const others = affected.filter((id) => !right.includes(id));
    const never = right.filter((id) => !affected.includes(id));
    holds(others.length === 0, `${who} changed ${others.length} others, such as ${others[0]}`);
    holds(never.length === 0, `${who} left out ${never.length}, such as ${never[0]}`);
    holds(affected.length === new Set(affected).size, `${who} changed some twice`);
    const { query, close } = await openWarehouse(campaign, into);
    try {
      const audit = await query(
        'SELECT monitor_id AS id, count(affected_at) AS n FROM monitor_actions WHERE planned = 1 GROUP BY 1',
      );
      const twice = audit.filter(({ n }) => Number(n) > (into.startsWith('postgres') ? batches.length : 1));
      holds(twice.length === 0, `${who}: ${twice.length} are changed twice in the audit`);
      holds(audit.length === right.length, `${who}: ${audit.length} in the audit, ${right.length} were to be changed`);
    } finally {
      await close();
    }
  }
  return { batches: batches.length, monitors: batches[0].right.length, ...judgeRate(campaign) };
}
