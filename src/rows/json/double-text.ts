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
