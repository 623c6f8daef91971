export const DAY_MS = 86_400_000;

const unitMs = { s: 1000, m: 60_000, h: 3_600_000, d: DAY_MS, w: 7 * DAY_MS } as const;

/** Returns a duration such as `90m`, `12h`, `30d` or `2w` in milliseconds; null for other texts, such as a number without a unit. */
export function parseDuration(text: string): number | null {
  const [, number, unit] = /^(\d{1,6})([smhdw])$/.exec(text.trim()) ?? [];
  return unit === undefined ? null : Number(number) * unitMs[unit as keyof typeof unitMs];
}
