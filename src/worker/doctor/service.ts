import { access, constants } from 'node:fs/promises';
import { listAgentRunsEndpoint } from '../../api/endpoints/agent-runs.js';
import { ApiError, createTransport } from '../../api/index.js';
import { codeOf } from '../../api/wire/errors.js';
import { type Proxies, proxiesTo } from '../../core/connections/proxies.js';
import { type Found, messageOf, ok, problem, type Setup, skipped, warning } from './finding.js';

/** Limits of the one request. */
const timeouts = { connectMs: 5000, headersMs: 8000, bodyMs: 5000, totalMs: 12_000 };
/** Difference of clocks, in ms, that tokens, watermarks and ages of answers tolerate. */
const SKEW_MS = 5000;
const LARGE_SKEW_MS = 60_000;
const DASHBOARD = 'https://dashboard.exa.ai/api-keys';

/**
 * Checks the key with one free request that takes nothing of the rate limit: a list of agent runs with at most one run. Then compares the
 * clocks. Without a key there is nothing to check, because commands use the sandbox.
 */
export async function checkService({ config, env, isWrong }: Setup): Promise<readonly Found[]> {
  if (isWrong('SEARCHFLOW_API_KEY', 'EXA_API_KEY', 'SEARCHFLOW_BASE_URL', 'API key'))
    return [skipped('the key or the address of the service')];
  if (config.service === 'sandbox')
    return [ok('No API key is set: commands use the sandbox. For the real service, set SEARCHFLOW_API_KEY.')];
  const { baseUrl, apiKey, wire } = config;
  const transport = createTransport({ ...wire, baseUrl, apiKey, timeouts, connections: 1 });
  const began = Date.now();
  try {
    const { date } = await transport.send(listAgentRunsEndpoint, { limit: 1 });
    return [ok(`${baseUrl} accepts the key.`), ...clockFindings(date, began)];
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    return [await keyFinding(error, baseUrl, env, wire?.proxy), ...clockFindings(error.date, began)];
  } finally {
    await transport.close();
  }
}

async function keyFinding(
  error: ApiError,
  baseUrl: string,
  env: Setup['env'],
  proxy: Proxies | null | undefined,
): Promise<Found> {
  const { status, phase, tag, unrecognized } = error.facts;
  const { host, hostname } = new URL(baseUrl);
  const text = `${messageOf(error)}.`;
  if (phase === 'connect') return unreachable(error, host, env, proxiesTo(hostname, proxy) !== null);
  if (unrecognized)
    return problem(
      `Another program answers in the name of ${host}: ${text}`,
      'Log in to the network or the proxy (HTTPS_PROXY), let the gateway pass requests (SEARCHFLOW_HEADERS), or correct SEARCHFLOW_BASE_URL.',
    );
  if (status === 401)
    return problem(`The service refuses the key: ${text}`, `Set SEARCHFLOW_API_KEY to a valid key of ${DASHBOARD}.`);
  if (status === 402)
    return problem(`The team has no credits: ${text}`, 'Add credits in the dashboard, or raise the budget of the key.');
  if (status === 403) {
    const mend = `If jobs are refused, too, give the key the rights of their operations, or use another key: ${DASHBOARD}`;
    const isScope = tag === 'INSUFFICIENT_SCOPE' || tag === 'FEATURE_DISABLED';
    return (isScope ? warning : problem)(`The service knows the key, and it may not list agent runs: ${text}`, mend);
  }
  if (status === 429)
    return warning(
      `The rate limit is in use, so the key was not checked: ${text}`,
      'Run the same command again later.',
    );
  if (status !== null && (status === 404 || (status >= 300 && status <= 399)))
    return problem(
      `${host} does not answer as the service: ${text}`,
      'Correct SEARCHFLOW_BASE_URL, or unset it for the public service.',
    );
  return problem(
    `The key was not checked: ${text}`,
    'Run the same command again later. If the service has an outage, jobs wait for its end.',
  );
}

/** No connection: the network, the name, the certificate or the address is wrong. */
async function unreachable(error: ApiError, host: string, env: Setup['env'], isProxied: boolean): Promise<Found> {
  const code = codeOf(error.cause) ?? '';
  const text = `${messageOf(error)}.`;
  if (code === 'CERT_NOT_YET_VALID' || code === 'CERT_HAS_EXPIRED')
    return problem(
      text,
      'Check the clock of this machine first; else the owner of the server must renew the certificate:',
      'timedatectl status',
    );
  if (/^(SELF_SIGNED|DEPTH_ZERO|UNABLE_TO|ERR_TLS_CERT)/.test(code))
    return problem(text, await mendTrust(env), 'export NODE_EXTRA_CA_CERTS=/path/authority.pem');
  const direct = isProxied
    ? `Requests go through HTTPS_PROXY. Check the address of the proxy, or add ${host} to NO_PROXY.`
    : `Check the network, DNS and firewall for connections to ${host}, or correct SEARCHFLOW_BASE_URL.`;
  return problem(text, direct);
}

async function mendTrust({ NODE_EXTRA_CA_CERTS: file }: Setup['env']): Promise<string> {
  const isReadable =
    file !== undefined &&
    (await access(file, constants.R_OK).then(
      () => true,
      () => false,
    ));
  if (file !== undefined && !isReadable)
    return `NODE_EXTRA_CA_CERTS names ${file}, which cannot be read. Name the certificate of the authority:`;
  return 'If a company proxy opens TLS connections, trust its authority (set before searchflow starts, not in a file of settings):';
}

/** `date`: the clock of the service in whole seconds; null if the answer has none. */
function clockFindings(date: number | null, began: number): readonly Found[] {
  if (date === null) return [];
  const now = Date.now();
  // A date of the answer is between the request and the answer, plus the part of a second that it leaves out.
  const aheadMs = began - (date + 1000) > 0 ? began - (date + 1000) : date - now > 0 ? now - date : 0;
  return [{ ...clockFinding(aheadMs, 'the service'), check: 'clock' }];
}

/** `aheadMs`: by how much the clock of this machine is ahead of the other one. */
export function clockFinding(aheadMs: number, other: string): Found {
  const seconds = Math.round(Math.abs(aheadMs) / 1000);
  if (Math.abs(aheadMs) <= SKEW_MS) return ok(`The clock agrees with that of ${other}.`);
  const text = `The clock of this machine is ${seconds} s ${aheadMs > 0 ? 'ahead of' : 'behind'} that of ${other}.`;
  const found = Math.abs(aheadMs) > LARGE_SKEW_MS ? problem : warning;
  return found(text, 'Set the clock by NTP:', 'sudo timedatectl set-ntp true');
}
