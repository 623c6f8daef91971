const unitMs: Readonly<Record<string, number>> = { s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000, w: 604_800_000 };

/**
 * Returns a duration such as `90m`, `12h`, `30d` or `2w` in milliseconds; null for other texts, such as a number without a
 * unit.
 */
export function parseDuration(text: string): number | null {
  const match = /^(\d{1,6})(s|m|h|d|w)$/.exec(text.trim());
  return match ? Number(match[1]) * (unitMs[match[2] as string] as number) : null;
}
