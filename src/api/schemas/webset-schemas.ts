import { z } from 'zod';

// All fields may be absent or null, so that records are still read when the service changes their form.
const text = z.string().nullish();
const number = z.number().nullish();
const object = z.looseObject({}).nullish();
const metadata = z.record(z.string(), z.unknown()).nullish();
const times = { createdAt: text, updatedAt: text };
const source = z.looseObject({ source: text, id: text });
const entity = z.looseObject({ type: text, description: text }).nullish();
const criteria = z.array(z.looseObject({ description: text, successRate: number })).nullish();

/** A search of a webset (API reference: /websets/v0/websets). */
export const websetSearch = z.looseObject({
  id: text,
  object: text,
  status: text,
  websetId: text,
  query: text,
  entity,
  criteria,
  count: number,
  exclude: z.array(source).nullish(),
  scope: z
    .array(
      z.looseObject({
        source: text,
        id: text,
        relationship: z.looseObject({ definition: text, limit: number }).nullish(),
      }),
    )
    .nullish(),
  progress: z.looseObject({ found: number, analyzed: number, completion: number, timeLeft: number }).nullish(),
  recall: z
    .looseObject({
      expected: z
        .looseObject({
          total: number,
          confidence: text,
          bounds: z.looseObject({ min: number, max: number }).nullish(),
        })
        .nullish(),
      reasoning: text,
    })
    .nullish(),
  canceledAt: text,
  canceledReason: text,
  behavior: text,
  metadata,
  ...times,
});

/** An import of rows into a webset (API reference: /websets/v0/websets). */
export const websetImport = z.looseObject({
  id: text,
  object: text,
  status: text,
  format: text,
  entity,
  title: text,
  count: number,
  metadata,
  failedReason: text,
  failedAt: text,
  failedMessage: text,
  ...times,
});

/** A column that a webset fills (API reference: /websets/v0/websets). */
export const websetEnrichment = z.looseObject({
  id: text,
  object: text,
  status: text,
  websetId: text,
  title: text,
  description: text,
  format: text,
  options: z.array(z.looseObject({ label: text })).nullish(),
  instructions: text,
  metadata,
  ...times,
});

/** A run of a webset's monitor (API reference: /websets/v0/websets). */
export const websetMonitorRun = z.looseObject({
  id: text,
  object: text,
  status: text,
  monitorId: text,
  type: text,
  completedAt: text,
  failedAt: text,
  failedReason: text,
  canceledAt: text,
  ...times,
});

/** A webset's monitor, which is not a search monitor (API reference: /websets/v0/websets). */
export const websetMonitor = z.looseObject({
  id: text,
  object: text,
  status: text,
  websetId: text,
  cadence: z.looseObject({ cron: text, timezone: text }).nullish(),
  behavior: z
    .looseObject({
      type: text,
      config: z.looseObject({ count: number, query: text, criteria, entity, behavior: text }).nullish(),
    })
    .nullish(),
  lastRun: websetMonitorRun.nullish(),
  nextRunAt: text,
  metadata,
  ...times,
});

/** The result of an enrichment for an item. `result` is a list of texts, whatever the format (API reference: /websets/v0). */
const enrichmentResult = z.looseObject({
  object: text,
  status: text,
  format: text,
  result: z.array(z.string()).nullish(),
  reasoning: text,
  references: z.array(z.looseObject({ title: text, snippet: text, url: text })).nullish(),
  enrichmentId: text,
});

/** An item of a webset (API reference: /websets/v0). */
export const websetItem = z.looseObject({
  id: z.string(),
  object: text,
  source: text,
  sourceId: text,
  websetId: text,
  /** The fields depend on `type`: person, company, article, research_paper, custom. */
  properties: object,
  evaluations: z.array(z.looseObject({ criterion: text, reasoning: text, satisfied: text })).nullish(),
  enrichments: z.array(enrichmentResult).nullish(),
  ...times,
});
export type WebsetItem = z.infer<typeof websetItem>;

/** A webset (API reference: /websets/v0/websets). */
export const webset = z.looseObject({
  id: z.string(),
  object: text,
  status: text,
  externalId: text,
  title: text,
  searches: z.array(websetSearch).nullish(),
  imports: z.array(websetImport).nullish(),
  enrichments: z.array(websetEnrichment).nullish(),
  monitors: z.array(websetMonitor).nullish(),
  excludes: z.array(source).nullish(),
  /** The first 100 items, if `expand` requested items. */
  items: z.array(websetItem).nullish(),
  metadata,
  ...times,
});
export type Webset = z.infer<typeof webset>;
