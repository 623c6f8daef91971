/** Whether a host name or IP address is this machine. Data sent to this machine crosses no network. */
export function isLoopback(host: string): boolean {
  return /^(localhost|127(\.\d{1,3}){3}|::1|\[::1\])$/i.test(host);
}
