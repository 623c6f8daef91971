import { jobCommands, rowsFile } from './job-commands.js';
import { oneOf } from './options.js';
import type { CommandSpec } from './shared/command.js';

const agentRuns = () => import('./agents.js');
const single = () => import('./monitors.js');
const batch = () => import('./monitor-batch.js');
const schedules = () => import('./schedules.js');
const limits = () => import('./limits.js');
const walks = () => import('./events/walk.js');
const worker = async () => (await import('./set-up/worker.js')).worker;

const monitor = { '<id>': 'id of the monitor' };
const batchJob = { '<job>': 'name of the batch, as printed by the command that started it' };
const scheduleName = { '<name>': 'name of the schedule' };

/** All commands, by their group in `searchflow --help`, in its order. */
export const commands: Readonly<Record<string, Readonly<Record<string, CommandSpec>>>> = {
  Jobs: jobCommands,
  Events: {
    events: {
      about: 'webset events and their current state, in a warehouse',
      examples: ['searchflow events sync', 'searchflow events status'],
    },
    'events sync': {
      about: 'load new events; the first run loads all',
      run: async () => (await walks()).sync,
      examples: ['searchflow events sync', 'searchflow events sync --every 15m'],
    },
    'events backfill': {
      about: 'load a range of the past, several windows at once; run the same command again to resume',
      run: async () => (await walks()).backfill,
      examples: ['searchflow events backfill --from 2026-01-01 --until 2026-01-31'],
    },
    'events verify': {
      about: 'compare a range with the warehouse, by id and contents, and repair differences',
      run: async () => (await walks()).verify,
      examples: ['searchflow events verify --from 7d --strict'],
    },
    'events status': {
      about: 'show the watermark, lag, last complete run, backfills and counts by type',
      run: async () => (await import('./events/events-status.js')).status,
      examples: ['searchflow events status', 'searchflow events status --json'],
    },
  },
  Agents: {
    agent: {
      about: 'agent runs: one, or one for each row of a CSV',
      examples: ["searchflow agent run 'Who is the CEO of Example Inc.?' --effort low --max-cost 0.50"],
    },
    'agent run': {
      about: 'start one agent run and print its result; run the same command again to attach to the run',
      args: { '[query]': 'question or task' },
      run: async () => (await import('./agents.js')).agentRun,
      examples: [
        "searchflow agent run 'Who is the CEO of Example Inc.?' --effort low",
        "searchflow agent run 'List the offices of Example Inc.' --schema schema.json --max-cost 2 --max-duration 20m",
      ],
    },
    'agent list': {
      about: 'list the latest agent runs of the team',
      run: async () => (await agentRuns()).agentList,
      examples: ['searchflow agent list --limit 5'],
    },
    'agent sync': {
      about: 'load all agent runs of the team into a warehouse, also those that other clients started; free',
      run: async () => (await agentRuns()).agentSync,
      examples: ['searchflow agent sync', 'searchflow agent sync --into out/runs.duckdb --every 1h'],
    },
    'agent cancel': {
      about: 'cancel an agent run at the service, which charges for the work done',
      args: { '<id>': 'id of the run' },
      run: async () => (await agentRuns()).agentCancel,
      examples: ['searchflow agent cancel agent_run_1'],
    },
    'agent rows': {
      about: 'start an agent run for every row of a table; the output of a run becomes columns',
      args: rowsFile,
      run: async () => (await import('./rows/enrich.js')).agentRows,
      examples: [
        "searchflow agent rows companies.csv --query 'Find the CEO of {{name}}' --schema schema.json --effort low --max-cost 20",
      ],
    },
  },
  Monitors: {
    monitors: {
      about: 'recurring searches: create, pause, delete, export runs',
      examples: ['searchflow monitors list', 'searchflow monitors pause --metadata team=growth'],
    },
    'monitors create': {
      about: 'create a monitor and store its webhook secret, which the service returns only once',
      args: { '<definition>': 'JSON file with search, webhook and other fields; - for stdin' },
      run: async () => (await single()).create,
      examples: ['searchflow monitors create launches.json --secret-file secrets/webhooks.json'],
    },
    'monitors update': {
      about: 'change a monitor',
      args: { ...monitor, '<changes>': 'JSON file with the fields to change; - for stdin' },
      run: async () => (await single()).update,
      examples: ['searchflow monitors update mon_1 changes.json'],
    },
    'monitors get': {
      about: 'print a monitor as JSON',
      args: monitor,
      run: async () => (await single()).get,
      examples: ['searchflow monitors get mon_1'],
    },
    'monitors list': {
      about: 'list monitors',
      run: async () => (await single()).list,
      examples: ['searchflow monitors list', 'searchflow monitors list --status active --metadata team=growth'],
    },
    'monitors trigger': {
      about: 'run a monitor now; the run is billed',
      args: monitor,
      run: async () => (await single()).trigger,
      examples: ['searchflow monitors trigger mon_1'],
    },
    'monitors runs': {
      about: 'list the runs of a monitor, newest first; with a run id, print this run and its output as JSON',
      args: { ...monitor, '[run]': 'id of one run' },
      run: async () => (await single()).runs,
      examples: ['searchflow monitors runs mon_1', 'searchflow monitors runs mon_1 run_1'],
    },
    'monitors pause': {
      about: 'pause all active monitors that match',
      run: async () => (await batch()).pause,
      examples: [
        'searchflow monitors pause --metadata team=growth',
        "searchflow monitors pause --metadata team=growth --cron '0 20 * * fri' --tz Europe/Berlin --schedule-name weekend",
      ],
    },
    'monitors unpause': {
      about: 'unpause all paused monitors that match',
      run: async () => (await batch()).unpause,
      examples: [
        'searchflow monitors unpause --metadata team=growth',
        "searchflow monitors unpause --of-schedule weekend --cron '0 7 * * mon' --tz Europe/Berlin",
      ],
    },
    'monitors delete': {
      about: 'delete one monitor by its id, or all monitors that match; deletion is permanent',
      args: { '[id]': 'id of one monitor' },
      run: async () => (await batch()).remove,
      examples: [
        'searchflow monitors delete mon_1',
        "searchflow monitors delete --name 'old campaign' --wait-for-approval",
      ],
    },
    'monitors approve': {
      about: 'approve a batch that waits for approval',
      args: batchJob,
      run: async () => (await batch()).approve,
      examples: ["searchflow monitors approve monitors-delete-1 --why 'campaign is over'"],
    },
    'monitors reject': {
      about: 'reject a batch that waits for approval',
      args: batchJob,
      run: async () => (await batch()).reject,
      examples: ["searchflow monitors reject monitors-delete-1 --why 'campaign is over'"],
    },
    'monitors export': {
      about: 'load monitors, their runs and results into a warehouse; later exports load only what is new',
      run: async () => (await import('./monitors.js')).exportRuns,
      examples: ['searchflow monitors export', 'searchflow monitors export --every 6h'],
    },
  },
  Schedules: {
    schedule: {
      about: 'schedules of jobs, syncs and exports; create them with --every or --cron',
      examples: ['searchflow schedule list', 'searchflow enrich companies.csv --every 1d --max-cost 5'],
    },
    'schedule list': {
      about: 'list all schedules with their next and last runs',
      run: async () => (await schedules()).list,
      examples: ['searchflow schedule list'],
    },
    'schedule show': {
      about: 'show a schedule and the results of its last runs',
      args: scheduleName,
      run: async () => (await schedules()).show,
      examples: ['searchflow schedule show companies'],
    },
    'schedule pause': {
      about: 'stop starting runs until resumed; runs already queued still execute',
      args: scheduleName,
      run: async () => (await schedules()).pause,
      examples: ["searchflow schedule pause companies --why 'file is being replaced'"],
    },
    'schedule resume': {
      about: 'resume a paused schedule',
      args: scheduleName,
      run: async () => (await schedules()).resume,
      examples: ['searchflow schedule resume companies'],
    },
    'schedule trigger': {
      about: 'start a run now, or right after the current one',
      args: scheduleName,
      run: async () => (await schedules()).trigger,
      examples: ['searchflow schedule trigger companies'],
    },
    'schedule delete': {
      about: 'delete a schedule; paid and loaded results are kept',
      args: scheduleName,
      run: async () => (await schedules()).remove,
      examples: ['searchflow schedule delete companies'],
    },
    'schedule backfill': {
      about: 'start a run for each scheduled time of a past range, at most 1,000 runs',
      args: scheduleName,
      run: async () => (await schedules()).backfill,
      examples: ['searchflow schedule backfill companies --from 7d --until 1d'],
    },
  },
  Team: {
    limits: {
      about: "the team's rate, agent runs, spending and caps",
      run: async () => (await limits()).limits,
      examples: ['searchflow limits', 'searchflow limits --unblock', 'searchflow limits set --per-day 20'],
    },
    'limits set': {
      about: 'set the spending caps of the team',
      run: async () => (await limits()).setLimits,
      examples: ['searchflow limits set --per-day 20 --per-month 500', 'searchflow limits set --per-day none'],
    },
    usage: {
      about: 'requests and cost, by job, operation or day',
      run: async () => (await import('./usage.js')).usage,
      examples: [
        'searchflow usage',
        'searchflow usage --by day --since 30d',
        'searchflow usage --reconcile --since 7d',
      ],
    },
    alerts: { about: 'receivers of alerts', examples: ['searchflow alerts test'] },
    'alerts test': {
      about: 'send a test alert to each receiver; exit code 1 if one does not accept it',
      run: async () => (await import('./limits.js')).testAlerts,
      examples: ['searchflow alerts test', 'searchflow alerts test --json'],
    },
  },
  'Set up': {
    init: {
      about: 'write a folder with settings, an example job and its test; replaces no file',
      args: { '[folder]': 'folder to write to (default: the working folder)' },
      run: async () => (await import('./set-up/init.js')).init,
      examples: ['searchflow init', 'searchflow init companies'],
    },
    doctor: {
      about: 'check that jobs can run here, and say what to do; buys and changes nothing',
      run: async () => (await import('./set-up/doctor.js')).doctor,
      examples: ['searchflow doctor', 'searchflow doctor --settings .env --json'],
    },
    completion: {
      about:
        'print the script that completes commands, flags and values in a shell; its first lines say how to load it',
      args: { '<shell>': oneOf(['bash', 'zsh', 'fish'], 'shell of the script') },
      run: async () => (await import('./set-up/completion.js')).completion,
      examples: ['searchflow completion bash', 'searchflow completion zsh', 'searchflow completion fish'],
    },
  },
  Local: {
    worker: {
      about: 'run a worker until Ctrl-C',
      run: worker,
      examples: ['searchflow worker'],
    },
    dev: {
      about: 'run a Temporal server, a worker and (without an API key) a sandbox until Ctrl-C',
      run: worker,
      examples: ['searchflow dev'],
    },
    start: {
      about: 'run the demonstration: enrich the example brands on the sandbox',
      run: async () => (await import('./rows/enrich.js')).start,
      examples: ['searchflow start', 'searchflow start --live --dry-run'],
    },
    sandbox: {
      about: 'run a local stand-in for the service until Ctrl-C; its URL is printed on stdout',
      run: async () => (await import('./set-up/sandbox.js')).sandbox,
      examples: ['searchflow sandbox', 'searchflow sandbox --qps 10 --latency-ms 100-400 --error-rate 0.1'],
    },
    'sandbox trigger': {
      about: 'make a running sandbox emit an event, run a monitor or disable a monitor; prints the ids',
      args: {
        '<what>': 'monitor-run, disable-monitor, or the type of a webset event such as webset.idle',
        '[id]': 'id of the monitor',
      },
      run: async () => (await import('./set-up/sandbox.js')).trigger,
      examples: ['searchflow sandbox trigger webset.idle --count 3 --url http://127.0.0.1:4010'],
    },
  },
};
