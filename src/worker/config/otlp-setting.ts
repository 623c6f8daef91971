import type { RuntimeConfig } from './runtime-types.js';
import type { Found, Variables } from './variables.js';

/** Default of OpenTelemetry. */
const EXPORT_MS = 60_000;

/**
 * Where the metrics go by OTLP, from OpenTelemetry's own variables; null: nowhere. The exporter itself reads further variables, such as
 * headers and the name of the service. A value that cannot be used is only a warning, because the variables are for other programs, too.
 */
export function otlpMetricsOf(
  variables: Variables,
  isPrometheus: boolean,
): { readonly metrics: RuntimeConfig['otlpMetrics']; readonly warnings: readonly string[] } {
  const warning = (found: Found, problem: string) => ({ metrics: null, warnings: [variables.mistake(found, problem)] });
  const nowhere = { metrics: null, warnings: [] };
  const text = (name: string) => variables.find(name)?.text.trim().toLowerCase();
  const exporter = text('OTEL_METRICS_EXPORTER');
  if (text('OTEL_SDK_DISABLED') === 'true' || (exporter !== undefined && exporter !== 'otlp')) return nowhere;
  const own = variables.find('OTEL_EXPORTER_OTLP_METRICS_ENDPOINT');
  const endpoint = own ?? variables.find('OTEL_EXPORTER_OTLP_ENDPOINT');
  // A shared endpoint may be meant for traces only. The SDK has one exporter, so that Prometheus would lose its metrics.
  if (endpoint === null || (isPrometheus && own === null && exporter === undefined)) return nowhere;
  const protocol =
    variables.find('OTEL_EXPORTER_OTLP_METRICS_PROTOCOL') ?? variables.find('OTEL_EXPORTER_OTLP_PROTOCOL');
  if (protocol !== null && !['http/protobuf', 'grpc'].includes(protocol.text))
    return warning(protocol, 'is not http/protobuf or grpc, so no metrics are sent.');
  if (!isHttp(endpoint.text))
    return warning(endpoint, 'is not an address such as http://127.0.0.1:4318, so no metrics are sent.');
  const http = protocol?.text !== 'grpc';
  const interval = variables.find('OTEL_METRIC_EXPORT_INTERVAL');
  const isInterval = interval === null || /^[1-9]\d{0,8}$/.test(interval.text);
  const metrics = {
    url: http && own === null ? `${endpoint.text.replace(/\/+$/, '')}/v1/metrics` : endpoint.text,
    http,
    metricsExportInterval: interval !== null && isInterval ? Number(interval.text) : EXPORT_MS,
    temporality: text('OTEL_EXPORTER_OTLP_METRICS_TEMPORALITY_PREFERENCE') === 'delta' ? 'delta' : 'cumulative',
  } as const;
  if (isInterval) return { metrics, warnings: [] };
  return { ...warning(interval, `is not a number of milliseconds; metrics are sent every ${EXPORT_MS} ms.`), metrics };
}

function isHttp(text: string): boolean {
  return URL.canParse(text) && /^https?:$/.test(new URL(text).protocol);
}
