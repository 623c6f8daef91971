/** The variables that a program needs to run, without any key or Temporal setting of ours. */
export function bareEnvironment(env: Readonly<Record<string, string | undefined>>): Record<string, string> {
  const needed = ['PATH', 'Path', 'HOME', 'USER', 'TMPDIR', 'TMP', 'TEMP', 'LANG', 'TZ', 'SystemRoot', 'USERPROFILE'];
  return Object.fromEntries(needed.flatMap((name) => (env[name] === undefined ? [] : [[name, env[name]]])));
}
