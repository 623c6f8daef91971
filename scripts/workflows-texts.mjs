/** The failures of workflows and activities, by type. A unit test compares the types with the code. */
export const failureTexts = {
  BadInput:
    'The input of a workflow is wrong: an unknown field, a wrong type, a number out of range, an unreadable file, or a file or database that the worker does not allow. The message has one sentence for each field.',
  InvalidRequest: 'The service refuses the request, or would refuse it; then nothing was sent.',
  AllRefused: 'The service refuses the requests of all rows for the same reason. A row job pauses instead (`request`).',
  NotFound: 'The service has no such object or address.',
  Unauthorized: 'The service refuses the key. Row jobs and walks pause instead (`key`).',
  ApiKeyMissing: 'The request had no key. Row jobs and walks pause instead (`key`).',
  PaymentRequired: 'No credits. Row jobs and walks pause instead (`credits`).',
  BudgetExceeded:
    'A cap does not allow another request. The first detail has `scope`, `capMicros`, `remainingMicros` and `resetsAt`. A row job pauses instead (`budget`).',
  RateLimited:
    'The service asks for a wait. A single call waits as long as it asks; a job pauses if the wait is longer than an hour.',
  ConcurrencyLimited: 'Too many runs at the service. The activity is retried.',
  ServiceUnavailable: 'The service does not answer, or answers with an error of its own. The activity is retried.',
  ServiceUnrecognized:
    'Something else answers, such as a proxy or a captive portal. Row jobs and walks pause instead (`service`).',
  ResponseShape: 'The answer does not match the schema of the operation. The journal keeps a paid answer.',
  UnknownOutcome: 'The answer of a paid request was lost. It may have been charged and is not sent again by itself.',
  AlertNotAccepted: 'The address or the program of alerts did not accept an alert. The delivery is retried.',
  NeedsRecord: 'The worker has no record, which this work needs: pass `stateDir` or `store` to `SearchflowPlugin`.',
  ResultTooLarge:
    'The answer is larger than `maxInlineBytes`, and the worker has no record. The first detail has `requestId`, `costDollars` and `bytes`.',
  SecretLost:
    'A monitor was created, and its webhook secret could not be stored. The message has the id of the monitor.',
  PlanChanged: 'Monitors changed after the plan of a batch was made.',
  PlanDiffers: 'The dry run of a batch has other monitors than the list. Nothing was changed.',
  NoProgress: 'Calls of a batch affect no further monitor, although the service reports more.',
  SinkFailed:
    'The `load` of a sink failed. The activity is retried up to ten times; then the job fails as `WarehouseUnusable`.',
  WalkError: 'The list of events cannot be walked, for example because the service repeats a cursor.',
  BodiesGone: 'The journal no longer has answers that it recorded.',
  StoreUnusable: 'A database refuses the login, or a table is missing or forbidden.',
  WarehouseUnusable: 'The warehouse cannot be used, for example because it is not of this program.',
  WarehouseBusy: 'Another process has the warehouse open. The activity is retried.',
  Waiting: 'The activity waits for the rate limit or a block. It is retried after the wait.',
};

const failureRows = Object.entries(failureTexts).map(([type, text]) => `| \`${type}\` | ${text} |`);

/** The part of the page before the workflows; `activities`: the part before the table of activities. */
export const introduction = Object.assign(
  [
    '# Workflows from any language',
    '',
    '`npm run generate` makes this page from the code; `npm test` fails if the two differ.',
    '',
    'Each workflow starts by name, with plain JSON, from the SDK of any language, the `temporal` command or a schedule of your own.',
    'Signals, queries and updates have names and contents in plain JSON, too. [`examples/python-client`](../../examples/python-client) and',
    '[`examples/go-client`](../../examples/go-client) start a job, watch it, pause and resume it, and read its result.',
    '',
    '- **Task queue**: that of your worker. The default of `searchflow worker` is `searchflow` (`SEARCHFLOW_TASK_QUEUE`).',
    '- **Workflow id**: one fixed id for each job. So a job runs once at a time, and its name in messages is this id. Commands use',
    '  `searchflow-<job>`. A new start of an ended job buys only what is new.',
    '- **Arguments**: one, or two where the table has options. A null as a field is the same as an absent field only where the table says so.',
    '- **Amounts and times**: `…Micros` are millionths of a dollar, `…Ms` and `…At` milliseconds (times since 1970, UTC).',
    '- **JSON Schemas**: `searchflow/schemas/workflow-inputs.json` of the package has the arguments of each workflow,',
    '  `searchflow/schemas/workflow-results.json` the results and the contents and answers of messages, as `<workflow>.result`,',
    '  `<workflow>.<message>.content` and `<workflow>.<message>.answer`. A later version may add fields to a result, so ignore unknown',
    '  ones.',
    '- **Cancel** ends the work of a workflow after paid calls in flight have landed. *Terminate* does not wait for them: use it only if',
    '  a cancel does not end the workflow.',
    '',
    'Anyone who may start a workflow on the task queue acts with the rights of its workers: see [the boundary of trust](trust.md).',
    '',
    '## Errors',
    '',
    'A failed workflow has an application failure as its cause. The failure has a `type` of this table, a message of one or two sentences,',
    'and is not retried. In Python it is `error.cause.type` of a `WorkflowFailureError`; in Go, `errors.As` with `*temporal.ApplicationError`',
    'finds it. A cancelled workflow ends as cancelled, without a type.',
    '',
    'A job whose problem a person can solve does not fail. It pauses: `progress` has the phase `paused`, the reason in `pausedFor`, and',
    'what to do in `message`. The signal `resume` continues the job. A scheduled run ends as `stopped` instead.',
    '',
    '| type | meaning |',
    '|---|---|',
    ...failureRows,
    '',
  ],
  {
    activities: [
      '## Activities',
      '',
      'Your own workflows, in any language, may call these activities on the task queue of a searchflow worker. Arguments: the request, and',
      'options. [`operations.md`](operations.md) describes the requests, and [how an activity buys](operations.md#as-activities).',
      '`searchflow/schemas/activities.json` has the JSON Schema of each request (`<activity>.input`), of the options (`callOptions`) and of',
      'each result (`<activity>.result`). A failure has a type of the table of [errors](#errors). Give each activity a start-to-close timeout',
      'of some minutes and a heartbeat timeout of ten seconds. The other activities of the worker belong to the workflows above, and may',
      'change.',
      '',
    ],
  },
);
