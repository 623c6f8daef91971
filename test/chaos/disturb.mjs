// The disturbances of processes, service, disk and clock. Each one ends by restoring the former state; only killed processes stay dead.
import { writeFileSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import { processesOf, signal } from './processes.mjs';

const HOUR = 3_600_000;
const isServer = ({ line }) => line.includes('start-dev');
const bursts = [
  [{ how: 'status', status: 429, headers: { 'retry-after': '1' } }],
  [
    { how: 'status', status: 503 },
    { how: 'status', status: 500 },
    { how: 'status', status: 503 },
  ],
  [{ how: 'reset' }, { how: 'lost' }],
  [{ how: 'failed' }, { how: 'cut' }],
  [{ how: 'html' }, { how: 'html' }],
  [
    { how: 'slow', ms: 3000 },
    { how: 'slow', ms: 1000 },
  ],
];

const oneOf = (list, random) => list[Math.floor(random() * list.length)];

/** Disturbances by name. Each returns a sentence about what it did, or null if there was no target. */
export const disturbances = {
  async command(campaign, random) {
    const victim = oneOf([...campaign.commands], random);
    if (!victim) return null;
    signal([victim.pid], 'SIGKILL');
    await victim.ended;
    return `killed "${victim.args.slice(0, 2).join(' ')}"`;
  },
  async group(campaign) {
    const all = processesOf(campaign.dir);
    signal(
      all.map(({ pid }) => pid),
      'SIGKILL',
    );
    await Promise.all([...campaign.commands, ...campaign.workers].map(({ ended }) => ended));
    await campaign.temporal?.start();
    return all.length === 0 ? null : `killed ${all.length} processes at once`;
  },
  async server(campaign) {
    if (campaign.temporal) {
      await campaign.temporal.kill();
      await campaign.temporal.start();
      return 'killed the Temporal server and started it again';
    }
    const servers = processesOf(campaign.dir).filter(isServer);
    signal(
      servers.map(({ pid }) => pid),
      'SIGKILL',
    );
    return servers.length === 0 ? null : 'killed the Temporal server';
  },
  async worker(campaign, random) {
    const victim = oneOf(campaign.workers, random);
    if (!victim) return null;
    signal([victim.pid], 'SIGKILL');
    await victim.ended;
    return 'killed a worker';
  },
  async postgres(campaign, random) {
    if (!campaign.postgres) return null;
    await campaign.postgres.kill();
    const ms = Math.round(random() * 2000);
    await delay(ms);
    await campaign.postgres.start();
    return `killed PostgreSQL, away for ${ms} ms`;
  },
  /** Stops a process for longer than the time after which other processes declare it dead, then wakes it. */
  async stop(campaign, random) {
    const victim = oneOf([...campaign.workers, ...campaign.commands], random);
    if (!victim) return null;
    const ms = Math.round(campaign.workers.length > 0 ? 4000 + random() * 2000 : 500 + random() * 2500);
    signal([victim.pid], 'SIGSTOP');
    await delay(ms);
    signal([victim.pid], 'SIGCONT');
    return `stopped a process for ${ms} ms`;
  },
  async stopServer(campaign, random) {
    const servers = processesOf(campaign.dir).filter(isServer);
    if (servers.length === 0) return null;
    const ms = Math.round(500 + random() * 2500);
    signal(
      servers.map(({ pid }) => pid),
      'SIGSTOP',
    );
    await delay(ms);
    signal(
      servers.map(({ pid }) => pid),
      'SIGCONT',
    );
    return `stopped the Temporal server for ${ms} ms`;
  },
  async http(campaign, random) {
    const burst = oneOf(bursts, random);
    campaign.service.next(...burst.map((fault) => ({ what: campaign.noun, ...fault })));
    return `faults of the service: ${burst.map(({ how, status }) => status ?? how).join(', ')}`;
  },
  async disk(campaign, random) {
    if (!campaign.disk?.possible) return null;
    const ms = Math.round(500 + random() * 2500);
    campaign.disk.fill();
    campaign.diskIsFull = true;
    await delay(ms);
    campaign.disk.free();
    campaign.diskIsFull = false;
    return `${campaign.disk.kind} for ${ms} ms`;
  },
  async clock(campaign, random) {
    const aheadMs = oneOf([-HOUR, -61_000, 0, 61_000, HOUR], random);
    writeFileSync(campaign.clockFile, String(aheadMs));
    return `clocks of all commands ${aheadMs >= 0 ? 'ahead' : 'behind'} by ${Math.abs(aheadMs) / 1000} s`;
  },
};

/**
 * The sequence of disturbances in a campaign, made of rounds. In a round each kind comes as often as its weight says; the seed decides the
 * order.
 */
export function planOf(weights, count, random) {
  const plan = [];
  while (plan.length < count) {
    const round = Object.entries(weights).flatMap(([kind, times]) => Array(times).fill(kind));
    for (let last = round.length - 1; last > 0; last--) {
      const other = Math.floor(random() * (last + 1));
      [round[last], round[other]] = [round[other], round[last]];
    }
    plan.push(...round);
  }
  return plan.slice(0, count);
}
