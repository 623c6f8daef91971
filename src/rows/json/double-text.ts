/** Returns the shortest text of a single-precision number, as DuckDB writes it: `0.1`, also for the double nearest to it. */
export function floatText(value: number): string {
  if (value === 0) return doubleText(value);
  for (let digits = 1; digits < FLOAT_DIGITS; digits++) {
    const short = Number(value.toPrecision(digits));
    if (Math.fround(short) === value) return doubleText(short);
  }
  return doubleText(Number(value.toPrecision(FLOAT_DIGITS)));
}

/** Digits of the longest text that a single-precision number needs. */
export const FLOAT_DIGITS = 9;

/** Returns the shortest text of a double, as DuckDB writes it: `3.0`, `0.0001`, `1e-05`, `1e+16`. */
export function doubleText(value: number): string {
  const [digits = '', power = '0'] = Math.abs(value).toExponential().split('e');
  const sign = value < 0 || Object.is(value, -0) ? '-' : '';
  const exponent = Number(power);
  if (exponent < -4 || exponent > 15)
    return `${sign}${digits}e${exponent < 0 ? '-' : '+'}${String(Math.abs(exponent)).padStart(2, '0')}`;
  const all = digits.replace('.', '');
  if (exponent < 0) return `${sign}0.${'0'.repeat(-exponent - 1)}${all}`;
  const whole = all.slice(0, exponent + 1).padEnd(exponent + 1, '0');
  return `${sign}${whole}.${all.slice(exponent + 1) || '0'}`;
}
