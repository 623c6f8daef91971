import { z } from 'zod';

const citation = z.looseObject({ url: z.string().nullish(), title: z.string().nullish() });

/** The sources of a field of a synthesised output (API reference: /search, /agent/runs). */
export const grounding = z.looseObject({
  field: z.string().nullish(),
  citations: z.array(citation).nullish(),
  confidence: z.string().nullish(),
  score: z.number().nullish(),
});

/** A synthesised output: text, or any JSON of the `outputSchema` (API reference: /search). */
export const synthesised = z.looseObject({
  content: z.unknown().optional(),
  grounding: z.array(grounding).nullish(),
});
